// SPDX-License-Identifier: BSD-2-Clause
/*
 * Packets by the switches' tables: on regular fabrics with tables like a subnet manager's,
 * and on random ones with random tables against a model that knows neither the fabric's
 * code nor its structures.
 */
#include <errno.h>
#include <stdio.h>

#include "world.h"

static struct world world;
static struct seat seat;

static void begin_configured(struct topology *t)
{
	world_begin(&world, t);
	seat_take(&seat, &world, t->nodes[0].name);
	world_configure(&world, &seat, 0);
}

static struct fabric_port *host(unsigned int n)
{
	return fabric_hca_port(world.fabric, n);
}

static void assert_all_reach_all(void)
{
	uint32_t count = world.topology->count;

	for (uint32_t from = 0; from < count; from++) {
		const char *name = world.topology->nodes[from].name;
		struct fabric_port *a = fabric_find_port(world.fabric, name, 0);

		for (uint32_t to = 0; to < count; to++) {
			const char *peer = world.topology->nodes[to].name;

			assert_ptr_equal(fabric_walk_unicast(a, world_lid(to), 0xffff),
					 fabric_find_port(world.fabric, peer, 0));
		}
		assert_null(fabric_walk_unicast(a, world_lid(count), 0xffff));
		assert_null(fabric_walk_unicast(a, 0, 0xffff));
		assert_null(fabric_walk_unicast(a, 0xc000, 0xffff));
	}
}

static void everybody_reaches_everybody(void **state)
{
	struct topology *t;

	assert_int_equal(topology_star(5, 1, &t), 0);
	begin_configured(t);
	assert_all_reach_all();
	world_end(&world);
	assert_int_equal(topology_ring(5, 2, 1, &t), 0);
	begin_configured(t);
	assert_all_reach_all();
	world_end(&world);
	assert_int_equal(topology_fat_tree(4, 1, &t), 0);
	begin_configured(t);
	assert_all_reach_all();
	world_end(&world);
	assert_int_equal(topology_two_level(3, 2, 3, 1, &t), 0);
	begin_configured(t);
	assert_all_reach_all();
	world_end(&world);
}

/* -- multicast --------------------------------------------------------------------- */

#define REACHED_MAX 8192

struct reached {
	struct fabric_port *ports[REACHED_MAX];
	unsigned int count;
};

static struct reached reached;

static void note(void *arg, struct fabric_port *port)
{
	struct reached *r = arg;

	assert_true(r->count < REACHED_MAX);
	r->ports[r->count++] = port;
}

static unsigned int walk(unsigned int from, uint16_t mlid, uint16_t pkey)
{
	reached.count = 0;
	fabric_walk_multicast(host(from), mlid, pkey, note, &reached);
	return reached.count;
}

static unsigned int times_reached(const struct fabric_port *port)
{
	unsigned int times = 0;

	for (unsigned int i = 0; i < reached.count; i++)
		times += reached.ports[i] == port;
	return times;
}

static void a_star_copies_to_the_others_only(void **state)
{
	struct topology *t;

	assert_int_equal(topology_star(20, 1, &t), 0);
	begin_configured(t);
	/* Members on ports 1, 3, 18 and the switch itself. */
	set_mft(&seat, &world.routes[20], 0xc005, 0, 1 << 1 | 1 << 3 | 1);
	set_mft(&seat, &world.routes[20], 0xc005, 1, 1 << 2);
	assert_int_equal(walk(0, 0xc005, 0xffff), 3);
	assert_int_equal(times_reached(host(0)), 0);
	assert_int_equal(times_reached(host(2)), 1);
	assert_int_equal(times_reached(host(17)), 1);
	assert_int_equal(times_reached(fabric_switch_port(world.fabric, 0)), 1);
	assert_int_equal(walk(9, 0xc005, 0xffff), 4); /* a sender that is no member */
	assert_int_equal(walk(0, 0xc006, 0xffff), 0);
	reached.count = 0;
	fabric_walk_multicast(fabric_switch_port(world.fabric, 0), 0xc005, 0xffff, note,
			      &reached);
	assert_int_equal(reached.count, 3);
	/* Only 1024 entries there are. */
	assert_int_equal(walk(0, 0xc400, 0xffff), 0);
	assert_int_equal(walk(0, 0xffff, 0xffff), 0);
	world_end(&world);
}

