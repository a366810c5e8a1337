// SPDX-License-Identifier: BSD-2-Clause
/*
 * InfiniBand devices: what the port tells, who is told of changes, groups by MLID, and
 * entries that follow a path whose answers change, on 40 ports.
 */
#include "world.h"

#include "wire/mtu.h"

#define PORTS 40u
#define MLID  0xc001

/* Who is reached from whom, by MLID parity, and which LIDs. */
static struct {
	bool reach[2][PORTS][PORTS]; /* [MLID & 1][from][to] */
	bool unicast[PORTS][PORTS];
	uint64_t generation;
	struct ib_packet sent;
	uint32_t sent_from;
	int mad_answer;
} fabric;

static int ingress_ports(void *arg, uint32_t port, const uint8_t mgid[16], uint16_t mlid,
			 uint32_t *ret, unsigned int room)
{
	unsigned int n = 1;

	if (room)
		ret[0] = port;
	/* In no good order. */
	for (uint32_t p = PORTS; p-- > 0;)
		if (p != port && fabric.reach[mlid & 1][p][port] && n++ < room)
			ret[n - 1] = p;
	return (int)n;
}

static void senders(void *arg, uint32_t port, uint16_t lid, uint64_t *ret,
		    unsigned int words)
{
	assert_true(words * 64 >= PORTS);
	for (uint32_t from = 0; from < PORTS; from++)
		ret[from / 64] |= (uint64_t)fabric.unicast[from][port] << (from % 64);
}

static uint64_t generation(void *arg)
{
	return fabric.generation;
}

static int send_mad(void *arg, uint32_t port, const struct ib_packet *packet)
{
	fabric.sent = *packet;
	fabric.sent_from = port;
	return fabric.mad_answer;
}

static const struct path_ops fabric_ops = {
	.ingress_ports = ingress_ports,
	.senders = senders,
	.generation = generation,
	.senders_generation = generation,
	.send_mad = send_mad,
};
static const struct path fabric_path = { .ops = &fabric_ops };

/* A node with one InfiniBand device, and a process on it. */
struct host {
	struct ib_node *node;
	struct hca_device *device;
	struct ib_device *ib;
	struct world_process process; /* slot: as the port */
	struct ib_qp *qp;
	bool member;
};

static struct world world;
static struct host hosts[PORTS];
static struct path_ib_port port_info;

static struct hca_device_config config_of(uint32_t n)
{
	struct hca_device_config config = {
		.site = world.site,
		.path = &fabric_path,
		.name = "vib0",
		.site_device = n,
		.port_index = n,
		.guid = hca_guid(7, n),
		.link = { .ib = &port_info },
		.ops = &world_device_ops,
		.arg = &world,
	};

	hca_limits_init(&config.limits);
	return config;
}

static void begin_host(uint32_t n)
{
	struct hca_device_config config = config_of(n);
	struct host *h = &hosts[n];

	h->node = ib_node_create("node", n);
	port_info.lid = (uint16_t)(4 * n + 4);
	assert_int_equal(hca_device_create(h->node, &config, &h->device), 0);
	h->ib = hca_device_ib(h->device);
	world.ib = h->ib;
	process_begin(&world, n, &h->process);
	h->qp = process_qp(&h->process);
	h->member = false;
}

static void to_init(struct ib_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = 1 };

	assert_int_equal(
		ib_modify_qp(qp, &attr,
			     IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY),
		0);
}

static int set_up(void **state)
{
	memset(&fabric, 0, sizeof(fabric));
	fabric.generation = 1;
	port_info = (struct path_ib_port){
		.state = IB_PORT_ACTIVE,
		.phys_state = 5,
		.sm_lid = 1,
		.sm_sl = 2,
		.subnet_timeout = 18,
		.init_type_reply = 3,
		.max_mtu = MTU_ENUM_4096,
		.active_mtu = 4,
		.max_vl_num = 4,
		.active_width = 2,
		.active_speed = 32,
		.cap_mask = 0x10868,
		.pkey_count = 32,
		.pkeys = { 0xffff, 0x8123 },
		.gid_count = 8,
		.gids = { [0] = { .raw = { 0xfe, 0x80, [15] = 1 } },
			  [3] = { .raw = { 0xfe, 0x80, [15] = 4 } } },
	};
	world_prepare(&world);
	for (uint32_t n = 0; n < PORTS; n++)
		begin_host(n);
	return 0;
}

