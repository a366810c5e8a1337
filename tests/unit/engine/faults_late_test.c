// SPDX-License-Identifier: BSD-2-Clause
// ctest: LABELS threads
/*
 * What rules hold: datagrams that come late or are overtaken, and late completions, whoever
 * sleeps or goes meanwhile.
 */
#include "faults_world.h"

/* -- late ----------------------------------------------------------------------------- */

static void the_nth_comes_late(void **state)
{
	bool in_time;

	for (int d = SHM_FAULT_SEND; d <= SHM_FAULT_RECEIVE; d++) {
		struct shm_fault f =
			nth(SHM_FAULT_DELAY, (enum shm_fault_direction)d, 2, 3);
		struct got a = { 0 };
		uint64_t begun;

		f.by = 60;
		set(f);
		begun = clock_now_ns();
		send_numbers(0, 5);
		in_time = clock_now_ns() - begun < 60000000;
		take(&receiver, &a);
		if (clock_now_ns() - begun < 60000000)
			EXPECT(&a, 0, 3, 4);
		await(&receiver, &a, 5);
		assert_true(clock_now_ns() - begun >= 60000000);
		/* Else the last ones may have been sent too late to overtake. */
		if (in_time)
			EXPECT(&a, 0, 3, 4, 1, 2);
		clear(f.id);
	}
	assert_int_equal(world_dropped_any(&receiver), 0);
}

static void the_nth_is_overtaken(void **state)
{
	for (int d = SHM_FAULT_SEND; d <= SHM_FAULT_RECEIVE; d++) {
		struct shm_fault f =
			nth(SHM_FAULT_REORDER, (enum shm_fault_direction)d, 2, 2);
		struct got a = { 0 };

		f.by = 2;
		set(f);
		send_numbers(0, 6);
		take(&receiver, &a);
		EXPECT(&a, 0, 2, 3, 1, 4, 5);
		clear(f.id);
	}
}

static void what_nothing_overtakes_comes_by_itself(void **state)
{
	for (int d = SHM_FAULT_SEND; d <= SHM_FAULT_RECEIVE; d++) {
		struct shm_fault f =
			nth(SHM_FAULT_REORDER, (enum shm_fault_direction)d, 3, 3);
		struct got a = { 0 };

		set(f);
		send_numbers(0, 3);
		take(&receiver, &a);
		await(&receiver, &a, 3);
		EXPECT(&a, 0, 1, 2);
		clear(f.id);
	}
}

/* How long it takes a receiver that sleeps. */
static uint64_t sleep_for_one(void)
{
	uint64_t begun = clock_now_ns();
	struct got a = { 0 };
	uint32_t seen;

	send_numbers(9, 1);
	while (!a.count) {
		seen = engine_wait_prepare(bob->engine);
		engine_cq_arm(receiver.recv_cq, false);
		take(&receiver, &a);
		if (!a.count)
			assert_int_not_equal(engine_wait(bob->engine, &seen, 50000),
					     -ETIMEDOUT);
		take(&receiver, &a);
	}
	EXPECT(&a, 9);
	return clock_now_ns() - begun;
}

/* Nobody polls, posts or waits at the sender: its helper sends. Half a second is how often
 * sleepers look by themselves; on a busy machine one time in ten will do. */
static void a_sleeping_receiver_gets_what_is_late(void **state)
{
	for (int d = SHM_FAULT_SEND; d <= SHM_FAULT_RECEIVE; d++) {
		struct shm_fault f =
			rate(SHM_FAULT_DELAY, (enum shm_fault_direction)d, 1000000, 1);
		uint64_t took;
		int tries = 0;

		f.by = 50;
		set(f);
		do {
			took = sleep_for_one();
			assert_true(took >= 50000000);
		} while (took >= 450000000 && ++tries < 10);
		assert_true(tries < 10);
		clear(f.id);
	}
}

