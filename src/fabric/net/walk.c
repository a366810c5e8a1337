/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From hop to hop by the forwarding tables (spec/sa-sm 7.5, 3.8). The same steps carry
 * management datagrams and answer fabric_walk_*, so that both see the same fabric.
 *
 * On a link, VL15 passes while it is physically up; everything else needs ACTIVE where it
 * leaves and at least ARMED where it arrives, which makes that port ACTIVE; and the P_Key
 * where a switch enforces it.
 */
#include "fabric/net/fabric_priv.h"

#include <stdlib.h>
#include <string.h>

/* PortInfo.enforcement */
#define ENFORCE_IN  0x8u
#define ENFORCE_OUT 0x4u

bool net_pkey_passes(const struct fabric_port *p, uint16_t pkey)
{
	for (unsigned int i = 0; i < p->node->pkey_cap; i++) {
		if (ib_pkeys_match(p->pkeys[i], pkey))
			return true;
	}
	return false;
}

static bool is_enforced(const struct net_transit *t, const struct fabric_port *p,
			unsigned int direction)
{
	return !t->vl15 && net_is_external(p) && (p->info.enforcement & direction);
}

static enum net_drop check_leaving(const struct net_transit *t,
				   const struct fabric_port *out)
{
	if (!out->linked)
		return NET_PORT_DOWN;
	if (!t->vl15 && out->info.state != SMP_PORT_ACTIVE)
		return NET_PORT_DOWN;
	if (is_enforced(t, out, ENFORCE_OUT) && !net_pkey_passes(out, t->pkey))
		return NET_BAD_PKEY;
	return NET_PASSED;
}

static enum net_drop check_arriving(const struct net_transit *t,
				    const struct fabric_port *in)
{
	if (!t->vl15 && in->info.state < SMP_PORT_ARMED)
		return NET_PORT_DOWN;
	if (is_enforced(t, in, ENFORCE_IN) && !net_pkey_passes(in, t->pkey))
		return NET_BAD_PKEY;
	return NET_PASSED;
}

static void count_left(struct net_counters *c, const struct net_transit *t)
{
	c->xmit_packets += t->packets;
	c->xmit_bytes += t->bytes;
	*(t->is_multicast ? &c->xmit_multicast : &c->xmit_unicast) += t->packets;
}

static void count_arrived(struct net_counters *c, const struct net_transit *t)
{
	c->rcv_packets += t->packets;
	c->rcv_bytes += t->bytes;
	*(t->is_multicast ? &c->rcv_multicast : &c->rcv_unicast) += t->packets;
}

/* What may happen to management on a link. */
static enum net_drop meet_trouble(struct net_transit *t, struct fabric_port *out)
{
	struct fabric *f = out->node->fabric;

	if (f->trouble.loss && random_chance(f->random, f->trouble.loss)) {
		out->peer->counters.vl15_dropped += t->vl15;
		return NET_LOST;
	}
	if (f->trouble.reorder && f->trouble.delay_ns &&
	    random_chance(f->random, f->trouble.reorder))
		t->delay_ns += 1 + random_below(f->random, f->trouble.delay_ns);
	return NET_PASSED;
}

/* What a real packet meets and leaves behind on a link. */
static enum net_drop travel(struct net_transit *t, struct fabric_port *out)
{
	enum net_drop drop = NET_PASSED;

	count_left(&out->counters, t);
	t->delay_ns += out->node->fabric->hop_latency_ns;
	if (!t->is_data)
		drop = meet_trouble(t, out);
	if (drop == NET_PASSED)
		count_arrived(&out->peer->counters, t);
	return drop;
}

/* A small counter stops at its largest value. */
static void count_small(uint32_t *counter, uint64_t packets)
{
	*counter = packets < UINT32_MAX - *counter ? *counter + (uint32_t)packets
						   : UINT32_MAX;
}

static enum net_drop count_refusal(const struct net_transit *t, struct fabric_port *p,
				   enum net_drop drop, bool leaving)
{
	if (drop == NET_PASSED)
		return drop;
	if (drop == NET_BAD_PKEY && leaving)
		count_small(&p->counters.xmit_constraint, t->packets);
	else if (drop == NET_BAD_PKEY)
		count_small(&p->counters.rcv_constraint, t->packets);
	else if (leaving)
		count_small(&p->counters.xmit_discards, t->packets);
	if (drop == NET_BAD_PKEY && t->packets)
		net_violate_switch_pkey(p, t);
	return drop;
}

/* What was sent before is counted before; data that comes here is being counted already. */
static void activate(const struct net_transit *t)
{
	if (!t->is_data)
		net_count_all_sent(t->at->node->fabric);
	if (t->at->info.state == SMP_PORT_ARMED)
		net_activate(t->at);
}

enum net_drop net_cross(struct net_transit *t, struct fabric_port *out)
{
	enum net_drop drop;

	t->at = out;
	drop = count_refusal(t, out, check_leaving(t, out), true);
	if (drop == NET_PASSED && t->packets)
		drop = travel(t, out);
	if (drop != NET_PASSED)
		return drop;
	t->at = out->peer;
	if (t->packets && !t->vl15 && t->at->info.state == SMP_PORT_ARMED)
		activate(t);
	return count_refusal(t, t->at, check_arriving(t, t->at), false);
}

