/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memberships over time: when joins are answered, what is undone, who goes with whom, and
 * that MLIDs come back (spec/sa-sm 1.9 to 1.12, 2.3, 2.5).
 */
#include "unit/fabric_sa/world.h"

#define GROUP "mgid=ff12::1"

struct count {
	unsigned int groups, members;
	struct sa_group_view last;
	struct sa_member_view last_member;
};

static void count_group(void *arg, const struct sa_group_view *group)
{
	struct count *c = arg;

	c->groups++;
	c->last = *group;
}

static void count_member(void *arg, const struct sa_group_view *group,
			 const struct sa_member_view *member)
{
	struct count *c = arg;

	assert_memory_equal(&group->rec.mgid, &c->last.rec.mgid, 16);
	c->members++;
	c->last_member = *member;
}

static struct count count(const struct world *w)
{
	struct count c = { 0 };

	sa_server_each_group(w->server, count_group, count_member, &c);
	return c;
}

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

static struct world_ask send_text(struct world *w, const char *text)
{
	struct world_ask ask;

	world_ask_parse(w, &ask, text);
	world_ask_send(w, &ask);
	return ask;
}

static void a_join_is_answered_when_the_tables_are_set(void **state)
{
	struct world *w = *state;
	struct world_ask ask;

	w->sm.route_ns = 5 * TIMER_MS;
	ask = send_text(w, "H2 set create js=1 " GROUP);
	world_run(w, 5 * TIMER_MS - 1);
	assert_null(world_answer(w, &ask));
	assert_int_equal(w->sm.ordered_mlid, 0xc001);
	assert_int_equal(w->sm.last_count, 1);
	assert_int_equal(w->sm.last[0].port_guid, small_guid(2));
	assert_true(w->sm.last[0].receives);
	world_run(w, 1);
	assert_non_null(world_answer(w, &ask));
	assert_int_equal(world_answer(w, &ask)->mad.status, 0);
}

static void joins_that_arrive_together_share_orders(void **state)
{
	struct world *w = *state;
	struct world_ask asks[7];
	char text[64];

	w->sm.route_ns = TIMER_MS;
	for (unsigned int i = 0; i < 7; i++) {
		snprintf(text, sizeof(text), "H%u set create js=1 " GROUP, i + 2);
		asks[i] = send_text(w, text);
	}
	assert_int_equal(w->sm.orders, 1);
	world_run(w, TIMER_MS);
	assert_non_null(world_answer(w, &asks[0]));
	for (unsigned int i = 1; i < 7; i++)
		assert_null(world_answer(w, &asks[i]));
	assert_int_equal(w->sm.orders, 2);
	assert_int_equal(w->sm.last_count, 7);
	world_run(w, TIMER_MS);
	for (unsigned int i = 1; i < 7; i++)
		assert_int_equal(world_answer(w, &asks[i])->mad.status, 0);
	assert_int_equal(w->sm.orders, 2);
}

static void what_changes_no_table_is_answered_at_once(void **state)
{
	struct world *w = *state;

	world_assert(w, "H2 set create js=1 " GROUP, 0);
	w->sm.route_ns = TIMER_MS;
	world_assert(w, "H2 set join js=1 " GROUP, 0);
	world_assert(w, "H2 set join js=6 " GROUP, 0);
	world_assert(w, "H2 delete join js=4 " GROUP, 0);
	assert_int_equal(w->sm.orders, 1);
}

/* But not before an order that is under way for it. */
static void a_repeated_join_waits_for_the_first(void **state)
{
	struct world *w = *state;
	struct world_ask first, second;

	w->sm.route_ns = TIMER_MS;
	first = send_text(w, "H2 set create js=1 " GROUP);
	second = send_text(w, "H2 set create js=1 " GROUP);
	assert_null(world_answer(w, &second));
	world_run(w, TIMER_MS);
	assert_non_null(world_answer(w, &first));
	assert_non_null(world_answer(w, &second));
	assert_int_equal(w->sm.orders, 1);
}

