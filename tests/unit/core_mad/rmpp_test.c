// SPDX-License-Identifier: BSD-2-Clause
/*
 * Messages of more than one MAD, between two agents on two ports: who asks for a table
 * and gets it whole, whatever is lost, and whoever goes meanwhile (spec/sa-sm 1.2).
 */
#include "unit/core_mad/world.h"

#define LID(port) (10 + (port))
#define TABLE_MAX 5000u
#define NOTHING   (~0u)

static struct {
	struct ib_mad_agent *client, *server;
	unsigned int requests; /* that the server has heard */
	size_t table_bytes;    /* what it answers them with; 0: nothing */
	u32 retries;
	unsigned int carried, lose; /* that one of what is carried */
	unsigned int cut;           /* nothing is carried from this one on */
} net;

static u8 table[TABLE_MAX];

static const struct ib_mad_reg_req sa_server = {
	.mgmt_class = MAD_CLASS_SUBN_ADM,
	.mgmt_class_version = 2,
	.method_mask = { 1u << MAD_METHOD_GET_TABLE | 1u << MAD_METHOD_GET_MULTI },
};

static void serve(const struct heard *what)
{
	struct ib_mad_send send = { .to = what->from,
				    .message = table,
				    .length = net.table_bytes,
				    .retries = net.retries,
				    .rmpp = true };
	struct mad_header header;

	if (what->agent != net.server || what->kind != HEARD_RECV)
		return;
	net.requests++;
	if (!net.table_bytes)
		return;
	mad_header_get(what->bytes, &header);
	header.method = MAD_METHOD_GET_TABLE_RESP;
	mad_header_put(table, &header);
	assert_int_equal(ib_post_send_mad(net.server, &send, NULL), 0);
}

static void begin(size_t table_bytes)
{
	memset(&net, 0, sizeof(net));
	net.lose = net.cut = NOTHING;
	net.table_bytes = table_bytes;
	for (size_t i = 0; i < TABLE_MAX; i++)
		table[i] = (u8)(i * 7 + i / 256);
	memset(table + MAD_HEADER_BYTES, 0, RMPP_HEADER_BYTES - MAD_HEADER_BYTES);
	net.client = add_agent(1, 1, NULL, 1);
	net.server = add_agent(2, 1, &sa_server, 1);
	heard_hook = serve;
}

static void end(void)
{
	ib_unregister_mad_agent(net.client);
	ib_unregister_mad_agent(net.server);
}

static u64 ask_with(size_t length, u32 timeout_ms, u32 retries)
{
	static u8 question[1024];
	struct ib_mad_send send = {
		.to = { .lid = LID(2), .qpn = 1, .qkey = IB_GSI_QKEY },
		.message = question,
		.length = length,
		.timeout_ms = timeout_ms,
		.retries = retries,
		.rmpp = length > MAD_BYTES,
		.context = &net,
	};
	u64 id;

	for (size_t i = 0; i < sizeof(question); i++)
		question[i] = (u8)(i / 3);
	build_mad(question, MAD_CLASS_SUBN_ADM, 2,
		  length > MAD_BYTES ? MAD_METHOD_GET_MULTI : MAD_METHOD_GET_TABLE, 99);
	assert_int_equal(ib_post_send_mad(net.client, &send, &id), 0);
	return id;
}

/* All that was sent from one port arrives at the other. */
static void carry(void)
{
	struct fake_mad *sent;

	while ((sent = fake_hca_take(&world.hca))) {
		struct fake_mad mad = *sent;

		mad.packet.payload = mad.bytes;
		mad.packet.slid = (u16)LID(mad.port_num);
		if (net.carried >= net.cut || net.carried++ == net.lose)
			continue;
		if (world.hca.ib.mad)
			ib_receive_mad(&world.hca.ib, 3 - mad.port_num, &mad.packet);
	}
}

static void carry_for_ms(u64 ms)
{
	u64 end_ns = world.timers.now_ns + ms * TIMER_MS;

	carry();
	while (timer_queue_next(&world.timers) <= end_ns) {
		timer_queue_run(&world.timers, timer_queue_next(&world.timers));
		carry();
	}
	timer_queue_run(&world.timers, end_ns);
}

static struct heard *find_heard(enum heard_kind kind, const struct ib_mad_agent *agent)
{
	for (size_t i = 0; i < heard_count; i++)
		if (heard[i].kind == kind && heard[i].agent == agent)
			return &heard[i];
	return NULL;
}

