// SPDX-License-Identifier: BSD-2-Clause
/*
 * IP headers and the 40 bytes of a receive, against the vectors of spec/kernel 8 (which
 * were computed independently).
 */
#include <arpa/inet.h>
#include <string.h>

#include "harness/harness.h"
#include "wire/gid.h"
#include "wire/grh.h"
#include "wire/ip.h"

/* spec/kernel 8.1: UD SEND_ONLY "hello", 192.0.2.1 to 239.1.2.3, TTL 64. */
static const uint8_t vector_v4[20] = { 0x45, 0x00, 0x00, 0x3c, 0x00, 0x00, 0x40,
				       0x00, 0x40, 0x11, 0x87, 0xab, 0xc0, 0x00,
				       0x02, 0x01, 0xef, 0x01, 0x02, 0x03 };

/* spec/kernel 8.2: with immediate, 2001:db8::1 to ff0e::1. */
static const uint8_t vector_v6[40] = { 0x60, 0x00, 0x00, 0x00, 0x00, 0x2c, 0x11, 0x40,
				       0x20, 0x01, 0x0d, 0xb8, 0,    0,    0,    0,
				       0,    0,    0,    0,    0,    0,    0,    0x01,
				       0xff, 0x0e, 0,    0,    0,    0,    0,    0,
				       0,    0,    0,    0,    0,    0,    0,    0x01 };

static void gids_v4(uint8_t sgid[16], uint8_t dgid[16])
{
	gid_from_ipv4(sgid, inet_addr("192.0.2.1"));
	gid_from_ipv4(dgid, inet_addr("239.1.2.3"));
}

static void an_ipv4_header_is_the_vectors(void **state)
{
	const struct ip4_header h = { .src = inet_addr("192.0.2.1"),
				      .dst = inet_addr("239.1.2.3"),
				      .ttl = 64,
				      .total_bytes = 0x3c };
	uint8_t out[20];

	ip4_header_write(out, &h);
	assert_memory_equal(out, vector_v4, 20);
	assert_int_equal(ip_checksum(out, 20), 0);
}

static void forty_bytes_over_ipv4_are_the_vectors(void **state)
{
	static const uint8_t zero[20];
	uint8_t sgid[16], dgid[16], out[40];
	struct grh_flow flow;

	gids_v4(sgid, dgid);
	assert_int_equal(grh_kind_of_roce_v2(sgid, dgid), GRH_IPV4);
	grh_flow_init(&flow, GRH_IPV4, sgid, dgid, 0, 64);
	memset(out, 0xaa, sizeof(out));
	grh_write(out, &flow, ud_wire_bytes(5, 0));
	assert_memory_equal(out, zero, 20);
	assert_memory_equal(out + 20, vector_v4, 20);
}

static void forty_bytes_over_ipv6_are_the_vectors(void **state)
{
	uint8_t out[40];
	struct grh_flow flow;

	assert_int_equal(grh_kind_of_roce_v2(vector_v6 + 8, vector_v6 + 24), GRH_IPV6);
	grh_flow_init(&flow, GRH_IPV6, vector_v6 + 8, vector_v6 + 24, 0, 64);
	grh_write(out, &flow, ud_wire_bytes(5, 1));
	assert_memory_equal(out, vector_v6, 40);
}

/* A GRH: next header 0x1b, and a length from BTH to ICRC, without UDP. */
static void forty_bytes_of_infiniband_are_a_grh(void **state)
{
	uint8_t out[40];
	struct grh_flow flow;

	grh_flow_init(&flow, GRH_IB, vector_v6 + 8, vector_v6 + 24, 0xab, 7);
	grh_write(out, &flow, ud_wire_bytes(8, 0));
	assert_int_equal(out[0], 0x6a);
	assert_int_equal(out[1], 0xb0);
	assert_int_equal(out[4] << 8 | out[5], 12 + 8 + 8 + 4);
	assert_int_equal(out[6], 0x1b);
	assert_int_equal(out[7], 7);
	assert_memory_equal(out + 8, vector_v6 + 8, 32);
}

/* The length is put in per datagram; the checksum must follow for every one. */
static void the_checksum_holds_for_every_length(void **state)
{
	uint8_t sgid[16], dgid[16], out[40];
	struct grh_flow flow;

	gids_v4(sgid, dgid);
	grh_flow_init(&flow, GRH_IPV4, sgid, dgid, 0xff, 255);
	for (uint32_t bytes = 0; bytes <= 4096; bytes++) {
		grh_write(out, &flow, ud_wire_bytes(bytes, bytes & 1));
		assert_int_equal(ip_checksum(out + 20, 20), 0);
		assert_int_equal((out[22] << 8 | out[23]) % 4, 0);
	}
}

static void padding_counts_on_the_wire(void **state)
{
	assert_int_equal(ud_wire_bytes(0, 0), 24);
	assert_int_equal(ud_wire_bytes(1, 0), 28);
	assert_int_equal(ud_wire_bytes(4, 1), 32);
	assert_int_equal(ud_wire_bytes(5, 0), 32);
}

/* spec/kernel 0.2 */
static void multicast_gids_are_told_from_others(void **state)
{
	static const struct {
		const char *gid;
		bool multicast;
	} cases[] = {
		{ "ff00::", true },
		{ "ff0e::1", true },
		{ "::ffff:224.0.0.0", true },
		{ "::ffff:239.255.255.255", true },
		{ "::ffff:223.255.255.255", false },
		{ "::ffff:240.0.0.0", false },
		{ "::224.0.0.1", false },
		{ "fe80::1", false },
		{ "::", false },
	};
	uint8_t gid[16];

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(inet_pton(AF_INET6, cases[i].gid, gid), 1);
		assert_int_equal(gid_is_multicast(gid), cases[i].multicast);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_ipv4_header_is_the_vectors),
		cmocka_unit_test(forty_bytes_over_ipv4_are_the_vectors),
		cmocka_unit_test(forty_bytes_over_ipv6_are_the_vectors),
		cmocka_unit_test(forty_bytes_of_infiniband_are_a_grh),
		cmocka_unit_test(the_checksum_holds_for_every_length),
		cmocka_unit_test(padding_counts_on_the_wire),
		cmocka_unit_test(multicast_gids_are_told_from_others),
	};

	return harness_run(tests);
}
