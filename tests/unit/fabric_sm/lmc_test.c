/* SPDX-License-Identifier: BSD-2-Clause */
/* Several LIDs a port: which they are, by what ways they are reached, who keeps his. */
// uses: fabric_net
#include <errno.h>

#include "fabric/sm/sm_priv.h"
#include "world.h"

static struct topology *fat_tree(unsigned int k)
{
	struct topology *t = NULL;

	assert_int_equal(topology_fat_tree(k, 1, &t), 0);
	return t;
}

static struct topology *two_level(unsigned int leaves, unsigned int spines,
				  unsigned int hosts)
{
	struct topology *t = NULL;

	assert_int_equal(topology_two_level(leaves, spines, hosts, 1, &t), 0);
	return t;
}

static struct topology *parse(const char *text)
{
	struct topology *t = NULL;
	char error[200] = "";

	if (topology_parse(text, strlen(text), &t, error, sizeof(error)) < 0)
		fail_msg("%s in\n%s", error, text);
	return t;
}

static struct world *up(struct topology *t, uint8_t lmc)
{
	const struct sm_config config = { .lmc = lmc };

	return world_up_with(t, 1, &config);
}

/* Whose LID it is: a port, or nobody. */
static struct fabric_port *owners[SM_LID_MAX + 1];

static void own(struct fabric_port *port, uint8_t lmc)
{
	struct fabric_port_info info;

	fabric_port_info(port, &info);
	assert_int_equal(info.info.lmc, lmc);
	assert_int_not_equal(info.info.lid, 0);
	assert_int_equal(info.info.lid % (1u << lmc), 0);
	for (unsigned int i = 0; i < 1u << lmc; i++) {
		assert_true(info.info.lid + i <= SM_LID_MAX);
		assert_null(owners[info.info.lid + i]);
		owners[info.info.lid + i] = port;
	}
}

/* Everybody has so many that are his alone, and is reached by each. */
static void expect_lids(struct world *w, uint8_t lmc)
{
	struct fabric_port *port;

	memset(owners, 0, sizeof(owners));
	for (unsigned int i = 0; i < w->host_count; i++)
		own(w->hosts[i], lmc);
	for (unsigned int i = 0; (port = fabric_switch_port(w->fabric, i)); i++)
		own(port, 0);
	world_expect_pairs(w);
}

static void each_port_has_its_lids(void **state)
{
	for (uint8_t lmc = 0; lmc <= SM_LMC_MAX; lmc++) {
		struct world *w = up(fat_tree(4), lmc);
		const struct subnet *s = sm_subnet(w->sms[0].sm);
		struct sm_counters c;

		expect_lids(w, lmc);
		sm_counters(w->sms[0].sm, &c);
		assert_int_equal(c.sweeps, 1);
		assert_int_equal(c.lidless, 0);
		for (unsigned int i = 0; i < 1u << lmc; i++)
			assert_ptr_equal(
				subnet_port_by_lid(s, (uint16_t)(world_lid(w, 3) + i)),
				subnet_port_by_guid(s, world_guid(w, 3)));
		world_destroy(w);
	}
}

static void there_are_seven_bits(void **state)
{
	struct world *w = world_create(fat_tree(4), 1);
	struct world_sm ws = { .world = w, .port = w->hosts[0] };
	const struct sm_config config = {
		.timers = &w->timers,
		.random = &w->random,
		.port = &world_port,
		.port_arg = &ws,
		.lmc = SM_LMC_MAX + 1,
	};

	assert_int_equal(sm_create(&config, &ws.sm), -EINVAL);
	world_destroy(w);
}

/* -- ways ------------------------------------------------------------------------------ */

#define HOPS_MAX 16u

/* Switches by the numbers that all SMs give them, and how they are left. */
struct way {
	unsigned int hops;
	struct {
		uint32_t at;
		uint8_t port;
	} hop[HOPS_MAX];
};

