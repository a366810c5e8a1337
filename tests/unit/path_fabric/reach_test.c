// SPDX-License-Identifier: BSD-2-Clause
/*
 * The path's answers on fabrics of several shapes with tables of all sorts: they are what
 * the fabric's walk says, and what a walk says that knows the tables and links alone.
 */
#include <errno.h>

#include "unit/fabric_net/world.h"

#include "path/fabric/fabric_path.h"

#define HOSTS_MAX   24u
#define MLIDS       3u
#define FIRST_PLACE 5u /* of host 0; the others' follow, with gaps */

static struct world world;
static struct seat seat;
static struct path_fabric *pf;
static const struct path *path;
static uint32_t hosts[HOSTS_MAX]; /* nodes */
static uint32_t host_count;
static unsigned int follows, follow_again;

static uint32_t place_of(uint32_t host)
{
	return FIRST_PLACE + 3 * host;
}

static bool follow(void *arg)
{
	follows++;
	return follow_again && follow_again--;
}

static const struct path_fabric_port_ops seat_ops = { .receive = seat_receive,
						      .changed = seat_changed };
static const struct path_fabric_port_ops no_ops;

static void begin(struct topology *t)
{
	struct path_fabric_config config = { .timers = &world.timers, .follow = follow };

	world_begin(&world, t);
	config.fabric = world.fabric;
	assert_int_equal(path_fabric_create(&config, &pf), 0);
	path = path_fabric_path(pf);
	host_count = 0;
	for (uint32_t n = 0; n < t->count && host_count < HOSTS_MAX; n++)
		if (!t->nodes[n].is_switch)
			hosts[host_count++] = n;
	memset(&seat, 0, sizeof(seat));
	seat.world = &world;
	seat.port = fabric_hca_port(world.fabric, 0);
	seat.next_tid = 1;
	for (uint32_t h = 0; h < host_count; h++)
		assert_int_equal(path_fabric_bind(pf, place_of(h),
						  fabric_hca_port(world.fabric, h),
						  h ? &no_ops : &seat_ops, &seat),
				 0);
	world_configure(&world, &seat, hosts[0]);
	world_run(&world);
	follows = 0;
}

static void end(void)
{
	path_fabric_destroy(pf);
	world_end(&world);
}

/* -- multicast against two other walks ---------------------------------------------------- */

static bool reached[HOSTS_MAX];

static void by_the_fabric(void *arg, struct fabric_port *port)
{
	for (uint32_t h = 0; h < host_count; h++)
		if (fabric_hca_port(world.fabric, h) == port)
			reached[h] = true;
}

static uint32_t host_of(uint32_t node)
{
	for (uint32_t h = 0; h < host_count; h++)
		if (hosts[h] == node)
			return h;
	return HOSTS_MAX;
}

/* A copy comes into the switch by that port. */
static bool came[WORLD_NODES][64];

static void hop(uint32_t node, unsigned int in, uint16_t mlid)
{
	const struct topology_node *n = &world.topology->nodes[node];

	if (!n->is_switch) {
		if (host_of(node) < HOSTS_MAX)
			reached[host_of(node)] = true;
		return;
	}
	if (came[node][in])
		return;
	came[node][in] = true;
	for (unsigned int out = 1; out <= n->ports; out++)
		if (out != in && n->links[out].node != UINT32_MAX &&
		    fabric_mft_has(world.fabric, node, mlid, out))
			hop(n->links[out].node, n->links[out].port, mlid);
}

static void by_hops(uint32_t from, uint16_t mlid)
{
	const struct topology_link *link = &world.topology->nodes[hosts[from]].links[1];

	memset(came, 0, sizeof(came));
	hop(link->node, link->port, mlid);
}

