// SPDX-License-Identifier: BSD-2-Clause
/* A port follows its interface: GIDs and their places, MTU, state, and who is told. */
#include "world.h"
#include "wire/mtu.h"

#define GID4(a, b, c, d)                                            \
	{                                                           \
		{ .raw = { [10] = 0xff, 0xff, a, b, c, d } }, V2, 7 \
	}
#define GID6(last)                                            \
	{                                                     \
		{ .raw = { 0xfe, 0x80, [15] = last } }, V2, 7 \
	}
#define V2 IB_GID_TYPE_ROCE_UDP_ENCAP

static const struct hca_gid gid_mac = GID6(1), gid_other_mac = GID6(2);
static const struct hca_gid gid_a = GID4(10, 0, 0, 1), gid_b = GID4(10, 0, 0, 2),
			    gid_c = GID4(10, 0, 0, 3);

static struct {
	struct ib_event_handler handler;
	unsigned int count[IB_EVENT_GID_CHANGE + 1];
} ear;

static void hear(struct ib_event_handler *handler, struct ib_event *event)
{
	assert_int_equal(event->element.port_num,
			 event->event == IB_EVENT_DEVICE_FATAL ? 0 : 1);
	ear.count[event->event]++;
}

/* So many events of the kind came since the last look. */
static void assert_heard(enum ib_event_type type, unsigned int n)
{
	assert_int_equal(ear.count[type], n);
	ear.count[type] = 0;
}

/* The device of an interface without addresses but the default one. */
static int setup(void **state)
{
	static struct world w;

	world_prepare(&w);
	w.config.network = true;
	w.config.link = (struct hca_port_link){
		.netdev = "eth0", .gids = &gid_mac, .gid_count = 1, .default_gid = true
	};
	world_boot(&w);
	memset(&ear, 0, sizeof(ear));
	INIT_IB_EVENT_HANDLER(&ear.handler, w.ib, hear);
	ib_register_event_handler(&ear.handler);
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	world_end(*state);
	return 0;
}

static struct shm_port *port_of(struct world *w)
{
	return &w->tables->ports[WORLD_PORT];
}

/* What follows is what the interface has; false pointers end the list. */
static void follow(struct world *w, const struct hca_gid *first, ...)
{
	struct hca_gid gids[HCA_GIDS_MAX];
	struct hca_port_link link = { .netdev = "eth0", .gids = gids };
	const struct hca_gid *gid = first;
	va_list args;

	va_start(args, first);
	for (; gid; gid = va_arg(args, const struct hca_gid *))
		gids[link.gid_count++] = *gid;
	va_end(args);
	link.default_gid = first == &gid_mac || first == &gid_other_mac;
	assert_int_equal(hca_device_follow(w->device, &link), 0);
}

static void assert_place(struct world *w, int index, const struct hca_gid *gid)
{
	struct ib_gid_attr attr;
	int r = rdma_query_gid(w->ib, 1, index, &attr);

	if (!gid) {
		assert_int_equal(r, -ENODATA);
		return;
	}
	assert_int_equal(r, 0);
	assert_memory_equal(attr.gid.raw, gid->gid.raw, 16);
	assert_int_equal(attr.ifindex, 7);
}

static void the_default_gid_has_place_0_alone(void **state)
{
	struct world *w = *state;

	assert_place(w, 0, &gid_mac);
	follow(w, &gid_mac, &gid_a, &gid_b, NULL);
	assert_place(w, 0, &gid_mac);
	assert_place(w, 1, &gid_a);
	assert_place(w, 2, &gid_b);
	follow(w, &gid_a, &gid_b, &gid_c, NULL); /* the interface has none any more */
	assert_place(w, 0, NULL);
	assert_place(w, 3, &gid_c);
	follow(w, &gid_other_mac, &gid_a, &gid_b, &gid_c, NULL);
	assert_place(w, 0, &gid_other_mac);
}

static void an_address_that_stays_keeps_its_place_and_serial(void **state)
{
	struct world *w = *state;
	struct shm_port *port = port_of(w);
	uint32_t serial, generation;

	follow(w, &gid_mac, &gid_a, &gid_b, NULL);
	serial = port->gids[2].valid;
	generation = port->generation;
	follow(w, &gid_mac, &gid_b, &gid_c, NULL); /* a goes, c takes its place */
	assert_place(w, 1, &gid_c);
	assert_place(w, 2, &gid_b);
	assert_int_equal(port->gids[2].valid, serial);
	assert_true(port->gids[1].valid > serial);
	assert_int_equal(port->generation, generation + 1);
	assert_heard(IB_EVENT_GID_CHANGE, 2);
}

static void nothing_new_is_no_event(void **state)
{
	struct world *w = *state;
	uint32_t ports_generation;

	follow(w, &gid_mac, &gid_a, NULL);
	assert_heard(IB_EVENT_GID_CHANGE, 1);
	ports_generation = w->tables->h.ports_generation;
	follow(w, &gid_mac, &gid_a, NULL);
	follow(w, &gid_mac, &gid_a, &gid_a, NULL); /* with two prefixes */
	assert_heard(IB_EVENT_GID_CHANGE, 0);
	assert_int_equal(w->tables->h.ports_generation, ports_generation);
}

