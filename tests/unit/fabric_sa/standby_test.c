/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two and more SMs with their SAs over switches, in virtual time: a standby has what the
 * master has, and takes over without anybody's noticing.
 */
// uses: fabric_net
#include "stations.h"

/* -- who is what ---------------------------------------------------------------------- */

static bool is_standby(struct world *w, unsigned int n)
{
	return w->stations[n].sm && sm_state(w->stations[n].sm) == SM_STANDBY;
}

static bool is_up(struct world *w, unsigned int n)
{
	return w->stations[n].sm && sm_is_up(w->stations[n].sm);
}

static uint64_t guid_of(const struct fabric_port *port)
{
	struct fabric_port_info info;

	fabric_port_info(port, &info);
	return info.port_guid;
}

/* Its SA has all that the master's has. */
static bool is_fed(struct world *w, unsigned int n, unsigned int master)
{
	return sa_server_sm_ops.is_followed(w->stations[master].sa,
					    guid_of(w->stations[n].port));
}

static bool same(struct world *w, unsigned int a, unsigned int b)
{
	uint8_t *x, *y;
	size_t m, n;
	bool equal;

	assert_int_equal(sa_server_save(w->stations[a].sa, &x, &m), 0);
	assert_int_equal(sa_server_save(w->stations[b].sa, &y, &n), 0);
	equal = m == n && memcmp(x, y, n) == 0;
	free(x);
	free(y);
	return equal;
}

/* -- clients -------------------------------------------------------------------------- */

#define each_client(h, w)                                \
	for (struct host *h = &(w)->hosts[FIRST_CLIENT]; \
	     h < &(w)->hosts[(w)->host_count]; h++)

static bool all_answered(struct world *w)
{
	each_client(h, w) if (h->tid) return false;
	return true;
}

static void join_all(struct world *w, uint8_t group)
{
	each_client(h, w) host_join(h, group);
	until(w, all_answered(w), 5 * SECOND);
	each_client(h, w) assert_int_equal(h->status, 0);
}

static void note_resets(struct world *w)
{
	each_client(h, w) h->noted = h->resets;
}

static void expect_no_resets(struct world *w)
{
	each_client(h, w) if (h->resets != h->noted)
		fail_msg("host %u was told to register anew", number(h));
}

struct membership {
	uint64_t guid;
	uint8_t group;
	bool found;
};

static void look_at_member(void *arg, const struct sa_group_view *group,
			   const struct sa_member_view *member)
{
	struct membership *m = arg;
	uint64_t guid = 0;

	for (unsigned int i = 8; i < 16; i++)
		guid = guid << 8 | member->port_gid.raw[i];
	m->found |= guid == m->guid && group->rec.mgid.raw[15] == m->group;
}

static void expect_member(struct world *w, unsigned int n, const struct host *h)
{
	struct membership m = { .guid = guid_of(h->port), .group = h->group };

	sa_server_each_group(w->stations[n].sa, NULL, look_at_member, &m);
	if (!m.found)
		fail_msg("host %u is no member of group %u", number(h), h->group);
}

/* -- two halves ------------------------------------------------------------------------ */

/* Hosts of even number, beginning with 0, behind one switch, the others behind the other. */
static struct world *halves(void)
{
	char text[2048] = "";
	struct topology *t;
	size_t at = 0;

	for (unsigned int i = 0; i < FIRST_CLIENT + 8; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       "Hca 1 \"h%u\"\n[1] \"s%u\"[%u]\n\n", i, i % 2,
				       1 + i / 2);
	snprintf(text + at, sizeof(text) - at,
		 "Switch 8 \"s0\"\n[8] \"s1\"[8]\n\nSwitch 8 \"s1\"\n\n");
	assert_int_equal(topology_parse(text, strlen(text), &t, NULL, 0), 0);
	return world_create(t, 7);
}

static unsigned int half_of(const struct host *h)
{
	return number(h) % 2;
}

