/* SPDX-License-Identifier: BSD-2-Clause */
/* The headers of spec/wire 1 and 3, in front of a management datagram. */
#include "wire/ib_packet.h"

#include <errno.h>
#include <string.h>

#include "wire/fields.h"
#include "wire/grh.h"

#define LRH_BYTES  8u
#define BTH_BYTES  12u
#define DETH_BYTES 8u
_Static_assert(BTH_BYTES + DETH_BYTES == UD_HEADER_BYTES, "what follows an LRH or a GRH");

#define PAYLOAD_MAX    4096u
#define LNH_BTH        2 /* what follows the LRH */
#define LNH_GRH        3
#define NEXT_BTH       0x1b
#define UD_SEND_ONLY   0x64
#define IP_VERSION_GRH 6

/* What of the headers is not the sender's to choose. */
struct headers {
	struct ib_packet p;
	uint8_t link_version, lnh;
	uint16_t words; /* of the packet, LRH and ICRC included */
	uint8_t ip_version, next_header;
	uint16_t bytes; /* behind the GRH, ICRC included */
	uint8_t opcode, pad, transport_version;
};

#define H(name, byte)             WIRE_BYTES(struct headers, name, byte)
#define B(name, byte, skip, bits) WIRE_BITS(struct headers, name, byte, skip, bits)

static const struct wire_field lrh_fields[] = {
	B(p.vl, 0, 0, 4), B(link_version, 0, 4, 4), B(p.sl, 1, 0, 4), B(lnh, 1, 6, 2),
	H(p.dlid, 2),     B(words, 4, 5, 11),       H(p.slid, 6),
};
static const struct wire_format lrh = WIRE_FORMAT(0, LRH_BYTES, lrh_fields);

static const struct wire_field grh_fields[] = {
	B(ip_version, 0, 0, 4),
	B(p.traffic_class, 0, 4, 8),
	B(p.flow_label, 1, 4, 20),
	H(bytes, 4),
	H(next_header, 6),
	H(p.hop_limit, 7),
	H(p.sgid, 8),
	H(p.dgid, 24),
};
static const struct wire_format grh = WIRE_FORMAT(0, GRH_BYTES, grh_fields);

/* BTH and DETH. The packet sequence number means nothing to a datagram: 0. */
static const struct wire_field ud_fields[] = {
	H(opcode, 0),           B(pad, 1, 2, 2),        B(transport_version, 1, 4, 4),
	H(p.pkey, 2),           B(p.dest_qp, 5, 0, 24), H(p.qkey, 12),
	B(p.src_qp, 17, 0, 24),
};
static const struct wire_format ud = WIRE_FORMAT(0, UD_HEADER_BYTES, ud_fields);

static struct headers headers_of(const struct ib_packet *packet)
{
	uint32_t bytes = ud_wire_bytes(packet->length, 0);

	return (struct headers){
		.p = *packet,
		.lnh = packet->has_grh ? LNH_GRH : LNH_BTH,
		.words = (uint16_t)((LRH_BYTES + (packet->has_grh ? GRH_BYTES : 0) +
				     bytes) /
				    4),
		.ip_version = IP_VERSION_GRH,
		.next_header = NEXT_BTH,
		.bytes = (uint16_t)bytes,
		.opcode = UD_SEND_ONLY,
		.pad = (uint8_t)(-packet->length & 3),
	};
}

size_t ib_packet_encode(const struct ib_packet *packet, uint8_t *out, size_t room)
{
	struct headers h;
	uint8_t *at = out;

	if (packet->length > PAYLOAD_MAX)
		return 0;
	h = headers_of(packet);
	if (room < 4u * h.words - ICRC_BYTES)
		return 0;
	wire_put(&lrh, at, &h);
	at += LRH_BYTES;
	if (packet->has_grh) {
		wire_put(&grh, at, &h);
		at += GRH_BYTES;
	}
	wire_put(&ud, at, &h);
	at += UD_HEADER_BYTES;
	if (packet->length)
		memcpy(at, packet->payload, packet->length);
	memset(at + packet->length, 0, h.pad);
	return 4u * h.words - ICRC_BYTES;
}

/* Each returns the bytes of its header, or 0: not of the form. `length` has been taken
 * from the packet, so the lengths in the headers are checked against what is there. */
static size_t lrh_get(const uint8_t *bytes, size_t length, struct headers *h)
{
	if (length < LRH_BYTES)
		return 0;
	wire_get(&lrh, bytes, h);
	h->p.has_grh = h->lnh == LNH_GRH;
	if (h->link_version != 0 || (h->lnh != LNH_GRH && h->lnh != LNH_BTH) ||
	    4u * h->words != length + ICRC_BYTES)
		return 0;
	return LRH_BYTES;
}

static size_t grh_get(const uint8_t *bytes, size_t length, struct headers *h)
{
	if (length < GRH_BYTES)
		return 0;
	wire_get(&grh, bytes, h);
	if (h->ip_version != IP_VERSION_GRH || h->next_header != NEXT_BTH ||
	    h->bytes != length - GRH_BYTES + ICRC_BYTES)
		return 0;
	return GRH_BYTES;
}

static size_t ud_get(const uint8_t *bytes, size_t length, struct headers *h)
{
	if (length < UD_HEADER_BYTES)
		return 0;
	wire_get(&ud, bytes, h);
	if (h->opcode != UD_SEND_ONLY || h->transport_version != 0 ||
	    length - UD_HEADER_BYTES < h->pad ||
	    length - UD_HEADER_BYTES - h->pad > PAYLOAD_MAX)
		return 0;
	return UD_HEADER_BYTES;
}

int ib_packet_decode(const uint8_t *bytes, size_t length, struct ib_packet *packet)
{
	struct headers h = { .pad = 0 };
	size_t at, used;

	at = lrh_get(bytes, length, &h);
	if (at == 0)
		return -EPROTO;
	if (h.p.has_grh) {
		used = grh_get(bytes + at, length - at, &h);
		if (used == 0)
			return -EPROTO;
		at += used;
	}
	used = ud_get(bytes + at, length - at, &h);
	if (used == 0)
		return -EPROTO;
	at += used;
	*packet = h.p;
	packet->payload = bytes + at;
	packet->length = (uint32_t)(length - at) - h.pad;
	return 0;
}
