/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A node's performance management agent: class 0x04, ClassPortInfo, PortCounters and
 * PortCountersExtended. Its counters are those of management datagrams, counted as they
 * pass, and of what engines have sent, which walks the tables when the counters are asked
 * for or the tables change (fabric_config.carry). Those of 32 bits and of 64 are the same
 * ones: they are cleared together, and the small ones stop at their largest value.
 *
 * A switch has no other service, and says so.
 */
#include "fabric/net/fabric_priv.h"

#include <string.h>

#define VENDOR_SEGMENTS      0x30
#define VENDOR_SEGMENTS_LAST 0x4f

enum pma_attribute {
	PMA_PORT_COUNTERS = 0x0012,
	PMA_PORT_COUNTERS_EXT = 0x001d,
};

#define PMA_DATA       64u
#define PMA_DATA_BYTES 192u

/* ClassPortInfo.CapabilityMask: all ports at once; the 64-bit counters, with those that
 * tell unicast from multicast. */
#define CAP_ALL_PORTS 0x0100u
#define CAP_EXTENDED  0x0200u
#define RESPONSE_TIME 8u

#define PORT_ALL 0xffu

/* One counter: its place and width in both attributes, and its bits in CounterSelect. */
struct counter {
	size_t wide;                /* of struct net_counters: uint64_t, or */
	size_t narrow;              /* uint32_t */
	uint8_t shift;              /* what is shown is divided by 1 << shift */
	uint8_t at, bytes, select;  /* bytes 0: not there */
	uint8_t ext_at, ext_select; /* ext_at 0: not there */
};

#define WIDE(field)   offsetof(struct net_counters, field), 0
#define NARROW(field) 0, offsetof(struct net_counters, field)

static const struct counter counters[] = {
	{ NARROW(link_downed), 0, 7, 1, 2, 0, 0 },
	{ NARROW(relay_errors), 0, 12, 2, 5, 0, 0 },
	{ NARROW(xmit_discards), 0, 14, 2, 6, 0, 0 },
	{ NARROW(xmit_constraint), 0, 16, 1, 7, 0, 0 },
	{ NARROW(rcv_constraint), 0, 17, 1, 8, 0, 0 },
	{ NARROW(vl15_dropped), 0, 22, 2, 11, 0, 0 },
	{ WIDE(xmit_bytes), 2, 24, 4, 12, 8, 0 },
	{ WIDE(rcv_bytes), 2, 28, 4, 13, 16, 1 },
	{ WIDE(xmit_packets), 0, 32, 4, 14, 24, 2 },
	{ WIDE(rcv_packets), 0, 36, 4, 15, 32, 3 },
	{ WIDE(xmit_unicast), 0, 0, 0, 0, 40, 4 },
	{ WIDE(rcv_unicast), 0, 0, 0, 0, 48, 5 },
	{ WIDE(xmit_multicast), 0, 0, 0, 0, 56, 6 },
	{ WIDE(rcv_multicast), 0, 0, 0, 0, 64, 7 },
};
#define COUNTERS (sizeof(counters) / sizeof(*counters))

static uint64_t value_of(const struct fabric_port *p, const struct counter *c)
{
	const uint8_t *from = (const uint8_t *)&p->counters;

	if (c->narrow)
		return *(const uint32_t *)(from + c->narrow);
	return *(const uint64_t *)(from + c->wide) >> c->shift;
}

static void clear(struct fabric_port *p, const struct counter *c)
{
	uint8_t *from = (uint8_t *)&p->counters;

	if (c->narrow)
		*(uint32_t *)(from + c->narrow) = 0;
	else
		*(uint64_t *)(from + c->wide) = 0;
}

static bool is_asked(const struct fabric_port *p, uint8_t select)
{
	return select == PORT_ALL || p->num == select;
}

static uint64_t sum(const struct fabric_node *n, uint8_t select, const struct counter *c)
{
	uint64_t value = 0;

	net_for_each_port(p, n)
	{
		if (is_asked(p, select))
			value += value_of(p, c);
	}
	return value;
}

static void put(uint8_t *at, unsigned int bytes, uint64_t value)
{
	uint64_t most = bytes == 8 ? UINT64_MAX : (1ull << 8 * bytes) - 1;

	if (value > most)
		value = most;
	for (unsigned int i = bytes; i-- > 0; value >>= 8)
		at[i] = (uint8_t)value;
}

