/* SPDX-License-Identifier: BSD-2-Clause */
/* What changes under the SM: links cut and restored, power lost, requests lost. */
// uses: fabric_net
#include "fabric/sm/sm_priv.h"
#include "world.h"

static struct topology *ring(unsigned int switches, unsigned int hosts)
{
	struct topology *t = NULL;

	assert_int_equal(topology_ring(switches, hosts, 1, &t), 0);
	return t;
}

static struct topology *two_level(void)
{
	struct topology *t = NULL;

	assert_int_equal(topology_two_level(4, 3, 3, 1, &t), 0);
	return t;
}

static struct topology *star(unsigned int hosts)
{
	struct topology *t = NULL;

	assert_int_equal(topology_star(hosts, 1, &t), 0);
	return t;
}

/* The n-th link between switches: name and port of one end. */
static bool trunk(const struct topology *t, unsigned int n, const char **name,
		  unsigned int *port)
{
	for (uint32_t i = 0; i < t->count; i++) {
		const struct topology_node *node = &t->nodes[i];

		for (unsigned int p = 1; node->is_switch && p <= node->ports; p++) {
			const struct topology_link *l = &node->links[p];

			if (l->node == UINT32_MAX || l->node <= i ||
			    !t->nodes[l->node].is_switch || n-- > 0)
				continue;
			*name = node->name;
			*port = p;
			return true;
		}
	}
	return false;
}

static const char *host_name(struct world *w, unsigned int host)
{
	struct fabric_port_info info;

	fabric_port_info(w->hosts[host], &info);
	return info.node;
}

static void all_in(struct world *w, struct world_group *g)
{
	memset(g->members, 'r', w->host_count);
}

static void settle(struct world *w)
{
	uint64_t before = world_sweeps(w, 0);

	world_until(w, world_sweeps(w, 0) > before && world_is_up(w, 0), 20 * SECOND);
	world_run(w, 50 * TIMER_MS);
	assert_true(world_is_up(w, 0));
}

/* Every trunk in turn is cut, and comes back. Traffic is back after one sweep, and at no
 * moment anything arrives twice. */
static void trunks_may_be_cut(struct topology *t)
{
	struct world *w = world_up(t, 1);
	struct world_group g = { .mlid = 0xc005 };
	unsigned int port;
	const char *name;

	all_in(w, &g);
	assert_int_equal(world_route_now(w, &g), 0);
	for (unsigned int n = 0; trunk(w->topology, n, &name, &port); n++) {
		for (int up = 0; up <= 1; up++) {
			uint64_t before = world_sweeps(w, 0);

			assert_int_equal(fabric_link_set(w->fabric, name, port, up), 0);
			while (world_sweeps(w, 0) == before || !world_is_up(w, 0)) {
				world_expect_no_more(w, &g);
				assert_true(world_step(w, w->timers.now_ns + SECOND));
			}
			assert_int_equal(world_sweeps(w, 0), before + 1);
			world_expect_group(w, &g);
			world_run(w, 50 * TIMER_MS);
			assert_true(world_is_up(w, 0));
			world_expect_pairs(w);
			world_expect_group(w, &g);
		}
	}
	assert_int_equal(w->sms[0].outs, 0);
	assert_true(w->sms[0].traps > 0);
	world_destroy(w);
}

static void trunks_of_a_ring_may_be_cut(void **state)
{
	trunks_may_be_cut(ring(4, 2));
}

static void trunks_of_a_tree_may_be_cut(void **state)
{
	trunks_may_be_cut(two_level());
}

/* Spec/sa-sm 2.3. */
static void a_host_that_is_unplugged_is_out(void **state)
{
	struct world *w = world_up(star(5), 1);
	struct world_group g = { .mlid = 0xc005 };
	uint16_t lid = world_lid(w, 3);
	unsigned int ins = w->sms[0].ins;

	all_in(w, &g);
	world_route_now(w, &g);
	assert_int_equal(fabric_link_set(w->fabric, host_name(w, 3), 1, false), 0);
	settle(w);
	assert_int_equal(w->sms[0].outs, 1);
	assert_true(w->sms[0].last_out == world_guid(w, 3));
	assert_null(subnet_port_by_guid(sm_subnet(w->sms[0].sm), world_guid(w, 3)));
	g.members[3] = 0;
	world_expect_group(w, &g);
	assert_int_equal(fabric_link_set(w->fabric, host_name(w, 3), 1, true), 0);
	settle(w);
	assert_int_equal(w->sms[0].ins, ins + 1);
	assert_int_equal(world_lid(w, 3), lid);
	assert_int_equal(world_state(w, 3), SMP_PORT_ACTIVE);
	assert_int_equal(w->reregisters[3], 2);
	world_expect_pairs(w);
	world_destroy(w);
}

