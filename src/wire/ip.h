/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * IPv4 and IPv6 headers as RoCE v2 sends them: no options, no fragments, UDP inside.
 * Pure functions.
 */
#ifndef WIRE_IP_H
#define WIRE_IP_H

#include <stddef.h>
#include <stdint.h>

#define IP4_HEADER_BYTES 20u
#define IP6_HEADER_BYTES 40u
#define UDP_HEADER_BYTES 8u
#define IP_PROTOCOL_UDP  17u

/* Addresses in network order, lengths in host order. */
struct ip4_header {
	uint32_t src, dst;
	uint8_t tos, ttl;
	uint16_t total_bytes; /* header included */
};

struct ip6_header {
	uint8_t src[16], dst[16];
	uint32_t flow_label;
	uint8_t traffic_class, hop_limit;
	uint16_t payload_bytes; /* header not included */
};

/* The sum of the big-endian 16-bit words, not yet folded; an odd last byte is a high one. */
uint32_t ip_sum(const void *data, size_t bytes, uint32_t sum);
/* Fold and complement: the checksum in host order. */
static inline uint16_t ip_sum_finish(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}
/* Of a whole header, checksum field included: 0 when it is right. */
uint16_t ip_checksum(const void *header, size_t bytes);

/* With DF, identification 0 and the checksum (spec/kernel 4.4: what Linux emits). */
void ip4_header_write(uint8_t out[IP4_HEADER_BYTES], const struct ip4_header *h);
void ip6_header_write(uint8_t out[IP6_HEADER_BYTES], const struct ip6_header *h);

#endif
