/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Switches with small multicast tables: an MLID that does not fit into one goes around it,
 * wherever it was when the MLID was given out. A model of its own says who is reached.
 */
// uses: fabric_net
#include <errno.h>
#include <stdio.h>

#include "fabric/sm/sm_priv.h"
#include "world.h"

#define GROUPS 8u
#define NODES  64u
#define NONE   UINT32_MAX

/* -- the model: switches that have room, and hang together by links that are up --------- */

struct model {
	uint32_t part[NODES]; /* of switches; NONE: no room, or off */
	uint32_t parts;
	bool seen[NODES]; /* nodes; by the SM, at the first host */
};

static bool has_room(struct world *w, uint32_t node, uint16_t mlid)
{
	const struct topology_node *t = &w->topology->nodes[node];
	struct fabric_node_view view;

	fabric_node_view(w->fabric, node, &view);
	return t->is_switch && view.powered && mlid - 0xc000u < t->mft_cap;
}

static uint32_t neighbor(struct world *w, uint32_t node, unsigned int port)
{
	struct fabric_link_view link;

	fabric_link_view(w->fabric, node, port, &link);
	return link.connected && link.up && link.state == SMP_PORT_ACTIVE ? link.peer
									  : NONE;
}

static void flood(struct world *w, struct model *m, uint32_t from, uint16_t mlid)
{
	m->part[from] = m->parts;
	for (unsigned int p = 1; p <= w->topology->nodes[from].ports; p++) {
		uint32_t to = neighbor(w, from, p);

		if (to != NONE && m->part[to] == NONE && has_room(w, to, mlid))
			flood(w, m, to, mlid);
	}
}

static void see(struct world *w, struct model *m, uint32_t from)
{
	m->seen[from] = true;
	for (unsigned int p = 1; p <= w->topology->nodes[from].ports; p++) {
		uint32_t to = neighbor(w, from, p);

		if (to != NONE && !m->seen[to])
			see(w, m, to);
	}
}

static uint32_t node_of(struct world *w, unsigned int host)
{
	struct fabric_port_info info;

	fabric_port_info(w->hosts[host], &info);
	for (uint32_t i = 0; i < w->topology->count; i++)
		if (strcmp(w->topology->nodes[i].name, info.node) == 0)
			return i;
	fail_msg("host %u is no node", host);
	return NONE;
}

static void model_init(struct world *w, struct model *m, uint16_t mlid)
{
	assert_true(w->topology->count <= NODES);
	*m = (struct model){ 0 };
	memset(m->part, 0xff, sizeof(m->part));
	see(w, m, node_of(w, 0));
	for (uint32_t i = 0; i < w->topology->count; i++) {
		if (!has_room(w, i, mlid) || m->part[i] != NONE)
			continue;
		flood(w, m, i, mlid);
		m->parts++;
	}
}

/* Of the switch that the host is at; NONE: that has no room, or the SM sees neither. */
static uint32_t part_of(struct world *w, const struct model *m, unsigned int host)
{
	uint32_t node = node_of(w, host);

	return m->seen[node] ? m->part[neighbor(w, node, 1)] : NONE;
}

/* That which most members are in, the first one's of such. */
static uint32_t part_of_group(struct world *w, const struct model *m,
			      const struct world_group *g)
{
	unsigned int count[NODES] = { 0 };
	uint32_t best = NONE;

	for (unsigned int i = 0; i < w->host_count; i++) {
		uint32_t part = part_of(w, m, i);

		if (g->members[i] && part != NONE)
			count[part]++;
	}
	for (unsigned int i = 0; i < w->host_count; i++) {
		uint32_t part = part_of(w, m, i);

		if (g->members[i] && part != NONE &&
		    (best == NONE || count[part] > count[best]))
			best = part;
	}
	return best;
}

static void expect_sender(struct world *w, const struct model *m,
			  const struct world_group *g, unsigned int from, uint32_t part)
{
	bool sends = g->members[from] && part != NONE && part_of(w, m, from) == part;

	world_walk(w, from, g->mlid);
	assert_int_equal(w->foreign, 0);
	for (unsigned int i = 0; i < w->host_count; i++) {
		unsigned int due = i != from && g->members[i] == 'r' && part != NONE &&
				   part_of(w, m, i) == part;

		if (sends ? w->reached[i] != due : w->reached[i] > due)
			fail_msg("MLID 0x%04x from host %u: host %u is reached %u "
				 "times, not %u",
				 g->mlid, from, i, w->reached[i], due);
	}
}

/* Whoever sends, exactly the receivers of the group's part are reached, if the sender is a
 * member in it, and else nobody but they. Of what the SM does not see nothing is expected.
 * Returns how many are cut off. */
static unsigned int expect_model(struct world *w, const struct world_group *g)
{
	unsigned int count = 0;
	struct model m;
	uint32_t part;

	model_init(w, &m, g->mlid);
	part = part_of_group(w, &m, g);
	for (unsigned int from = 0; from < w->host_count; from++) {
		if (!m.seen[node_of(w, from)])
			continue;
		count += g->members[from] &&
			 (part == NONE || part_of(w, &m, from) != part);
		expect_sender(w, &m, g, from, part);
	}
	return count;
}

