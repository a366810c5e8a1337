// SPDX-License-Identifier: BSD-2-Clause
/*
 * What agents send and what comes of it: tags, answers, timeouts, errors, cancelling, and
 * agents and devices that go meanwhile (spec/userland 4.3, spec/sa-sm 5.3).
 */
#include "unit/core_mad/world.h"

static u8 request[MAD_BYTES];

/* An SA Get with transaction id 0x..1234, one millisecond a try. */
static u64 post_get(struct ib_mad_agent *agent, u32 timeout_ms, u32 retries,
		    void *context)
{
	struct ib_mad_send send = { .to = peer,
				    .message = request,
				    .length = MAD_BYTES,
				    .timeout_ms = timeout_ms,
				    .retries = retries,
				    .context = context };
	u64 id = 0;

	build_mad(request, MAD_CLASS_SUBN_ADM, 2, MAD_METHOD_GET, 0xabcdef0100001234);
	assert_int_equal(ib_post_send_mad(agent, &send, &id), 0);
	return id;
}

static void answer(const struct fake_mad *to, u8 method)
{
	u8 bytes[MAD_BYTES];

	memcpy(bytes, to->bytes, MAD_BYTES);
	bytes[3] = method;
	fake_hca_answer(&world.hca, to->port_num, &to->packet, bytes);
}

static struct ib_mad_counters counters(void)
{
	struct ib_mad_counters c;

	ib_mad_counters(world.mad, &c);
	return c;
}

static void a_request_carries_the_tag_and_meets_its_answer(void **state)
{
	struct ib_mad_agent *agent = add_agent(2, 1, NULL, 0);
	struct ib_mad_agent *other = add_agent(2, 1, NULL, 0);
	struct fake_mad *sent;
	int context;

	assert_ptr_equal(ib_mad_agent_context(agent), &world);
	assert_int_not_equal(ib_mad_agent_tag(agent), ib_mad_agent_tag(other));
	post_get(agent, 10, 0, &context);
	sent = fake_hca_take(&world.hca);
	assert_non_null(sent);
	assert_int_equal(sent->port_num, 2);
	assert_int_equal(sent->packet.dlid, 9);
	assert_int_equal(sent->packet.sl, 3);
	assert_int_equal(sent->packet.dest_qp, 1);
	assert_int_equal(sent->packet.src_qp, 1);
	assert_int_equal(sent->packet.qkey, IB_GSI_QKEY);
	assert_int_equal(sent->packet.pkey, 0xffff);
	assert_int_equal(tid_of(sent->bytes),
			 (u64)ib_mad_agent_tag(agent) << 32 | 0x00001234);
	/* All else is as it was posted. */
	assert_memory_equal(sent->bytes, request, 8);
	assert_memory_equal(sent->bytes + 16, request + 16, MAD_BYTES - 16);

	answer(sent, MAD_METHOD_GET_RESP);
	assert_int_equal(heard_count, 2);
	assert_int_equal(heard[0].kind, HEARD_RECV);
	assert_ptr_equal(heard[0].agent, agent);
	assert_ptr_equal(heard[0].context, &context);
	assert_int_equal(heard[0].length, MAD_BYTES);
	assert_int_equal(heard[0].from.lid, 9);
	assert_int_equal(heard[0].from.sl, 3);
	assert_int_equal(heard[0].from.qpn, 1);
	assert_int_equal(heard[0].from.qkey, IB_GSI_QKEY);
	assert_int_equal(heard[1].kind, HEARD_DONE);
	assert_int_equal(heard[1].status, IB_MAD_SEND_OK);
	assert_ptr_equal(heard[1].context, &context);
	/* Once. */
	answer(sent, MAD_METHOD_GET_RESP);
	run_ms(100);
	assert_int_equal(heard_count, 2);
	assert_int_equal(counters().unmatched, 1);
	assert_int_equal(counters().sent, 1);
	assert_int_equal(counters().received, 2);
	ib_unregister_mad_agent(agent);
	ib_unregister_mad_agent(other);
}

