// SPDX-License-Identifier: BSD-2-Clause
/*
 * Posting sends: what the call refuses, what a completion reports, how deep the queue is,
 * and where a unicast datagram goes.
 */
#include "world.h"

static struct world world;
static struct world_process *alice, *bob;
static struct world_qp sender, receiver;
static struct engine_verbs_ah group_ah, port_ah;

static int set_up(void **state)
{
	world_open(&world);
	alice = world_start(&world, 1);
	bob = world_start(&world, 2);
	world_qp_create(&sender, alice,
			(struct world_qp_options){ .depth = 4, .send_depth = 4 });
	world_qp_create(&receiver, bob, (struct world_qp_options){ .depth = 64 });
	world_group_ah(alice, 1, &group_ah);
	world_ah(alice, world.tables->ports[0].gids[0].gid, &port_ah);
	world_attach(&receiver, 1);
	world_post_recv(&receiver, 64);
	return 0;
}

static int tear_down(void **state)
{
	engine_ah_destroy(group_ah.engine);
	engine_ah_destroy(port_ah.engine);
	world_qp_destroy(&sender);
	world_qp_destroy(&receiver);
	world_close(&world);
	return 0;
}

static struct ibv_sge sge_of(uint32_t bytes)
{
	return (struct ibv_sge){ (uintptr_t)world_send_buffer(&sender), bytes,
				 sender.lkey };
}

static int post(struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return engine_qp_post_send(sender.qp, wr, &bad);
}

static void expect_sent(enum ibv_wc_status status, uint64_t wr_id)
{
	struct ibv_wc wc;

	assert_int_equal(engine_cq_poll(sender.send_cq, 1, &wc), 1);
	assert_int_equal(wc.status, status);
	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.qp_num, sender.qpn);
	if (status == IBV_WC_SUCCESS)
		assert_int_equal(wc.opcode, IBV_WC_SEND);
}

static void expect_nothing_sent(void)
{
	struct ibv_wc wc;

	assert_int_equal(engine_cq_poll(sender.send_cq, 1, &wc), 0);
}

static uint32_t received(struct world_qp *q, struct ibv_wc *wc)
{
	while (engine_turn(q->process->engine))
		;
	return (uint32_t)world_poll(q, 1, wc);
}

static uint64_t sender_drops(enum drop_reason reason)
{
	return atomic_load(&alice->counters->qps[sender.counters].drops[reason]);
}

static void only_signalled_requests_complete(void **state)
{
	struct ibv_sge sge = sge_of(8);
	struct ibv_send_wr second = world_wr(&group_ah, &sge);
	struct ibv_send_wr first = world_wr(&group_ah, &sge);
	struct ibv_wc wc;

	first.next = &second;
	second.wr_id = 42;
	second.send_flags = IBV_SEND_SIGNALED;
	assert_int_equal(post(&first), 0);
	expect_sent(IBV_WC_SUCCESS, 42);
	expect_nothing_sent();
	assert_int_equal(received(&receiver, &wc), 1);
	assert_int_equal(received(&receiver, &wc), 1);
}

