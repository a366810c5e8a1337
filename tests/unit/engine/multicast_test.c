// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who receives what: attachments by generation, the checks before delivery, the bytes and
 * the completion of what is delivered.
 */
#include "world.h"

#include "wire/ip.h"

static struct world world;
static struct world_process *alice, *bob;
static struct world_qp sender, receiver;
static struct engine_verbs_ah ah;

static int set_up(void **state)
{
	world_open(&world);
	alice = world_start(&world, 1);
	bob = world_start(&world, 2);
	world_qp_create(&sender, alice, (struct world_qp_options){ .depth = 16 });
	world_qp_create(&receiver, bob, (struct world_qp_options){ .depth = 16 });
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

/* Turn until the receiving side has nothing more to do. */
static void settle(struct world_process *p)
{
	for (int i = 0; i < 3; i++)
		while (engine_turn(p->engine))
			;
}

static struct ibv_wc expect_one(struct world_qp *q)
{
	struct ibv_wc wc;

	settle(q->process);
	assert_int_equal(world_poll(q, 1, &wc), 1);
	return wc;
}

static void expect_none(struct world_qp *q)
{
	struct ibv_wc wc;

	settle(q->process);
	assert_int_equal(world_poll(q, 1, &wc), 0);
}

static void a_member_receives_with_all_fields(void **state)
{
	struct ibv_wc wc;

	world_attach(&receiver, 1);
	world_post_recv(&receiver, 1);
	assert_int_equal(world_send_number(&sender, &ah, 5, 100), 0);
	wc = expect_one(&receiver);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.wr_id, 0);
	assert_int_equal(wc.byte_len, 140);
	assert_int_equal(wc.src_qp, sender.qpn);
	assert_int_equal(wc.qp_num, receiver.qpn);
	assert_int_equal(wc.wc_flags, IBV_WC_GRH);
	assert_int_equal(wc.pkey_index, 0);
	assert_int_equal(wc.slid, 0);
	assert_int_equal(wc.sl, 0);
	assert_true(world_filled(world_buffer(&receiver, 0) + 40, 5, 100));
	assert_int_equal(world_buffer(&receiver, 0)[140], 0xee); /* not a byte more */
	assert_int_equal(world_delivered(&receiver), 1);
	assert_int_equal(atomic_load(&alice->counters->qps[sender.counters].sent), 1);
	assert_int_equal(
		atomic_load(&bob->counters->qps[receiver.counters].received_bytes), 100);
}

/* spec/kernel 4.6: bytes 0..19 zero, then the IPv4 header as it would be on the wire. */
static void the_first_40_bytes_hold_the_ipv4_header(void **state)
{
	static const uint8_t zero[20];
	uint32_t src = inet_addr("10.0.0.1"), dst = inet_addr("239.0.0.1");
	const uint8_t *h;

	world_attach(&receiver, 1);
	world_post_recv(&receiver, 2);
	for (uint32_t bytes = 5; bytes <= 8; bytes += 3) {
		world_send(&sender, &ah, bytes);
		expect_one(&receiver);
	}
	for (unsigned int i = 0; i < 2; i++) {
		h = world_buffer(&receiver, i);
		assert_memory_equal(h, zero, 20);
		h += 20;
		assert_int_equal(h[0], 0x45);
		assert_int_equal(h[2] << 8 | h[3], 20 + 8 + 12 + 8 + 8 + 4); /* padded */
		assert_int_equal(h[4] << 8 | h[5], 0);
		assert_int_equal(h[6] << 8 | h[7], 0x4000);
		assert_int_equal(h[8], 64);
		assert_int_equal(h[9], 17);
		assert_memory_equal(h + 12, &src, 4);
		assert_memory_equal(h + 16, &dst, 4);
		assert_int_equal(ip_checksum(h, 20), 0);
	}
}

static void immediate_data_comes_as_it_was_sent(void **state)
{
	struct ibv_sge sge = { (uintptr_t)world_send_buffer(&sender), 8, sender.lkey };
	struct ibv_send_wr *bad, wr = world_wr(&ah, &sge);
	struct ibv_wc wc;

	wr.opcode = IBV_WR_SEND_WITH_IMM;
	wr.imm_data = htonl(0x11223344);
	world_attach(&receiver, 1);
	world_post_recv(&receiver, 1);
	assert_int_equal(engine_qp_post_send(sender.qp, &wr, &bad), 0);
	wc = expect_one(&receiver);
	assert_int_equal(wc.wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM);
	assert_int_equal(wc.imm_data, htonl(0x11223344));
	assert_int_equal(world_buffer(&receiver, 0)[23], 20 + 8 + 12 + 8 + 4 + 8 + 4);
}

