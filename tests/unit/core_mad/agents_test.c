// SPDX-License-Identifier: BSD-2-Clause
/*
 * Agents: what they may register for, who owns which method, and where what nobody asked
 * for goes (spec/userland 4.2, 4.3).
 */
#include "unit/core_mad/world.h"

#define BIT(method) (1ull << (method))

static const struct ib_mad_reg_req sa_server = {
	.mgmt_class = MAD_CLASS_SUBN_ADM,
	.mgmt_class_version = 2,
	.method_mask = { BIT(MAD_METHOD_GET) | BIT(MAD_METHOD_SET) |
			 BIT(MAD_METHOD_GET_TABLE) | BIT(MAD_METHOD_DELETE) },
};

static long refused(u32 port, u32 qpn, const struct ib_mad_reg_req *reg, u8 rmpp)
{
	return PTR_ERR(ib_register_mad_agent(&world.hca.ib, port, qpn, reg, rmpp,
					     &hear_ops, NULL));
}

/* As if `mad` came from LID 9. */
static void arrive(u32 port, u32 qpn, const u8 mad[MAD_BYTES])
{
	struct ib_packet packet = {
		.slid = 9,
		.dlid = world.hca.port.lid,
		.pkey = 0x7fff, /* a limited member's, for a full one */
		.src_qp = qpn,
		.dest_qp = qpn,
		.qkey = qpn ? IB_GSI_QKEY : 0,
		.payload = mad,
		.length = MAD_BYTES,
	};

	ib_receive_mad(&world.hca.ib, port, &packet);
}

static struct ib_mad_counters counters(void)
{
	struct ib_mad_counters c;

	ib_mad_counters(world.mad, &c);
	return c;
}

static void a_method_has_one_owner_a_port(void **state)
{
	struct ib_mad_agent *agent = add_agent(1, 1, &sa_server, 0), *others[4];
	struct ib_mad_reg_req reg = sa_server;

	reg.method_mask[0] = BIT(MAD_METHOD_DELETE) | BIT(MAD_METHOD_GET_MULTI);
	assert_int_equal(refused(1, 1, &reg, 0), -EBUSY);
	/* Refused means that it owns nothing. */
	reg.method_mask[0] = BIT(MAD_METHOD_GET_MULTI);
	others[0] = add_agent(1, 1, &reg, 0);
	others[1] = add_agent(2, 1, &sa_server, 0);
	reg = sa_server;
	reg.mgmt_class_version = 1;
	others[2] = add_agent(1, 1, &reg, 0);
	/* Who only sends stands in nobody's way. */
	reg = sa_server;
	reg.method_mask[0] = 0;
	others[3] = add_agent(1, 1, &reg, 0);
	ib_unregister_mad_agent(agent);
	agent = add_agent(1, 1, &sa_server, 0);
	ib_unregister_mad_agent(agent);
	for (int i = 0; i < 4; i++)
		ib_unregister_mad_agent(others[i]);
}

static void assert_refused(u32 port_num)
{
	struct fake_mad answer = *fake_hca_take(&world.hca);
	struct mad_header header;

	mad_header_get(answer.bytes, &header);
	assert_int_equal(answer.port_num, port_num);
	assert_int_equal(header.method, MAD_METHOD_GET_RESP);
	assert_int_equal(header.status, MAD_STATUS_BAD_ATTRIBUTE);
	assert_int_equal(header.tid, 0x1122334455667788);
	assert_int_equal(answer.packet.dlid, 9);
	assert_int_equal(answer.packet.dest_qp, 1);
	assert_int_equal(answer.packet.qkey, IB_GSI_QKEY);
}

static void what_nobody_asked_for_goes_to_its_owner(void **state)
{
	struct ib_mad_agent *agent = add_agent(1, 1, &sa_server, 0);
	u8 mad[MAD_BYTES];

	build_mad(mad, MAD_CLASS_SUBN_ADM, 2, MAD_METHOD_SET, 0x1122334455667788);
	arrive(1, 1, mad);
	assert_int_equal(heard_count, 1);
	assert_int_equal(heard[0].kind, HEARD_RECV);
	assert_ptr_equal(heard[0].agent, agent);
	assert_null(heard[0].context);
	assert_int_equal(heard[0].from.lid, 9);
	assert_int_equal(heard[0].from.qpn, 1);
	assert_int_equal(heard[0].from.pkey_index, 0);
	assert_int_equal(heard[0].from.path_bits, 0);
	assert_memory_equal(heard[0].bytes, mad, MAD_BYTES);

	arrive(2, 1, mad);
	mad[3] = MAD_METHOD_REPORT;
	arrive(1, 1, mad);
	mad[3] = MAD_METHOD_SET;
	mad[2] = 1;
	arrive(1, 1, mad);
	mad[2] = 2;
	mad[1] = MAD_CLASS_CM;
	arrive(1, 1, mad);
	assert_int_equal(heard_count, 1);
	assert_int_equal(counters().no_owner, 4);
	assert_int_equal(counters().received, 5);
	/* Who sets is refused, at once; who reports is not. */
	assert_int_equal(fake_hca_waiting(&world.hca), 3);
	for (int i = 0; i < 3; i++)
		assert_refused(i == 0 ? 2 : 1);
	run_ms(1000);
	assert_int_equal(fake_hca_waiting(&world.hca), 0);
	ib_unregister_mad_agent(agent);
	mad[1] = MAD_CLASS_SUBN_ADM;
	arrive(1, 1, mad);
	assert_int_equal(counters().no_owner, 5);
}