static int tear_down(void **state)
{
	for (uint32_t n = 0; n < PORTS; n++) {
		struct host *h = &hosts[n];
		union ib_gid gid = group_gid(1);

		if (h->member)
			assert_int_equal(ib_detach_mcast(h->qp, &gid, MLID), 0);
		assert_int_equal(ib_destroy_qp(h->qp), 0);
		process_end(&h->process);
		assert_int_equal(hca_device_destroy(h->device), 0);
		ib_node_destroy(h->node);
	}
	for (uint32_t i = 0; i < world.tables->h.groups_used; i++)
		assert_int_equal(world.tables->groups[i].linked, 0);
	world.device = NULL;
	world_end(&world);
	return 0;
}

/* -- the port -------------------------------------------------------------------------- */

static struct {
	struct ib_event_handler handler;
	unsigned int count[IB_EVENT_GID_CHANGE + 1];
} ear;

static void hear(struct ib_event_handler *handler, struct ib_event *event)
{
	assert_int_equal(event->element.port_num, 1);
	ear.count[event->event]++;
}

static void listen_to(struct ib_device *ib)
{
	memset(&ear, 0, sizeof(ear));
	INIT_IB_EVENT_HANDLER(&ear.handler, ib, hear);
	ib_register_event_handler(&ear.handler);
}

/* Exactly that one, once; or none, for -1. */
static void assert_heard(int type)
{
	for (int i = 0; i <= IB_EVENT_GID_CHANGE; i++)
		assert_int_equal(ear.count[i], i == type);
	memset(ear.count, 0, sizeof(ear.count));
}

static void follow(void)
{
	const struct hca_port_link link = { .ib = &port_info };

	assert_int_equal(hca_device_follow(hosts[0].device, &link), 0);
}

static void the_port_is_what_the_subnet_manager_made_it(void **state)
{
	struct ib_port_attr attr;
	struct ib_gid_attr gid;
	u16 pkey;

	port_info.lid = 0x77;
	port_info.lmc = 2;
	follow();
	assert_int_equal(ib_query_port(hosts[0].ib, 1, &attr), 0);
	assert_int_equal(attr.state, IB_PORT_ACTIVE);
	assert_int_equal(attr.lid, 0x77);
	assert_int_equal(attr.lmc, 2);
	assert_int_equal(attr.sm_lid, 1);
	assert_int_equal(attr.sm_sl, 2);
	assert_int_equal(attr.subnet_timeout, 18);
	assert_int_equal(attr.init_type_reply, 3);
	assert_int_equal(attr.active_mtu, 4);
	assert_int_equal(attr.max_vl_num, 4);
	assert_int_equal(attr.active_speed, 32);
	assert_int_equal(attr.port_cap_flags, 0x10868);
	assert_int_equal(attr.pkey_tbl_len, 32);
	assert_int_equal(attr.gid_tbl_len, 8);
	assert_int_equal(rdma_port_get_link_layer(hosts[0].ib, 1),
			 IB_LINK_LAYER_INFINIBAND);
	assert_int_equal(ib_query_pkey(hosts[0].ib, 1, 1, &pkey), 0);
	assert_int_equal(pkey, 0x8123);
	assert_int_equal(ib_query_pkey(hosts[0].ib, 1, 32, &pkey), -EINVAL);
	assert_int_equal(rdma_query_gid(hosts[0].ib, 1, 3, &gid), 0);
	assert_int_equal(gid.gid_type, IB_GID_TYPE_IB);
	assert_int_equal(gid.gid.raw[15], 4);
	assert_int_equal(rdma_query_gid(hosts[0].ib, 1, 1, &gid), -ENODATA);
	assert_int_equal(rdma_query_gid(hosts[0].ib, 1, 8, &gid), -EINVAL);
}