static struct way way_of(struct world *w, unsigned int from, uint16_t lid)
{
	const struct sm *sm = w->sms[0].sm;
	const struct subnet_port *port =
		subnet_port_by_guid(&sm->subnet, world_guid(w, from))->peer;
	struct way way = { 0 };

	while (sm_is_switch(port->node)) {
		const struct sm_switch *sw = sm_node_of(port->node)->sw;

		assert_true(way.hops < HOPS_MAX);
		way.hop[way.hops].at = sw->index;
		way.hop[way.hops].port = sw->lft_have[lid];
		port = port->node->ports[way.hop[way.hops++].port].peer;
	}
	return way;
}

static unsigned int count_ways(struct world *w, unsigned int from, unsigned int to)
{
	struct way ways[1u << SM_LMC_MAX];
	unsigned int count = 0;

	for (unsigned int i = 0; i < world_lids(w, to); i++) {
		struct way way = way_of(w, from, (uint16_t)(world_lid(w, to) + i));
		unsigned int known = 0;

		while (known < count && memcmp(&ways[known], &way, sizeof(way)) != 0)
			known++;
		if (known == count)
			ways[count++] = way;
	}
	return count;
}

/* Between the edges of a fat tree of k ports there are k * k / 4. */
static void all_ways_of_a_fat_tree_are_taken(void **state)
{
	static const struct {
		unsigned int k;
		uint8_t lmc;
		unsigned int far, near;
	} cases[] = { { 4, 1, 2, 2 }, { 4, 2, 4, 2 }, { 4, 3, 4, 2 },
		      { 6, 1, 2, 2 }, { 6, 3, 8, 3 }, { 8, 4, 16, 4 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world *w = up(fat_tree(cases[i].k), cases[i].lmc);
		unsigned int half = cases[i].k / 2;

		for (unsigned int to = half * half; to < w->host_count; to++)
			assert_int_equal(count_ways(w, 0, to), cases[i].far);
		/* On other edges of the same pod. */
		for (unsigned int to = half; to < half * half; to++)
			assert_int_equal(count_ways(w, 0, to), cases[i].near);
		for (unsigned int to = 1; to < half; to++)
			assert_int_equal(count_ways(w, 0, to), 1);
		world_destroy(w);
	}
}

/* Another spine is more of another way than another cable to the same one. */
static void another_switch_comes_before_another_cable(void **state)
{
	struct world *w = up(parse("Hca 1 \"h1\"\n[1] \"l1\"[1]\n\n"
				   "Hca 1 \"h2\"\n[1] \"l2\"[1]\n\n"
				   "Switch 8 \"l1\"\n[2] \"s1\"[1]\n[3] \"s1\"[2]\n"
				   "[4] \"s2\"[1]\n[5] \"s2\"[2]\n\n"
				   "Switch 8 \"l2\"\n[2] \"s1\"[3]\n[3] \"s2\"[3]\n\n"
				   "Switch 4 \"s1\"\n\nSwitch 4 \"s2\"\n\n"),
			     2);
	struct way ways[4];

	for (unsigned int i = 0; i < 4; i++) {
		ways[i] = way_of(w, 0, (uint16_t)(world_lid(w, 1) + i));
		assert_int_equal(ways[i].hops, 3);
	}
	assert_int_equal(count_ways(w, 0, 1), 4);
	for (unsigned int i = 1; i < 4; i++)
		assert_int_not_equal(ways[i].hop[1].at, ways[i - 1].hop[1].at);
	world_destroy(w);
}

/* Of hosts elsewhere, the offset-th LIDs. */
static unsigned int ways_through(struct world *w, const struct sm_switch *sw,
				 unsigned int port, unsigned int offset)
{
	unsigned int ways = 0;

	for (unsigned int i = 0; i < w->host_count; i++)
		ways += sw->lft_have[world_lid(w, i) + offset] == port;
	return ways;
}

/* Whichever it is that all use, the first one most of all. */
static void ways_are_spread_whatever_the_offset(void **state)
{
	struct world *w = up(fat_tree(6), 3);
	const struct sm *sm = w->sms[0].sm;

	for (uint32_t i = 0; i < sm->switch_count * 8; i++) {
		const struct sm_switch *sw = sm->switches[i / 8];
		unsigned int least = UINT32_MAX, most = 0;

		for (uint32_t e = 0; sw->has_hosts && e < sw->edge_count; e++) {
			unsigned int ways = ways_through(w, sw, sw->edges[e].port, i % 8);

			least = ways < least ? ways : least;
			most = ways > most ? ways : most;
		}
		/* Switches have LIDs, too. */
		if (sw->has_hosts)
			assert_true(most - least <= sm->switch_count / 4);
	}
	world_destroy(w);
}

/* -- who keeps his --------------------------------------------------------------------- */

static uint16_t lids_before[WORLD_HOSTS];

static void note_lids(struct world *w)
{
	for (unsigned int i = 0; i < w->host_count; i++)
		lids_before[i] = world_lid(w, i);
}

/* The SM dies, and one elsewhere takes over. */
static void change_sm(struct world *w, unsigned int n, uint8_t lmc)
{
	const struct sm_config config = { .lmc = lmc };

	note_lids(w);
	world_sm_kill(w, 1 - n);
	world_sm_start(w, n, n ? 5 : 0, &config);
	world_until(w, world_is_up(w, n), 5 * SECOND);
	expect_lids(w, lmc);
}

static void another_sm_may_have_another_lmc(void **state)
{
	struct world *w = up(two_level(3, 2, 4), 0);

	/* What it may keep it keeps: the first of so many that are free. */
	change_sm(w, 1, 2);
	for (unsigned int i = 0; i < w->host_count; i++)
		if (lids_before[i] % 4)
			assert_int_not_equal(world_lid(w, i), lids_before[i]);
	change_sm(w, 0, 2);
	for (unsigned int i = 0; i < w->host_count; i++)
		assert_int_equal(world_lid(w, i), lids_before[i]);
	change_sm(w, 1, 1);
	for (unsigned int i = 0; i < w->host_count; i++)
		assert_int_equal(world_lid(w, i), lids_before[i]);
	change_sm(w, 0, 0);
	for (unsigned int i = 0; i < w->host_count; i++)
		assert_int_equal(world_lid(w, i), lids_before[i]);
	change_sm(w, 1, 7);
	world_destroy(w);
}

/* As if another SM had written it. */
static void give_lid(struct world *w, unsigned int host, uint16_t lid, uint8_t lmc)
{
	struct fabric_port_info info;
	struct ib_packet packet = {
		.slid = IB_LID_PERMISSIVE,
		.dlid = IB_LID_PERMISSIVE,
		.dest_qp = IB_QP_SMI,
		.src_qp = IB_QP_SMI,
		.length = MAD_BYTES,
	};
	uint8_t mad[MAD_BYTES] = { 0 };
	struct mad_header h = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_SUBN_DIRECTED,
		.class_version = 1,
		.method = MAD_METHOD_SET,
		.attr_id = SMP_PORT_INFO,
	};

	fabric_port_info(w->hosts[host], &info);
	info.info.lid = lid;
	info.info.lmc = lmc;
	info.info.state = SMP_PORT_NOP;
	info.info.phys_state = SMP_PHYS_NOP;
	mad_header_put(mad, &h);
	memset(mad + SMP_DR_SLID, 0xff, 4);
	smp_port_info_put(mad + SMP_DATA, &info.info);
	packet.payload = mad;
	/* Of no hops: to the port itself. */
	assert_int_equal(fabric_port_send(w->hosts[host], &packet), 0);
	world_run(w, TIMER_MS);
	assert_int_equal(world_lid(w, host), lid);
}