static void cut(struct world *w, bool apart)
{
	assert_int_equal(fabric_link_set(w->fabric, "s0", 8, !apart), 0);
}

static void join_in_half(struct world *w, unsigned int half, uint8_t group)
{
	each_client(h, w) if (half_of(h) == half) host_join(h, group);
	until(w, all_answered(w), SECOND);
	each_client(h, w) if (half_of(h) == half) assert_int_equal(h->status, 0);
}

/* -- tests ----------------------------------------------------------------------------- */

/* All of them are reached as before, at every moment. */
static void watch(struct world *w, uint64_t ns, uint16_t mlid)
{
	uint64_t end = w->timers.now_ns + ns;

	while (step(w, end))
		expect_group(w, mlid);
}

static void a_standby_has_what_the_master_has(void **state)
{
	struct world *w = two_level(3, 4);

	join_all(w, 1);
	station_start(w, 1, 0);
	until(w, is_standby(w, 1), SECOND);
	/* What was there before, */
	until(w, same(w, 0, 1), SECOND);
	assert_int_equal(count(w, 1).members, w->clients);
	/* and what comes, as soon as it is answered. */
	for (unsigned int i = 0; i < 20; i++) {
		struct host *h = &w->hosts[FIRST_CLIENT + i % w->clients];

		if (h->member)
			host_leave(h, 1);
		else
			host_join(h, 1);
		until(w, h->status >= 0, SECOND);
		assert_int_equal(h->status, 0);
		assert_true(same(w, 0, 1));
	}
	world_destroy(w);
}

static void nobody_notices_a_takeover(void **state)
{
	static const unsigned int steps[] = { 0, 1, 40, 200, 1000 };

	for (unsigned int i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct world *w = two_level(3, 4);
		uint64_t killed;
		uint16_t mlid;

		station_start(w, 1, 0);
		until(w, is_standby(w, 1), SECOND);
		run(w, SECOND);
		join_all(w, 1);
		mlid = w->hosts[FIRST_CLIENT].mlid;
		for (unsigned int k = 0; k < steps[i]; k++)
			step(w, w->timers.now_ns + SECOND);
		note_resets(w);
		station_kill(w, 0);
		killed = w->timers.now_ns;
		while (!is_up(w, 1)) {
			assert_true(step(w, killed + SECOND));
			expect_group(w, mlid);
		}
		expect_no_resets(w);
		assert_int_equal(count(w, 1).members, w->clients);
		assert_int_equal(count(w, 1).groups, 2);
		/* Joins are answered again, under the MLID that is known. */
		host_leave(&w->hosts[FIRST_CLIENT], 1);
		until(w, w->hosts[FIRST_CLIENT].status == 0, SECOND);
		host_join(&w->hosts[FIRST_CLIENT], 1);
		until(w, w->hosts[FIRST_CLIENT].status == 0, SECOND);
		assert_int_equal(w->hosts[FIRST_CLIENT].mlid, mlid);
		watch(w, 20 * SECOND, mlid);
		expect_no_resets(w);
		world_destroy(w);
	}
}

/* Killed and started again before anybody has missed it: it knows nothing any more, and
 * the others do. */
static void a_master_that_is_back_at_once_has_forgotten(void **state)
{
	for (unsigned int n = 0; n < 24; n++) {
		unsigned int standbys = 1 + n % 2;
		uint64_t gone_ns = n / 2 * 45 * TIMER_MS;
		struct world *w = two_level(3, 4);
		uint64_t began;

		for (unsigned int k = 1; k <= standbys; k++)
			station_start(w, k, 0);
		for (unsigned int k = 1; k <= standbys; k++)
			until(w, is_standby(w, k) && is_fed(w, k, 0), 5 * SECOND);
		join_all(w, 1);
		run(w, SECOND);
		note_resets(w);
		station_kill(w, 0);
		run(w, gone_ns);
		began = w->timers.now_ns;
		station_start(w, 0, 0);
		while (!is_up(w, 0) && !is_up(w, 1) && !is_up(w, 2)) {
			assert_true(step(w, began + SECOND));
			expect_group(w, w->hosts[FIRST_CLIENT].mlid);
		}
		until(w, is_up(w, 0) && is_standby(w, 1), 5 * SECOND);
		run(w, 12 * SECOND);
		expect_group(w, w->hosts[FIRST_CLIENT].mlid);
		expect_no_resets(w);
		assert_int_equal(count(w, 0).members, w->clients);
		world_destroy(w);
	}
}

