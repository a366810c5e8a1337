/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests as such: what is no request, what comes twice, faults on demand.
 */
#include "unit/fabric_sa/world.h"

#define JOIN "H2 set create js=1 mgid=ff12::1"

static int setup(void **state)
{
	*state = world_create(4);
	return 0;
}

static int teardown(void **state)
{
	world_destroy(*state);
	return 0;
}

static struct sa_counters counters(const struct world *w)
{
	struct sa_counters c;

	sa_server_counters(w->server, &c);
	return c;
}

static void what_is_no_request_is_counted(void **state)
{
	struct world *w = *state;
	struct ib_packet packet = { .slid = 2, .length = MAD_BYTES - 1 };
	uint8_t good[MAD_BYTES], bytes[MAD_BYTES];
	struct world_ask ask;

	world_ask_parse(w, &ask, JOIN);
	world_ask_put(&ask, good);
	packet.payload = good;
	sa_server_sm_ops.receive(w->server, &packet);
	assert_int_equal(counters(w).bad_length, 1);
	for (unsigned int i = 0; i < 2; i++) { /* base version, class */
		memcpy(bytes, good, sizeof(bytes));
		bytes[i] = 9;
		world_deliver(w, 2, bytes);
	}
	assert_int_equal(counters(w).bad_version, 1);
	assert_int_equal(counters(w).bad_class, 1);
	memcpy(bytes, good, sizeof(bytes));
	bytes[3] = MAD_METHOD_GET_RESP;
	world_deliver(w, 2, bytes);
	bytes[3] = MAD_METHOD_REPORT_RESP;
	world_deliver(w, 2, bytes);
	bytes[3] = MAD_METHOD_TRAP_REPRESS;
	world_deliver(w, 2, bytes);
	assert_int_equal(counters(w).bad_answer, 3);
	ask.rmpp = (struct rmpp_header){
		.version = 1, .type = RMPP_DATA, .flags = RMPP_ACTIVE, .segment = 2
	};
	world_ask_send(w, &ask);
	assert_int_equal(counters(w).bad_segment, 1);
	assert_int_equal(counters(w).requests, 0);
	world_run(w, 0);
	assert_int_equal(w->sent_count, 0);
}

static void drops_have_their_cause(void **state)
{
	struct world *w = *state;

	world_assert(w, "H2 get key=2", NO_ANSWER);
	world_assert(w, "H2 get attr=ff", NO_ANSWER);
	world_assert(w, "H2 report", NO_ANSWER);
	world_assert(w, "H9 get", NO_ANSWER);
	world_assert(w, "H2 get mgid=ff12::1", SA_NO_RECORDS);
	world_assert(w, JOIN, 0);
	assert_int_equal(counters(w).requests, 6);
	assert_int_equal(counters(w).dropped_key, 1);
	assert_int_equal(counters(w).dropped_unknown, 2);
	assert_int_equal(counters(w).dropped_stranger, 1);
	assert_int_equal(counters(w).refused, 1);
	assert_int_equal(counters(w).answers, 1);
}

static void a_repetition_is_not_done_twice(void **state)
{
	struct world *w = *state;
	struct world_ask ask;

	w->sm.route_ns = TIMER_MS;
	world_ask_parse(w, &ask, JOIN);
	world_ask_send(w, &ask);
	world_ask_send(w, &ask);
	ask.host = 3; /* somebody else's, with the same number */
	world_ask_send(w, &ask);
	world_run(w, 2 * TIMER_MS);
	assert_int_equal(counters(w).dropped_repeated, 1);
	assert_int_equal(w->sent_count, 2);
	assert_int_equal(w->sm.orders, 1);
	/* Once it is answered it is a request of its own. */
	ask.host = 2;
	assert_int_equal(world_do(w, &ask)->mad.status, 0);
}

/* -- an MGID of the SA's choice ------------------------------------------------------ */

static union ib_gid assigned(struct world *w, const struct world_ask *ask)
{
	const struct world_mad *m = world_do(w, ask);
	struct sa_mcmember rec;

	assert_non_null(m);
	assert_int_equal(m->mad.status, 0);
	sa_mcmember_get(m->bytes + SA_DATA, &rec);
	assert_int_equal(rec.join_state, ask->rec.join_state);
	return rec.mgid;
}

static void assert_assigned(struct world *w, const struct world_ask *ask,
			    const union ib_gid *mgid, bool the_same)
{
	union ib_gid other = assigned(w, ask);

	assert_int_equal(gid_equal(other.raw, mgid->raw), the_same);
}