/* Whoever was asked twice has given up his first answer. */
static struct heard *last_done(const struct ib_mad_agent *agent)
{
	for (size_t i = heard_count; i-- > 0;)
		if (heard[i].kind == HEARD_DONE && heard[i].agent == agent)
			return &heard[i];
	return NULL;
}

/* The client has the table, and both know that they are done. */
static void assert_table(size_t bytes)
{
	struct heard *recv = find_heard(HEARD_RECV, net.client);
	struct heard *done = find_heard(HEARD_DONE, net.client);
	struct heard *served = last_done(net.server);

	assert_non_null(recv);
	assert_int_equal(recv->length, bytes);
	assert_ptr_equal(recv->context, &net);
	assert_int_equal(recv->from.lid, LID(2));
	assert_memory_equal(recv->bytes + RMPP_HEADER_BYTES, table + RMPP_HEADER_BYTES,
			    bytes - RMPP_HEADER_BYTES);
	assert_non_null(done);
	assert_true(done > recv);
	assert_int_equal(done->status, IB_MAD_SEND_OK);
	assert_non_null(served);
	assert_int_equal(served->status, IB_MAD_SEND_OK);
}

static void a_table_is_put_together(void **state)
{
	/* No record, one that fits, and several that just do, or do not. */
	static const size_t sizes[] = { 56, 112, 256, 257, 456, 457, TABLE_MAX };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		heard_count = 0;
		begin(sizes[i]);
		ask_with(MAD_BYTES, 100, 0);
		carry_for_ms(90);
		assert_table(sizes[i]);
		assert_int_equal(net.requests, 1);
		assert_int_equal(heard_count, 4);
		end();
	}
}

static void whatever_is_lost_comes_again(void **state)
{
	unsigned int all;

	begin(2500);
	ask_with(MAD_BYTES, 100, 0);
	carry_for_ms(90);
	all = net.carried;
	end();
	assert_true(all > 12);
	for (unsigned int lose = 1; lose < all; lose++) {
		heard_count = 0;
		begin(2500);
		net.lose = lose;
		ask_with(MAD_BYTES, 100, 3);
		carry_for_ms(20000);
		assert_table(2500);
		end();
	}
}

static void a_request_rests_while_its_answer_comes(void **state)
{
	begin(2500);
	net.lose = 4; /* a segment; it takes two seconds until it comes again */
	ask_with(MAD_BYTES, 10, 5);
	carry_for_ms(1000);
	assert_int_equal(net.requests, 1);
	assert_null(find_heard(HEARD_DONE, net.client));
	carry_for_ms(2000);
	assert_table(2500);
	assert_int_equal(net.requests, 1);
	end();
}

static void an_answer_that_stops_halfway_is_no_answer(void **state)
{
	begin(2500);
	net.cut = 6;
	ask_with(MAD_BYTES, 10, 2);
	carry_for_ms(4900);
	assert_null(find_heard(HEARD_DONE, net.client));
	carry_for_ms(20000);
	assert_int_equal(find_heard(HEARD_DONE, net.client)->status, IB_MAD_SEND_TIMEOUT);
	assert_null(find_heard(HEARD_RECV, net.client));
	/* Nor does the server know of anybody who has it. */
	assert_int_equal(find_heard(HEARD_DONE, net.server)->status, IB_MAD_SEND_TIMEOUT);
	end();
}

static void a_second_try_begins_anew(void **state)
{
	begin(2500);
	net.cut = 6;
	ask_with(MAD_BYTES, 1000, 2);
	carry_for_ms(5100);
	net.cut = NOTHING;
	carry_for_ms(20000);
	assert_int_equal(find_heard(HEARD_DONE, net.client)->status, IB_MAD_SEND_OK);
	assert_int_equal(find_heard(HEARD_RECV, net.client)->length, 2500);
	end();
}

/* By a server that was slow, so that he was asked twice. */
static void a_second_answer_does_not_end_the_first(void **state)
{
	struct ib_mad_send again = {
		.to = { .lid = LID(1), .qpn = 1, .qkey = IB_GSI_QKEY },
		.message = table,
		.length = 2500,
		.rmpp = true,
	};

	begin(2500);
	net.cut = 6; /* in the midst of it */
	ask_with(MAD_BYTES, 10, 0);
	carry_for_ms(5);
	net.cut = NOTHING;
	assert_int_equal(ib_post_send_mad(net.server, &again, NULL), 0);
	carry_for_ms(5);
	assert_int_equal(find_heard(HEARD_DONE, net.server)->status, IB_MAD_SEND_OK);
	assert_null(find_heard(HEARD_DONE, net.client));
	carry_for_ms(3000);
	assert_table(2500);
	assert_int_equal(net.requests, 1);
	end();
}

