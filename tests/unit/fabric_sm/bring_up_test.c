/* SPDX-License-Identifier: BSD-2-Clause */
/* The SM brings subnets up: states, LIDs, routes, reregistration, partitions. */
// uses: fabric_net
#include "fabric/sm/sm_priv.h"
#include "world.h"

static struct topology *star(unsigned int hosts)
{
	struct topology *t = NULL;

	assert_int_equal(topology_star(hosts, 1, &t), 0);
	return t;
}

static struct topology *ring(unsigned int switches, unsigned int hosts)
{
	struct topology *t = NULL;

	assert_int_equal(topology_ring(switches, hosts, 1, &t), 0);
	return t;
}

static struct topology *two_level(void)
{
	struct topology *t = NULL;

	assert_int_equal(topology_two_level(4, 3, 5, 1, &t), 0);
	return t;
}

static struct topology *fat_tree(unsigned int k)
{
	struct topology *t = NULL;

	assert_int_equal(topology_fat_tree(k, 1, &t), 0);
	return t;
}

static void expect_up(struct world *w)
{
	for (unsigned int i = 0; i < w->host_count; i++) {
		assert_int_equal(world_state(w, i), SMP_PORT_ACTIVE);
		assert_int_not_equal(world_lid(w, i), 0);
		for (unsigned int k = 0; k < i; k++)
			assert_int_not_equal(world_lid(w, i), world_lid(w, k));
	}
	world_expect_pairs(w);
}

static void comes_up(struct topology *t)
{
	struct world *w = world_up(t, 1);
	struct sm_counters c;

	expect_up(w);
	sm_counters(w->sms[0].sm, &c);
	assert_int_equal(c.sweeps, 1);
	assert_int_equal(c.smp_timeouts, 0);
	assert_int_equal(w->sms[0].ups, 1);
	assert_int_equal(w->sms[0].outs, 0);
	assert_true(w->sms[0].ins >= w->host_count);
	world_destroy(w);
}

static void a_star_comes_up(void **state)
{
	comes_up(star(8));
}

static void two_hosts_at_a_switch_come_up(void **state)
{
	comes_up(star(2));
}

static void a_ring_comes_up(void **state)
{
	comes_up(ring(4, 2));
}

static void rings_of_any_length_come_up(void **state)
{
	for (unsigned int n = 3; n < 10; n++)
		comes_up(ring(n, 1));
}

static void two_levels_come_up(void **state)
{
	comes_up(two_level());
}

static void fat_trees_come_up(void **state)
{
	comes_up(fat_tree(4));
	comes_up(fat_tree(6));
}

/* -- routes ---------------------------------------------------------------------------- */

static unsigned int ways_through(const struct sm_switch *sw, unsigned int port)
{
	unsigned int ways = 0;

	for (uint32_t i = 0; i < sw->lft_blocks * SM_LIDS_BLOCK; i++)
		ways += sw->lft_have[i] == port;
	return ways;
}

/* A leaf of a fat tree with as many uplinks as hosts uses them all alike. */
static void ways_are_spread(void **state)
{
	struct world *w = world_up(fat_tree(6), 1);
	const struct sm *sm = w->sms[0].sm;

	for (uint32_t i = 0; i < sm->switch_count; i++) {
		const struct sm_switch *sw = sm->switches[i];
		unsigned int least = UINT32_MAX, most = 0;

		for (uint32_t e = 0; sw->has_hosts && e < sw->edge_count; e++) {
			unsigned int ways = ways_through(sw, sw->edges[e].port);

			least = ways < least ? ways : least;
			most = ways > most ? ways : most;
		}
		if (sw->has_hosts)
			assert_true(most - least <= 2);
	}
	world_destroy(w);
}

/* -- what ports are told --------------------------------------------------------------- */

static void every_port_knows_its_master(void **state)
{
	struct world *w = world_up(star(4), 1);

	for (unsigned int i = 0; i < w->host_count; i++) {
		struct fabric_port_info info;

		fabric_port_info(w->hosts[i], &info);
		assert_int_equal(info.info.sm_lid, world_lid(w, 0));
		assert_int_equal(info.info.sm_sl, 0);
		assert_int_equal(info.info.lmc, 0);
		assert_int_equal(info.info.gid_prefix, 0xfe80000000000000ull);
		assert_int_equal(info.info.subnet_timeout, 18);
		assert_int_equal(info.info.neighbor_mtu, info.info.mtu_cap);
		assert_int_equal(info.pkeys[0], 0xffff);
		/* The SM's own port has another listener here. */
		assert_int_equal(w->reregisters[i], i == 0 ? 0 : 1);
	}
	world_destroy(w);
}

