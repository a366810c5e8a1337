/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys that do not fit: what is counted, what the subnet manager is told, and how often.
 */
#include "wire/bytes.h"
#include "world.h"

#define SECOND 1000000000ull

/* On the switch s1, LID 4: h1 .. h3 with LIDs 1 .. 3. h1 is the SM. */
static struct world world;
static struct seat h1, h2;

#define H2 (&world.routes[1])
#define S1 (&world.routes[3])

static int begin(void **state)
{
	struct topology *t;

	assert_int_equal(topology_star(3, 1, &t), 0);
	world_begin(&world, t);
	seat_take(&h1, &world, "h1");
	seat_take(&h2, &world, "h2");
	world_configure(&world, &h1, 0);
	seat_forget(&h2);
	return 0;
}

static int end(void **state)
{
	world_end(&world);
	return 0;
}

/* The only one that came, or came last. */
static struct notice told(unsigned int count)
{
	struct notice n;

	world_run(&world);
	assert_int_equal(h1.count, count);
	assert_int_equal(h1.inbox[count - 1].mad[3], MAD_METHOD_TRAP);
	notice_get(h1.inbox[count - 1].mad + SMP_DATA, NOTICE_TRAP_BYTES, &n);
	assert_true(n.is_generic);
	assert_int_equal(n.type, 2);
	return n;
}

static void repress(unsigned int which)
{
	uint8_t mad[256];

	memcpy(mad, h1.inbox[which].mad, sizeof(mad));
	mad[3] = MAD_METHOD_TRAP_REPRESS;
	assert_int_equal(smp_send(&h1, mad, h1.inbox[which].packet.slid), 0);
	world_run(&world);
}

static uint16_t at16(const struct notice *n, unsigned int offset)
{
	return wire_get16(n->details + offset - 10);
}

static uint32_t at32(const struct notice *n, unsigned int offset)
{
	return (uint32_t)at16(n, offset) << 16 | at16(n, offset + 2);
}

/* -- M_Key --------------------------------------------------------------------------- */

static void set_mkey(uint64_t mkey)
{
	struct smp_port_info info = port_info_for_set(&h1, H2, 1);

	info.mkey = mkey;
	info.mkey_protect = 2;
	must(set_port_info(&h1, H2, 1, &info));
	seat_forget(&h1);
}

static void try_key(uint64_t mkey, uint32_t modifier)
{
	uint8_t mad[256];

	smp_begin(mad, MAD_CLASS_SUBN_DIRECTED, MAD_METHOD_GET, SMP_PORT_INFO, modifier,
		  h1.next_tid++);
	smp_set_path(mad, H2->hops, H2->path);
	wire_put64(mad + SMP_MKEY, mkey);
	assert_int_equal(smp_send(&h1, mad, IB_LID_PERMISSIVE), 0);
	world_run(&world);
}

static void a_wrong_m_key_is_told_with_what_it_was_for(void **state)
{
	struct notice n;

	set_mkey(42);
	try_key(0x1234567890, 1);
	n = told(1);
	assert_int_equal(n.trap, TRAP_BAD_MKEY);
	assert_int_equal(n.producer_type, SMP_NODE_CA);
	assert_int_equal(n.issuer_lid, 2);
	assert_int_equal(at16(&n, 12), IB_LID_PERMISSIVE);
	assert_int_equal(at16(&n, 14), IB_LID_PERMISSIVE);
	assert_int_equal(n.details[16 - 10], MAD_METHOD_GET);
	assert_int_equal(at16(&n, 18), SMP_PORT_INFO);
	assert_int_equal(at32(&n, 20), 1);
	assert_int_equal(wire_get64(n.details + 24 - 10), 0x1234567890);
	assert_int_equal(n.details[33 - 10], 0x80 | 2);
	assert_int_equal(n.details[34 - 10], 1); /* back by the switch's port */
	repress(0);
}

static void a_key_by_lid_has_no_path(void **state)
{
	struct notice n;

	set_mkey(42);
	assert_null(ask_lid(&h1, 2, MAD_METHOD_GET, SMP_NODE_INFO, 0));
	n = told(1);
	assert_int_equal(n.trap, TRAP_BAD_MKEY);
	assert_int_equal(at16(&n, 12), 1);
	assert_int_equal(n.details[33 - 10], 0);
}