/* A program in poll(2): armed, and no thread in the engine. */
static void an_armed_queue_is_told_of_what_is_late(void **state)
{
	struct shm_fault f = nth(SHM_FAULT_DELAY, SHM_FAULT_RECEIVE, 1, 1);
	struct got a = { 0 };

	f.by = 50;
	set(f);
	engine_cq_arm(receiver.recv_cq, false);
	send_numbers(9, 1);
	harness_until(atomic_load(&bob->cq_events), 5000, harness_pause());
	take(&receiver, &a);
	EXPECT(&a, 9);
}

static void what_is_held_outlives_its_rule(void **state)
{
	struct shm_fault f = nth(SHM_FAULT_DELAY, SHM_FAULT_RECEIVE, 1, 1);
	uint64_t begun = clock_now_ns();
	struct got a = { 0 };

	f.by = 100;
	set(f);
	send_numbers(0, 2);
	take(&receiver, &a);
	clear(f.id);
	send_numbers(2, 2);
	take(&receiver, &a);
	if (clock_now_ns() - begun < 100000000)
		EXPECT(&a, 1, 2, 3);
	await(&receiver, &a, 4);
	/* And then there is nothing to do any more. */
	take(&receiver, &a);
	assert_false(faults_stir(bob->engine));
}

/* -- what is held goes with what it is for --------------------------------------------- */

static void hold_too_many(enum shm_fault_direction direction)
{
	struct world_process *p = direction == SHM_FAULT_SEND ? alice : bob;
	struct shm_fault f = rate(SHM_FAULT_DELAY, direction, 1000000, 1);
	static struct got a;

	a.count = 0;
	f.by = 60000;
	f.match = SHM_FAULT_MATCH_QP;
	f.qpn = direction == SHM_FAULT_SEND ? sender.qpn : receiver.qpn;
	set(f);
	send_numbers(0, FAULTS_HELD_MAX + 10);
	await(&receiver, &a, 10);
	expect_counts(p, f.id, FAULTS_HELD_MAX + 10, FAULTS_HELD_MAX, 10);
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(a.numbers[i], FAULTS_HELD_MAX + i);
}

static void no_more_is_held_than_may_be(void **state)
{
	hold_too_many(SHM_FAULT_SEND);
	tear_down(NULL);
	open_all();
	hold_too_many(SHM_FAULT_RECEIVE);
}

static void a_queue_pair_that_goes_takes_along_what_is_held(void **state)
{
	struct shm_qp_counters *sent = &alice->counters->qps[sender.counters];
	struct shm_fault f = nth(SHM_FAULT_DELAY, SHM_FAULT_RECEIVE, 1, 1);
	struct shm_fault g = nth(SHM_FAULT_DELAY, SHM_FAULT_SEND, 2, 2);
	struct got a = { 0 }, b = { 0 };

	f.by = g.by = 60000;
	f.match = SHM_FAULT_MATCH_QP;
	f.qpn = receiver.qpn;
	set(f);
	set(g);
	send_numbers(0, 3);
	take(&receiver, &a);
	take(&other, &b);
	EXPECT(&a, 2);
	EXPECT(&b, 0, 2);
	world_qp_destroy(&sender);
	world_qp_destroy(&receiver);
	assert_int_equal(atomic_load(&sent->drops[DROP_FAULT]), 1);
	assert_int_equal(world_dropped(&receiver, DROP_FAULT), 1);
	assert_int_equal(atomic_load(&alice->engine->faults.pending), 0);
	assert_int_equal(atomic_load(&bob->engine->faults.pending), 0);
	sender.qp = receiver.qp = NULL;
}

static void nothing_comes_late_after_a_detach(void **state)
{
	struct shm_fault f = nth(SHM_FAULT_DELAY, SHM_FAULT_RECEIVE, 1, 1);
	struct got a = { 0 };
	uint8_t mgid[16];

	f.by = 60000;
	set(f);
	send_numbers(0, 1);
	take(&receiver, &a);
	world_mgid(GROUP, mgid);
	if (infiniband)
		assert_int_equal(engine_qp_detach_group(receiver.qp, mgid, MLID), 0);
	else
		world_detach(&receiver, GROUP, true);
	assert_int_equal(a.count, 0);
	assert_int_equal(atomic_load(&bob->engine->faults.pending), 0);
	assert_int_equal(world_dropped(&receiver, DROP_FAULT), 1);
}