static void a_second_sweep_changes_nothing(void **state)
{
	struct world *w = world_up(fat_tree(4), 1);
	struct sm_counters before, after;

	sm_counters(w->sms[0].sm, &before);
	sm_sweep(w->sms[0].sm);
	world_until(w, world_sweeps(w, 0) == before.sweeps + 1, SECOND);
	sm_counters(w->sms[0].sm, &after);
	assert_int_equal(after.lft_blocks, before.lft_blocks);
	assert_int_equal(after.mft_blocks, before.mft_blocks);
	assert_true(after.smps_sent - before.smps_sent < before.smps_sent);
	for (unsigned int i = 1; i < w->host_count; i++)
		assert_int_equal(w->reregisters[i], 1);
	assert_int_equal(w->sms[0].outs, 0);
	world_destroy(w);
}

static void light_sweeps_ask_each_switch_once(void **state)
{
	struct world *w = world_up(two_level(), 1);
	struct sm_counters before, after;

	/* The first has seen that ports have come to life before there was an SM. */
	world_run(w, 15 * SECOND);
	sm_counters(w->sms[0].sm, &before);
	world_run(w, 10 * SECOND);
	sm_counters(w->sms[0].sm, &after);
	assert_int_equal(after.sweeps, before.sweeps);
	assert_int_equal(after.smps_sent - before.smps_sent, 7 + 1);
	world_destroy(w);
}

static void a_port_keeps_the_lid_that_it_has(void **state)
{
	struct world *w = world_up(star(6), 1);
	uint16_t lids[6];

	for (unsigned int i = 0; i < 6; i++)
		lids[i] = world_lid(w, i);
	world_sm_kill(w, 0);
	/* Another SM elsewhere finds them in another order. */
	world_sm_start(w, 1, 5, NULL);
	world_until(w, world_is_up(w, 1), 5 * SECOND);
	for (unsigned int i = 0; i < 6; i++)
		assert_int_equal(world_lid(w, i), lids[i]);
	world_expect_pairs(w);
	world_destroy(w);
}

static void partitions_are_set(void **state)
{
	struct world *w = world_create(star(4), 1);
	struct sm_partition_member all = { .full = true }, some[2];
	struct sm_partition partitions[] = {
		{ .name = "Default", .pkey = 0x7fff, .members = &all, .member_count = 1 },
		{ .name = "blue", .pkey = 0x0101, .members = some, .member_count = 2 },
	};
	struct sm_config config = { .partitions = partitions, .partition_count = 2 };
	struct fabric_port_info info;
	const struct subnet *s;

	some[0] = (struct sm_partition_member){ .port_guid = world_guid(w, 1),
						.full = true };
	some[1] = (struct sm_partition_member){ .port_guid = world_guid(w, 2) };
	world_sm_start(w, 0, 0, &config);
	world_until(w, world_is_up(w, 0), SECOND);
	fabric_port_info(w->hosts[1], &info);
	assert_int_equal(info.pkeys[0], 0xffff);
	assert_int_equal(info.pkeys[1], 0x8101);
	fabric_port_info(w->hosts[2], &info);
	assert_int_equal(info.pkeys[1], 0x0101);
	fabric_port_info(w->hosts[3], &info);
	assert_int_equal(info.pkeys[1], 0);
	s = sm_subnet(w->sms[0].sm);
	assert_true(
		subnet_port_has_pkey(subnet_port_by_guid(s, world_guid(w, 1)), 0x8101));
	assert_false(
		subnet_port_has_pkey(subnet_port_by_guid(s, world_guid(w, 2)), 0x0101));
	assert_false(
		subnet_port_has_pkey(subnet_port_by_guid(s, world_guid(w, 3)), 0x8101));
	world_destroy(w);
}

