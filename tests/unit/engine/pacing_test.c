// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 300 LABELS threads
/*
 * The delivery promise: what a member had a receive for is delivered, whether it polls or
 * sleeps; one that does not move costs its sender one grace, and loses alone.
 */
#include "world.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/process_state.h"

#include "engine/engine_priv.h" /* to stop the helper, and to look at receivers */

static struct world world;
static struct world_process *alice, *bob;
static struct world_qp sender, receiver;
static struct engine_verbs_ah ah;

static int set_up(void **state)
{
	world_open(&world);
	alice = world_start(&world, 1);
	bob = world_start(&world, 2);
	/* That his threads get no CPU for longer than a grace is not what is tried. */
	bob->pid = getpid();
	world_qp_create(&sender, alice, (struct world_qp_options){ .depth = 1 });
	world_qp_create(&receiver, bob, (struct world_qp_options){ .depth = 1000 });
	world_group_ah(alice, 1, &ah);
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

/* Take `n` completions and check that they are `first`, `first` + 1, ... of `bytes`. */
static void expect_numbers(struct world_qp *q, uint32_t first, uint32_t n, uint32_t bytes)
{
	struct ibv_wc wc;

	for (uint32_t i = 0; i < n; i++) {
		harness_until(world_poll(q, 1, &wc) == 1, 5000, harness_pause());
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.byte_len, 40 + bytes);
		if (!world_filled(world_buffer(q, wc.wr_id) + 40, first + i, bytes))
			fail_msg("datagram %u is not what was sent", first + i);
	}
}

/* mckey: a thousand receives posted, asleep, and twice the log's bytes are sent. */
static void a_receiver_that_sleeps_loses_nothing(void **state)
{
	world_attach(&receiver, 1);
	assert_int_equal(world_post_recv(&receiver, 1000), 0);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(world_send_number(&sender, &ah, i, 4096), 0);
	expect_numbers(&receiver, 0, 1000, 4096);
	assert_int_equal(world_dropped_any(&receiver), 0);
	assert_int_equal(world_delivered(&receiver), 1000);
}

static void a_log_with_room_needs_nobody_to_drain(void **state)
{
	world_attach(&receiver, 1);
	world_post_recv(&receiver, 1);
	for (uint32_t i = 0; i < 3000; i++) {
		world_send_number(&sender, &ah, i, 64);
		assert_int_equal(atomic_load(&bob->doorbell->kicks), 0);
	}
	/* Posted late, while they wait in the log. */
	expect_numbers(&receiver, 0, 1, 64);
	for (uint32_t i = 1; i < 3000; i++) {
		world_post_recv(&receiver, 1);
		expect_numbers(&receiver, i, 1, 64);
	}
	assert_int_equal(world_dropped_any(&receiver), 0);
}

/* As full as a log gets before its sender waits for one that has not come yet. */
static void who_comes_late_finds_the_first(void **state)
{
	helper_stop(bob->engine);
	world_attach(&receiver, 1);
	world_post_recv(&receiver, 2);
	for (uint32_t i = 0; i < SHM_LOG_SLOTS; i++)
		world_send_number(&sender, &ah, i, 8);
	expect_numbers(&receiver, 0, 2, 8);
}

static void send_flood(uint32_t count, uint32_t bytes)
{
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(world_send_number(&sender, &ah, i, bytes), 0);
}

/* A process of the site that has an engine's memory and no engine: it followed alice's log
 * once, and stands still. */
static void freeze(struct world_process *p, unsigned int group)
{
	shm_group_set(world.tables, world_group(&world, group), p->slot);
	atomic_store(&p->doorbell->cursors[alice->slot].incarnation, alice->incarnation);
}

static void one_that_never_came_is_given_time_to(void **state)
{
	struct world_process *frozen = world_start(&world, 3);
	uint64_t start = clock_now_ns();

	freeze(frozen, 1);
	atomic_store(&frozen->doorbell->cursors[alice->slot].incarnation, 0);
	send_flood(5000, 64);
	assert_true(clock_now_ns() - start >= 100000000);
	assert_true(alice->engine->tx.receivers[3]->lagging);
}

static void a_stopped_receiver_costs_one_grace(void **state)
{
	struct world_process *frozen = world_start(&world, 3);
	const struct receiver *r;
	uint64_t start = clock_now_ns();

	freeze(frozen, 1);
	send_flood(5000, 64); /* beyond the log's slots */
	assert_true(clock_now_ns() - start >= 10000000);
	r = alice->engine->tx.receivers[3];
	assert_true(r->lagging);
	assert_int_equal(atomic_load(&frozen->doorbell->kicks), 1);
	/* And is not waited for, nor kicked, again. */
	send_flood(40000, 64);
	send_flood(2000, 4096);
	assert_true(r->lagging);
	assert_int_equal(r->distrust, 1);
	assert_int_equal(r->waited_ns, 0);
	assert_int_equal(atomic_load(&frozen->doorbell->kicks), 1);
}