static void questions_may_be_long_too(void **state)
{
	struct heard *recv;

	begin(300);
	ask_with(1000, 100, 0);
	carry_for_ms(90);
	recv = find_heard(HEARD_RECV, net.server);
	assert_non_null(recv);
	assert_int_equal(recv->length, 1000);
	assert_int_equal(recv->bytes[999], 999 / 3 % 256);
	assert_table(300);
	end();
}

static void a_long_question_without_answer_comes_back(void **state)
{
	begin(0);
	ask_with(1000, 100, 1);
	carry_for_ms(150);
	assert_int_equal(net.requests, 1);
	assert_null(find_heard(HEARD_DONE, net.client));
	carry_for_ms(1000);
	assert_int_equal(find_heard(HEARD_DONE, net.client)->status, IB_MAD_SEND_TIMEOUT);
	end();
}

/* Half of a question of 400 bytes of data, from somebody with that LID. */
static void half_arrives(u16 lid, u32 half)
{
	struct rmpp_header rmpp = {
		.version = 1,
		.type = RMPP_DATA,
		.flags = RMPP_ACTIVE | (half == 1 ? RMPP_FIRST : RMPP_LAST),
		.segment = half,
		.payload_length = half == 1 ? 440 : 220,
	};
	u8 mad[MAD_BYTES];
	struct ib_packet packet = {
		.slid = lid,
		.pkey = 0xffff,
		.src_qp = 1,
		.dest_qp = 1,
		.qkey = IB_GSI_QKEY,
		.payload = mad,
		.length = MAD_BYTES,
	};

	build_mad(mad, MAD_CLASS_SUBN_ADM, 2, MAD_METHOD_GET_MULTI, 0x1234);
	rmpp_header_put(mad, &rmpp);
	memset(mad + 56, (int)(lid + half), 200);
	ib_receive_mad(&world.hca.ib, 2, &packet);
}

static void equal_transactions_of_two_are_two(void **state)
{
	begin(0);
	half_arrives(21, 1);
	half_arrives(31, 1);
	half_arrives(31, 2);
	half_arrives(21, 2);
	run_ms(0);
	assert_int_equal(heard_count, 2);
	for (size_t i = 0; i < 2; i++) {
		u16 lid = i ? 21 : 31;

		assert_int_equal(heard[i].from.lid, lid);
		assert_int_equal(heard[i].length, 456);
		assert_int_equal(heard[i].bytes[56], lid + 1);
		assert_int_equal(heard[i].bytes[455], lid + 2);
	}
	end();
}

static void repeated_segments_are_acknowledged_for_a_while(void **state)
{
	struct ib_mad_counters before, after;
	struct fake_mad last = { 0 }, *sent;

	begin(300);
	ask_with(MAD_BYTES, 100, 0);
	for (int i = 0; i < 20; i++) {
		while ((sent = fake_hca_take(&world.hca))) {
			struct fake_mad mad = *sent;

			mad.packet.payload = mad.bytes;
			mad.packet.slid = (u16)LID(mad.port_num);
			if (mad.port_num == 2 && mad.bytes[25] == RMPP_DATA)
				last = mad;
			ib_receive_mad(&world.hca.ib, 3 - mad.port_num, &mad.packet);
		}
		run_ms(0);
	}
	assert_table(300);
	last.packet.payload = last.bytes;
	ib_receive_mad(&world.hca.ib, 1, &last.packet);
	sent = fake_hca_take(&world.hca);
	assert_non_null(sent);
	assert_int_equal(sent->bytes[25], RMPP_ACK);
	/* The other side knows of no such transfer any more. */
	ib_mad_counters(world.mad, &before);
	sent->packet.slid = LID(1);
	ib_receive_mad(&world.hca.ib, 2, &sent->packet);
	ib_mad_counters(world.mad, &after);
	assert_int_equal(after.unmatched, before.unmatched + 1);
	run_ms(5000);
	ib_receive_mad(&world.hca.ib, 1, &last.packet);
	assert_int_equal(fake_hca_waiting(&world.hca), 0);
	assert_int_equal(heard_count, 4);
	end();
}