static void who_tries_keys_makes_one_trap_in_a_time(void **state)
{
	struct fabric_port_info info;
	struct notice n;

	set_mkey(42);
	for (uint64_t key = 1000; key < 1100; key++)
		try_key(key, 1);
	n = told(1);
	assert_int_equal(wire_get64(n.details + 24 - 10), 1000);
	/* Repeated as it was, until it is repressed. */
	world_pass(&world, 1500 * TIMER_MS);
	n = told(2);
	assert_int_equal(wire_get64(n.details + 24 - 10), 1000);
	repress(0);
	repress(0);
	try_key(1100, 1);
	assert_int_equal(h1.count, 2);
	/* SubnetTimeOut 18 is 1.07 s. */
	world_pass(&world, 1 * SECOND);
	n = told(3);
	assert_int_equal(wire_get64(n.details + 24 - 10), 1100);
	repress(2);
	world_pass(&world, 20 * SECOND);
	assert_int_equal(h1.count, 3);
	try_key(1101, 1);
	n = told(4);
	assert_int_equal(wire_get64(n.details + 24 - 10), 1101);
	fabric_port_info(h2.port, &info);
	assert_int_equal(info.info.mkey_violations, 102);
}

static void a_trap_that_nobody_represses_ends(void **state)
{
	set_mkey(42);
	try_key(1, 1);
	world_pass(&world, 100 * SECOND);
	assert_int_equal(h1.count, 10);
	try_key(2, 1);
	assert_int_equal(h1.count, 11);
}

static void power_that_goes_takes_all_along(void **state)
{
	set_mkey(42);
	try_key(1, 1);
	try_key(2, 1);
	seat_forget(&h1);
	fabric_power_set(world.fabric, "h2", false);
	world_pass(&world, 20 * SECOND);
	for (unsigned int i = 0; i < h1.count && i < SEAT_INBOX; i++)
		assert_int_not_equal(h1.inbox[i].packet.slid, 2);
}

/* -- P_Key and Q_Key of QP1 ---------------------------------------------------------- */

static void send_gmp(uint16_t pkey, uint32_t qkey)
{
	uint8_t mad[256];
	struct ib_packet packet = {
		.dlid = 1,
		.sl = 5,
		.pkey = pkey,
		.dest_qp = 1,
		.src_qp = 0x123456,
		.qkey = qkey,
		.has_grh = true,
		.sgid = { .raw = { 1, 2, 3 } },
		.dgid = { .raw = { 4, 5, 6 } },
		.payload = mad,
		.length = sizeof(mad),
	};

	smp_begin(mad, MAD_CLASS_SUBN_ADM, MAD_METHOD_GET, 0x35, 0, 1);
	assert_int_equal(fabric_port_send(h2.port, &packet), 0);
}

static void are_the_ends(const struct notice *n)
{
	assert_int_equal(n->issuer_lid, 1);
	assert_int_equal(at16(n, 12), 2);
	assert_int_equal(at16(n, 14), 1);
	assert_int_equal(at32(n, 20), 5u << 28 | 0x123456);
	assert_int_equal(at32(n, 24), 1);
	assert_int_equal(n->details[28 - 10 + 2], 3);
	assert_int_equal(n->details[44 - 10 + 2], 6);
}

static void a_p_key_that_is_in_no_table_is_told(void **state)
{
	struct notice n;

	seat_forget(&h1);
	send_gmp(0x8005, IB_GSI_QKEY);
	n = told(1);
	assert_int_equal(n.trap, TRAP_BAD_PKEY);
	assert_int_equal(at32(&n, 16), 0x8005);
	are_the_ends(&n);
	repress(0);
	assert_int_equal(port_info(&h1, world.routes, 1).pkey_violations, 1);
}

