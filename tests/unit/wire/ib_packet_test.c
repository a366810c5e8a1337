// SPDX-License-Identifier: BSD-2-Clause
/* Packets of an InfiniBand link: spec/wire 1 and 3 for the headers. The vectors are ours. */
#include <errno.h>

#include "wire/ib_packet.h"

#include "layout.h"

#define ROOM (IB_PACKET_HEADER_MAX + 256u)

static uint8_t payload[256];

static struct ib_packet a_mad(void)
{
	return (struct ib_packet){
		.slid = 0x0102,
		.dlid = 0x0304,
		.sl = 5,
		.vl = IB_VL_MANAGEMENT,
		.pkey = 0xffff,
		.dest_qp = IB_QP_GSI,
		.src_qp = 0x0a0b0c,
		.qkey = IB_GSI_QKEY,
		.payload = payload,
		.length = sizeof(payload),
	};
}

static void a_mad_has_these_bytes(void **state)
{
	const struct ib_packet p = a_mad();
	uint8_t out[ROOM], expected[28];

	/* PktLen: 8 + 20 + 256 + 4 bytes are 72 words. */
	layout_hex("f0 52 0304 0048 0102"
		   "64 00 ffff 00 000001 00 000000"
		   "80010000 00 0a0b0c",
		   expected);
	assert_int_equal(ib_packet_encode(&p, out, sizeof(out)), 28 + 256);
	assert_memory_equal(out, expected, 28);
	assert_memory_equal(out + 28, payload, 256);
}

static void a_mad_with_a_route_header_has_these_bytes(void **state)
{
	struct ib_packet p = a_mad();
	uint8_t out[ROOM], expected[68];

	p.has_grh = true;
	p.traffic_class = 0xab;
	p.flow_label = 0x12345;
	p.hop_limit = 7;
	layout_hex("fe80 0000 0000 0000 0000 0000 0000 0001", p.sgid.raw);
	layout_hex("ff12 401b ffff 0000 0000 0000 0000 0016", p.dgid.raw);
	/* PktLen: 8 + 40 + 20 + 256 + 4 bytes are 82 words; PayLen: 20 + 256 + 4. */
	layout_hex("f0 53 0304 0052 0102"
		   "6ab12345 0118 1b 07"
		   "fe80 0000 0000 0000 0000 0000 0000 0001"
		   "ff12 401b ffff 0000 0000 0000 0000 0016"
		   "64 00 ffff 00 000001 00 000000"
		   "80010000 00 0a0b0c",
		   expected);
	assert_int_equal(ib_packet_encode(&p, out, sizeof(out)), 68 + 256);
	assert_memory_equal(out, expected, 68);
}

static void assert_packets_equal(const struct ib_packet *a, const struct ib_packet *b)
{
	assert_int_equal(a->slid, b->slid);
	assert_int_equal(a->dlid, b->dlid);
	assert_int_equal(a->sl, b->sl);
	assert_int_equal(a->vl, b->vl);
	assert_int_equal(a->pkey, b->pkey);
	assert_int_equal(a->dest_qp, b->dest_qp);
	assert_int_equal(a->src_qp, b->src_qp);
	assert_int_equal(a->qkey, b->qkey);
	assert_int_equal(a->has_grh, b->has_grh);
	assert_int_equal(a->length, b->length);
	assert_memory_equal(a->payload, b->payload, a->length);
	if (!a->has_grh)
		return;
	assert_memory_equal(a->sgid.raw, b->sgid.raw, 16);
	assert_memory_equal(a->dgid.raw, b->dgid.raw, 16);
	assert_int_equal(a->flow_label, b->flow_label);
	assert_int_equal(a->traffic_class, b->traffic_class);
	assert_int_equal(a->hop_limit, b->hop_limit);
}

static struct ib_packet random_packet(struct random *r)
{
	struct ib_packet p;

	layout_noise(r, &p, offsetof(struct ib_packet, has_grh));
	p.has_grh = random_chance(r, 500000);
	layout_noise(r, p.sgid.raw, 16);
	layout_noise(r, p.dgid.raw, 16);
	p.sl &= 0xf;
	p.vl &= 0xf;
	p.dest_qp &= 0xffffff;
	p.src_qp &= 0xffffff;
	p.flow_label = (uint32_t)random_below(r, 1 << 20);
	p.traffic_class = (uint8_t)random_u64(r);
	p.hop_limit = (uint8_t)random_u64(r);
	p.payload = payload;
	p.length = (uint32_t)random_below(r, sizeof(payload) + 1);
	return p;
}