static bool some_table_has(uint16_t mlid)
{
	bool has = false;

	for (unsigned int n = 0; n < fabric_node_count(world.fabric); n++)
		has |= fabric_mft_has(world.fabric, n, mlid, 3);
	return has;
}

static void the_top_of_the_table_is_honoured(void **state)
{
	struct topology *t;

	assert_int_equal(topology_star(4, 1, &t), 0);
	begin_configured(t);
	set_mft(&seat, &world.routes[4], 0xc020, 0, 1 << 1 | 1 << 3);
	assert_int_equal(walk(0, 0xc020, 0xffff), 1);
	assert_true(some_table_has(0xc020));
	set_switch_info(&seat, &world.routes[4], 10, 0xc01f);
	assert_int_equal(walk(0, 0xc020, 0xffff), 0);
	assert_false(some_table_has(0xc020));
	set_switch_info(&seat, &world.routes[4], 10, 0xc020);
	assert_int_equal(walk(0, 0xc020, 0xffff), 1);
	assert_true(some_table_has(0xc020));
	set_switch_info(&seat, &world.routes[4], 10, 0);
	assert_int_equal(walk(0, 0xc020, 0xffff), 0);
	assert_false(some_table_has(0xc020));
	world_end(&world);
}

static void what_the_table_lacks_goes_to_the_default_port(void **state)
{
	struct smp_switch_info info;
	uint8_t data[64] = { 0 };
	struct topology *t;

	assert_int_equal(topology_star(4, 1, &t), 0);
	begin_configured(t);
	smp_switch_info_get(must(ask(&seat, &world.routes[4], MAD_METHOD_GET,
				     SMP_SWITCH_INFO, 0, NULL)),
			    &info);
	info.default_mcast_primary = 2;
	info.default_mcast_not_primary = 3;
	smp_switch_info_put(data, &info);
	must(ask(&seat, &world.routes[4], MAD_METHOD_SET, SMP_SWITCH_INFO, 0, data));
	assert_int_equal(walk(0, 0xd000, 0xffff), 1);
	assert_int_equal(times_reached(host(1)), 1);
	assert_int_equal(walk(1, 0xd000, 0xffff), 1);
	assert_int_equal(times_reached(host(2)), 1);
	assert_int_equal(walk(0, 0xc000, 0xffff), 0); /* covered, and empty */
	world_end(&world);
}

static void a_loop_in_the_tables_ends(void **state)
{
	struct topology *t;

	assert_int_equal(topology_ring(4, 1, 1, &t), 0);
	begin_configured(t);
	/* All the way round, both ways, and to each host. */
	for (unsigned int i = 0; i < 4; i++)
		set_mft(&seat, &world.routes[4 + i], 0xc000, 0, 1 << 1 | 1 << 2 | 1 << 3);
	walk(0, 0xc000, 0xffff);
	for (unsigned int i = 1; i < 4; i++)
		assert_in_range(times_reached(host(i)), 1, 4);
	/* Two copies go round, and 4 switches are as far as they come. */
	assert_int_equal(reached.count, 6);
	world_end(&world);
}

static void many_loops_end_soon_enough(void **state)
{
	struct topology *t;
	unsigned int ports = 0;

	assert_int_equal(topology_two_level(8, 8, 1, 1, &t), 0);
	begin_configured(t);
	for (uint32_t i = 8; i < t->count; i++)
		set_mft(&seat, &world.routes[i], 0xc000, 0, 0xffff);
	for (uint32_t i = 0; i < t->count; i++)
		ports += t->nodes[i].ports + 1u;
	walk(0, 0xc000, 0xffff);
	assert_in_range(reached.count, 8, 4 * ports);
	for (unsigned int i = 1; i < 8; i++)
		assert_true(times_reached(host(i)) > 0);
	world_end(&world);
}

/* -- states, P_Keys ---------------------------------------------------------------- */

