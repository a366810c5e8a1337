/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * InformInfo and Reports: who is told what, in which order, how often (spec/sa-sm 2.1,
 * 2.2, 2.3, rows 51, 54 and 55 of 1.13).
 */
#include "unit/fabric_sa/world.h"

#define ANY_TRAP 0xffff

static int setup(void **state)
{
	*state = world_create(8);
	return 0;
}

static int teardown(void **state)
{
	world_destroy(*state);
	return 0;
}

static int set_inform(struct world *w, unsigned int host, uint64_t key,
		      const struct sa_inform_info *info)
{
	const struct world_mad *m = world_inform(w, host, key, info);
	uint8_t asked[SA_INFORM_BYTES] = { 0 };

	if (!m)
		return NO_ANSWER;
	if (!m->mad.status) {
		assert_int_equal(m->sa.attr_offset, 4);
		sa_inform_info_put(asked, info);
		assert_memory_equal(m->bytes + SA_DATA, asked, sizeof(asked));
	}
	return m->mad.status;
}

static void subscribe(struct world *w, unsigned int host, uint16_t trap)
{
	struct sa_inform_info info = inform_all_of(trap);

	assert_int_equal(set_inform(w, host, 0, &info), 0);
}

/* The nth report among what was sent. */
static const struct world_mad *report(const struct world *w, unsigned int n)
{
	for (unsigned int i = 0; i < w->sent_count; i++) {
		if (w->sent[i].mad.method == MAD_METHOD_REPORT && !n--)
			return &w->sent[i];
	}
	return NULL;
}

static unsigned int reports(const struct world *w)
{
	unsigned int n = 0;

	while (report(w, n))
		n++;
	return n;
}

static void answer_report(struct world *w, const struct world_mad *m)
{
	struct mad_header mad = m->mad;
	uint8_t bytes[MAD_BYTES];

	memcpy(bytes, m->bytes, sizeof(bytes));
	mad.method = MAD_METHOD_REPORT_RESP;
	mad_header_put(bytes, &mad);
	world_deliver(w, m->packet.dlid, bytes);
}

static void answer_reports(struct world *w)
{
	for (unsigned int n = 0; report(w, n); n++)
		answer_report(w, report(w, n));
}

static void a_report_leaves_before_the_answer(void **state)
{
	static const uint8_t head[16] = { 0x83, 0, 0, 4, 0, 0x42, 0, 1 };
	static const uint8_t mgid[16] = { 0xff, 0x12, [15] = 1 };
	struct world *w = *state;
	const uint8_t *data;
	union ib_gid sm;

	subscribe(w, 3, TRAP_MGID_CREATED);
	world_assert(w, "H2 set create js=1 mgid=ff12::1", 0);
	assert_int_equal(w->sent_count, 2);
	assert_int_equal(w->sent[0].mad.method, MAD_METHOD_REPORT);
	assert_int_equal(w->sent[0].mad.attr_id, MAD_ATTR_NOTICE);
	assert_int_equal(w->sent[0].packet.dlid, 3);
	assert_int_equal(w->sent[1].mad.method, MAD_METHOD_GET_RESP);
	/* What is reserved is zero. */
	data = w->sent[0].bytes + SA_DATA;
	assert_memory_equal(data, head, sizeof(head));
	assert_memory_equal(data + 16, mgid, sizeof(mgid));
	for (unsigned int i = 32; i < NOTICE_TRAP_BYTES; i++)
		assert_int_equal(data[i], 0);
	small_gid(&sm, SMALL_PREFIX, small_guid(1));
	assert_memory_equal(data + NOTICE_TRAP_BYTES, sm.raw, 16);
	for (unsigned int i = SA_DATA + NOTICE_BYTES; i < MAD_BYTES; i++)
		assert_int_equal(w->sent[0].bytes[i], 0);
}

static void a_groups_end_is_reported_before_the_leave_is_answered(void **state)
{
	struct world *w = *state;

	subscribe(w, 3, TRAP_MGID_DELETED);
	world_assert(w, "H2 set create js=1 mgid=ff12::1", 0);
	assert_int_equal(reports(w), 0);
	world_assert(w, "H2 delete join js=1 mgid=ff12::1", 0);
	assert_int_equal(w->sent_count, 2);
	assert_int_equal(w->sent[0].mad.method, MAD_METHOD_REPORT);
	assert_int_equal(w->sent[0].bytes[SA_DATA + 5], 67);
	assert_int_equal(w->sent[1].mad.method, MAD_METHOD_DELETE_RESP);
}

