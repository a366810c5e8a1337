// SPDX-License-Identifier: BSD-2-Clause
/* Attributes of subnet management: spec/sa-sm 2.1, 2.6, 3; the vectors are its 8. */
#include "wire/smp.h"

#include "layout.h"

#define N(name, byte) WHOLE(struct smp_node_info, name, byte)
static const struct layout_field node_fields[] = {
	N(base_version, 0), N(class_version, 1),
	N(node_type, 2),    N(num_ports, 3),
	N(sys_guid, 4),     N(node_guid, 12),
	N(port_guid, 20),   N(partition_cap, 28),
	N(device_id, 30),   N(revision, 32),
	N(local_port, 36),  AT(struct smp_node_info, vendor_id, 37, 7, 24),
};
LAYOUT_CODEC(smp_node_info)

static void node_info_is_laid_out_as_specified(void **state)
{
	static const struct layout l =
		LAYOUT(smp_node_info, struct smp_node_info, 0, 40, node_fields);

	layout_check(&l);
}

#define P(name, byte)             WHOLE(struct smp_port_info, name, byte)
#define B(name, byte, top, width) AT(struct smp_port_info, name, byte, top, width)
static const struct layout_field port_fields[] = {
	P(mkey, 0),
	P(gid_prefix, 8),
	P(lid, 16),
	P(sm_lid, 18),
	P(cap_mask, 20),
	P(diag_code, 24),
	P(mkey_lease, 26),
	P(local_port, 28),
	P(width_enabled, 29),
	P(width_supported, 30),
	P(width_active, 31),
	B(speed_supported, 32, 7, 4),
	B(state, 32, 3, 4),
	B(phys_state, 33, 7, 4),
	B(down_default, 33, 3, 4),
	B(mkey_protect, 34, 7, 2),
	B(lmc, 34, 2, 3),
	B(speed_active, 35, 7, 4),
	B(speed_enabled, 35, 3, 4),
	B(neighbor_mtu, 36, 7, 4),
	B(sm_sl, 36, 3, 4),
	B(vl_cap, 37, 7, 4),
	B(init_type, 37, 3, 4),
	P(vl_high_limit, 38),
	P(vl_arb_high_cap, 39),
	P(vl_arb_low_cap, 40),
	B(init_type_reply, 41, 7, 4),
	B(mtu_cap, 41, 3, 4),
	B(vl_stall, 42, 7, 3),
	B(hoq_life, 42, 4, 5),
	B(operational_vls, 43, 7, 4),
	B(enforcement, 43, 3, 4),
	P(mkey_violations, 44),
	P(pkey_violations, 46),
	P(qkey_violations, 48),
	P(guid_cap, 50),
	B(client_rereg, 51, 7, 1),
	B(mcast_pkey_trap, 51, 6, 2),
	B(subnet_timeout, 51, 4, 5),
	B(resp_time, 52, 4, 5),
	B(local_phy_errors, 53, 7, 4),
	B(overrun_errors, 53, 3, 4),
	P(max_credit_hint, 54),
	B(round_trip_latency, 57, 7, 24),
	P(cap_mask2, 60),
	B(speed_ext_active, 62, 7, 4),
	B(speed_ext_supported, 62, 3, 4),
	B(speed_ext_enabled, 63, 4, 5),
};
LAYOUT_CODEC(smp_port_info)

static void port_info_is_laid_out_as_specified(void **state)
{
	static const struct layout l =
		LAYOUT(smp_port_info, struct smp_port_info, 0, 64, port_fields);

	layout_check(&l);
}

