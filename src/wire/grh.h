/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The 40 bytes in front of every received datagram (spec/kernel 4.6): a global route
 * header, or the IP header that came in its stead. All of a flow but the length stays the
 * same, so it is made once and the length put in per datagram.
 */
#ifndef WIRE_GRH_H
#define WIRE_GRH_H

#include <stdint.h>
#include <string.h>

#include "wire/ip.h"

#define GRH_BYTES 40u

/* Of the transport headers behind it: BTH, DETH; and the ICRC. */
#define UD_HEADER_BYTES 20u
#define UD_IMM_BYTES    4u
#define ICRC_BYTES      4u

enum grh_kind {
	GRH_IB,   /* InfiniBand, and RoCE v1 */
	GRH_IPV4, /* RoCE v2, both GIDs v4-mapped; bytes 0..19 are zero */
	GRH_IPV6, /* RoCE v2 */
	GRH_NONE, /* InfiniBand without one: all 40 bytes are zero */
};

struct grh_flow {
	uint8_t bytes[GRH_BYTES]; /* with length 0, and checksum 0 */
	uint32_t sum;             /* IPv4: of the header without length, not folded */
	enum grh_kind kind;
};

void grh_flow_init(struct grh_flow *flow, enum grh_kind kind, const uint8_t sgid[16],
		   const uint8_t dgid[16], uint8_t traffic_class, uint8_t hop_limit);

/* Of GRH_NONE. */
void grh_flow_init_none(struct grh_flow *flow);
/* Put in the 20 bits, of GRH_IB. */
void grh_flow_label(struct grh_flow *flow, uint32_t label);

/* IPv4 where both GIDs are v4-mapped, else IPv6. */
enum grh_kind grh_kind_of_roce_v2(const uint8_t sgid[16], const uint8_t dgid[16]);

/* From BTH to ICRC inclusive, padding too. */
static inline uint32_t ud_wire_bytes(uint32_t payload, int with_imm)
{
	return UD_HEADER_BYTES + (with_imm ? UD_IMM_BYTES : 0) + ((payload + 3) & ~3u) +
	       ICRC_BYTES;
}

/* The header of one datagram; `wire_bytes` as ud_wire_bytes counts. */
static inline void grh_write(uint8_t out[GRH_BYTES], const struct grh_flow *flow,
			     uint32_t wire_bytes)
{
	unsigned int at = flow->kind == GRH_IPV4 ? 22 : 4;
	uint32_t length = wire_bytes;

	if (flow->kind != GRH_IB)
		length += UDP_HEADER_BYTES;
	memcpy(out, flow->bytes, GRH_BYTES);
	if (flow->kind == GRH_NONE)
		return;
	if (flow->kind == GRH_IPV4) {
		uint16_t check;

		length += IP4_HEADER_BYTES;
		check = ip_sum_finish(flow->sum + length);
		out[30] = (uint8_t)(check >> 8);
		out[31] = (uint8_t)check;
	}
	out[at] = (uint8_t)(length >> 8);
	out[at + 1] = (uint8_t)length;
}

#endif