static void a_full_table_has_an_empty_place(void **state)
{
	struct world *w = *state;
	struct hca_gid gids[HCA_GIDS_MAX + 1];
	struct hca_port_link link = { .gids = gids,
				      .gid_count = HCA_GIDS_MAX,
				      .default_gid = true };
	struct ib_gid_attr attr;

	gids[0] = gid_mac;
	for (unsigned int i = 1; i < HCA_GIDS_MAX + 1; i++) {
		gids[i] = gid_a;
		gids[i].gid.raw[15] = (uint8_t)i;
	}
	assert_int_equal(hca_device_follow(w->device, &link), 0);
	assert_int_equal(rdma_query_gid(w->ib, 1, HCA_GIDS_MAX - 1, &attr), 0);
	assert_place(w, HCA_GIDS_MAX, NULL);
	link.gid_count++;
	assert_int_equal(hca_device_follow(w->device, &link), -EINVAL);
}

static void the_state_follows_the_link_and_is_told(void **state)
{
	struct world *w = *state;
	struct hca_port_link link = w->config.link;
	struct ib_port_attr attr;

	link.down = true;
	assert_int_equal(hca_device_follow(w->device, &link), 0);
	assert_int_equal(ib_query_port(w->ib, 1, &attr), 0);
	assert_int_equal(attr.state, IB_PORT_DOWN);
	assert_int_equal(attr.phys_state, 3);
	assert_heard(IB_EVENT_PORT_ERR, 1);
	assert_int_equal(hca_device_follow(w->device, &link), 0);
	assert_heard(IB_EVENT_PORT_ERR, 0);
	link.down = false;
	assert_int_equal(hca_device_follow(w->device, &link), 0);
	assert_int_equal(ib_query_port(w->ib, 1, &attr), 0);
	assert_int_equal(attr.state, IB_PORT_ACTIVE);
	assert_int_equal(attr.phys_state, 5);
	assert_heard(IB_EVENT_PORT_ACTIVE, 1);
	assert_heard(IB_EVENT_GID_CHANGE, 0);
}

static void the_mtu_follows_without_an_event(void **state)
{
	struct world *w = *state;
	struct hca_port_link link = w->config.link;
	uint32_t generation = port_of(w)->generation;

	link.mtu = 3;
	assert_int_equal(hca_device_follow(w->device, &link), 0);
	assert_int_equal(port_of(w)->active_mtu, 3);
	assert_int_equal(port_of(w)->generation, generation + 1);
	for (unsigned int i = 0; i <= IB_EVENT_GID_CHANGE; i++)
		assert_heard(i, 0);
	link.mtu = MTU_ENUM_4096 + 1;
	assert_int_equal(hca_device_follow(w->device, &link), -EINVAL);
}

static void an_interface_may_be_renamed(void **state)
{
	struct world *w = *state;
	struct hca_port_link link = w->config.link;
	struct ib_device_info info;

	link.netdev = "lan0";
	assert_int_equal(hca_device_follow(w->device, &link), 0);
	assert_int_equal(ib_describe_device(w->ib, &info), 0);
	assert_string_equal(info.netdev, "lan0");
	link.netdev = "sixteen-letters-";
	assert_int_equal(hca_device_follow(w->device, &link), -EINVAL);
}

static void the_tables_tell_a_network_from_the_machine(void **state)
{
	struct world *w = *state, other;

	assert_int_equal(port_of(w)->flags, SHM_PORT_NETWORK);
	world_prepare(&other);
	world_boot(&other);
	assert_int_equal(port_of(&other)->flags, 0);
	world_end(&other);
}

static void a_removed_device_is_empty_and_stays_until_its_users_go(void **state)
{
	struct world *w = *state;
	uint32_t generation = w->tables->h.devices_generation;
	struct world_process p;
	struct ib_mcast_info info;
	struct ib_port_attr attr;
	union ib_gid gid;
	struct ib_qp *qp;

	process_begin(w, 1, &p);
	qp = process_qp(&p);
	assert_int_equal(join(qp, 1), 0);
	hca_device_remove(w->device);
	hca_device_remove(w->device);
	assert_heard(IB_EVENT_DEVICE_FATAL, 1);
	assert_null(ib_node_device(w->node, 0));
	assert_place(w, 0, NULL);
	assert_int_equal(ib_query_port(w->ib, 1, &attr), 0);
	assert_int_equal(attr.state, IB_PORT_NOP);
	assert_true(w->tables->h.devices_generation != generation);
	assert_int_equal(hca_device_follow(w->device, &w->config.link), -EINVAL);
	assert_int_equal(hca_device_destroy(w->device), -EBUSY);
	assert_int_equal(join(qp, 2), -EIO);
	/* The group's entry has gone with the device. */
	gid = group_gid(1);
	assert_int_equal(ib_describe_mcast(qp, &gid, &info), -EIO);
	assert_int_equal(leave(qp, 1), 0);
	assert_int_equal(ib_destroy_qp(qp), 0);
	assert_int_equal(w->unused, 0);
	process_end(&p);
	assert_int_equal(w->unused, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_default_gid_has_place_0_alone),
		TEST(an_address_that_stays_keeps_its_place_and_serial),
		TEST(nothing_new_is_no_event),
		TEST(a_full_table_has_an_empty_place),
		TEST(the_state_follows_the_link_and_is_told),
		TEST(the_mtu_follows_without_an_event),
		TEST(an_interface_may_be_renamed),
		TEST(the_tables_tell_a_network_from_the_machine),
		TEST(a_removed_device_is_empty_and_stays_until_its_users_go),
	};

	return harness_run(tests);
}
