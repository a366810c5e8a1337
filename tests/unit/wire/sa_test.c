// SPDX-License-Identifier: BSD-2-Clause
/* Subnet administration: spec/sa-sm 1, 2.2, 4, spec/kernel 2.2, 5.5, 5.6. */
#include "wire/sa.h"

#include "layout.h"

/* Positions as spec/kernel has them: 32-bit word, bit from its top, width. */
#define WORD(type, name, word, bit, width) \
	AT(type, name, 4 * (word) + (bit) / 8, 7 - (bit) % 8, width)

static const struct layout_field header_fields[] = {
	WHOLE(struct sa_header, sm_key, 36),
	WHOLE(struct sa_header, attr_offset, 44),
	WHOLE(struct sa_header, comp_mask, 48),
};
LAYOUT_CODEC(sa_header)

static void the_sa_header_is_laid_out_as_specified(void **state)
{
	static const struct layout l =
		LAYOUT(sa_header, struct sa_header, 36, 56, header_fields);

	layout_check(&l);
}

#define M(name, word, bit, width) WORD(struct sa_mcmember, name, word, bit, width)
static const struct layout_field mcmember_fields[] = {
	M(mgid, 0, 0, 128),
	M(port_gid, 4, 0, 128),
	M(qkey, 8, 0, 32),
	M(mlid, 9, 0, 16),
	M(mtu_selector, 9, 16, 2),
	M(mtu, 9, 18, 6),
	M(tclass, 9, 24, 8),
	M(pkey, 10, 0, 16),
	M(rate_selector, 10, 16, 2),
	M(rate, 10, 18, 6),
	M(lifetime_selector, 10, 24, 2),
	M(lifetime, 10, 26, 6),
	M(sl, 11, 0, 4),
	M(flow_label, 11, 4, 20),
	M(hop_limit, 11, 24, 8),
	M(scope, 12, 0, 4),
	M(join_state, 12, 4, 4),
	M(proxy_join, 12, 8, 1),
};

/* Without the other place of ProxyJoin, which has a test of its own. */
static void sa_mcmember_get_any(const uint8_t *wire, void *value)
{
	uint8_t copy[SA_MCMEMBER_BYTES];

	memcpy(copy, wire, sizeof(copy));
	copy[49] &= 0xfe;
	sa_mcmember_get(copy, value);
}

static void sa_mcmember_put_any(uint8_t *wire, const void *value)
{
	sa_mcmember_put(wire, value);
}

static void a_mcmember_record_is_laid_out_as_specified(void **state)
{
	static const struct layout l = LAYOUT(sa_mcmember, struct sa_mcmember, 0,
					      SA_MCMEMBER_BYTES, mcmember_fields);

	layout_check(&l);
}

static void proxy_join_is_read_at_both_places_and_written_at_bit_7(void **state)
{
	uint8_t wire[SA_MCMEMBER_BYTES] = { 0 };
	struct sa_mcmember m;

	sa_mcmember_get(wire, &m);
	assert_int_equal(m.proxy_join, 0);
	wire[49] = 0x01;
	sa_mcmember_get(wire, &m);
	assert_int_equal(m.proxy_join, 1);
	sa_mcmember_put(wire, &m);
	assert_int_equal(wire[49], 0x80);
	sa_mcmember_get(wire, &m);
	assert_int_equal(m.proxy_join, 1);
}

#define P(name, word, bit, width) WORD(struct sa_path, name, word, bit, width)
static const struct layout_field path_fields[] = {
	P(service_id, 0, 0, 64),
	P(dgid, 2, 0, 128),
	P(sgid, 6, 0, 128),
	P(dlid, 10, 0, 16),
	P(slid, 10, 16, 16),
	P(raw_traffic, 11, 0, 1),
	P(flow_label, 11, 4, 20),
	P(hop_limit, 11, 24, 8),
	P(tclass, 12, 0, 8),
	P(reversible, 12, 8, 1),
	P(numb_path, 12, 9, 7),
	P(pkey, 12, 16, 16),
	P(qos_class, 13, 0, 12),
	P(sl, 13, 12, 4),
	P(mtu_selector, 13, 16, 2),
	P(mtu, 13, 18, 6),
	P(rate_selector, 13, 24, 2),
	P(rate, 13, 26, 6),
	P(lifetime_selector, 14, 0, 2),
	P(lifetime, 14, 2, 6),
	P(preference, 14, 8, 8),
};
LAYOUT_CODEC(sa_path)