static void a_q_key_other_than_qp1s_is_told(void **state)
{
	struct fabric_counters c;
	struct notice n;

	seat_forget(&h1);
	send_gmp(0xffff, 0x11111111);
	n = told(1); /* and no datagram */
	assert_int_equal(n.trap, TRAP_BAD_QKEY);
	assert_int_equal(at32(&n, 16), 0x11111111);
	are_the_ends(&n);
	repress(0);
	assert_int_equal(port_info(&h1, world.routes, 1).qkey_violations, 1);
	fabric_counters(world.fabric, &c);
	assert_int_equal(c.bad_qkey, 1);
}

static void what_receivers_refuse_is_counted_up_to_the_largest(void **state)
{
	struct smp_port_info info;
	struct notice n;

	seat_forget(&h1);
	fabric_port_violated(h2.port, 65534, 0);
	n = told(1);
	assert_int_equal(n.trap, TRAP_BAD_PKEY);
	assert_int_equal(at16(&n, 14), 2);
	fabric_port_violated(h2.port, 70000, 1);
	n = told(2);
	assert_int_equal(n.trap, TRAP_BAD_QKEY);
	info = port_info(&h1, H2, 1);
	assert_int_equal(info.pkey_violations, 65535);
	assert_int_equal(info.qkey_violations, 1);
}

/* -- P_Key at a switch --------------------------------------------------------------- */

static void enforce(void)
{
	struct smp_port_info info = port_info_for_set(&h1, S1, 2);

	info.enforcement = 0x8;
	must(set_port_info(&h1, S1, 2, &info));
	seat_forget(&h1);
}

static void is_of_the_switch(const struct notice *n)
{
	assert_int_equal(n->trap, TRAP_SWITCH_BAD_PKEY);
	assert_int_equal(n->producer_type, SMP_NODE_SWITCH);
	assert_int_equal(n->issuer_lid, 4);
	assert_int_equal(at16(n, 12), 2);
	assert_int_equal(at16(n, 14), 1);
	assert_int_equal(at16(n, 16), 0x8005);
	assert_int_equal(at16(n, 58), 4);
	assert_int_equal(n->details[60 - 10], 2);
}

static void a_switch_tells_whose_p_key_it_lets_not_in(void **state)
{
	struct notice n;

	enforce();
	send_gmp(0x8005, IB_GSI_QKEY);
	n = told(1);
	is_of_the_switch(&n);
	assert_int_equal(at16(&n, 10), 0xff00);
	assert_int_equal(at32(&n, 18), 5u << 28 | 0x123456);
	assert_int_equal(at32(&n, 22), 1);
	assert_int_equal(n.details[26 - 10 + 2], 3);
	assert_int_equal(n.details[42 - 10 + 2], 6);
	repress(0);
	assert_int_equal(port_info(&h1, S1, 2).pkey_violations, 1);
	assert_int_equal(port_info(&h1, S1, 3).pkey_violations, 0);
}

/* Asked about ways, nothing is counted. */
static void of_data_the_switch_knows_less(void **state)
{
	static const struct fabric_load load = {
		.dlid = 1, .pkey = 0x8005, .packets = 9, .bytes = 900
	};
	struct notice n;

	enforce();
	assert_null(fabric_walk_unicast(h2.port, 1, 0x8005));
	fabric_port_carry(h2.port, &load);
	n = told(1);
	is_of_the_switch(&n);
	assert_int_equal(at16(&n, 10), 0xe000);
	assert_int_equal(at32(&n, 18), 0);
	assert_int_equal(port_info(&h1, S1, 2).pkey_violations, 9);
}

#define case_of(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		case_of(a_wrong_m_key_is_told_with_what_it_was_for),
		case_of(a_key_by_lid_has_no_path),
		case_of(who_tries_keys_makes_one_trap_in_a_time),
		case_of(a_trap_that_nobody_represses_ends),
		case_of(power_that_goes_takes_all_along),
		case_of(a_p_key_that_is_in_no_table_is_told),
		case_of(a_q_key_other_than_qp1s_is_told),
		case_of(what_receivers_refuse_is_counted_up_to_the_largest),
		case_of(a_switch_tells_whose_p_key_it_lets_not_in),
		case_of(of_data_the_switch_knows_less),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