static unsigned int cut_off(struct world *w)
{
	struct sm_counters c;

	sm_counters(w->sms[0].sm, &c);
	return (unsigned int)c.members_cut_off;
}

static void expect_groups(struct world *w, const struct world_group *groups,
			  unsigned int count)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < count; i++)
		sum += expect_model(w, &groups[i]);
	assert_int_equal(cut_off(w), sum);
}

/* -- a subnet --------------------------------------------------------------------------- */

static void settle(struct world *w)
{
	uint64_t before = world_sweeps(w, 0);

	world_until(w, world_sweeps(w, 0) > before && world_is_up(w, 0), 20 * SECOND);
	world_run(w, 50 * TIMER_MS);
	assert_true(world_is_up(w, 0));
}

static void power(struct world *w, const char *name, bool on)
{
	assert_int_equal(fabric_power_set(w->fabric, name, on), 0);
	settle(w);
}

/* Two hosts at each of four switches; s2, if not more, has room for four MLIDs. */
static struct world *ring_up(const uint32_t caps[4])
{
	char text[1024], error[128];
	struct topology *t = NULL;
	int length = 0;

	for (unsigned int i = 0; i < 4; i++)
		length += snprintf(text + length, sizeof(text) - (size_t)length,
				   "mftcap=%u\nSwitch 4 \"s%u\"\n[1] \"s%u\"[2]\n"
				   "[3] \"h%u\"[1]\n[4] \"h%u\"[1]\n\n",
				   caps[i], i + 1, (i + 1) % 4 + 1, 2 * i + 1, 2 * i + 2);
	for (unsigned int i = 0; i < 8; i++)
		length += snprintf(text + length, sizeof(text) - (size_t)length,
				   "Hca 1 \"h%u\"\n\n", i + 1);
	if (topology_parse(text, (size_t)length, &t, error, sizeof(error)) < 0)
		fail_msg("%s", error);
	return world_up(t, 1);
}

static unsigned int switch_of(struct world *w, unsigned int host)
{
	uint32_t node = node_of(w, host);

	return (unsigned int)(w->topology->nodes[w->topology->nodes[node].links[1].node]
				      .name[1] -
			      '0');
}

/* All hosts but those at s2. */
static void all_but_s2(struct world *w, struct world_group *g)
{
	for (unsigned int i = 0; i < w->host_count; i++)
		g->members[i] = switch_of(w, i) == 2 ? 0 : 'r';
}

/* -- tests ------------------------------------------------------------------------------ */

/* Those beyond its table, and those within. */
static void a_small_switch_that_comes_back_is_avoided(void **state)
{
	static const uint32_t caps[4] = { 1024, 4, 1024, 1024 };
	struct world *w = ring_up(caps);
	struct world_group groups[GROUPS] = { 0 };

	assert_int_equal(sm_mlid_capacity(w->sms[0].sm), 4);
	power(w, "s2", false);
	assert_int_equal(sm_mlid_capacity(w->sms[0].sm), 1024);
	for (unsigned int i = 0; i < GROUPS; i++) {
		groups[i].mlid = (uint16_t)(0xc000 + i);
		all_but_s2(w, &groups[i]);
		assert_int_equal(world_route_now(w, &groups[i]), 0);
	}
	assert_int_equal(fabric_power_set(w->fabric, "s2", true), 0);
	for (uint64_t before = world_sweeps(w, 0);
	     world_sweeps(w, 0) < before + 1 || !world_is_up(w, 0);) {
		for (unsigned int i = 0; i < GROUPS; i++)
			world_expect_no_more(w, &groups[i]);
		assert_true(world_step(w, w->timers.now_ns + SECOND));
	}
	world_run(w, 50 * TIMER_MS);
	assert_int_equal(sm_mlid_capacity(w->sms[0].sm), 4);
	world_expect_pairs(w);
	for (unsigned int i = 0; i < GROUPS; i++)
		world_expect_group(w, &groups[i]);
	expect_groups(w, groups, GROUPS);
	assert_int_equal(cut_off(w), 0);
	world_destroy(w);
}

