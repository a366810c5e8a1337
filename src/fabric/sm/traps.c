/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traps (spec/sa-sm 2.1, 3.9): each is answered by TrapRepress with its transaction id, and
 * told once, though it may be repeated; a link that changed, or a port's capabilities,
 * makes the SM sweep; any other at least look, but for those of keys that do not fit.
 */
#include "fabric/sm/sm_priv.h"

#include <string.h>

#include "base/log.h"

/* One event has several traps: one from each end of a link. */
#define SETTLE_NS (1 * TIMER_MS)

static bool is_repeated(struct sm *sm, const struct ib_packet *packet, uint64_t tid,
			uint16_t trap)
{
	for (unsigned int i = 0; i < SM_TRAPS_KNOWN; i++)
		if (tid && sm->traps[i].tid == tid && sm->traps[i].slid == packet->slid &&
		    sm->traps[i].trap == trap)
			return true;
	sm->traps[sm->trap_cursor].tid = tid;
	sm->traps[sm->trap_cursor].slid = packet->slid;
	sm->traps[sm->trap_cursor].trap = trap;
	sm->trap_cursor = (sm->trap_cursor + 1) % SM_TRAPS_KNOWN;
	return false;
}

static void repress(struct sm *sm, const struct ib_packet *packet)
{
	uint8_t mad[MAD_BYTES];
	struct mad_header h;

	memcpy(mad, packet->payload, sizeof(mad));
	mad_header_get(mad, &h);
	h.method = MAD_METHOD_TRAP_REPRESS;
	mad_header_put(mad, &h);
	sm_reply(sm, packet, mad);
}

/* What the node says of itself may be another: its name, its being an SM. */
static void doubt_description(struct sm *sm, uint16_t lid)
{
	struct subnet_port *port = subnet_port_by_lid(&sm->subnet, lid);

	if (port)
		sm_node_of(port->node)->described = false;
}

/*
 * A node that was off counts its transactions from the beginning again: what looks like a
 * repetition may be none, and a sweep too many costs little. Keys tell nothing of links, and
 * whoever tries them everywhere has each port say so once a second.
 */
static void follow_up(struct sm *sm, const struct notice *n)
{
	if (n->is_generic && (n->trap == TRAP_LINK_STATE || n->trap == TRAP_LOCAL_CHANGE))
		sm_sweep_want(sm, SETTLE_NS);
	else if (!n->is_generic || n->trap < TRAP_BAD_MKEY ||
		 n->trap > TRAP_SWITCH_BAD_PKEY)
		sm_sweep_look(sm, SETTLE_NS);
}

void sm_trap(struct sm *sm, const struct ib_packet *packet)
{
	const struct sm_client_ops *client = sm->config.client;
	struct mad_header h;
	struct notice n;

	if (sm->state != SM_MASTER)
		return;
	mad_header_get(packet->payload, &h);
	notice_get(packet->payload + SMP_DATA, NOTICE_TRAP_BYTES, &n);
	repress(sm, packet);
	follow_up(sm, &n);
	if (is_repeated(sm, packet, h.tid, n.trap))
		return;
	sm->counters.traps++;
	log_debug("sm: trap %u from LID %u", n.trap, n.issuer_lid);
	if (n.is_generic && n.trap == TRAP_LOCAL_CHANGE)
		doubt_description(sm, n.issuer_lid);
	if (client && client->trap && sm->serving)
		client->trap(sm->config.client_arg, packet->payload + SMP_DATA);
}
