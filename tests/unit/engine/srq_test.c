// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 300 LABELS threads
/*
 * Shared receive queues: who takes from one, what a full, empty or unfit one does, its
 * limit, its size, and its queue pairs' end.
 */
#include "world.h"

#define MEMBERS 4u
#define DEPTH   8u
#define SRQ_PD  (WORLD_PD + 1) /* not that of the queue pairs */
#define KEY     0x777u

static struct world world;
static struct world_process *alice, *bob;
static struct world_qp sender, members[MEMBERS];
static struct engine_cq *cq; /* of all members */
static struct engine_srq *srq;
static struct engine_verbs_ah ah;
static uint8_t *memory; /* DEPTH buffers */

static int set_up(void **state)
{
	size_t bytes = (size_t)DEPTH * WORLD_STRIDE;

	world_open(&world);
	alice = world_start(&world, 1);
	bob = world_start(&world, 2);
	world_qp_create(&sender, alice, (struct world_qp_options){ .depth = 1 });
	memory = aligned_alloc(64, bytes);
	assert_non_null(memory);
	memset(memory, 0xee, bytes);
	assert_int_equal(engine_mr_add(bob->engine, SRQ_PD, KEY, memory,
				       (uintptr_t)memory, bytes, IBV_ACCESS_LOCAL_WRITE),
			 0);
	assert_int_equal(engine_cq_create(bob->engine, 1000, bob, &cq), 0);
	assert_int_equal(
		engine_srq_create(bob->engine, NULL, SRQ_PD, DEPTH, 2, bob, &srq), 0);
	for (unsigned int i = 0; i < MEMBERS; i++)
		world_qp_create(
			&members[i], bob,
			(struct world_qp_options){ .depth = 1, .cq = cq, .srq = srq });
	world_group_ah(alice, 1, &ah);
	return 0;
}

static int tear_down(void **state)
{
	engine_ah_destroy(ah.engine);
	world_qp_destroy(&sender);
	for (unsigned int i = 0; i < MEMBERS; i++)
		world_qp_destroy(&members[i]);
	engine_srq_destroy(srq);
	engine_cq_destroy(cq);
	engine_mr_remove(bob->engine, KEY);
	world_close(&world);
	free(memory);
	return 0;
}

static uint8_t *buffer(uint64_t i)
{
	return memory + (i % DEPTH) * WORLD_STRIDE;
}

static int post_bytes(uint64_t wr_id, uint32_t bytes, uint32_t key)
{
	struct ibv_sge sge = { (uintptr_t)buffer(wr_id), bytes, key };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad = NULL;
	int r = engine_srq_post_recv(srq, &wr, &bad);

	assert_ptr_equal(bad, r ? &wr : NULL);
	return r;
}

static int post(uint64_t wr_id)
{
	return post_bytes(wr_id, 40 + 4096, KEY);
}

static int modify(int mask, uint32_t max_wr, uint32_t limit)
{
	struct ibv_srq_attr attr = { .max_wr = max_wr, .srq_limit = limit };

	return engine_srq_modify(srq, mask, &attr);
}

static int resize(uint32_t max_wr)
{
	return modify(IBV_SRQ_MAX_WR, max_wr, 999);
}

static void arm(uint32_t limit)
{
	assert_int_equal(modify(IBV_SRQ_LIMIT, 999, limit), 0);
}

static void settle(void)
{
	for (int i = 0; i < 3; i++)
		while (engine_turn(bob->engine))
			;
}

static struct ibv_wc expect_one(void)
{
	struct ibv_wc wc;

	settle();
	assert_int_equal(engine_cq_poll(cq, 1, &wc), 1);
	return wc;
}

static void expect_none(void)
{
	struct ibv_wc wc;

	settle();
	assert_int_equal(engine_cq_poll(cq, 1, &wc), 0);
}

static void attach_all(void)
{
	for (unsigned int i = 0; i < MEMBERS; i++)
		world_attach(&members[i], 1);
}