static void senders_do_not_receive(void **state)
{
	struct world *w = *state;

	world_assert(w, "H2 set create js=8 " GROUP, 0);
	assert_false(w->sm.last[0].receives);
	world_assert(w, "H2 set join js=4 " GROUP, 0);
	assert_int_equal(w->sm.orders, 1);
	world_assert(w, "H2 set join js=2 " GROUP, 0);
	assert_true(w->sm.last[0].receives);
	world_assert(w, "H2 delete join js=2 " GROUP, 0);
	assert_false(w->sm.last[0].receives);
	assert_int_equal(w->sm.orders, 3);
}

static void a_create_that_cannot_be_routed_is_undone(void **state)
{
	struct world *w = *state;

	w->sm.route_error = -ENOSPC;
	world_assert(w, "H2 set create js=1 " GROUP, SA_NO_RESOURCES);
	assert_int_equal(count(w).groups, 1);
	assert_int_equal(count(w).members, 0);
	assert_int_equal(w->sm.last_count, 0); /* and the switches are told */
	w->sm.route_error = 0;
	world_assert(w, "H2 set create js=1 " GROUP, 0);
}

static void a_join_that_cannot_be_routed_leaves_the_rest(void **state)
{
	struct world *w = *state;
	const struct world_mad *m;
	struct world_ask ask;

	world_assert(w, "H2 set create js=1 " GROUP, 0);
	world_assert(w, "H3 set join js=4 " GROUP, 0);
	w->sm.route_error = -ETIMEDOUT;
	world_ask_parse(w, &ask, "H3 set join js=3 life=5 " GROUP);
	m = world_do(w, &ask);
	assert_int_equal(m->mad.status, SA_NO_RESOURCES);
	/* The request as it was, not half an answer. */
	assert_int_equal(m->sa.attr_offset, 0);
	assert_int_equal(m->bytes[SA_DATA + 43], 5);
	w->sm.route_error = 0;
	assert_int_equal(count(w).members, 2);
	assert_int_equal(world_record(w, "H2 get key=1 port=H3 " GROUP).join_state, 4);
	assert_int_equal(w->sm.last_count, 2);
	assert_false(w->sm.last[1].receives);
}

/* A non-member comes to a group whose creation is still under way, and fails with it. */
static void who_joined_what_was_undone_is_told(void **state)
{
	struct world *w = *state;
	struct world_ask creator, guest;

	w->sm.route_ns = TIMER_MS;
	w->sm.route_error = -ENOSPC;
	creator = send_text(w, "H2 set create js=1 " GROUP);
	guest = send_text(w, "H3 set join js=2 " GROUP);
	world_run(w, TIMER_MS);
	assert_int_equal(world_answer(w, &creator)->mad.status, SA_NO_RESOURCES);
	assert_int_equal(world_answer(w, &guest)->mad.status, SA_NO_RESOURCES);
	assert_int_equal(count(w).members, 0);
	world_run(w, 10 * TIMER_MS);
	assert_int_equal(count(w).groups, 1);
}

static int state_of(struct world *w, const char *host)
{
	char text[64];

	snprintf(text, sizeof(text), "H4 get key=1 port=%s " GROUP, host);
	return world_status(w, text) ? 0 : world_record(w, text).join_state;
}

static int status_of(const struct world *w, const struct world_ask *ask)
{
	const struct world_mad *m = world_answer(w, ask);

	return m ? m->mad.status : NO_ANSWER;
}

static uint8_t state_told(const struct world *w, const struct world_ask *ask)
{
	struct sa_mcmember rec;

	assert_int_equal(status_of(w, ask), 0);
	sa_mcmember_get(world_answer(w, ask)->bytes + SA_DATA, &rec);
	return rec.join_state;
}

/* A late copy of a leave comes while H3 joins with all states, which is refused then. What
 * the leave's answer says is left, and is. */