static void path_bits_choose_among_our_lids(void **state)
{
	struct ib_mad_agent *agent = add_agent(1, 1, NULL, 0);
	u8 mad[MAD_BYTES];
	struct ib_mad_send send = { .to = peer, .message = mad, .length = MAD_BYTES };

	world.hca.port.lid = 0x14;
	world.hca.port.lmc = 2;
	for (u8 bits = 0; bits < 8; bits++) {
		send.to.path_bits = bits;
		build_mad(mad, MAD_CLASS_SUBN_ADM, 2, MAD_METHOD_GET_RESP, bits);
		assert_int_equal(ib_post_send_mad(agent, &send, NULL), 0);
		assert_int_equal(fake_hca_take(&world.hca)->packet.slid, 0x14 + bits % 4);
		run_ms(0);
	}
	ib_unregister_mad_agent(agent);
}

static void a_response_keeps_its_transaction_and_is_over_when_sent(void **state)
{
	static const u8 methods[] = { MAD_METHOD_GET_RESP, MAD_METHOD_REPORT_RESP,
				      MAD_METHOD_TRAP_REPRESS };
	struct ib_mad_agent *agent = add_agent(1, 1, NULL, 0);
	u8 mad[MAD_BYTES];
	struct ib_mad_send send = { .to = peer, .message = mad, .length = MAD_BYTES };

	for (unsigned int i = 0; i < sizeof(methods); i++) {
		heard_count = 0;
		build_mad(mad, MAD_CLASS_SUBN_ADM, 2, methods[i], 0x0123456789abcdef);
		assert_int_equal(ib_post_send_mad(agent, &send, NULL), 0);
		assert_int_equal(heard_count, 0);
		assert_int_equal(tid_of(fake_hca_take(&world.hca)->bytes),
				 0x0123456789abcdef);
		run_ms(0);
		assert_int_equal(heard_count, 1);
		assert_int_equal(heard[0].kind, HEARD_DONE);
		assert_int_equal(heard[0].status, IB_MAD_SEND_OK);
	}
	/* A trap is none, and has no answer either. */
	build_mad(mad, MAD_CLASS_SUBN_ADM, 2, MAD_METHOD_REPORT, 0x0123456789abcdef);
	assert_int_equal(ib_post_send_mad(agent, &send, NULL), 0);
	assert_int_equal(tid_of(fake_hca_take(&world.hca)->bytes) >> 32,
			 ib_mad_agent_tag(agent));
	ib_unregister_mad_agent(agent);
}

static void a_request_comes_back_after_all_its_tries(void **state)
{
	struct ib_mad_agent *agent = add_agent(1, 1, NULL, 0);
	u8 first[MAD_BYTES];
	int context;

	post_get(agent, 10, 3, &context);
	assert_int_equal(fake_hca_waiting(&world.hca), 1);
	memcpy(first, fake_hca_take(&world.hca)->bytes, MAD_BYTES);
	for (int i = 0; i < 3; i++) {
		run_ms(9);
		assert_int_equal(fake_hca_waiting(&world.hca), 0);
		run_ms(1);
		assert_int_equal(fake_hca_waiting(&world.hca), 1);
		assert_memory_equal(fake_hca_take(&world.hca)->bytes, first, MAD_BYTES);
	}
	run_ms(9);
	assert_int_equal(heard_count, 0);
	run_ms(1);
	assert_int_equal(heard_count, 1);
	assert_int_equal(heard[0].status, IB_MAD_SEND_TIMEOUT);
	assert_ptr_equal(heard[0].context, &context);
	assert_int_equal(heard[0].length, MAD_BYTES);
	assert_memory_equal(heard[0].bytes, first, MAD_BYTES);
	run_ms(100);
	assert_int_equal(fake_hca_waiting(&world.hca), 0);
	assert_int_equal(heard_count, 1);
	assert_int_equal(counters().retries, 3);
	assert_int_equal(counters().timeouts, 1);
	assert_int_equal(counters().sent, 4);
	ib_unregister_mad_agent(agent);
}

static void an_answer_to_a_later_try_is_an_answer(void **state)
{
	struct ib_mad_agent *agent = add_agent(1, 1, NULL, 0);
	struct fake_mad first;

	post_get(agent, 10, 3, NULL);
	first = *fake_hca_take(&world.hca);
	run_ms(10);
	assert_int_equal(fake_hca_waiting(&world.hca), 1);
	answer(&first, MAD_METHOD_GET_RESP);
	assert_int_equal(heard_count, 2);
	run_ms(100);
	assert_int_equal(fake_hca_waiting(&world.hca), 1);
	assert_int_equal(heard_count, 2);
	ib_unregister_mad_agent(agent);
}