static void each_member_takes_a_receive_of_its_own(void **state)
{
	attach_all();
	for (uint64_t i = 0; i < MEMBERS; i++)
		assert_int_equal(post(i), 0);
	world_send_number(&sender, &ah, 3, 100);
	for (unsigned int i = 0; i < MEMBERS; i++) {
		struct ibv_wc wc = expect_one();

		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.wr_id, i);
		assert_int_equal(wc.qp_num, members[i].qpn); /* in order of attaching */
		assert_int_equal(wc.byte_len, 140);
		assert_true(world_filled(buffer(i) + 40, 3, 100));
		assert_int_equal(world_delivered(&members[i]), 1);
	}
	expect_none();
}

static void with_too_few_receives_the_last_ones_go_without(void **state)
{
	attach_all();
	assert_int_equal(post(0), 0);
	assert_int_equal(post(1), 0);
	world_send_number(&sender, &ah, 3, 100);
	assert_int_equal(expect_one().qp_num, members[0].qpn);
	assert_int_equal(expect_one().qp_num, members[1].qpn);
	expect_none();
	assert_int_equal(world_dropped(&members[1], DROP_NO_RECV_WQE), 0);
	assert_int_equal(world_dropped(&members[2], DROP_NO_RECV_WQE), 1);
	assert_int_equal(world_dropped(&members[3], DROP_NO_RECV_WQE), 1);
	/* Empty is no error (spec/kernel 4.6): it goes on. */
	assert_int_equal(engine_qp_state(members[3].qp), IBV_QPS_RTS);
	post(2);
	world_send_number(&sender, &ah, 4, 100);
	assert_int_equal(expect_one().status, IBV_WC_SUCCESS);
}

/* Spec/kernel 4.6: used up with an error, and nothing else breaks. */
static void a_receive_too_small_is_used_up(void **state)
{
	struct ibv_wc wc;

	world_attach(&members[0], 1);
	assert_int_equal(post_bytes(0, 40 + 99, KEY), 0);
	assert_int_equal(post(1), 0);
	world_send_number(&sender, &ah, 3, 100);
	wc = expect_one();
	assert_int_equal(wc.status, IBV_WC_REM_INV_REQ_ERR);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.wr_id, 0);
	assert_int_equal(wc.qp_num, members[0].qpn);
	expect_none();
	assert_int_equal(buffer(0)[0], 0xee);
	assert_int_equal(world_dropped(&members[0], DROP_RECV_TOO_SMALL), 1);
	assert_int_equal(world_delivered(&members[0]), 0);
	assert_int_equal(engine_qp_state(members[0].qp), IBV_QPS_RTS);
	world_send_number(&sender, &ah, 4, 100);
	wc = expect_one();
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, 1);
}

/* One element that fits by a byte, and none of no elements. */
static void a_receive_fits_to_the_byte(void **state)
{
	struct ibv_recv_wr wr = { .wr_id = 5 }, *bad;

	world_attach(&members[0], 1);
	assert_int_equal(post_bytes(0, 40 + 100, KEY), 0);
	assert_int_equal(engine_srq_post_recv(srq, &wr, &bad), 0);
	world_send_number(&sender, &ah, 3, 100);
	assert_int_equal(expect_one().status, IBV_WC_SUCCESS);
	world_send_number(&sender, &ah, 3, 0);
	assert_int_equal(expect_one().status, IBV_WC_REM_INV_REQ_ERR);
}

/* A bad key breaks the queue pair that met it, and no other. */
static void a_receive_of_foreign_memory_breaks_one_member(void **state)
{
	struct ibv_wc wc;

	attach_all();
	assert_int_equal(post_bytes(0, 40 + 4096, members[0].lkey), 0);
	assert_int_equal(post(1), 0);
	world_send_number(&sender, &ah, 3, 100);
	wc = expect_one();
	assert_int_equal(wc.status, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(wc.qp_num, members[0].qpn);
	wc = expect_one();
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.qp_num, members[1].qpn);
	assert_int_equal(engine_qp_state(members[0].qp), IBV_QPS_ERR);
	assert_int_equal(engine_qp_state(members[1].qp), IBV_QPS_RTS);
	assert_int_equal(bob->last_async, IBV_EVENT_QP_LAST_WQE_REACHED);
}