static void one_that_caught_up_is_waited_for_again(void **state)
{
	struct world_process *frozen = world_start(&world, 3);
	struct shm_cursor *cursor = &frozen->doorbell->cursors[1];
	const struct receiver *r;

	freeze(frozen, 1);
	send_flood(5000, 64);
	r = alice->engine->tx.receivers[3];
	assert_true(r->lagging);
	for (unsigned int lap = 0; lap < 4 && r->lagging; lap++) {
		atomic_store(&cursor->position, alice->engine->tx.head + 3000);
		atomic_store(&cursor->incarnation, alice->incarnation);
		send_flood(3000, 64);
	}
	assert_false(r->lagging);
}

/* -- what the kernel says of one that does not move ------------------------------------- */

static void sleep_for_ever(void)
{
	for (;;)
		pause();
}

static void spin(void)
{
	static volatile unsigned int turns;

	for (;;)
		turns++;
}

/* Frozen, and a child in the state in which the kernel shows its process. */
static struct world_process *freeze_as(void (*child_main)(void))
{
	struct world_process *frozen = world_start(&world, 3);

	frozen->pid = fork();
	if (!frozen->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		child_main();
	}
	assert_true(frozen->pid > 0);
	freeze(frozen, 1);
	return frozen;
}

static void end(struct world_process *frozen)
{
	kill(frozen->pid, SIGKILL);
	waitpid(frozen->pid, NULL, 0);
	world_bury(&world, frozen);
	world_forget(frozen);
}

/* How long its sender, whose log is full, waits for it; so many it has been sent already. */
static uint64_t wait_ms(uint32_t ahead)
{
	uint64_t start;

	send_flood(SHM_LOG_SLOTS - ahead, 64);
	start = clock_now_ns();
	send_flood(1, 64);
	return (clock_now_ns() - start) / 1000000;
}

static bool is_lagging(void)
{
	return alice->engine->tx.receivers[3]->lagging;
}

struct late {
	struct world_process *process;
	uint64_t at_ns;
};

/* It gets its CPU at last, and reads all there is. */
static void *come_late(void *arg)
{
	const struct late *late = arg;

	while (clock_now_ns() < late->at_ns)
		harness_pause();
	atomic_store(&late->process->doorbell->cursors[alice->slot].position, UINT64_MAX);
	return NULL;
}

#define TRIES 10 /* where somebody gets no CPU for so long that a time says nothing */

static void one_that_merely_has_no_cpu_is_waited_for(void **state)
{
	uint64_t took = 1000;

	for (int i = 0; i < TRIES && took >= 1000; i++) {
		struct late late = { .process = freeze_as(spin) };
		pthread_t thread;
		uint64_t start;

		send_flood(SHM_LOG_SLOTS, 64);
		start = clock_now_ns();
		late.at_ns = start + 400 * 1000000ull;
		pthread_create(&thread, NULL, come_late, &late);
		send_flood(1, 64);
		took = (clock_now_ns() - start) / 1000000;
		assert_true(took >= 400);
		/* Whoever comes later than that is not waited for any more. */
		if (took < 1000)
			assert_false(is_lagging());
		pthread_join(thread, NULL);
		end(late.process);
	}
	assert_true(took < 1000);
}

static void nobody_is_waited_for_longer_than_a_second(void **state)
{
	struct world_process *frozen = freeze_as(spin);

	assert_true(wait_ms(0) >= 1000);
	assert_true(is_lagging());
	end(frozen);
}

/* At least `ms`, and no second. `prepare` tells how many it has sent. */
static void expect_brief_wait(void (*child_main)(void),
			      uint32_t (*prepare)(const struct world_process *frozen),
			      uint64_t ms)
{
	uint64_t took = 1000;

	for (int i = 0; i < TRIES && took >= 1000; i++) {
		struct world_process *frozen = freeze_as(child_main);

		took = wait_ms(prepare(frozen));
		assert_true(took >= ms);
		assert_true(is_lagging());
		end(frozen);
	}
	assert_true(took < 1000);
}

static uint32_t condemn_before(const struct world_process *frozen)
{
	send_flood(1, 64);
	alice->engine->tx.receivers[3]->distrust = 64;
	return 1;
}

/* Or one that spins and never reads would hold its senders up again and again. */
static void one_that_was_condemned_is_waited_for_less(void **state)
{
	expect_brief_wait(spin, condemn_before, 10);
}