/* Quicker than the SM looks: the port was reset all the same. */
static void a_link_that_blinks_is_out_and_in(void **state)
{
	struct world *w = world_up(star(5), 1);
	unsigned int ins = w->sms[0].ins;

	assert_int_equal(fabric_link_set(w->fabric, host_name(w, 3), 1, false), 0);
	assert_int_equal(fabric_link_set(w->fabric, host_name(w, 3), 1, true), 0);
	settle(w);
	assert_int_equal(w->sms[0].outs, 1);
	assert_int_equal(w->sms[0].ins, ins + 1);
	assert_int_equal(w->reregisters[3], 2);
	assert_int_equal(world_state(w, 3), SMP_PORT_ACTIVE);
	world_expect_pairs(w);
	world_destroy(w);
}

/* Each port tells of them once in a time; there is nothing to look at. */
static void keys_that_do_not_fit_make_no_sweep(void **state)
{
	struct world *w = world_up(star(5), 1);
	struct sm_counters before, after;

	/* Its own look of every ten seconds is over. */
	world_run(w, 11 * SECOND);
	sm_counters(w->sms[0].sm, &before);
	for (unsigned int i = 0; i < 5; i++) {
		for (unsigned int host = 1; host < 5; host++)
			fabric_port_violated(w->hosts[host], 1, 1);
		world_run(w, SECOND + SECOND / 2);
	}
	sm_counters(w->sms[0].sm, &after);
	assert_int_equal(after.traps - before.traps, 5 * 4 * 2);
	assert_int_equal(w->sms[0].traps, 5 * 4 * 2);
	assert_int_equal(after.sweeps, before.sweeps);
	assert_int_equal(after.smps_sent, before.smps_sent);
	world_destroy(w);
}

static const char *switch_name(struct world *w, unsigned int n)
{
	for (uint32_t i = 0; i < w->topology->count; i++)
		if (w->topology->nodes[i].is_switch && n-- == 0)
			return w->topology->nodes[i].name;
	return NULL;
}

static bool is_leaf(struct world *w, const char *name, bool *of_host0)
{
	bool leaf = false;

	*of_host0 = false;
	for (uint32_t i = 0; i < w->topology->count; i++) {
		const struct topology_node *node = &w->topology->nodes[i];

		if (strcmp(node->name, name) != 0)
			continue;
		for (unsigned int p = 1; p <= node->ports; p++) {
			uint32_t to = node->links[p].node;

			if (to == UINT32_MAX || w->topology->nodes[to].is_switch)
				continue;
			leaf = true;
			if (strcmp(w->topology->nodes[to].name, host_name(w, 0)) == 0)
				*of_host0 = true;
		}
	}
	return leaf;
}

/* Each switch but the SM's own loses power, and gets it back with empty tables. */
static void switches_may_lose_power(void **state)
{
	struct world *w = world_up(two_level(), 1);
	struct world_group g = { .mlid = 0xc005 };
	const char *name;

	all_in(w, &g);
	assert_int_equal(world_route_now(w, &g), 0);
	for (unsigned int n = 0; (name = switch_name(w, n)); n++) {
		unsigned int outs = w->sms[0].outs, lost = 0;
		struct world_group left = g;
		bool own, leaf = is_leaf(w, name, &own);

		if (own)
			continue;
		assert_int_equal(fabric_power_set(w->fabric, name, false), 0);
		settle(w);
		for (unsigned int i = 0; i < w->host_count; i++) {
			if (world_state(w, i) == SMP_PORT_ACTIVE)
				continue;
			left.members[i] = 0;
			lost++;
		}
		assert_int_equal(lost, leaf ? 3 : 0);
		/* The switch itself has a port, too. */
		assert_int_equal(w->sms[0].outs, outs + lost + 1);
		world_expect_group(w, &left);
		assert_int_equal(fabric_power_set(w->fabric, name, true), 0);
		settle(w);
		world_expect_pairs(w);
		world_expect_group(w, &g);
	}
	world_destroy(w);
}

/* Nobody sees it but those that are left: the tables are empty, the links as before. */
static void a_switch_that_restarts_is_set_up_again(void **state)
{
	struct world *w = world_up(two_level(), 1);
	struct world_group g = { .mlid = 0xc005 };
	const char *name = NULL;
	bool own;

	all_in(w, &g);
	assert_int_equal(world_route_now(w, &g), 0);
	for (unsigned int n = 0; (name = switch_name(w, n)); n++) {
		is_leaf(w, name, &own);
		if (own)
			continue;
		assert_int_equal(fabric_power_set(w->fabric, name, false), 0);
		assert_int_equal(fabric_power_set(w->fabric, name, true), 0);
		settle(w);
		world_expect_pairs(w);
		world_expect_group(w, &g);
	}
	world_destroy(w);
}

