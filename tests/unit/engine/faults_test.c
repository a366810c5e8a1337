// SPDX-License-Identifier: BSD-2-Clause
// ctest: LABELS threads
/*
 * What rules strike, and what becomes of it at once: lost, doubled, broken, in both
 * directions, by count and by rate; and whom they are about.
 */
#include "faults_world.h"

/* -- lost ----------------------------------------------------------------------------- */

static void the_nth_is_lost_where_it_is_received(void **state)
{
	struct got a = { 0 }, b = { 0 };
	struct shm_fault f = nth(SHM_FAULT_DROP, SHM_FAULT_RECEIVE, 3, 3);

	f.match = SHM_FAULT_MATCH_QP;
	f.qpn = receiver.qpn;
	set(f);
	send_numbers(0, 6);
	take(&receiver, &a);
	take(&other, &b);
	EXPECT(&a, 0, 1, 3, 4, 5);
	EXPECT(&b, 0, 1, 2, 3, 4, 5);
	assert_int_equal(world_dropped(&receiver, DROP_FAULT), 1);
	assert_int_equal(world_dropped_any(&receiver), 1);
	assert_int_equal(world_dropped_any(&other), 0);
	assert_int_equal(world_delivered(&receiver), 5);
	expect_counts(bob, f.id, 6, 1, 0);
	expect_counts(carol, f.id, 0, 0, 0);
}

static void the_nth_is_lost_for_all_where_it_is_sent(void **state)
{
	const struct shm_qp_counters *c = &alice->counters->qps[sender.counters];
	struct got a = { 0 }, b = { 0 };

	set(nth(SHM_FAULT_DROP, SHM_FAULT_SEND, 3, 4));
	send_numbers(0, 6);
	take(&receiver, &a);
	take(&other, &b);
	EXPECT(&a, 0, 1, 4, 5);
	EXPECT(&b, 0, 1, 4, 5);
	assert_int_equal(world_dropped_any(&receiver), 0);
	assert_int_equal(atomic_load(&c->drops[DROP_FAULT]), 2);
	assert_int_equal(atomic_load(&c->sent), 6);
	expect_counts(alice, 1, 6, 2, 0);
}

static void a_lists_nth_is_lost(void **state)
{
	struct ibv_sge sge = { (uintptr_t)world_send_buffer(&sender), 100, sender.lkey };
	struct ibv_send_wr wr[5], *bad;
	struct ibv_wc wc[8];

	set(nth(SHM_FAULT_DROP, SHM_FAULT_SEND, 2, 2));
	for (uint32_t i = 0; i < 5; i++) {
		wr[i] = world_wr(&ah, &sge);
		wr[i].wr_id = i;
		wr[i].send_flags = IBV_SEND_SIGNALED;
		wr[i].next = i < 4 ? &wr[i + 1] : NULL;
	}
	assert_int_equal(engine_qp_post_send(sender.qp, wr, &bad), 0);
	/* Who sends does not learn of it. */
	assert_int_equal(engine_cq_poll(sender.send_cq, 8, wc), 5);
	harness_until(world_poll(&receiver, 8, wc) == 4, 5000, harness_pause());
}

static void unicast_is_lost_too(void **state)
{
	for (int direction = SHM_FAULT_SEND; direction <= SHM_FAULT_RECEIVE;
	     direction++) {
		struct ibv_sge sge = { (uintptr_t)world_send_buffer(&sender), 100,
				       sender.lkey };
		struct engine_verbs_ah to;
		struct ibv_send_wr wr, *bad;
		struct got g = { 0 };
		const struct shm_fault f =
			nth(SHM_FAULT_DROP, (enum shm_fault_direction)direction, 2, 2);

		set(f);
		make_ah(&to, &receiver);
		wr = world_wr(&to, &sge);
		wr.wr.ud.remote_qpn = receiver.qpn;
		for (uint32_t i = 0; i < 4; i++) {
			world_fill(world_send_buffer(&sender), i, 100);
			assert_int_equal(engine_qp_post_send(sender.qp, &wr, &bad), 0);
		}
		take(&receiver, &g);
		EXPECT(&g, 0, 2, 3);
		engine_ah_destroy(to.engine);
		clear(f.id);
	}
	assert_int_equal(
		atomic_load(&bob->counters->qps[receiver.counters].drops[DROP_FAULT]), 1);
	assert_int_equal(
		atomic_load(&alice->counters->qps[sender.counters].drops[DROP_FAULT]), 1);
}

/* -- by rate -------------------------------------------------------------------------- */