static uint8_t left_of_refused_join(struct world *w, const char *leave_text)
{
	struct world_ask join, leave;
	uint8_t left;

	w->sm.route_ns = TIMER_MS;
	join = send_text(w, "H3 set join js=f " GROUP);
	leave = send_text(w, leave_text);
	world_run(w, 2 * TIMER_MS);
	assert_int_equal(status_of(w, &join), SA_REQ_INVALID);
	left = state_told(w, &leave);
	assert_int_equal(state_of(w, "H3"), left);
	return left;
}

/* Who is refused is no member. */
static void a_join_that_a_leave_falsifies_leaves_nothing(void **state)
{
	struct world *w = *state;

	world_assert(w, "H2 set create js=1 " GROUP, 0);
	assert_int_equal(left_of_refused_join(w, "H3 delete join js=9 " GROUP), 0);
	assert_int_equal(w->sm.last_count, 1);
}

/* Though what it asked for was there before it. */
static void a_refused_join_leaves_what_was_there(void **state)
{
	struct world *w = *state;

	world_assert(w, "H2 set create js=1 " GROUP, 0);
	world_assert(w, "H3 set join js=c " GROUP, 0);
	assert_int_equal(left_of_refused_join(w, "H3 delete join js=8 " GROUP), 4);
}

/* Nor does it take what another one asked for, before or after it. */
static void a_refused_join_leaves_what_others_joined(void **state)
{
	struct world *w = *state;
	struct world_ask before, refused, after, leave, last;

	world_assert(w, "H2 set create js=1 " GROUP, 0);
	w->sm.route_ns = TIMER_MS;
	before = send_text(w, "H3 set join js=2 " GROUP);
	refused = send_text(w, "H3 set join js=f " GROUP);
	after = send_text(w, "H3 set join js=4 " GROUP);
	leave = send_text(w, "H3 delete join js=1 " GROUP);
	last = send_text(w, "H3 set join js=1 " GROUP);
	world_run(w, 3 * TIMER_MS);
	assert_int_equal(status_of(w, &before), 0);
	assert_int_equal(status_of(w, &refused), SA_REQ_INVALID);
	assert_int_equal(status_of(w, &after), 0);
	assert_int_equal(state_told(w, &leave), 6);
	assert_int_equal(status_of(w, &last), 0);
	assert_int_equal(state_of(w, "H3"), 7);
}

/* The second waits for the next order, and finds nothing to add to. */
static void a_join_to_what_was_undone_leaves_nothing(void **state)
{
	struct world *w = *state;
	struct world_ask first, second;

	world_assert(w, "H2 set create js=1 " GROUP, 0);
	w->sm.route_ns = TIMER_MS;
	w->sm.route_error = -ETIMEDOUT;
	first = send_text(w, "H3 set join js=8 " GROUP);
	second = send_text(w, "H3 set join js=a " GROUP);
	world_run(w, TIMER_MS);
	w->sm.route_error = 0;
	world_run(w, 2 * TIMER_MS);
	assert_int_equal(status_of(w, &first), SA_NO_RESOURCES);
	assert_int_equal(status_of(w, &second), SA_NO_RESOURCES);
	assert_int_equal(state_of(w, "H3"), 0);
	assert_int_equal(w->sm.last_count, 1);
}

/* The tables of the MLID that the group had at first cannot be set; it has another one. */
static void an_undone_join_leaves_the_group_that_began_anew(void **state)
{
	struct world *w = *state;
	struct world_ask first, again;

	w->sm.route_ns = 5 * TIMER_MS;
	first = send_text(w, "H3 set create js=1 " GROUP);
	send_text(w, "H3 delete join js=1 " GROUP);
	w->sm.route_ns = TIMER_MS;
	send_text(w, "H4 set create js=1 ~mlid=c001 mgid=ff12::2");
	again = send_text(w, "H3 set create js=1 " GROUP);
	world_run(w, 2 * TIMER_MS);
	assert_int_equal(status_of(w, &again), 0);
	w->sm.route_error = -ETIMEDOUT;
	world_run(w, 3 * TIMER_MS);
	assert_int_equal(status_of(w, &first), SA_NO_RESOURCES);
	assert_int_equal(state_of(w, "H3"), 1);
}