/* verbcastd dies: what has left its queue pair arrives, what would be received is refused. */
static void what_is_held_outlives_verbcastd(void **state)
{
	struct shm_fault f = nth(SHM_FAULT_DELAY, SHM_FAULT_SEND, 1, 1);
	struct shm_fault g = nth(SHM_FAULT_DELAY, SHM_FAULT_RECEIVE, 1, 1);
	struct got a = { 0 }, b = { 0 };

	f.by = 100;
	g.by = 200;
	g.match = SHM_FAULT_MATCH_QP;
	g.qpn = receiver.qpn;
	set(f);
	set(g);
	send_numbers(0, 2);
	take(&receiver, &a);
	engine_fail(alice->engine);
	engine_fail(bob->engine);
	await(&other, &b, 2);
	/* Both, unless this machine was too busy to fail in time. */
	harness_until(
		world_dropped(&receiver, DROP_QP_STATE) + world_delivered(&receiver) == 2,
		10000, engine_turn(bob->engine));
	harness_until(!atomic_load(&bob->engine->faults.pending), 10000, harness_pause());
}

/* The engine is closed with what it holds; the guard counts memory under ASan. */
static void a_process_that_ends_takes_along_what_is_held(void **state)
{
	struct shm_fault f = rate(SHM_FAULT_DELAY, SHM_FAULT_SEND, 1000000, 1);

	f.by = 60000;
	set(f);
	send_numbers(0, 10);
	assert_int_equal(atomic_load(&alice->engine->faults.pending), 10);
}

/* -- completions ---------------------------------------------------------------------- */

static void the_nth_completion_holds_up_those_behind_it(void **state)
{
	struct shm_fault f = nth(SHM_FAULT_COMPLETION, SHM_FAULT_RECEIVE, 2, 2);
	struct got a = { 0 };
	uint64_t begun = clock_now_ns();

	f.by = 60;
	set(f);
	send_numbers(0, 4);
	take(&receiver, &a);
	if (clock_now_ns() - begun < 60000000)
		EXPECT(&a, 0);
	assert_int_equal(world_delivered(&receiver), 4);
	clear(f.id);
	send_numbers(4, 2);
	take(&receiver, &a);
	if (clock_now_ns() - begun < 60000000)
		EXPECT(&a, 0);
	await(&receiver, &a, 6);
	assert_true(clock_now_ns() - begun >= 60000000);
	EXPECT(&a, 0, 1, 2, 3, 4, 5);
	take(&receiver, &a);
	take(&receiver, &a);
	assert_false(faults_stir(bob->engine));
}

static void a_late_completion_raises_its_event_when_it_comes(void **state)
{
	struct shm_fault f = nth(SHM_FAULT_COMPLETION, SHM_FAULT_RECEIVE, 1, 1);
	uint64_t begun = clock_now_ns();

	f.by = 60;
	set(f);
	engine_cq_arm(receiver.recv_cq, false);
	send_numbers(0, 1);
	harness_until(atomic_load(&bob->cq_events), 5000, harness_pause());
	assert_true(clock_now_ns() - begun >= 59000000);
}

