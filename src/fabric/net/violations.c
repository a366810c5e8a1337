/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys that do not fit: an M_Key that is not the port's, a P_Key that is in no table, a
 * Q_Key that is not that of QP1. Each is counted in PortInfo (spec/sa-sm 3.6), where the
 * counters stop at their largest value, and told to the SM by a trap (spec/sa-sm 2.1: 256
 * to 259) that says whose key it was. Of data only so much is said as is known of many
 * datagrams at once: what their engines have counted comes here without its queue pairs.
 */
#include "fabric/net/fabric_priv.h"

#include <stdlib.h>
#include <string.h>

/* Places in a notice, whose details begin at 10. */
#define AT(offset) ((offset)-10u)

#define RETURN_PATH 30u /* hops of it that a notice has room for */

/* First byte of DataValid in trap 259: its fields in their order, from the highest bit. The
 * traps of Omni-Path, which are these with other LIDs, have them so. */
enum {
	VALID_LIDS = 0xc0,
	VALID_PKEY = 0x20,
	VALID_SL_AND_QPS = 0x1c,
	VALID_GIDS = 0x03,
};

static const uint16_t numbers[NET_VIOLATIONS] = {
	[NET_VIOLATION_MKEY] = TRAP_BAD_MKEY,
	[NET_VIOLATION_PKEY] = TRAP_BAD_PKEY,
	[NET_VIOLATION_QKEY] = TRAP_BAD_QKEY,
	[NET_VIOLATION_SWITCH_PKEY] = TRAP_SWITCH_BAD_PKEY,
};

static void count(uint16_t *counter, uint64_t packets)
{
	uint32_t room = UINT16_MAX - *counter;

	*counter += (uint16_t)(packets < room ? packets : room);
}

/* -- who is told --------------------------------------------------------------------- */

/* Most ports never need any. Null: no memory, and it is only counted. */
static struct net_security *security_of(struct fabric_port *end)
{
	struct net_security *s = end->end->security;

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	for (unsigned int i = 0; i < NET_VIOLATIONS; i++)
		net_trap_init(&s->traps[i], end, numbers[i]);
	end->end->security = s;
	return s;
}

static void tell(struct fabric_port *end, enum net_violation what,
		 const uint8_t details[NOTICE_DETAILS])
{
	struct net_security *s = security_of(end);

	if (!s)
		return;
	memcpy(s->latest[what], details, NOTICE_DETAILS);
	net_trap_raise(&s->traps[what]);
}

/* What is repeated says the same again. */
const uint8_t *net_violation_details(const struct net_trap *trap)
{
	struct net_security *s = trap->port->end->security;
	size_t i = (size_t)(trap - s->traps);

	if (!trap->said)
		memcpy(s->details[i], s->latest[i], NOTICE_DETAILS);
	return s->details[i];
}

/* -- M_Key --------------------------------------------------------------------------- */

static void put_directed(uint8_t *details, const uint8_t *mad)
{
	unsigned int hops = smp_hop_count(mad);

	wire_put16(details + AT(14), wire_get16(mad + SMP_DR_SLID));
	details[AT(33)] = (uint8_t)(0x80 | (hops & 0x3f));
	if (hops > RETURN_PATH) {
		details[AT(33)] |= 0x40;
		hops = RETURN_PATH;
	}
	memcpy(details + AT(34), mad + SMP_RETURN_PATH + 1, hops);
}

void net_violate_mkey(struct fabric_port *end, uint16_t slid, const uint8_t *mad)
{
	uint8_t details[NOTICE_DETAILS] = { 0 };
	struct mad_header h;

	mad_header_get(mad, &h);
	count(&end->info.mkey_violations, 1);
	wire_put16(details + AT(12), slid);
	details[AT(16)] = h.method;
	wire_put16(details + AT(18), h.attr_id);
	wire_put32(details + AT(20), h.attr_mod);
	memcpy(details + AT(24), mad + SMP_MKEY, 8);
	if (h.mgmt_class == MAD_CLASS_SUBN_DIRECTED)
		put_directed(details, mad);
	tell(end, NET_VIOLATION_MKEY, details);
}

/* -- P_Key and Q_Key of an end port -------------------------------------------------- */

static void put_ends(uint8_t *details, const struct ib_packet *packet, uint32_t key)
{
	wire_put16(details + AT(12), packet->slid);
	wire_put16(details + AT(14), packet->dlid);
	wire_put32(details + AT(16), key);
	wire_put32(details + AT(20), (uint32_t)packet->sl << 28 | packet->src_qp);
	wire_put32(details + AT(24), packet->dest_qp);
	if (!packet->has_grh)
		return;
	memcpy(details + AT(28), packet->sgid.raw, 16);
	memcpy(details + AT(44), packet->dgid.raw, 16);
}

void net_violate_pkey(struct fabric_port *end, const struct ib_packet *packet)
{
	uint8_t details[NOTICE_DETAILS] = { 0 };

	count(&end->info.pkey_violations, 1);
	put_ends(details, packet, packet->pkey);
	tell(end, NET_VIOLATION_PKEY, details);
}

void net_violate_qkey(struct fabric_port *end, const struct ib_packet *packet)
{
	uint8_t details[NOTICE_DETAILS] = { 0 };

	count(&end->info.qkey_violations, 1);
	put_ends(details, packet, packet->qkey);
	tell(end, NET_VIOLATION_QKEY, details);
}

static void violated(struct fabric_port *end, enum net_violation what)
{
	uint8_t details[NOTICE_DETAILS] = { 0 };

	wire_put16(details + AT(14), end->info.lid);
	tell(end, what, details);
}

void fabric_port_violated(struct fabric_port *port, uint64_t pkeys, uint64_t qkeys)
{
	count(&port->info.pkey_violations, pkeys);
	count(&port->info.qkey_violations, qkeys);
	if (pkeys)
		violated(port, NET_VIOLATION_PKEY);
	if (qkeys)
		violated(port, NET_VIOLATION_QKEY);
}

/* -- P_Key at a switch --------------------------------------------------------------- */

static void put_packet(uint8_t *details, const struct ib_packet *packet)
{
	details[AT(10)] |= VALID_SL_AND_QPS;
	wire_put32(details + AT(18), (uint32_t)packet->sl << 28 | packet->src_qp);
	wire_put32(details + AT(22), packet->dest_qp);
	if (!packet->has_grh)
		return;
	details[AT(10)] |= VALID_GIDS;
	memcpy(details + AT(26), packet->sgid.raw, 16);
	memcpy(details + AT(42), packet->dgid.raw, 16);
}

void net_violate_switch_pkey(struct fabric_port *p, const struct net_transit *t)
{
	struct fabric_port *end = net_end_of(p);
	uint8_t details[NOTICE_DETAILS] = { VALID_LIDS | VALID_PKEY };

	count(&p->info.pkey_violations, t->packets);
	wire_put16(details + AT(12), t->slid);
	wire_put16(details + AT(14), t->dlid);
	wire_put16(details + AT(16), t->pkey);
	if (t->packet)
		put_packet(details, t->packet);
	wire_put16(details + AT(58), end->info.lid);
	details[AT(60)] = p->num;
	tell(end, NET_VIOLATION_SWITCH_PKEY, details);
}
