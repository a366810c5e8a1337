/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * No step of an answer looks at more than a bound, however much there is to look at; and
 * what changes between two steps costs nobody his place in the answer.
 */
#include "unit/fabric_sa/world.h"

#define STEP_MOST   1200u /* a record, or a switch's, may be begun at the very end */
#define MANY_GROUPS 16000u
#define MANY_PORTS  8000u
#define MANY        3000u
#define SENDS_MOST  (RMPP_BURST + 1)

struct crowd {
	struct world *w;
	struct subnet_node *nodes;
	struct subnet_port *ports;
	unsigned int steps; /* of the last answer */
	unsigned int met;
};

static int setup(void **state)
{
	struct crowd *c = calloc(1, sizeof(*c));

	c->w = world_create(8);
	c->w->sm.capacity = 0x3fff;
	*state = c;
	return 0;
}

static int teardown(void **state)
{
	struct crowd *c = *state;

	world_destroy(c->w);
	free(c->nodes);
	free(c->ports);
	free(c);
	return 0;
}

static void add_ports(struct crowd *c)
{
	c->nodes = calloc(MANY_PORTS, sizeof(*c->nodes));
	c->ports = calloc(MANY_PORTS, 2 * sizeof(*c->ports));
	for (unsigned int i = 0; i < MANY_PORTS; i++) {
		struct subnet_port *port = &c->ports[2 * i + 1];

		small_add_node(&c->w->sm, &c->nodes[i], SMP_NODE_CA, 0x500000 + 2 * i,
			       &c->ports[2 * i], "many");
		*port = (struct subnet_port){ .node = &c->nodes[i], .num = 1 };
		small_link(port, (uint16_t)(1000 + i));
		small_add_port(&c->w->sm, port);
	}
}

static void add_groups(struct crowd *c, unsigned int count)
{
	struct world_ask ask;

	c->w->mute = true;
	for (unsigned int i = 0; i < count; i++) {
		world_ask_parse(c->w, &ask, "H2 set create js=1 mgid=ff12::1");
		ask.rec.mgid.raw[8] = (uint8_t)i;
		ask.rec.mgid.raw[9] = (uint8_t)(i >> 8);
		world_ask_send(c->w, &ask);
		world_run(c->w, 0);
	}
	c->w->mute = false;
	c->w->sent_count = 0;
}

static uint64_t looked_at(const struct crowd *c)
{
	struct sa_counters counters;

	sa_server_counters(c->w->server, &counters);
	return counters.looked_at;
}

/* One timer at a time. */
static void step(struct crowd *c)
{
	uint64_t before = looked_at(c);
	unsigned int sent = c->w->sent_count;

	timer_queue_run_some(&c->w->timers, c->w->timers.now_ns, 1);
	assert_in_range(looked_at(c) - before, 0, STEP_MOST);
	assert_in_range(c->w->sent_count - sent, 0, SENDS_MOST);
	c->steps++;
}

/* What has been sent, and what an acknowledgement makes be sent at once. */
static void take(struct crowd *c, struct world_table *t)
{
	static struct world_mad batch[WORLD_SENT_MAX];

	while (c->w->sent_count) {
		unsigned int count = c->w->sent_count;

		memcpy(batch, c->w->sent, count * sizeof(*batch));
		c->w->sent_count = 0;
		for (unsigned int i = 0; i < count; i++) {
			unsigned int sent = c->w->sent_count;

			if (batch[i].mad.tid != t->ask.mad.tid || batch[i].mad.status)
				continue;
			rmpp_receiver_receive(t->receiver, batch[i].bytes);
			assert_in_range(c->w->sent_count - sent, 0, SENDS_MOST);
		}
	}
}

/* The table, with `meanwhile` after each step. The caller ends it. */
static void get(struct crowd *c, const struct world_ask *ask, struct world_table *t,
		void (*meanwhile)(struct crowd *c))
{
	uint64_t before = looked_at(c);

	c->steps = 0;
	c->w->sent_count = 0;
	world_table_begin(c->w, t, ask);
	assert_in_range(looked_at(c) - before, 0, STEP_MOST);
	for (unsigned int i = 0; i < 100000 && !t->done; i++) {
		step(c);
		if (meanwhile)
			meanwhile(c);
		take(c, t);
	}
	assert_true(t->done);
	assert_int_equal(t->error, 0);
	world_run(c->w, 0);
}

