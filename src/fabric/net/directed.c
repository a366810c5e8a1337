/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Directed routes, by the rules of spec/sa-sm 3.2: a function for each column of its
 * tables, a branch for each row. The head of a route may go by LID to a switch, where the
 * hops begin (DrSLID says where the answer goes from there); a tail by LID is refused.
 */
#include "fabric/net/fabric_priv.h"

#define HOP_POINTER 6u

struct directed {
	uint8_t *mad;
	struct fabric_port *at;  /* the sender's port, or the one it came in by */
	struct fabric_port *out; /* where it leaves; null: it has arrived */
};

static uint8_t initial_path(const struct directed *d, unsigned int hop)
{
	return d->mad[SMP_INITIAL_PATH + hop];
}

static uint8_t *return_path(const struct directed *d, unsigned int hop)
{
	return &d->mad[SMP_RETURN_PATH + hop];
}

/* A switch may leave by any port, an adapter by the one it uses. */
static enum net_drop leave(struct directed *d, unsigned int hop_pointer, uint8_t port)
{
	struct fabric_node *n = d->at->node;

	d->mad[HOP_POINTER] = (uint8_t)hop_pointer;
	if (!port || port > n->num_ports || (!n->is_switch && port != d->at->num))
		return NET_BAD_HOPS;
	d->out = &n->ports[port];
	return NET_PASSED;
}

static enum net_drop send_outbound(struct directed *d)
{
	unsigned int pointer = smp_hop_pointer(d->mad), count = smp_hop_count(d->mad);

	if (count && pointer == 0)
		return leave(d, 1, initial_path(d, 1));
	if (pointer && pointer < count) {
		if (!d->at->node->is_switch)
			return NET_BAD_HOPS;
		return leave(d, pointer + 1, initial_path(d, pointer + 1));
	}
	if (pointer == count)
		d->mad[HOP_POINTER] = (uint8_t)(pointer + 1);
	else if (pointer != count + 1)
		return NET_BAD_HOPS;
	return NET_PASSED;
}

static enum net_drop receive_outbound(struct directed *d)
{
	unsigned int pointer = smp_hop_pointer(d->mad), count = smp_hop_count(d->mad);

	if (count && pointer == 0)
		return NET_BAD_HOPS;
	if (pointer && pointer < count) {
		if (!d->at->node->is_switch)
			return NET_BAD_HOPS;
		*return_path(d, pointer) = d->at->num;
		if (initial_path(d, pointer + 1) > d->at->node->num_ports)
			return NET_BAD_HOPS;
	} else if (pointer == count && count) {
		*return_path(d, pointer) = d->at->num;
	}
	return send_outbound(d);
}

static enum net_drop move_inbound(struct directed *d)
{
	unsigned int pointer = smp_hop_pointer(d->mad), count = smp_hop_count(d->mad);

	if (count && pointer == count + 1)
		return leave(d, pointer - 1, *return_path(d, pointer - 1));
	if (pointer >= 2 && pointer <= count) {
		if (!d->at->node->is_switch)
			return NET_BAD_HOPS;
		return leave(d, pointer - 1, *return_path(d, pointer - 1));
	}
	if (pointer > 1)
		return NET_BAD_HOPS;
	d->mad[HOP_POINTER] = 0;
	return NET_PASSED;
}

static uint16_t source_of(const uint8_t *mad)
{
	return wire_get16(mad + SMP_DR_SLID);
}

static bool is_walkable(const uint8_t *mad)
{
	return wire_get16(mad + SMP_DR_DLID) == IB_LID_PERMISSIVE &&
	       smp_hop_count(mad) <= SMP_HOPS_MAX;
}

/* By LID to the switch where the hops begin. */
static enum net_drop go_to_head(struct directed *d, struct net_transit *t)
{
	enum net_drop drop;

	if (t->dlid >= IB_LID_MULTICAST_BASE)
		return NET_NO_ROUTE;
	drop = net_route(t, d->at);
	if (drop != NET_PASSED)
		return drop;
	d->at = t->at;
	if (!d->at->node->is_switch || smp_hop_pointer(d->mad) != 0)
		return NET_BAD_HOPS;
	return send_outbound(d);
}

/* From there by LID to who asked. */
static enum net_drop return_from_head(struct directed *d, struct net_transit *t)
{
	if (!d->at->node->is_switch)
		return NET_BAD_HOPS;
	t->dlid = source_of(d->mad);
	if (t->dlid >= IB_LID_MULTICAST_BASE)
		return NET_NO_ROUTE;
	return net_route(t, &d->at->node->ports[0]);
}

enum net_drop net_route_directed(struct net_transit *t, struct fabric_port *from,
				 uint8_t *mad)
{
	struct directed d = { .mad = mad, .at = from };
	bool inbound = mad[4] & (MAD_STATUS_DIRECTION >> 8);
	bool has_head = source_of(mad) != IB_LID_PERMISSIVE;
	enum net_drop drop;

	t->at = from;
	if (!is_walkable(mad))
		return NET_BAD_HOPS;
	if (inbound)
		drop = move_inbound(&d);
	else
		drop = has_head ? go_to_head(&d, t) : send_outbound(&d);
	/* The pointer moves with every turn, so it ends. */
	while (drop == NET_PASSED && d.out) {
		drop = net_cross(t, d.out);
		if (drop != NET_PASSED)
			break;
		d.at = t->at;
		d.out = NULL;
		drop = inbound ? move_inbound(&d) : receive_outbound(&d);
	}
	if (drop == NET_PASSED && inbound && has_head)
		drop = return_from_head(&d, t);
	return drop;
}