static void who_does_it_himself_sees_single_mads(void **state)
{
	begin(300);
	ib_unregister_mad_agent(net.client);
	net.client = add_agent(1, 1, NULL, 0);
	ask_with(MAD_BYTES, 100, 0);
	carry_for_ms(50);
	/* The first segment is the answer, and nobody acknowledges it. */
	assert_int_equal(heard_count, 3);
	assert_int_equal(find_heard(HEARD_RECV, net.client)->length, MAD_BYTES);
	assert_int_equal(find_heard(HEARD_DONE, net.client)->status, IB_MAD_SEND_OK);
	carry_for_ms(2000);
	assert_int_equal(heard_count, 4);
	assert_int_equal(heard[3].kind, HEARD_RECV);
	assert_null(heard[3].context);
	end();
}

static void leave_in_recv(const struct heard *what)
{
	serve(what);
	if (what->agent == net.client && what->kind == HEARD_RECV)
		ib_unregister_mad_agent(net.client);
}

static void an_agent_may_go_when_it_has_its_table(void **state)
{
	begin(2500);
	heard_hook = leave_in_recv;
	ask_with(MAD_BYTES, 100, 0);
	carry_for_ms(10000);
	assert_int_equal(find_heard(HEARD_DONE, net.client)->status, IB_MAD_SEND_FLUSHED);
	ib_unregister_mad_agent(net.server);
}

static void an_agent_may_go_at_any_moment(void **state)
{
	for (unsigned int cut = 0; cut < 16; cut++) {
		heard_count = 0;
		begin(2500);
		net.cut = cut;
		ask_with(MAD_BYTES, 100, 0);
		carry_for_ms(10);
		end();
		carry_for_ms(100);
		assert_true(timer_queue_next(&world.timers) == UINT64_MAX);
	}
}

static void a_device_may_go_at_any_moment(void **state)
{
	for (unsigned int cut = 0; cut < 16; cut++) {
		heard_count = 0;
		begin(2500);
		net.cut = cut;
		ask_with(MAD_BYTES, 100, 0);
		carry_for_ms(10);
		ib_remove_device(&world.hca.ib);
		carry_for_ms(10000);
		assert_non_null(find_heard(HEARD_DONE, net.client));
		end();
		assert_int_equal(ib_unregister_device(&world.hca.ib), 0);
		assert_int_equal(ib_register_device(&world.hca.ib, world.node), 0);
	}
}

static void a_long_answer_can_be_cancelled(void **state)
{
	struct ib_mad_send send = {
		.to = { .lid = LID(1), .qpn = 1, .qkey = IB_GSI_QKEY },
		.message = table,
		.length = 2500,
		.rmpp = true,
	};
	u64 id;

	begin(0);
	build_mad(table, MAD_CLASS_SUBN_ADM, 2, MAD_METHOD_GET_TABLE_RESP, 0x77);
	assert_int_equal(ib_post_send_mad(net.server, &send, &id), 0);
	assert_int_equal(tid_of(fake_hca_take(&world.hca)->bytes), 0x77);
	ib_cancel_mad(net.server, id);
	run_ms(0);
	assert_int_equal(heard_count, 1);
	assert_int_equal(heard[0].status, IB_MAD_SEND_FLUSHED);
	run_ms(10000);
	assert_int_equal(fake_hca_waiting(&world.hca), 0);
	end();
}

static void an_answer_to_what_was_cancelled_is_nobody_s(void **state)
{
	struct ib_mad_counters counters;
	u64 id;

	begin(2500);
	net.cut = 6;
	id = ask_with(MAD_BYTES, 100, 3);
	carry_for_ms(10);
	ib_cancel_mad(net.client, id);
	net.cut = NOTHING;
	carry_for_ms(20000);
	assert_int_equal(find_heard(HEARD_DONE, net.client)->status, IB_MAD_SEND_FLUSHED);
	assert_null(find_heard(HEARD_RECV, net.client));
	ib_mad_counters(world.mad, &counters);
	assert_int_equal(counters.unmatched, 1);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_table_is_put_together),
		TEST(whatever_is_lost_comes_again),
		TEST(a_request_rests_while_its_answer_comes),
		TEST(an_answer_that_stops_halfway_is_no_answer),
		TEST(a_second_try_begins_anew),
		TEST(a_second_answer_does_not_end_the_first),
		TEST(questions_may_be_long_too),
		TEST(a_long_question_without_answer_comes_back),
		TEST(equal_transactions_of_two_are_two),
		TEST(repeated_segments_are_acknowledged_for_a_while),
		TEST(who_does_it_himself_sees_single_mads),
		TEST(an_agent_may_go_when_it_has_its_table),
		TEST(an_agent_may_go_at_any_moment),
		TEST(a_device_may_go_at_any_moment),
		TEST(a_long_answer_can_be_cancelled),
		TEST(an_answer_to_what_was_cancelled_is_nobody_s),
	};

	return harness_run(tests);
}