static unsigned int count(struct crowd *c, const char *text)
{
	struct world_table t;
	struct world_ask ask;
	unsigned int found;

	world_ask_parse(c->w, &ask, text);
	get(c, &ask, &t, NULL);
	found = t.count;
	world_table_end(&t);
	return found;
}

static void all_groups(void **state)
{
	struct crowd *c = *state;

	add_groups(c, MANY_GROUPS);
	assert_int_equal(count(c, "H3 table"), MANY_GROUPS + 1);
	assert_true(c->steps > MANY_GROUPS / STEP_MOST);
	assert_int_equal(count(c, "H3 table key=1"), MANY_GROUPS);
	/* None of them matches, and that takes as many steps. */
	assert_int_equal(count(c, "H3 table qkey=99"), 0);
	assert_true(c->steps > MANY_GROUPS / STEP_MOST);
}

static void one_record_of_many(void **state)
{
	struct crowd *c = *state;
	struct world_ask ask;
	const struct world_mad *m;

	add_groups(c, MANY_GROUPS);
	world_assert(c->w, "H4 set create js=1 mgid=ff15::9 qkey=77", 0);
	c->w->sent_count = 0;
	world_ask_parse(c->w, &ask, "H3 get qkey=77");
	world_ask_send(c->w, &ask);
	assert_null(world_answer(c->w, &ask)); /* not in the first step */
	for (unsigned int i = 0; i < MANY_GROUPS && !world_answer(c->w, &ask); i++)
		step(c);
	m = world_answer(c->w, &ask);
	assert_non_null(m);
	assert_int_equal(m->mad.status, 0);
	world_assert(c->w, "H3 get", SA_TOO_MANY_RECORDS);
}

static void join_all_ports(struct crowd *c)
{
	struct world_ask ask;

	c->w->mute = true;
	for (unsigned int i = 0; i < MANY_PORTS; i++) {
		world_ask_parse(c->w, &ask, "H2 set create js=1 mgid=ff12::1");
		small_gid(&ask.rec.port_gid, SMALL_PREFIX, 0x500001 + 2 * i);
		world_ask_send(c->w, &ask);
		world_run(c->w, 0);
	}
	c->w->mute = false;
	c->w->sent_count = 0;
}

static void all_members_of_a_group(void **state)
{
	struct crowd *c = *state;

	add_ports(c);
	join_all_ports(c);
	assert_int_equal(count(c, "H3 table key=1"), MANY_PORTS);
	assert_true(c->steps > MANY_PORTS / STEP_MOST);
	assert_int_equal(count(c, "H3 table key=1 mgid=ff12::1"), MANY_PORTS);
	assert_true(c->steps > MANY_PORTS / STEP_MOST);
}

static void leave_one(struct crowd *c, unsigned int i)
{
	struct world_ask ask;
	unsigned int sent = c->w->sent_count;

	world_ask_parse(c->w, &ask, "H2 delete join js=1 mgid=ff12::1");
	small_gid(&ask.rec.port_gid, SMALL_PREFIX, 0x500001 + 2 * i);
	world_ask_send(c->w, &ask);
	c->w->sent_count = sent;
}

/* Odd ones go, from both ends; the even ones stay. */
static void some_leave(struct crowd *c)
{
	if (c->met >= MANY_PORTS / 4)
		return;
	leave_one(c, 2 * c->met + 1);
	leave_one(c, MANY_PORTS - 1 - 2 * c->met);
	c->met++;
}

static void who_stays_is_in_the_answer(void **state)
{
	struct crowd *c = *state;
	bool *seen = calloc(MANY_PORTS, 1);
	struct world_table t;
	struct world_ask ask;

	add_ports(c);
	join_all_ports(c);
	world_ask_parse(c->w, &ask, "H3 table key=1");
	get(c, &ask, &t, some_leave);
	assert_true(c->met > 5);
	for (unsigned int i = 0; i < t.count; i++) {
		struct sa_mcmember rec;

		sa_mcmember_get(t.records + i * t.stride, &rec);
		seen[((rec.port_gid.raw[13] << 16 | rec.port_gid.raw[14] << 8 |
		       rec.port_gid.raw[15]) -
		      0x500001) /
		     2] = true;
	}
	for (unsigned int i = 0; i < MANY_PORTS; i += 2)
		assert_true(seen[i]);
	world_table_end(&t);
	free(seen);
}

