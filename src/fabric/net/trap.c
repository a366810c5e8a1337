/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What firmware tells the SM unasked (spec/sa-sm 3.9): trap 128 of a switch whose port
 * changed its state, trap 144 of a port whose capabilities changed. Said again every
 * SubnetTimeOut until it is repressed, so many times; what happens meanwhile waits for
 * that answer, which keeps the rate down and loses nothing.
 */
#include "fabric/net/fabric_priv.h"

#define TRAP_TIMES_MAX   10u
#define TRAP_INTERVAL_MS 10u /* at least */

/* The upper half of a transaction id, like the agent numbers of others. */
#define FIRMWARE_TIDS 0xffffffff00000000ull

#define TYPE_URGENT        1u
#define TYPE_INFORMATIONAL 4u

/* 4.096 us << SubnetTimeOut */
static uint64_t interval_ns(const struct fabric_port *p)
{
	uint64_t ns = 4096ull << (p->info.subnet_timeout & 0x1f);

	return ns > TRAP_INTERVAL_MS * TIMER_MS ? ns : TRAP_INTERVAL_MS * TIMER_MS;
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

	if (trap->number == TRAP_LINK_STATE) {
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

static void repeat(struct timer *timer)
{
	struct net_trap *trap = container_of(timer, struct net_trap, timer);

	if (trap->said < TRAP_TIMES_MAX && can_say(trap))
		say(trap);
}

static void begin(struct net_trap *trap)
{
	struct fabric *f = trap->port->node->fabric;

	trap->again = false;
	trap->said = 0;
	trap->tid = FIRMWARE_TIDS | (uint32_t)++f->next_tid;
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
	timer_disarm(&trap->timer);
	if (trap->again && can_say(trap))
		begin(trap);
	return true;
}

bool net_trap_repress(struct fabric_port *end, uint64_t tid)
{
	return repress(&end->end->link_trap, tid) ||
	       repress(&end->end->local_trap, tid) ||
	       (tid & FIRMWARE_TIDS) == FIRMWARE_TIDS;
}

static void trap_init(struct net_trap *trap, struct fabric_port *end, uint16_t number)
{
	*trap = (struct net_trap){ .port = end, .number = number };
	timer_init(&trap->timer, end->node->fabric->timers, repeat);
}

void net_traps_init(struct fabric_port *end)
{
	trap_init(&end->end->link_trap, end, TRAP_LINK_STATE);
	trap_init(&end->end->local_trap, end, TRAP_LOCAL_CHANGE);
}

void net_traps_stop(struct fabric_port *end)
{
	timer_disarm(&end->end->link_trap.timer);
	timer_disarm(&end->end->local_trap.timer);
	end->end->link_trap.again = end->end->local_trap.again = false;
}