static void show(const struct fabric_node *n, bool extended, uint8_t *data)
{
	uint8_t select = data[1];
	uint8_t counter_select[2] = { data[2], data[3] };

	memset(data, 0, PMA_DATA_BYTES);
	data[1] = select;
	memcpy(data + 2, counter_select, sizeof(counter_select));
	for (size_t i = 0; i < COUNTERS; i++) {
		const struct counter *c = &counters[i];

		if (!extended && c->bytes)
			put(data + c->at, c->bytes, sum(n, select, c));
		else if (extended && c->ext_at)
			put(data + c->ext_at, 8, sum(n, select, c));
	}
}

static void clear_selected(struct fabric_node *n, bool extended, const uint8_t *data)
{
	uint8_t select = data[1];
	uint32_t which = wire_get16(data + 2);

	for (size_t i = 0; i < COUNTERS; i++) {
		const struct counter *c = &counters[i];

		if ((extended ? !c->ext_at : !c->bytes) ||
		    !(which >> (extended ? c->ext_select : c->select) & 1))
			continue;
		net_for_each_port(p, n)
		{
			if (is_asked(p, select))
				clear(p, c);
		}
	}
}

static uint16_t port_counters(struct fabric_node *n, bool set, bool extended,
			      uint8_t *data)
{
	uint8_t select = data[1];

	if (select != PORT_ALL && (select > n->num_ports || (!select && !n->is_switch)))
		return MAD_STATUS_BAD_VALUE;
	net_count_all_sent(n->fabric);
	if (set)
		clear_selected(n, extended, data);
	show(n, extended, data);
	return 0;
}

static uint16_t class_port_info(uint8_t *data)
{
	memset(data, 0, PMA_DATA_BYTES);
	data[0] = 1;
	data[1] = 1;
	wire_put16(data + 2, CAP_ALL_PORTS | CAP_EXTENDED);
	data[7] = RESPONSE_TIME;
	return 0;
}

static uint16_t perform(struct fabric_node *n, const struct mad_header *h, uint8_t *data)
{
	bool set = h->method == MAD_METHOD_SET;

	if (h->base_version != 1 || h->class_version != 1)
		return MAD_STATUS_BAD_VERSION;
	if (!set && h->method != MAD_METHOD_GET)
		return MAD_STATUS_BAD_METHOD;
	switch (h->attr_id) {
	case PMA_PORT_COUNTERS:
		return port_counters(n, set, false, data);
	case PMA_PORT_COUNTERS_EXT:
		return port_counters(n, set, true, data);
	case MAD_ATTR_CLASS_PORT_INFO:
		return set ? MAD_STATUS_BAD_ATTRIBUTE : class_port_info(data);
	default:
		return MAD_STATUS_BAD_ATTRIBUTE;
	}
}

/*
 * Behind a switch's port 0 there may be a subnet administrator, and nothing else. Of a
 * vendor's classes with segments nothing is refused, as on adapters (core/mad/receive.c).
 */
static bool is_nobodys(const struct fabric_port *end, const struct mad_header *h)
{
	return end->node->is_switch && h->mgmt_class != MAD_CLASS_SUBN_ADM &&
	       (h->mgmt_class < VENDOR_SEGMENTS ||
		h->mgmt_class > VENDOR_SEGMENTS_LAST) &&
	       (h->method == MAD_METHOD_GET || h->method == MAD_METHOD_SET);
}

enum net_answer net_pma_receive(struct fabric_port *end, uint8_t *mad)
{
	struct mad_header h;

	mad_header_get(mad, &h);
	if (mad_is_response(&h))
		return NET_FOR_CLIENT;
	if (h.mgmt_class == MAD_CLASS_PERF)
		h.status = perform(end->node, &h, mad + PMA_DATA);
	else if (is_nobodys(end, &h))
		h.status = MAD_STATUS_BAD_ATTRIBUTE;
	else
		return NET_FOR_CLIENT;
	h.method = MAD_METHOD_GET_RESP;
	mad_header_put(mad, &h);
	return NET_ANSWERED;
}