static unsigned int groups(struct world *w)
{
	return world_count(w, "H4 table") - 1; /* the broadcast group */
}

/* The answer was lost, and the client asks again. */
static void a_choice_is_made_once_a_request(void **state)
{
	struct world *w = *state;
	struct world_ask ask, other;
	union ib_gid mgid;

	world_ask_parse(w, &ask, "H2 set create js=1 mgid=::");
	mgid = assigned(w, &ask);
	for (unsigned int i = 0; i < 10; i++) {
		world_run(w, 300 * TIMER_MS);
		assert_assigned(w, &ask, &mgid, true);
	}
	assert_int_equal(groups(w), 1);
	/* Not the same request: somebody else's, another transaction, another wish. */
	other = ask;
	other.host = 3;
	small_gid(&other.rec.port_gid, SMALL_PREFIX, small_guid(3));
	assert_assigned(w, &other, &mgid, false);
	other = ask;
	other.mad.tid++;
	assert_assigned(w, &other, &mgid, false);
	other = ask;
	other.rec.qkey++;
	assert_assigned(w, &other, &mgid, false);
	other = ask;
	other.sa.comp_mask |= SA_MCM_HOP_LIMIT;
	assert_assigned(w, &other, &mgid, false);
	assert_int_equal(groups(w), 5);
	world_run(w, 20000 * TIMER_MS);
	assert_assigned(w, &ask, &mgid, false);
}

static void a_choice_that_has_gone_is_made_anew(void **state)
{
	struct world *w = *state;
	struct world_ask ask, leave;
	union ib_gid mgid;

	world_ask_parse(w, &ask, "H2 set create js=1 mgid=::");
	mgid = assigned(w, &ask);
	world_ask_parse(w, &leave, "H2 delete join js=1");
	leave.rec.mgid = mgid;
	assert_int_equal(world_do(w, &leave)->mad.status, 0);
	assert_assigned(w, &ask, &mgid, false);
	assert_int_equal(groups(w), 1);
	/* The switches refuse: it was never made. */
	w->sm.route_error = -EIO;
	world_ask_parse(w, &ask, "H2 set create js=1 mgid=::");
	assert_int_equal(world_do(w, &ask)->mad.status, SA_NO_RESOURCES);
	w->sm.route_error = 0;
	assigned(w, &ask);
	assert_int_equal(groups(w), 2);
	/* Another master began, and clients have to join again. */
	sa_server_sm_ops.down(w->server);
	sa_server_sm_ops.up(w->server);
	assigned(w, &ask);
	assert_int_equal(groups(w), 1);
}

/* More than are remembered: the oldest give way, and nothing grows. */
static void choices_are_remembered_up_to_a_bound(void **state)
{
	struct world *w = *state;
	struct world_ask first, ask, leave;
	union ib_gid mgid, last;

	world_ask_parse(w, &first, "H2 set create js=1 mgid=::");
	mgid = assigned(w, &first);
	world_ask_parse(w, &leave, "H2 delete join js=1");
	for (unsigned int i = 0; i < 17000; i++) {
		world_ask_parse(w, &ask, "H2 set create js=1 mgid=::");
		last = assigned(w, &ask);
		leave.rec.mgid = last;
		leave.mad.tid++;
		assert_int_equal(world_do(w, &leave)->mad.status, 0);
	}
	assert_assigned(w, &first, &mgid, false);
}

static void a_table_asked_for_again_is_not_begun_again(void **state)
{
	struct world *w = *state;
	struct world_ask ask;

	world_ask_parse(w, &ask, "H2 table");
	world_ask_send(w, &ask);
	world_ask_send(w, &ask);
	assert_int_equal(counters(w).rmpp_transfers, 1);
	assert_int_equal(counters(w).dropped_repeated, 1);
}