#define S(name, byte) WHOLE(struct smp_switch_info, name, byte)
static const struct layout_field switch_fields[] = {
	S(lft_cap, 0),
	S(rft_cap, 2),
	S(mft_cap, 4),
	S(lft_top, 6),
	S(default_port, 8),
	S(default_mcast_primary, 9),
	S(default_mcast_not_primary, 10),
	AT(struct smp_switch_info, life_time, 11, 7, 5),
	AT(struct smp_switch_info, state_change, 11, 2, 1),
	AT(struct smp_switch_info, optimized_sl_to_vl, 11, 1, 2),
	S(lids_per_port, 12),
	S(enforcement_cap, 14),
	{ "flags", offsetof(struct smp_switch_info, flags), 1, 16, 7, 5, 3 },
	S(mft_top, 18),
};
LAYOUT_CODEC(smp_switch_info)

static void switch_info_is_laid_out_as_specified(void **state)
{
	static const struct layout l =
		LAYOUT(smp_switch_info, struct smp_switch_info, 0, 20, switch_fields);

	layout_check(&l);
}

static const struct layout_field sm_fields[] = {
	WHOLE(struct smp_sm_info, guid, 0),
	WHOLE(struct smp_sm_info, sm_key, 8),
	WHOLE(struct smp_sm_info, act_count, 16),
	AT(struct smp_sm_info, priority, 20, 7, 4),
	AT(struct smp_sm_info, state, 20, 3, 4),
};
LAYOUT_CODEC(smp_sm_info)

static void sm_info_is_laid_out_as_specified(void **state)
{
	static const struct layout l =
		LAYOUT(smp_sm_info, struct smp_sm_info, 0, 21, sm_fields);

	layout_check(&l);
}

static const struct layout_field notice_fields[] = {
	AT(struct notice, is_generic, 0, 7, 1),     AT(struct notice, type, 0, 6, 7),
	AT(struct notice, producer_type, 1, 7, 24), WHOLE(struct notice, trap, 4),
	WHOLE(struct notice, issuer_lid, 6),        WHOLE(struct notice, toggle_count, 8),
	WHOLE(struct notice, details, 10),          WHOLE(struct notice, issuer_gid, 64),
};
#define SHORT_FIELDS (sizeof(notice_fields) / sizeof(*notice_fields) - 1)

static void notice_get_long(const uint8_t *wire, void *value)
{
	notice_get(wire, NOTICE_BYTES, value);
}

static void notice_put_long(uint8_t *wire, const void *value)
{
	notice_put(wire, NOTICE_BYTES, value);
}

static void notice_get_short(const uint8_t *wire, void *value)
{
	notice_get(wire, NOTICE_TRAP_BYTES, value);
}

static void notice_put_short(uint8_t *wire, const void *value)
{
	notice_put(wire, NOTICE_TRAP_BYTES, value);
}

static void a_notice_is_laid_out_as_specified(void **state)
{
	static const struct layout in_report = { "notice",
						 sizeof(struct notice),
						 0,
						 80,
						 notice_fields,
						 SHORT_FIELDS + 1,
						 notice_get_long,
						 notice_put_long };
	static const struct layout in_trap = { "trap",
					       sizeof(struct notice),
					       0,
					       64,
					       notice_fields,
					       SHORT_FIELDS,
					       notice_get_short,
					       notice_put_short };

	layout_check(&in_report);
	layout_check(&in_trap);
}

static void a_trap_has_no_issuer_gid(void **state)
{
	uint8_t wire[NOTICE_BYTES];
	struct notice n;

	memset(wire, 0xff, sizeof(wire));
	memset(&n, 0xff, sizeof(n));
	notice_get(wire, NOTICE_TRAP_BYTES, &n);
	for (unsigned int i = 0; i < 16; i++)
		assert_int_equal(n.issuer_gid[i], 0);
}

/* LID 4 after a sweep; the same as the PortInfoRecord of spec/sa-sm 8. */
static const char port_active[] =
	"00000000 00000000 fe800000 00000000 00040001 0050c048 00000ff9 01021f02"
	"74520011 40400008 0804e040 00000000 0000201f 00000000 00000000 00300000";
/* What OpenSM wrote into it. */
static const char port_set_lid[] =
	"00000000 00000000 fe800000 00000000 00040001 0050c048 00000000 01021f02"
	"70020011 40400008 0804e040 00000000 00002012 00880000 00000000 00300000";