static void data_leaves_an_active_port_and_arrives_at_an_armed_one(void **state)
{
	struct topology *t;
	struct seat other;
	uint8_t mad[256];

	assert_int_equal(topology_star(3, 1, &t), 0);
	world_begin(&world, t);
	seat_take(&seat, &world, "h1");
	seat_take(&other, &world, "h2");
	world_find_routes(&world, 0, 1);
	world_set_lids(&world, &seat, 1);
	world_set_lfts(&world, &seat);
	set_mft(&seat, &world.routes[3], 0xc000, 0, 1 << 1 | 1 << 2);
	assert_null(fabric_walk_unicast(host(0), 2, 0xffff));
	must(set_state(&seat, &world.routes[0], 1, SMP_PORT_ARMED));
	smp_begin(mad, MAD_CLASS_SUBN_ADM, MAD_METHOD_GET, 0x35, 0, 1);
	assert_int_equal(gmp_send(&seat, mad, 2, 0xffff), -ENETDOWN);
	must(set_state(&seat, &world.routes[0], 1, SMP_PORT_ACTIVE));
	assert_null(fabric_walk_unicast(host(0), 2, 0xffff));
	must(set_state(&seat, &world.routes[3], 1, SMP_PORT_ARMED));
	must(set_state(&seat, &world.routes[3], 2, SMP_PORT_ARMED));
	must(set_state(&seat, &world.routes[3], 2, SMP_PORT_ACTIVE));
	assert_null(fabric_walk_unicast(host(0), 2, 0xffff));
	assert_int_equal(walk(0, 0xc000, 0xffff), 0);
	must(set_state(&seat, &world.routes[1], 1, SMP_PORT_ARMED));
	assert_ptr_equal(fabric_walk_unicast(host(0), 2, 0xffff), host(1));
	assert_int_equal(walk(0, 0xc000, 0xffff), 1);
	assert_null(fabric_walk_unicast(host(1), 1, 0xffff));
	assert_int_equal(gmp_send(&seat, mad, 2, 0xffff), 0);
	world_run(&world);
	assert_int_equal(other.count, 1);
	assert_int_equal(other.inbox[0].packet.slid, 1);
	assert_int_equal(other.inbox[0].packet.dlid, 2);
	assert_int_equal(other.inbox[0].packet.src_qp, 1);
	assert_int_equal(other.inbox[0].packet.qkey, IB_GSI_QKEY);
	world_end(&world);
}

static void lid_routed_smps_pass_from_init_on(void **state)
{
	struct smp_node_info info;
	struct topology *t;

	assert_int_equal(topology_ring(3, 1, 1, &t), 0);
	world_begin(&world, t);
	seat_take(&seat, &world, "h1");
	assert_null(ask_lid(&seat, 5, MAD_METHOD_GET, SMP_NODE_INFO, 0));
	world_find_routes(&world, 0, 1);
	world_set_lids(&world, &seat, 1);
	world_set_lfts(&world, &seat);
	smp_node_info_get(must(ask_lid(&seat, 5, MAD_METHOD_GET, SMP_NODE_INFO, 0)),
			  &info);
	assert_int_equal(info.node_guid, t->nodes[4].node_guid);
	assert_int_equal(info.local_port, 3); /* by the trunk that it came */
	smp_node_info_get(must(ask_lid(&seat, 3, MAD_METHOD_GET, SMP_NODE_INFO, 0)),
			  &info);
	assert_int_equal(info.node_guid, t->nodes[2].node_guid);
	smp_node_info_get(must(ask_lid(&seat, 1, MAD_METHOD_GET, SMP_NODE_INFO, 0)),
			  &info);
	assert_int_equal(info.node_guid, t->nodes[0].node_guid);
	assert_int_equal(seat.inbox[0].packet.slid, 1);
	world_end(&world);
}