static void an_answer_has_the_way_of_its_request(void **state)
{
	struct world *w = *state;
	struct ib_packet packet = { .slid = 3,
				    .dlid = 1,
				    .sl = 5,
				    .pkey = 0x7fff,
				    .dest_qp = 1,
				    .src_qp = 0x1234,
				    .qkey = IB_GSI_QKEY,
				    .has_grh = true,
				    .length = MAD_BYTES };
	uint8_t bytes[MAD_BYTES];
	struct world_ask ask;
	union ib_gid gid;

	world_ask_parse(w, &ask, "H3 get mgid=ff12::1 mod=7 rmpp=1");
	world_ask_put(&ask, bytes);
	packet.payload = bytes;
	small_gid(&packet.sgid, SMALL_PREFIX, small_guid(3));
	sa_server_sm_ops.receive(w->server, &packet);
	assert_int_equal(w->sent_count, 1);
	assert_int_equal(w->sent[0].packet.dlid, 3);
	assert_int_equal(w->sent[0].packet.sl, 5);
	assert_int_equal(w->sent[0].packet.dest_qp, 0x1234);
	assert_int_equal(w->sent[0].packet.pkey, 0xffff); /* ours reaches the limited */
	assert_true(w->sent[0].packet.has_grh);
	assert_memory_equal(&w->sent[0].packet.dgid, &packet.sgid, 16);
	small_gid(&gid, SMALL_PREFIX, small_guid(1));
	assert_memory_equal(&w->sent[0].packet.sgid, &gid, 16);
	assert_int_equal(w->sent[0].mad.attr_mod, 7);
	assert_int_equal(w->sent[0].bytes[26], 1); /* the RMPP header as it came */
}

/* -- faults -------------------------------------------------------------------------- */

static void set_fault(struct world *w, struct sa_fault fault)
{
	sa_server_set_fault(w->server, &fault);
}

static void dropped_on_demand(void **state)
{
	struct world *w = *state;

	set_fault(w, (struct sa_fault){ .kind = SA_FAULT_DROP, .count = 2 });
	world_assert(w, JOIN, NO_ANSWER);
	world_assert(w, "H2 get", NO_ANSWER);
	assert_int_equal(w->sm.orders, 0);
	world_assert(w, JOIN, 0);
	assert_int_equal(counters(w).dropped_fault, 2);
	set_fault(w, (struct sa_fault){ .kind = SA_FAULT_DROP });
	for (unsigned int i = 0; i < 10; i++)
		world_assert(w, JOIN, NO_ANSWER);
	set_fault(w, (struct sa_fault){ .kind = SA_FAULT_NONE });
	world_assert(w, JOIN, 0);
}

static void refused_on_demand(void **state)
{
	struct world *w = *state;

	set_fault(w, (struct sa_fault){ .kind = SA_FAULT_BUSY, .count = 1 });
	world_assert(w, JOIN, MAD_STATUS_BUSY);
	set_fault(w,
		  (struct sa_fault){ .kind = SA_FAULT_ERROR, .status = SA_NO_RESOURCES });
	world_assert(w, JOIN, SA_NO_RESOURCES);
	assert_int_equal(w->sm.orders, 0);
	set_fault(w, (struct sa_fault){ .kind = SA_FAULT_BUSY,
					.attribute = SA_PATH_RECORD });
	world_assert(w, JOIN, 0);
	world_assert(w, "H2 get attr=35", MAD_STATUS_BUSY);
}

static void delayed_on_demand(void **state)
{
	struct world *w = *state;
	struct world_ask ask;

	set_fault(w, (struct sa_fault){ .kind = SA_FAULT_DELAY, .delay_ns = TIMER_MS });
	world_ask_parse(w, &ask, JOIN);
	assert_null(world_do(w, &ask));
	assert_int_equal(w->sm.orders, 1); /* it is done; the answer is late */
	world_ask_send(w, &ask);
	world_run(w, TIMER_MS);
	assert_non_null(world_answer(w, &ask));
	assert_int_equal(counters(w).dropped_repeated, 1);
}

static void some_on_demand(void **state)
{
	struct world *w = *state;
	unsigned int dropped;

	set_fault(w, (struct sa_fault){ .kind = SA_FAULT_DROP, .rate = 250000 });
	for (unsigned int i = 0; i < 1000; i++)
		world_status(w, JOIN);
	dropped = (unsigned int)counters(w).dropped_fault;
	assert_in_range(dropped, 180, 320);
	assert_int_equal(counters(w).answers, 1000 - dropped);
}

#define REQUESTS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		REQUESTS_TEST(what_is_no_request_is_counted),
		REQUESTS_TEST(drops_have_their_cause),
		REQUESTS_TEST(a_repetition_is_not_done_twice),
		REQUESTS_TEST(a_choice_is_made_once_a_request),
		REQUESTS_TEST(a_choice_that_has_gone_is_made_anew),
		REQUESTS_TEST(choices_are_remembered_up_to_a_bound),
		REQUESTS_TEST(a_table_asked_for_again_is_not_begun_again),
		REQUESTS_TEST(an_answer_has_the_way_of_its_request),
		REQUESTS_TEST(dropped_on_demand),
		REQUESTS_TEST(refused_on_demand),
		REQUESTS_TEST(delayed_on_demand),
		REQUESTS_TEST(some_on_demand),
	};

	return harness_run(tests);
}