static void assert_same(const bool answers[HOSTS_MAX][HOSTS_MAX], uint16_t mlid)
{
	for (uint32_t from = 0; from < host_count; from++) {
		bool hops[HOSTS_MAX];

		memset(reached, 0, sizeof(reached));
		by_hops(from, mlid);
		memcpy(hops, reached, sizeof(hops));
		memset(reached, 0, sizeof(reached));
		fabric_walk_multicast(fabric_hca_port(world.fabric, from), mlid,
				      IB_PKEY_DEFAULT_FULL, by_the_fabric, NULL);
		for (uint32_t to = 0; to < host_count; to++) {
			/* One's own is the loopback's, whatever comes back. */
			assert_true(from != to || answers[to][from]);
			if (from == to)
				continue;
			assert_int_equal(hops[to], reached[to]);
			assert_int_equal(answers[to][from], reached[to]);
		}
	}
}

static void compare(uint16_t mlid)
{
	static const uint8_t mgid[16] = { 0xff };
	bool answers[HOSTS_MAX][HOSTS_MAX] = { 0 }; /* [to][from] */

	for (uint32_t to = 0; to < host_count; to++) {
		uint32_t ports[2 * HOSTS_MAX];
		int n = path->ops->ingress_ports(path->arg, place_of(to), mgid, mlid,
						 ports, 2 * HOSTS_MAX);

		assert_true(n >= 1 && n <= (int)host_count);
		assert_int_equal(ports[0], place_of(to));
		for (int i = 0; i < n; i++) {
			uint32_t from = (ports[i] - FIRST_PLACE) / 3;

			assert_int_equal(ports[i], place_of(from));
			assert_false(answers[to][from]);
			answers[to][from] = true;
		}
		/* Asked with too little room, it says the same number. */
		assert_int_equal(path->ops->ingress_ports(path->arg, place_of(to), mgid,
							  mlid, ports, 1),
				 n);
		assert_int_equal(path->ops->ingress_ports(path->arg, place_of(to), mgid,
							  mlid, NULL, 0),
				 n);
	}
	assert_same(answers, mlid);
}

static uint32_t chance(uint32_t n)
{
	return (uint32_t)random_below(&world.random, n);
}

/* Any ports, so that there are loops, dead ends and copies that come back. */
static void scramble(uint16_t mlid)
{
	uint32_t density = 1 + chance(4);

	for (uint32_t n = 0; n < world.topology->count; n++) {
		uint16_t mask = 0;

		if (!world.topology->nodes[n].is_switch || !world.routes[n].reached)
			continue;
		for (unsigned int p = 1; p <= world.topology->nodes[n].ports && p < 16;
		     p++)
			mask |= (uint16_t)((chance(4) < density) << p);
		set_mft(&seat, &world.routes[n], mlid, 0, mask);
	}
}

static void try_random_tables(struct topology *t)
{
	begin(t);
	for (unsigned int turn = 0; turn < harness_count(6, 100); turn++) {
		for (uint16_t g = 0; g < MLIDS; g++)
			scramble(IB_LID_MULTICAST_BASE + g);
		for (uint16_t g = 0; g < MLIDS; g++)
			compare(IB_LID_MULTICAST_BASE + g);
		compare(IB_LID_MULTICAST_BASE + MLIDS); /* in no table */
	}
	end();
}

static void a_star_is_walked_as_the_tables_say(void **state)
{
	struct topology *t;

	assert_int_equal(topology_star(9, 7, &t), 0);
	try_random_tables(t);
}

static void a_ring_is_walked_as_the_tables_say(void **state)
{
	struct topology *t;

	assert_int_equal(topology_ring(5, 3, 7, &t), 0);
	try_random_tables(t);
}

static void two_levels_are_walked_as_the_tables_say(void **state)
{
	struct topology *t;

	assert_int_equal(topology_two_level(4, 2, 4, 7, &t), 0);
	try_random_tables(t);
}

static void a_fat_tree_is_walked_as_the_tables_say(void **state)
{
	struct topology *t;

	assert_int_equal(topology_fat_tree(4, 7, &t), 0);
	try_random_tables(t);
}

/* -- unicast -------------------------------------------------------------------------- */

static bool sends_to(uint32_t from, uint32_t to, uint16_t lid)
{
	uint64_t senders[2] = { 0 };

	path->ops->senders(path->arg, place_of(to), lid, senders, 2);
	return senders[place_of(from) / 64] >> (place_of(from) % 64) & 1;
}

