// SPDX-License-Identifier: BSD-2-Clause
/*
 * What firmware answers: each attribute of spec/sa-sm 3.3, Get and Set, with the status of
 * what it refuses. h1 asks itself, the switch and h2.
 */
#include <errno.h>

#include "world.h"

static struct world world;
static struct seat h1, h2, s1;

static const struct world_route to_h1 = { true, 0, { 0 } };
static const struct world_route to_s1 = { true, 1, { 1 } };
static const struct world_route to_h2 = { true, 2, { 1, 2 } };

static int begin(void **state)
{
	world_begin_text(&world, "Hca 1 \"h1\"\n[1] \"s1\"[1]\n"
				 "Hca 2 \"h2\"\n[1] \"s1\"[2]\n[2] \"s1\"[3]\n"
				 "Switch 20 \"s1\"\n");
	seat_take(&h1, &world, "h1");
	seat_take(&h2, &world, "h2");
	seat_take(&s1, &world, "s1");
	return 0;
}

static int end(void **state)
{
	world_end(&world);
	return 0;
}

static uint8_t *get(const struct world_route *to, uint16_t attr, uint32_t modifier)
{
	return ask(&h1, to, MAD_METHOD_GET, attr, modifier, NULL);
}

static uint8_t *set(const struct world_route *to, uint16_t attr, uint32_t modifier,
		    const uint8_t *data)
{
	return ask(&h1, to, MAD_METHOD_SET, attr, modifier, data);
}

static void a_node_tells_what_it_is(void **state)
{
	struct smp_node_info info;
	uint8_t *answer;

	smp_node_info_get(must(get(&to_h1, SMP_NODE_INFO, 0)), &info);
	assert_int_equal(info.node_guid, 0x100000);
	assert_int_equal(info.local_port, 1);
	smp_node_info_get(must(get(&to_s1, SMP_NODE_INFO, 0)), &info);
	assert_int_equal(info.node_type, SMP_NODE_SWITCH);
	assert_int_equal(info.num_ports, 20);
	assert_int_equal(info.node_guid, 0x200000);
	assert_int_equal(info.port_guid, 0x200000);
	assert_int_equal(info.partition_cap, 32);
	smp_node_info_get(must(get(&to_h2, SMP_NODE_INFO, 0)), &info);
	assert_int_equal(info.node_type, SMP_NODE_CA);
	assert_int_equal(info.num_ports, 2);
	assert_int_equal(info.node_guid, 0x100002);
	assert_int_equal(info.port_guid, 0x100003);
	assert_string_equal((const char *)must(get(&to_h2, SMP_NODE_DESCRIPTION, 0)),
			    "h2");
	answer = get(&to_h2, SMP_NODE_DESCRIPTION, 5);
	assert_int_equal(answer[23], 5); /* the modifier comes back */
}

static void what_there_is_not_has_its_status(void **state)
{
	uint8_t zero[64] = { 0 }, mad[256];

	assert_status(get(&to_h2, 0x7777, 0), MAD_STATUS_BAD_ATTRIBUTE);
	assert_status(set(&to_h2, SMP_NODE_INFO, 0, zero), MAD_STATUS_BAD_ATTRIBUTE);
	assert_status(set(&to_h2, SMP_NODE_DESCRIPTION, 0, zero),
		      MAD_STATUS_BAD_ATTRIBUTE);
	assert_status(get(&to_h2, SMP_SWITCH_INFO, 0), MAD_STATUS_BAD_ATTRIBUTE);
	assert_status(get(&to_h2, SMP_LINEAR_FT, 0), MAD_STATUS_BAD_ATTRIBUTE);
	assert_status(get(&to_h2, SMP_MULTICAST_FT, 0), MAD_STATUS_BAD_ATTRIBUTE);
	assert_status(get(&to_s1, SMP_RANDOM_FT, 0), MAD_STATUS_BAD_ATTRIBUTE);
	assert_status(ask(&h1, &to_h2, MAD_METHOD_GET_TABLE, SMP_NODE_INFO, 0, NULL),
		      MAD_STATUS_BAD_METHOD);
	seat_forget(&h1);
	smp_begin(mad, MAD_CLASS_SUBN_DIRECTED, MAD_METHOD_GET, SMP_NODE_INFO, 0, 9);
	mad[2] = 2;
	assert_int_equal(smp_send(&h1, mad, IB_LID_PERMISSIVE), 0);
	assert_status(seat_answer(&h1, mad), MAD_STATUS_BAD_VERSION);
}

/* -- PortInfo ---------------------------------------------------------------------- */

