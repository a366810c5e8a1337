/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Get and GetTable of MCMemberRecord: who sees what (spec/sa-sm 1.5), and tables by RMPP
 * (1.2).
 */
#include "unit/fabric_sa/world.h"

#define TRANSFERS 300u

static int setup(void **state)
{
	struct world *w = world_create(8);

	world_assert(w, "H2 set create js=1 mgid=ff12::1 mtu==3 rate==2 scope=2", 0);
	world_assert(w, "H3 set join js=6 mgid=ff12::1", 0);
	world_assert(w, "H4 set join js=1 port=H5 mgid=ff12::1", 0);
	world_assert(w,
		     "H2 set create js=9 mgid=ff15::2 qkey=77 tclass=1 sl=2 flow=3 hop=4",
		     0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	world_destroy(*state);
	return 0;
}

static void the_untrusted_see_groups(void **state)
{
	struct world *w = *state;
	static const union ib_gid none;
	struct sa_mcmember rec = world_record(w, "H6 get mgid=ff12::1");

	assert_memory_equal(&rec.port_gid, &none, sizeof(none));
	assert_int_equal(rec.join_state, 0);
	assert_int_equal(rec.proxy_join, 0);
	assert_int_equal(rec.scope, 2);
	assert_int_equal(rec.mlid, 0xc001);
	assert_int_equal(world_count(w, "H6 table"), 3);
	/* Naming a port is allowed, and tells whether it is a member. */
	assert_int_equal(world_count(w, "H6 table port=H3"), 1);
	rec = world_record(w, "H6 get port=H3");
	assert_memory_equal(&rec.port_gid, &none, sizeof(none));
	world_assert(w, "H6 get port=H6", SA_NO_RECORDS);
}

static void the_trusted_see_members(void **state)
{
	struct world *w = *state;
	struct sa_mcmember rec;
	union ib_gid gid;

	/* The broadcast group has none and vanishes. */
	assert_int_equal(world_count(w, "H6 table key=1"), 4);
	assert_int_equal(world_count(w, "H6 table key=1 mgid=ff12::1"), 3);
	rec = world_record(w, "H6 get key=1 port=H5");
	small_gid(&gid, SMALL_PREFIX, small_guid(5));
	assert_memory_equal(&rec.port_gid, &gid, sizeof(gid));
	assert_int_equal(rec.join_state, 1);
	assert_int_equal(rec.proxy_join, 1);
	world_assert(w, "H6 get key=1 port=H2", SA_TOO_MANY_RECORDS);
	assert_int_equal(world_record(w, "H6 get key=1 port=H3").join_state, 6);
}

static void components_filter(void **state)
{
	struct world *w = *state;

	assert_int_equal(world_count(w, "H6 table mlid=c002"), 1);
	assert_int_equal(world_count(w, "H6 table qkey=77"), 1);
	assert_int_equal(world_count(w, "H6 table pkey=ffff"), 3);
	assert_int_equal(world_count(w, "H6 table tclass=1"), 1);
	assert_int_equal(world_count(w, "H6 table sl=2"), 1);
	assert_int_equal(world_count(w, "H6 table flow=3"), 1);
	assert_int_equal(world_count(w, "H6 table hop=4"), 1);
	assert_int_equal(world_count(w, "H6 table scope=2"), 2);
	assert_int_equal(world_count(w, "H6 table mtu==3"), 1);
	assert_int_equal(world_count(w, "H6 table mtu=>3"), 2);
	assert_int_equal(world_count(w, "H6 table rate=<3"), 1);
	assert_int_equal(world_count(w, "H6 table rate=*3"), 3);
	assert_int_equal(world_count(w, "H6 table life=1 lifesel=2"), 3);
	/* All four bits, of the creating request, which the partition's group has as if it
	 * had one; of each member for the trusted. */
	assert_int_equal(world_count(w, "H6 table js=1"), 2);
	assert_int_equal(world_count(w, "H6 table js=9"), 1);
	assert_int_equal(world_count(w, "H6 table js=8"), 0);
	assert_int_equal(world_count(w, "H6 table js=6 port=H3"), 1);
	assert_int_equal(world_count(w, "H6 table key=1 js=1"), 2);
	assert_int_equal(world_count(w, "H6 table key=1 proxy=1"), 1);
	assert_int_equal(world_count(w, "H6 table key=1 proxy=0"), 3);
}

static void a_stranger_hears_nothing(void **state)
{
	struct world *w = *state;
	struct sa_counters counters;

	world_assert(w, "H9 get mgid=ff12::1", NO_ANSWER);
	world_assert(w, "H9 set create js=1 port=H2 mgid=ff12::7", NO_ANSWER);
	/* What fails before he is looked at is answered, as by OpenSM. */
	world_assert(w, "H9 set create js=1 port=H2 mgid=ff12::7 -js",
		     SA_INSUFFICIENT_COMPONENTS);
	sa_server_counters(w->server, &counters);
	assert_int_equal(counters.dropped_stranger, 2);
}

static void an_empty_table_is_one_segment(void **state)
{
	struct world *w = *state;
	struct world_table t;
	struct world_ask ask;

	world_ask_parse(w, &ask, "H6 table mgid=ff12::99");
	world_table_get(w, &t, &ask);
	assert_int_equal(t.count, 0);
	assert_int_equal(t.sa.attr_offset, 0);
	assert_int_equal(w->sent_count, 1);
	assert_int_equal(w->sent[0].bytes[26] & 7, RMPP_ACTIVE | RMPP_FIRST | RMPP_LAST);
	world_table_end(&t);
}

static void a_long_table_arrives_whole(void **state)
{
	struct world *w = *state;
	struct world_table t;
	struct world_ask ask;
	struct sa_mcmember rec;
	char text[64];

	for (unsigned int i = 0; i < 500; i++) {
		snprintf(text, sizeof(text), "H2 set create js=1 mgid=ff12::7:%x", i);
		world_assert(w, text, 0);
	}
	world_ask_parse(w, &ask, "H6 table");
	world_table_get(w, &t, &ask);
	assert_int_equal(t.count, 503);
	assert_int_equal(t.sa.attr_offset, 7);
	assert_int_equal(t.sa.sm_key, 0);
	for (unsigned int i = 0; i < t.count; i++) {
		sa_mcmember_get(t.records + i * t.stride, &rec);
		assert_int_equal(rec.mlid, 0xc000 + i);
		assert_int_equal(t.records[i * t.stride + SA_MCMEMBER_BYTES], 0);
	}
	world_table_end(&t);
}

static void many_tables_are_sent_at_once(void **state)
{
	struct world *w = *state;
	struct world_table *tables = calloc(TRANSFERS, sizeof(*tables));
	struct sa_counters counters;
	struct world_ask ask;

	w->sent_count = 0;
	for (unsigned int i = 0; i < TRANSFERS; i++) {
		world_ask_parse(w, &ask, i % 2 ? "H6 table" : "H7 table key=1");
		world_table_begin(w, &tables[i], &ask);
	}
	for (unsigned int round = 0; round < 4; round++) {
		world_run(w, 0);
		for (unsigned int i = 0; i < TRANSFERS; i++)
			world_table_step(&tables[i]);
	}
	world_run(w, 0);
	for (unsigned int i = 0; i < TRANSFERS; i++) {
		assert_true(tables[i].done);
		assert_int_equal(tables[i].count, i % 2 ? 3 : 4);
		world_table_end(&tables[i]);
	}
	sa_server_counters(w->server, &counters);
	assert_int_equal(counters.rmpp_transfers, TRANSFERS);
	free(tables);
}

/* A client that never acknowledges costs a bounded time and nobody else anything. */
static void a_silent_receiver_is_given_up(void **state)
{
	struct world *w = *state;
	struct world_ask ask;

	for (unsigned int i = 0; i < 1100; i++) {
		world_ask_parse(w, &ask, "H6 table");
		world_ask_send(w, &ask);
	}
	w->sent_count = 0;
	world_ask_parse(w, &ask, "H6 table");
	world_ask_send(w, &ask);
	assert_int_equal(w->sent_count, 0); /* too many at once: ask again */
	world_assert(w, "H6 get mgid=ff12::1", 0);
	for (unsigned int i = 0; i < 60; i++) {
		w->sent_count = 0;
		world_run(w, 100 * TIMER_MS);
	}
	assert_int_equal(world_count(w, "H6 table"), 3);
}

/* What transfers may hold together is given back by each: 256 MB of 64 kB go past. */
static void stopped_transfers_hold_nothing(void **state)
{
	struct world *w = *state;
	struct sa_counters counters;
	struct world_ask ask;
	char text[64];

	for (unsigned int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "H2 set create js=1 mgid=ff12::7:%x", i);
		world_assert(w, text, 0);
	}
	w->mute = true;
	for (unsigned int i = 0; i < 4200; i++) {
		w->sent_count = 0;
		world_ask_parse(w, &ask, "H6 table");
		world_ask_send(w, &ask);
		while (!w->sent_count) /* it is made in steps */
			world_run(w, 0);
		ask.rmpp = (struct rmpp_header){ .version = 1,
						 .type = RMPP_STOP,
						 .flags = RMPP_ACTIVE,
						 .status = RMPP_STATUS_RESX };
		world_ask_send(w, &ask);
		world_run(w, 0);
	}
	sa_server_counters(w->server, &counters);
	assert_int_equal(counters.rmpp_transfers, 4200);
	assert_int_equal(counters.dropped_full, 0);
}

#define QUERIES_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		QUERIES_TEST(the_untrusted_see_groups),
		QUERIES_TEST(the_trusted_see_members),
		QUERIES_TEST(components_filter),
		QUERIES_TEST(a_stranger_hears_nothing),
		QUERIES_TEST(an_empty_table_is_one_segment),
		QUERIES_TEST(a_long_table_arrives_whole),
		QUERIES_TEST(many_tables_are_sent_at_once),
		QUERIES_TEST(a_silent_receiver_is_given_up),
		QUERIES_TEST(stopped_transfers_hold_nothing),
	};

	return harness_run(tests);
}