/* Which of MANY come through, in a site of its own. */
static void come_through(enum shm_fault_direction direction, uint64_t seed, struct got *a,
			 struct got *b)
{
	tear_down(NULL);
	open_all();
	set(rate(SHM_FAULT_DROP, direction, 250000, seed));
	send_numbers(0, MANY);
	a->count = b->count = 0;
	take(&receiver, a);
	take(&other, b);
	assert_in_range(a->count, MANY / 2, MANY - MANY / 10);
}

static void the_same_seed_loses_the_same(void **state)
{
	static struct got a, a_again, a_other, b, b_again;

	for (int d = SHM_FAULT_SEND; d <= SHM_FAULT_RECEIVE; d++) {
		come_through((enum shm_fault_direction)d, 7, &a, &b);
		come_through((enum shm_fault_direction)d, 7, &a_again, &b_again);
		expect(&a, a_again.numbers, a_again.count);
		expect(&b, b_again.numbers, b_again.count);
		come_through((enum shm_fault_direction)d, 8, &a_other, &b_again);
		assert_true(a.count != a_other.count ||
			    memcmp(a.numbers, a_other.numbers,
				   a.count * sizeof(a.numbers[0])));
	}
}

static void queue_pairs_of_a_process_lose_apart(void **state)
{
	static struct got a, b;
	struct world_qp second;

	world_qp_create(&second, bob, (struct world_qp_options){ .depth = DEPTH });
	world_post_recv(&second, DEPTH);
	join(&second);
	set(rate(SHM_FAULT_DROP, SHM_FAULT_RECEIVE, 250000, 7));
	send_numbers(0, MANY);
	a.count = b.count = 0;
	take(&receiver, &a);
	take(&second, &b);
	assert_true(a.count != b.count ||
		    memcmp(a.numbers, b.numbers, a.count * sizeof(a.numbers[0])));
	assert_int_equal(a.count + world_dropped(&receiver, DROP_FAULT), MANY);
	assert_int_equal(b.count + world_dropped(&second, DROP_FAULT), MANY);
	world_qp_destroy(&second);
}

static void all_is_a_rate(void **state)
{
	struct got a = { 0 };

	set(rate(SHM_FAULT_DROP, SHM_FAULT_RECEIVE, 1000000, 1));
	send_numbers(0, 20);
	take(&receiver, &a);
	assert_int_equal(a.count, 0);
	assert_int_equal(world_dropped(&receiver, DROP_FAULT), 20);
}

/* Two rules: each counts what the other takes. */
static void every_rule_counts_for_itself(void **state)
{
	struct got a = { 0 };

	set(nth(SHM_FAULT_DROP, SHM_FAULT_RECEIVE, 2, 3));
	set(nth(SHM_FAULT_DROP, SHM_FAULT_RECEIVE, 3, 4));
	set(nth(SHM_FAULT_DUP, SHM_FAULT_RECEIVE, 1, 1));
	send_numbers(0, 6);
	take(&receiver, &a);
	EXPECT(&a, 0, 0, 4, 5);
	expect_counts(bob, 1, 6, 2, 0);
	expect_counts(bob, 2, 6, 1, 0);
	expect_counts(bob, 3, 6, 1, 0);
}

/* -- twice, broken -------------------------------------------------------------------- */

static void the_nth_comes_twice(void **state)
{
	struct got a = { 0 }, b = { 0 };
	struct shm_fault f = nth(SHM_FAULT_DUP, SHM_FAULT_SEND, 2, 2);

	set(f);
	send_numbers(0, 4);
	take(&receiver, &a);
	take(&other, &b);
	EXPECT(&a, 0, 1, 1, 2, 3);
	EXPECT(&b, 0, 1, 1, 2, 3);
	clear(f.id);
	a.count = b.count = 0;
	set(nth(SHM_FAULT_DUP, SHM_FAULT_RECEIVE, 2, 2));
	send_numbers(0, 4);
	take(&receiver, &a);
	EXPECT(&a, 0, 1, 1, 2, 3);
	assert_int_equal(world_dropped_any(&receiver), 0);
	assert_int_equal(world_delivered(&receiver), 10);
}

static unsigned int bits_wrong(const uint8_t *payload, uint32_t number, uint32_t bytes)
{
	uint8_t right[4096];
	unsigned int wrong = 0;

	world_fill(right, number, bytes);
	for (uint32_t i = 0; i < bytes; i++)
		wrong += (unsigned int)__builtin_popcount(right[i] ^ payload[i]);
	return wrong;
}