static void a_port_begins_in_init_with_nothing_set(void **state)
{
	struct smp_port_info i = port_info(&h1, &to_h2, 1);

	assert_int_equal(i.state, SMP_PORT_INIT);
	assert_int_equal(i.phys_state, SMP_PHYS_LINK_UP);
	assert_int_equal(i.lid, 0);
	assert_int_equal(i.sm_lid, 0);
	assert_true(i.gid_prefix == 0xfe80000000000000ull);
	assert_int_equal(i.local_port, 1);
	assert_int_equal(i.mtu_cap, 5);
	assert_int_equal(i.guid_cap, 8);
	assert_int_equal(i.cap_mask,
			 SMP_CAP_TRAP | SMP_CAP_SL_MAP | SMP_CAP_CM |
				 SMP_CAP_VENDOR_CLASS | SMP_CAP_CAP_MASK_NOTICE |
				 SMP_CAP_CLIENT_REREG | SMP_CAP_OTHER_LOCAL_CHANGES);
	i = port_info(&h1, &to_s1, 0);
	assert_int_equal(i.state, SMP_PORT_ACTIVE);
	assert_true(i.cap_mask & SMP_CAP_MFT_TOP);
	assert_int_equal(i.neighbor_mtu, 5);
	i = port_info(&h1, &to_s1, 1);
	assert_int_equal(i.state, SMP_PORT_INIT);
	assert_int_equal(i.cap_mask, 0);
	i = port_info(&h1, &to_s1, 20);
	assert_int_equal(i.state, SMP_PORT_DOWN);
	assert_int_equal(i.phys_state, SMP_PHYS_POLLING);
	assert_int_equal(i.local_port, 1);
	assert_status(get(&to_s1, SMP_PORT_INFO, 21), MAD_STATUS_BAD_VALUE);
	assert_status(get(&to_h2, SMP_PORT_INFO, 3), MAD_STATUS_BAD_VALUE);
	/* The bit of extended speeds is no part of the number. */
	must(get(&to_s1, SMP_PORT_INFO, 0x80000001));
}

static void states_go_up_by_steps_and_down_at_once(void **state)
{
	static const struct {
		uint8_t set;
		uint16_t status;
		uint8_t then;
	} steps[] = {
		{ SMP_PORT_ACTIVE, MAD_STATUS_BAD_VALUE, SMP_PORT_INIT },
		{ SMP_PORT_INIT, MAD_STATUS_BAD_VALUE, SMP_PORT_INIT },
		{ SMP_PORT_NOP, 0, SMP_PORT_INIT },
		{ SMP_PORT_ARMED, 0, SMP_PORT_ARMED },
		{ SMP_PORT_ARMED, 0, SMP_PORT_ARMED },
		{ SMP_PORT_INIT, MAD_STATUS_BAD_VALUE, SMP_PORT_ARMED },
		{ SMP_PORT_ACTIVE, 0, SMP_PORT_ACTIVE },
		{ SMP_PORT_ACTIVE, 0, SMP_PORT_ACTIVE },
		{ SMP_PORT_ARMED, MAD_STATUS_BAD_VALUE, SMP_PORT_ACTIVE },
		{ 5, MAD_STATUS_BAD_VALUE, SMP_PORT_ACTIVE },
		{ SMP_PORT_NOP, 0, SMP_PORT_ACTIVE },
		{ SMP_PORT_DOWN, 0, SMP_PORT_INIT },
	};

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		assert_status(set_state(&h1, &to_s1, 2, steps[i].set), steps[i].status);
		assert_int_equal(port_info(&h1, &to_s1, 2).state, steps[i].then);
	}
}

static void going_down_takes_the_other_end_along(void **state)
{
	for (uint8_t s = SMP_PORT_ARMED; s <= SMP_PORT_ACTIVE; s++) {
		must(set_state(&h1, &to_s1, 2, s));
		must(set_state(&h1, &to_h2, 1, s));
	}
	must(set_state(&h1, &to_s1, 2, SMP_PORT_DOWN));
	assert_int_equal(port_info(&h1, &to_h2, 1).state, SMP_PORT_INIT);
	assert_int_equal(h2.changes & FABRIC_PORT_STATE, FABRIC_PORT_STATE);
}

static void a_port_without_a_link_cannot_be_armed(void **state)
{
	assert_status(set_state(&h1, &to_s1, 20, SMP_PORT_ARMED), MAD_STATUS_BAD_VALUE);
	assert_status(set_state(&h1, &to_s1, 20, SMP_PORT_ACTIVE), MAD_STATUS_BAD_VALUE);
	must(set_state(&h1, &to_s1, 20, SMP_PORT_DOWN));
	assert_int_equal(port_info(&h1, &to_s1, 20).state, SMP_PORT_DOWN);
}

static void port_0_of_a_switch_is_always_active(void **state)
{
	for (uint8_t s = SMP_PORT_NOP; s <= SMP_PORT_ACTIVE; s++) {
		must(set_state(&h1, &to_s1, 0, s));
		assert_int_equal(port_info(&h1, &to_s1, 0).state, SMP_PORT_ACTIVE);
	}
}