static void full_members_make_the_events(void **state)
{
	struct world *w = *state;

	subscribe(w, 3, TRAP_MGID_CREATED);
	subscribe(w, 3, TRAP_MGID_DELETED);
	/* None of a well-known group that has others alone. */
	world_assert(w, "H2 set join js=4 mgid=ff12:401b:ffff::ffff:ffff", 0);
	assert_int_equal(reports(w), 0);
	world_assert(w, "H4 set join js=1 mgid=ff12:401b:ffff::ffff:ffff", 0);
	assert_int_equal(reports(w), 1);
	world_assert(w, "H5 set join js=1 mgid=ff12:401b:ffff::ffff:ffff", 0);
	assert_int_equal(reports(w), 0);
	world_assert(w, "H4 delete join js=1 mgid=ff12:401b:ffff::ffff:ffff", 0);
	assert_int_equal(reports(w), 0);
	world_assert(w, "H5 delete join js=1 mgid=ff12:401b:ffff::ffff:ffff", 0);
	assert_int_equal(reports(w), 1);
}

static void a_report_is_repeated_until_it_is_answered(void **state)
{
	struct world *w = *state;
	struct sa_counters counters;
	struct world_mad *m;

	subscribe(w, 3, TRAP_MGID_CREATED);
	world_assert(w, "H2 set create js=1 mgid=ff12::1", 0);
	world_run(w, 200 * TIMER_MS);
	assert_int_equal(reports(w), 2);
	assert_int_equal(report(w, 0)->mad.tid, report(w, 1)->mad.tid);
	/* Not by somebody else. */
	m = malloc(sizeof(*m));
	*m = *report(w, 0);
	m->packet.dlid = 4;
	answer_report(w, m);
	free(m);
	world_run(w, 200 * TIMER_MS);
	assert_int_equal(reports(w), 3);
	answer_report(w, report(w, 0));
	world_run(w, 1000 * TIMER_MS);
	assert_int_equal(reports(w), 3);
	sa_server_counters(w->server, &counters);
	assert_int_equal(counters.reports, 1);
	assert_int_equal(counters.reports_answered, 1);
}

static void who_does_not_answer_stays_subscribed(void **state)
{
	struct world *w = *state;
	struct sa_counters counters;

	subscribe(w, 3, TRAP_MGID_CREATED);
	world_assert(w, "H2 set create js=1 mgid=ff12::1", 0);
	world_run(w, 10000 * TIMER_MS);
	assert_int_equal(reports(w), 4); /* and three repetitions */
	sa_server_counters(w->server, &counters);
	assert_int_equal(counters.reports_lost, 1);
	world_assert(w, "H2 set create js=1 mgid=ff12::2", 0);
	assert_int_equal(reports(w), 1);
}

static void partitions_keep_groups_to_themselves(void **state)
{
	struct world *w = *state;

	for (unsigned int host = 2; host <= 3; host++) {
		small_host(&w->sm, host)->pkeys[1] = 0x8001;
		small_host(&w->sm, host)->pkey_count = 2;
	}
	subscribe(w, 3, TRAP_MGID_CREATED);
	subscribe(w, 4, TRAP_MGID_CREATED);
	world_assert(w, "H2 set create js=1 pkey=8001 mgid=ff12::1", 0);
	assert_int_equal(reports(w), 1);
	assert_int_equal(report(w, 0)->packet.dlid, 3);
}

static void ports_that_come_and_go_are_reported(void **state)
{
	struct world *w = *state;
	union ib_gid gid;

	subscribe(w, 3, TRAP_GID_IN_SERVICE);
	subscribe(w, 3, TRAP_GID_OUT_OF_SERVICE);
	subscribe(w, 2, TRAP_GID_OUT_OF_SERVICE);
	w->sent_count = 0;
	small_lose(&w->sm, 2);
	sa_server_sm_ops.port_out(w->server, small_guid(2));
	/* Who is gone hears nothing more. */
	assert_int_equal(reports(w), 1);
	assert_int_equal(report(w, 0)->packet.dlid, 3);
	assert_int_equal(report(w, 0)->bytes[SA_DATA + 5], 65);
	small_gid(&gid, SMALL_PREFIX, small_guid(2));
	assert_memory_equal(report(w, 0)->bytes + SA_DATA + 16, gid.raw, 16);
	answer_reports(w);
	w->sent_count = 0;
	small_host(&w->sm, 2)->seen = true;
	sa_server_sm_ops.port_in(w->server, small_guid(2));
	assert_int_equal(reports(w), 1);
	assert_int_equal(report(w, 0)->bytes[SA_DATA + 5], 64);
}