static void a_leave_is_done_even_if_it_cannot_be_routed(void **state)
{
	struct world *w = *state;

	world_assert(w, "H2 set create js=1 " GROUP, 0);
	world_assert(w, "H3 set join js=1 " GROUP, 0);
	w->sm.route_error = -ETIMEDOUT;
	world_assert(w, "H3 delete join js=1 " GROUP, 0);
	assert_int_equal(count(w).members, 1);
}

static void the_last_full_member_takes_the_group(void **state)
{
	struct world *w = *state;

	world_assert(w, "H2 set create js=5 " GROUP, 0);
	world_assert(w, "H3 set join js=2 " GROUP, 0);
	world_assert(w, "H4 set join js=4 " GROUP, 0);
	assert_int_equal(count(w).members, 3);
	/* It still holds 4, and loses everything. */
	assert_int_equal(world_record(w, "H2 delete join js=1 " GROUP).join_state, 0);
	assert_int_equal(count(w).members, 0);
	assert_int_equal(count(w).groups, 1);
	assert_int_equal(w->sm.ordered_mlid, 0xc001);
	assert_int_equal(w->sm.last_count, 0);
	world_assert(w, "H3 delete join js=2 " GROUP, SA_REQ_INVALID);
}

static void a_send_only_full_member_keeps_the_group(void **state)
{
	struct world *w = *state;

	world_assert(w, "H2 set create js=1 " GROUP, 0);
	world_assert(w, "H3 set join js=8 " GROUP, 0);
	assert_int_equal(world_record(w, "H2 delete join js=1 " GROUP).join_state, 0);
	assert_int_equal(count(w).members, 1);
	assert_int_equal(world_record(w, "H3 delete join js=8 " GROUP).join_state, 0);
	assert_int_equal(count(w).groups, 1);
}

static void what_remains_of_a_state_stays_while_others_are_full(void **state)
{
	struct world *w = *state;

	world_assert(w, "H2 set create js=1 " GROUP, 0);
	world_assert(w, "H3 set join js=5 " GROUP, 0);
	assert_int_equal(world_record(w, "H3 delete join js=1 " GROUP).join_state, 4);
	assert_int_equal(count(w).members, 2);
	assert_int_equal(world_record(w, "H3 delete join js=4 " GROUP).join_state, 0);
	assert_int_equal(count(w).members, 1);
}

/* OpenSM counts such a port twice, or once too little, and keeps the MLID. */
static void both_full_states_in_one_port_leak_nothing(void **state)
{
	struct world *w = *state;
	unsigned int rounds = harness_count(3000, 100000);

	w->sm.capacity = 4;
	for (unsigned int i = 0; i < rounds; i++) {
		assert_int_equal(world_record(w, "H2 set create js=9 " GROUP).mlid,
				 0xc001);
		assert_int_equal(world_record(w, "H2 delete join js=1 " GROUP).join_state,
				 8);
		assert_int_equal(count(w).groups, 2);
		assert_int_equal(world_record(w, "H2 delete join js=8 " GROUP).join_state,
				 0);
		assert_int_equal(count(w).groups, 1);
	}
}

static void a_well_known_group_stays(void **state)
{
	struct world *w = *state;
	const char *join = "H2 set join js=1 mgid=ff12:401b:ffff::ffff:ffff";
	const char *leave = "H2 delete join js=1 mgid=ff12:401b:ffff::ffff:ffff";

	assert_int_equal(count(w).groups, 1);
	assert_true(count(w).last.well_known);
	world_assert(w, "H3 set join js=2 mgid=ff12:401b:ffff::ffff:ffff", 0);
	world_assert(w, join, 0);
	assert_int_equal(count(w).members, 2);
	world_assert(w, leave, 0);
	assert_int_equal(count(w).groups, 1);
	assert_int_equal(count(w).members, 0);
	assert_int_equal(w->sm.last_count, 0);
	assert_int_equal(world_record(w, join).mlid, 0xc000);
}