static void port_info_decodes_as_in_the_vector(void **state)
{
	uint8_t wire[64], again[64];
	struct smp_port_info p;

	assert_int_equal(layout_hex(port_active, wire), 64);
	smp_port_info_get(wire, &p);
	assert_true(p.gid_prefix == 0xfe80000000000000ull);
	assert_int_equal(p.lid, 4);
	assert_int_equal(p.sm_lid, 1);
	assert_int_equal(p.cap_mask, 0x50c048);
	assert_true(p.cap_mask & SMP_CAP_TRAP);
	assert_int_equal(p.mkey_lease, 0xff9);
	assert_int_equal(p.local_port, 1);
	assert_int_equal(p.width_enabled, 2);
	assert_int_equal(p.width_supported, 0x1f);
	assert_int_equal(p.width_active, 2);
	assert_int_equal(p.speed_supported, 7);
	assert_int_equal(p.state, SMP_PORT_ACTIVE);
	assert_int_equal(p.phys_state, SMP_PHYS_LINK_UP);
	assert_int_equal(p.down_default, 2);
	assert_int_equal(p.speed_active, 1);
	assert_int_equal(p.speed_enabled, 1);
	assert_int_equal(p.neighbor_mtu, 4);
	assert_int_equal(p.vl_cap, 4);
	assert_int_equal(p.vl_arb_high_cap, 8);
	assert_int_equal(p.vl_arb_low_cap, 8);
	assert_int_equal(p.mtu_cap, 4);
	assert_int_equal(p.vl_stall, 7);
	assert_int_equal(p.hoq_life, 0);
	assert_int_equal(p.operational_vls, 4);
	assert_int_equal(p.guid_cap, 32);
	assert_int_equal(p.subnet_timeout, 31);
	assert_int_equal(p.cap_mask2, 0x30);
	smp_port_info_put(again, &p);
	assert_memory_equal(again, wire, 64);
}

static void port_info_of_a_sweep_decodes_as_in_the_vectors(void **state)
{
	uint8_t wire[64], again[64];
	struct smp_port_info p;

	assert_int_equal(layout_hex(port_set_lid, wire), 64);
	smp_port_info_get(wire, &p);
	assert_int_equal(p.state, SMP_PORT_NOP);
	assert_int_equal(p.phys_state, SMP_PHYS_NOP);
	assert_int_equal(p.down_default, 2);
	assert_int_equal(p.subnet_timeout, 18);
	assert_int_equal(p.local_phy_errors, 8);
	assert_int_equal(p.overrun_errors, 8);
	p.width_enabled = 0xff;
	p.speed_enabled = 0xf;
	p.state = SMP_PORT_ARMED;
	wire[29] = 0xff;
	wire[35] = 0x1f;
	wire[32] = 0x73;
	smp_port_info_put(again, &p);
	assert_memory_equal(again, wire, 64);
	p.state = SMP_PORT_ACTIVE;
	smp_port_info_put(again, &p);
	assert_int_equal(again[32], 0x74);
	assert_int_equal(again[33], 0x02);
}

static void switch_info_of_a_sweep_decodes_as_in_the_vectors(void **state)
{
	uint8_t wire[20], again[20];
	struct smp_switch_info s;

	layout_hex("78000000 04000004 00000004 00000040 30000000", wire);
	smp_switch_info_get(wire, &s);
	assert_int_equal(s.lft_cap, 0x7800);
	assert_int_equal(s.mft_cap, 0x400);
	assert_int_equal(s.lft_top, 4);
	assert_int_equal(s.state_change, 1);
	assert_int_equal(s.life_time, 0);
	assert_int_equal(s.enforcement_cap, 0x40);
	assert_int_equal(s.flags, 0x30);
	s.state_change = 0;
	s.life_time = 18;
	s.lft_top = 10;
	layout_hex("78000000 0400000a 00000090 00000040 30000000", wire);
	smp_switch_info_put(again, &s);
	assert_memory_equal(again, wire, 20);
}

