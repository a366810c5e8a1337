/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One port that takes whatever it can get, and another that needs little: the first comes
 * to an end, the second gets it, and what is given back may be taken again.
 */
#include "unit/fabric_sa/world.h"

#define GREEDY        2u
#define MODEST        3u
#define SUBSCRIPTIONS 1024u
#define SERVICES      32768u
#define TABLES        1100u
#define EVENTS        200u

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

/* -- subscriptions ------------------------------------------------------------------- */

/* Each `n` is another one, and all of them match the same. */
static int inform(struct world *w, unsigned int host, unsigned int n, bool subscribe)
{
	struct sa_inform_info info = { .lid_begin = 0,
				       .lid_end = (uint16_t)(0xffff - n),
				       .is_generic = 1,
				       .subscribe = subscribe,
				       .type = 0xffff,
				       .trap = TRAP_MGID_CREATED,
				       .qpn = 1,
				       .producer_type = 0xffffff };
	const struct world_mad *m = world_inform(w, host, 0, &info);

	return m ? m->mad.status : NO_ANSWER;
}

static void subscribe_to_the_end(struct world *w)
{
	for (unsigned int i = 0; i < SUBSCRIPTIONS; i++)
		assert_int_equal(inform(w, GREEDY, i, true), 0);
	assert_int_equal(inform(w, GREEDY, SUBSCRIPTIONS, true), SA_NO_RESOURCES);
}

static void subscriptions_come_to_an_end(void **state)
{
	struct world *w = *state;

	subscribe_to_the_end(w);
	assert_int_equal(inform(w, GREEDY, 7, true), 0); /* that one it has */
	assert_int_equal(inform(w, MODEST, 0, true), 0);
	assert_int_equal(inform(w, GREEDY, 7, false), 0);
	assert_int_equal(inform(w, GREEDY, SUBSCRIPTIONS, true), 0);
	assert_int_equal(inform(w, GREEDY, 7, true), SA_NO_RESOURCES);
	/* A port that has gone takes its own along. */
	sa_server_sm_ops.port_out(w->server, small_guid(GREEDY));
	subscribe_to_the_end(w);
}

static unsigned int reports_to(const struct world *w, unsigned int host)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < w->sent_count; i++)
		n += w->sent[i].mad.method == MAD_METHOD_REPORT &&
		     w->sent[i].packet.dlid == host;
	return n;
}

/* Nobody answers any report, and the greedy one is told first. */
static void who_is_told_too_much_keeps_no_report_from_others(void **state)
{
	struct world *w = *state;
	char text[64];

	subscribe_to_the_end(w);
	assert_int_equal(inform(w, MODEST, 0, true), 0);
	for (unsigned int i = 0; i < EVENTS; i++) {
		snprintf(text, sizeof(text), "H4 set create js=1 mgid=ff12::7:%x", i);
		world_assert(w, text, 0);
		assert_int_equal(reports_to(w, MODEST), 1);
	}
}

/* -- services ------------------------------------------------------------------------ */

static int service(struct world *w, unsigned int host, uint64_t id, const char *method)
{
	struct sa_service rec = { .id = id, .pkey = 0xffff, .lease = UINT32_MAX };
	const struct world_mad *m;
	struct world_ask ask;
	char text[32];

	snprintf(text, sizeof(text), "H%u %s attr=31", host, method);
	world_ask_parse(w, &ask, text);
	small_gid(&rec.gid, SMALL_PREFIX, small_guid(host));
	ask.raw = true;
	ask.sa.comp_mask = 3; /* identifier and GID */
	sa_service_put(ask.data, &rec);
	m = world_do(w, &ask);
	return m ? m->mad.status : NO_ANSWER;
}

static void services_come_to_an_end(void **state)
{
	struct world *w = *state;

	for (unsigned int i = 0; i < SERVICES; i++)
		assert_int_equal(service(w, GREEDY, i, "set"), 0);
	assert_int_equal(service(w, GREEDY, SERVICES, "set"), SA_NO_RESOURCES);
	assert_int_equal(service(w, MODEST, 0, "set"), 0);
	assert_int_equal(service(w, GREEDY, 7, "delete"), 0);
	assert_int_equal(service(w, GREEDY, SERVICES, "set"), 0);
}

/* -- transfers ----------------------------------------------------------------------- */

/* Many tables that nobody acknowledges, at each time that they are sent. */
static void who_acknowledges_nothing_keeps_no_table_from_others(void **state)
{
	struct world *w = *state;
	struct world_ask ask;

	world_assert(w, "H4 set create js=1 mgid=ff12::1", 0);
	w->sent_count = 0;
	for (unsigned int i = 0; i < TABLES; i++) {
		world_ask_parse(w, &ask, "H2 table");
		world_ask_send(w, &ask);
	}
	world_run(w, 0);
	assert_in_range(w->sent_count, 1, TABLES - 1);
	assert_int_equal(world_count(w, "H3 table"), 2);
	for (unsigned int i = 0; i < 60; i++) {
		w->sent_count = 0;
		world_run(w, 100 * TIMER_MS);
	}
	assert_int_equal(world_count(w, "H2 table"), 2);
}

#define SHARES_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SHARES_TEST(subscriptions_come_to_an_end),
		SHARES_TEST(who_is_told_too_much_keeps_no_report_from_others),
		SHARES_TEST(services_come_to_an_end),
		SHARES_TEST(who_acknowledges_nothing_keeps_no_table_from_others),
	};

	return harness_run(tests);
}