static void walk_lids(struct topology *t)
{
	uint32_t lost;

	begin(t);
	for (unsigned int turn = 0; turn < 2; turn++) {
		lost = 0;
		for (uint32_t from = 0; from < host_count; from++)
			for (uint32_t to = 0; to < host_count; to++) {
				uint16_t lid = world_lid(hosts[to]);
				bool there = fabric_walk_unicast(
						     fabric_hca_port(world.fabric, from),
						     lid, IB_PKEY_DEFAULT_FULL) ==
					     fabric_hca_port(world.fabric, to);

				assert_int_equal(sends_to(from, to, lid), there);
				/* That LID is not at the other one. */
				assert_false(
					sends_to(from, to, (uint16_t)(lid + host_count)));
				lost += !there;
			}
		assert_int_equal(lost == 0, turn == 0);
		fabric_link_set(world.fabric, t->nodes[hosts[1]].name, 1, false);
		world_run(&world);
	}
	assert_false(sends_to(0, HOSTS_MAX, world_lid(hosts[0])));
	end();
}

static void lids_are_walked_as_the_tables_say(void **state)
{
	struct topology *t;

	assert_int_equal(topology_ring(4, 2, 7, &t), 0);
	walk_lids(t);
	assert_int_equal(topology_two_level(4, 2, 4, 7, &t), 0);
	walk_lids(t);
	assert_int_equal(topology_star(9, 7, &t), 0);
	walk_lids(t);
}

/* With two bits of LMC, from 128 on; tables have them as `ways` says. */
#define LMC       2u
#define LIDS      (HOSTS_MAX << LMC)
#define FIRST_LID 128u

static uint8_t ways[WORLD_NODES][LIDS];

static void spread_lids(void)
{
	for (uint32_t h = 0; h < host_count; h++) {
		const struct world_route *to = &world.routes[hosts[h]];
		struct smp_port_info info = port_info_for_set(&seat, to, 0);

		info.lid = (uint16_t)(FIRST_LID + (h << LMC));
		info.lmc = LMC;
		must(set_port_info(&seat, to, 0, &info));
	}
}

/* Of each switch and LID: the shortest way, any port, or none. */
static void scramble_ways(void)
{
	unsigned int distance[WORLD_NODES];

	for (uint32_t lid = 0; lid < LIDS; lid++) {
		uint32_t h = lid >> LMC;

		if (h < host_count)
			world_distances(&world, hosts[h], distance);
		for (uint32_t n = 0; n < world.topology->count; n++) {
			const struct topology_node *node = &world.topology->nodes[n];
			uint32_t which = h < host_count ? chance(10) : 0;

			if (!node->is_switch)
				continue;
			ways[n][lid] = which == 0 ? 0xff
				       : which == 1
					       ? (uint8_t)(1 + chance(node->ports))
					       : world_port_towards(&world, n, distance);
		}
	}
}

static void write_ways(void)
{
	for (uint32_t n = 0; n < world.topology->count; n++) {
		if (!world.topology->nodes[n].is_switch)
			continue;
		set_switch_info(&seat, &world.routes[n], FIRST_LID + LIDS - 1, 0xc3ff);
		for (uint32_t block = 0; block * 64 < LIDS; block++) {
			uint8_t lft[64];

			memset(lft, 0xff, sizeof(lft));
			for (uint32_t i = 0; i < 64 && block * 64 + i < LIDS; i++)
				lft[i] = ways[n][block * 64 + i];
			must(ask(&seat, &world.routes[n], MAD_METHOD_SET, SMP_LINEAR_FT,
				 FIRST_LID / 64 + block, lft));
		}
	}
}

/* The host at which what is sent to the LID leaves the switches; HOSTS_MAX: nowhere. */
static uint32_t host_by_ways(uint32_t from, uint32_t lid)
{
	uint32_t at = world.topology->nodes[hosts[from]].links[1].node;

	for (uint32_t hops = 0; hops < 2 * WORLD_NODES; hops++) {
		const struct topology_node *node = &world.topology->nodes[at];
		uint8_t port;

		if (!node->is_switch)
			return host_of(at);
		port = ways[at][lid];
		if (port == 0 || port > node->ports)
			return HOSTS_MAX;
		at = node->links[port].node;
		if (at == UINT32_MAX)
			return HOSTS_MAX;
	}
	return HOSTS_MAX;
}