static uint32_t stop(const struct world_process *frozen)
{
	kill(frozen->pid, SIGSTOP);
	waitpid(frozen->pid, NULL, WUNTRACED);
	return 0;
}

static void a_stopped_process_gets_no_more_than_a_grace(void **state)
{
	expect_brief_wait(spin, stop, 10);
}

static uint32_t await_sleep(const struct world_process *frozen)
{
	harness_until(process_state_of(frozen->pid) == PROCESS_ASLEEP, 20000,
		      harness_pause());
	return 0;
}

static void one_that_sleeps_on_gets_two(void **state)
{
	expect_brief_wait(sleep_for_ever, await_sleep, 20);
}

static uint32_t kill_and_leave(const struct world_process *frozen)
{
	siginfo_t info;

	kill(frozen->pid, SIGKILL);
	waitid(P_PID, (id_t)frozen->pid, &info, WEXITED | WNOWAIT);
	return 0;
}

static void one_that_is_dead_and_not_buried_gets_one(void **state)
{
	expect_brief_wait(sleep_for_ever, kill_and_leave, 10);
}

struct drainer {
	pthread_t thread;
	struct world_qp *qp;
	_Atomic uint32_t received;
	_Atomic bool stop;
	bool repost;
};

static void *drain(void *arg)
{
	struct drainer *d = arg;
	struct ibv_wc wc[16];

	while (!atomic_load(&d->stop)) {
		int n = world_try_poll(d->qp, 16, wc);

		if (!n)
			harness_pause();
		else if (d->repost)
			world_post_recv(d->qp, (uint32_t)n);
		atomic_fetch_add(&d->received, (uint32_t)n);
	}
	return NULL;
}

/* Posted in full: a thread that gets no CPU while the helper does must not count. */
static void others_lose_nothing_to_a_stopped_one(void **state)
{
	struct world_process *frozen = world_start(&world, 3);
	struct world_qp deep;
	struct drainer d = { .qp = &deep };

	world_qp_create(&deep, bob, (struct world_qp_options){ .depth = 16000 });
	freeze(frozen, 1);
	world_attach(&deep, 1);
	world_post_recv(&deep, 16000);
	pthread_create(&d.thread, NULL, drain, &d);
	/* What is lost before the first is heard is nobody's to count. */
	send_flood(1, 300);
	harness_until(atomic_load(&d.received) == 1, 10000, harness_pause());
	send_flood(14999, 300);
	harness_until(atomic_load(&d.received) + world_dropped_any(&deep) == 15000, 10000,
		      harness_pause());
	atomic_store(&d.stop, true);
	pthread_join(d.thread, NULL);
	assert_int_equal(world_dropped_any(&deep), 0);
	world_qp_destroy(&deep);
}

/* A receiver whose engine stands still for a while knows exactly what it lost. */
static void what_a_lagging_receiver_lost_is_counted(void **state)
{
	struct drainer d = { .qp = &receiver, .repost = true };
	uint64_t delivered;

	world_attach(&receiver, 1);
	world_post_recv(&receiver, 1000);
	send_flood(100, 64);
	while (engine_turn(bob->engine))
		;
	assert_int_equal(world_delivered(&receiver), 100);
	/* Stand still: no helper, nobody polls. */
	helper_stop(bob->engine);
	send_flood(20000, 64);
	pthread_create(&d.thread, NULL, drain, &d);
	harness_until(world_delivered(&receiver) +
				      world_dropped(&receiver, DROP_LAGGED) ==
			      20100,
		      10000, harness_pause());
	atomic_store(&d.stop, true);
	pthread_join(d.thread, NULL);
	delivered = world_delivered(&receiver);
	assert_true(delivered < 20100);
	assert_int_equal(world_dropped_any(&receiver),
			 world_dropped(&receiver, DROP_LAGGED));
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_receiver_that_sleeps_loses_nothing),
		T(a_log_with_room_needs_nobody_to_drain),
		T(who_comes_late_finds_the_first),
		T(a_stopped_receiver_costs_one_grace),
		T(one_that_never_came_is_given_time_to),
		T(one_that_caught_up_is_waited_for_again),
		T(one_that_merely_has_no_cpu_is_waited_for),
		T(nobody_is_waited_for_longer_than_a_second),
		T(one_that_was_condemned_is_waited_for_less),
		T(a_stopped_process_gets_no_more_than_a_grace),
		T(one_that_sleeps_on_gets_two),
		T(one_that_is_dead_and_not_buried_gets_one),
		T(others_lose_nothing_to_a_stopped_one),
		T(what_a_lagging_receiver_lost_is_counted),
	};

	return harness_run(tests);
}