static void traps_are_forwarded(void **state)
{
	struct world *w = *state;
	struct notice notice = { .is_generic = 1,
				 .type = 1,
				 .producer_type = 2,
				 .trap = TRAP_LINK_STATE,
				 .issuer_lid = SMALL_SWITCH_LID };
	uint8_t bytes[NOTICE_TRAP_BYTES];
	struct sa_inform_info info = inform_all_of(TRAP_LINK_STATE);
	union ib_gid gid;

	subscribe(w, 2, TRAP_LINK_STATE);
	subscribe(w, 3, ANY_TRAP);
	subscribe(w, 4, TRAP_MGID_CREATED);
	/* Of others, of another type, of another producer, of one GID. */
	info.lid_begin = 1;
	info.lid_end = 99;
	assert_int_equal(set_inform(w, 5, 0, &info), 0);
	info = inform_all_of(TRAP_LINK_STATE);
	info.type = 4;
	assert_int_equal(set_inform(w, 5, 0, &info), 0);
	info = inform_all_of(TRAP_LINK_STATE);
	info.producer_type = 1;
	assert_int_equal(set_inform(w, 5, 0, &info), 0);
	info = inform_all_of(TRAP_LINK_STATE);
	small_gid(&info.gid, SMALL_PREFIX, small_guid(2));
	assert_int_equal(set_inform(w, 5, 0, &info), 0);
	small_gid(&info.gid, SMALL_PREFIX, SMALL_SWITCH_GUID);
	assert_int_equal(set_inform(w, 6, 0, &info), 0);

	w->sent_count = 0;
	notice_put(bytes, sizeof(bytes), &notice);
	sa_server_sm_ops.trap(w->server, bytes);
	assert_int_equal(reports(w), 3);
	assert_int_equal(report(w, 0)->packet.dlid + report(w, 1)->packet.dlid +
				 report(w, 2)->packet.dlid,
			 2 + 3 + 6);
	assert_int_not_equal(report(w, 0)->mad.tid, report(w, 1)->mad.tid);
	small_gid(&gid, SMALL_PREFIX, SMALL_SWITCH_GUID);
	assert_memory_equal(report(w, 0)->bytes + SA_DATA + NOTICE_TRAP_BYTES, gid.raw,
			    16);
	assert_memory_equal(report(w, 0)->bytes + SA_DATA, bytes, sizeof(bytes));
}

static void refusals(void **state)
{
	struct world *w = *state;
	struct sa_inform_info info = inform_all_of(TRAP_MGID_CREATED);

	/* row 54 */
	info.subscribe = 2;
	assert_int_equal(set_inform(w, 2, 0, &info), SA_REQ_INVALID);
	info = inform_all_of(TRAP_MGID_CREATED);
	small_gid(&info.gid, SMALL_PREFIX, 0x99);
	assert_int_equal(set_inform(w, 2, 0, &info), SA_REQ_INVALID);
	info = inform_all_of(TRAP_MGID_CREATED);
	info.subscribe = 0;
	assert_int_equal(set_inform(w, 2, 0, &info), SA_REQ_INVALID);
	info = inform_all_of(256);
	assert_int_equal(set_inform(w, 2, 0, &info), SA_REQ_INVALID);
	assert_int_equal(set_inform(w, 2, 1, &info), 0);
	info = inform_all_of(259);
	assert_int_equal(set_inform(w, 2, 0, &info), SA_REQ_INVALID);
	/* row 55 */
	info = inform_all_of(ANY_TRAP);
	assert_int_equal(set_inform(w, 2, 0, &info), 0);
}

static void a_subscription_is_one_until_it_ends(void **state)
{
	struct world *w = *state;
	struct sa_inform_info info = inform_all_of(TRAP_MGID_CREATED);

	subscribe(w, 3, TRAP_MGID_CREATED);
	subscribe(w, 3, TRAP_MGID_CREATED);
	world_assert(w, "H2 set create js=1 mgid=ff12::1", 0);
	assert_int_equal(reports(w), 1);
	/* It is the queue pair's that asked, whichever it named, and ended by its number. */
	info.qpn = 7;
	assert_int_equal(set_inform(w, 3, 0, &info), 0);
	info.subscribe = 0;
	assert_int_equal(set_inform(w, 3, 0, &info), SA_REQ_INVALID);
	info.qpn = IB_QP_GSI;
	assert_int_equal(set_inform(w, 3, 0, &info), 0);
	assert_int_equal(set_inform(w, 3, 0, &info), SA_REQ_INVALID);
	world_assert(w, "H2 set create js=1 mgid=ff12::2", 0);
	assert_int_equal(reports(w), 0);
}