static unsigned int compare_lids(void)
{
	unsigned int there = 0;

	for (uint32_t from = 0; from < host_count; from++)
		for (uint32_t i = 0; i < host_count << LMC; i++) {
			uint16_t lid = (uint16_t)(FIRST_LID + i);
			uint32_t to = i >> LMC;
			bool arrives = from == to || host_by_ways(from, i) == to;

			assert_ptr_equal(
				fabric_walk_unicast(fabric_hca_port(world.fabric, from),
						    lid, IB_PKEY_DEFAULT_FULL),
				arrives ? fabric_hca_port(world.fabric, to) : NULL);
			assert_int_equal(sends_to(from, to, lid), arrives);
			there += arrives;
		}
	return there;
}

static void try_lids(struct topology *t)
{
	begin(t);
	spread_lids();
	for (unsigned int turn = 0; turn < harness_count(3, 100); turn++) {
		unsigned int all = host_count * host_count << LMC, there;

		scramble_ways();
		write_ways();
		world_run(&world);
		there = compare_lids();
		assert_true(there > all / 8 && there < all);
	}
	end();
}

static void each_lid_of_a_port_is_walked_by_itself(void **state)
{
	struct topology *t;

	assert_int_equal(topology_ring(4, 2, 7, &t), 0);
	try_lids(t);
	assert_int_equal(topology_two_level(4, 2, 4, 7, &t), 0);
	try_lids(t);
	assert_int_equal(topology_fat_tree(4, 7, &t), 0);
	try_lids(t);
}

/* -- changes ---------------------------------------------------------------------------- */

static void begin_star(void)
{
	struct topology *t;

	assert_int_equal(topology_star(4, 7, &t), 0);
	begin(t);
}

static void who_compiled_is_told_once_for_many_changes(void **state)
{
	begin_star();
	for (unsigned int i = 0; i < 5; i++)
		path_fabric_routes_changed(pf);
	assert_int_equal(follows, 0); /* not from inside */
	world_run(&world);
	assert_int_equal(follows, 1);
	follow_again = 3;
	path_fabric_routes_changed(pf);
	world_run(&world);
	assert_int_equal(follows, 5);
	world_run(&world);
	assert_int_equal(follows, 5);
	path_fabric_routes_changed(NULL);
	end();
}

static void lids_and_tables_of_a_port_are_part_of_the_answers(void **state)
{
	struct smp_port_info info;
	uint64_t before;

	begin_star();
	before = path->ops->generation(path->arg);
	info = port_info_for_set(&seat, &world.routes[hosts[1]], 0);
	info.lid = 99;
	must(set_port_info(&seat, &world.routes[hosts[1]], 0, &info));
	world_run(&world);
	assert_int_equal(follows, 1);
	assert_true(path->ops->generation(path->arg) > before);
	end();
}

static void a_multicast_table_is_part_of_the_answers_for_its_lid(void **state)
{
	uint64_t all, senders, mlids[2];
	uint32_t hub;

	begin_star();
	for (hub = 0; !world.topology->nodes[hub].is_switch; hub++)
		;
	for (unsigned int turn = 0; turn < 2; turn++) {
		all = path->ops->generation(path->arg);
		senders = path->ops->senders_generation(path->arg);
		for (uint16_t i = 0; i < 2; i++)
			mlids[i] = path->ops->mlid_generation(
				path->arg, IB_LID_MULTICAST_BASE + 4 + i);
		if (turn == 0)
			set_mft(&seat, &world.routes[hub], IB_LID_MULTICAST_BASE + 4, 0,
				0x1e);
		else
			fabric_link_set(world.fabric, world.topology->nodes[hub].name, 2,
					false);
		assert_true(path->ops->generation(path->arg) > all);
		assert_int_equal(path->ops->senders_generation(path->arg) > senders,
				 turn == 1);
		assert_true(path->ops->mlid_generation(path->arg, IB_LID_MULTICAST_BASE +
									  4) > mlids[0]);
		assert_int_equal(path->ops->mlid_generation(
					 path->arg, IB_LID_MULTICAST_BASE + 5) > mlids[1],
				 turn == 1);
	}
	end();
}

