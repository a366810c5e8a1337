// SPDX-License-Identifier: BSD-2-Clause
#include "wire/ip.h"

#include <string.h>

#include "wire/bytes.h"

uint32_t ip_sum(const void *data, size_t bytes, uint32_t sum)
{
	const uint8_t *p = data;

	for (; bytes >= 2; p += 2, bytes -= 2)
		sum += (uint32_t)p[0] << 8 | p[1];
	if (bytes)
		sum += (uint32_t)p[0] << 8;
	return sum;
}

uint16_t ip_checksum(const void *header, size_t bytes)
{
	return ip_sum_finish(ip_sum(header, bytes, 0));
}

void ip4_header_write(uint8_t out[IP4_HEADER_BYTES], const struct ip4_header *h)
{
	memset(out, 0, IP4_HEADER_BYTES);
	out[0] = 4 << 4 | IP4_HEADER_BYTES / 4;
	out[1] = h->tos;
	wire_put16(out + 2, h->total_bytes);
	out[6] = 0x40; /* don't fragment */
	out[8] = h->ttl;
	out[9] = IP_PROTOCOL_UDP;
	memcpy(out + 12, &h->src, 4);
	memcpy(out + 16, &h->dst, 4);
	wire_put16(out + 10, ip_checksum(out, IP4_HEADER_BYTES));
}

void ip6_header_write(uint8_t out[IP6_HEADER_BYTES], const struct ip6_header *h)
{
	out[0] = (uint8_t)(6 << 4 | h->traffic_class >> 4);
	out[1] = (uint8_t)(h->traffic_class << 4 | (h->flow_label >> 16 & 0xf));
	wire_put16(out + 2, (uint16_t)h->flow_label);
	wire_put16(out + 4, h->payload_bytes);
	out[6] = IP_PROTOCOL_UDP;
	out[7] = h->hop_limit;
	memcpy(out + 8, h->src, 16);
	memcpy(out + 24, h->dst, 16);
}
