// SPDX-License-Identifier: BSD-2-Clause
/*
 * A doorbell that a peer has written over: the owner is heard of by whoever comes, and
 * what the peer said of cursors and bits is forgotten by itself (spec/dataplane 8).
 */
#include "engine/engine_priv.h" /* helper_stop */
#include "world.h"

#define DEPTH 16u
#define POLLS 70000u /* every word is looked at within so many */

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
	world_qp_create(&receiver, bob, (struct world_qp_options){ .depth = DEPTH });
	helper_stop(alice->engine);
	helper_stop(bob->engine);
	world_group_ah(alice, 1, &ah);
	world_attach(&receiver, 1);
	world_post_recv(&receiver, DEPTH);
	return 0;
}

static int tear_down(void **state)
{
	engine_ah_destroy(ah.engine);
	world_qp_destroy(&sender);
	world_qp_destroy(&receiver);
	world_close(&world);
	return 0;
}

/* Within a number of polls, not by time. */
static void expect_to_hear(uint32_t number)
{
	struct ibv_wc wc;

	for (uint32_t i = 0; i < POLLS; i++) {
		if (!world_poll(&receiver, 1, &wc))
			continue;
		assert_true(
			world_filled(world_buffer(&receiver, wc.wr_id) + 40, number, 64));
		return;
	}
	fail_msg("number %u is not heard", number);
}

static void who_comes_later_rings_it_all_the_same(void **state)
{
	memset(bob->doorbell, 0xa5, offsetof(struct shm_doorbell, summary));
	world_send_number(&sender, &ah, 1, 64);
	expect_to_hear(1);
}

static void a_cursor_is_told_anew(void **state)
{
	struct shm_cursor *cursor = &bob->doorbell->cursors[alice->slot];

	world_send_number(&sender, &ah, 1, 64);
	expect_to_hear(1);
	memset(cursor, 0xa5, sizeof(*cursor));
	world_send_number(&sender, &ah, 2, 64);
	expect_to_hear(2);
	assert_int_equal(atomic_load(&cursor->incarnation), alice->incarnation);
	assert_int_equal(atomic_load(&cursor->position), 3);
}

static void a_bit_without_the_one_above_is_found(void **state)
{
	world_send_number(&sender, &ah, 1, 64);
	atomic_store(&bob->doorbell->summary, 0);
	expect_to_hear(1);
}

/* Bits of everybody, and of nobody. */
static void bits_of_others_harm_nobody(void **state)
{
	memset(bob->doorbell->words, 0xff, sizeof(bob->doorbell->words));
	atomic_store(&bob->doorbell->summary, UINT64_MAX);
	world_send_number(&sender, &ah, 1, 64);
	expect_to_hear(1);
	memset(bob->doorbell->words, 0, sizeof(bob->doorbell->words));
	world_send_number(&sender, &ah, 2, 64);
	expect_to_hear(2);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(who_comes_later_rings_it_all_the_same),
		T(a_cursor_is_told_anew),
		T(a_bit_without_the_one_above_is_found),
		T(bits_of_others_harm_nobody),
	};

	return harness_run(tests);
}