/* The answer was lost, and who asks again asks another. */
static void a_choice_outlives_its_master(void **state)
{
	struct world *w = two_level(3, 4);
	struct host *h = &w->hosts[FIRST_CLIENT];
	struct mad_header mad;
	uint16_t mlid;

	station_start(w, 1, 0);
	until(w, is_standby(w, 1), SECOND);
	until(w, is_fed(w, 1, 0), 5 * SECOND);
	host_join(h, 0);
	until(w, h->status == 0, SECOND);
	mlid = h->mlid;
	station_kill(w, 0);
	until(w, is_up(w, 1), 5 * SECOND);
	mad_header_get(h->request, &mad);
	h->tid = mad.tid;
	h->status = -1;
	host_retry(&h->retry);
	until(w, h->status == 0, SECOND);
	assert_int_equal(h->mlid, mlid);
	assert_int_equal(count(w, 1).groups, 2); /* the broadcast group, and this */
	host_join(h, 0);
	until(w, h->status == 0, SECOND);
	assert_int_not_equal(h->mlid, mlid);
	world_destroy(w);
}

/* However it dies. */
static void a_master_may_die_in_other_ways(void **state)
{
	for (unsigned int way = 0; way < 3; way++) {
		struct world *w = two_level(3, 4);
		struct fabric_port_info info;
		uint64_t began;

		station_start(w, 1, 0);
		until(w, is_standby(w, 1), SECOND);
		join_all(w, 1);
		run(w, SECOND);
		note_resets(w);
		fabric_port_info(w->stations[0].port, &info);
		began = w->timers.now_ns;
		if (way == 0)
			fabric_link_set(w->fabric, info.node, 1, false);
		else if (way == 1)
			fabric_power_set(w->fabric, info.node, false);
		else
			w->stations[0].deaf = true; /* and its port still says IsSM */
		until(w, is_up(w, 1), 5 * SECOND);
		assert_true(w->timers.now_ns - began < SECOND);
		assert_int_equal(count(w, 1).members, w->clients);
		expect_no_resets(w);
		expect_group(w, w->hosts[FIRST_CLIENT].mlid);
		world_destroy(w);
	}
}

/* In every moment of a storm of joins: who was answered is in. */
static void who_was_answered_is_in(void **state)
{
	unsigned int seeds = harness_count(20, 500);

	for (unsigned int seed = 1; seed <= seeds; seed++) {
		struct world *w = two_level_seeded(3, 4, seed);
		struct fabric_trouble trouble = { .loss = seed % 3 ? 0 : 2000 };
		unsigned int steps = (unsigned int)random_below(&w->random, 400);

		station_start(w, 1, 0);
		until(w, is_standby(w, 1) && is_fed(w, 1, 0), 5 * SECOND);
		fabric_trouble_set(w->fabric, &trouble);
		each_client(h, w) host_join(h, (uint8_t)(1 + number(h) % 3));
		while (steps--)
			step(w, w->timers.now_ns + SECOND);
		note_resets(w);
		station_kill(w, 0);
		fabric_trouble_set(w->fabric, &(struct fabric_trouble){ 0 });
		until(w, is_up(w, 1), 2 * SECOND);
		each_client(h, w) if (h->status == 0) expect_member(w, 1, h);
		expect_no_resets(w);
		/* The others go on asking, and are answered. */
		until(w, all_answered(w), 5 * SECOND);
		assert_int_equal(count(w, 1).members, w->clients);
		each_client(h, w) expect_member(w, 1, h);
		world_destroy(w);
	}
}

