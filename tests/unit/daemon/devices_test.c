// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which interfaces have devices, under which names, and until when: on a machine whose
 * interfaces the test makes up. (The real one's are in tests/apps/interfaces.sh.)
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/devices.h"
#include "harness/harness.h"

#define LINKS_MAX  80
#define LOCALS_MAX 8
#define GRACE_MS   100

/* The machine. */
static struct {
	struct addr_link links[LINKS_MAX];
	size_t link_count;
	struct addr_local locals[LOCALS_MAX];
	size_t local_count;
	uint32_t default_ifindex;
	int error;
} machine;

struct fixture {
	struct loop *loop;
	int tables_fd;
	struct shm_tables *tables;
	struct hca_site *hca;
	struct ib_node *node;
	struct hca_limits limits;
	struct devices *devices;
	const char *wires[2];
	unsigned int changed;
	uint32_t generation_then; /* devices_generation when `changed` was told */
	struct loop_timer *stop;
};

static int read_machine(struct addr_links *ret)
{
	if (machine.error)
		return machine.error;
	memset(ret, 0, sizeof(*ret));
	ret->links = malloc(sizeof(machine.links));
	ret->locals = malloc(sizeof(machine.locals));
	assert_non_null(ret->links);
	assert_non_null(ret->locals);
	memcpy(ret->links, machine.links, sizeof(machine.links));
	memcpy(ret->locals, machine.locals, sizeof(machine.locals));
	ret->link_count = machine.link_count;
	ret->local_count = machine.local_count;
	ret->default_ifindex = machine.default_ifindex;
	return 0;
}

static struct addr_link *plug(uint32_t ifindex, const char *name)
{
	struct addr_link *l = &machine.links[machine.link_count++];

	*l = (struct addr_link){ .ifindex = ifindex,
				 .mtu = 1500,
				 .up = true,
				 .carrier = true,
				 .has_mac = true,
				 .mac = { 2, 0, 0, 0, 0, (uint8_t)ifindex } };
	snprintf(l->name, sizeof(l->name), "%s", name);
	return l;
}

static void unplug(uint32_t ifindex)
{
	for (size_t i = 0; i < machine.link_count; i++)
		if (machine.links[i].ifindex == ifindex)
			machine.links[i] = machine.links[--machine.link_count];
	if (machine.default_ifindex == ifindex)
		machine.default_ifindex = 0;
}

static void add_address(uint32_t ifindex, uint8_t last)
{
	machine.locals[machine.local_count++] = (struct addr_local){
		.ifindex = ifindex,
		.gid = { [10] = 0xff, 0xff, 10, 0, 0, last },
	};
}

static void changed(void *arg)
{
	struct fixture *f = arg;

	f->changed++;
	f->generation_then = f->tables->h.devices_generation;
}

static void unused(void *arg, struct ib_device *device)
{
	devices_sweep(((struct fixture *)arg)->devices);
}

static const struct hca_device_ops ops = { .unused = unused };

static void begin(struct fixture *f, unsigned int wire_count)
{
	const struct devices_config config = {
		.loop = f->loop,
		.tables = f->tables,
		.hca = f->hca,
		.node = f->node,
		.limits = &f->limits,
		.ops = &ops,
		.guid_seed = 5,
		.wires = f->wires,
		.wire_count = wire_count,
		.grace_ms = GRACE_MS,
		.read = read_machine,
		.changed = changed,
		.arg = f,
	};

	assert_int_equal(devices_create(&config, &f->devices), 0);
}

static void stop_loop(void *arg)
{
	loop_stop(((struct fixture *)arg)->loop);
}

static int setup(void **state)
{
	static struct fixture fixture;
	struct addr_link *lo;

	memset(&machine, 0, sizeof(machine));
	memset(&fixture, 0, sizeof(fixture));
	assert_int_equal(loop_create(&fixture.loop), 0);
	assert_int_equal(
		loop_timer_create(fixture.loop, stop_loop, &fixture, &fixture.stop), 0);
	assert_int_equal(shm_tables_create(&fixture.tables_fd, &fixture.tables), 0);
	assert_int_equal(hca_site_create(fixture.tables, &fixture.hca), 0);
	fixture.node = ib_node_create("local", 0);
	hca_limits_init(&fixture.limits);
	lo = plug(1, "lo");
	lo->loopback = true;
	lo->has_mac = false;
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	devices_destroy(f->devices);
	ib_node_destroy(f->node);
	hca_site_destroy(f->hca);
	shm_tables_destroy(f->tables_fd, f->tables);
	loop_timer_destroy(f->stop);
	loop_destroy(f->loop);
	return 0;
}

/* What is due. */
static void turn(struct fixture *f)
{
	loop_timer_arm(f->stop, 0);
	assert_int_equal(loop_run(f->loop), 0);
}

/* Names and interfaces of the list, as "vroce0=lo vroce1=eth0". */
static const char *list(struct fixture *f)
{
	static char text[4096];
	struct ib_device_info info;
	struct ib_device *device;
	size_t at = 0;

	text[0] = '\0';
	for (u32 n = 0; (device = ib_node_device(f->node, n)); n++) {
		assert_int_equal(ib_describe_device(device, &info), 0);
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s=%s",
				       n ? " " : "", ib_device_name(device), info.netdev);
	}
	return text;
}