static void each_change_is_told_by_its_event(void **state)
{
	struct shm_port *port = &world.tables->ports[0];
	uint32_t before;

	port_info.lid = 4;
	follow();
	listen_to(hosts[0].ib);
	before = port->generation;
	follow();
	assert_heard(-1);
	assert_int_equal(port->generation, before);
	port_info.lid = 5;
	follow();
	assert_heard(IB_EVENT_LID_CHANGE);
	assert_int_equal(port->generation, before + 1);
	port_info.lmc = 1;
	follow();
	assert_heard(IB_EVENT_LID_CHANGE);
	port_info.sm_lid = 9;
	follow();
	assert_heard(IB_EVENT_SM_CHANGE);
	port_info.pkeys[7] = 0x8001;
	follow();
	assert_heard(IB_EVENT_PKEY_CHANGE);
	port_info.gids[0].raw[3] = 1;
	follow();
	assert_heard(IB_EVENT_GID_CHANGE);
	port_info.cap_mask ^= 2;
	follow();
	assert_heard(-1);
	port_info.state = IB_PORT_INIT;
	follow();
	assert_heard(IB_EVENT_PORT_ERR);
	port_info.state = IB_PORT_ARMED;
	follow();
	assert_heard(-1);
	port_info.state = IB_PORT_ACTIVE;
	follow();
	assert_heard(IB_EVENT_PORT_ACTIVE);
	hca_device_reregister(hosts[0].device);
	assert_heard(IB_EVENT_CLIENT_REREGISTER);
	ib_unregister_event_handler(&ear.handler);
}

static void a_gid_keeps_its_place(void **state)
{
	struct shm_gid_entry *gids = world.tables->ports[0].gids;
	uint32_t serial = gids[3].valid;

	memset(&port_info.gids[0], 0, sizeof(port_info.gids[0]));
	port_info.gids[5].raw[0] = 1;
	follow();
	assert_int_equal(gids[0].valid, 0);
	assert_int_equal(gids[3].valid, serial);
	assert_true(gids[5].valid > serial);
}

static void links_are_of_one_kind(void **state)
{
	const struct hca_port_link ethernet = { .netdev = "eth0" };
	struct hca_device_config config = config_of(PORTS);
	struct hca_port_link link = { .ib = &port_info };
	struct hca_device *device;

	assert_int_equal(hca_device_follow(hosts[0].device, &ethernet), -EINVAL);
	port_info.active_mtu = 0;
	assert_int_equal(hca_device_follow(hosts[0].device, &link), -EINVAL);
	port_info.active_mtu = 5;
	port_info.pkey_count = PATH_PKEYS_MAX + 1;
	assert_int_equal(hca_device_follow(hosts[0].device, &link), -EINVAL);
	port_info.pkey_count = 1;
	config.name = "vib1";
	assert_int_equal(hca_device_create(hosts[0].node, &config, &device), -EEXIST);
}

static void hardware_says_what_follows_from_its_limits(void **state)
{
	struct ib_device_attr attr;

	assert_int_equal(ib_query_device(hosts[0].ib, &attr), 0);
	assert_int_equal(attr.max_total_mcast_qp_attach, INT32_MAX);
	assert_int_equal(attr.max_pkeys, 32);
}

/* -- management datagrams ------------------------------------------------------------- */

static struct ib_packet received;

static void receive(struct ib_device *device, u32 port_num,
		    const struct ib_packet *packet)
{
	assert_int_equal(port_num, 1);
	received = *packet;
}