static void a_disabled_port_stays_down_until_it_polls(void **state)
{
	struct smp_port_info i;

	must(set_phys_state(&h1, &to_s1, 2, SMP_PHYS_DISABLED));
	i = port_info(&h1, &to_s1, 2);
	assert_int_equal(i.phys_state, SMP_PHYS_DISABLED);
	assert_int_equal(i.state, SMP_PORT_DOWN);
	assert_null(get(&to_h2, SMP_NODE_INFO, 0));
	must(set_state(&h1, &to_s1, 2, SMP_PORT_DOWN));
	assert_int_equal(port_info(&h1, &to_s1, 2).phys_state, SMP_PHYS_DISABLED);
	must(set_phys_state(&h1, &to_s1, 2, SMP_PHYS_POLLING));
	i = port_info(&h1, &to_s1, 2);
	assert_int_equal(i.phys_state, SMP_PHYS_LINK_UP);
	assert_int_equal(i.state, SMP_PORT_INIT);
	must(get(&to_h2, SMP_NODE_INFO, 0));
	assert_status(set_phys_state(&h1, &to_s1, 2, SMP_PHYS_LINK_UP),
		      MAD_STATUS_BAD_VALUE);
}

static void a_set_writes_what_an_end_port_has(void **state)
{
	struct smp_port_info i = port_info_for_set(&h1, &to_h2, 1), got;

	i.lid = 17;
	i.lmc = 2;
	i.sm_lid = 3;
	i.sm_sl = 1;
	i.gid_prefix = 0xfec0000000000001ull;
	i.mkey_lease = 15;
	i.subnet_timeout = 19;
	i.neighbor_mtu = 4;
	i.operational_vls = 2;
	i.width_enabled = 0xff;
	i.speed_enabled = 0xf;
	i.vl_high_limit = 4;
	i.local_phy_errors = 8;
	i.overrun_errors = 8;
	i.cap_mask = 0; /* not theirs to write */
	i.mtu_cap = 1;
	smp_port_info_get(must(set_port_info(&h1, &to_h2, 1, &i)), &got);
	world_run(&world);
	assert_int_equal(got.lid, 17);
	assert_int_equal(got.lmc, 2);
	assert_int_equal(got.sm_lid, 3);
	assert_int_equal(got.sm_sl, 1);
	assert_true(got.gid_prefix == 0xfec0000000000001ull);
	assert_int_equal(got.mkey_lease, 15);
	assert_int_equal(got.subnet_timeout, 19);
	assert_int_equal(got.neighbor_mtu, 4);
	assert_int_equal(got.operational_vls, 2);
	assert_int_equal(got.width_enabled, got.width_supported);
	assert_int_equal(got.speed_enabled, got.speed_supported);
	assert_int_equal(got.vl_high_limit, 4);
	assert_int_equal(got.local_phy_errors, 8);
	assert_int_not_equal(got.cap_mask, 0);
	assert_int_equal(got.mtu_cap, 5);
	assert_int_equal(got.state, SMP_PORT_INIT);
	assert_int_equal(h2.changes, FABRIC_PORT_LID | FABRIC_PORT_SM | FABRIC_PORT_GIDS |
					     FABRIC_PORT_OTHER);
	assert_int_equal(h2.times_told, 1);
	seat_forget(&h2);
	must(set_port_info(&h1, &to_h2, 1, &i));
	world_run(&world);
	assert_int_equal(h2.times_told, 0); /* all that was there already */
}

static void assert_same(const struct smp_port_info *a, const struct smp_port_info *b)
{
	uint8_t x[64], y[64];

	smp_port_info_put(x, a);
	smp_port_info_put(y, b);
	assert_memory_equal(x, y, sizeof(x));
}

static void zero_means_no_change_of_some(void **state)
{
	struct smp_port_info before = port_info(&h1, &to_h2, 1), i = before;

	i.width_enabled = i.speed_enabled = i.down_default = i.operational_vls = 0;
	i.state = i.phys_state = 0;
	must(set_port_info(&h1, &to_h2, 1, &i));
	i = port_info(&h1, &to_h2, 1);
	assert_same(&i, &before);
}

static void a_wrong_value_changes_nothing(void **state)
{
#define WRONG(to, port, field, value)                                                  \
	do {                                                                           \
		struct smp_port_info before = port_info(&h1, to, port), i = before;    \
		i.state = SMP_PORT_ARMED;                                              \
		i.phys_state = 0;                                                      \
		i.vl_high_limit = 77;                                                  \
		i.field = (value);                                                     \
		assert_status(set_port_info(&h1, to, port, &i), MAD_STATUS_BAD_VALUE); \
		i = port_info(&h1, to, port);                                          \
		assert_same(&i, &before);                                              \
	} while (0)
	WRONG(&to_h2, 1, lid, 0xc000);
	WRONG(&to_h2, 1, sm_lid, 0xffff);
	WRONG(&to_h2, 1, neighbor_mtu, 0);
	WRONG(&to_h2, 1, neighbor_mtu, 6);
	WRONG(&to_h2, 1, operational_vls, 5);
	WRONG(&to_h2, 1, width_enabled, 0x10);
	WRONG(&to_h2, 1, speed_enabled, 0x8);
	WRONG(&to_h2, 1, phys_state, 6);
	WRONG(&to_s1, 2, down_default, 3);
	WRONG(&to_s1, 2, neighbor_mtu, 7);
#undef WRONG
	/* Another port of an adapter is asked by itself. */
	assert_status(set_state(&h1, &to_h2, 2, SMP_PORT_ARMED), MAD_STATUS_BAD_VALUE);
	must(get(&to_h2, SMP_PORT_INFO, 2));
}