static void of_two_that_claim_a_lid_one_has_it(void **state)
{
	struct world *w = world_create(two_level(2, 1, 4), 1);
	const struct sm_config config = { .lmc = 2 };

	give_lid(w, 1, 16, 2);
	give_lid(w, 2, 18, 1);     /* not the first of four */
	give_lid(w, 3, 16, 0);     /* somebody else's */
	give_lid(w, 4, 0xbffc, 2); /* the very last ones */
	give_lid(w, 5, 8, 0);      /* free as far as the LMC goes */
	give_lid(w, 6, 9, 0);      /* in the middle of those */
	world_sm_start(w, 0, 0, &config);
	world_until(w, world_is_up(w, 0), 5 * SECOND);
	expect_lids(w, 2);
	/* Whoever is found first. */
	assert_true((world_lid(w, 1) == 16) != (world_lid(w, 3) == 16));
	assert_int_not_equal(world_lid(w, 2), 18);
	assert_int_equal(world_lid(w, 4), 0xbffc);
	assert_int_equal(world_lid(w, 5), 8);
	assert_int_not_equal(world_lid(w, 6), 9);
	world_destroy(w);
}

static void a_port_that_comes_back_has_its_lids_again(void **state)
{
	struct world *w = up(two_level(3, 2, 4), 3);
	struct fabric_port_info info;

	note_lids(w);
	for (unsigned int i = 1; i < w->host_count; i++) {
		fabric_port_info(w->hosts[i], &info);
		assert_int_equal(fabric_power_set(w->fabric, info.node, false), 0);
	}
	world_run(w, SECOND);
	for (unsigned int i = w->host_count; i-- > 1;) {
		fabric_port_info(w->hosts[i], &info);
		assert_int_equal(fabric_power_set(w->fabric, info.node, true), 0);
		world_run(w, SECOND);
	}
	world_until(w, world_is_up(w, 0), 60 * SECOND);
	expect_lids(w, 3);
	for (unsigned int i = 0; i < w->host_count; i++)
		assert_int_equal(world_lid(w, i), lids_before[i]);
	world_destroy(w);
}