/* A port that was reset while nobody was master is no member any more, and hears of it. */
static void who_was_reset_meanwhile_is_told(void **state)
{
	struct world *w = two_level(3, 4);
	struct host *h = &w->hosts[FIRST_CLIENT + 2];
	struct fabric_port_info info;

	station_start(w, 1, 0);
	until(w, is_standby(w, 1), SECOND);
	join_all(w, 1);
	run(w, SECOND);
	note_resets(w);
	station_kill(w, 0);
	fabric_port_info(h->port, &info);
	fabric_link_set(w->fabric, info.node, 1, false);
	fabric_link_set(w->fabric, info.node, 1, true);
	h->member = false;
	until(w, is_up(w, 1), SECOND);
	run(w, SECOND);
	assert_int_equal(h->resets, h->noted + 1);
	h->resets = h->noted;
	expect_no_resets(w);
	assert_int_equal(count(w, 1).members, w->clients - 1);
	expect_group(w, w->hosts[FIRST_CLIENT].mlid);
	world_destroy(w);
}

/* The greater one comes back, is given all, and takes over again; and so on. */
static void mastership_goes_to_and_fro(void **state)
{
	unsigned int rounds = harness_count(4, 50);
	struct world *w = two_level(3, 4);
	uint16_t mlid;

	station_kill(w, 0);
	station_start(w, 0, 5);
	until(w, is_up(w, 0), SECOND);
	station_start(w, 1, 0);
	until(w, is_standby(w, 1), SECOND);
	join_all(w, 1);
	mlid = w->hosts[FIRST_CLIENT].mlid;
	run(w, SECOND);
	note_resets(w);
	for (unsigned int i = 0; i < rounds; i++) {
		station_kill(w, 0);
		until(w, is_up(w, 1), SECOND);
		/* What happens meanwhile is not lost, either. */
		host_leave(&w->hosts[FIRST_CLIENT], 1);
		until(w, w->hosts[FIRST_CLIENT].status == 0, SECOND);
		host_join(&w->hosts[FIRST_CLIENT], 1);
		until(w, w->hosts[FIRST_CLIENT].status == 0, SECOND);
		station_start(w, 0, 5);
		until(w, is_up(w, 0) && is_standby(w, 1), 5 * SECOND);
		watch(w, SECOND, mlid);
		assert_int_equal(count(w, 0).members, w->clients);
		until(w, same(w, 0, 1), SECOND);
		expect_no_resets(w);
	}
	world_destroy(w);
}

/* A third one follows the second when that is master. */
static void there_may_be_three(void **state)
{
	struct world *w = two_level(3, 4);

	station_start(w, 1, 0);
	station_start(w, 2, 0);
	until(w, is_standby(w, 1) && is_standby(w, 2), SECOND);
	join_all(w, 1);
	run(w, SECOND);
	note_resets(w);
	station_kill(w, 0);
	until(w, is_up(w, 1) || is_up(w, 2), SECOND);
	run(w, 2 * SECOND);
	assert_true(is_standby(w, 1) || is_standby(w, 2));
	assert_true(same(w, 1, 2));
	station_kill(w, is_up(w, 1) ? 1 : 2);
	until(w, is_up(w, 1) || is_up(w, 2), SECOND);
	expect_no_resets(w);
	expect_group(w, w->hosts[FIRST_CLIENT].mlid);
	world_destroy(w);
}