static void management_datagrams_go_by_the_path(void **state)
{
	const struct ib_packet out = { .dlid = 3, .dest_qp = 1 }, in = { .slid = 7 };

	assert_true(rdma_cap_ib_mad(hosts[5].ib, 1));
	assert_int_equal(hosts[5].ib->ops.post_mad(hosts[5].ib, 1, &out), 0);
	assert_int_equal(fabric.sent_from, 5);
	assert_int_equal(fabric.sent.dlid, 3);
	fabric.mad_answer = -ENETDOWN;
	assert_int_equal(hosts[5].ib->ops.post_mad(hosts[5].ib, 1, &out), -ENETDOWN);
	hca_device_receive_mad(hosts[5].device, &in); /* nobody is there */
	hosts[5].ib->mad_receive = receive;
	hca_device_receive_mad(hosts[5].device, &in);
	assert_int_equal(received.slid, 7);
	hosts[5].ib->mad_receive = NULL;
}

/* -- groups ---------------------------------------------------------------------------- */

static int attach(struct host *h, unsigned int group, uint16_t lid)
{
	union ib_gid gid = group_gid(group);

	return ib_attach_mcast(h->qp, &gid, lid);
}

static int detach(struct host *h, unsigned int group, uint16_t lid)
{
	union ib_gid gid = group_gid(group);

	return ib_detach_mcast(h->qp, &gid, lid);
}

static void join_group(uint32_t n)
{
	to_init(hosts[n].qp);
	assert_int_equal(attach(&hosts[n], 1, MLID), 0);
	hosts[n].member = true;
}

static void a_group_has_one_mlid_a_port(void **state)
{
	struct host *h = &hosts[0];
	union ib_gid gid = group_gid(1);
	struct ib_mcast_info info;

	assert_int_equal(attach(h, 1, MLID), -EINVAL); /* RESET */
	to_init(h->qp);
	assert_int_equal(attach(h, 1, 0), -EINVAL); /* no multicast LID */
	assert_int_equal(attach(h, 1, 0xffff), -EINVAL);
	assert_int_equal(attach(h, 1, MLID), 0);
	assert_int_equal(attach(h, 1, MLID), 0);
	assert_int_equal(attach(h, 1, MLID + 1), -EINVAL);
	assert_int_equal(attach(h, 2, MLID), 0); /* two MGIDs on one */
	assert_int_equal(ib_describe_mcast(h->qp, &gid, &info), 0);
	assert_int_equal(info.entry, SHM_NONE);
	assert_int_equal(shm_group_find(world.tables, 0, gid.raw, 0), SHM_NONE);
	assert_int_not_equal(shm_group_find(world.tables, 0, gid.raw, MLID), SHM_NONE);
	assert_int_equal(detach(h, 1, MLID), 0);
	assert_int_equal(detach(h, 2, MLID), 0);
	assert_int_equal(attach(h, 1, MLID + 1), 0);
	assert_int_equal(detach(h, 1, MLID + 1), 0);
}

/* What the tables say is what the path says, and nothing is there for nobody. */
static void assert_compiled(void)
{
	union ib_gid gid = group_gid(1);

	for (uint32_t from = 0; from < PORTS; from++) {
		uint32_t entry = shm_group_find(world.tables, from, gid.raw, MLID);
		uint64_t want = 0;

		for (uint32_t to = 0; to < PORTS; to++)
			if (hosts[to].member &&
			    (from == to || fabric.reach[MLID & 1][from][to]))
				want |= 1ull << to;
		assert_int_equal(entry != SHM_NONE, want != 0);
		if (want)
			assert_int_equal(world.tables->groups[entry].members[0], want);
	}
}

static void recompile(void)
{
	fabric.generation++;
	while (hca_site_recompile(world.site))
		;
}

static void entries_follow_the_routes_while_members_stay(void **state)
{
	uint32_t x = 3;

	for (unsigned int turn = 0; turn < harness_count(300, 5000); turn++) {
		uint32_t a, b;

		x = x * 1664525u + 1013904223u;
		a = (x >> 8) % PORTS;
		b = (x >> 16) % PORTS;
		if (turn % 3 == 0 && hosts[a].member) {
			assert_int_equal(detach(&hosts[a], 1, MLID), 0);
			hosts[a].member = false;
		} else if (turn % 3 == 0) {
			join_group(a);
		} else {
			fabric.reach[MLID & 1][a][b] ^= true;
			fabric.reach[MLID & 1][b][x % PORTS] ^= true;
			recompile();
		}
		assert_compiled();
	}
}

