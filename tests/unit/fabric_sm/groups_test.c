/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups: who is reached, through which tables, at every moment of a change. */
// uses: fabric_net
#include <errno.h>

#include "fabric/sm/sm_priv.h"
#include "world.h"

static struct topology *make(int r, struct topology *t)
{
	assert_int_equal(r, 0);
	return t;
}

static struct topology *star(unsigned int hosts)
{
	struct topology *t = NULL;
	int r = topology_star(hosts, 1, &t);

	return make(r, t);
}

static struct topology *ring(unsigned int switches, unsigned int hosts)
{
	struct topology *t = NULL;
	int r = topology_ring(switches, hosts, 1, &t);

	return make(r, t);
}

static struct topology *two_level(void)
{
	struct topology *t = NULL;
	int r = topology_two_level(4, 3, 4, 1, &t);

	return make(r, t);
}

static struct topology *fat_tree(unsigned int k)
{
	struct topology *t = NULL;
	int r = topology_fat_tree(k, 1, &t);

	return make(r, t);
}

static struct topology *parse(const char *text)
{
	struct topology *t = NULL;
	char error[200] = "";

	if (topology_parse(text, strlen(text), &t, error, sizeof(error)) < 0)
		fail_msg("%s", error);
	return t;
}

/* Members at random: kind 'r' or 's' with the chance of each in percent. */
static void random_members(struct world *w, struct world_group *g, unsigned int r,
			   unsigned int s)
{
	for (unsigned int i = 0; i < w->host_count; i++) {
		uint64_t dice = random_below(&w->random, 100);

		g->members[i] = dice < r ? 'r' : dice < r + s ? 's' : 0;
	}
}

static unsigned int table_size(struct world *w, uint16_t mlid)
{
	unsigned int bits = 0;

	for (unsigned int n = 0; n < fabric_node_count(w->fabric); n++)
		for (unsigned int p = 0; p <= 254; p++)
			bits += fabric_mft_has(w->fabric, n, mlid, p);
	return bits;
}

static unsigned int receivers(const struct world *w, const struct world_group *g)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < w->host_count; i++)
		count += g->members[i] == 'r';
	return count;
}

/* A single receiver has no entry: then there is nothing that a sender could reach. */
static void expect_exact(struct world *w, const struct world_group *g)
{
	world_expect_group(w, g);
	world_expect_no_more(w, g);
}

static void any_members_are_reached_once(struct topology *t, unsigned int rounds)
{
	struct world *w = world_up(t, 3);

	for (unsigned int i = 0; i < rounds; i++) {
		struct world_group g = { .mlid = (uint16_t)(0xc000 + i * 7) };

		random_members(w, &g, i % 5 ? 40 : 90, 20);
		if (!receivers(w, &g))
			continue;
		assert_int_equal(world_route_now(w, &g), 0);
		expect_exact(w, &g);
	}
	world_destroy(w);
}

static void members_of_a_star_are_reached_once(void **state)
{
	any_members_are_reached_once(star(9), 20);
}

static void members_of_a_ring_are_reached_once(void **state)
{
	any_members_are_reached_once(ring(4, 3), 20);
	any_members_are_reached_once(ring(5, 2), 20);
}

static void members_of_two_levels_are_reached_once(void **state)
{
	any_members_are_reached_once(two_level(), 20);
}

static void members_of_a_fat_tree_are_reached_once(void **state)
{
	any_members_are_reached_once(fat_tree(4), 20);
	any_members_are_reached_once(fat_tree(6), 20);
}

static void a_single_member_needs_no_table(void **state)
{
	struct world *w = world_up(two_level(), 1);
	struct world_group g = { .mlid = 0xc003 };

	g.members[5] = 'r';
	assert_int_equal(world_route_now(w, &g), 0);
	assert_int_equal(table_size(w, g.mlid), 0);
	world_destroy(w);
}

static void senders_alone_need_no_table(void **state)
{
	struct world *w = world_up(two_level(), 1);
	struct world_group g = { .mlid = 0xc003 };

	g.members[5] = g.members[9] = 's';
	assert_int_equal(world_route_now(w, &g), 0);
	assert_int_equal(table_size(w, g.mlid), 0);
	world_destroy(w);
}

/* Spec/sa-sm 7.4: one receiver and one sender at a switch, the receiver's port alone. */
static void a_sender_beside_a_receiver_has_no_bit(void **state)
{
	struct world *w = world_up(star(4), 1);
	struct world_group g = { .mlid = 0xc000 };

	g.members[1] = 'r';
	g.members[2] = 's';
	assert_int_equal(world_route_now(w, &g), 0);
	assert_int_equal(table_size(w, g.mlid), 1);
	expect_exact(w, &g);
	world_destroy(w);
}