static void the_sm_may_be_cut_off_itself(void **state)
{
	struct world *w = world_up(star(4), 1);

	assert_int_equal(fabric_link_set(w->fabric, host_name(w, 0), 1, false), 0);
	world_run(w, 30 * SECOND);
	assert_false(world_is_up(w, 0));
	assert_int_equal(sm_state(w->sms[0].sm), SM_MASTER);
	assert_int_equal(fabric_link_set(w->fabric, host_name(w, 0), 1, true), 0);
	world_until(w, world_is_up(w, 0), 20 * SECOND);
	world_expect_pairs(w);
	world_destroy(w);
}

/* An SM that is there before its link is. */
static void an_sm_without_a_link_waits_for_one(void **state)
{
	struct world *w = world_create(star(4), 1);

	assert_int_equal(fabric_link_set(w->fabric, host_name(w, 0), 1, false), 0);
	world_sm_start(w, 0, 0, NULL);
	world_run(w, 5 * SECOND);
	assert_int_equal(sm_state(w->sms[0].sm), SM_DISCOVERING);
	assert_int_equal(w->sms[0].ups, 0);
	assert_int_equal(fabric_link_set(w->fabric, host_name(w, 0), 1, true), 0);
	world_until(w, world_is_up(w, 0), 5 * SECOND);
	world_expect_pairs(w);
	world_destroy(w);
}

/* -- nodes that are not as they should be ----------------------------------------------- */

/* The SMA of a host is dead, its link is not. */
static void a_silent_node_is_left_out(void **state)
{
	struct world *w = world_create(star(5), 1);
	struct fabric_port_info info;
	struct sm_counters early, late;

	fabric_port_info(w->hosts[3], &info);
	world_sm_start(w, 0, 0, NULL);
	w->sms[0].silent = info.node_guid;
	world_until(w, world_sweeps(w, 0) == 1, 10 * SECOND);
	assert_false(world_is_up(w, 0));
	assert_int_equal(w->sms[0].ups, 1);
	assert_null(subnet_port_by_guid(sm_subnet(w->sms[0].sm), info.port_guid));
	world_expect_pair(w, 1, 4);
	world_expect_pair(w, 4, 2);
	/* Asked again, but ever more rarely. */
	sm_counters(w->sms[0].sm, &early);
	world_run(w, 10 * SECOND);
	sm_counters(w->sms[0].sm, &late);
	assert_true(late.sweeps - early.sweeps >= 3);
	early = late;
	world_run(w, 100 * SECOND);
	sm_counters(w->sms[0].sm, &late);
	assert_true(late.sweeps - early.sweeps <= 11);
	w->sms[0].silent = 0;
	world_until(w, world_is_up(w, 0), 20 * SECOND);
	world_expect_pairs(w);
	assert_int_equal(w->sms[0].outs, 0);
	world_destroy(w);
}

/* Two nodes of one GUID are reported; all others come up, and one of the two at most. */
static void one_guid_at_two_nodes_is_survived(void **state)
{
	for (unsigned int kind = 0; kind < 2; kind++) {
		struct topology *t = two_level();
		struct topology_node *first = NULL, *second = NULL;
		struct world *w;

		for (uint32_t i = 0; i < t->count; i++) {
			if (t->nodes[i].is_switch != (kind == 1))
				continue;
			first = second;
			second = &t->nodes[i];
		}
		second->node_guid = first->node_guid;
		w = world_create(t, 1);
		world_sm_start(w, 0, 0, NULL);
		world_until(w, world_sweeps(w, 0) == 3, 60 * SECOND);
		assert_false(world_is_up(w, 0));
		assert_true(w->sms[0].sm->duplicates > 0);
		/* The last hosts and switches are the doubles. */
		for (unsigned int i = 1; i < 6; i++)
			world_expect_pair(w, 0, i);
		world_destroy(w);
	}
}

/* -- loss ------------------------------------------------------------------------------ */