static void a_lid_is_not_taken_back(void **state)
{
	struct smp_port_info i = port_info_for_set(&h1, &to_h2, 1);

	i.lid = 9;
	must(set_port_info(&h1, &to_h2, 1, &i));
	i.lid = 0;
	assert_status(set_port_info(&h1, &to_h2, 1, &i), MAD_STATUS_BAD_VALUE);
}

static void reregistration_is_an_event(void **state)
{
	struct smp_port_info i = port_info_for_set(&h1, &to_h2, 1), got;

	i.client_rereg = 1;
	smp_port_info_get(must(set_port_info(&h1, &to_h2, 1, &i)), &got);
	assert_int_equal(got.client_rereg, 0);
	assert_int_equal(h2.changes, FABRIC_PORT_REREGISTER);
	assert_int_equal(port_info(&h1, &to_h2, 1).client_rereg, 0);
}

static void an_external_port_has_no_lid(void **state)
{
	struct smp_port_info i = port_info_for_set(&h1, &to_s1, 2);

	i.lid = 9;
	i.enforcement = 0xc;
	must(set_port_info(&h1, &to_s1, 2, &i));
	i = port_info(&h1, &to_s1, 2);
	assert_int_equal(i.lid, 0);
	assert_int_equal(i.enforcement, 0xc);
}

static void an_m_key_keeps_others_out(void **state)
{
	struct smp_port_info i = port_info_for_set(&h1, &to_h2, 1), got;

	i.mkey = 42;
	must(set_port_info(&h1, &to_h2, 1, &i));
	i.lid = 5;
	assert_null(set_port_info(&h1, &to_h2, 1, &i));
	smp_port_info_get(must(get(&to_h2, SMP_PORT_INFO, 1)), &got);
	assert_int_equal(got.lid, 0);
	assert_int_equal(got.mkey_violations, 1);
	assert_int_equal(got.mkey, 42); /* with protect bits 0 it is no secret */
}

static void violations_are_reset_by_zero_alone(void **state)
{
	struct smp_port_info i = port_info_for_set(&h1, &to_h2, 1);

	fabric_port_violated(h2.port, 3, 4);
	i.mkey_violations = 9;
	i.pkey_violations = 1;
	i.qkey_violations = UINT16_MAX;
	must(set_port_info(&h1, &to_h2, 1, &i));
	i = port_info_for_set(&h1, &to_h2, 1);
	assert_int_equal(i.mkey_violations, 0);
	assert_int_equal(i.pkey_violations, 3);
	assert_int_equal(i.qkey_violations, 4);
	i.pkey_violations = 0;
	must(set_port_info(&h1, &to_h2, 1, &i));
	i = port_info_for_set(&h1, &to_h2, 1);
	assert_int_equal(i.pkey_violations, 0);
	assert_int_equal(i.qkey_violations, 4);
}

/* As if it came from somebody with this key. */
static uint8_t *with_key(uint64_t mkey, uint8_t method, uint16_t attr, uint32_t modifier,
			 const struct smp_port_info *info)
{
	uint8_t mad[256];

	seat_forget(&h1);
	smp_begin(mad, MAD_CLASS_SUBN_DIRECTED, method, attr, modifier, h1.next_tid++);
	smp_set_path(mad, to_h2.hops, to_h2.path);
	for (unsigned int i = 0; i < 8; i++)
		mad[SMP_MKEY + i] = (uint8_t)(mkey >> 8 * (7 - i));
	if (info)
		smp_port_info_put(mad + SMP_DATA, info);
	assert_int_equal(smp_send(&h1, mad, IB_LID_PERMISSIVE), 0);
	return seat_answer(&h1, mad);
}