static void unreached_is_told_from_reached_by_generations(void **state)
{
	union ib_gid gid = group_gid(1);
	struct shm_group_view before, after;
	struct ib_mcast_info info;
	uint32_t entry;

	fabric.reach[MLID & 1][2][3] = true;
	join_group(1);
	join_group(3);
	entry = shm_group_find(world.tables, 2, gid.raw, MLID);
	assert_true(shm_group_view(world.tables, entry, 3, &before));
	/* The route to a member that was there already: the entry is another one. */
	fabric.reach[MLID & 1][2][1] = true;
	recompile();
	assert_int_equal(ib_describe_mcast(hosts[1].qp, &gid, &info), 0);
	entry = shm_group_find(world.tables, 2, gid.raw, MLID);
	assert_true(shm_group_view(world.tables, entry, 1, &after));
	assert_true(after.member);
	assert_true(after.since > before.generation);
	assert_true(after.since > info.generation);
	/* Who attaches makes no new one: his own generation tells. */
	fabric.reach[MLID & 1][2][5] = true;
	recompile();
	assert_int_equal(shm_group_find(world.tables, 2, gid.raw, MLID), entry);
	join_group(5);
	assert_int_equal(shm_group_find(world.tables, 2, gid.raw, MLID), entry);
	gid = group_gid(1);
	assert_int_equal(ib_describe_mcast(hosts[5].qp, &gid, &info), 0);
	assert_true(info.generation > after.generation);
}

static void many_groups_are_compiled_in_slices(void **state)
{
	enum {
		GROUPS = 3000
	};
	unsigned int slices = 1;

	to_init(hosts[0].qp);
	for (unsigned int g = 2; g < 2 + GROUPS; g++)
		assert_int_equal(attach(&hosts[0], g, MLID), 0);
	for (uint32_t from = 1; from < 5; from++)
		fabric.reach[MLID & 1][from][0] = true;
	fabric.generation++;
	while (hca_site_recompile(world.site))
		slices++;
	assert_true(slices > 3);
	for (unsigned int g = 2; g < 2 + GROUPS; g++) {
		union ib_gid gid = group_gid(g);

		for (uint32_t from = 0; from < 6; from++)
			assert_int_equal(shm_group_find(world.tables, from, gid.raw,
							MLID) != SHM_NONE,
					 from < 5);
		assert_int_equal(detach(&hosts[0], g, MLID), 0);
	}
	assert_false(hca_site_recompile(world.site));
}

static void one_mlid_is_compiled_out_of_turn(void **state)
{
	enum {
		GROUPS = 4096,
		OTHER = MLID + 2, /* reached as MLID is */
	};
	union ib_gid gid = group_gid(1), other = group_gid(2);
	uint32_t entry;

	to_init(hosts[0].qp);
	for (unsigned int g = 2; g < 2 + GROUPS; g++)
		assert_int_equal(attach(&hosts[0], g, OTHER), 0);
	join_group(1);
	fabric.reach[MLID & 1][2][0] = fabric.reach[MLID & 1][2][1] = true;
	fabric.generation++;
	assert_true(hca_site_recompile(world.site));
	assert_int_equal(shm_group_find(world.tables, 2, gid.raw, MLID), SHM_NONE);
	assert_int_equal(hca_site_recompile_mlid(world.site, MLID), 3);
	entry = shm_group_find(world.tables, 2, gid.raw, MLID);
	assert_int_not_equal(entry, SHM_NONE);
	assert_compiled();
	assert_int_equal(hca_site_recompile_mlid(world.site, MLID), 0);
	/* What is no little is not even begun. */
	assert_int_equal(hca_site_recompile_mlid(world.site, OTHER), 0);
	assert_int_equal(shm_group_find(world.tables, 2, other.raw, OTHER), SHM_NONE);
	while (hca_site_recompile(world.site))
		;
	assert_int_not_equal(shm_group_find(world.tables, 2, other.raw, OTHER), SHM_NONE);
	assert_int_equal(shm_group_find(world.tables, 2, gid.raw, MLID), entry);
	for (unsigned int g = 2; g < 2 + GROUPS; g++)
		assert_int_equal(detach(&hosts[0], g, OTHER), 0);
	assert_int_equal(hca_site_recompile_mlid(world.site, OTHER), 0);
}