#undef P
#define P(name, word, bit, width) WORD(struct sa_multi_path, name, word, bit, width)
static const struct layout_field multi_path_fields[] = {
	P(raw_traffic, 0, 0, 1), P(flow_label, 0, 4, 20),
	P(hop_limit, 0, 24, 8),  P(tclass, 1, 0, 8),
	P(reversible, 1, 8, 1),  P(numb_path, 1, 9, 7),
	P(pkey, 1, 16, 16),      P(qos_class, 2, 0, 12),
	P(sl, 2, 12, 4),         P(mtu_selector, 2, 16, 2),
	P(mtu, 2, 18, 6),        P(rate_selector, 2, 24, 2),
	P(rate, 2, 26, 6),       P(lifetime_selector, 3, 0, 2),
	P(lifetime, 3, 2, 6),    P(sgid_count, 3, 24, 8),
	P(dgid_count, 4, 0, 8),  P(gids, 6, 0, 1408),
};
LAYOUT_CODEC(sa_multi_path)

static void a_multi_path_record_is_laid_out_as_specified(void **state)
{
	static const struct layout l = LAYOUT(sa_multi_path, struct sa_multi_path, 0,
					      SA_MULTI_PATH_BYTES, multi_path_fields);

	layout_check(&l);
}

static void a_path_record_is_laid_out_as_specified(void **state)
{
	static const struct layout l =
		LAYOUT(sa_path, struct sa_path, 0, SA_PATH_BYTES, path_fields);

	layout_check(&l);
}

#define S(name, word, bit)                       \
	WORD(struct sa_service, name, word, bit, \
	     8 * sizeof(((struct sa_service *)0)->name))
static const struct layout_field service_fields[] = {
	S(id, 0, 0),          S(gid, 2, 0),         S(pkey, 6, 0),
	S(lease, 7, 0),       S(key, 8, 0),         S(name, 12, 0),
	S(data8, 28, 0),      S(data16[0], 32, 0),  S(data16[1], 32, 16),
	S(data16[2], 33, 0),  S(data16[3], 33, 16), S(data16[4], 34, 0),
	S(data16[5], 34, 16), S(data16[6], 35, 0),  S(data16[7], 35, 16),
	S(data32[0], 36, 0),  S(data32[1], 37, 0),  S(data32[2], 38, 0),
	S(data32[3], 39, 0),  S(data64[0], 40, 0),  S(data64[1], 42, 0),
};
LAYOUT_CODEC(sa_service)

static void a_service_record_is_laid_out_as_specified(void **state)
{
	static const struct layout l = LAYOUT(sa_service, struct sa_service, 0,
					      SA_SERVICE_BYTES, service_fields);

	layout_check(&l);
}

#define C(name, byte) WHOLE(struct sa_class_port_info, name, byte)
static const struct layout_field class_port_fields[] = {
	C(base_version, 0),
	C(class_version, 1),
	C(cap_mask, 2),
	AT(struct sa_class_port_info, cap_mask2, 4, 7, 27),
	AT(struct sa_class_port_info, resp_time, 7, 4, 5),
	C(redirect_gid, 8),
	C(redirect_tcslfl, 24),
	C(redirect_lid, 28),
	C(redirect_pkey, 30),
	AT(struct sa_class_port_info, redirect_qp, 33, 7, 24),
	C(redirect_qkey, 36),
	C(trap_gid, 40),
	C(trap_tcslfl, 56),
	C(trap_lid, 60),
	C(trap_pkey, 62),
	C(trap_hlqp, 64),
	C(trap_qkey, 68),
};
LAYOUT_CODEC(sa_class_port_info)