static void strangers_do_not_answer(void **state)
{
	struct ib_mad_agent *agent = add_agent(1, 1, NULL, 0);
	struct fake_mad sent, stranger;

	post_get(agent, 10, 0, NULL);
	sent = *fake_hca_take(&world.hca);
	stranger = sent;
	stranger.bytes[12] ^= 1; /* another transaction of ours */
	answer(&stranger, MAD_METHOD_GET_RESP);
	stranger = sent;
	stranger.bytes[9] ^= 1; /* another agent's */
	answer(&stranger, MAD_METHOD_GET_RESP);
	stranger = sent;
	stranger.bytes[1] = MAD_CLASS_PERF;
	answer(&stranger, MAD_METHOD_GET_RESP);
	stranger = sent;
	stranger.port_num = 2;
	answer(&stranger, MAD_METHOD_GET_RESP);
	assert_int_equal(heard_count, 0);
	assert_int_equal(counters().unmatched, 4);
	/* From another LID of the responder's, though. */
	sent.packet.dlid = 10;
	answer(&sent, MAD_METHOD_GET_RESP);
	assert_int_equal(heard_count, 2);
	ib_unregister_mad_agent(agent);
}

static void equal_transactions_are_answered_in_order(void **state)
{
	struct ib_mad_agent *agent = add_agent(1, 1, NULL, 0);
	struct fake_mad sent;
	int first, second;

	post_get(agent, 10, 0, &first);
	post_get(agent, 10, 0, &second);
	sent = *fake_hca_take(&world.hca);
	answer(&sent, MAD_METHOD_GET_RESP);
	assert_ptr_equal(heard[0].context, &first);
	answer(&sent, MAD_METHOD_GET_RESP);
	assert_ptr_equal(heard[2].context, &second);
	ib_unregister_mad_agent(agent);
}

static void what_cannot_be_sent_fails_later(void **state)
{
	static const int errors[] = { -EIO, -ENETDOWN };
	struct ib_mad_agent *agent = add_agent(1, 1, NULL, 0);
	struct ib_mad_send send = { .to = peer,
				    .message = request,
				    .length = MAD_BYTES,
				    .timeout_ms = 10,
				    .retries = 5 };

	for (unsigned int i = 0; i < 2; i++) {
		heard_count = 0;
		world.hca.refuse = errors[i];
		post_get(agent, 10, 5, NULL);
		assert_int_equal(heard_count, 0);
		run_ms(0);
		assert_int_equal(heard_count, 1);
		assert_int_equal(heard[0].status, IB_MAD_SEND_FAILED);
	}
	world.hca.refuse = 0;
	send.to.pkey_index = FAKE_HCA_PKEYS;
	assert_int_equal(ib_post_send_mad(agent, &send, NULL), 0);
	send.to.pkey_index = 0;
	send.to.has_grh = true;
	send.to.grh.sgid_index = 3;
	assert_int_equal(ib_post_send_mad(agent, &send, NULL), 0);
	assert_int_equal(heard_count, 1);
	run_ms(0);
	assert_int_equal(heard_count, 3);
	assert_int_equal(heard[1].status, IB_MAD_SEND_FAILED);
	assert_int_equal(heard[2].status, IB_MAD_SEND_FAILED);
	assert_int_equal(fake_hca_waiting(&world.hca), 0);
	assert_int_equal(counters().sent, 0);
	ib_unregister_mad_agent(agent);
}

static void a_retry_that_cannot_be_sent_ends_it(void **state)
{
	struct ib_mad_agent *agent = add_agent(1, 1, NULL, 0);

	post_get(agent, 10, 5, NULL);
	world.hca.refuse = -ENETDOWN;
	run_ms(10);
	run_ms(0);
	assert_int_equal(heard_count, 1);
	assert_int_equal(heard[0].status, IB_MAD_SEND_FAILED);
	assert_int_equal(counters().timeouts, 0);
	ib_unregister_mad_agent(agent);
}