static void subscriptions_can_be_asked_for(void **state)
{
	struct world *w = *state;
	struct sa_inform_info info = inform_all_of(TRAP_MGID_CREATED), got;
	const struct world_mad *m;
	struct world_ask ask;
	union ib_gid gid;

	world_assert(w, "H2 get attr=f3", SA_NO_RECORDS);
	info.qpn = 0x123;
	assert_int_equal(set_inform(w, 3, 0, &info), 0);
	world_ask_parse(w, &ask, "H2 get attr=f3");
	m = world_do(w, &ask);
	assert_int_equal(m->mad.status, 0);
	assert_int_equal(m->sa.attr_offset, 8);
	small_gid(&gid, SMALL_PREFIX, small_guid(3));
	assert_memory_equal(m->bytes + SA_DATA, gid.raw, 16);
	sa_inform_info_get(m->bytes + SA_DATA + 24, &got);
	assert_int_equal(got.trap, TRAP_MGID_CREATED);
	assert_int_equal(got.qpn, 0); /* for those who know the key */
	world_ask_parse(w, &ask, "H2 get attr=f3 key=1");
	sa_inform_info_get(world_do(w, &ask)->bytes + SA_DATA + 24, &got);
	assert_int_equal(got.qpn, IB_QP_GSI);
	subscribe(w, 4, TRAP_MGID_DELETED);
	world_assert(w, "H2 get attr=f3", SA_TOO_MANY_RECORDS);
	world_ask_parse(w, &ask, "H2 get attr=f3");
	ask.sa.comp_mask = 1;
	ask.raw = true;
	memcpy(ask.data, gid.raw, 16);
	assert_int_equal(world_do(w, &ask)->mad.status, 0);
}

static void a_standby_tells_of_the_groups_it_takes_over(void **state)
{
	struct world *w = *state, *standby = world_create(8);
	uint8_t *bytes;
	size_t length;

	subscribe(w, 3, TRAP_MGID_CREATED);
	world_assert(w, "H2 set create js=1 mgid=ff12::1", 0);
	assert_int_equal(sa_server_save(w->server, &bytes, &length), 0);
	sa_server_sm_ops.down(standby->server);
	assert_int_equal(sa_server_load(standby->server, bytes, length), 0);
	standby->sent_count = 0;
	sa_server_sm_ops.up(standby->server);
	assert_int_equal(reports(standby), 1);
	assert_int_equal(report(standby, 0)->packet.dlid, 3);
	free(bytes);
	world_destroy(standby);
}

static void a_new_mastership_begins_without_full_members(void **state)
{
	struct world *w = *state;

	world_assert(w, "H2 set join js=1 mgid=ff12:401b:ffff::ffff:ffff", 0);
	sa_server_sm_ops.down(w->server);
	sa_server_sm_ops.up(w->server);
	subscribe(w, 3, TRAP_MGID_CREATED);
	world_assert(w, "H2 set join js=1 mgid=ff12:401b:ffff::ffff:ffff", 0);
	assert_int_equal(reports(w), 1);
}

#define REPORTS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		REPORTS_TEST(a_report_leaves_before_the_answer),
		REPORTS_TEST(a_groups_end_is_reported_before_the_leave_is_answered),
		REPORTS_TEST(full_members_make_the_events),
		REPORTS_TEST(a_report_is_repeated_until_it_is_answered),
		REPORTS_TEST(who_does_not_answer_stays_subscribed),
		REPORTS_TEST(partitions_keep_groups_to_themselves),
		REPORTS_TEST(ports_that_come_and_go_are_reported),
		REPORTS_TEST(traps_are_forwarded),
		REPORTS_TEST(refusals),
		REPORTS_TEST(a_subscription_is_one_until_it_ends),
		REPORTS_TEST(subscriptions_can_be_asked_for),
		REPORTS_TEST(a_standby_tells_of_the_groups_it_takes_over),
		REPORTS_TEST(a_new_mastership_begins_without_full_members),
	};

	return harness_run(tests);
}