static void an_m_key_is_protected_for_its_lease(void **state)
{
	struct smp_port_info i = port_info_for_set(&h1, &to_h2, 1), got;

	i.mkey = 42;
	i.mkey_lease = 15;
	i.mkey_protect = 1;
	must(set_port_info(&h1, &to_h2, 1, &i));
	/* 1: told to all, but for the key. */
	smp_port_info_get(must(get(&to_h2, SMP_PORT_INFO, 1)), &got);
	assert_int_equal(got.mkey, 0);
	smp_port_info_get(must(with_key(42, MAD_METHOD_GET, SMP_PORT_INFO, 1, NULL)),
			  &got);
	assert_int_equal(got.mkey, 42);
	/* 2: nothing is told to those who do not know it. */
	i.mkey_protect = 2;
	must(with_key(42, MAD_METHOD_SET, SMP_PORT_INFO, 1, &i));
	assert_null(get(&to_h2, SMP_NODE_INFO, 0));
	assert_null(with_key(41, MAD_METHOD_GET, SMP_PORT_INFO, 1, NULL));
	/* Who knows it renews the lease, which runs from the next violation. */
	world_pass(&world, 14000 * TIMER_MS);
	smp_port_info_get(must(with_key(42, MAD_METHOD_GET, SMP_PORT_INFO, 1, NULL)),
			  &got);
	assert_int_equal(got.mkey_violations, 2);
	world_pass(&world, 20000 * TIMER_MS);
	assert_null(get(&to_h2, SMP_NODE_INFO, 0));
	world_pass(&world, 14999 * TIMER_MS);
	assert_null(get(&to_h2, SMP_NODE_INFO, 0));
	world_pass(&world, 1 * TIMER_MS);
	must(get(&to_h2, SMP_NODE_INFO, 0));
	smp_port_info_get(must(get(&to_h2, SMP_PORT_INFO, 1)), &got);
	assert_int_equal(got.mkey_protect, 0);
	assert_int_equal(got.mkey, 42);
	/* A Set is still for those who know it, and a period of 0 never ends. */
	assert_null(set_port_info(&h1, &to_h2, 1, &i));
	i.mkey_lease = 0;
	must(with_key(42, MAD_METHOD_SET, SMP_PORT_INFO, 1, &i));
	assert_null(get(&to_h2, SMP_NODE_INFO, 0));
	world_pass(&world, 100000 * TIMER_MS);
	assert_null(get(&to_h2, SMP_NODE_INFO, 0));
	fabric_power_set(world.fabric, "h2", false);
	fabric_power_set(world.fabric, "h2", true);
	must(get(&to_h2, SMP_NODE_INFO, 0));
}

static void a_link_takes_the_greatest_that_both_ends_are_enabled_for(void **state)
{
	struct smp_port_info i = port_info_for_set(&h1, &to_s1, 2);

	assert_int_equal(i.width_active, 2);
	assert_int_equal(i.speed_active, 4);
	i.width_enabled = 1;
	i.speed_enabled = 3;
	must(set_port_info(&h1, &to_s1, 2, &i));
	assert_int_equal(port_info(&h1, &to_s1, 2).width_active, 2); /* not yet */
	i.phys_state = SMP_PHYS_POLLING;
	must(set_port_info(&h1, &to_s1, 2, &i));
	for (unsigned int end = 0; end < 2; end++) {
		struct smp_port_info got =
			end ? port_info(&h1, &to_h2, 1) : port_info(&h1, &to_s1, 2);

		assert_int_equal(got.width_active, 1);
		assert_int_equal(got.speed_active, 2);
		assert_int_equal(got.state, SMP_PORT_INIT);
	}
	/* Nothing in common: the link stays down, until there is. */
	i = port_info_for_set(&h1, &to_h2, 1);
	i.speed_enabled = 4;
	must(set_port_info(&h1, &to_h2, 1, &i));
	must(set_phys_state(&h1, &to_s1, 2, SMP_PHYS_POLLING));
	i = port_info(&h1, &to_s1, 2);
	assert_int_equal(i.state, SMP_PORT_DOWN);
	assert_int_equal(i.phys_state, SMP_PHYS_POLLING);
	i = port_info_for_set(&h1, &to_s1, 2);
	i.width_enabled = 0xff;
	i.speed_enabled = 0xf;
	i.phys_state = SMP_PHYS_POLLING;
	must(set_port_info(&h1, &to_s1, 2, &i));
	i = port_info(&h1, &to_h2, 1);
	assert_int_equal(i.state, SMP_PORT_INIT);
	assert_int_equal(i.width_active, 2);
	assert_int_equal(i.speed_active, 4);
}

/* -- tables ------------------------------------------------------------------------ */