static void a_port_that_is_bound_or_not_changes_answers(void **state)
{
	static const uint8_t mgid[16] = { 0xff };
	uint32_t hub, ports[8];

	begin_star();
	for (hub = 0; !world.topology->nodes[hub].is_switch; hub++)
		;
	set_mft(&seat, &world.routes[hub], 0xc000, 0, 0x1e);
	assert_int_equal(
		path->ops->ingress_ports(path->arg, place_of(0), mgid, 0xc000, ports, 8),
		4);
	world_run(&world);
	follows = 0;
	path_fabric_unbind(pf, place_of(2));
	path_fabric_unbind(pf, place_of(2));
	assert_null(path_fabric_port(pf, place_of(2)));
	assert_int_equal(
		path->ops->ingress_ports(path->arg, place_of(0), mgid, 0xc000, ports, 8),
		3);
	assert_int_equal(
		path->ops->ingress_ports(path->arg, place_of(2), mgid, 0xc000, ports, 8),
		1);
	world_run(&world);
	assert_int_equal(follows, 1);
	assert_int_equal(path_fabric_bind(pf, 1000, fabric_hca_port(world.fabric, 2),
					  &no_ops, NULL),
			 0);
	assert_int_equal(
		path->ops->ingress_ports(path->arg, place_of(0), mgid, 0xc000, ports, 8),
		4);
	end();
}

static void a_place_and_a_port_are_bound_once(void **state)
{
	begin_star();
	assert_int_equal(path_fabric_bind(pf, place_of(0),
					  fabric_switch_port(world.fabric, 0), &no_ops,
					  NULL),
			 -EEXIST);
	assert_int_equal(
		path_fabric_bind(pf, 1, fabric_hca_port(world.fabric, 0), &no_ops, NULL),
		-EEXIST);
	assert_int_equal(path_fabric_bind(pf, UINT32_MAX,
					  fabric_switch_port(world.fabric, 0), &no_ops,
					  NULL),
			 -EINVAL);
	end();
}

/* -- a port --------------------------------------------------------------------------- */

static void a_port_is_described_in_verbs_terms(void **state)
{
	struct fabric_port_info from;
	struct path_ib_port port;

	begin_star();
	assert_int_equal(path_fabric_describe(pf, 1, &port), -ENOENT);
	assert_int_equal(path_fabric_describe(pf, place_of(2), &port), 0);
	fabric_port_info(fabric_hca_port(world.fabric, 2), &from);
	assert_int_equal(port.state, SMP_PORT_ACTIVE);
	assert_int_equal(port.phys_state, SMP_PHYS_LINK_UP);
	assert_int_equal(port.lid, world_lid(hosts[2]));
	assert_int_equal(port.sm_lid, world_lid(hosts[0]));
	assert_int_equal(port.active_width, 2);
	assert_int_equal(port.active_speed, from.info.speed_ext_active
						    ? from.info.speed_ext_active * 16
						    : from.info.speed_active);
	assert_true(port.active_mtu >= 1 && port.active_mtu <= port.max_mtu);
	assert_int_equal(port.pkeys[0], IB_PKEY_DEFAULT_FULL);
	assert_int_equal(port.gids[0].raw[0], 0xfe);
	assert_int_equal(port.gids[0].raw[1], 0x80);
	assert_int_equal(port.gids[0].raw[15], from.guids[0] & 0xff);
	end();
}

/* To the general services of a node. */
static struct ib_packet question_to(uint32_t node)
{
	static const uint8_t mad[256] = { 1, MAD_CLASS_SUBN_ADM, 2, MAD_METHOD_GET };

	return (struct ib_packet){
		.dlid = world_lid(node),
		.pkey = IB_PKEY_DEFAULT_FULL,
		.dest_qp = 1,
		.src_qp = 1,
		.qkey = IB_GSI_QKEY,
		.payload = mad,
		.length = sizeof(mad),
	};
}