/* What a standby has that has heard nothing for long does not count: all join again. */
static void yesterdays_groups_do_not_count(void **state)
{
	struct world *w = two_level(3, 4);

	station_start(w, 1, 0);
	until(w, is_standby(w, 1), SECOND);
	run(w, SECOND);
	w->alone = true;
	join_all(w, 1);
	run(w, 3 * SECOND);
	note_resets(w);
	station_kill(w, 0);
	until(w, is_up(w, 1), SECOND);
	run(w, SECOND);
	assert_int_equal(count(w, 1).members, 0);
	each_client(h, w) assert_int_equal(h->resets, h->noted + 1);
	world_destroy(w);
}

/* A standby that dies holds nobody up for long. */
static void a_dead_standby_holds_up_nobody(void **state)
{
	for (unsigned int way = 0; way < 2; way++) {
		struct world *w = two_level(3, 4);
		uint64_t began;

		station_start(w, 1, 0);
		until(w, is_standby(w, 1), SECOND);
		run(w, SECOND);
		if (way == 0)
			station_kill(w, 1);
		else
			w->stations[1].deaf = true;
		began = w->timers.now_ns;
		join_all(w, 1);
		assert_true(w->timers.now_ns - began < (way ? 2 * SECOND : SECOND / 2));
		world_destroy(w);
	}
}

/* Each part has the members it had; then they are one again, and the loser's register
 * with the winner. The winner's do not notice. */
static void a_split_brain_heals(void **state)
{
	struct world *w = halves();
	unsigned int winner;

	station_start(w, 1, 0);
	/* Not so young that both might have begun with the same ports. */
	run(w, 12 * SECOND);
	assert_true(is_standby(w, 0) != is_standby(w, 1));
	winner = is_standby(w, 1) ? 0 : 1;
	join_all(w, 1);
	run(w, SECOND);
	note_resets(w);
	cut(w, true);
	until(w, is_up(w, 0) && is_up(w, 1), 5 * SECOND);
	run(w, SECOND);
	for (unsigned int n = 0; n < 2; n++)
		assert_int_equal(count(w, n).members, w->clients / 2);
	expect_no_resets(w);
	/* The loser's half makes a group of its own, which takes the MLID of one of the
	 * winner's. */
	join_in_half(w, winner, 7);
	join_in_half(w, 1 - winner, 8);
	note_resets(w);
	cut(w, false);
	until(w, is_up(w, winner) && is_standby(w, 1 - winner), 5 * SECOND);
	run(w, SECOND);
	each_client(h, w) assert_int_equal(h->resets - h->noted, half_of(h) != winner);
	join_in_half(w, 1 - winner, 8);
	join_in_half(w, 1 - winner, 1);
	assert_int_equal(count(w, winner).groups, 4);
	join_all(w, 1);
	expect_group(w, w->hosts[FIRST_CLIENT].mlid);
	until(w, same(w, 0, 1), SECOND);
	world_destroy(w);
}

/* -- aliases ---------------------------------------------------------------------------- */

#define GUID_INFO_RECORD 0x30
#define PLACE            1u /* of a port's GUIDs; the first is its own */
#define ALIAS_MASK       (1ull << 0 | 1ull << 1 | 1ull << (4 + PLACE)) /* LID, block */

/* For this one, or against it. */
static void host_ask_guid(struct host *h, uint8_t method, uint64_t guid)
{
	struct mad_header mad = { .method = method, .attr_id = GUID_INFO_RECORD };
	struct fabric_port_info info;
	uint8_t data[72] = { 0 };

	h->alias = guid;
	fabric_port_info(h->port, &info);
	wire_put16(data, info.info.lid);
	wire_put64(data + 8 + 8 * PLACE, h->alias);
	host_ask(h, &mad, ALIAS_MASK, data, sizeof(data));
}

static void host_ask_alias(struct host *h, uint8_t method)
{
	host_ask_guid(h, method, 0xa11a5000 + number(h));
}

static void get_aliases(struct world *w)
{
	each_client(h, w) host_ask_alias(h, MAD_METHOD_SET);
	until(w, all_answered(w), 5 * SECOND);
	each_client(h, w) assert_int_equal(h->status, 0);
}