static void pkeys_are_kept_by_port_and_block(void **state)
{
	uint8_t data[64] = { 0xff, 0xff, 0x80, 0x01, 0x00, 0x02 };
	struct fabric_port_info info;

	assert_memory_equal(must(get(&to_h2, SMP_PKEY_TABLE, 0)), "\xff\xff\0\0", 4);
	assert_memory_equal(must(get(&to_s1, SMP_PKEY_TABLE, 2 << 16)), "\xff\xff\0\0",
			    4);
	assert_memory_equal(must(set(&to_h2, SMP_PKEY_TABLE, 0, data)), data, 64);
	assert_int_equal(h2.changes, FABRIC_PORT_PKEYS);
	fabric_port_info(h2.port, &info);
	assert_int_equal(info.pkey_count, 32);
	assert_int_equal(info.pkeys[1], 0x8001);
	assert_int_equal(info.pkeys[2], 0x0002);
	assert_memory_equal(must(set(&to_s1, SMP_PKEY_TABLE, 20 << 16, data)), data, 64);
	assert_memory_equal(must(get(&to_s1, SMP_PKEY_TABLE, 0)), "\xff\xff\0\0", 4);
	assert_memory_equal(must(get(&to_s1, SMP_PKEY_TABLE, 20 << 16)), data, 64);
	assert_status(get(&to_s1, SMP_PKEY_TABLE, 21 << 16), MAD_STATUS_BAD_VALUE);
	assert_status(get(&to_s1, SMP_PKEY_TABLE, 1), MAD_STATUS_BAD_VALUE);
	assert_status(set(&to_h2, SMP_PKEY_TABLE, 1, data), MAD_STATUS_BAD_VALUE);
}

static void guids_but_the_first_are_writable(void **state)
{
	uint8_t data[64];
	struct fabric_port_info info;

	memset(data, 7, sizeof(data));
	must(set(&to_h2, SMP_GUID_INFO, 0, data));
	assert_int_equal(h2.changes, FABRIC_PORT_GIDS);
	fabric_port_info(h2.port, &info);
	assert_int_equal(info.guids[0], 0x100003);
	assert_true(info.guids[7] == 0x0707070707070707ull);
	assert_int_equal(must(get(&to_h2, SMP_GUID_INFO, 0))[7], 3);
	assert_status(get(&to_h2, SMP_GUID_INFO, 1), MAD_STATUS_BAD_VALUE);
	must(get(&to_s1, SMP_GUID_INFO, 0));
	assert_status(set(&to_s1, SMP_GUID_INFO, 0, data), MAD_STATUS_BAD_ATTRIBUTE);
}

static void lanes_are_kept(void **state)
{
	uint8_t data[64] = { 0x01, 0x23, 0x45, 0x67, 0x01, 0x23, 0x45, 0x66 };
	uint8_t arb[64];

	assert_memory_equal(must(get(&to_s1, SMP_SL_TO_VL, 1 << 8 | 2)),
			    "\x01\x23\x45\x67\x01\x23\x45\x67", 8);
	assert_memory_equal(must(set(&to_s1, SMP_SL_TO_VL, 1 << 8 | 2, data)), data, 8);
	assert_memory_equal(must(get(&to_s1, SMP_SL_TO_VL, 1 << 8 | 2)), data, 8);
	assert_int_equal(must(get(&to_s1, SMP_SL_TO_VL, 2 << 8 | 1))[7], 0x67);
	assert_status(get(&to_s1, SMP_SL_TO_VL, 1 << 8 | 21), MAD_STATUS_BAD_VALUE);
	assert_status(set(&to_s1, SMP_SL_TO_VL, 21 << 8, data), MAD_STATUS_BAD_VALUE);
	must(set(&to_h2, SMP_SL_TO_VL, 0, data));
	assert_memory_equal(must(get(&to_h2, SMP_SL_TO_VL, 0)), data, 8);

	memset(arb, 5, sizeof(arb));
	assert_int_equal(must(get(&to_s1, SMP_VL_ARB, 3 << 16 | 1))[1], 0);
	assert_memory_equal(must(set(&to_s1, SMP_VL_ARB, 3 << 16 | 1, arb)), arb, 64);
	assert_memory_equal(must(get(&to_s1, SMP_VL_ARB, 3 << 16 | 1)), arb, 64);
	assert_int_equal(must(get(&to_s1, SMP_VL_ARB, 1 << 16 | 1))[1], 0);
	assert_status(get(&to_s1, SMP_VL_ARB, 5 << 16 | 1), MAD_STATUS_BAD_VALUE);
	assert_status(get(&to_s1, SMP_VL_ARB, 1), MAD_STATUS_BAD_VALUE);
	assert_status(set(&to_s1, SMP_VL_ARB, 1 << 16 | 21, arb), MAD_STATUS_BAD_VALUE);
	must(set(&to_h2, SMP_VL_ARB, 1 << 16 | 1, arb));
}