static struct ib_device *named(struct fixture *f, const char *name)
{
	struct ib_device *device;

	for (u32 n = 0; (device = ib_node_device(f->node, n)); n++)
		if (!strcmp(ib_device_name(device), name))
			return device;
	fail_msg("there is no %s", name);
	return NULL;
}

/* -- what has a device --------------------------------------------------------------- */

static void without_a_network_there_is_the_loopback(void **state)
{
	struct fixture *f = *state;
	struct ib_gid_attr gid;

	machine.link_count = 0;
	machine.error = -ENOBUFS;
	begin(f, 0);
	assert_string_equal(list(f), "vroce0=lo");
	assert_int_equal(rdma_query_gid(named(f, "vroce0"), 1, 0, &gid), 0);
	assert_int_equal(gid.gid.raw[12], 127);
	assert_int_equal(f->tables->ports[0].flags, 0);
	assert_int_equal(f->changed, 1);
}

static void the_default_route_comes_first_then_the_wires_as_named(void **state)
{
	struct fixture *f = *state;

	plug(2, "eth0");
	plug(3, "eth1");
	plug(4, "eth2");
	plug(5, "eth3");
	machine.default_ifindex = 4;
	f->wires[0] = "eth3";
	f->wires[1] = "eth0";
	begin(f, 2);
	assert_string_equal(list(f), "vroce0=lo vroce1=eth2 vroce2=eth3 vroce3=eth0");
	assert_int_equal(f->tables->ports[1].flags, SHM_PORT_NETWORK);
}

static void an_interface_that_is_named_and_the_default_has_one_device(void **state)
{
	struct fixture *f = *state;

	plug(2, "eth0");
	machine.default_ifindex = 2;
	f->wires[0] = f->wires[1] = "eth0";
	begin(f, 2);
	assert_string_equal(list(f), "vroce0=lo vroce1=eth0");
}

static void a_default_route_over_the_loopback_is_no_network(void **state)
{
	struct fixture *f = *state;

	machine.default_ifindex = 1;
	begin(f, 0);
	assert_string_equal(list(f), "vroce0=lo");
}

static void guids_are_one_a_name(void **state)
{
	struct fixture *f = *state;
	u64 guid;

	plug(2, "eth0");
	machine.default_ifindex = 2;
	begin(f, 0);
	guid = named(f, "vroce1")->node_guid;
	assert_true(guid && guid != named(f, "vroce0")->node_guid);
	unplug(2);
	devices_follow(f->devices);
	plug(9, "eth0");
	machine.default_ifindex = 9;
	devices_follow(f->devices);
	assert_true(named(f, "vroce1")->node_guid == guid);
}

/* -- what follows -------------------------------------------------------------------- */