static void what_was_sent_before_the_attach_never_comes(void **state)
{
	struct world_qp other;

	world_qp_create(&other, bob, (struct world_qp_options){ .depth = 16 });
	world_attach(&other, 1);
	world_post_recv(&other, 2);
	world_post_recv(&receiver, 2);
	world_send_number(&sender, &ah, 1, 16);
	/* It lies in the log, unread, when the second one attaches. */
	world_attach(&receiver, 1);
	expect_none(&receiver);
	world_send_number(&sender, &ah, 2, 16);
	assert_int_equal(expect_one(&receiver).byte_len, 56);
	assert_true(world_filled(world_buffer(&receiver, 0) + 40, 2, 16));
	expect_none(&receiver);
	expect_one(&other);
	expect_one(&other);
	assert_int_equal(world_dropped_any(&receiver), 0);
	world_qp_destroy(&other);
}

static void nothing_comes_after_the_detach(void **state)
{
	world_attach(&receiver, 1);
	world_post_recv(&receiver, 2);
	world_send(&sender, &ah, 16);
	world_detach(&receiver, 1, true);
	expect_none(&receiver);
	world_send(&sender, &ah, 16);
	expect_none(&receiver);
	assert_int_equal(
		atomic_load(&alice->counters->qps[sender.counters].drops[DROP_NO_MEMBER]),
		1);
}

static void a_group_nobody_knows_is_counted(void **state)
{
	assert_int_equal(world_send(&sender, &ah, 16), 0);
	assert_int_equal(world_send(&sender, &ah, 16), 0);
	assert_int_equal(
		atomic_load(&alice->counters->qps[sender.counters].drops[DROP_NO_GROUP]),
		2);
	/* And it is found as soon as somebody attaches. */
	world_attach(&receiver, 1);
	world_post_recv(&receiver, 1);
	world_send(&sender, &ah, 16);
	expect_one(&receiver);
}

/* The entry is unlinked and serves another group; the handle still names the first. */
static void a_reused_entry_does_not_deliver_another_groups_datagrams(void **state)
{
	uint32_t entry = world_group(&world, 1);

	world_attach(&receiver, 1);
	world_post_recv(&receiver, 4);
	world_send(&sender, &ah, 16);
	expect_one(&receiver);
	world_detach(&receiver, 1, true);
	shm_group_unlink(world.tables, entry);
	/* It rests first. */
	for (unsigned int i = 0; i <= SHM_GROUPS_RESTING; i++)
		if (world_group(&world, 2) != entry)
			shm_group_unlink(world.tables, world_group(&world, 2));
	assert_int_equal(world_group(&world, 2), entry);
	world_attach(&receiver, 2);
	world_send(&sender, &ah, 16);
	expect_none(&receiver);
}

static void every_failing_member_counts_its_own_reason(void **state)
{
	struct world_qp q[6];
	struct engine_qp_attr attr = { .state = IBV_QPS_RTS, .qkey = WORLD_QKEY };

	for (int i = 0; i < 6; i++) {
		world_qp_create(&q[i], bob, (struct world_qp_options){ .depth = 4 });
		world_attach(&q[i], 1);
	}
	/* 0: fine. 1: wrong Q_Key. 2: small buffer. 3: empty queue. 4: INIT. 5: P_Key. */
	world_post_recv(&q[0], 2);
	world_post_recv(&q[1], 1);
	attr.qkey = 1;
	engine_qp_modify(q[1].qp, &attr);
	struct ibv_sge sge = { (uintptr_t)q[2].memory, 139, q[2].lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };
	assert_int_equal(engine_qp_post_recv(q[2].qp, &wr, &bad), 0);
	world_state(&q[4], IBV_QPS_INIT);
	world_post_recv(&q[4], 1);
	world_post_recv(&q[5], 1);
	atomic_store(&world.tables->ports[0].pkeys[1], 0x8002);
	attr = (struct engine_qp_attr){ .state = IBV_QPS_RTS,
					.qkey = WORLD_QKEY,
					.pkey_index = 1 };
	engine_qp_modify(q[5].qp, &attr);

	world_send_number(&sender, &ah, 1, 100);
	expect_one(&q[0]);
	static const enum drop_reason expected[] = {
		DROP_NONE,        DROP_QKEY,     DROP_RECV_TOO_SMALL,
		DROP_NO_RECV_WQE, DROP_QP_STATE, DROP_PKEY
	};
	for (int i = 0; i < 6; i++) {
		assert_int_equal(world_dropped_any(&q[i]), i ? 1 : 0);
		if (i)
			assert_int_equal(world_dropped(&q[i], expected[i]), 1);
	}
	/* The small buffer was kept (spec/kernel 7.1) and takes what fits. */
	world_send_number(&sender, &ah, 2, 99);
	expect_one(&q[2]);
	for (int i = 0; i < 6; i++)
		world_qp_destroy(&q[i]);
}

static void limited_members_of_a_partition_do_not_hear_each_other(void **state)
{
	_Atomic uint16_t *pkeys = world.tables->ports[0].pkeys;
	const struct engine_qp_attr limited = { .state = IBV_QPS_RTS,
						.qkey = WORLD_QKEY,
						.pkey_index = 1 };

	atomic_store(&pkeys[1], 0x7fff);
	world_attach(&receiver, 1);
	world_post_recv(&receiver, 3);
	engine_qp_modify(sender.qp, &limited);
	world_send(&sender, &ah, 8); /* limited to full */
	expect_one(&receiver);
	engine_qp_modify(receiver.qp, &limited);
	world_send(&sender, &ah, 8); /* limited to limited */
	expect_none(&receiver);
	assert_int_equal(world_dropped(&receiver, DROP_PKEY), 1);
}