/* What programs see of the port. */
static void expect_in_table(const struct host *h)
{
	struct fabric_port_info info;

	fabric_port_info(h->port, &info);
	assert_int_equal(info.guids[PLACE], h->alias);
}

static void expect_alias_member(struct world *w, unsigned int n, const struct host *h)
{
	struct membership m = { .guid = h->alias, .group = h->group };

	sa_server_each_group(w->stations[n].sa, NULL, look_at_member, &m);
	if (!m.found)
		fail_msg("host %u is no member by its alias", number(h));
}

/* Who is member by his alias goes on being that, may leave and join by it, and has it to
 * himself. */
static void expect_alias_works(struct world *w, struct host *h)
{
	host_leave(h, h->group);
	until(w, h->status >= 0, SECOND);
	assert_int_equal(h->status, 0);
	run(w, SETTLE);
	host_join(h, h->group);
	until(w, h->status >= 0, SECOND);
	assert_int_equal(h->status, 0);
	/* It is a member, so it is not given back. */
	host_ask_alias(h, MAD_METHOD_DELETE);
	until(w, h->status >= 0, SECOND);
	assert_int_equal(h->status, SA_REQ_DENIED);
	expect_in_table(h);
}

static void a_standby_has_the_aliases_too(void **state)
{
	struct world *w = two_level(3, 4);
	struct host *h = &w->hosts[FIRST_CLIENT];
	struct fabric_port_info info;

	host_ask_alias(h, MAD_METHOD_SET);
	until(w, h->status == 0, SECOND);
	station_start(w, 1, 0);
	until(w, is_standby(w, 1) && is_fed(w, 1, 0), 5 * SECOND);
	/* What was there before, and what comes and goes, as soon as it is answered. */
	assert_true(same(w, 0, 1));
	for (unsigned int i = 0; i < 3; i++) {
		each_client(c, w)
		{
			host_ask_alias(c, i % 2 ? MAD_METHOD_DELETE : MAD_METHOD_SET);
			until(w, c->status >= 0, SECOND);
			assert_int_equal(c->status, 0);
			assert_true(same(w, 0, 1));
		}
	}
	join_all(w, 1);
	assert_true(same(w, 0, 1));
	/* A port that goes takes its own along. */
	fabric_port_info(h->port, &info);
	assert_int_equal(fabric_link_set(w->fabric, info.node, 1, false), 0);
	until(w, count(w, 0).members == w->clients - 1, 15 * SECOND);
	run(w, SECOND);
	assert_true(same(w, 0, 1));
	world_destroy(w);
}

static void aliases_outlive_their_master(void **state)
{
	static const unsigned int steps[] = { 0, 1, 40, 200, 1000 };

	for (unsigned int i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct world *w = two_level(3, 4);

		station_start(w, 1, 0);
		until(w, is_standby(w, 1) && is_fed(w, 1, 0), 5 * SECOND);
		get_aliases(w);
		join_all(w, 1);
		for (unsigned int k = 0; k < steps[i]; k++)
			step(w, w->timers.now_ns + SECOND);
		note_resets(w);
		station_kill(w, 0);
		until(w, is_up(w, 1), SECOND);
		expect_no_resets(w);
		assert_int_equal(count(w, 1).members, w->clients);
		expect_group(w, w->hosts[FIRST_CLIENT].mlid);
		each_client(h, w)
		{
			expect_alias_member(w, 1, h);
			expect_in_table(h);
		}
		each_client(h, w) expect_alias_works(w, h);
		world_destroy(w);
	}
}

static void link_set(struct world *w, const struct host *h, bool up)
{
	struct fabric_port_info info;

	fabric_port_info(h->port, &info);
	assert_int_equal(fabric_link_set(w->fabric, info.node, 1, up), 0);
}