/* In every five management datagrams one is lost, as seen end to end: five hops a way. */
static void loss_is_survived(void **state)
{
	unsigned int seeds = harness_count(6, 200);

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct world *w = world_create(two_level(), seed);
		struct fabric_trouble trouble = { .loss = 45000 };
		struct world_group g = { .mlid = 0xc001 };

		fabric_trouble_set(w->fabric, &trouble);
		world_sm_start(w, 0, seed % w->host_count, NULL);
		world_until(w, world_is_up(w, 0), 120 * SECOND);
		world_expect_pairs(w);
		all_in(w, &g);
		world_route(w, 0, &g);
		world_until(w, w->done == 1, 120 * SECOND);
		if (w->error == 0)
			world_expect_group(w, &g);
		trouble.loss = 0;
		fabric_trouble_set(w->fabric, &trouble);
		sm_sweep(w->sms[0].sm);
		settle(w);
		world_expect_pairs(w);
		world_expect_group(w, &g);
		world_destroy(w);
	}
}

/* A fifth of the datagrams at every hop, which few requests survive at first. */
static void heavy_loss_is_survived(void **state)
{
	struct world *w = world_create(star(6), 1);
	struct fabric_trouble trouble = { .loss = 200000 };

	fabric_trouble_set(w->fabric, &trouble);
	world_sm_start(w, 0, 0, NULL);
	world_until(w, world_is_up(w, 0), 300 * SECOND);
	world_expect_pairs(w);
	world_destroy(w);
}

static void late_datagrams_do_no_harm(void **state)
{
	struct world *w = world_create(two_level(), 3);
	struct fabric_trouble trouble = { .reorder = 300000, .delay_ns = 150 * TIMER_MS };
	struct world_group g = { .mlid = 0xc001 };

	fabric_trouble_set(w->fabric, &trouble);
	world_sm_start(w, 0, 0, NULL);
	world_until(w, world_is_up(w, 0), 120 * SECOND);
	all_in(w, &g);
	assert_int_equal(world_route_now(w, &g), 0);
	world_expect_group(w, &g);
	world_expect_pairs(w);
	world_destroy(w);
}

/* -- storms ---------------------------------------------------------------------------- */

/* Links and switches come and go at random while groups change; then quiet. */
static void any_history_ends_well(void **state)
{
	unsigned int seeds = harness_count(8, 300);

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct world *w = world_up(seed % 2 ? two_level() : ring(5, 2), seed);
		struct world_group g = { .mlid = 0xc001 };

		for (unsigned int i = 0; i < 40; i++) {
			unsigned int port, n = (unsigned int)random_below(&w->random, 12);
			const char *name;
			bool own;

			if (random_below(&w->random, 3) == 0) {
				for (unsigned int h = 0; h < w->host_count; h++)
					g.members[h] =
						random_below(&w->random, 2) ? 'r' : 0;
				world_route(w, 0, &g);
			} else if (random_below(&w->random, 2)) {
				if (trunk(w->topology, n, &name, &port))
					fabric_link_set(w->fabric, name, port,
							random_below(&w->random, 2));
			} else {
				name = switch_name(w, n);
				if (name && (is_leaf(w, name, &own), !own))
					fabric_power_set(w->fabric, name,
							 random_below(&w->random, 2));
			}
			world_run(w, random_below(&w->random, 20 * TIMER_MS));
		}
		for (unsigned int n = 0; switch_name(w, n); n++)
			fabric_power_set(w->fabric, switch_name(w, n), true);
		for (unsigned int n = 0, port; n < 12; n++) {
			const char *name;

			if (trunk(w->topology, n, &name, &port))
				fabric_link_set(w->fabric, name, port, true);
		}
		all_in(w, &g);
		world_route(w, 0, &g);
		world_run(w, 40 * SECOND);
		assert_true(world_is_up(w, 0));
		world_expect_pairs(w);
		world_expect_group(w, &g);
		world_destroy(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trunks_of_a_ring_may_be_cut),
		cmocka_unit_test(trunks_of_a_tree_may_be_cut),
		cmocka_unit_test(a_host_that_is_unplugged_is_out),
		cmocka_unit_test(a_link_that_blinks_is_out_and_in),
		cmocka_unit_test(keys_that_do_not_fit_make_no_sweep),
		cmocka_unit_test(switches_may_lose_power),
		cmocka_unit_test(a_switch_that_restarts_is_set_up_again),
		cmocka_unit_test(the_sm_may_be_cut_off_itself),
		cmocka_unit_test(an_sm_without_a_link_waits_for_one),
		cmocka_unit_test(a_silent_node_is_left_out),
		cmocka_unit_test(one_guid_at_two_nodes_is_survived),
		cmocka_unit_test(loss_is_survived),
		cmocka_unit_test(heavy_loss_is_survived),
		cmocka_unit_test(late_datagrams_do_no_harm),
		cmocka_unit_test(any_history_ends_well),
	};

	return harness_run(tests);
}
