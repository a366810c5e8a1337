/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Management datagrams under way. A packet walks its whole way when it is sent, through
 * the tables and port states of that moment, and waits in a flight for its arrival.
 */
#include "fabric/net/fabric_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* LRH, GRH, BTH, DETH and ICRC: what the data counters count besides the MAD. */
#define HEADER_BYTES 32u
#define GRH_BYTES    40u

struct flight {
	struct list link;
	struct timer timer;
	struct fabric_port *to; /* the port it arrives by */
	struct ib_packet packet;
	uint8_t mad[MAD_BYTES];
};

static void count_drop(struct fabric *f, enum net_drop drop)
{
	uint64_t *const counters[] = {
		[NET_LOST] = &f->counters.lost,
		[NET_NO_ROUTE] = &f->counters.no_route,
		[NET_PORT_DOWN] = &f->counters.port_down,
		[NET_BAD_HOPS] = &f->counters.bad_hops,
		[NET_BAD_PKEY] = &f->counters.bad_pkey,
		[NET_BAD_QKEY] = &f->counters.bad_qkey,
		[NET_MALFORMED] = &f->counters.malformed,
		[NET_NOBODY] = &f->counters.nobody,
	};

	++*counters[drop];
}

static bool is_smp_class(uint8_t mgmt_class)
{
	return mgmt_class == MAD_CLASS_SUBN_LID || mgmt_class == MAD_CLASS_SUBN_DIRECTED;
}

/* -- arrival ----------------------------------------------------------------------- */

/* The response that stands in the flight's MAD. */
static void answer(struct flight *fl, struct fabric_port *end)
{
	const struct ib_packet *asked = &fl->packet;
	struct ib_packet response = {
		.slid = asked->dlid,
		.dlid = asked->slid,
		.sl = asked->sl,
		.pkey = asked->pkey,
		.dest_qp = asked->src_qp,
		.src_qp = asked->dest_qp,
		.qkey = asked->dest_qp == IB_QP_GSI ? IB_GSI_QKEY : 0,
		.has_grh = asked->has_grh,
		.sgid = asked->dgid,
		.dgid = asked->sgid,
		.hop_limit = asked->hop_limit,
		.traffic_class = asked->traffic_class,
		.flow_label = asked->flow_label,
		.payload = fl->mad,
		.length = MAD_BYTES,
	};

	fabric_port_send(end, &response);
}

static void hand_up(struct flight *fl, struct fabric_port *end)
{
	struct fabric *f = end->node->fabric;

	if (!end->end->ops || !end->end->ops->receive) {
		count_drop(f, NET_NOBODY);
		return;
	}
	f->counters.delivered++;
	end->end->ops->receive(end->end->arg, &fl->packet);
}

static bool keys_fit(struct fabric_port *end, const struct ib_packet *packet)
{
	struct fabric *f = end->node->fabric;

	if (!net_pkey_passes(end, packet->pkey)) {
		net_violate_pkey(end, packet);
		count_drop(f, NET_BAD_PKEY);
		return false;
	}
	if (packet->qkey != IB_GSI_QKEY) {
		net_violate_qkey(end, packet);
		count_drop(f, NET_BAD_QKEY);
		return false;
	}
	return true;
}

/* Firmware first; what it leaves is for whoever is attached. */
static void deliver(struct flight *fl)
{
	struct fabric_port *end = net_end_of(fl->to);
	struct fabric *f = end->node->fabric;
	bool gsi = fl->packet.dest_qp == IB_QP_GSI;
	enum net_answer said;

	if (!end->node->powered) {
		count_drop(f, NET_PORT_DOWN);
		return;
	}
	if (gsi && !keys_fit(end, &fl->packet))
		return;
	said = gsi ? net_pma_receive(end, fl->mad)
		   : net_sma_receive(end, fl->to->num, fl->packet.slid, fl->mad);
	if (said == NET_FOR_CLIENT)
		hand_up(fl, end);
	else if (said == NET_ANSWERED)
		answer(fl, end);
}

static void arrive(struct timer *timer)
{
	struct flight *fl = container_of(timer, struct flight, timer);
	struct fabric *f = fl->to->node->fabric;

	list_remove(&fl->link);
	deliver(fl);
	list_prepend(&f->spare_flights, &fl->link);
}