/* The way up from its leaf, and down to the receiver: leaf, spine, leaf. */
static void a_sender_elsewhere_has_a_way_and_no_more(void **state)
{
	struct world *w = world_up(two_level(), 1);
	struct world_group g = { .mlid = 0xc000 };

	g.members[0] = 'r';
	g.members[15] = 's';
	assert_int_equal(world_route_now(w, &g), 0);
	assert_int_equal(table_size(w, g.mlid), 3);
	expect_exact(w, &g);
	world_destroy(w);
}

static void who_left_is_not_reached(void **state)
{
	struct world *w = world_up(fat_tree(4), 1);
	struct world_group g = { .mlid = 0xc010 };

	for (unsigned int i = 0; i < w->host_count; i++)
		g.members[i] = 'r';
	assert_int_equal(world_route_now(w, &g), 0);
	for (unsigned int i = 0; i < w->host_count; i++) {
		g.members[(i * 7) % w->host_count] = 0;
		assert_int_equal(world_route_now(w, &g), 0);
		if (receivers(w, &g) > 1)
			expect_exact(w, &g);
	}
	assert_int_equal(table_size(w, g.mlid), 0);
	world_destroy(w);
}

/* A join writes the tables on the new member's way, whatever else there is. */
static void only_changed_blocks_are_written(void **state)
{
	struct world *w = world_up(two_level(), 1);
	struct world_group g = { .mlid = 0xc000 };
	struct sm_counters before, after;

	for (unsigned int i = 0; i < 100; i++) {
		g.mlid = (uint16_t)(0xc000 + i);
		random_members(w, &g, 50, 0);
		world_route_now(w, &g);
	}
	memset(g.members, 0, sizeof(g.members));
	g.members[0] = g.members[1] = g.members[4] = 'r';
	world_route_now(w, &g);
	sm_counters(w->sms[0].sm, &before);
	g.members[5] = 'r';
	world_route_now(w, &g);
	sm_counters(w->sms[0].sm, &after);
	assert_int_equal(after.mft_blocks - before.mft_blocks, 1);
	world_route_now(w, &g);
	sm_counters(w->sms[0].sm, &before);
	assert_int_equal(after.mft_blocks, before.mft_blocks);
	world_destroy(w);
}

static void groups_spread_over_the_spines(void **state)
{
	struct world *w = world_up(two_level(), 1);
	struct world_group g = { .mlid = 0xc000 };
	const struct sm *sm = w->sms[0].sm;
	unsigned int used = 0;

	memset(g.members, 'r', w->host_count);
	for (unsigned int i = 0; i < 30; i++) {
		g.mlid = (uint16_t)(0xc000 + i);
		world_route_now(w, &g);
	}
	for (uint32_t i = 0; i < sm->switch_count; i++) {
		const struct sm_cell *cell = sm_cell_find(sm->switches[i], 0xc000, 0);
		unsigned int groups = 0;

		for (unsigned int k = 0; cell && k < 30; k++)
			groups += cell->have[k] != 0;
		if (!sm->switches[i]->has_hosts && groups > 3)
			used++;
	}
	assert_int_equal(used, 3);
	world_destroy(w);
}

/* Every call is answered, though the group changes again before the first is. */
static void every_call_is_answered(void **state)
{
	struct world *w = world_up(fat_tree(4), 1);
	struct world_group g = { .mlid = 0xc001 };

	for (unsigned int i = 0; i < w->host_count; i++) {
		g.members[i] = 'r';
		world_route(w, 0, &g);
		if (i % 3 == 0)
			world_run(w, 300);
	}
	assert_true(w->done < w->host_count);
	world_until(w, w->done == w->host_count, SECOND);
	assert_int_equal(w->error, 0);
	expect_exact(w, &g);
	world_destroy(w);
}

/* While members come and go, at no moment somebody hears twice, or who is not in. */
static void no_moment_has_too_much(void **state)
{
	struct world *w = world_up(ring(5, 2), 5);
	struct world_group old = { .mlid = 0xc001 }, new = { .mlid = 0xc001 };

	for (unsigned int round = 0; round < 40; round++) {
		struct world_group either = { .mlid = 0xc001 };
		unsigned int before = w->done;

		random_members(w, &new, 60, 20);
		for (unsigned int i = 0; i < w->host_count; i++)
			either.members[i] =
				old.members[i] == 'r' || new.members[i] == 'r' ? 'r' : 0;
		world_route(w, 0, &new);
		while (w->done == before) {
			world_expect_no_more(w, &either);
			assert_true(world_step(w, w->timers.now_ns + SECOND));
		}
		if (receivers(w, &new))
			expect_exact(w, &new);
		old = new;
	}
	world_destroy(w);
}

/* -- switches with little room --------------------------------------------------------- */

/* Two leaves, two spines; the first spine has no multicast table. */
static struct topology *with_caps(const uint32_t caps[4])
{
	struct topology *t = NULL;
	unsigned int at = 0;