/* 1,000 groups look little while nobody reaches them. */
static void who_turns_out_to_be_no_little_is_stopped_at(void **state)
{
	enum {
		GROUPS = 1000
	};
	unsigned int compiled = 0;
	uint32_t done;

	to_init(hosts[0].qp);
	for (unsigned int g = 2; g < 2 + GROUPS; g++)
		assert_int_equal(attach(&hosts[0], g, MLID), 0);
	for (uint32_t from = 1; from < PORTS; from++)
		fabric.reach[MLID & 1][from][0] = true;
	fabric.generation++;
	done = hca_site_recompile_mlid(world.site, MLID);
	assert_true(done >= 2 * GROUPS + 2048 && done <= 2 * GROUPS + 2048 + PORTS);
	assert_true(hca_site_recompile(world.site));
	while (hca_site_recompile(world.site))
		;
	for (unsigned int g = 2; g < 2 + GROUPS; g++) {
		union ib_gid gid = group_gid(g);

		compiled += shm_group_find(world.tables, PORTS - 1, gid.raw, MLID) !=
			    SHM_NONE;
		assert_int_equal(detach(&hosts[0], g, MLID), 0);
	}
	assert_int_equal(compiled, GROUPS);
}

static void nothing_leads_to_a_removed_device(void **state)
{
	union ib_gid gid = group_gid(1);

	fabric.reach[MLID & 1][1][0] = true;
	join_group(0);
	assert_int_not_equal(shm_group_find(world.tables, 1, gid.raw, MLID), SHM_NONE);
	hca_device_remove(hosts[0].device);
	assert_int_equal(shm_group_find(world.tables, 0, gid.raw, MLID), SHM_NONE);
	assert_int_equal(shm_group_find(world.tables, 1, gid.raw, MLID), SHM_NONE);
	recompile();
	assert_int_equal(shm_group_find(world.tables, 1, gid.raw, MLID), SHM_NONE);
	fabric.generation++;
	assert_int_equal(hca_site_recompile_mlid(world.site, MLID), 0);
	assert_int_equal(shm_group_find(world.tables, 1, gid.raw, MLID), SHM_NONE);
}

/* -- unicast --------------------------------------------------------------------------- */

static void lids_are_reached_as_the_path_says(void **state)
{
	struct shm_port *port = &world.tables->ports[1];
	uint32_t before;

	fabric.unicast[1][2] = true;
	recompile();
	assert_true(shm_reaches(world.tables, 1, 12));
	assert_false(shm_reaches(world.tables, 1, 13));
	assert_false(shm_reaches(world.tables, 2, 8));
	before = port->generation;
	recompile();
	assert_int_equal(port->generation, before);
	fabric.unicast[1][2] = false;
	recompile();
	assert_false(shm_reaches(world.tables, 1, 12));
	assert_true(port->generation > before);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_port_is_what_the_subnet_manager_made_it),
		T(each_change_is_told_by_its_event),
		T(a_gid_keeps_its_place),
		T(links_are_of_one_kind),
		T(hardware_says_what_follows_from_its_limits),
		T(management_datagrams_go_by_the_path),
		T(a_group_has_one_mlid_a_port),
		T(entries_follow_the_routes_while_members_stay),
		T(unreached_is_told_from_reached_by_generations),
		T(many_groups_are_compiled_in_slices),
		T(one_mlid_is_compiled_out_of_turn),
		T(who_turns_out_to_be_no_little_is_stopped_at),
		T(nothing_leads_to_a_removed_device),
		T(lids_are_reached_as_the_path_says),
	};

	return harness_run(tests);
}