static void a_bit_turns_over(void **state)
{
	static const uint32_t sizes[] = { 1, 5, 64, 65, 100, 4096 };
	const uint32_t count = sizeof(sizes) / sizeof(sizes[0]);

	for (int d = SHM_FAULT_SEND; d <= SHM_FAULT_RECEIVE; d++) {
		struct shm_fault f =
			rate(SHM_FAULT_CORRUPT, (enum shm_fault_direction)d, 1000000, 3);
		struct world_process *p = d == SHM_FAULT_SEND ? alice : bob;
		struct ibv_wc wc;

		set(f);
		for (uint32_t i = 0; i < count; i++) {
			world_send_number(&sender, &ah, i, sizes[i]);
			harness_until(world_poll(&receiver, 1, &wc), 5000,
				      harness_pause());
			assert_int_equal(wc.byte_len, 40 + sizes[i]);
			assert_int_equal(
				bits_wrong(world_buffer(&receiver, wc.wr_id) + 40, i,
					   sizes[i]),
				1);
			assert_int_equal(
				bits_wrong(world_send_buffer(&sender), i, sizes[i]), 0);
		}
		/* Nothing can break in nothing. */
		world_send(&sender, &ah, 0);
		assert_int_equal(world_poll(&receiver, 1, &wc), 1);
		expect_counts(p, f.id, count + 1, count, 1);
		clear(f.id);
	}
}

/* -- whom they are about --------------------------------------------------------------- */

static void only_what_matches_is_struck(void **state)
{
	struct shm_fault f[6];
	struct got a = { 0 };

	for (int i = 0; i < 6; i++)
		f[i] = nth(SHM_FAULT_DROP, SHM_FAULT_RECEIVE, 1, 1000);
	f[0].device = 5;
	f[1].node = 5;
	f[2].link_layer = infiniband ? SHM_LINK_ETHERNET : SHM_LINK_INFINIBAND;
	f[3].match = SHM_FAULT_MATCH_QP;
	f[3].qpn = receiver.qpn + 1000;
	f[4].match = SHM_FAULT_MATCH_OPCODE;
	f[4].opcode = 0x65;
	f[5].match = SHM_FAULT_MATCH_PSN;
	f[5].psn = 1000;
	f[5].psn_last = 2000;
	for (int i = 0; i < 6; i++)
		set(f[i]);
	send_numbers(0, 3);
	take(&receiver, &a);
	EXPECT(&a, 0, 1, 2);
	f[0].device = 0;
	f[0].node = 0;
	f[0].link_layer = infiniband ? SHM_LINK_INFINIBAND : SHM_LINK_ETHERNET;
	f[0].id = 1;
	set(f[0]);
	send_numbers(0, 3);
	take(&receiver, &a);
	assert_int_equal(a.count, 3);
}

static void the_opcode_tells_immediate_data(void **state)
{
	for (int d = SHM_FAULT_SEND; d <= SHM_FAULT_RECEIVE; d++) {
		struct ibv_sge sge = { (uintptr_t)world_send_buffer(&sender), 100,
				       sender.lkey };
		struct ibv_send_wr wr = world_wr(&ah, &sge), *bad;
		struct shm_fault f =
			nth(SHM_FAULT_DROP, (enum shm_fault_direction)d, 1, 1);
		struct got a = { 0 };

		f.match = SHM_FAULT_MATCH_OPCODE;
		f.opcode = 0x65;
		set(f);
		send_numbers(0, 1);
		wr.opcode = IBV_WR_SEND_WITH_IMM;
		world_fill(world_send_buffer(&sender), 1, 100);
		assert_int_equal(engine_qp_post_send(sender.qp, &wr, &bad), 0);
		send_numbers(2, 1);
		take(&receiver, &a);
		EXPECT(&a, 0, 2);
		clear(f.id);
	}
}

/* From 0xfffffe on, which wraps. */
static void the_psn_counts_from_what_the_program_said(void **state)
{
	struct engine_qp_attr attr = { .port_num = 1,
				       .qkey = WORLD_QKEY,
				       .sq_psn = 0xfffffe };

	for (int d = SHM_FAULT_SEND; d <= SHM_FAULT_RECEIVE; d++) {
		struct shm_fault f =
			nth(SHM_FAULT_DROP, (enum shm_fault_direction)d, 1, 1000);
		struct got a = { 0 };

		attr.state = IBV_QPS_RTR;
		engine_qp_modify(sender.qp, &attr);
		attr.state = IBV_QPS_RTS;
		engine_qp_modify(sender.qp, &attr);
		f.match = SHM_FAULT_MATCH_PSN;
		f.psn = 0xffffff;
		f.psn_last = 1;
		set(f);
		send_numbers(0, 6);
		take(&receiver, &a);
		EXPECT(&a, 0, 4, 5);
		clear(f.id);
	}
}