static enum net_drop relay_error(const struct net_transit *t)
{
	count_small(&t->at->counters.relay_errors, t->packets);
	return NET_NO_ROUTE;
}

/* -- unicast ----------------------------------------------------------------------- */

/* In a switch, at the port it came in by or was sent from (0): where to? Null: nowhere. */
static struct fabric_port *forward(const struct net_transit *t)
{
	struct fabric_node *n = t->at->node;
	uint8_t port = net_lft_port(n, t->dlid);

	/* Back where it came from is a loop, and counted like no route. */
	if (port > n->num_ports || port == t->at->num)
		return NULL;
	return &n->ports[port];
}

enum net_drop net_route(struct net_transit *t, struct fabric_port *from)
{
	uint32_t hops = from->node->fabric->switch_count + 1; /* more is a loop */
	struct fabric_port *out = from;

	t->at = from;
	if (net_has_lid(from, t->dlid))
		return NET_PASSED;
	if (from->node->is_switch)
		out = forward(t);
	for (; out && out->num && hops; hops--) {
		enum net_drop drop = net_cross(t, out);

		if (drop != NET_PASSED)
			return drop;
		if (!t->at->node->is_switch)
			return net_has_lid(t->at, t->dlid) ? NET_PASSED : NET_NO_ROUTE;
		out = forward(t);
	}
	if (!out || out->num || !net_has_lid(out, t->dlid))
		return relay_error(t);
	return NET_PASSED;
}

static struct fabric_port *self(const struct fabric_port *port)
{
	return &port->node->ports[port->num];
}

struct fabric_port *fabric_walk_unicast(const struct fabric_port *port, uint16_t dlid,
					uint16_t pkey)
{
	struct net_transit t = { .dlid = dlid, .pkey = pkey };

	if (port->info.state != SMP_PORT_ACTIVE || dlid >= IB_LID_MULTICAST_BASE)
		return NULL;
	return net_route(&t, self(port)) == NET_PASSED ? net_end_of(t.at) : NULL;
}

/* -- unicast from many ports ------------------------------------------------------- */

void fabric_arrivals_begin(struct fabric *f, const struct fabric_port *to, uint16_t dlid,
			   uint16_t pkey)
{
	f->arrivals.to = to;
	f->arrivals.dlid = dlid;
	f->arrivals.pkey = pkey;
	f->arrivals.serial++;
}

/* A packet that came into a switch goes on: false when it has ended, in *ret how. Only
 * whether it goes back where it came from depends on that; else the switch's answer is the
 * same for whatever comes. Where it has been already, it says no: a circle. */
static bool go_on(const struct net_arrivals *a, struct net_transit *t,
		  struct fabric_node **trail, bool *ret)
{
	struct fabric_node *n = t->at->node;
	uint8_t port = net_lft_port(n, a->dlid);
	struct fabric_port *out;

	*ret = false;
	if (port == t->at->num || port > n->num_ports)
		return false;
	if (n->arrivals_serial == a->serial) {
		*ret = n->arrives;
		return false;
	}
	n->arrivals_serial = a->serial;
	n->arrives = false;
	n->trail = *trail;
	*trail = n;
	out = &n->ports[port];
	if (port && net_cross(t, out) != NET_PASSED)
		return false;
	if (port && t->at->node->is_switch)
		return true;
	if (port)
		out = t->at;
	*ret = out == a->to && net_has_lid(out, a->dlid);
	return false;
}

bool fabric_arrives(struct fabric *f, const struct fabric_port *from)
{
	const struct net_arrivals *a = &f->arrivals;
	struct net_transit t = { .dlid = a->dlid, .pkey = a->pkey, .at = self(from) };
	struct fabric_node *trail = NULL;
	bool arrives = false;

	if (from->info.state != SMP_PORT_ACTIVE || a->dlid >= IB_LID_MULTICAST_BASE)
		return false;
	if (net_has_lid(from, a->dlid))
		return from == a->to;
	if (!from->node->is_switch) {
		if (net_cross(&t, self(from)) != NET_PASSED)
			return false;
		if (!t.at->node->is_switch)
			return t.at == a->to && net_has_lid(t.at, a->dlid);
	}
	while (go_on(a, &t, &trail, &arrives))
		;
	for (; trail && arrives; trail = trail->trail)
		trail->arrives = true;
	return arrives;
}

int fabric_walk_entry(const struct fabric_port *port, uint16_t pkey)
{
	struct net_transit t = { .pkey = pkey };

	if (port->node->is_switch || port->info.state != SMP_PORT_ACTIVE ||
	    net_cross(&t, self(port)) != NET_PASSED || !t.at->node->is_switch)
		return -1;
	return (int)(t.at->node - t.at->node->fabric->nodes);
}

/* -- multicast --------------------------------------------------------------------- */

#define COPIES_FIRST 64u

/* A copy that has come into a switch. */
struct copy {
	struct fabric_port *in;
	uint32_t hops;
};