static void partitions_have_the_groups_they_name(void **state)
{
	static const struct sm_partition partitions[] = {
		{ .name = "Default", .pkey = 0x7fff, .ipoib = true },
		{ .name = "quiet", .pkey = 2 },
		{ .name = "blue", .pkey = 1, .ipoib = true, .mtu = 5, .rate = 7 },
	};
	struct world *w = malloc(sizeof(*w));

	(void)state;
	world_init_with(w, 2, partitions, 3);
	assert_int_equal(count(w).groups, 2);
	assert_int_equal(count(w).last.rec.mlid, 0xc001);
	assert_int_equal(count(w).last.rec.pkey, 0x8001);
	assert_int_equal(count(w).last.rec.mtu, 5);
	assert_int_equal(count(w).last.rec.rate, 7);
	assert_int_equal(count(w).last.rec.mgid.raw[4], 0x80);
	assert_int_equal(count(w).last.rec.mgid.raw[5], 0x01);
	/* Nobody sees what is not in his partitions. */
	world_assert(w, "H2 get mgid=ff12:401b:8001::ffff:ffff", SA_NO_RECORDS);
	small_host(&w->sm, 2)->pkeys[1] = 1;
	small_host(&w->sm, 2)->pkey_count = 2;
	world_assert(w, "H2 get mgid=ff12:401b:8001::ffff:ffff", 0);
	world_destroy(w);
}

static void a_port_that_goes_leaves_its_groups(void **state)
{
	struct world *w = *state;

	world_assert(w, "H2 set create js=1 mgid=ff12::1", 0);
	world_assert(w, "H3 set join js=1 mgid=ff12::1", 0);
	world_assert(w, "H2 set create js=1 mgid=ff12::2", 0);
	world_assert(w, "H3 set join js=2 mgid=ff12::2", 0);
	world_assert(w, "H4 set join js=1 port=H2 mgid=ff12::1", SA_REQ_INVALID);
	small_lose(&w->sm, 2);
	sa_server_sm_ops.port_out(w->server, small_guid(2));
	world_run(w, 0);
	assert_int_equal(count(w).groups, 2); /* ff12::2 went with its last full member */
	assert_int_equal(count(w).members, 1);
	assert_int_equal(w->sm.ordered_mlid, 0xc002);
	sa_server_sm_ops.port_out(w->server, small_guid(3));
	assert_int_equal(count(w).groups, 1);
	/* Coming back restores nothing. */
	small_host(&w->sm, 2)->seen = true;
	sa_server_sm_ops.port_in(w->server, small_guid(2));
	assert_int_equal(count(w).members, 0);
	world_assert(w, "H2 set create js=1 mgid=ff12::1", 0);
}

static void a_waiting_join_survives_the_loss_of_its_port(void **state)
{
	struct world *w = *state;
	struct world_ask ask;

	w->sm.route_ns = TIMER_MS;
	ask = send_text(w, "H2 set create js=1 " GROUP);
	sa_server_sm_ops.port_out(w->server, small_guid(2));
	world_run(w, 2 * TIMER_MS);
	assert_non_null(world_answer(w, &ask));
	assert_int_equal(count(w).members, 0);
	assert_int_equal(w->sm.last_count, 0);
}

static void nothing_is_answered_while_the_sm_is_down(void **state)
{
	struct world *w = *state;
	struct sa_counters counters;
	struct world_ask ask;

	world_assert(w, "H2 set create js=1 mgid=ff12::2", 0);
	w->sm.route_ns = TIMER_MS;
	ask = send_text(w, "H2 set create js=1 " GROUP);
	sa_server_sm_ops.down(w->server);
	world_run(w, TIMER_MS);
	assert_null(world_answer(w, &ask));
	world_assert(w, "H2 get mgid=ff12::2", NO_ANSWER);
	sa_server_counters(w->server, &counters);
	assert_int_equal(counters.dropped_down, 1);
	/* What was known is another master's by now. */
	sa_server_sm_ops.up(w->server);
	world_assert(w, "H2 get mgid=ff12::2", SA_NO_RECORDS);
	assert_int_equal(count(w).groups, 1);
}