/* spec/sa-sm 1.3: Gb/s in tenths by rate enum, as the specification lists them. */
static void rates_have_their_speeds(void **state)
{
	static const uint16_t rates[][2] = {
		{ 2, 25 },    { 5, 50 },    { 3, 100 },   { 11, 140 },  { 6, 200 },
		{ 15, 250 },  { 19, 280 },  { 4, 300 },   { 7, 400 },   { 20, 500 },
		{ 12, 560 },  { 8, 600 },   { 9, 800 },   { 16, 1000 }, { 13, 1120 },
		{ 10, 1200 }, { 14, 1680 }, { 17, 2000 }, { 18, 3000 }, { 21, 4000 },
		{ 22, 6000 },
	};
	uint32_t sum = 0;

	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		assert_int_equal(smp_rate_speed((uint8_t)rates[i][0]), rates[i][1]);
		sum += rates[i][1];
	}
	for (unsigned int rate = 0; rate <= 0xff; rate++)
		sum -= smp_rate_speed((uint8_t)rate);
	assert_int_equal(sum, 0);
}

static void a_link_has_the_rate_of_its_width_and_speed(void **state)
{
	/* 4x: spec/sa-sm 3.6; the others by the number of lanes. */
	assert_int_equal(smp_link_rate(2, 1, 0), 3);
	assert_int_equal(smp_link_rate(2, 2, 0), 6);
	assert_int_equal(smp_link_rate(2, 4, 0), 7);
	assert_int_equal(smp_link_rate(2, 4, 1), 12);
	assert_int_equal(smp_link_rate(2, 4, 2), 16);
	assert_int_equal(smp_link_rate(2, 4, 4), 17);
	assert_int_equal(smp_link_rate(1, 1, 0), 2);
	assert_int_equal(smp_link_rate(16, 1, 0), 5);
	assert_int_equal(smp_link_rate(8, 1, 0), 4);
	assert_int_equal(smp_link_rate(8, 4, 4), 22);
	assert_int_equal(smp_link_rate(4, 4, 0), 9);
}

static void what_is_no_active_width_or_speed_has_no_rate(void **state)
{
	unsigned int rates = 0;

	assert_int_equal(smp_link_rate(0, 1, 0), 0);
	assert_int_equal(smp_link_rate(3, 1, 0), 0);
	assert_int_equal(smp_link_rate(2, 0, 0), 0);
	assert_int_equal(smp_link_rate(2, 3, 0), 0);
	assert_int_equal(smp_link_rate(2, 1, 3), 0);
	for (unsigned int w = 0; w <= 0xff; w++)
		for (unsigned int s = 0; s <= 0xff; s++) {
			rates += smp_link_rate((uint8_t)w, (uint8_t)s, 0) != 0;
			rates += smp_link_rate((uint8_t)w, 0, (uint8_t)s) != 0;
		}
	assert_int_equal(rates, 5 * 3 + 5 * 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(node_info_is_laid_out_as_specified),
		cmocka_unit_test(port_info_is_laid_out_as_specified),
		cmocka_unit_test(switch_info_is_laid_out_as_specified),
		cmocka_unit_test(sm_info_is_laid_out_as_specified),
		cmocka_unit_test(a_notice_is_laid_out_as_specified),
		cmocka_unit_test(a_trap_has_no_issuer_gid),
		cmocka_unit_test(port_info_decodes_as_in_the_vector),
		cmocka_unit_test(port_info_of_a_sweep_decodes_as_in_the_vectors),
		cmocka_unit_test(switch_info_of_a_sweep_decodes_as_in_the_vectors),
		cmocka_unit_test(rates_have_their_speeds),
		cmocka_unit_test(a_link_has_the_rate_of_its_width_and_speed),
		cmocka_unit_test(what_is_no_active_width_or_speed_has_no_rate),
	};

	return harness_run(tests);
}