static void a_port_is_what_its_interface_is(void **state)
{
	struct fixture *f = *state;
	struct addr_link *eth0 = plug(2, "eth0");
	struct ib_port_attr attr;
	struct ib_gid_attr gid;
	struct ib_device *device;

	machine.default_ifindex = 2;
	add_address(2, 1);
	add_address(1, 77); /* another interface's */
	begin(f, 0);
	device = named(f, "vroce1");
	assert_int_equal(rdma_query_gid(device, 1, 0, &gid), 0);
	assert_int_equal(gid.gid.raw[0], 0xfe);
	assert_int_equal(gid.gid.raw[11], 0xff);
	assert_int_equal(gid.gid.raw[15], 2);
	assert_int_equal(gid.ifindex, 2);
	assert_int_equal(rdma_query_gid(device, 1, 1, &gid), 0);
	assert_int_equal(gid.gid.raw[15], 1);
	assert_int_equal(gid.gid_type, IB_GID_TYPE_ROCE_UDP_ENCAP);
	assert_int_equal(rdma_query_gid(device, 1, 2, &gid), -ENODATA);
	ib_query_port(device, 1, &attr);
	assert_int_equal(attr.active_mtu, 3);
	assert_int_equal(attr.state, IB_PORT_ACTIVE);

	eth0->carrier = false;
	eth0->mtu = 9000;
	devices_follow(f->devices);
	ib_query_port(device, 1, &attr);
	assert_int_equal(attr.active_mtu, 5);
	assert_int_equal(attr.state, IB_PORT_DOWN);
	eth0->mtu = 100; /* too small for RoCE: as rdma_rxe shows it */
	devices_follow(f->devices);
	ib_query_port(device, 1, &attr);
	assert_int_equal(attr.active_mtu, 1);
}

static void programs_look_again_after_the_tree_was_written(void **state)
{
	struct fixture *f = *state;
	uint32_t generation;

	begin(f, 0);
	generation = f->tables->h.devices_generation;
	assert_int_equal(f->changed, 1);
	devices_follow(f->devices);
	assert_int_equal(f->changed, 1);
	assert_int_equal(f->tables->h.devices_generation, generation);
	plug(2, "eth0");
	machine.default_ifindex = 2;
	devices_follow(f->devices);
	assert_int_equal(f->changed, 2);
	assert_int_equal(f->generation_then, generation);
	assert_int_equal(f->tables->h.devices_generation, generation + 1);
	add_address(2, 1);
	devices_follow(f->devices);
	assert_int_equal(f->changed, 3);
}

static void a_renamed_interface_keeps_its_device(void **state)
{
	struct fixture *f = *state;
	struct addr_link *eth0 = plug(2, "eth0");
	u32 id;

	machine.default_ifindex = 2;
	begin(f, 0);
	id = named(f, "vroce1")->id;
	strcpy(eth0->name, "lan");
	devices_follow(f->devices);
	assert_string_equal(list(f), "vroce0=lo vroce1=lan");
	assert_int_equal(named(f, "vroce1")->id, id);
	assert_int_equal(f->changed, 2);
}

/* -- what goes ----------------------------------------------------------------------- */

static void a_device_goes_with_its_interface_and_comes_back_by_name(void **state)
{
	struct fixture *f = *state;

	plug(2, "eth0");
	plug(3, "eth1");
	f->wires[0] = "eth0";
	f->wires[1] = "eth1";
	begin(f, 2);
	assert_string_equal(list(f), "vroce0=lo vroce1=eth0 vroce2=eth1");
	unplug(2);
	devices_follow(f->devices);
	assert_string_equal(list(f), "vroce0=lo vroce2=eth1");
	turn(f);
	assert_null(devices_nth(f->devices, 2));
	plug(7, "eth0");
	devices_follow(f->devices);
	assert_string_equal(list(f), "vroce0=lo vroce1=eth0 vroce2=eth1");
}

static void an_interface_replaced_between_two_looks_is_another_device(void **state)
{
	struct fixture *f = *state;
	u32 id;

	plug(2, "eth0");
	machine.default_ifindex = 2;
	begin(f, 0);
	id = named(f, "vroce1")->id;
	unplug(2);
	plug(3, "eth0");
	machine.default_ifindex = 3;
	devices_follow(f->devices);
	assert_string_equal(list(f), "vroce0=lo vroce1=eth0");
	assert_true(named(f, "vroce1")->id != id);
}