static void a_switch_enforces_pkeys_where_it_is_told(void **state)
{
	uint8_t pkeys[64] = { 0x80, 0x05, 0x00, 0x06 };
	struct smp_port_info info;
	struct fabric_counters c;
	struct topology *t;
	uint8_t mad[256];

	assert_int_equal(topology_star(3, 1, &t), 0);
	begin_configured(t);
	set_mft(&seat, &world.routes[3], 0xc000, 0, 1 << 1 | 1 << 2 | 1 << 3);
	must(ask(&seat, &world.routes[3], MAD_METHOD_SET, SMP_PKEY_TABLE, 2 << 16,
		 pkeys));
	assert_ptr_equal(fabric_walk_unicast(host(0), 2, 0xffff), host(1));
	for (uint8_t in = 0; in < 2; in++) {
		info = port_info_for_set(&seat, &world.routes[3], 2);
		info.enforcement = in ? 0x8 : 0x4;
		must(set_port_info(&seat, &world.routes[3], 2, &info));
		assert_int_equal(fabric_walk_unicast(host(0), 2, 0xffff) != NULL, in);
		assert_int_equal(fabric_walk_unicast(host(1), 1, 0xffff) != NULL, !in);
		assert_non_null(fabric_walk_unicast(host(0), 2, 0x8005));
		assert_non_null(fabric_walk_unicast(host(1), 1, 0x0005));
		assert_non_null(fabric_walk_unicast(host(1), 1, 0x8006));
		/* Two limited members do not talk. */
		assert_int_equal(fabric_walk_unicast(host(1), 1, 0x0006) != NULL, !in);
		assert_int_equal(walk(0, 0xc000, 0xffff), in ? 2 : 1);
		assert_int_equal(walk(1, 0xc000, 0xffff), in ? 0 : 2);
		assert_int_equal(walk(0, 0xc000, 0x8005), 2);
	}
	/* A GMP meets the tables of switches and of its target; SMPs meet none. */
	smp_begin(mad, MAD_CLASS_SUBN_ADM, MAD_METHOD_GET, 0x35, 0, 1);
	seat_take_port(&seat, &world, host(1));
	assert_int_equal(gmp_send(&seat, mad, 1, 0xffff), 0);
	assert_int_equal(gmp_send(&seat, mad, 1, 0x8005), 0);
	world_run(&world);
	fabric_counters(world.fabric, &c);
	assert_int_equal(c.bad_pkey, 2);
	must(ask_lid(&seat, 1, MAD_METHOD_GET, SMP_NODE_INFO, 0));
	world_end(&world);
}

static void a_port_takes_all_lids_of_its_lmc(void **state)
{
	struct smp_port_info info;
	struct topology *t;
	uint8_t lft[64];

	assert_int_equal(topology_star(2, 1, &t), 0);
	begin_configured(t);
	info = port_info_for_set(&seat, &world.routes[1], 1);
	info.lid = 8;
	info.lmc = 2;
	must(set_port_info(&seat, &world.routes[1], 1, &info));
	memset(lft, 2, sizeof(lft));
	lft[world_lid(0)] = 1;
	set_switch_info(&seat, &world.routes[2], 63, 0);
	must(ask(&seat, &world.routes[2], MAD_METHOD_SET, SMP_LINEAR_FT, 0, lft));
	for (uint16_t lid = 2; lid < 20; lid++)
		assert_ptr_equal(fabric_walk_unicast(host(0), lid, 0xffff),
				 lid >= 8 && lid < 12 ? host(1) : NULL);
	/* It answers by the one that was asked. */
	seat_forget(&seat);
	for (uint16_t lid = 8; lid < 12; lid++) {
		must(ask_lid(&seat, lid, MAD_METHOD_GET, SMP_NODE_INFO, 0));
		assert_int_equal(seat.inbox[0].packet.slid, lid);
	}
	set_switch_info(&seat, &world.routes[2], 9, 0);
	assert_non_null(fabric_walk_unicast(host(0), 9, 0xffff));
	assert_null(fabric_walk_unicast(host(0), 10, 0xffff)); /* above LinearFDBTop */
	world_end(&world);
}

/* -- random tables against a model ------------------------------------------------- */

#define MODEL_NODES  16
#define MODEL_PORTS  24
#define MODEL_LIDS   24
#define MODEL_GROUPS 4

struct model {
	struct topology *t;
	uint8_t lft[MODEL_NODES][MODEL_LIDS];
	bool mft[MODEL_NODES][MODEL_GROUPS][MODEL_PORTS];
	uint8_t state[MODEL_NODES][MODEL_PORTS];
	bool enforce_in[MODEL_NODES][MODEL_PORTS], enforce_out[MODEL_NODES][MODEL_PORTS];
	bool has_pkey[MODEL_NODES][MODEL_PORTS]; /* 0x8001 */
	uint32_t switches;
	unsigned int copies;
	unsigned int hits[MODEL_NODES];
};