static void a_standby_takes_over_what_was_saved(void **state)
{
	struct world *w = *state, *standby = world_create(8);
	uint8_t *bytes;
	size_t length;

	world_assert(w, "H2 set create js=1 mgid=ff12::1 mlid=c020 qkey=77", 0);
	world_assert(w, "H3 set join js=6 port=H3 mgid=ff12::1", 0);
	world_assert(w, "H4 set join js=1 port=H5 mgid=ff12::1", 0);
	world_assert(w, "H6 set create js=1 mgid=ff12::6", 0);
	world_assert(w, "H2 set create js=1 mgid=::", 0);
	assert_int_equal(sa_server_save(w->server, &bytes, &length), 0);

	sa_server_sm_ops.down(standby->server);
	assert_int_equal(sa_server_load(standby->server, bytes, length), 0);
	small_lose(&standby->sm, 6);
	sa_server_sm_ops.up(standby->server);
	world_run(standby, 0);
	/* The group of a port that is not there any more is not, either. */
	assert_int_equal(count(standby).groups, 3);
	assert_int_equal(count(standby).members, 4);
	assert_int_equal(world_record(standby, "H2 get mgid=ff12::1").mlid, 0xc020);
	assert_int_equal(world_record(standby, "H2 get mgid=ff12::1").qkey, 0x77);
	assert_int_equal(
		world_record(standby, "H2 get key=1 port=H3 mgid=ff12::1").join_state, 6);
	assert_true(
		world_record(standby, "H2 get key=1 port=H5 mgid=ff12::1").proxy_join);
	/* The counter of assigned MGIDs goes on. */
	assert_int_equal(world_record(standby, "H2 set create js=1 mgid=::").mgid.raw[15],
			 1);
	free(bytes);
	world_destroy(standby);
}

static void bad_bytes_change_nothing(void **state)
{
	struct world *w = *state;
	uint8_t *bytes;
	size_t length;

	world_assert(w, "H2 set create js=1 " GROUP, 0);
	assert_int_equal(sa_server_save(w->server, &bytes, &length), 0);
	for (size_t n = 0; n < length; n++)
		assert_int_equal(sa_server_load(w->server, bytes, n), -EPROTO);
	bytes[0] ^= 1;
	assert_int_equal(sa_server_load(w->server, bytes, length), -EPROTO);
	assert_int_equal(count(w).members, 1);
	bytes[0] ^= 1;
	assert_int_equal(sa_server_load(w->server, bytes, length), 0);
	assert_int_equal(count(w).members, 1);
	free(bytes);
}

static void assigned_mgids_carry_the_prefix_and_a_counter(void **state)
{
	struct world *w = *state;
	static const uint8_t expected[16] = { 0xff, 0x12, 0xa0, 0x1b, 0xfe, 0x80, 0, 0,
					      0,    0,    0,    0,    0,    0,    0, 1 };
	struct sa_mcmember rec;

	rec = world_record(w, "H2 set create js=1 mgid=::");
	assert_int_equal(rec.mgid.raw[15], 0);
	rec = world_record(w, "H2 set create js=1 mgid=::");
	assert_memory_equal(rec.mgid.raw, expected, 16);
	rec = world_record(w, "H2 set create js=1 mgid=:: scope=5");
	assert_int_equal(rec.mgid.raw[1], 0x15);
	assert_int_equal(rec.mgid.raw[15], 2);
}

static void the_default_prefix_stands_for_the_subnets(void **state)
{
	struct world *w = *state;
	struct sa_mcmember rec;

	w->sm.subnet.prefix = 0xfec0000000000007ull;
	rec = world_record(w, "H2 set create js=1 port=fe80::10:0003 " GROUP);
	assert_int_equal(rec.port_gid.raw[1], 0x80); /* echoed as it was sent */
	world_assert(w, "H3 set join js=1 port=fec0:0:0:7::10:5 " GROUP, 0);
	world_assert(w, "H3 set join js=1 port=fec0:0:0:8::10:5 " GROUP,
		     SA_REQ_INVALID_GID);
	rec = world_record(w, "H2 get key=1 port=fe80::10:0003 " GROUP);
	assert_int_equal(rec.port_gid.raw[1], 0xc0);
}