static void completions_of_sends_come_late_too(void **state)
{
	struct ibv_sge sge = { (uintptr_t)world_send_buffer(&sender), 100, sender.lkey };
	struct shm_fault f = nth(SHM_FAULT_COMPLETION, SHM_FAULT_SEND, 2, 2);
	uint64_t begun = clock_now_ns();
	struct ibv_send_wr wr, *bad;
	struct got a = { 0 };
	struct ibv_wc wc[4];
	int n;

	f.by = 60;
	set(f);
	for (uint32_t i = 0; i < 3; i++) {
		world_fill(world_send_buffer(&sender), i, 100);
		wr = world_wr(&ah, &sge);
		wr.wr_id = i;
		wr.send_flags = IBV_SEND_SIGNALED;
		assert_int_equal(engine_qp_post_send(sender.qp, &wr, &bad), 0);
	}
	/* The datagrams are on their way. */
	take(&receiver, &a);
	EXPECT(&a, 0, 1, 2);
	n = engine_cq_poll(sender.send_cq, 4, wc);
	if (clock_now_ns() - begun < 60000000)
		assert_int_equal(n, 1);
	harness_until((n += engine_cq_poll(sender.send_cq, 4 - n, wc + n)) >= 3, 5000,
		      harness_pause());
	assert_true(clock_now_ns() - begun >= 59000000);
	for (int i = 0; i < 3; i++)
		assert_int_equal(wc[i].wr_id, i);
	expect_counts(alice, f.id, 3, 1, 0);
}

static void a_late_completion_goes_with_its_queue_pair(void **state)
{
	struct shm_fault f = nth(SHM_FAULT_COMPLETION, SHM_FAULT_RECEIVE, 1, 1);
	struct engine_cq *cq;
	struct world_qp a, b;
	struct ibv_wc wc[4];

	assert_int_equal(engine_cq_create(bob->engine, 64, bob, &cq), 0);
	world_qp_create(&a, bob, (struct world_qp_options){ .depth = 4, .cq = cq });
	world_qp_create(&b, bob, (struct world_qp_options){ .depth = 4, .cq = cq });
	a.recv_cq = b.recv_cq = NULL;
	world_post_recv(&a, 4);
	world_post_recv(&b, 4);
	join(&a);
	f.by = 60000;
	f.match = SHM_FAULT_MATCH_QP;
	f.qpn = a.qpn;
	set(f);
	send_numbers(0, 1);
	while (engine_turn(bob->engine))
		;
	join(&b);
	send_numbers(1, 1);
	while (engine_turn(bob->engine))
		;
	assert_int_equal(engine_cq_poll(cq, 4, wc), 0);
	world_qp_destroy(&a);
	harness_until(engine_cq_poll(cq, 4, wc) == 1, 5000, harness_pause());
	assert_int_equal(wc[0].qp_num, b.qpn);
	world_qp_destroy(&b);
	engine_cq_destroy(cq);
	assert_int_equal(atomic_load(&bob->engine->faults.pending), 0);
}

static void a_queue_may_go_with_a_late_completion(void **state)
{
	struct shm_fault f = nth(SHM_FAULT_COMPLETION, SHM_FAULT_RECEIVE, 1, 1);
	struct got a = { 0 };

	f.by = 60000;
	set(f);
	send_numbers(0, 1);
	take(&receiver, &a);
	world_qp_destroy(&receiver);
	receiver.qp = NULL;
	assert_int_equal(atomic_load(&bob->engine->faults.pending), 0);
	assert_true(list_empty(&bob->engine->faults.stalled));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_nth_comes_late),
		T(the_nth_is_overtaken),
		T(what_nothing_overtakes_comes_by_itself),
		T(a_sleeping_receiver_gets_what_is_late),
		T(an_armed_queue_is_told_of_what_is_late),
		T(what_is_held_outlives_its_rule),
		T(no_more_is_held_than_may_be),
		T(a_queue_pair_that_goes_takes_along_what_is_held),
		T(nothing_comes_late_after_a_detach),
		T(what_is_held_outlives_verbcastd),
		T(a_process_that_ends_takes_along_what_is_held),
		T(the_nth_completion_holds_up_those_behind_it),
		T(a_late_completion_raises_its_event_when_it_comes),
		T(completions_of_sends_come_late_too),
		T(a_late_completion_goes_with_its_queue_pair),
		T(a_queue_may_go_with_a_late_completion),
	};

	return harness_run(tests);
}