static void switch_info_keeps_what_is_writable(void **state)
{
	struct smp_switch_info i, got;
	uint8_t data[64] = { 0 };

	smp_switch_info_get(must(get(&to_s1, SMP_SWITCH_INFO, 0)), &i);
	assert_int_equal(i.lft_cap, 0xc000);
	assert_int_equal(i.mft_cap, 1024);
	assert_int_equal(i.state_change, 1);
	assert_int_equal(i.enforcement_cap, 32);
	i.lft_cap = 1;
	i.lft_top = 100;
	i.mft_top = 0xc01f;
	i.default_port = 3;
	i.default_mcast_primary = 4;
	i.default_mcast_not_primary = 5;
	i.life_time = 18;
	i.state_change = 0;
	smp_switch_info_put(data, &i);
	smp_switch_info_get(must(set(&to_s1, SMP_SWITCH_INFO, 0, data)), &got);
	assert_int_equal(got.lft_cap, 0xc000);
	assert_int_equal(got.lft_top, 100);
	assert_int_equal(got.mft_top, 0xc01f);
	assert_int_equal(got.default_port, 3);
	assert_int_equal(got.default_mcast_primary, 4);
	assert_int_equal(got.default_mcast_not_primary, 5);
	assert_int_equal(got.life_time, 18);
	assert_int_equal(got.state_change, 1);
	i.state_change = 1;
	smp_switch_info_put(data, &i);
	smp_switch_info_get(must(set(&to_s1, SMP_SWITCH_INFO, 0, data)), &got);
	assert_int_equal(got.state_change, 0);
	i.lft_top = 0xc000;
	smp_switch_info_put(data, &i);
	assert_status(set(&to_s1, SMP_SWITCH_INFO, 0, data), MAD_STATUS_BAD_VALUE);
	i.lft_top = 1;
	i.default_mcast_primary = 21;
	smp_switch_info_put(data, &i);
	assert_status(set(&to_s1, SMP_SWITCH_INFO, 0, data), MAD_STATUS_BAD_VALUE);
}

static void forwarding_tables_are_kept_by_block(void **state)
{
	uint8_t data[64], empty[64];

	memset(empty, 0xff, sizeof(empty));
	for (int i = 0; i < 64; i++)
		data[i] = (uint8_t)i;
	assert_memory_equal(must(get(&to_s1, SMP_LINEAR_FT, 767)), empty, 64);
	assert_memory_equal(must(set(&to_s1, SMP_LINEAR_FT, 767, data)), data, 64);
	assert_memory_equal(must(get(&to_s1, SMP_LINEAR_FT, 767)), data, 64);
	assert_memory_equal(must(get(&to_s1, SMP_LINEAR_FT, 766)), empty, 64);
	assert_status(get(&to_s1, SMP_LINEAR_FT, 768), MAD_STATUS_BAD_VALUE);
	assert_status(set(&to_s1, SMP_LINEAR_FT, 768, data), MAD_STATUS_BAD_VALUE);
}

static void multicast_tables_are_kept_by_block_and_position(void **state)
{
	uint8_t data[64], zero[64] = { 0 };

	memset(data, 0xff, sizeof(data));
	assert_memory_equal(must(get(&to_s1, SMP_MULTICAST_FT, 31)), zero, 64);
	assert_memory_equal(must(set(&to_s1, SMP_MULTICAST_FT, 31, data)), data, 64);
	/* Ports 16 .. 20 are what position 1 has. */
	assert_memory_equal(must(set(&to_s1, SMP_MULTICAST_FT, 1u << 28 | 2, data)),
			    "\x00\x1f\x00\x1f", 4);
	assert_memory_equal(must(get(&to_s1, SMP_MULTICAST_FT, 2)), zero, 64);
	assert_memory_equal(must(get(&to_s1, SMP_MULTICAST_FT, 31)), data, 64);
	assert_true(fabric_mft_has(world.fabric, 2, 0xc040, 20));
	assert_true(fabric_mft_has(world.fabric, 2, 0xc3e0, 0));
	assert_false(fabric_mft_has(world.fabric, 2, 0xc040, 15));
	assert_false(fabric_mft_has(world.fabric, 2, 0xc060, 20));
	assert_memory_equal(must(set(&to_s1, SMP_MULTICAST_FT, 31, zero)), zero, 64);
	assert_false(fabric_mft_has(world.fabric, 2, 0xc3e0, 0));
	assert_status(get(&to_s1, SMP_MULTICAST_FT, 32), MAD_STATUS_BAD_VALUE);
	assert_status(get(&to_s1, SMP_MULTICAST_FT, 2u << 28), MAD_STATUS_BAD_VALUE);
	assert_status(set(&to_s1, SMP_MULTICAST_FT, 2u << 28, data),
		      MAD_STATUS_BAD_VALUE);
}

static void routes_change_only_when_something_does(void **state)
{
	uint8_t data[64];
	uint64_t before;
	unsigned int told;

	memset(data, 2, sizeof(data));
	must(set(&to_s1, SMP_LINEAR_FT, 0, data));
	must(set(&to_s1, SMP_MULTICAST_FT, 0, data));
	before = fabric_routes_generation(world.fabric);
	told = world.routes_changed;
	must(set(&to_s1, SMP_LINEAR_FT, 0, data));
	must(set(&to_s1, SMP_MULTICAST_FT, 0, data));
	must(set_state(&h1, &to_s1, 2, SMP_PORT_NOP));
	assert_int_equal(fabric_routes_generation(world.fabric), before);
	data[5] = 1;
	must(set(&to_s1, SMP_LINEAR_FT, 0, data));
	must(set(&to_s1, SMP_MULTICAST_FT, 0, data));
	must(set_state(&h1, &to_s1, 2, SMP_PORT_ARMED));
	assert_int_equal(fabric_routes_generation(world.fabric), before + 3);
	assert_int_equal(world.routes_changed, told + 3);
}