static void all_nodes_ports_and_paths(void **state)
{
	struct crowd *c = *state;
	unsigned int ends = MANY_PORTS + 8 + 1;

	add_ports(c);
	assert_int_equal(count(c, "H3 table attr=11"), ends);
	assert_true(c->steps > ends / STEP_MOST);
	assert_true(count(c, "H3 table attr=12") >= ends);
	assert_true(count(c, "H3 table attr=33 key=1") >= ends); /* P_Key tables */
	/* From one port to all: its GID is where an MCMemberRecord has no field. */
	{
		struct world_ask ask;
		struct world_table t;
		struct sa_path path = { 0 };

		world_ask_parse(c->w, &ask, "H3 table attr=35");
		small_gid(&path.sgid, SMALL_PREFIX, small_guid(3));
		ask.sa.comp_mask = SA_PR_SGID;
		ask.raw = true;
		sa_path_put(ask.data, &path);
		get(c, &ask, &t, NULL);
		assert_int_equal(t.count, ends);
		assert_true(c->steps > ends / STEP_MOST);
		world_table_end(&t);
	}
}

static void all_paths(void **state)
{
	struct crowd *c = *state;

	assert_int_equal(count(c, "H3 table attr=35"), 9 * 9);
	assert_int_equal(count(c, "H3 table attr=35"), 9 * 9);
}

#define LMC  5u
#define LIDS (1u << LMC)

static void expect_paths(struct crowd *c, struct world_ask *ask, unsigned int paths)
{
	struct world_table t;

	ask->raw = true;
	get(c, ask, &t, NULL);
	assert_int_equal(t.count, paths);
	assert_true(c->steps > paths / STEP_MOST);
	world_table_end(&t);
}

/* Of two ports there may be many, too. */
static void paths_by_each_lid(void **state)
{
	struct sa_multi_path multi = { .sgid_count = 2, .dgid_count = 3 };
	struct crowd *c = *state;
	struct sa_path path = { 0 };
	struct world_ask ask;

	small_set_lmc(&c->w->sm, LMC);
	world_ask_parse(c->w, &ask, "H96 table attr=35");
	small_gid(&path.sgid, SMALL_PREFIX, small_guid(3));
	small_gid(&path.dgid, SMALL_PREFIX, small_guid(5));
	sa_path_put(ask.data, &path);
	ask.sa.comp_mask = SA_PR_SGID | SA_PR_DGID;
	expect_paths(c, &ask, LIDS * LIDS);
	/* To eight hosts and the switch. */
	ask.mad.tid++;
	ask.sa.comp_mask = SA_PR_SGID;
	expect_paths(c, &ask, LIDS * (8 * LIDS + 1));
	world_ask_parse(c->w, &ask, "H96 multi attr=3a");
	for (unsigned int i = 0; i < 5; i++)
		small_gid(&multi.gids[i], SMALL_PREFIX, small_guid(1 + i));
	sa_multi_path_put(ask.data, &multi);
	ask.sa.comp_mask = SA_MPR_SGID_COUNT | SA_MPR_DGID_COUNT;
	expect_paths(c, &ask, 6 * LIDS * LIDS);
}

static void offer(struct crowd *c, unsigned int i, const char *how)
{
	struct sa_service rec = { .id = i, .pkey = 0xffff, .lease = UINT32_MAX };
	struct world_ask ask;
	unsigned int sent = c->w->sent_count;

	world_ask_parse(c->w, &ask, how);
	ask.mad.attr_id = SA_SERVICE_RECORD;
	ask.sa.comp_mask = 7;
	ask.raw = true;
	small_gid(&rec.gid, SMALL_PREFIX, small_guid(2));
	sa_service_put(ask.data, &rec);
	world_ask_send(c->w, &ask);
	c->w->sent_count = sent;
}