	assert_int_equal(topology_two_level(2, 2, 3, 1, &t), 0);
	for (uint32_t i = 0; i < t->count; i++)
		if (t->nodes[i].is_switch)
			t->nodes[i].mft_cap = caps[at++];
	assert_int_equal(at, 4);
	return t;
}

static void switches_without_tables_are_avoided(void **state)
{
	static const uint32_t leafs_first[4] = { 1024, 1024, 0, 1024 };
	static const uint32_t spines_first[4] = { 0, 1024, 1024, 1024 };
	struct topology *probe = NULL;
	struct world *w;
	bool leaves_first;

	/* Which of them come first is the shape's own business. */
	assert_int_equal(topology_two_level(2, 2, 3, 1, &probe), 0);
	leaves_first = false;
	for (uint32_t i = 0; i < probe->count; i++) {
		if (!probe->nodes[i].is_switch)
			continue;
		leaves_first = probe->nodes[i].ports == 5;
		break;
	}
	topology_destroy(probe);
	w = world_up(with_caps(leaves_first ? leafs_first : spines_first), 1);
	assert_int_equal(sm_mlid_capacity(w->sms[0].sm), 1024);
	for (unsigned int i = 0; i < 20; i++) {
		struct world_group g = { .mlid = (uint16_t)(0xc000 + i) };

		memset(g.members, 'r', w->host_count);
		assert_int_equal(world_route_now(w, &g), 0);
		expect_exact(w, &g);
	}
	world_destroy(w);
}

static void a_small_table_bounds_the_groups(void **state)
{
	static const uint32_t caps[4] = { 48, 1024, 1024, 1024 };
	struct world *w = world_up(with_caps(caps), 1);
	struct world_group g = { .mlid = 0xc000 + 47 };

	assert_int_equal(sm_mlid_capacity(w->sms[0].sm), 48);
	memset(g.members, 'r', w->host_count);
	assert_int_equal(world_route_now(w, &g), 0);
	expect_exact(w, &g);
	world_destroy(w);
}

static void a_member_behind_no_table_is_refused(void **state)
{
	static const uint32_t caps[4] = { 0, 0, 0, 0 };
	struct world *w = world_up(with_caps(caps), 1);
	struct world_group g = { .mlid = 0xc000 };

	g.members[0] = g.members[1] = 'r';
	assert_int_equal(world_route_now(w, &g), -ENOSPC);
	g.mlid = 0x1234;
	assert_int_equal(world_route_now(w, &g), -ENOSPC);
	world_destroy(w);
}

/* -- parallel links -------------------------------------------------------------------- */

static void parallel_links_make_no_loop(void **state)
{
	struct topology *t = parse("Hca 1 \"h1\"\n[1] \"s1\"[1]\n\n"
				   "Hca 1 \"h2\"\n[1] \"s1\"[2]\n\n"
				   "Hca 1 \"h3\"\n[1] \"s2\"[1]\n\n"
				   "Hca 1 \"h4\"\n[1] \"s2\"[2]\n\n"
				   "Switch 6 \"s1\"\n[3] \"s2\"[3]\n[4] \"s2\"[4]\n"
				   "[5] \"s2\"[5]\n[6] \"s2\"[6]\n\n"
				   "Switch 6 \"s2\"\n\n");
	struct world *w = world_up(t, 1);

	world_expect_pairs(w);
	for (unsigned int i = 0; i < 40; i++) {
		struct world_group g = { .mlid = (uint16_t)(0xc000 + i) };

		memset(g.members, 'r', w->host_count);
		assert_int_equal(world_route_now(w, &g), 0);
		expect_exact(w, &g);
	}
	world_destroy(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_of_a_star_are_reached_once),
		cmocka_unit_test(members_of_a_ring_are_reached_once),
		cmocka_unit_test(members_of_two_levels_are_reached_once),
		cmocka_unit_test(members_of_a_fat_tree_are_reached_once),
		cmocka_unit_test(a_single_member_needs_no_table),
		cmocka_unit_test(senders_alone_need_no_table),
		cmocka_unit_test(a_sender_beside_a_receiver_has_no_bit),
		cmocka_unit_test(a_sender_elsewhere_has_a_way_and_no_more),
		cmocka_unit_test(who_left_is_not_reached),
		cmocka_unit_test(only_changed_blocks_are_written),
		cmocka_unit_test(groups_spread_over_the_spines),
		cmocka_unit_test(every_call_is_answered),
		cmocka_unit_test(no_moment_has_too_much),
		cmocka_unit_test(switches_without_tables_are_avoided),
		cmocka_unit_test(a_small_table_bounds_the_groups),
		cmocka_unit_test(a_member_behind_no_table_is_refused),
		cmocka_unit_test(parallel_links_make_no_loop),
	};

	return harness_run(tests);
}