static void it_is_full_exactly_at_its_cap(void **state)
{
	struct ibv_recv_wr last = { .wr_id = 1 }, first = { .next = &last }, *bad = NULL;

	for (uint64_t i = 0; i < DEPTH - 1; i++)
		assert_int_equal(post(i), 0);
	/* What is before the one that does not fit is posted. */
	assert_int_equal(engine_srq_post_recv(srq, &first, &bad), ENOMEM);
	assert_ptr_equal(bad, &last);
	assert_int_equal(post(0), ENOMEM);
	world_attach(&members[0], 1);
	world_send_number(&sender, &ah, 3, 100);
	expect_one();
	assert_int_equal(post(0), 0);
	assert_int_equal(post(0), ENOMEM);
}

static void too_many_elements_are_refused(void **state)
{
	struct ibv_sge sges[3] = { { 0 } };
	struct ibv_recv_wr wr = { .sg_list = sges, .num_sge = 3 }, *bad = NULL;

	assert_int_equal(engine_srq_post_recv(srq, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	wr.num_sge = -1;
	assert_int_equal(engine_srq_post_recv(srq, &wr, &bad), EINVAL);
	wr.num_sge = 2;
	assert_int_equal(engine_srq_post_recv(srq, &wr, &bad), 0);
}

static void its_queue_pairs_take_no_receives_themselves(void **state)
{
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad = NULL;

	assert_int_equal(engine_qp_post_recv(members[0].qp, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	world_state(&members[0], IBV_QPS_ERR);
	assert_int_equal(engine_qp_post_recv(members[0].qp, &wr, &bad), EINVAL);
	expect_none();
}

static void its_limit_is_told_once_an_arming(void **state)
{
	world_attach(&members[0], 1);
	for (uint64_t i = 0; i < DEPTH; i++)
		assert_int_equal(post(i), 0);
	arm(5);
	assert_int_equal(engine_srq_limit(srq), 5);
	for (uint32_t taken = 1; taken <= DEPTH - 5; taken++) {
		world_send_number(&sender, &ah, taken, 100);
		expect_one();
		assert_int_equal(bob->async_events, 0); /* 5 are not fewer than 5 */
	}
	world_send_number(&sender, &ah, 9, 100);
	expect_one();
	assert_int_equal(bob->async_events, 1);
	assert_int_equal(bob->last_async, IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_int_equal(engine_srq_limit(srq), 0);
	world_send_number(&sender, &ah, 9, 100);
	expect_one();
	assert_int_equal(bob->async_events, 1);
	arm(5); /* below it already: the next one taken tells */
	assert_int_equal(bob->async_events, 1);
	world_send_number(&sender, &ah, 9, 100);
	expect_one();
	assert_int_equal(bob->async_events, 2);
}

static void a_limit_of_nothing_is_none(void **state)
{
	world_attach(&members[0], 1);
	post(0);
	arm(3);
	arm(0);
	world_send_number(&sender, &ah, 9, 100);
	expect_one();
	assert_int_equal(bob->async_events, 0);
}

static void a_receive_that_was_too_small_counts_for_the_limit(void **state)
{
	world_attach(&members[0], 1);
	assert_int_equal(post_bytes(0, 40, KEY), 0);
	arm(1);
	world_send_number(&sender, &ah, 9, 100);
	expect_one();
	assert_int_equal(bob->last_async, IBV_EVENT_SRQ_LIMIT_REACHED);
}

/* The ring wraps before, and grows and shrinks round what lies in it. */
static void a_resize_keeps_what_is_posted(void **state)
{
	world_attach(&members[0], 1);
	for (uint64_t i = 0; i < 5; i++) {
		post(i);
		world_send_number(&sender, &ah, 1, 100);
		assert_int_equal(expect_one().wr_id, i);
	}
	for (uint64_t i = 100; i < 100 + DEPTH; i++)
		assert_int_equal(post(i), 0);
	assert_int_equal(resize(2 * DEPTH), 0);
	for (uint64_t i = 100 + DEPTH; i < 100 + 2 * DEPTH; i++)
		assert_int_equal(post(i), 0);
	assert_int_equal(post(0), ENOMEM);
	assert_int_equal(resize(2 * DEPTH - 1), -EINVAL);
	for (uint64_t i = 100; i < 100 + 2 * DEPTH - 3; i++) {
		world_send_number(&sender, &ah, 1, 100);
		assert_int_equal(expect_one().wr_id, i);
	}
	assert_int_equal(resize(2), -EINVAL);
	assert_int_equal(resize(3), 0);
	assert_int_equal(post(0), ENOMEM);
	for (uint64_t i = 100 + 2 * DEPTH - 3; i < 100 + 2 * DEPTH; i++) {
		world_send_number(&sender, &ah, 1, 100);
		assert_int_equal(expect_one().wr_id, i);
	}
	assert_int_equal(post(0), 0);
	world_send_number(&sender, &ah, 1, 100);
	assert_int_equal(expect_one().wr_id, 0);
}

static void depth_and_limit_change_together_or_not_at_all(void **state)
{
	const int both = IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT;

	arm(4);
	assert_int_equal(resize(3), -EINVAL);
	assert_int_equal(resize(0), -EINVAL);
	assert_int_equal(modify(IBV_SRQ_LIMIT, 0, DEPTH + 1), -EINVAL);
	assert_int_equal(modify(both, 3, 4), -EINVAL);
	assert_int_equal(engine_srq_limit(srq), 4);
	assert_int_equal(modify(both, 3, 3), 0);
	assert_int_equal(engine_srq_limit(srq), 3);
	assert_int_equal(modify(0, 999, 999), 0);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(post(i), 0);
	assert_int_equal(post(3), ENOMEM);
	assert_int_equal(modify(both, 2, 1), -EINVAL);
	assert_int_equal(engine_srq_limit(srq), 3);
}

/* Told once, at the change; what is posted is the others'. */
static void a_member_that_ends_leaves_the_receives_to_the_others(void **state)
{
	attach_all();
	assert_int_equal(post(0), 0);
	world_state(&members[0], IBV_QPS_ERR);
	assert_int_equal(bob->async_events, 1);
	assert_int_equal(bob->last_async, IBV_EVENT_QP_LAST_WQE_REACHED);
	world_state(&members[0], IBV_QPS_ERR);
	assert_int_equal(bob->async_events, 1);
	expect_none();
	world_send_number(&sender, &ah, 7, 100);
	assert_int_equal(expect_one().qp_num, members[1].qpn);
	assert_int_equal(world_dropped(&members[0], DROP_QP_STATE), 1);
	post(1);
	world_state(&members[1], IBV_QPS_RESET);
	assert_int_equal(bob->async_events, 1);
	world_send_number(&sender, &ah, 7, 100);
	assert_int_equal(expect_one().qp_num, members[2].qpn);
}

/* With what comes straight from the log; others may have the engine for a moment. */
static int poll_cq(struct ibv_wc *wc)
{
	struct engine *e = bob->engine;

	for (;;) {
		uint32_t before = atomic_load(&e->polls);

		if (engine_cq_poll(cq, 1, wc))
			return 1;
		if (atomic_load(&e->polls) != before)
			return 0;
		lock_take(&e->rx_lock);
		lock_drop(&e->rx_lock);
	}
}

/* Two senders each have a run to it when a datagram of the one breaks it. */
static void a_member_that_fails_takes_nothing_more_of_any_sender(void **state)
{
	struct world_process *carol = world_start(&world, 3);
	struct engine_verbs_ah carols;
	struct world_qp second;
	struct ibv_wc wc;

	world_qp_create(&second, carol, (struct world_qp_options){ .depth = 1 });
	world_group_ah(carol, 1, &carols);
	world_attach(&members[0], 1);
	for (uint64_t i = 0; i < 6; i++) {
		assert_int_equal(post(i), 0);
		world_send_number(i % 2 ? &second : &sender, i % 2 ? &carols : &ah, 3, 8);
		harness_until(poll_cq(&wc) == 1, 5000, harness_pause());
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
	}
	assert_int_equal(post_bytes(6, 40 + 4096, KEY + 1), 0);
	assert_int_equal(post(7), 0);
	world_send_number(&sender, &ah, 3, 8);
	assert_int_equal(poll_cq(&wc), 1);
	assert_int_equal(wc.status, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(engine_qp_state(members[0].qp), IBV_QPS_ERR);
	world_send_number(&second, &carols, 3, 8);
	assert_int_equal(poll_cq(&wc), 0);
	assert_int_equal(world_dropped(&members[0], DROP_QP_STATE), 1);
	engine_ah_destroy(carols.engine);
	world_qp_destroy(&second);
}

static void without_a_daemon_members_take_nothing(void **state)
{
	struct ibv_wc wc;

	world_attach(&members[0], 1);
	for (uint64_t i = 0; i < 4; i++) {
		assert_int_equal(post(i), 0);
		world_send_number(&sender, &ah, 3, 8);
		harness_until(poll_cq(&wc) == 1, 5000, harness_pause());
	}
	assert_int_equal(post(4), 0);
	engine_fail(bob->engine);
	world_send_number(&sender, &ah, 3, 8);
	assert_int_equal(poll_cq(&wc), 0);
	assert_int_equal(world_dropped(&members[0], DROP_QP_STATE), 1);
}

static void without_a_daemon_posts_are_refused(void **state)
{
	engine_fail(bob->engine);
	assert_int_equal(post(0), ENODEV);
	assert_int_equal(bob->async_events, MEMBERS);
	assert_int_equal(bob->last_async, IBV_EVENT_QP_LAST_WQE_REACHED);
}

/* -- posting and taking at once ---------------------------------------------------- */

static _Atomic unsigned int taken;

static void *keep_posting(void *arg)
{
	uint64_t n = *(const unsigned int *)arg;

	for (uint64_t i = 0; i < n;)
		if (post(i) == 0)
			i++;
		else
			harness_pause();
	return NULL;
}

/* Two threads post what the members take, one resizes; nothing is taken twice or lost. */
static void threads_post_while_members_take(void **state)
{
	unsigned int count = harness_count(2000, 50000), per_thread = count / 2;
	pthread_t threads[2];
	struct ibv_wc wc[8];

	attach_all();
	taken = 0;
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, keep_posting, &per_thread);
	for (uint32_t i = 0; taken < count; i++) {
		int n;

		world_send_number(&sender, &ah, i, 64);
		n = engine_cq_poll(cq, 8, wc);
		for (int k = 0; k < n; k++)
			assert_int_equal(wc[k].status, IBV_WC_SUCCESS);
		taken += (unsigned int)n;
		if (i % 64 == 0) {
			int r = resize(DEPTH + i % 128);

			assert_true(r == 0 || r == -EINVAL); /* holds more just now */
		}
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(taken, count);
	expect_none();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_member_takes_a_receive_of_its_own),
		TEST(with_too_few_receives_the_last_ones_go_without),
		TEST(a_receive_too_small_is_used_up),
		TEST(a_receive_fits_to_the_byte),
		TEST(a_receive_of_foreign_memory_breaks_one_member),
		TEST(it_is_full_exactly_at_its_cap),
		TEST(too_many_elements_are_refused),
		TEST(its_queue_pairs_take_no_receives_themselves),
		TEST(its_limit_is_told_once_an_arming),
		TEST(a_limit_of_nothing_is_none),
		TEST(a_receive_that_was_too_small_counts_for_the_limit),
		TEST(a_resize_keeps_what_is_posted),
		TEST(depth_and_limit_change_together_or_not_at_all),
		TEST(a_member_that_ends_leaves_the_receives_to_the_others),
		TEST(a_member_that_fails_takes_nothing_more_of_any_sender),
		TEST(without_a_daemon_members_take_nothing),
		TEST(without_a_daemon_posts_are_refused),
		TEST(threads_post_while_members_take),
	};

	return harness_run(tests);
}