static void class_port_info_is_laid_out_as_specified(void **state)
{
	static const struct layout l =
		LAYOUT(sa_class_port_info, struct sa_class_port_info, 0,
		       SA_CLASS_PORT_BYTES, class_port_fields);

	layout_check(&l);
}

#define I(name, byte) WHOLE(struct sa_inform_info, name, byte)
static const struct layout_field inform_fields[] = {
	I(gid, 0),
	I(lid_begin, 16),
	I(lid_end, 18),
	I(is_generic, 22),
	I(subscribe, 23),
	I(type, 24),
	I(trap, 26),
	AT(struct sa_inform_info, qpn, 28, 7, 24),
	AT(struct sa_inform_info, resp_time, 31, 4, 5),
	AT(struct sa_inform_info, producer_type, 33, 7, 24),
};
LAYOUT_CODEC(sa_inform_info)

static void inform_info_is_laid_out_as_specified(void **state)
{
	static const struct layout l = LAYOUT(sa_inform_info, struct sa_inform_info, 0,
					      SA_INFORM_BYTES, inform_fields);

	layout_check(&l);
}

/* The attribute itself has its test in smp_test.c. */
static void records_hold_their_attribute_behind_four_bytes(void **state)
{
	struct sa_node_record node = { .lid = 0x1234 };
	struct sa_port_record port = { .lid = 0x5678, .port = 9, .options = 0xab };
	uint8_t expected[SA_NODE_RECORD_BYTES] = { 0x12, 0x34 };
	uint8_t wire[SA_NODE_RECORD_BYTES];

	memset(wire, 0xa5, sizeof(wire));
	node.info.node_guid = 0x1122334455667788ull;
	memset(node.description, 'd', 64);
	smp_node_info_put(expected + 4, &node.info);
	memset(expected + 44, 'd', 64);
	sa_node_record_put(wire, &node);
	assert_memory_equal(wire, expected, SA_NODE_RECORD_BYTES);

	memset(expected, 0, sizeof(expected));
	layout_hex("567809ab", expected);
	port.info.cap_mask = SMP_CAP_SM;
	smp_port_info_put(expected + 4, &port.info);
	sa_port_record_put(wire, &port);
	assert_memory_equal(wire, expected, SA_PORT_RECORD_BYTES);
}

/* -- spec/sa-sm 8, captured ---------------------------------------------------------- */

static const char join_response[] =
	"01030281 00000000 00020000 00001001 00380000 00000000 00000000 00000000"
	"00000000 00000000 00000000 00070000 00000000 0001b3f7 ff12401b ffff0000"
	"00000000 00000016 fe800000 00000000 00000000 00100003 00000b1b c0268400"
	"ffff8380 00000000 21000000 00000000";

struct sa_mad {
	struct mad_header mad;
	struct rmpp_header rmpp;
	struct sa_header sa;
	struct sa_mcmember mcmember;
};

static void sa_mad_get(const uint8_t *wire, struct sa_mad *ret)
{
	mad_header_get(wire, &ret->mad);
	rmpp_header_get(wire, &ret->rmpp);
	sa_header_get(wire, &ret->sa);
	sa_mcmember_get(wire + SA_DATA, &ret->mcmember);
}

static void sa_mad_put(uint8_t *wire, const struct sa_mad *m)
{
	mad_header_put(wire, &m->mad);
	rmpp_header_put(wire, &m->rmpp);
	sa_header_put(wire, &m->sa);
	sa_mcmember_put(wire + SA_DATA, &m->mcmember);
}