/* The vector of spec/sa-sm 8. */
static void the_answer_to_a_join_is_as_measured(void **state)
{
	static const uint8_t expected[112] = {
		0x01, 0x03, 0x02, 0x81, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00,
		0x00, 0x00, 0x10, 0x01, 0x00, 0x38, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0xb3, 0xf7, 0xff, 0x12, 0x40, 0x1b,
		0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x16,
		0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x10, 0x00, 0x03, 0x00, 0x00, 0x0b, 0x1b, 0xc0, 0x26, 0x84, 0x00,
		0xff, 0xff, 0x83, 0x80, 0x00, 0x00, 0x00, 0x00, 0x21, 0x00, 0x00, 0x00,
	};
	struct world *w = *state;
	const struct world_mad *m;
	struct world_ask ask;

	world_ask_parse(w, &ask,
			"H2 set create mgid=ff12:401b:ffff::16 js=1 scope=2 qkey=b1b "
			"~mlid=c026 mtu==4 rate==3");
	ask.mad.tid = 0x0002000000001001;
	ask.sa.comp_mask = 0x1b3f7;
	m = world_do(w, &ask);
	assert_non_null(m);
	assert_memory_equal(m->bytes, expected, sizeof(expected));
	assert_int_equal(m->packet.dlid, 2);
	assert_int_equal(m->packet.slid, 1);
	assert_int_equal(m->packet.dest_qp, 1);
	assert_int_equal(m->packet.qkey, IB_GSI_QKEY);
}

#define MEMBERS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		MEMBERS_TEST(a_join_is_answered_when_the_tables_are_set),
		MEMBERS_TEST(joins_that_arrive_together_share_orders),
		MEMBERS_TEST(what_changes_no_table_is_answered_at_once),
		MEMBERS_TEST(a_repeated_join_waits_for_the_first),
		MEMBERS_TEST(senders_do_not_receive),
		MEMBERS_TEST(a_create_that_cannot_be_routed_is_undone),
		MEMBERS_TEST(a_join_that_cannot_be_routed_leaves_the_rest),
		MEMBERS_TEST(who_joined_what_was_undone_is_told),
		MEMBERS_TEST(a_join_that_a_leave_falsifies_leaves_nothing),
		MEMBERS_TEST(a_refused_join_leaves_what_was_there),
		MEMBERS_TEST(a_refused_join_leaves_what_others_joined),
		MEMBERS_TEST(a_join_to_what_was_undone_leaves_nothing),
		MEMBERS_TEST(an_undone_join_leaves_the_group_that_began_anew),
		MEMBERS_TEST(a_leave_is_done_even_if_it_cannot_be_routed),
		MEMBERS_TEST(the_last_full_member_takes_the_group),
		MEMBERS_TEST(a_send_only_full_member_keeps_the_group),
		MEMBERS_TEST(what_remains_of_a_state_stays_while_others_are_full),
		MEMBERS_TEST(both_full_states_in_one_port_leak_nothing),
		MEMBERS_TEST(a_well_known_group_stays),
		MEMBERS_TEST(partitions_have_the_groups_they_name),
		MEMBERS_TEST(a_port_that_goes_leaves_its_groups),
		MEMBERS_TEST(a_waiting_join_survives_the_loss_of_its_port),
		MEMBERS_TEST(nothing_is_answered_while_the_sm_is_down),
		MEMBERS_TEST(a_standby_takes_over_what_was_saved),
		MEMBERS_TEST(bad_bytes_change_nothing),
		MEMBERS_TEST(assigned_mgids_carry_the_prefix_and_a_counter),
		MEMBERS_TEST(the_default_prefix_stands_for_the_subnets),
		MEMBERS_TEST(the_answer_to_a_join_is_as_measured),
	};

	return harness_run(tests);
}
