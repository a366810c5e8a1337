// SPDX-License-Identifier: BSD-2-Clause
/*
 * Runs (engine/run.h): what was found out about one datagram is kept for the next ones.
 * Whatever changes in between must be noticed by the very next datagram.
 */
#include "world.h"

#include "engine/run.h"
#include "wire/grh.h"

static struct world world;
static struct world_process *alice, *bob;
static struct world_qp sender, receiver;
static struct engine_verbs_ah ah;

static int poll_one(void)
{
	struct ibv_wc wc;
	int n = world_poll(&receiver, 1, &wc);

	if (n) {
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		world_post_recv(&receiver, 1);
	}
	return n;
}

/* Send one and have it polled straight from the log: the run is going. */
static void go_on(void)
{
	world_send(&sender, &ah, 8);
	assert_int_equal(poll_one(), 1);
}

static void expect_dropped(enum drop_reason reason)
{
	uint32_t before = world_dropped(&receiver, reason);

	world_send(&sender, &ah, 8);
	assert_int_equal(poll_one(), 0);
	assert_int_equal(world_dropped(&receiver, reason), before + 1);
}

static int set_up(void **state)
{
	world_open(&world);
	alice = world_start(&world, 1);
	bob = world_start(&world, 2);
	world_qp_create(&sender, alice, (struct world_qp_options){ .depth = 16 });
	world_qp_create(&receiver, bob, (struct world_qp_options){ .depth = 16 });
	world_group_ah(alice, 1, &ah);
	world_attach(&receiver, 1);
	world_post_recv(&receiver, 16);
	world_send(&sender, &ah, 8);
	harness_until(poll_one() == 1, 5000, harness_pause());
	for (int i = 0; i < 3; i++)
		go_on();
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

static void counters_are_true_after_every_poll(void **state)
{
	for (uint64_t i = 4; i < 40; i++) {
		assert_int_equal(world_delivered(&receiver), i);
		assert_int_equal(
			atomic_load(
				&bob->counters->qps[receiver.counters].received_bytes),
			8 * i);
		go_on();
	}
}

static void lengths_and_immediates_may_differ(void **state)
{
	static const uint32_t lengths[] = { 0, 4096, 1, 63, 64, 65, 66, 3, 1000, 1000, 4 };
	struct ibv_wc wc[16];

	for (unsigned int i = 0; i < 11; i++) {
		struct ibv_sge sge = { (uintptr_t)world_send_buffer(&sender), lengths[i],
				       sender.lkey };
		struct ibv_send_wr *bad, wr = world_wr(&ah, &sge);

		world_fill(world_send_buffer(&sender), i, lengths[i]);
		wr.opcode = IBV_WR_SEND_WITH_IMM;
		wr.imm_data = htonl(i);
		assert_int_equal(engine_qp_post_send(sender.qp, &wr, &bad), 0);
	}
	assert_int_equal(world_poll(&receiver, 16, wc), 11);
	for (unsigned int i = 0; i < 11; i++) {
		const uint8_t *b = world_buffer(&receiver, wc[i].wr_id);

		assert_int_equal(wc[i].byte_len, 40 + lengths[i]);
		assert_int_equal(wc[i].imm_data, htonl(i));
		assert_int_equal(b[22] << 8 | b[23],
				 20 + 8 + ud_wire_bytes(lengths[i], 1));
		assert_int_equal(ip_checksum(b + 20, 20), 0);
		assert_true(world_filled(b + 40, i, lengths[i]));
	}
}

static void a_new_qkey_counts_at_once(void **state)
{
	struct engine_qp_attr attr = { .state = IBV_QPS_RTS, .qkey = 99 };

	engine_qp_modify(receiver.qp, &attr);
	expect_dropped(DROP_QKEY);
	world_state(&receiver, IBV_QPS_RTS);
	go_on();
}

static void a_senders_other_qkey_counts_at_once(void **state)
{
	struct ibv_sge sge = { (uintptr_t)world_send_buffer(&sender), 8, sender.lkey };
	struct ibv_send_wr *bad, wr = world_wr(&ah, &sge);

	wr.wr.ud.remote_qkey = 5;
	assert_int_equal(engine_qp_post_send(sender.qp, &wr, &bad), 0);
	assert_int_equal(poll_one(), 0);
	assert_int_equal(world_dropped(&receiver, DROP_QKEY), 1);
	go_on();
}

static void a_pkey_table_that_changes_counts_at_once(void **state)
{
	struct engine_qp_attr attr = { .state = IBV_QPS_RTS,
				       .qkey = WORLD_QKEY,
				       .pkey_index = 1 };

	atomic_store(&world.tables->ports[0].pkeys[1], 0xffff);
	engine_qp_modify(receiver.qp, &attr);
	go_on();
	go_on();
	atomic_store(&world.tables->ports[0].pkeys[1], 0x8123);
	expect_dropped(DROP_PKEY);
}

/* Between the look at the first datagram's key and the beginning of its run. */
static void a_pkey_that_has_changed_begins_no_run(void **state)
{
	struct sender *s = bob->engine->rx.senders[alice->slot];
	const struct member m = { .qp = receiver.qp, .counters = receiver.member };
	const struct rx_datagram d = { .pkey = 0xffff, .qkey = WORLD_QKEY };
	const struct run_words words = { .numbers = MULTICAST_QPN };
	struct heard h = { 0 };
	bool before, after;

	lock_take(&bob->engine->rx_lock);
	run_end(&s->run);
	run_begin(bob->engine, s, &m, &h, &d, &words);
	before = s->run.delivered;
	run_end(&s->run);
	atomic_store(&world.tables->ports[0].pkeys[0], 0x8123);
	run_begin(bob->engine, s, &m, &h, &d, &words);
	after = s->run.delivered;
	run_end(&s->run);
	lock_drop(&bob->engine->rx_lock);
	assert_true(before);
	assert_false(after);
}

static void a_state_counts_at_once(void **state)
{
	world_state(&receiver, IBV_QPS_INIT);
	expect_dropped(DROP_QP_STATE);
	world_state(&receiver, IBV_QPS_RTR);
	go_on();
}

static void an_empty_queue_counts_at_once(void **state)
{
	struct ibv_wc wc[16];

	for (int i = 0; i < 18; i++)
		world_send(&sender, &ah, 8);
	assert_int_equal(world_poll(&receiver, 16, wc), 16);
	assert_int_equal(world_poll(&receiver, 16, wc), 0);
	assert_int_equal(world_dropped(&receiver, DROP_NO_RECV_WQE), 2);
	world_post_recv(&receiver, 16);
	go_on();
}

static void memory_that_is_gone_counts_at_once(void **state)
{
	struct ibv_wc wc;

	engine_mr_remove(bob->engine, receiver.lkey);
	world_send(&sender, &ah, 8);
	assert_int_equal(world_poll(&receiver, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_LOC_PROT_ERR);
}

static void post_to(uint32_t lkey, const void *iova)
{
	struct ibv_sge sge = { (uintptr_t)iova, 40 + 4096, lkey };
	struct ibv_recv_wr wr = { .wr_id = 77, .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(engine_qp_post_recv(receiver.qp, &wr, &bad), 0);
}

/* Use up the receives that set_up has posted. */
static void drain_receives(void)
{
	struct ibv_wc wc[16];

	for (int i = 0; i < 16; i++)
		world_send(&sender, &ah, 8);
	assert_int_equal(world_poll(&receiver, 16, wc), 16);
}

/* A key that is given out again means the memory that it is of now. */
static void a_key_that_is_used_again_counts_at_once(void **state)
{
	static uint8_t elsewhere[40 + 4096];
	void *iova = world_buffer(&receiver, 0);
	struct ibv_wc wc;

	drain_receives();
	post_to(receiver.lkey, iova);
	memset(iova, 0xee, 64);
	engine_mr_remove(bob->engine, receiver.lkey);
	assert_int_equal(engine_mr_add(bob->engine, WORLD_PD, receiver.lkey, elsewhere,
				       (uintptr_t)iova, sizeof(elsewhere),
				       IBV_ACCESS_LOCAL_WRITE),
			 0);
	world_fill(world_send_buffer(&sender), 5, 8);
	world_send(&sender, &ah, 8);
	assert_int_equal(world_poll(&receiver, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_true(world_filled(elsewhere + 40, 5, 8));
	assert_int_equal(((uint8_t *)iova)[40], 0xee);
}

static void receives_may_lie_in_several_regions(void **state)
{
	static uint8_t other[4][40 + 4096];
	const uint32_t lkey = receiver.lkey + 1000;
	struct ibv_wc wc[8];

	assert_int_equal(engine_mr_add(bob->engine, WORLD_PD, lkey, other,
				       (uintptr_t)other, sizeof(other),
				       IBV_ACCESS_LOCAL_WRITE),
			 0);
	drain_receives();
	for (uint32_t i = 0; i < 4; i++) {
		post_to(lkey, other[i]);
		post_to(receiver.lkey, world_buffer(&receiver, i));
	}
	for (uint32_t i = 0; i < 8; i++) {
		world_fill(world_send_buffer(&sender), i, 100);
		world_send(&sender, &ah, 100);
	}
	assert_int_equal(world_poll(&receiver, 8, wc), 8);
	for (uint32_t i = 0; i < 8; i++)
		assert_true(world_filled(
			40 + (i % 2 ? world_buffer(&receiver, i / 2) : other[i / 2]), i,
			100));
	engine_mr_remove(bob->engine, lkey);
}

/* Beyond the end of the region that the one before lay in, and of another's memory. */
static void a_receive_must_lie_within_its_region(void **state)
{
	struct ibv_wc wc;

	drain_receives();
	post_to(receiver.lkey, world_send_buffer(&receiver) + WORLD_STRIDE - 64);
	world_send(&sender, &ah, 100);
	assert_int_equal(world_poll(&receiver, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_LOC_PROT_ERR);
}

static void the_senders_memory_that_is_gone_counts_at_once(void **state)
{
	struct ibv_wc wc;

	engine_mr_remove(alice->engine, sender.lkey);
	assert_int_equal(world_send(&sender, &ah, 8), 0);
	assert_int_equal(world_poll(&receiver, 1, &wc), 0);
	assert_int_equal(engine_cq_poll(sender.send_cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_LOC_PROT_ERR);
}

/* Whatever it was that wrote them. */
static void completions_in_a_run_are_like_its_first(void **state)
{
	struct ibv_wc wc[4];

	world_state(&receiver, IBV_QPS_RTS); /* the run ends */
	memset(wc, 0xa5, sizeof(wc));
	for (int i = 0; i < 4; i++)
		world_send(&sender, &ah, 8);
	assert_int_equal(world_poll(&receiver, 4, wc), 4);
	for (int i = 1; i < 4; i++) {
		assert_int_equal(wc[i].wr_id, wc[0].wr_id + (unsigned int)i);
		wc[i].wr_id = wc[0].wr_id;
		assert_memory_equal(&wc[i], &wc[0],
				    offsetof(struct ibv_wc, dlid_path_bits) + 1);
	}
	assert_int_equal(wc[0].src_qp, sender.qpn);
	assert_int_equal(wc[0].byte_len, 40 + 8);
}

static void a_second_member_hears_at_once(void **state)
{
	struct world_qp other;
	struct ibv_wc wc;

	world_qp_create(&other, bob, (struct world_qp_options){ .depth = 4 });
	world_post_recv(&other, 4);
	world_attach(&other, 1);
	go_on();
	assert_int_equal(world_poll(&other, 1, &wc), 1);
	world_detach(&other, 1, false);
	go_on();
	assert_int_equal(world_poll(&other, 1, &wc), 0);
	world_qp_destroy(&other);
	go_on();
}

static void another_group_of_the_same_sender_is_told_apart(void **state)
{
	struct engine_verbs_ah other;
	struct world_qp q;
	struct ibv_wc wc;

	world_qp_create(&q, bob, (struct world_qp_options){ .depth = 16 });
	world_post_recv(&q, 16);
	world_attach(&q, 2);
	world_group_ah(alice, 2, &other);
	for (int i = 0; i < 5; i++) {
		world_send(&sender, &other, 16);
		go_on();
		assert_int_equal(world_poll(&q, 1, &wc), 1);
		assert_int_equal(world_buffer(&q, wc.wr_id)[39], 2); /* its own address */
	}
	engine_ah_destroy(other.engine);
	world_qp_destroy(&q);
}

static void a_source_that_is_gone_is_not_shown_any_more(void **state)
{
	struct shm_gid_entry *gid = &world.tables->ports[0].gids[0];

	world_send(&sender, &ah, 8);
	atomic_store(&gid->valid, 0);
	assert_int_equal(poll_one(), 0);
	assert_int_equal(atomic_load(&bob->counters->drops[DROP_BAD_HEADER]), 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(counters_are_true_after_every_poll),
		T(lengths_and_immediates_may_differ),
		T(a_new_qkey_counts_at_once),
		T(a_senders_other_qkey_counts_at_once),
		T(a_pkey_table_that_changes_counts_at_once),
		T(a_pkey_that_has_changed_begins_no_run),
		T(a_state_counts_at_once),
		T(an_empty_queue_counts_at_once),
		T(memory_that_is_gone_counts_at_once),
		T(a_key_that_is_used_again_counts_at_once),
		T(receives_may_lie_in_several_regions),
		T(a_receive_must_lie_within_its_region),
		T(the_senders_memory_that_is_gone_counts_at_once),
		T(completions_in_a_run_are_like_its_first),
		T(a_second_member_hears_at_once),
		T(another_group_of_the_same_sender_is_told_apart),
		T(a_source_that_is_gone_is_not_shown_any_more),
	};

	return harness_run(tests);
}