static void a_join_response_decodes_as_in_the_vector(void **state)
{
	uint8_t wire[112], again[112] = { 0 }, gid[16];
	struct sa_mad m;

	assert_int_equal(layout_hex(join_response, wire), 112);
	sa_mad_get(wire, &m);
	assert_int_equal(m.mad.mgmt_class, MAD_CLASS_SUBN_ADM);
	assert_int_equal(m.mad.method, MAD_METHOD_GET_RESP);
	assert_int_equal(m.mad.status, 0);
	assert_true(m.mad.tid == 0x0002000000001001ull);
	assert_int_equal(m.mad.attr_id, SA_MCMEMBER_RECORD);
	assert_int_equal(m.rmpp.type, RMPP_NONE);
	assert_int_equal(m.sa.attr_offset * 8, SA_MCMEMBER_STRIDE);
	assert_true(m.sa.comp_mask ==
		    (SA_MCM_MGID | SA_MCM_PORT_GID | SA_MCM_QKEY | SA_MCM_MTU_SELECTOR |
		     SA_MCM_MTU | SA_MCM_TCLASS | SA_MCM_PKEY | SA_MCM_RATE_SELECTOR |
		     SA_MCM_RATE | SA_MCM_SL | SA_MCM_FLOW_LABEL | SA_MCM_SCOPE |
		     SA_MCM_JOIN_STATE));
	layout_hex("ff12401b ffff0000 00000000 00000016", gid);
	assert_memory_equal(m.mcmember.mgid.raw, gid, 16);
	layout_hex("fe800000 00000000 00000000 00100003", gid);
	assert_memory_equal(m.mcmember.port_gid.raw, gid, 16);
	assert_int_equal(m.mcmember.qkey, 0xb1b);
	assert_int_equal(m.mcmember.mlid, 0xc026);
	assert_int_equal(m.mcmember.mtu_selector, SA_SELECT_EQ);
	assert_int_equal(m.mcmember.mtu, 4);
	assert_int_equal(m.mcmember.tclass, 0);
	assert_int_equal(m.mcmember.pkey, 0xffff);
	assert_int_equal(m.mcmember.rate_selector, SA_SELECT_EQ);
	assert_int_equal(m.mcmember.rate, 3);
	assert_int_equal(m.mcmember.lifetime_selector, SA_SELECT_EQ);
	assert_int_equal(m.mcmember.lifetime, 0);
	assert_int_equal(m.mcmember.scope, 2);
	assert_int_equal(m.mcmember.join_state, SA_JOIN_FULL);
	assert_int_equal(m.mcmember.proxy_join, 0);
	sa_mad_put(again, &m);
	assert_memory_equal(again, wire, 112);
}

/* "The request differs in: method 02, AttributeOffset 0, MLID 0, life 0, upper TID 0." */
static void the_request_of_that_response_has_these_bytes(void **state)
{
	uint8_t wire[112], expected[112], again[112] = { 0 };
	struct sa_mad m;

	layout_hex(join_response, wire);
	memcpy(expected, wire, 112);
	expected[3] = 0x02;
	expected[9] = 0;
	expected[45] = 0;
	expected[92] = expected[93] = 0;
	expected[99] = 0;
	sa_mad_get(wire, &m);
	m.mad.method = MAD_METHOD_SET;
	m.mad.tid &= 0xffffffff;
	m.sa.attr_offset = 0;
	m.mcmember.mlid = 0;
	m.mcmember.lifetime_selector = 0;
	sa_mad_put(again, &m);
	assert_memory_equal(again, expected, 112);
}

static void class_port_info_decodes_as_in_the_vector(void **state)
{
	uint8_t wire[SA_CLASS_PORT_BYTES], again[SA_CLASS_PORT_BYTES];
	struct sa_class_port_info c;

	assert_int_equal(
		layout_hex("01022602 0016bd10 00000000 00000000 00000000 00000000"
			   "00000000 00000000 00000001 80010000 00000000 00000000"
			   "00000000 00000000 00000000 00000000 00000000 80010000",
			   wire),
		SA_CLASS_PORT_BYTES);
	sa_class_port_info_get(wire, &c);
	assert_int_equal(c.base_version, 1);
	assert_int_equal(c.class_version, 2);
	assert_int_equal(c.cap_mask, 0x2602);
	assert_true(c.cap_mask & SA_CPI_UD_MULTICAST);
	assert_int_equal(c.cap_mask2, 0xb5e8);
	assert_true(c.cap_mask2 & SA_CPI2_SEND_ONLY_FULL);
	assert_int_equal(c.resp_time, 0x10);
	assert_int_equal(c.redirect_qp, 1);
	assert_int_equal(c.redirect_qkey, 0x80010000);
	assert_int_equal(c.trap_qkey, 0x80010000);
	sa_class_port_info_put(again, &c);
	assert_memory_equal(again, wire, SA_CLASS_PORT_BYTES);
}

