// SPDX-License-Identifier: BSD-2-Clause
/* The dead: their logs are read to the end, and given back by everybody who had them. */
#include "engine/engine_priv.h" /* helper_stop */
#include "world.h"

static struct world world;
static struct world_process *alice, *bob;
static struct world_qp sender, receiver;
static struct engine_verbs_ah ah;

static int set_up(void **state)
{
	world_open(&world);
	alice = world_start(&world, 1);
	bob = world_start(&world, 2);
	world_qp_create(&sender, alice, (struct world_qp_options){ .depth = 4 });
	world_qp_create(&receiver, bob, (struct world_qp_options){ .depth = 4 });
	world_group_ah(alice, 1, &ah);
	world_attach(&receiver, 1);
	world_post_recv(&receiver, 4);
	/* The first queue pair began it; the test is the other thread. */
	helper_stop(bob->engine);
	return 0;
}

static int tear_down(void **state)
{
	world_qp_destroy(&receiver);
	world_close(&world);
	return 0;
}

static void alice_dies(void)
{
	engine_ah_destroy(ah.engine);
	world_qp_destroy(&sender);
	world_stop(alice);
	world_bury(&world, alice);
}

/* While one thread asks for the log, its owner dies, and another thread hears of that. */
static void alice_dies_and_bob_reads_to_the_end(struct world_process *p)
{
	p->mapping = NULL; /* once */
	alice_dies();
	while (engine_turn(p->engine))
		;
	assert_int_equal(atomic_load(&p->drained), 1);
}

static void expect_all_given_back(void)
{
	struct ibv_wc wc[4];

	while (engine_turn(bob->engine))
		;
	assert_int_equal(world_poll(&receiver, 4, wc), 1);
	assert_int_equal(atomic_load(&bob->drained), atomic_load(&bob->maps));
}

static void a_log_is_given_back_when_it_is_read(void **state)
{
	world_send_number(&sender, &ah, 1, 64);
	alice_dies();
	expect_all_given_back();
}

/* Killed before its first datagram. Who does not poll turns its engine once, for the kick. */
static void a_log_with_nothing_in_it_is_given_back(void **state)
{
	lock_take(&alice->engine->tx_lock);
	assert_int_equal(tx_open_unlocked(alice->engine), 0);
	lock_drop(&alice->engine->tx_lock);
	alice_dies();
	assert_int_equal(engine_turn(bob->engine), 0);
	assert_int_equal(atomic_load(&bob->maps), 1);
	assert_int_equal(atomic_load(&bob->drained), 1);
}

/* The daemon counts a reader anew with every question, also where the answer comes after
 * another thread has read the log and said so. */
static void a_log_that_is_read_meanwhile_is_given_back_again(void **state)
{
	world_send_number(&sender, &ah, 1, 64);
	bob->mapping = alice_dies_and_bob_reads_to_the_end;
	expect_all_given_back();
	assert_int_equal(atomic_load(&bob->maps), 2);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(a_log_is_given_back_when_it_is_read),
		T(a_log_with_nothing_in_it_is_given_back),
		T(a_log_that_is_read_meanwhile_is_given_back_again),
	};

	return harness_run(tests);
}