static void memory_outside_its_region_breaks_the_queue_pair_alone(void **state)
{
	struct ibv_sge sge = { (uintptr_t)receiver.memory, 4136, receiver.lkey + 1000 };
	struct ibv_recv_wr *bad, wr = { .wr_id = 77, .sg_list = &sge, .num_sge = 1 };
	struct ibv_wc wc;

	world_attach(&receiver, 1);
	assert_int_equal(engine_qp_post_recv(receiver.qp, &wr, &bad), 0);
	world_post_recv(&receiver, 1);
	world_send(&sender, &ah, 8);
	wc = expect_one(&receiver);
	assert_int_equal(wc.status, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(wc.wr_id, 77);
	assert_int_equal(engine_qp_state(receiver.qp), IBV_QPS_ERR);
	assert_int_equal(expect_one(&receiver).status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(world_dropped(&receiver, DROP_RECV_PROT), 1);
}

static void a_buffer_in_pieces_is_filled_in_order(void **state)
{
	uint8_t *m = receiver.memory;
	struct ibv_sge sge[4] = { { (uintptr_t)m, 10, receiver.lkey },
				  { (uintptr_t)m + 100, 0, receiver.lkey },
				  { (uintptr_t)m + 200, 45, receiver.lkey },
				  { (uintptr_t)m + 300, 4000, receiver.lkey } };
	struct ibv_recv_wr *bad, wr = { .sg_list = sge, .num_sge = 4 };
	uint8_t whole[440];

	world_attach(&receiver, 1);
	assert_int_equal(engine_qp_post_recv(receiver.qp, &wr, &bad), 0);
	world_send_number(&sender, &ah, 9, 400);
	assert_int_equal(expect_one(&receiver).byte_len, 440);
	memcpy(whole, m, 10);
	memcpy(whole + 10, m + 200, 45);
	memcpy(whole + 55, m + 300, 385);
	assert_int_equal(whole[20], 0x45);
	assert_true(world_filled(whole + 40, 9, 400));
	assert_int_equal(m[100], 0xee);
}

static void a_queue_pair_hears_itself_unless_created_not_to(void **state)
{
	struct world_qp loud, deaf;

	world_qp_create(&loud, alice, (struct world_qp_options){ .depth = 4 });
	world_qp_create(&deaf, alice,
			(struct world_qp_options){ .depth = 4, .block_self = true });
	world_attach(&loud, 1);
	world_attach(&deaf, 1);
	world_post_recv(&loud, 2);
	world_post_recv(&deaf, 2);
	world_send(&loud, &ah, 8);
	expect_one(&loud);
	expect_one(&deaf); /* not its own */
	world_send(&deaf, &ah, 8);
	expect_one(&loud);
	expect_none(&deaf);
	assert_int_equal(world_dropped(&deaf, DROP_SELF_LOOPBACK), 1);
	world_qp_destroy(&loud);
	world_qp_destroy(&deaf);
}

/* spec/kernel 4.5: an ordinary number with a multicast GID is for that queue pair. */
static void an_ordinary_number_reaches_that_member_alone(void **state)
{
	struct world_qp other;
	struct ibv_sge sge = { (uintptr_t)world_send_buffer(&sender), 8, sender.lkey };
	struct ibv_send_wr *bad, wr = world_wr(&ah, &sge);

	world_qp_create(&other, bob, (struct world_qp_options){ .depth = 4 });
	world_attach(&receiver, 1);
	world_attach(&other, 1);
	world_post_recv(&receiver, 1);
	world_post_recv(&other, 1);
	wr.wr.ud.remote_qpn = other.qpn;
	assert_int_equal(engine_qp_post_send(sender.qp, &wr, &bad), 0);
	expect_one(&other);
	expect_none(&receiver);
	world_qp_destroy(&other);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_member_receives_with_all_fields),
		T(the_first_40_bytes_hold_the_ipv4_header),
		T(immediate_data_comes_as_it_was_sent),
		T(what_was_sent_before_the_attach_never_comes),
		T(nothing_comes_after_the_detach),
		T(a_group_nobody_knows_is_counted),
		T(a_reused_entry_does_not_deliver_another_groups_datagrams),
		T(every_failing_member_counts_its_own_reason),
		T(limited_members_of_a_partition_do_not_hear_each_other),
		T(memory_outside_its_region_breaks_the_queue_pair_alone),
		T(a_buffer_in_pieces_is_filled_in_order),
		T(a_queue_pair_hears_itself_unless_created_not_to),
		T(an_ordinary_number_reaches_that_member_alone),
	};

	return harness_run(tests);
}