static void a_node_record_decodes_as_in_the_vector(void **state)
{
	uint8_t wire[SA_NODE_RECORD_BYTES] = { 0 }, again[SA_NODE_RECORD_BYTES];
	struct sa_node_record n;

	assert_int_equal(layout_hex("00040000 01010101 0000000000100002 0000000000100002"
				    "0000000000100003 00400000 000000a1 01000000",
				    wire),
			 44);
	wire[44] = 'H';
	wire[45] = '2';
	sa_node_record_get(wire, &n);
	assert_int_equal(n.lid, 4);
	assert_int_equal(n.info.base_version, 1);
	assert_int_equal(n.info.class_version, 1);
	assert_int_equal(n.info.node_type, SMP_NODE_CA);
	assert_int_equal(n.info.num_ports, 1);
	assert_true(n.info.sys_guid == 0x100002);
	assert_true(n.info.node_guid == 0x100002);
	assert_true(n.info.port_guid == 0x100003);
	assert_int_equal(n.info.partition_cap, 64);
	assert_int_equal(n.info.device_id, 0);
	assert_int_equal(n.info.revision, 0xa1);
	assert_int_equal(n.info.local_port, 1);
	assert_int_equal(n.info.vendor_id, 0);
	assert_string_equal((const char *)n.description, "H2");
	sa_node_record_put(again, &n);
	assert_memory_equal(again, wire, sizeof(wire));
}

static void a_port_info_record_decodes_as_in_the_vector(void **state)
{
	uint8_t wire[SA_PORT_RECORD_BYTES], again[SA_PORT_RECORD_BYTES];
	struct sa_port_record p;

	assert_int_equal(
		layout_hex("00040100"
			   "00000000 00000000 fe800000 00000000 00040001 0050c048"
			   "00000ff9 01021f02 74520011 40400008 0804e040 00000000"
			   "0000201f 00000000 00000000 00300000",
			   wire),
		SA_PORT_RECORD_BYTES);
	sa_port_record_get(wire, &p);
	assert_int_equal(p.lid, 4);
	assert_int_equal(p.port, 1);
	assert_int_equal(p.options, 0);
	assert_int_equal(p.info.lid, 4);
	assert_int_equal(p.info.state, SMP_PORT_ACTIVE);
	sa_port_record_put(again, &p);
	assert_memory_equal(again, wire, sizeof(wire));
}

/* H2 and H5 of the specification's fabric; the two GIDs are left out there. */
#define DGID "fe800000 00000000 00000000 00100009"
#define SGID "fe800000 00000000 00000000 00100003"
#define MGID "ff12401b ffff0000 00000000 00000016"

static void a_path_record_decodes_as_in_the_vector(void **state)
{
	uint8_t wire[SA_PATH_BYTES], again[SA_PATH_BYTES];
	struct sa_path p;

	assert_int_equal(layout_hex("0000000000000000" DGID SGID "00070004 00000000"
				    "0080ffff 00008483 92000000 00000000",
				    wire),
			 SA_PATH_BYTES);
	sa_path_get(wire, &p);
	assert_int_equal(p.dgid.raw[15], 9);
	assert_int_equal(p.sgid.raw[15], 3);
	assert_int_equal(p.dlid, 7);
	assert_int_equal(p.slid, 4);
	assert_int_equal(p.reversible, 1);
	assert_int_equal(p.numb_path, 0);
	assert_int_equal(p.pkey, 0xffff);
	assert_int_equal(p.mtu_selector, SA_SELECT_EQ);
	assert_int_equal(p.mtu, 4);
	assert_int_equal(p.rate_selector, SA_SELECT_EQ);
	assert_int_equal(p.rate, 3);
	assert_int_equal(p.lifetime_selector, SA_SELECT_EQ);
	assert_int_equal(p.lifetime, 18);
	sa_path_put(again, &p);
	assert_memory_equal(again, wire, sizeof(wire));
}