static struct model model;

static unsigned int chance(unsigned int bound)
{
	return (unsigned int)random_below(&world.random, bound);
}

/* A tree of switches so that all are configured, more links at random, hosts. */
static struct topology *random_topology(struct random *random)
{
	static char text[4096];
	unsigned int switches = 1 + (unsigned int)random_below(random, 5), hosts = 0;
	unsigned int used[6] = { 0 };
	size_t at = 0;
	struct topology *t;
	char error[100];

	for (unsigned int i = 0; i < switches; i++) {
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       "Switch 20 \"s%u\"\n", i);
		for (unsigned int links = i ? 1 + (unsigned int)random_below(random, 3)
					    : 0;
		     links--;) {
			unsigned int to = (unsigned int)random_below(random, i);

			if (used[i] < 7 && used[to] < 14)
				at += (size_t)snprintf(text + at, sizeof(text) - at,
						       "[%u] \"s%u\"[%u]\n", ++used[i],
						       to, ++used[to]);
		}
	}
	for (unsigned int i = 0; i < switches; i++) {
		for (unsigned int n = 1 + (unsigned int)random_below(random, 2); n--;)
			at += (size_t)snprintf(text + at, sizeof(text) - at,
					       "Hca 1 \"h%u\"\n[1] \"s%u\"[%u]\n",
					       hosts++, i, ++used[i]);
	}
	if (topology_parse(text, at, &t, error, sizeof(error)) != 0)
		fail_msg("%s\n%s", error, text);
	return t;
}

static bool model_linked(uint32_t node, unsigned int port)
{
	return model.t->nodes[node].links[port].node != UINT32_MAX;
}

static void choose_tables(void)
{
	for (uint32_t n = 0; n < model.t->count; n++) {
		const struct topology_node *node = &model.t->nodes[n];
		uint8_t usable[MODEL_PORTS], count = 0;

		model.switches += node->is_switch;
		for (unsigned int p = 1; p <= node->ports; p++) {
			if (model_linked(n, p))
				usable[count++] = (uint8_t)p;
		}
		for (unsigned int lid = 0; lid < MODEL_LIDS; lid++)
			model.lft[n][lid] = chance(8)   ? usable[chance(count)]
					    : chance(2) ? 0
							: 0xff;
		for (unsigned int g = 0; g < MODEL_GROUPS; g++) {
			for (unsigned int p = 0; p <= node->ports; p++)
				model.mft[n][g][p] = chance(g + 2) == 0;
		}
		for (unsigned int p = 1; p <= node->ports; p++) {
			model.enforce_in[n][p] = node->is_switch && !chance(6);
			model.enforce_out[n][p] = node->is_switch && !chance(6);
			model.has_pkey[n][p] = chance(3);
			model.state[n][p] =
				chance(8) ? SMP_PORT_ACTIVE : SMP_PORT_INIT + chance(2);
		}
	}
}

static void write_switch(uint32_t n)
{
	const struct world_route *to = &world.routes[n];
	uint8_t lft[64];

	memset(lft, 0xff, sizeof(lft));
	memcpy(lft, model.lft[n], MODEL_LIDS);
	set_switch_info(&seat, to, MODEL_LIDS, 0xc3ff);
	must(ask(&seat, to, MAD_METHOD_SET, SMP_LINEAR_FT, 0, lft));
	for (uint16_t g = 0; g < MODEL_GROUPS; g++) {
		uint32_t mask = 0;

		for (unsigned int p = 0; p <= model.t->nodes[n].ports; p++)
			mask |= (uint32_t)model.mft[n][g][p] << p;
		set_mft(&seat, to, (uint16_t)(0xc000 + g), 0, (uint16_t)mask);
		set_mft(&seat, to, (uint16_t)(0xc000 + g), 1, (uint16_t)(mask >> 16));
	}
}