static bool is_active(const struct host *h)
{
	struct fabric_port_info info;

	fabric_port_info(h->port, &info);
	return info.info.state == SMP_PORT_ACTIVE;
}

/* Before the new master comes, or after. */
static void who_was_away_gets_his_guid_back(void **state)
{
	for (unsigned int after = 0; after < 2; after++) {
		struct world *w = two_level(3, 4);
		struct host *h = &w->hosts[FIRST_CLIENT], *away = h + 1;

		station_start(w, 1, 0);
		until(w, is_standby(w, 1) && is_fed(w, 1, 0), 5 * SECOND);
		join_all(w, 1);
		link_set(w, away, false);
		until(w, count(w, 0).members == w->clients - 1, 15 * SECOND);
		host_ask_guid(h, MAD_METHOD_SET, guid_of(away->port));
		until(w, h->status >= 0, SECOND);
		assert_int_equal(h->status, 0);
		host_join(h, 2);
		until(w, h->status >= 0, SECOND);
		assert_int_equal(h->status, 0);
		run(w, SETTLE);
		station_kill(w, 0);
		if (!after)
			link_set(w, away, true);
		until(w, is_up(w, 1), SECOND);
		if (after) {
			expect_alias_member(w, 1, h);
			link_set(w, away, true);
		}
		until(w, is_active(away), 15 * SECOND);
		host_join(away, 1);
		until(w, away->status >= 0, SECOND);
		assert_int_equal(away->status, 0);
		expect_member(w, 1, away);
		run(w, SETTLE);
		expect_group(w, away->mlid);
		/* Nobody is in the group of the alias, which so has gone. */
		assert_int_equal(count(w, 1).members, w->clients);
		world_destroy(w);
	}
}

/* The one who answered nothing of it is asked again, and the port has it once. */
static void an_alias_may_be_half_given(void **state)
{
	unsigned int most = 0;

	for (unsigned int steps = 1; steps < 60; steps++) {
		struct world *w = two_level(3, 4);
		struct host *h = &w->hosts[FIRST_CLIENT];

		station_start(w, 1, 0);
		until(w, is_standby(w, 1) && is_fed(w, 1, 0), 5 * SECOND);
		host_ask_alias(h, MAD_METHOD_SET);
		for (unsigned int k = 0; k < steps && h->status < 0; k++)
			step(w, w->timers.now_ns + SECOND);
		most = h->status < 0 ? steps : most;
		station_kill(w, 0);
		until(w, is_up(w, 1), 5 * SECOND);
		until(w, h->status >= 0, 5 * SECOND);
		assert_int_equal(h->status, 0);
		expect_in_table(h);
		host_join(h, 1);
		until(w, h->status >= 0, SECOND);
		assert_int_equal(h->status, 0);
		world_destroy(w);
	}
	assert_true(most > 4);
}

/* Each part goes on with the aliases of its ports. The greater one's are never asked for
 * again; the others' hosts register anew, and their ports have kept what they had. */
static void a_split_brain_heals_with_its_aliases(void **state)
{
	struct world *w = halves();
	unsigned int winner;

	station_start(w, 1, 0);
	run(w, 12 * SECOND);
	assert_true(is_standby(w, 0) != is_standby(w, 1));
	winner = is_standby(w, 1) ? 0 : 1;
	get_aliases(w);
	join_all(w, 1);
	run(w, SECOND);
	note_resets(w);
	cut(w, true);
	until(w, is_up(w, 0) && is_up(w, 1), 5 * SECOND);
	run(w, SECOND);
	for (unsigned int n = 0; n < 2; n++)
		assert_int_equal(count(w, n).members, w->clients / 2);
	expect_no_resets(w);
	each_client(h, w) expect_alias_member(w, half_of(h), h);
	each_client(h, w) expect_alias_works(w, h);
	cut(w, false);
	until(w, is_up(w, winner) && is_standby(w, 1 - winner), 5 * SECOND);
	run(w, SECOND);
	each_client(h, w)
	{
		assert_int_equal(h->resets - h->noted, half_of(h) != winner);
		expect_in_table(h);
		if (half_of(h) != winner) {
			host_ask_alias(h, MAD_METHOD_SET);
			until(w, h->status == 0, SECOND);
			host_join(h, 1);
			until(w, h->status == 0, SECOND);
		}
	}
	each_client(h, w) expect_alias_member(w, winner, h);
	each_client(h, w) expect_alias_works(w, h);
	expect_group(w, w->hosts[FIRST_CLIENT].mlid);
	until(w, same(w, 0, 1), SECOND);
	world_destroy(w);
}