static void malformed_sends_are_refused(void **state)
{
	struct ib_mad_agent *agent = add_agent(1, 1, NULL, 0);
	struct ib_mad_send send = { .to = peer, .message = request };
	u8 zeroes[MAD_BYTES - 40] = { 0 };
	struct fake_mad *sent;

	build_mad(request, MAD_CLASS_CM, 2, MAD_METHOD_SEND, 1);
	send.length = MAD_HEADER_BYTES - 1;
	assert_int_equal(ib_post_send_mad(agent, &send, NULL), -EINVAL);
	send.length = MAD_BYTES + 1;
	assert_int_equal(ib_post_send_mad(agent, &send, NULL), -EINVAL);
	/* The class has no RMPP; then one that has, without its own header. */
	send.rmpp = true;
	send.length = MAD_BYTES;
	assert_int_equal(ib_post_send_mad(agent, &send, NULL), -EINVAL);
	request[1] = MAD_CLASS_SUBN_ADM;
	send.length = 55;
	assert_int_equal(ib_post_send_mad(agent, &send, NULL), -EINVAL);
	run_ms(100);
	assert_int_equal(heard_count, 0);
	/* What is short is filled up. */
	send.rmpp = false;
	send.length = 40;
	assert_int_equal(ib_post_send_mad(agent, &send, NULL), 0);
	sent = fake_hca_take(&world.hca);
	assert_int_equal(sent->packet.length, MAD_BYTES);
	assert_memory_equal(sent->bytes + 24, request + 24, 16);
	assert_memory_equal(sent->bytes + 40, zeroes, sizeof(zeroes));
	ib_unregister_mad_agent(agent);
}

static void a_directed_route_goes_as_it_is(void **state)
{
	struct ib_mad_agent *agent = add_agent(1, 0, NULL, 0);
	struct ib_mad_send send = { .to = { .lid = IB_LID_PERMISSIVE },
				    .message = request,
				    .length = MAD_BYTES,
				    .timeout_ms = 10 };
	struct fake_mad *sent;

	build_mad(request, MAD_CLASS_SUBN_DIRECTED, 1, MAD_METHOD_GET, 7);
	request[6] = 1; /* hop pointer, hop count */
	request[7] = 4;
	assert_int_equal(ib_post_send_mad(agent, &send, NULL), 0);
	/* An agent of QP0 sends both classes. */
	request[1] = MAD_CLASS_SUBN_LID;
	assert_int_equal(ib_post_send_mad(agent, &send, NULL), 0);
	request[1] = MAD_CLASS_SUBN_DIRECTED;
	sent = fake_hca_take(&world.hca);
	assert_int_equal(sent->packet.dlid, IB_LID_PERMISSIVE);
	assert_int_equal(sent->packet.dest_qp, 0);
	assert_int_equal(sent->packet.src_qp, 0);
	assert_int_equal(sent->packet.qkey, 0);
	assert_int_equal(sent->packet.vl, IB_VL_MANAGEMENT);
	assert_memory_equal(sent->bytes, request, 8);
	assert_memory_equal(sent->bytes + 16, request + 16, MAD_BYTES - 16);
	/* The answer has the direction in its status. */
	sent->bytes[4] = 0x80;
	answer(sent, MAD_METHOD_GET_RESP);
	assert_int_equal(heard_count, 2);
	assert_int_equal(heard[0].bytes[4], 0x80);
	assert_int_equal(heard[0].from.qkey, 0);
	ib_unregister_mad_agent(agent);
}

static void a_grh_goes_out_and_comes_back(void **state)
{
	struct ib_mad_agent *agent = add_agent(2, 1, NULL, 0);
	union ib_gid far = { .raw = { 0xfe, 0x80, [15] = 0x77 } };
	struct ib_mad_send send = {
		.to = { .lid = 9,
			.qpn = 1,
			.qkey = IB_GSI_QKEY,
			.pkey_index = 1,
			.has_grh = true,
			.grh = { .dgid = far,
				 .flow_label = 0x12345,
				 .sgid_index = 2,
				 .hop_limit = 6,
				 .traffic_class = 7 } },
		.message = request,
		.length = MAD_BYTES,
		.timeout_ms = 10,
	};
	union ib_gid mine = fake_hca_gid(2, 2);
	struct fake_mad *sent;

	world.hca.pkeys[1] = 0x8001;
	build_mad(request, MAD_CLASS_SUBN_ADM, 2, MAD_METHOD_GET, 7);
	assert_int_equal(ib_post_send_mad(agent, &send, NULL), 0);
	sent = fake_hca_take(&world.hca);
	assert_int_equal(sent->packet.pkey, 0x8001);
	assert_true(sent->packet.has_grh);
	assert_memory_equal(&sent->packet.sgid, &mine, 16);
	assert_memory_equal(&sent->packet.dgid, &far, 16);
	assert_int_equal(sent->packet.flow_label, 0x12345);
	assert_int_equal(sent->packet.hop_limit, 6);
	assert_int_equal(sent->packet.traffic_class, 7);
	answer(sent, MAD_METHOD_GET_RESP);
	assert_int_equal(heard_count, 2);
	/* Whoever sends to where this came from sends there. */
	assert_memory_equal(&heard[0].from.grh, &send.to.grh, sizeof(send.to.grh));
	assert_true(heard[0].from.has_grh);
	assert_int_equal(heard[0].from.pkey_index, 1);
	ib_unregister_mad_agent(agent);
}