static void the_queue_is_exactly_as_deep_as_granted(void **state)
{
	struct ibv_sge sge = sge_of(8);
	struct ibv_send_wr wr[6], *bad;

	for (int i = 0; i < 6; i++) {
		wr[i] = world_wr(&group_ah, &sge);
		wr[i].wr_id = (uint64_t)i;
		wr[i].send_flags = IBV_SEND_SIGNALED;
		wr[i].next = i < 5 ? &wr[i + 1] : NULL;
	}
	assert_int_equal(engine_qp_post_send(sender.qp, wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[4]);
	expect_sent(IBV_WC_SUCCESS, 0);
	wr[5].next = NULL;
	assert_int_equal(post(&wr[5]), 0);
	assert_int_equal(post(&wr[5]), ENOMEM);
	for (uint64_t id = 1; id < 4; id++)
		expect_sent(IBV_WC_SUCCESS, id);
	expect_sent(IBV_WC_SUCCESS, 5);
	/* Those without a completion take no place. */
	for (int i = 0; i < 20; i++)
		assert_int_equal(world_send(&sender, &group_ah, 8), 0);
}

static void the_call_refuses_what_it_cannot_do(void **state)
{
	struct ibv_sge sge[8] = { sge_of(8) };
	struct ibv_send_wr wr = world_wr(&group_ah, sge);

	wr.opcode = IBV_WR_RDMA_WRITE;
	assert_int_equal(post(&wr), EINVAL);
	wr = world_wr(&group_ah, sge);
	wr.num_sge = 5;
	assert_int_equal(post(&wr), EINVAL);
	wr.num_sge = -1;
	assert_int_equal(post(&wr), EINVAL);
	wr = world_wr(&group_ah, sge);
	wr.wr.ud.ah = NULL;
	assert_int_equal(post(&wr), EINVAL);
	wr = world_wr(&group_ah, sge);
	wr.send_flags = IBV_SEND_INLINE;
	sge[0].length = 257;
	assert_int_equal(post(&wr), EINVAL);
	sge[0].length = 8;
	for (int s = IBV_QPS_RESET; s <= IBV_QPS_RTR; s++) {
		world_state(&sender, (enum ibv_qp_state)s);
		assert_int_equal(post(&wr), EINVAL);
	}
}

static void inline_data_needs_no_memory_region(void **state)
{
	uint8_t here[256];
	struct ibv_sge sge[2] = { { (uintptr_t)here, 100, 0 },
				  { (uintptr_t)here + 100, 156, 0 } };
	struct ibv_send_wr wr = world_wr(&group_ah, sge);
	struct ibv_wc wc;

	world_fill(here, 3, 256);
	wr.send_flags = IBV_SEND_INLINE;
	wr.num_sge = 2;
	assert_int_equal(post(&wr), 0);
	memset(here, 0, sizeof(here));
	assert_int_equal(received(&receiver, &wc), 1);
	assert_true(world_filled(world_buffer(&receiver, 0) + 40, 3, 256));
}

static void pieces_are_gathered_in_order(void **state)
{
	uint8_t *m = world_send_buffer(&sender);
	struct ibv_sge sge[4] = { { (uintptr_t)m, 30, sender.lkey },
				  { (uintptr_t)m + 1000, 0, 0 },
				  { (uintptr_t)m + 30, 70, sender.lkey },
				  { (uintptr_t)m + 100, 900, sender.lkey } };
	struct ibv_send_wr wr = world_wr(&group_ah, sge);
	struct ibv_wc wc;

	world_fill(m, 4, 1000);
	wr.num_sge = 4;
	assert_int_equal(post(&wr), 0);
	assert_int_equal(received(&receiver, &wc), 1);
	assert_int_equal(wc.byte_len, 1040);
	assert_true(world_filled(world_buffer(&receiver, 0) + 40, 4, 1000));
}

static void every_length_arrives_whole(void **state)
{
	struct ibv_wc wc;

	for (uint32_t bytes = 0; bytes <= 4096;
	     bytes = bytes < 300 ? bytes + 1 : bytes + 97) {
		assert_int_equal(world_send_number(&sender, &group_ah, bytes, bytes), 0);
		assert_int_equal(received(&receiver, &wc), 1);
		assert_int_equal(wc.byte_len, 40 + bytes);
		assert_true(world_filled(world_buffer(&receiver, wc.wr_id) + 40, bytes,
					 bytes));
		world_post_recv(&receiver, 1);
	}
}

static void a_message_beyond_the_mtu_succeeds_and_is_not_sent(void **state)
{
	struct ibv_sge sge = sge_of(1025);
	struct ibv_send_wr wr = world_wr(&group_ah, &sge);
	struct ibv_wc wc;

	atomic_store(&world.tables->ports[0].active_mtu, IBV_MTU_1024);
	wr.send_flags = IBV_SEND_SIGNALED;
	assert_int_equal(post(&wr), 0);
	expect_sent(IBV_WC_SUCCESS, 0);
	assert_int_equal(received(&receiver, &wc), 0);
	assert_int_equal(sender_drops(DROP_TOO_LONG), 1);
}

static void bad_memory_stops_the_send_queue_alone(void **state)
{
	struct ibv_sge sge = sge_of(8);
	struct ibv_send_wr wr = world_wr(&group_ah, &sge);

	sge.lkey++;
	wr.wr_id = 1;
	assert_int_equal(post(&wr), 0);
	expect_sent(IBV_WC_LOC_PROT_ERR, 1);
	assert_int_equal(engine_qp_state(sender.qp), IBV_QPS_SQE);
	assert_int_equal(world_post_recv(&sender, 1), 0);
	wr.wr_id = 2;
	assert_int_equal(post(&wr), 0);
	expect_sent(IBV_WC_WR_FLUSH_ERR, 2);
	world_state(&sender, IBV_QPS_RTS);
	assert_int_equal(world_send(&sender, &group_ah, 8), 0);
}

static void an_address_handle_of_another_domain_is_an_error(void **state)
{
	struct ibv_ah_attr attr = { .is_global = 1, .grh.hop_limit = 1 };
	struct ibv_sge sge = sge_of(8);
	struct engine_verbs_ah other;
	struct ibv_send_wr wr = world_wr(&other, &sge);

	world_mgid(1, attr.grh.dgid.raw);
	assert_int_equal(
		engine_ah_create(alice->engine, WORLD_PD + 1, 0, &attr, &other.engine),
		0);
	assert_int_equal(post(&wr), 0);
	expect_sent(IBV_WC_LOC_QP_OP_ERR, 0);
	engine_ah_destroy(other.engine);
}

static void bit_31_of_the_qkey_means_the_senders_own(void **state)
{
	struct ibv_sge sge = sge_of(8);
	struct ibv_send_wr wr = world_wr(&group_ah, &sge);
	struct ibv_wc wc;

	wr.wr.ud.remote_qkey = 0x80000000;
	assert_int_equal(post(&wr), 0);
	assert_int_equal(received(&receiver, &wc), 1);
}

/* -- unicast ---------------------------------------------------------------------- */

static int send_to(uint32_t qpn, uint32_t bytes)
{
	struct ibv_sge sge = sge_of(bytes);
	struct ibv_send_wr wr = world_wr(&port_ah, &sge);

	wr.wr.ud.remote_qpn = qpn;
	return post(&wr);
}

static void a_unicast_datagram_reaches_its_queue_pair_alone(void **state)
{
	struct world_qp near, far;
	uint32_t gid = inet_addr("10.0.0.1");
	struct ibv_wc wc;

	world_qp_create(&near, alice, (struct world_qp_options){ .depth = 4 });
	world_qp_create(&far, bob, (struct world_qp_options){ .depth = 4 });
	world_post_recv(&near, 1);
	world_post_recv(&far, 1);
	world_fill(world_send_buffer(&sender), 8, 500);
	assert_int_equal(send_to(far.qpn, 500), 0);
	assert_int_equal(send_to(near.qpn, 500), 0);
	assert_int_equal(received(&far, &wc), 1);
	assert_int_equal(wc.src_qp, sender.qpn);
	assert_true(world_filled(world_buffer(&far, 0) + 40, 8, 500));
	assert_memory_equal(world_buffer(&far, 0) + 32, &gid, 4);
	assert_memory_equal(world_buffer(&far, 0) + 36, &gid, 4);
	assert_int_equal(received(&near, &wc), 1);
	assert_int_equal(received(&receiver, &wc), 0);
	world_qp_destroy(&near);
	world_qp_destroy(&far);
}

static void a_unicast_datagram_to_nobody_is_counted(void **state)
{
	struct engine_verbs_ah nowhere;
	struct ibv_sge sge = sge_of(8);
	struct ibv_send_wr wr = world_wr(&nowhere, &sge);
	uint8_t gid[16];

	assert_int_equal(send_to(0x777, 8), 0);
	assert_int_equal(sender_drops(DROP_NO_QP), 1);
	assert_int_equal(send_to(0xffffff, 8), 0);
	assert_int_equal(sender_drops(DROP_NO_QP), 2);
	gid_from_ipv4(gid, inet_addr("10.9.9.9"));
	world_ah(alice, gid, &nowhere);
	wr.wr.ud.remote_qpn = receiver.qpn;
	assert_int_equal(post(&wr), 0);
	assert_int_equal(sender_drops(DROP_NO_ROUTE), 1);
	/* The address appears, and the same handle finds it. */
	world_port(&world, 1, "10.9.9.9");
	assert_int_equal(post(&wr), 0);
	assert_int_equal(sender_drops(DROP_NO_QP), 3); /* another device's number */
	engine_ah_destroy(nowhere.engine);
}

static void a_unicast_receivers_drops_are_its_own(void **state)
{
	struct world_qp deaf;
	_Atomic uint64_t *drops;
	struct ibv_wc wc;

	world_qp_create(&deaf, bob, (struct world_qp_options){ .depth = 4 });
	drops = bob->counters->qps[deaf.counters].drops;
	assert_int_equal(send_to(deaf.qpn, 8), 0);
	assert_int_equal(received(&deaf, &wc), 0);
	assert_int_equal(atomic_load(&drops[DROP_NO_RECV_WQE]), 1);
	world_state(&deaf, IBV_QPS_INIT);
	assert_int_equal(send_to(deaf.qpn, 8), 0);
	assert_int_equal(received(&deaf, &wc), 0);
	assert_int_equal(atomic_load(&drops[DROP_QP_STATE]), 1);
	world_qp_destroy(&deaf);
}

/* -- states ----------------------------------------------------------------------- */

static void what_is_posted_while_drained_is_sent_later(void **state)
{
	uint8_t here[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct ibv_sge sge = { (uintptr_t)here, 8, 0 };
	struct ibv_send_wr wr = world_wr(&group_ah, &sge);
	struct ibv_wc wc;

	world_state(&sender, IBV_QPS_SQD);
	wr.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
	for (wr.wr_id = 0; wr.wr_id < 4; wr.wr_id++)
		assert_int_equal(post(&wr), 0);
	assert_int_equal(post(&wr), ENOMEM);
	memset(here, 0, sizeof(here));
	assert_int_equal(received(&receiver, &wc), 0);
	expect_nothing_sent();
	world_state(&sender, IBV_QPS_RTS);
	for (uint64_t id = 0; id < 4; id++)
		expect_sent(IBV_WC_SUCCESS, id);
	assert_int_equal(received(&receiver, &wc), 1);
	assert_int_equal(world_buffer(&receiver, 0)[47], 8);
}

static void what_is_posted_while_drained_is_flushed_by_an_error(void **state)
{
	struct ibv_sge sge = sge_of(8);
	struct ibv_send_wr wr = world_wr(&group_ah, &sge);

	world_state(&sender, IBV_QPS_SQD);
	assert_int_equal(post(&wr), 0);
	world_state(&sender, IBV_QPS_ERR);
	expect_sent(IBV_WC_WR_FLUSH_ERR, 0);
	assert_int_equal(post(&wr), 0);
	expect_sent(IBV_WC_WR_FLUSH_ERR, 0);
}

static void what_is_flushed_needs_no_address(void **state)
{
	struct ibv_send_wr wr = { .wr_id = 9, .opcode = IBV_WR_SEND };

	world_state(&sender, IBV_QPS_SQD);
	assert_int_equal(post(&wr), EINVAL);
	world_state(&sender, IBV_QPS_ERR);
	assert_int_equal(post(&wr), 0);
	expect_sent(IBV_WC_WR_FLUSH_ERR, 9);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(only_signalled_requests_complete),
		T(the_queue_is_exactly_as_deep_as_granted),
		T(the_call_refuses_what_it_cannot_do),
		T(inline_data_needs_no_memory_region),
		T(pieces_are_gathered_in_order),
		T(every_length_arrives_whole),
		T(a_message_beyond_the_mtu_succeeds_and_is_not_sent),
		T(bad_memory_stops_the_send_queue_alone),
		T(an_address_handle_of_another_domain_is_an_error),
		T(bit_31_of_the_qkey_means_the_senders_own),
		T(a_unicast_datagram_reaches_its_queue_pair_alone),
		T(a_unicast_datagram_to_nobody_is_counted),
		T(a_unicast_receivers_drops_are_its_own),
		T(what_is_posted_while_drained_is_sent_later),
		T(what_is_posted_while_drained_is_flushed_by_an_error),
		T(what_is_flushed_needs_no_address),
	};

	return harness_run(tests);
}