/* -- there are no more ------------------------------------------------------------------- */

#define ROOM 383u /* ports with 128 LIDs each, beginning at 128 */

static unsigned int count_with_lids(struct world *w)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < w->host_count; i++) {
		bool has = world_lid(w, i) != 0;

		assert_int_equal(world_state(w, i),
				 has ? SMP_PORT_ACTIVE : SMP_PORT_INIT);
		count += has;
	}
	return count;
}

static void who_gets_no_lids_is_counted(void **state)
{
	const struct sm_config config = { .lmc = SM_LMC_MAX };
	struct world *w = world_create(two_level(8, 1, 49), 1);
	struct fabric_port_info info;
	struct sm_counters c;
	unsigned int gone;

	assert_int_equal(w->host_count, ROOM + 9);
	world_sm_start(w, 0, 0, &config);
	world_until(w, world_sweeps(w, 0) == 1, 5 * SECOND);
	assert_false(world_is_up(w, 0));
	sm_counters(w->sms[0].sm, &c);
	assert_int_equal(c.lidless, 9);
	assert_int_equal(count_with_lids(w), ROOM);
	/* They wait for others to go. */
	for (gone = 0; gone < 9; gone++) {
		unsigned int i = 1 + gone;

		while (!world_lid(w, i))
			i++;
		fabric_port_info(w->hosts[i], &info);
		assert_int_equal(fabric_power_set(w->fabric, info.node, false), 0);
	}
	world_until(w, world_is_up(w, 0), 60 * SECOND);
	sm_counters(w->sms[0].sm, &c);
	assert_int_equal(c.lidless, 0);
	world_destroy(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_port_has_its_lids),
		cmocka_unit_test(there_are_seven_bits),
		cmocka_unit_test(all_ways_of_a_fat_tree_are_taken),
		cmocka_unit_test(another_switch_comes_before_another_cable),
		cmocka_unit_test(ways_are_spread_whatever_the_offset),
		cmocka_unit_test(another_sm_may_have_another_lmc),
		cmocka_unit_test(of_two_that_claim_a_lid_one_has_it),
		cmocka_unit_test(a_port_that_comes_back_has_its_lids_again),
		cmocka_unit_test(who_gets_no_lids_is_counted),
	};

	return harness_run(tests);
}