static void one_of_several_lids_is_told_by_its_path_bits(void **state)
{
	struct ib_mad_agent *agent = add_agent(1, 1, &sa_server, 0);
	u8 mad[MAD_BYTES];

	world.hca.port.lid = 0x14 + 2;
	world.hca.port.lmc = 2;
	build_mad(mad, MAD_CLASS_SUBN_ADM, 2, MAD_METHOD_SET, 1);
	arrive(1, 1, mad);
	assert_int_equal(heard[0].from.path_bits, 2);
	ib_unregister_mad_agent(agent);
}

static void a_trap_repress_is_an_answer(void **state)
{
	struct ib_mad_reg_req reg = {
		.mgmt_class = MAD_CLASS_SUBN_LID,
		.mgmt_class_version = 1,
		.method_mask = { BIT(MAD_METHOD_TRAP_REPRESS) | BIT(MAD_METHOD_TRAP) },
	};
	struct ib_mad_agent *agent = add_agent(1, 0, &reg, 0);
	u8 mad[MAD_BYTES];
	struct ib_mad_send send = {
		.to = { .lid = 9 }, .message = mad, .length = MAD_BYTES, .timeout_ms = 10
	};
	struct fake_mad *sent;

	build_mad(mad, MAD_CLASS_SUBN_LID, 1, MAD_METHOD_TRAP_REPRESS, 3);
	arrive(1, 0, mad);
	assert_int_equal(heard_count, 0);
	assert_int_equal(counters().unmatched, 1);
	mad[3] = MAD_METHOD_TRAP;
	arrive(1, 0, mad);
	assert_int_equal(heard_count, 1);
	assert_int_equal(ib_post_send_mad(agent, &send, NULL), 0);
	sent = fake_hca_take(&world.hca);
	sent->bytes[3] = MAD_METHOD_TRAP_REPRESS;
	fake_hca_answer(&world.hca, 1, &sent->packet, sent->bytes);
	assert_int_equal(heard_count, 3);
	ib_unregister_mad_agent(agent);
}

static void vendors_share_a_class(void **state)
{
	struct ib_mad_reg_req one = {
		.mgmt_class = 0x32,
		.mgmt_class_version = 1,
		.oui = { 0x00, 0x14, 0x05 },
		.method_mask = { BIT(MAD_METHOD_GET) },
	};
	struct ib_mad_reg_req two = one;
	struct ib_mad_agent *agents[2];
	u8 mad[MAD_BYTES];

	two.oui[2] = 6;
	agents[0] = add_agent(1, 1, &one, 0);
	agents[1] = add_agent(1, 1, &two, 0);
	assert_int_equal(refused(1, 1, &two, 0), -EBUSY);
	build_mad(mad, 0x32, 1, MAD_METHOD_GET, 3);
	memcpy(mad + 37, two.oui, 3);
	arrive(1, 1, mad);
	assert_int_equal(heard_count, 1);
	assert_ptr_equal(heard[0].agent, agents[1]);
	mad[39] = 7;
	arrive(1, 1, mad);
	assert_int_equal(heard_count, 1);
	ib_unregister_mad_agent(agents[0]);
	ib_unregister_mad_agent(agents[1]);
}