/* Its hosts join what has room there, and are refused by the others, which go on. */
static void who_is_at_it_joins_what_has_room(void **state)
{
	static const uint32_t caps[4] = { 1024, 4, 1024, 1024 };
	struct world *w = ring_up(caps);
	struct world_group groups[GROUPS] = { 0 };

	power(w, "s2", false);
	for (unsigned int i = 0; i < GROUPS; i++) {
		groups[i].mlid = (uint16_t)(0xc000 + i);
		all_but_s2(w, &groups[i]);
		assert_int_equal(world_route_now(w, &groups[i]), 0);
	}
	power(w, "s2", true);
	for (unsigned int i = 0; i < GROUPS; i++) {
		memset(groups[i].members, 'r', w->host_count);
		assert_int_equal(world_route_now(w, &groups[i]), i < 4 ? 0 : -ENOSPC);
		for (unsigned int n = 0; n < w->host_count; n++)
			assert_int_equal(sm_can_route(w->sms[0].sm, groups[i].mlid,
						      world_guid(w, n)),
					 i < 4 || switch_of(w, n) != 2);
		expect_model(w, &groups[i]);
	}
	assert_int_equal(cut_off(w), 4 * 2);
	/* As the SA does with a join that was refused. */
	for (unsigned int i = 4; i < GROUPS; i++) {
		all_but_s2(w, &groups[i]);
		assert_int_equal(world_route_now(w, &groups[i]), 0);
	}
	expect_groups(w, groups, GROUPS);
	assert_int_equal(cut_off(w), 0);
	world_destroy(w);
}

/* The other way fails, too: most members decide, the others are cut off, are counted, and
 * are back as soon as there is a way. */
static void who_has_no_other_way_is_cut_off(void **state)
{
	static const uint32_t caps[4] = { 1024, 4, 1024, 1024 };
	struct world *w = ring_up(caps);
	struct world_group g = { .mlid = 0xc004 };
	bool left = false;

	power(w, "s2", false);
	all_but_s2(w, &g);
	for (unsigned int i = 0; i < w->host_count && !left; i++) {
		left = switch_of(w, i) == 1;
		if (left)
			g.members[i] = 0;
	}
	assert_int_equal(world_route_now(w, &g), 0);
	power(w, "s2", true);
	power(w, "s4", false);
	/* One member at s1, two at s3. */
	expect_groups(w, &g, 1);
	assert_int_equal(cut_off(w), 1);
	power(w, "s4", true);
	expect_groups(w, &g, 1);
	assert_int_equal(cut_off(w), 0);
	memset(g.members, 0, sizeof(g.members));
	assert_int_equal(world_route_now(w, &g), 0);
	assert_int_equal(cut_off(w), 0);
	world_destroy(w);
}

static const char *some_switch(struct world *w)
{
	for (;;) {
		uint32_t i = (uint32_t)random_below(&w->random, w->topology->count);

		if (w->topology->nodes[i].is_switch)
			return w->topology->nodes[i].name;
	}
}

static void some_members(struct world *w, struct world_group *g)
{
	for (unsigned int i = 0; i < w->host_count; i++) {
		uint64_t dice = random_below(&w->random, 10);

		g->members[i] = dice < 6 ? 'r' : dice < 8 ? 's' : 0;
	}
}

/* Any sizes of tables, any switch off and on; the SM's host has a switch that stays. */
static void any_sizes_in(struct topology *t, uint64_t seed, unsigned int *beyond)
{
	static const uint32_t caps[] = { 0, 2, 4, 4, 6, 1024, 1024, 1024 };
	struct world_group groups[GROUPS] = { 0 };
	struct random random;
	struct world *w;

	random_seed(&random, seed);
	for (uint32_t i = 0; i < t->count; i++)
		if (t->nodes[i].is_switch)
			t->nodes[i].mft_cap = caps[random_below(&random, 8)];
	w = world_up(t, seed);
	for (unsigned int i = 0; i < GROUPS; i++) {
		groups[i].mlid = (uint16_t)(0xc000 + i);
		some_members(w, &groups[i]);
		world_route_now(w, &groups[i]);
	}
	for (unsigned int round = 0; round < 12; round++) {
		const char *name = some_switch(w);
		struct fabric_link_view link;
		uint32_t own = node_of(w, 0);

		fabric_link_view(w->fabric, own, 1, &link);
		if (strcmp(w->topology->nodes[link.peer].name, name) == 0)
			continue;
		assert_int_equal(fabric_power_set(w->fabric, name, round % 3 == 2), 0);
		world_run(w, 15 * SECOND);
		assert_true(world_is_up(w, 0));
		expect_groups(w, groups, GROUPS);
		*beyond += cut_off(w) > 0;
	}
	world_destroy(w);
}

static void any_sizes_of_tables_deliver_as_the_model_says(void **state)
{
	unsigned int seeds = harness_count(20, 2000), beyond = 0;

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct topology *t = NULL;
		int r = seed % 3 == 0   ? topology_ring(5, 2, seed, &t)
			: seed % 3 == 1 ? topology_two_level(4, 3, 2, seed, &t)
					: topology_fat_tree(4, seed, &t);

		assert_int_equal(r, 0);
		any_sizes_in(t, seed, &beyond);
	}
	assert_true(beyond > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_switch_that_comes_back_is_avoided),
		cmocka_unit_test(who_is_at_it_joins_what_has_room),
		cmocka_unit_test(who_has_no_other_way_is_cut_off),
		cmocka_unit_test(any_sizes_of_tables_deliver_as_the_model_says),
	};

	return harness_run(tests);
}