static void the_database_says_what_is_there(void **state)
{
	struct world *w = world_up(two_level(), 1);
	const struct subnet *s = sm_subnet(w->sms[0].sm);

	assert_int_equal(s->node_count, 20 + 7);
	assert_ptr_equal(s->sm_port, subnet_port_by_guid(s, world_guid(w, 0)));
	for (unsigned int i = 0; i < w->host_count; i++) {
		struct subnet_port *port = subnet_port_by_guid(s, world_guid(w, i));

		assert_non_null(port);
		assert_true(port->seen);
		assert_int_equal(subnet_port_lid(port), world_lid(w, i));
		assert_ptr_equal(subnet_port_by_lid(s, world_lid(w, i)), port);
		assert_non_null(port->peer);
		assert_ptr_equal(port->peer->peer, port);
		assert_int_equal(port->peer->node->info.node_type, SMP_NODE_SWITCH);
		assert_int_equal(port->info.state, SMP_PORT_ACTIVE);
	}
	assert_null(subnet_port_by_guid(s, 42));
	assert_null(subnet_port_by_lid(s, 0xbfff));
	world_destroy(w);
}

/* The same seed, the same world: to the last request. */
static void the_same_seed_does_the_same(void **state)
{
	struct sm_counters c[2];
	uint64_t now[2];

	for (int i = 0; i < 2; i++) {
		struct world *w = world_create(fat_tree(4), 7);
		struct fabric_trouble trouble = { .loss = 20000 };

		fabric_trouble_set(w->fabric, &trouble);
		world_sm_start(w, 0, 3, NULL);
		world_until(w, world_is_up(w, 0), 60 * SECOND);
		sm_counters(w->sms[0].sm, &c[i]);
		now[i] = w->timers.now_ns;
		world_destroy(w);
	}
	assert_memory_equal(&c[0], &c[1], sizeof(c[0]));
	assert_int_equal(now[0], now[1]);
}

/* Somebody tries keys all the while: whenever the SM asks and sets, none is uncounted. */
static void violations_stay_counted(void **state)
{
	struct world *w = world_create(star(2), 1);
	struct fabric_port_info info;
	uint16_t tried = 0;

	world_sm_start(w, 0, 0, NULL);
	while (!world_is_up(w, 0) && tried < 10000) {
		world_step(w, UINT64_MAX);
		fabric_port_violated(w->hosts[1], 1, 2);
		tried++;
	}
	expect_up(w);
	fabric_port_info(w->hosts[1], &info);
	assert_int_equal(info.info.pkey_violations, tried);
	assert_int_equal(info.info.qkey_violations, 2 * tried);
	world_destroy(w);
}

/* None had been counted when the SM asked. */
static void the_first_violation_stays_counted(void **state)
{
	for (unsigned int when = 0;; when++) {
		struct world *w = world_create(star(2), 1);
		struct fabric_port_info info;
		unsigned int steps = 0;

		world_sm_start(w, 0, 0, NULL);
		for (; !world_is_up(w, 0); steps++) {
			world_step(w, UINT64_MAX);
			if (steps == when)
				fabric_port_violated(w->hosts[1], 1, 0);
		}
		fabric_port_info(w->hosts[1], &info);
		assert_int_equal(info.info.pkey_violations, when < steps);
		world_destroy(w);
		if (when >= steps)
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_star_comes_up),
		cmocka_unit_test(two_hosts_at_a_switch_come_up),
		cmocka_unit_test(a_ring_comes_up),
		cmocka_unit_test(rings_of_any_length_come_up),
		cmocka_unit_test(two_levels_come_up),
		cmocka_unit_test(fat_trees_come_up),
		cmocka_unit_test(ways_are_spread),
		cmocka_unit_test(every_port_knows_its_master),
		cmocka_unit_test(a_second_sweep_changes_nothing),
		cmocka_unit_test(light_sweeps_ask_each_switch_once),
		cmocka_unit_test(a_port_keeps_the_lid_that_it_has),
		cmocka_unit_test(partitions_are_set),
		cmocka_unit_test(the_database_says_what_is_there),
		cmocka_unit_test(the_same_seed_does_the_same),
		cmocka_unit_test(violations_stay_counted),
		cmocka_unit_test(the_first_violation_stays_counted),
	};

	return harness_run(tests);
}
