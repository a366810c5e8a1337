/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A packet between ports of an InfiniBand subnet, as far as the control plane sends them:
 * management datagrams on QP0 and QP1. Decoded, in host order; the bytes on a link, for
 * captures and decoders, come from ib_packet_encode.
 *
 * The payload is the sender's and lives as long as the call that hands the packet on.
 */
#ifndef WIRE_IB_PACKET_H
#define WIRE_IB_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/gid.h"

#define IB_LID_PERMISSIVE     0xffffu
#define IB_LID_MULTICAST_BASE 0xc000u /* 0xc000 .. 0xfffe are multicast */
#define IB_VL_MANAGEMENT      15u
#define IB_QP_SMI             0u
#define IB_QP_GSI             1u
#define IB_QP_MULTICAST       0xffffffu
#define IB_GSI_QKEY           0x80010000u
#define IB_PKEY_DEFAULT_FULL  0xffffu
#define IB_PKEY_FULL_MEMBER   0x8000u

static inline bool ib_lid_is_multicast(uint16_t lid)
{
	return lid >= IB_LID_MULTICAST_BASE && lid != IB_LID_PERMISSIVE;
}

/* The bases are equal, and one of the two at least is a full member. */
static inline bool ib_pkeys_match(uint16_t a, uint16_t b)
{
	return (a & 0x7fff) == (b & 0x7fff) && (a & 0x7fff) != 0 &&
	       ((a | b) & IB_PKEY_FULL_MEMBER);
}

struct ib_packet {
	uint16_t slid, dlid;
	uint8_t sl, vl;
	uint16_t pkey;
	uint32_t dest_qp, src_qp, qkey;
	bool has_grh;
	union ib_gid sgid, dgid; /* these count with a GRH */
	uint32_t flow_label;
	uint8_t traffic_class, hop_limit;
	const uint8_t *payload;
	uint32_t length; /* of the payload: 256 for a MAD */
};

/* LRH, GRH if any, BTH, DETH, payload; without CRCs. The most it can take for a MAD: */
#define IB_PACKET_HEADER_MAX (8u + 40u + 12u + 8u)

/* Bytes written, or 0: no room. */
size_t ib_packet_encode(const struct ib_packet *packet, uint8_t *out, size_t room);
/* `packet->payload` points into `bytes`. 0, or -EPROTO: not one UD packet of that form,
 * whole and with nothing behind it. */
int ib_packet_decode(const uint8_t *bytes, size_t length, struct ib_packet *packet);

#endif