static void what_is_cancelled_comes_back_flushed(void **state)
{
	struct ib_mad_agent *agent = add_agent(1, 1, NULL, 0);
	struct ib_mad_agent *other = add_agent(1, 1, NULL, 0);
	struct fake_mad sent;
	u64 id = post_get(agent, 10, 5, NULL);

	sent = *fake_hca_take(&world.hca);
	ib_cancel_mad(agent, id + 1);
	ib_cancel_mad(other, id);
	run_ms(0);
	assert_int_equal(heard_count, 0);
	ib_cancel_mad(agent, id);
	ib_cancel_mad(agent, id);
	assert_int_equal(heard_count, 0);
	run_ms(0);
	assert_int_equal(heard_count, 1);
	assert_int_equal(heard[0].status, IB_MAD_SEND_FLUSHED);
	assert_memory_equal(heard[0].bytes, sent.bytes, MAD_BYTES);
	ib_cancel_mad(agent, id);
	answer(&sent, MAD_METHOD_GET_RESP);
	run_ms(100);
	assert_int_equal(heard_count, 1);
	assert_int_equal(fake_hca_waiting(&world.hca), 0);
	ib_unregister_mad_agent(agent);
	ib_unregister_mad_agent(other);
}

static void an_agent_that_goes_is_flushed_at_once(void **state)
{
	struct ib_mad_agent *agent = add_agent(1, 1, NULL, 0);
	struct fake_mad sent;

	post_get(agent, 10, 5, NULL);
	post_get(agent, 0, 0, NULL);
	sent = *fake_hca_take(&world.hca);
	ib_unregister_mad_agent(agent);
	assert_int_equal(heard_count, 2);
	assert_int_equal(heard[0].status, IB_MAD_SEND_FLUSHED);
	assert_int_equal(heard[1].status, IB_MAD_SEND_FLUSHED);
	answer(&sent, MAD_METHOD_GET_RESP);
	run_ms(100);
	assert_int_equal(heard_count, 2);
	assert_int_equal(counters().unmatched, 1);
}

static void go_in_recv(const struct heard *what)
{
	if (what->kind == HEARD_RECV)
		ib_unregister_mad_agent(what->agent);
}

static void go_in_done(const struct heard *what)
{
	u8 mad[MAD_BYTES];
	struct ib_mad_send send = { .to = peer, .message = mad, .length = MAD_BYTES };

	build_mad(mad, MAD_CLASS_SUBN_ADM, 2, MAD_METHOD_GET, 1);
	if (what->kind == HEARD_DONE && what->status != IB_MAD_SEND_FLUSHED)
		ib_unregister_mad_agent(what->agent);
	else if (what->kind == HEARD_DONE)
		assert_int_equal(ib_post_send_mad(what->agent, &send, NULL), -ENODEV);
}

static void an_agent_may_go_while_it_hears(void **state)
{
	struct ib_mad_agent *agent = add_agent(1, 1, NULL, 0);
	struct fake_mad sent;

	post_get(agent, 10, 0, NULL);
	post_get(agent, 10, 0, NULL);
	sent = *fake_hca_take(&world.hca);
	heard_hook = go_in_recv;
	answer(&sent, MAD_METHOD_GET_RESP);
	/* The answer, and then both are flushed: nothing comes after it has gone. */
	assert_int_equal(heard_count, 3);
	assert_int_equal(heard[1].status, IB_MAD_SEND_FLUSHED);
	assert_int_equal(heard[2].status, IB_MAD_SEND_FLUSHED);

	heard_count = 0;
	agent = add_agent(1, 1, NULL, 0);
	heard_hook = go_in_done;
	post_get(agent, 10, 0, NULL);
	post_get(agent, 20, 0, NULL);
	run_ms(10);
	assert_int_equal(heard_count, 2);
	assert_int_equal(heard[0].status, IB_MAD_SEND_TIMEOUT);
	assert_int_equal(heard[1].status, IB_MAD_SEND_FLUSHED);

	heard_count = 0;
	agent = add_agent(1, 1, NULL, 0);
	fake_hca_take(&world.hca);
	post_get(agent, 10, 0, NULL);
	while (fake_hca_waiting(&world.hca))
		sent = *fake_hca_take(&world.hca);
	answer(&sent, MAD_METHOD_GET_RESP); /* it goes when that is done */
	assert_int_equal(heard_count, 2);
	run_ms(100);
	assert_int_equal(heard_count, 2);
}