static void a_used_device_is_kept_aside_until_its_last_user_goes(void **state)
{
	struct fixture *f = *state;
	struct ib_ucontext *context;
	struct hca_device *old;
	struct ib_device_info info;

	plug(2, "eth0");
	machine.default_ifindex = 2;
	begin(f, 0);
	old = devices_nth(f->devices, 1);
	context = ib_alloc_ucontext(named(f, "vroce1"), 3);
	unplug(2);
	plug(3, "eth0");
	machine.default_ifindex = 3;
	devices_follow(f->devices);
	turn(f);
	/* The new one is in the list, with a port of its own, the old one is shown last. */
	assert_string_equal(list(f), "vroce0=lo vroce1=eth0");
	assert_ptr_equal(devices_nth(f->devices, 2), old);
	assert_int_equal(ib_describe_device(named(f, "vroce1"), &info), 0);
	assert_true(info.first_port != 1);
	assert_int_equal(f->tables->ports[1].state, IB_PORT_NOP);
	assert_int_equal(f->tables->ports[info.first_port].state, IB_PORT_ACTIVE);
	assert_int_equal(ib_dealloc_ucontext(context), 0);
	assert_non_null(devices_nth(f->devices, 2));
	turn(f);
	assert_null(devices_nth(f->devices, 2));
}

/* The clock is real: what must not have happened at once may happen later. */
static void a_default_route_that_goes_is_waited_for(void **state)
{
	struct fixture *f = *state;

	plug(2, "eth0");
	machine.default_ifindex = 2;
	begin(f, 0);
	machine.default_ifindex = 0;
	devices_follow(f->devices);
	assert_string_equal(list(f), "vroce0=lo vroce1=eth0");
	machine.default_ifindex = 2;
	devices_follow(f->devices);
	assert_string_equal(list(f), "vroce0=lo vroce1=eth0");
}

static void stop_when_gone(void *arg)
{
	struct fixture *f = arg;

	if (!ib_node_device(f->node, 1))
		loop_stop(f->loop);
	else
		loop_timer_arm(f->stop, 10);
}

static void and_given_up_in_the_end(void **state)
{
	struct fixture *f = *state;
	uint64_t start;

	loop_timer_destroy(f->stop);
	assert_int_equal(loop_timer_create(f->loop, stop_when_gone, f, &f->stop), 0);
	plug(2, "eth0");
	machine.default_ifindex = 2;
	begin(f, 0);
	machine.default_ifindex = 0;
	start = clock_now_ns();
	devices_follow(f->devices);
	loop_timer_arm(f->stop, 0);
	assert_int_equal(loop_run(f->loop), 0);
	assert_true(clock_now_ns() - start >= (GRACE_MS - 10) * 1000000ull);
	assert_string_equal(list(f), "vroce0=lo");
}

static void an_interface_that_is_off_stays_in_use(void **state)
{
	struct fixture *f = *state;
	struct addr_link *eth0 = plug(2, "eth0");

	machine.default_ifindex = 2;
	begin(f, 0);
	eth0->up = eth0->carrier = false;
	machine.default_ifindex = 0;
	devices_follow(f->devices);
	assert_string_equal(list(f), "vroce0=lo vroce1=eth0");
	assert_int_equal(f->tables->ports[1].state, IB_PORT_DOWN);
}

static void names_run_out_and_are_used_again(void **state)
{
	struct fixture *f = *state;
	char name[16];

	begin(f, 0);
	for (uint32_t n = 1; n <= DEVICES_MAX + 5; n++) {
		snprintf(name, sizeof(name), "if%u", n);
		plug(100 + n, name);
		machine.default_ifindex = 100 + n;
		devices_follow(f->devices);
		assert_non_null(ib_node_device(f->node, 1));
		unplug(100 + n);
		devices_follow(f->devices);
		turn(f);
		assert_null(ib_node_device(f->node, 1));
		assert_null(devices_nth(f->devices, 1));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_a_network_there_is_the_loopback),
		TEST(the_default_route_comes_first_then_the_wires_as_named),
		TEST(an_interface_that_is_named_and_the_default_has_one_device),
		TEST(a_default_route_over_the_loopback_is_no_network),
		TEST(guids_are_one_a_name),
		TEST(a_port_is_what_its_interface_is),
		TEST(programs_look_again_after_the_tree_was_written),
		TEST(a_renamed_interface_keeps_its_device),
		TEST(a_device_goes_with_its_interface_and_comes_back_by_name),
		TEST(an_interface_replaced_between_two_looks_is_another_device),
		TEST(a_used_device_is_kept_aside_until_its_last_user_goes),
		TEST(a_default_route_that_goes_is_waited_for),
		TEST(and_given_up_in_the_end),
		TEST(an_interface_that_is_off_stays_in_use),
		TEST(names_run_out_and_are_used_again),
	};

	return harness_run(tests);
}