static void write_port(uint32_t n, unsigned int p)
{
	const struct world_route *to = &world.routes[n];
	uint8_t pkeys[64] = { 0x80, model.has_pkey[n][p] ? 1 : 2 };
	struct smp_port_info info = port_info_for_set(&seat, to, p);

	info.enforcement =
		(uint8_t)(model.enforce_in[n][p] << 3 | model.enforce_out[n][p] << 2);
	for (uint8_t s = SMP_PORT_ARMED; s <= model.state[n][p]; s++) {
		info.state = s;
		must(set_port_info(&seat, to, p, &info));
	}
	if (model.state[n][p] < SMP_PORT_ARMED)
		must(set_port_info(&seat, to, p, &info));
	if (model.t->nodes[n].is_switch)
		must(ask(&seat, to, MAD_METHOD_SET, SMP_PKEY_TABLE, p << 16, pkeys));
}

static void write_tables(void)
{
	world_set_lids(&world, &seat, 1);
	for (uint32_t n = 0; n < model.t->count; n++) {
		if (model.t->nodes[n].is_switch)
			write_switch(n);
		for (unsigned int p = 1; p <= model.t->nodes[n].ports; p++) {
			if (model_linked(n, p))
				write_port(n, p);
		}
	}
}

static bool model_passes(uint32_t n, unsigned int p)
{
	uint32_t m = model.t->nodes[n].links[p].node;
	unsigned int q = model.t->nodes[n].links[p].port;

	if (m == UINT32_MAX || model.state[n][p] != SMP_PORT_ACTIVE)
		return false;
	if (model.enforce_out[n][p] && !model.has_pkey[n][p])
		return false;
	return model.state[m][q] >= SMP_PORT_ARMED &&
	       (!model.enforce_in[m][q] || model.has_pkey[m][q]);
}

/* The node that a packet sent from port 1 of an adapter ends at, or UINT32_MAX. */
static uint32_t model_unicast(uint32_t n, uint16_t lid)
{
	unsigned int p = 1, q;

	if (model.state[n][1] != SMP_PORT_ACTIVE)
		return UINT32_MAX;
	if (lid == world_lid(n))
		return n;
	for (unsigned int hops = 0; hops < 1000; hops++) {
		if (!model_passes(n, p))
			return UINT32_MAX;
		q = model.t->nodes[n].links[p].port;
		n = model.t->nodes[n].links[p].node;
		if (!model.t->nodes[n].is_switch)
			return lid == world_lid(n) ? n : UINT32_MAX;
		p = model.lft[n][lid];
		if (p == 0)
			return lid == world_lid(n) ? n : UINT32_MAX;
		if (p == 0xff || p == q)
			return UINT32_MAX;
	}
	return UINT32_MAX;
}

/* A copy leaves node n by port p, having been through so many switches. */
static void model_flood(uint32_t n, unsigned int p, unsigned int group, uint32_t passed)
{
	uint32_t m;
	unsigned int q;

	if (++model.copies > 100000 || !model_passes(n, p))
		return;
	m = model.t->nodes[n].links[p].node;
	q = model.t->nodes[n].links[p].port;
	if (!model.t->nodes[m].is_switch) {
		model.hits[m]++;
		return;
	}
	if (passed == model.switches)
		return;
	for (unsigned int out = 0; out <= model.t->nodes[m].ports; out++) {
		if (!model.mft[m][group][out] || out == q)
			continue;
		if (out == 0)
			model.copies++, model.hits[m]++;
		else
			model_flood(m, out, group, passed + 1);
	}
}

static void compare_multicast(uint32_t from, struct fabric_port *port, unsigned int group)
{
	unsigned int ports = 0;

	for (uint32_t n = 0; n < model.t->count; n++)
		ports += model.t->nodes[n].ports + 1u;
	model.copies = 0;
	memset(model.hits, 0, sizeof(model.hits));
	if (model.state[from][1] == SMP_PORT_ACTIVE)
		model_flood(from, 1, group, 0);
	reached.count = 0;
	fabric_walk_multicast(port, (uint16_t)(0xc000 + group), 0x8001, note, &reached);
	if (model.copies > 4 * ports) { /* cut short: there is a loop */
		assert_true(reached.count <= 4 * ports);
		return;
	}
	for (uint32_t n = 0; n < model.t->count; n++)
		assert_int_equal(times_reached(fabric_find_port(
					 world.fabric, model.t->nodes[n].name, 0)),
				 model.hits[n]);
}