/* What was posted before the rule was set, and is read after, tells none: not 0 either. */
static void a_psn_that_is_not_told_matches_none(void **state)
{
	struct shm_fault f = nth(SHM_FAULT_DROP, SHM_FAULT_RECEIVE, 1, 1000);
	struct got a = { 0 };

	send_numbers(0, 3);
	f.match = SHM_FAULT_MATCH_PSN;
	f.psn_last = 4;
	set(f);
	send_numbers(3, 3);
	take(&receiver, &a);
	EXPECT(&a, 0, 1, 2, 5);
}

/* What would not have been taken anyhow is no datagram of the queue pair's. */
static void what_is_refused_is_not_counted(void **state)
{
	struct engine_qp_attr attr = { .state = IBV_QPS_RTS, .port_num = 1, .qkey = 1 };
	struct got a = { 0 };

	set(nth(SHM_FAULT_DROP, SHM_FAULT_RECEIVE, 1, 1));
	engine_qp_modify(receiver.qp, &attr);
	send_numbers(0, 2);
	take(&receiver, &a);
	assert_int_equal(world_dropped(&receiver, DROP_QKEY), 2);
	attr.qkey = WORLD_QKEY;
	engine_qp_modify(receiver.qp, &attr);
	send_numbers(2, 2);
	take(&receiver, &a);
	EXPECT(&a, 3);
}

static void rules_come_and_go_amid_a_stream(void **state)
{
	struct got a = { 0 };
	uint32_t id;

	send_numbers(0, 3);
	take(&receiver, &a);
	set(nth(SHM_FAULT_DROP, SHM_FAULT_RECEIVE, 2, 2));
	id = next_id;
	send_numbers(3, 3);
	take(&receiver, &a);
	/* One more keeps the others' counts. */
	set(nth(SHM_FAULT_DROP, SHM_FAULT_RECEIVE, 1, 1));
	send_numbers(6, 3);
	take(&receiver, &a);
	clear(id);
	clear(next_id);
	send_numbers(9, 3);
	take(&receiver, &a);
	EXPECT(&a, 0, 1, 2, 3, 5, 7, 8, 9, 10, 11);
	assert_int_equal(world_dropped(&receiver, DROP_FAULT), 2);
	assert_false(faults_stir(bob->engine));
}

/* A place that another rule had begins at 0. */
static void a_place_is_another_rules(void **state)
{
	struct shm_fault f = nth(SHM_FAULT_DROP, SHM_FAULT_RECEIVE, 1, 1);
	struct got a = { 0 };

	set(f);
	send_numbers(0, 3);
	take(&receiver, &a);
	f.id = 77;
	shm_fault_write(world.tables, 0, &f);
	send_numbers(3, 2);
	take(&receiver, &a);
	EXPECT(&a, 1, 2, 4);
	assert_int_equal(atomic_load(&bob->counters->faults[0].rule), 77);
	assert_int_equal(atomic_load(&bob->counters->faults[0].matched), 2);
}

/* Whatever stands in the tables: it does no harm. */
static void a_rule_of_nonsense_does_nothing(void **state)
{
	struct shm_fault f = nth(SHM_FAULT_DROP, SHM_FAULT_RECEIVE, 1, 1);
	struct got a = { 0 };

	f.kind = 99;
	set(f);
	f = nth((enum shm_fault_kind)77, SHM_FAULT_SEND, 1, 3);
	set(f);
	memset(&f, 0xff, sizeof(f));
	shm_fault_write(world.tables, 5, &f);
	send_numbers(0, 3);
	await(&receiver, &a, 3);
}

/* While verbcastd is at it, the rules are what they were. */
static void rules_that_are_changing_are_what_they_were(void **state)
{
	struct got a = { 0 };

	set(nth(SHM_FAULT_DROP, SHM_FAULT_RECEIVE, 2, 2));
	send_numbers(0, 1);
	take(&receiver, &a);
	atomic_fetch_add(&world.tables->h.faults, 1);
	send_numbers(1, 2);
	take(&receiver, &a);
	EXPECT(&a, 0, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_nth_is_lost_where_it_is_received),
		T(the_nth_is_lost_for_all_where_it_is_sent),
		T(a_lists_nth_is_lost),
		T(unicast_is_lost_too),
		T(the_same_seed_loses_the_same),
		T(queue_pairs_of_a_process_lose_apart),
		T(all_is_a_rate),
		T(every_rule_counts_for_itself),
		T(the_nth_comes_twice),
		T(a_bit_turns_over),
		T(only_what_matches_is_struck),
		T(the_opcode_tells_immediate_data),
		T(the_psn_counts_from_what_the_program_said),
		T(a_psn_that_is_not_told_matches_none),
		T(what_is_refused_is_not_counted),
		T(rules_come_and_go_amid_a_stream),
		T(a_place_is_another_rules),
		T(a_rule_of_nonsense_does_nothing),
		T(rules_that_are_changing_are_what_they_were),
	};

	return harness_run(tests);
}