static uint64_t generation(void)
{
	return fabric_routes_generation(world.fabric);
}

/* Who compiles the tables looks again only when this moves. */
static void all_that_walks_look_at_moves_the_generation(void **state)
{
	uint8_t pkeys[64] = { 0x80, 0x07 };
	struct smp_port_info info;
	uint64_t before;

	info = port_info_for_set(&h1, &to_s1, 2);
	info.enforcement = 0x8;
	before = generation();
	must(set_port_info(&h1, &to_s1, 2, &info));
	assert_int_equal(generation(), before + 1);
	must(set(&to_s1, SMP_PKEY_TABLE, 2 << 16, pkeys));
	assert_int_equal(generation(), before + 2);
	must(set(&to_s1, SMP_PKEY_TABLE, 2 << 16, pkeys));
	must(set(&to_h2, SMP_PKEY_TABLE, 0, pkeys)); /* the engine's to check */
	assert_int_equal(generation(), before + 2);
	info = port_info_for_set(&h1, &to_h2, 1);
	info.lid = 9;
	must(set_port_info(&h1, &to_h2, 1, &info));
	assert_int_equal(generation(), before + 3);
	set_switch_info(&h1, &to_s1, 10, 0xc01f);
	assert_int_equal(generation(), before + 4);
	set_switch_info(&h1, &to_s1, 10, 0xc03f);
	assert_int_equal(generation(), before + 5);
	set_switch_info(&h1, &to_s1, 10, 0xc03f);
	assert_int_equal(generation(), before + 5);
}

/* -- for whom ---------------------------------------------------------------------- */

static void what_is_an_sms_goes_to_who_is_there(void **state)
{
	struct fabric_counters c;

	assert_null(get(&to_h2, SMP_SM_INFO, 0));
	assert_int_equal(h2.count, 1);
	assert_int_equal(h2.inbox[0].mad[3], MAD_METHOD_GET);
	assert_null(set(&to_h2, SMP_SM_INFO, 1, NULL));
	assert_int_equal(h2.count, 2);
	assert_null(ask(&h1, &to_h2, MAD_METHOD_TRAP, SMP_NOTICE, 0, NULL));
	assert_null(ask(&h1, &to_h2, MAD_METHOD_TRAP_REPRESS, SMP_NOTICE, 0, NULL));
	assert_int_equal(h2.count, 4);
	assert_null(get(&to_s1, SMP_SM_INFO, 0));
	assert_int_equal(s1.count, 1);
	fabric_port_attach(h2.port, NULL, NULL);
	assert_null(get(&to_h2, SMP_SM_INFO, 0));
	fabric_counters(world.fabric, &c);
	assert_int_equal(c.nobody, 1);
	assert_int_equal(c.smp_answered, 0);
	assert_int_equal(c.delivered, 5);
}

#define case_of(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		case_of(a_node_tells_what_it_is),
		case_of(what_there_is_not_has_its_status),
		case_of(a_port_begins_in_init_with_nothing_set),
		case_of(states_go_up_by_steps_and_down_at_once),
		case_of(going_down_takes_the_other_end_along),
		case_of(a_port_without_a_link_cannot_be_armed),
		case_of(port_0_of_a_switch_is_always_active),
		case_of(a_disabled_port_stays_down_until_it_polls),
		case_of(a_set_writes_what_an_end_port_has),
		case_of(zero_means_no_change_of_some),
		case_of(a_wrong_value_changes_nothing),
		case_of(a_lid_is_not_taken_back),
		case_of(reregistration_is_an_event),
		case_of(an_external_port_has_no_lid),
		case_of(violations_are_reset_by_zero_alone),
		case_of(an_m_key_keeps_others_out),
		case_of(an_m_key_is_protected_for_its_lease),
		case_of(a_link_takes_the_greatest_that_both_ends_are_enabled_for),
		case_of(pkeys_are_kept_by_port_and_block),
		case_of(guids_but_the_first_are_writable),
		case_of(lanes_are_kept),
		case_of(switch_info_keeps_what_is_writable),
		case_of(forwarding_tables_are_kept_by_block),
		case_of(multicast_tables_are_kept_by_block_and_position),
		case_of(routes_change_only_when_something_does),
		case_of(all_that_walks_look_at_moves_the_generation),
		case_of(what_is_an_sms_goes_to_who_is_there),
	};

	return harness_run(tests);
}