/* Asked from many ports, one after the other. */
static void compare_arrivals(void)
{
	for (uint32_t to = 0; to < model.t->count; to++) {
		struct fabric_port *end =
			fabric_find_port(world.fabric, model.t->nodes[to].name, 0);

		for (uint16_t lid = 1; lid < MODEL_LIDS; lid++) {
			fabric_arrivals_begin(world.fabric, end, lid, 0x8001);
			for (uint32_t n = 0; n < model.t->count; n++) {
				struct fabric_port *p = fabric_find_port(
					world.fabric, model.t->nodes[n].name, 0);

				assert_int_equal(fabric_arrives(world.fabric, p),
						 fabric_walk_unicast(p, lid, 0x8001) ==
							 end);
			}
		}
	}
}

static unsigned int compare_all(void)
{
	unsigned int arrivals = 0;

	compare_arrivals();

	for (uint32_t n = 0; n < model.t->count; n++) {
		struct fabric_port *p =
			fabric_find_port(world.fabric, model.t->nodes[n].name, 0);

		if (model.t->nodes[n].is_switch)
			continue;
		for (uint16_t lid = 1; lid < MODEL_LIDS; lid++) {
			uint32_t end = model_unicast(n, lid);
			struct fabric_port *expected =
				end == UINT32_MAX
					? NULL
					: fabric_find_port(world.fabric,
							   model.t->nodes[end].name, 0);

			assert_ptr_equal(fabric_walk_unicast(p, lid, 0x8001), expected);
			arrivals += expected && end != n;
		}
		for (unsigned int g = 0; g < MODEL_GROUPS; g++) {
			compare_multicast(n, p, g);
			arrivals += reached.count;
		}
	}
	return arrivals;
}

static void pull_a_cable(void)
{
	uint32_t n = chance(model.t->count);
	unsigned int p = 1 + chance(model.t->nodes[n].ports);
	const struct topology_link *l = &model.t->nodes[n].links[p];

	if (l->node == UINT32_MAX)
		return;
	assert_int_equal(fabric_link_set(world.fabric, model.t->nodes[n].name, p, false),
			 0);
	model.state[n][p] = SMP_PORT_DOWN;
	model.state[l->node][l->port] = SMP_PORT_DOWN;
}

static void random_tables_answer_like_the_model(void **state)
{
	unsigned int turns = harness_count(300, 20000), arrivals = 0;
	struct random random;

	for (unsigned int turn = 0; turn < turns; turn++) {
		uint32_t first = 0;

		random_seed(&random, turn);
		memset(&model, 0, sizeof(model));
		model.t = random_topology(&random);
		assert_true(model.t->count <= MODEL_NODES);
		world_begin(&world, model.t);
		world.random = random;
		while (model.t->nodes[first].is_switch)
			first++;
		seat_take(&seat, &world, model.t->nodes[first].name);
		world_find_routes(&world, first, 1);
		choose_tables();
		write_tables();
		arrivals += compare_all();
		for (unsigned int i = 0; i < 4; i++)
			pull_a_cable();
		arrivals += compare_all();
		world_end(&world);
	}
	assert_true(arrivals > 10 * turns); /* the tables are not that bad */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everybody_reaches_everybody),
		cmocka_unit_test(a_star_copies_to_the_others_only),
		cmocka_unit_test(the_top_of_the_table_is_honoured),
		cmocka_unit_test(what_the_table_lacks_goes_to_the_default_port),
		cmocka_unit_test(a_loop_in_the_tables_ends),
		cmocka_unit_test(many_loops_end_soon_enough),
		cmocka_unit_test(data_leaves_an_active_port_and_arrives_at_an_armed_one),
		cmocka_unit_test(lid_routed_smps_pass_from_init_on),
		cmocka_unit_test(a_switch_enforces_pkeys_where_it_is_told),
		cmocka_unit_test(a_port_takes_all_lids_of_its_lmc),
		cmocka_unit_test(random_tables_answer_like_the_model),
	};

	return harness_run(tests);
}