static void what_no_agent_can_register_for_is_refused(void **state)
{
	static const struct {
		u8 mgmt_class, version;
		u8 oui;
		u32 qpn;
		u8 rmpp;
	} bad[] = {
		{ 0x00, 1, 0, 1, 0 },    /* no class */
		{ 0x50, 1, 0, 1, 0 },    /* past the classes */
		{ 0x03, 0x83, 0, 1, 0 }, /* past the versions */
		{ 0x30, 1, 0, 1, 0 },    /* a vendor without a number */
		{ 0x01, 1, 0, 1, 0 },    /* subnet management is QP0's */
		{ 0x81, 1, 0, 1, 0 },    { 0x03, 2, 0, 0, 0 }, /* and nothing else is */
		{ 0x07, 2, 0, 1, 1 },                          /* CM has no RMPP */
		{ 0x03, 2, 0, 1, 2 },                          /* of that version */
	};
	struct ib_mad_agent *agent;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct ib_mad_reg_req reg = { .mgmt_class = bad[i].mgmt_class,
					      .mgmt_class_version = bad[i].version,
					      .oui = { bad[i].oui },
					      .method_mask = { BIT(1) } };

		assert_int_equal(refused(1, bad[i].qpn, &reg, bad[i].rmpp), -EINVAL);
	}
	assert_int_equal(refused(0, 1, NULL, 0), -EINVAL);
	assert_int_equal(refused(FAKE_HCA_PORTS + 1, 1, NULL, 0), -EINVAL);
	assert_int_equal(refused(1, 2, NULL, 0), -EINVAL);
	/* Ethernet has no subnet management. */
	world.hca.link_layer[2] = IB_LINK_LAYER_ETHERNET;
	assert_int_equal(refused(2, 0, NULL, 0), -EINVAL);
	agent = add_agent(2, 1, NULL, 0);
	ib_unregister_mad_agent(agent);
}

static void broken_mads_are_counted(void **state)
{
	struct ib_mad_agent *agent = add_agent(1, 1, &sa_server, 0);
	u8 mad[MAD_BYTES];
	struct ib_packet good = {
		.slid = 9,
		.pkey = 0xffff,
		.dest_qp = 1,
		.src_qp = 1,
		.qkey = IB_GSI_QKEY,
		.payload = mad,
		.length = MAD_BYTES,
	}, p;

	build_mad(mad, MAD_CLASS_SUBN_ADM, 2, MAD_METHOD_GET, 3);
	p = good;
	p.length = MAD_BYTES - 1;
	ib_receive_mad(&world.hca.ib, 1, &p);
	p = good;
	p.qkey = 0x11111111;
	ib_receive_mad(&world.hca.ib, 1, &p);
	p = good;
	p.dest_qp = 2;
	ib_receive_mad(&world.hca.ib, 1, &p);
	p = good;
	p.dest_qp = 0; /* the SA's class */
	ib_receive_mad(&world.hca.ib, 1, &p);
	p = good;
	p.pkey = 0x8002; /* not in our table */
	ib_receive_mad(&world.hca.ib, 1, &p);
	ib_receive_mad(&world.hca.ib, FAKE_HCA_PORTS + 1, &good);
	mad[0] = 2;
	ib_receive_mad(&world.hca.ib, 1, &good);
	mad[0] = 1;
	assert_int_equal(heard_count, 0);
	assert_int_equal(counters().malformed, 7);
	ib_receive_mad(&world.hca.ib, 1, &good);
	assert_int_equal(heard_count, 1);
	ib_unregister_mad_agent(agent);
}

static void later_devices_are_served_too(void **state)
{
	struct fake_hca later, without;
	struct ib_mad_agent *agent;

	fake_hca_init(&later, "ib1", IB_LINK_LAYER_INFINIBAND);
	fake_hca_init(&without, "ib2", IB_LINK_LAYER_INFINIBAND);
	without.ib.ops.post_mad = NULL;
	assert_int_equal(ib_register_device(&later.ib, world.node), 0);
	assert_int_equal(ib_register_device(&without.ib, world.node), 0);
	agent = ib_register_mad_agent(&later.ib, 1, 1, &sa_server, 0, &hear_ops, NULL);
	assert_false(IS_ERR(agent));
	assert_int_equal(PTR_ERR(ib_register_mad_agent(&without.ib, 1, 1, NULL, 0,
						       &hear_ops, NULL)),
			 -ENODEV);
	assert_null(ib_device_mad(&without.ib));
	ib_unregister_mad_agent(agent);
	assert_int_equal(ib_unregister_device(&later.ib), 0);
	assert_int_equal(ib_unregister_device(&without.ib), 0);
}

static void transaction_ids_go_on(void **state)
{
	u32 first = ib_mad_next_tid(world.mad);

	assert_int_equal(ib_mad_next_tid(world.mad), first + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_method_has_one_owner_a_port),
		TEST(what_nobody_asked_for_goes_to_its_owner),
		TEST(one_of_several_lids_is_told_by_its_path_bits),
		TEST(a_trap_repress_is_an_answer),
		TEST(vendors_share_a_class),
		TEST(what_no_agent_can_register_for_is_refused),
		TEST(broken_mads_are_counted),
		TEST(later_devices_are_served_too),
		TEST(transaction_ids_go_on),
	};

	return harness_run(tests);
}
