/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What firmware tells the SM unasked (spec/sa-sm 3.9): trap 128 of a switch whose port
 * changed its state, trap 144 of a port whose capabilities changed, traps 256 to 259 of
 * keys that do not fit. Said again every SubnetTimeOut until it is repressed, so many
 * times; what happens meanwhile waits for that answer, which keeps the rate down and loses
 * nothing. Whoever tries keys could make any number of them: of those one is said in that
 * time, with the last one's details, and the counters of PortInfo tell how many there were.
 */
#include "fabric/net/fabric_priv.h"

#include <string.h>

#define TRAP_TIMES_MAX   10u
#define TRAP_INTERVAL_MS 10u /* at least */

/* The upper half of a transaction id, like the agent numbers of others. */
#define FIRMWARE_TIDS 0xffffffff00000000ull

#define TYPE_URGENT        1u
#define TYPE_SECURITY      2u
#define TYPE_INFORMATIONAL 4u

/* 4.096 us << SubnetTimeOut */
static uint64_t interval_ns(const struct fabric_port *p)
{
	uint64_t ns = 4096ull << (p->info.subnet_timeout & 0x1f);

	return ns > TRAP_INTERVAL_MS * TIMER_MS ? ns : TRAP_INTERVAL_MS * TIMER_MS;
}

static bool is_security(const struct net_trap *trap)
{
	return trap->number >= TRAP_BAD_MKEY;
}

/* Details by spec/sa-sm 2.1, whose offsets count from 10 bytes earlier. */
static struct notice make_notice(const struct net_trap *trap)
{
	const struct fabric_port *p = trap->port;
	struct notice n = {
		.is_generic = 1,
		.producer_type = p->node->is_switch ? SMP_NODE_SWITCH : SMP_NODE_CA,
		.trap = trap->number,
		.issuer_lid = p->info.lid,
	};

	if (is_security(trap)) {
		n.type = TYPE_SECURITY;
		memcpy(n.details, net_violation_details(trap), sizeof(n.details));
	} else if (trap->number == TRAP_LINK_STATE) {
		n.type = TYPE_URGENT;
		wire_put16(n.details + 10 - 10, p->info.lid);
	} else {
		n.type = TYPE_INFORMATIONAL;
		wire_put16(n.details + 12 - 10, p->info.lid);
		wire_put32(n.details + 16 - 10, p->info.cap_mask);
		wire_put16(n.details + 22 - 10, p->info.cap_mask2);
	}
	return n;
}

static void say(struct net_trap *trap)
{
	struct fabric_port *p = trap->port;
	struct mad_header header = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_SUBN_LID,
		.class_version = 1,
		.method = MAD_METHOD_TRAP,
		.tid = trap->tid,
		.attr_id = SMP_NOTICE,
	};
	struct notice notice = make_notice(trap);
	uint8_t mad[MAD_BYTES] = { 0 };
	struct ib_packet packet = {
		.dlid = p->info.sm_lid,
		.sl = p->info.sm_sl,
		.pkey = IB_PKEY_DEFAULT_FULL,
		.payload = mad,
		.length = sizeof(mad),
	};

	mad_header_put(mad, &header);
	notice_put(mad + SMP_DATA, NOTICE_TRAP_BYTES, &notice);
	trap->said++;
	fabric_port_send(p, &packet);
	timer_arm(&trap->timer, interval_ns(p));
}

static bool can_say(const struct net_trap *trap)
{
	const struct fabric_port *p = trap->port;

	return p->node->powered && p->info.lid && p->info.sm_lid;
}

static void begin(struct net_trap *trap)
{
	struct fabric *f = trap->port->node->fabric;

	trap->again = trap->repressed = false;
	trap->said = 0;
	trap->tid = FIRMWARE_TIDS | (uint32_t)++f->next_tid;
	say(trap);
}

static void repeat(struct timer *timer)
{
	struct net_trap *trap = container_of(timer, struct net_trap, timer);

	if (!can_say(trap))
		return;
	if (trap->repressed && trap->again)
		begin(trap);
	else if (!trap->repressed && trap->said < TRAP_TIMES_MAX)
		say(trap);
}

void net_trap_raise(struct net_trap *trap)
{
	if (!can_say(trap))
		return;
	if (trap->timer.armed)
		trap->again = true;
	else
		begin(trap);
}

static bool repress(struct net_trap *trap, uint64_t tid)
{
	if (!trap->timer.armed || trap->tid != tid)
		return false;
	trap->repressed = is_security(trap);
	if (trap->repressed)
		return true;
	timer_disarm(&trap->timer);
	if (trap->again && can_say(trap))
		begin(trap);
	return true;
}

bool net_trap_repress(struct fabric_port *end, uint64_t tid)
{
	struct net_security *s = end->end->security;

	for (unsigned int i = 0; s && i < NET_VIOLATIONS; i++)
		if (repress(&s->traps[i], tid))
			return true;
	return repress(&end->end->link_trap, tid) ||
	       repress(&end->end->local_trap, tid) ||
	       (tid & FIRMWARE_TIDS) == FIRMWARE_TIDS;
}

void net_trap_init(struct net_trap *trap, struct fabric_port *end, uint16_t number)
{
	*trap = (struct net_trap){ .port = end, .number = number };
	timer_init(&trap->timer, end->node->fabric->timers, repeat);
}

void net_traps_init(struct fabric_port *end)
{
	net_trap_init(&end->end->link_trap, end, TRAP_LINK_STATE);
	net_trap_init(&end->end->local_trap, end, TRAP_LOCAL_CHANGE);
}

static void stop(struct net_trap *trap)
{
	timer_disarm(&trap->timer);
	trap->again = trap->repressed = false;
}

void net_traps_stop(struct fabric_port *end)
{
	struct net_security *s = end->end->security;

	stop(&end->end->link_trap);
	stop(&end->end->local_trap);
	for (unsigned int i = 0; s && i < NET_VIOLATIONS; i++)
		stop(&s->traps[i]);
}