static void a_packet_comes_back_as_it_went(void **state)
{
	unsigned int rounds = harness_count(5000, 500000);
	uint8_t out[ROOM];
	struct random r;

	random_seed(&r, 2);
	layout_noise(&r, payload, sizeof(payload));
	for (unsigned int i = 0; i < rounds; i++) {
		struct ib_packet p = random_packet(&r), back;
		size_t length = ib_packet_encode(&p, out, sizeof(out));

		assert_int_equal(length,
				 28 + (p.has_grh ? 40 : 0) + ((p.length + 3) & ~3u));
		assert_int_equal(ib_packet_decode(out, length, &back), 0);
		assert_packets_equal(&p, &back);
		assert_int_equal(ib_packet_encode(&p, out, length - 1), 0);
	}
}

static void what_is_cut_or_has_something_behind_it_is_no_packet(void **state)
{
	uint8_t out[ROOM + 8] = { 0 };
	struct ib_packet p = a_mad(), back;

	for (int grh = 0; grh < 2; grh++) {
		size_t length;

		p.has_grh = grh;
		length = ib_packet_encode(&p, out, sizeof(out));
		for (size_t n = 0; n <= sizeof(out); n++)
			assert_int_equal(ib_packet_decode(out, n, &back),
					 n == length ? 0 : -EPROTO);
	}
}

static void a_header_of_another_form_is_refused(void **state)
{
	static const struct {
		unsigned int byte;
		uint8_t flip;
	} wrong[] = {
		{ 0, 0x01 },  /* link version */
		{ 1, 0x01 },  /* no BTH behind it */
		{ 1, 0x02 },  /* a raw packet */
		{ 5, 0x01 },  /* packet length */
		{ 8, 0x10 },  /* IP version */
		{ 13, 0x01 }, /* length behind the GRH */
		{ 14, 0x01 }, /* next header */
		{ 48, 0x01 }, /* operation: with immediate */
		{ 48, 0x80 }, /* operation: another transport */
		{ 49, 0x01 }, /* transport version */
	};
	struct ib_packet p = a_mad(), back;
	uint8_t out[ROOM];
	size_t length;

	p.has_grh = true;
	length = ib_packet_encode(&p, out, sizeof(out));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		out[wrong[i].byte] ^= wrong[i].flip;
		assert_int_equal(ib_packet_decode(out, length, &back), -EPROTO);
		out[wrong[i].byte] ^= wrong[i].flip;
	}
	assert_int_equal(ib_packet_decode(out, length, &back), 0);
}

static void padding_needs_a_payload_to_stand_in(void **state)
{
	struct ib_packet p = a_mad(), back;
	uint8_t out[ROOM];
	size_t length;

	p.length = 0;
	p.payload = NULL;
	length = ib_packet_encode(&p, out, sizeof(out));
	assert_int_equal(length, 28);
	assert_int_equal(ib_packet_decode(out, length, &back), 0);
	assert_int_equal(back.length, 0);
	out[9] |= 0x10;
	assert_int_equal(ib_packet_decode(out, length, &back), -EPROTO);
}

static void a_payload_larger_than_any_mtu_is_not_sent(void **state)
{
	static uint8_t large[4096], out[8192];
	struct ib_packet p = a_mad();

	p.payload = large;
	p.length = 4096;
	assert_int_equal(ib_packet_encode(&p, out, sizeof(out)), 0x1000 + 28);
	p.length = 4097;
	assert_int_equal(ib_packet_encode(&p, out, sizeof(out)), 0);
	p.length = UINT32_MAX;
	assert_int_equal(ib_packet_encode(&p, out, sizeof(out)), 0);
}

static void partition_keys_match_if_one_is_a_full_member(void **state)
{
	assert_true(ib_pkeys_match(0xffff, 0x7fff));
	assert_true(ib_pkeys_match(0x8001, 0x8001));
	assert_false(ib_pkeys_match(0x7fff, 0x7fff));
	assert_false(ib_pkeys_match(0x8001, 0x8002));
	assert_false(ib_pkeys_match(0x8000, 0x8000));
}

static void multicast_lids_end_before_the_permissive_one(void **state)
{
	assert_false(ib_lid_is_multicast(0xbfff));
	assert_true(ib_lid_is_multicast(0xc000));
	assert_true(ib_lid_is_multicast(0xfffe));
	assert_false(ib_lid_is_multicast(IB_LID_PERMISSIVE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mad_has_these_bytes),
		cmocka_unit_test(a_mad_with_a_route_header_has_these_bytes),
		cmocka_unit_test(a_packet_comes_back_as_it_went),
		cmocka_unit_test(what_is_cut_or_has_something_behind_it_is_no_packet),
		cmocka_unit_test(a_header_of_another_form_is_refused),
		cmocka_unit_test(padding_needs_a_payload_to_stand_in),
		cmocka_unit_test(a_payload_larger_than_any_mtu_is_not_sent),
		cmocka_unit_test(partition_keys_match_if_one_is_a_full_member),
		cmocka_unit_test(multicast_lids_end_before_the_permissive_one),
	};

	return harness_run(tests);
}
