// SPDX-License-Identifier: BSD-2-Clause
// links: vc_wire
/*
 * Every decoder of management datagrams and of link packets, on any bytes. None reads
 * beyond its format, and what was decoded encodes to bytes that decode and encode to the
 * same again, without touching what is not theirs.
 */
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "wire/ib_packet.h"
#include "wire/mad.h"
#include "wire/sa.h"
#include "wire/smp.h"

union any {
	struct mad_header mad;
	struct rmpp_header rmpp;
	struct smp_node_info node;
	struct smp_port_info port;
	struct smp_switch_info sw;
	struct smp_sm_info sm;
	struct notice notice;
	struct sa_header sa;
	struct sa_mcmember mcmember;
	struct sa_path path;
	struct sa_node_record node_record;
	struct sa_port_record port_record;
	struct sa_service service;
	struct sa_class_port_info class_port;
	struct sa_inform_info inform;
};

struct codec {
	size_t bytes;
	void (*get)(const uint8_t *wire, union any *ret);
	void (*put)(uint8_t *wire, const union any *value);
};

#define CODEC(name, member)                                               \
	static void name##_get_any(const uint8_t *wire, union any *ret)   \
	{                                                                 \
		name##_get(wire, &ret->member);                           \
	}                                                                 \
	static void name##_put_any(uint8_t *wire, const union any *value) \
	{                                                                 \
		name##_put(wire, &value->member);                         \
	}
#define NOTICE(name, bytes)                                               \
	static void name##_get_any(const uint8_t *wire, union any *ret)   \
	{                                                                 \
		notice_get(wire, bytes, &ret->notice);                    \
	}                                                                 \
	static void name##_put_any(uint8_t *wire, const union any *value) \
	{                                                                 \
		notice_put(wire, bytes, &value->notice);                  \
	}
CODEC(mad_header, mad)
CODEC(rmpp_header, rmpp)
CODEC(smp_node_info, node)
CODEC(smp_port_info, port)
CODEC(smp_switch_info, sw)
CODEC(smp_sm_info, sm)
NOTICE(trap, NOTICE_TRAP_BYTES)
NOTICE(report, NOTICE_BYTES)
CODEC(sa_header, sa)
CODEC(sa_mcmember, mcmember)
CODEC(sa_path, path)
CODEC(sa_node_record, node_record)
CODEC(sa_port_record, port_record)
CODEC(sa_service, service)
CODEC(sa_class_port_info, class_port)
CODEC(sa_inform_info, inform)

#define ENTRY(name, bytes)                            \
	{                                             \
		bytes, name##_get_any, name##_put_any \
	}
static const struct codec codecs[] = {
	ENTRY(mad_header, MAD_HEADER_BYTES),
	ENTRY(rmpp_header, RMPP_HEADER_BYTES),
	ENTRY(smp_node_info, 40),
	ENTRY(smp_port_info, 64),
	ENTRY(smp_switch_info, 20),
	ENTRY(smp_sm_info, 21),
	ENTRY(trap, NOTICE_TRAP_BYTES),
	ENTRY(report, NOTICE_BYTES),
	ENTRY(sa_header, SA_DATA),
	ENTRY(sa_mcmember, SA_MCMEMBER_BYTES),
	ENTRY(sa_path, SA_PATH_BYTES),
	ENTRY(sa_node_record, SA_NODE_RECORD_BYTES),
	ENTRY(sa_port_record, SA_PORT_RECORD_BYTES),
	ENTRY(sa_service, SA_SERVICE_BYTES),
	ENTRY(sa_class_port_info, SA_CLASS_PORT_BYTES),
	ENTRY(sa_inform_info, SA_INFORM_BYTES),
};

static void check_codec(const struct codec *c, const uint8_t *data)
{
	uint8_t *wire = fuzz_exact(data, c->bytes), *again;
	union any value;

	c->get(wire, &value);
	c->put(wire, &value);
	again = fuzz_exact(wire, c->bytes);
	memset(&value, 0xa5, sizeof(value));
	c->get(wire, &value);
	c->put(again, &value);
	if (memcmp(wire, again, c->bytes) != 0)
		abort();
	free(wire);
	free(again);
}

static void check_packet(const uint8_t *data, size_t size)
{
	uint8_t *wire, *again;
	struct ib_packet p, q;

	if (ib_packet_decode(data, size, &p) < 0)
		return;
	if (p.payload < data || p.length > size ||
	    (size_t)(p.payload - data) > size - p.length)
		abort();
	wire = malloc(size);
	again = malloc(size);
	if (!wire || !again || ib_packet_encode(&p, wire, size) != size ||
	    ib_packet_encode(&p, again, size - 1) != 0 ||
	    ib_packet_decode(wire, size, &q) < 0 || q.length != p.length ||
	    memcmp(p.payload, q.payload, p.length) != 0 ||
	    ib_packet_encode(&q, again, size) != size || memcmp(wire, again, size) != 0)
		abort();
	free(wire);
	free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_packet(data, size);
	for (size_t i = 0; i < sizeof(codecs) / sizeof(*codecs); i++)
		if (size >= codecs[i].bytes)
			check_codec(&codecs[i], data + size - codecs[i].bytes);
	if (size >= 3)
		smp_rate_speed(smp_link_rate(data[0], data[1], data[2]));
	return 0;
}