static void management_datagrams_come_and_go(void **state)
{
	struct ib_packet packet;

	begin_star();
	packet = question_to(hosts[0]);
	seat_forget(&seat);
	assert_int_equal(path->ops->send_mad(path->arg, place_of(3), &packet), 0);
	world_run(&world);
	assert_int_equal(seat.count, 1);
	assert_int_equal(seat.inbox[0].packet.slid, world_lid(hosts[3]));
	assert_int_equal(path->ops->send_mad(path->arg, 1, &packet), -ENETDOWN);
	end();
}

static unsigned int node_heard, manager_heard;
static unsigned int node_changes, manager_changes;
static bool manager_takes;

static void node_receives(void *arg, const struct ib_packet *packet)
{
	node_heard++;
}

static bool manager_receives(void *arg, const struct ib_packet *packet)
{
	manager_heard++;
	return manager_takes;
}

static void node_changed(void *arg, unsigned int changes)
{
	node_changes |= changes;
}

static void manager_changed(void *arg, unsigned int changes)
{
	manager_changes |= changes;
}

/* A subnet manager beside the node hears all of it, and takes what is its own. */
static void a_manager_hears_first(void **state)
{
	static const struct path_fabric_port_ops ops = { .receive = node_receives,
							 .changed = node_changed };
	static const struct path_fabric_listener listener = { .receive = manager_receives,
							      .changed =
								      manager_changed };
	struct ib_packet packet;
	struct fabric_port *port;

	begin_star();
	port = fabric_hca_port(world.fabric, 2);
	path_fabric_unbind(pf, place_of(2));
	assert_int_equal(path_fabric_listen(pf, port, &listener, NULL), -ENOENT);
	assert_int_equal(path_fabric_bind(pf, place_of(2), port, &ops, NULL), 0);
	packet = question_to(hosts[2]);
	for (unsigned int round = 0; round < 4; round++) {
		manager_takes = round == 2;
		assert_int_equal(
			path_fabric_listen(pf, port, round % 3 ? &listener : NULL, NULL),
			0);
		assert_int_equal(path->ops->send_mad(path->arg, place_of(3), &packet), 0);
		world_run(&world);
	}
	assert_int_equal(manager_heard, 2);
	/* Of its port he hears as long as he listens, and the node always. */
	manager_changes = node_changes = 0;
	fabric_port_set_issm(port, FABRIC_ISSM_OURS, true);
	world_run(&world);
	assert_int_equal(manager_changes, 0);
	assert_true(node_changes & FABRIC_PORT_OTHER);
	assert_int_equal(path_fabric_listen(pf, port, &listener, NULL), 0);
	fabric_port_set_issm(port, FABRIC_ISSM_OURS, false);
	world_run(&world);
	assert_true(manager_changes & FABRIC_PORT_OTHER);
	assert_int_equal(node_heard, 3);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_star_is_walked_as_the_tables_say),
		cmocka_unit_test(a_ring_is_walked_as_the_tables_say),
		cmocka_unit_test(two_levels_are_walked_as_the_tables_say),
		cmocka_unit_test(a_fat_tree_is_walked_as_the_tables_say),
		cmocka_unit_test(lids_are_walked_as_the_tables_say),
		cmocka_unit_test(each_lid_of_a_port_is_walked_by_itself),
		cmocka_unit_test(who_compiled_is_told_once_for_many_changes),
		cmocka_unit_test(lids_and_tables_of_a_port_are_part_of_the_answers),
		cmocka_unit_test(a_multicast_table_is_part_of_the_answers_for_its_lid),
		cmocka_unit_test(a_port_that_is_bound_or_not_changes_answers),
		cmocka_unit_test(a_place_and_a_port_are_bound_once),
		cmocka_unit_test(a_port_is_described_in_verbs_terms),
		cmocka_unit_test(management_datagrams_come_and_go),
		cmocka_unit_test(a_manager_hears_first),
	};

	return harness_run(tests);
}