/* -- of another LMC --------------------------------------------------------------------- */

static uint16_t lids[HOSTS_MAX];

static struct smp_port_info port_info(const struct host *h)
{
	struct fabric_port_info info;

	fabric_port_info(h->port, &info);
	return info.info;
}

/* Whose LIDs are others, or fewer, is told to register anew, and nobody else. */
static void expect_moved(struct world *w, uint8_t before, uint8_t lmc)
{
	each_client(h, w)
	{
		struct smp_port_info info = port_info(h);
		bool moved = info.lid != lids[number(h)];

		assert_int_equal(info.lmc, lmc);
		assert_int_equal(h->resets - h->noted, moved || lmc < before);
		if (lmc <= before || lids[number(h)] % (1u << lmc))
			assert_int_equal(moved, lmc > before);
		if (h->resets == h->noted)
			continue;
		host_join(h, 1);
		until(w, h->status == 0, SECOND);
	}
}

static void a_standby_may_have_another_lmc(void **state)
{
	static const uint8_t lmcs[] = { 2, 2, 1, 3, 0 };
	struct world *w = two_level(3, 4);
	uint8_t before = 0;

	join_all(w, 1);
	for (unsigned int i = 0; i < sizeof(lmcs); i++) {
		unsigned int n = (i + 1) % 2;

		w->lmcs[n] = lmcs[i];
		station_start(w, n, 0);
		until(w, is_standby(w, n) && is_fed(w, n, 1 - n), 5 * SECOND);
		note_resets(w);
		each_client(h, w) lids[number(h)] = port_info(h).lid;
		station_kill(w, 1 - n);
		until(w, is_up(w, n), 5 * SECOND);
		expect_moved(w, before, lmcs[i]);
		assert_int_equal(count(w, n).members, w->clients);
		each_client(h, w) expect_member(w, n, h);
		expect_group(w, w->hosts[FIRST_CLIENT].mlid);
		before = lmcs[i];
	}
	world_destroy(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_standby_has_what_the_master_has),
		cmocka_unit_test(nobody_notices_a_takeover),
		cmocka_unit_test(a_master_that_is_back_at_once_has_forgotten),
		cmocka_unit_test(a_choice_outlives_its_master),
		cmocka_unit_test(a_master_may_die_in_other_ways),
		cmocka_unit_test(who_was_answered_is_in),
		cmocka_unit_test(who_was_reset_meanwhile_is_told),
		cmocka_unit_test(mastership_goes_to_and_fro),
		cmocka_unit_test(there_may_be_three),
		cmocka_unit_test(yesterdays_groups_do_not_count),
		cmocka_unit_test(a_dead_standby_holds_up_nobody),
		cmocka_unit_test(a_split_brain_heals),
		cmocka_unit_test(a_standby_has_the_aliases_too),
		cmocka_unit_test(aliases_outlive_their_master),
		cmocka_unit_test(who_was_away_gets_his_guid_back),
		cmocka_unit_test(an_alias_may_be_half_given),
		cmocka_unit_test(a_split_brain_heals_with_its_aliases),
		cmocka_unit_test(a_standby_may_have_another_lmc),
	};

	return harness_run(tests);
}