/* -- departure --------------------------------------------------------------------- */

static struct flight *take_flight(struct fabric *f)
{
	struct flight *fl;

	if (list_empty(&f->spare_flights)) {
		fl = malloc(sizeof(*fl));
		if (fl)
			list_init(&fl->link);
		return fl;
	}
	fl = container_of(f->spare_flights.next, struct flight, link);
	list_remove(&fl->link);
	return fl;
}

void net_flights_drop(struct fabric *f)
{
	list_for_each_safe(l, &f->flights) {
		struct flight *fl = container_of(l, struct flight, link);

		timer_disarm(&fl->timer);
		free(fl);
	}
	list_for_each_safe(s, &f->spare_flights)
		free(container_of(s, struct flight, link));
	list_init(&f->flights);
	list_init(&f->spare_flights);
}

/* SMPs on QP0, everything else on QP1. */
static bool is_well_formed(const struct ib_packet *packet)
{
	return packet->dest_qp <= IB_QP_GSI && packet->length == MAD_BYTES &&
	       is_smp_class(packet->payload[1]) == (packet->dest_qp == IB_QP_SMI);
}

/* With LMC the sender may choose among its LIDs. */
static uint16_t source_lid(const struct fabric_port *from, uint16_t wished)
{
	return net_has_lid(from, wished) ? wished : from->info.lid;
}

static void fill(struct flight *fl, const struct fabric_port *from,
		 const struct ib_packet *packet, bool directed)
{
	fl->packet = *packet;
	memcpy(fl->mad, packet->payload, MAD_BYTES);
	fl->packet.payload = fl->mad;
	fl->packet.slid = directed ? IB_LID_PERMISSIVE : source_lid(from, packet->slid);
	fl->packet.vl = packet->dest_qp == IB_QP_SMI ? IB_VL_MANAGEMENT : 0;
	if (directed)
		fl->packet.dlid = IB_LID_PERMISSIVE;
}

static enum net_drop route(struct net_transit *t, struct fabric_port *from,
			   struct flight *fl, bool directed)
{
	if (directed)
		return net_route_directed(t, from, fl->mad);
	if (t->dlid >= IB_LID_MULTICAST_BASE) /* neither for VL15 nor for MADs here */
		return NET_NO_ROUTE;
	return net_route(t, from);
}

static enum net_drop depart(struct fabric_port *from, const struct ib_packet *packet,
			    struct net_transit *t)
{
	struct fabric *f = from->node->fabric;
	bool directed = packet->payload[1] == MAD_CLASS_SUBN_DIRECTED;
	struct flight *fl = take_flight(f);
	enum net_drop drop;

	if (!fl)
		return NET_LOST;
	fill(fl, from, packet, directed);
	t->slid = fl->packet.slid;
	t->packet = &fl->packet;
	drop = route(t, from, fl, directed);
	if (drop != NET_PASSED) {
		list_prepend(&f->spare_flights, &fl->link);
		return drop;
	}
	fl->to = t->at;
	list_append(&f->flights, &fl->link);
	timer_init(&fl->timer, f->timers, arrive);
	timer_arm(&fl->timer, t->delay_ns);
	return NET_PASSED;
}

int fabric_port_send(struct fabric_port *port, const struct ib_packet *packet)
{
	struct fabric *f = port->node->fabric;
	struct net_transit t = {
		.vl15 = packet->dest_qp == IB_QP_SMI,
		.dlid = packet->dlid,
		.pkey = packet->pkey,
		.packets = 1,
		.bytes = MAD_BYTES + HEADER_BYTES + (packet->has_grh ? GRH_BYTES : 0),
	};
	enum net_drop drop = NET_MALFORMED;

	if (!port->node->powered || (!t.vl15 && port->info.state != SMP_PORT_ACTIVE))
		return -ENETDOWN;
	if (is_well_formed(packet))
		drop = depart(port, packet, &t);
	/* Not even out of the port: the sender can know. */
	if (drop == NET_PORT_DOWN && t.at == port)
		return -ENETDOWN;
	f->counters.sent++;
	if (drop != NET_PASSED)
		count_drop(f, drop);
	return 0;
}