static void a_path_record_of_a_group_decodes_as_in_the_vector(void **state)
{
	uint8_t wire[SA_PATH_BYTES], again[SA_PATH_BYTES];
	struct sa_path p;

	assert_int_equal(layout_hex("0000000000000000" MGID SGID "c0010000 00770005"
				    "0301ffff 00028483 80000000 00000000",
				    wire),
			 SA_PATH_BYTES);
	sa_path_get(wire, &p);
	assert_int_equal(p.dlid, 0xc001);
	assert_int_equal(p.flow_label, 0x7700); /* swapped, by OpenSM */
	assert_int_equal(p.hop_limit, 5);
	assert_int_equal(p.tclass, 3);
	assert_int_equal(p.reversible, 0);
	assert_int_equal(p.numb_path, 1);
	assert_int_equal(p.sl, 2);
	sa_path_put(again, &p);
	assert_memory_equal(again, wire, sizeof(wire));
}

static void a_report_of_a_new_group_decodes_as_in_the_vector(void **state)
{
	uint8_t wire[MAD_BYTES] = { 0 }, again[MAD_BYTES] = { 0 };
	struct sa_mad m;
	struct notice n;

	layout_hex("01030206 00000000 00000000 02dab007 00020000 00000000", wire);
	layout_hex("83000004 00420001 0000 000000000000" MGID, wire + SA_DATA);
	layout_hex(SGID, wire + 120);
	sa_mad_get(wire, &m);
	notice_get(wire + SA_DATA, NOTICE_BYTES, &n);
	assert_int_equal(m.mad.method, MAD_METHOD_REPORT);
	assert_int_equal(m.mad.attr_id, MAD_ATTR_NOTICE);
	assert_true(m.mad.tid == 0x2dab007);
	assert_int_equal(n.is_generic, 1);
	assert_int_equal(n.type, 3);
	assert_int_equal(n.producer_type, 4);
	assert_int_equal(n.trap, TRAP_MGID_CREATED);
	assert_int_equal(n.issuer_lid, 1);
	assert_int_equal(n.toggle_count, 0);
	assert_memory_equal(n.details + 6, wire + SA_DATA + 16, 16);
	assert_memory_equal(n.issuer_gid, wire + 120, 16);
	mad_header_put(again, &m.mad);
	rmpp_header_put(again, &m.rmpp);
	sa_header_put(again, &m.sa);
	notice_put(again + SA_DATA, NOTICE_BYTES, &n);
	assert_memory_equal(again, wire, sizeof(wire));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sa_header_is_laid_out_as_specified),
		cmocka_unit_test(a_mcmember_record_is_laid_out_as_specified),
		cmocka_unit_test(proxy_join_is_read_at_both_places_and_written_at_bit_7),
		cmocka_unit_test(a_multi_path_record_is_laid_out_as_specified),
		cmocka_unit_test(a_path_record_is_laid_out_as_specified),
		cmocka_unit_test(a_service_record_is_laid_out_as_specified),
		cmocka_unit_test(class_port_info_is_laid_out_as_specified),
		cmocka_unit_test(inform_info_is_laid_out_as_specified),
		cmocka_unit_test(records_hold_their_attribute_behind_four_bytes),
		cmocka_unit_test(a_join_response_decodes_as_in_the_vector),
		cmocka_unit_test(the_request_of_that_response_has_these_bytes),
		cmocka_unit_test(class_port_info_decodes_as_in_the_vector),
		cmocka_unit_test(a_node_record_decodes_as_in_the_vector),
		cmocka_unit_test(a_port_info_record_decodes_as_in_the_vector),
		cmocka_unit_test(a_path_record_decodes_as_in_the_vector),
		cmocka_unit_test(a_path_record_of_a_group_decodes_as_in_the_vector),
		cmocka_unit_test(a_report_of_a_new_group_decodes_as_in_the_vector),
	};

	return harness_run(tests);
}