/*
 * The copies that have not been forwarded yet, oldest first. Sound tables are trees and
 * make one copy a link. Others may make copies without end: each ends after as many hops
 * as there are switches, all together at `left`; and those with the fewest hops are
 * served first, so that whoever is reached at all is among them.
 */
struct flood {
	struct copy *copies;
	uint32_t head, tail, room;
	uint32_t left;
	struct net_transit transit;
	void (*fn)(void *arg, struct fabric_port *reached);
	void *arg;
};

static void flood_add(struct flood *fl, struct fabric_port *in, uint32_t hops)
{
	if (fl->tail == fl->room) {
		uint32_t room = fl->room ? fl->room * 2 : COPIES_FIRST;
		struct copy *copies;

		if (fl->head > fl->room / 2) {
			fl->tail -= fl->head;
			memmove(fl->copies, fl->copies + fl->head,
				fl->tail * sizeof(*fl->copies));
			fl->head = 0;
		} else {
			copies = realloc(fl->copies, room * sizeof(*copies));
			if (!copies)
				return; /* lost, as packets may be */
			fl->copies = copies;
			fl->room = room;
		}
	}
	fl->copies[fl->tail++] = (struct copy){ in, hops };
}

/* One copy leaves a switch, or an adapter, through `out`. */
static void send_copy(struct flood *fl, struct fabric_port *out, uint32_t hops)
{
	struct fabric_port *at;

	if (!fl->left)
		return;
	fl->left--;
	if (!out->num) {
		fl->fn(fl->arg, out);
		return;
	}
	if (net_cross(&fl->transit, out) != NET_PASSED)
		return;
	at = fl->transit.at;
	if (!at->node->is_switch)
		fl->fn(fl->arg, at);
	else if (hops < at->node->fabric->switch_count)
		flood_add(fl, at, hops + 1);
}

/* Spec/sa-sm 7.5 step 4: what the table does not cover goes to a default port, 0 meaning
 * that there is none. */
static void forward_by_default(struct flood *fl, const struct copy *c)
{
	struct fabric_node *n = c->in->node;
	uint8_t primary = n->switch_info.default_mcast_primary;
	uint8_t port = c->in->num != primary ? primary
					     : n->switch_info.default_mcast_not_primary;

	if (n->mft_cap && port && port <= n->num_ports && port != c->in->num)
		send_copy(fl, &n->ports[port], c->hops);
}

/* Nowhere but back where it came from (spec/sa-sm 7.5 step 3). */
static bool is_dead_end(const struct fabric_node *n, const uint16_t *masks,
			unsigned int in)
{
	uint32_t any = 0;

	for (unsigned int i = 0; masks && i < n->positions; i++)
		any |= i == in / 16 ? masks[i] & ~(1u << in % 16) : masks[i];
	return !any;
}

static void forward_copy(struct flood *fl, const struct copy *c)
{
	struct fabric_node *n = c->in->node;
	const uint16_t *masks;

	if (!net_mft_covers(n, fl->transit.dlid)) {
		forward_by_default(fl, c);
		return;
	}
	masks = net_mft_masks(n, fl->transit.dlid - IB_LID_MULTICAST_BASE);
	if (is_dead_end(n, masks, c->in->num))
		count_small(&c->in->counters.relay_errors, fl->transit.packets);
	for (unsigned int position = 0; masks && position < n->positions; position++) {
		for (uint32_t mask = masks[position]; mask; mask &= mask - 1) {
			unsigned int port =
				16 * position + (unsigned int)__builtin_ctz(mask);

			if (port != c->in->num)
				send_copy(fl, &n->ports[port], c->hops);
		}
	}
}

static void flood_from(struct flood *fl, struct fabric_port *port)
{
	fl->left = 4 * port->node->fabric->port_count;
	if (port->node->is_switch)
		flood_add(fl, port, 1);
	else
		send_copy(fl, port, 0);
	while (fl->head < fl->tail) {
		struct copy c = fl->copies[fl->head++];

		forward_copy(fl, &c);
	}
	free(fl->copies);
}

void fabric_walk_multicast(const struct fabric_port *port, uint16_t mlid, uint16_t pkey,
			   void (*fn)(void *arg, struct fabric_port *reached), void *arg)
{
	struct flood fl = {
		.transit = { .dlid = mlid, .pkey = pkey },
		.fn = fn,
		.arg = arg,
	};

	if (port->info.state == SMP_PORT_ACTIVE && ib_lid_is_multicast(mlid))
		flood_from(&fl, self(port));
}

/* -- data, counted ----------------------------------------------------------------- */

static void reached(void *arg, struct fabric_port *port)
{
}

void fabric_port_carry(struct fabric_port *port, const struct fabric_load *load)
{
	struct net_transit t = {
		.is_data = true,
		.is_multicast = ib_lid_is_multicast(load->dlid),
		.dlid = load->dlid,
		.pkey = load->pkey,
		.packets = load->packets,
		.bytes = load->bytes,
		.slid = port->info.lid,
	};

	if (t.is_multicast)
		flood_from(&(struct flood){ .transit = t, .fn = reached }, port);
	else
		net_route(&t, port);
}