static void a_device_that_goes_flushes_its_agents(void **state)
{
	struct ib_mad_agent *agent = add_agent(1, 1, NULL, 0);
	struct ib_mad_send send = { .to = peer, .message = request, .length = MAD_BYTES };
	struct fake_mad sent;
	u32 port = 0;

	assert_ptr_equal(ib_mad_agent_device(agent, &port), &world.hca.ib);
	assert_int_equal(port, 1);
	assert_ptr_equal(ib_device_mad(&world.hca.ib), world.mad);
	post_get(agent, 10, 5, NULL);
	sent = *fake_hca_take(&world.hca);
	assert_int_equal(ib_unregister_device(&world.hca.ib), 0);
	assert_int_equal(heard_count, 0);
	assert_null(ib_device_mad(&world.hca.ib));
	assert_null(ib_mad_agent_device(agent, NULL));
	assert_int_equal(ib_post_send_mad(agent, &send, NULL), -ENODEV);
	fake_hca_answer(&world.hca, 1, &sent.packet, sent.bytes); /* nobody there */
	run_ms(0);
	assert_int_equal(heard_count, 1);
	assert_int_equal(heard[0].status, IB_MAD_SEND_FLUSHED);
	assert_int_equal(PTR_ERR(ib_register_mad_agent(&world.hca.ib, 1, 1, NULL, 0,
						       &hear_ops, NULL)),
			 -ENODEV);
	/* Its successor is another. */
	assert_int_equal(ib_register_device(&world.hca.ib, world.node), 0);
	assert_ptr_equal(ib_device_mad(&world.hca.ib), world.mad);
	assert_int_equal(ib_post_send_mad(agent, &send, NULL), -ENODEV);
	ib_unregister_mad_agent(agent);
	assert_int_equal(heard_count, 1);
}

static void remove_in_recv(const struct heard *what)
{
	if (what->kind == HEARD_RECV)
		ib_remove_device(&world.hca.ib);
}

static void a_device_may_go_while_an_agent_hears(void **state)
{
	struct ib_mad_agent *agent = add_agent(1, 1, NULL, 0);
	struct fake_mad sent;

	post_get(agent, 10, 0, NULL);
	post_get(agent, 10, 0, NULL);
	sent = *fake_hca_take(&world.hca);
	heard_hook = remove_in_recv;
	answer(&sent, MAD_METHOD_GET_RESP);
	assert_int_equal(heard_count, 2);
	assert_int_equal(heard[1].status, IB_MAD_SEND_OK);
	run_ms(0);
	assert_int_equal(heard_count, 3);
	assert_int_equal(heard[2].status, IB_MAD_SEND_FLUSHED);
	ib_unregister_mad_agent(agent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_request_carries_the_tag_and_meets_its_answer),
		TEST(path_bits_choose_among_our_lids),
		TEST(a_response_keeps_its_transaction_and_is_over_when_sent),
		TEST(a_request_comes_back_after_all_its_tries),
		TEST(an_answer_to_a_later_try_is_an_answer),
		TEST(strangers_do_not_answer),
		TEST(equal_transactions_are_answered_in_order),
		TEST(what_cannot_be_sent_fails_later),
		TEST(a_retry_that_cannot_be_sent_ends_it),
		TEST(malformed_sends_are_refused),
		TEST(a_directed_route_goes_as_it_is),
		TEST(a_grh_goes_out_and_comes_back),
		TEST(what_is_cancelled_comes_back_flushed),
		TEST(an_agent_that_goes_is_flushed_at_once),
		TEST(an_agent_may_go_while_it_hears),
		TEST(a_device_that_goes_flushes_its_agents),
		TEST(a_device_may_go_while_an_agent_hears),
	};

	return harness_run(tests);
}