/* From the end, up to the very one that comes next. */
static void some_are_withdrawn(struct crowd *c)
{
	for (unsigned int i = 0; i < 100 && c->met < MANY / 2; i++)
		offer(c, 2 * (MANY / 2 - ++c->met) + 1, "H2 delete");
}

static void all_services(void **state)
{
	struct crowd *c = *state;
	struct world_table t;
	struct world_ask ask;
	unsigned int even = 0;

	for (unsigned int i = 0; i < MANY; i++)
		offer(c, i, "H2 set");
	assert_int_equal(count(c, "H3 table attr=31"), MANY);
	assert_true(c->steps > MANY / STEP_MOST);
	world_ask_parse(c->w, &ask, "H3 table attr=31");
	get(c, &ask, &t, some_are_withdrawn);
	for (unsigned int i = 0; i < t.count; i++) {
		struct sa_service rec;

		sa_service_get(t.records + i * t.stride, &rec);
		even += rec.id % 2 == 0;
	}
	assert_int_equal(even, MANY / 2);
	assert_true(t.count < MANY);
	world_table_end(&t);
	/* All go while one is being told of, and the server with it. */
	world_ask_parse(c->w, &ask, "H3 table attr=31");
	world_ask_send(c->w, &ask);
	for (unsigned int i = 0; i < MANY; i++)
		offer(c, i, "H2 delete");
	world_run(c->w, 0);
	assert_int_equal(count(c, "H3 table attr=31"), 0);
}

/* From four ports, since one may not have so many. */
static void subscribe(struct crowd *c, unsigned int i)
{
	struct sa_inform_info info = inform_all_of((uint16_t)(1000 + i));

	assert_int_equal(world_inform(c->w, 2 + i % 4, 1, &info)->mad.status, 0);
}

static void port_goes(struct crowd *c)
{
	if (c->met++ == 1)
		sa_server_sm_ops.port_out(c->w->server, small_guid(2));
}

static void all_subscriptions(void **state)
{
	struct crowd *c = *state;
	struct world_table t;
	struct world_ask ask;

	for (unsigned int i = 0; i < MANY; i++)
		subscribe(c, i);
	assert_int_equal(count(c, "H3 table attr=f3"), MANY);
	assert_true(c->steps > MANY / STEP_MOST);
	world_ask_parse(c->w, &ask, "H3 table attr=f3");
	get(c, &ask, &t, port_goes);
	assert_in_range(t.count, 1, MANY - 1);
	world_table_end(&t);
}

/* Who asks gives up, or the SM goes, while the answer is made. */
static void an_answer_that_nobody_waits_for(void **state)
{
	struct crowd *c = *state;
	struct sa_counters counters;
	struct world_ask ask;
	uint64_t before;

	add_groups(c, MANY_GROUPS);
	world_ask_parse(c->w, &ask, "H3 table");
	world_ask_send(c->w, &ask);
	ask.rmpp = (struct rmpp_header){ .version = 1,
					 .type = RMPP_STOP,
					 .flags = RMPP_ACTIVE,
					 .status = RMPP_STATUS_RESX };
	world_ask_send(c->w, &ask);
	before = looked_at(c);
	world_run(c->w, 10000 * TIMER_MS);
	assert_int_equal(looked_at(c), before);
	ask.rmpp = (struct rmpp_header){ 0 };
	world_ask_send(c->w, &ask);
	world_ask_send(c->w, &ask);
	sa_server_counters(c->w->server, &counters);
	assert_int_equal(counters.dropped_repeated, 1);
	sa_server_sm_ops.down(c->w->server);
	before = looked_at(c);
	world_run(c->w, 10000 * TIMER_MS);
	assert_int_equal(looked_at(c), before);
	assert_int_equal(c->w->sent_count, 0);
}

#define STEPS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STEPS_TEST(all_groups),
		STEPS_TEST(one_record_of_many),
		STEPS_TEST(all_members_of_a_group),
		STEPS_TEST(who_stays_is_in_the_answer),
		STEPS_TEST(all_nodes_ports_and_paths),
		STEPS_TEST(all_paths),
		STEPS_TEST(paths_by_each_lid),
		STEPS_TEST(all_services),
		STEPS_TEST(all_subscriptions),
		STEPS_TEST(an_answer_that_nobody_waits_for),
	};

	return harness_run(tests);
}
