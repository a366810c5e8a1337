/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Switches check P_Keys where adapters are: the port of the switch has the partitions of the
 * adapter's port, and lets nothing else in or out (spec/sa-sm 3.6, 3.8, 7.5). Only if there
 * are partitions; between switches everything passes.
 *
 * There it is a full member of all of them, since it checks both ways with one table: a
 * limited entry would not let the limited member's own datagrams in. That limited members
 * do not hear each other is up to the adapters.
 *
 * A port is told to check when its table is known to be there (ports.c), since before it
 * would let pass nothing.
 */
#include "fabric/sm/sm_priv.h"

#include <string.h>

#define PORTS_A_STEP 500u

static const struct subnet_port *adapter_of(const struct subnet_port *port)
{
	if (port->num == 0 || !port->seen || !port->peer ||
	    sm_is_switch(port->peer->node))
		return NULL;
	return port->peer;
}

/* False: the switch has not that much room. */
static bool table_of(const struct subnet_port *port, uint16_t table[SUBNET_PKEYS_BLOCK])
{
	const struct subnet_port *adapter = adapter_of(port);
	unsigned int room = port->node->switch_info.enforcement_cap, count = 0;

	memset(table, 0, SUBNET_PKEYS_BLOCK * sizeof(table[0]));
	if (room > SUBNET_PKEYS_BLOCK)
		room = SUBNET_PKEYS_BLOCK;
	for (unsigned int i = 0; i < adapter->pkey_count; i++) {
		if (!adapter->pkeys[i])
			continue;
		if (count == room)
			return false;
		table[count++] = adapter->pkeys[i] | IB_PKEY_FULL_MEMBER;
	}
	return true;
}

/* It is known to be there. */
static bool has_table(const struct subnet_port *port,
		      const uint16_t table[SUBNET_PKEYS_BLOCK])
{
	return sm_port_of(port)->pkeys_known &&
	       memcmp(table, port->pkeys, SUBNET_PKEYS_BLOCK * sizeof(table[0])) == 0;
}

bool sm_is_enforced(const struct sm *sm, const struct subnet_port *port)
{
	uint16_t table[SUBNET_PKEYS_BLOCK];

	return sm->config.partitions && adapter_of(port) && table_of(port, table) &&
	       has_table(port, table);
}

static void set(struct sm *sm, struct sm_smp *smp, int error, const uint8_t *data)
{
	struct subnet_port *port = &smp->to->node->ports[smp->mod >> 16];

	if (sm_sweep_failed(sm, smp, error))
		return;
	wire_get16s(smp->data, port->pkeys, SUBNET_PKEYS_BLOCK);
	sm_port_of(port)->pkeys_known = true;
}

static bool send_table(struct sm *sm, struct subnet_port *port, const uint16_t *table)
{
	struct sm_smp *smp = sm_sweep_ask(sm, &port->node->ports[0], MAD_METHOD_SET,
					  SMP_PKEY_TABLE, (uint32_t)port->num << 16, set);

	if (!smp)
		return false;
	wire_put16s(smp->data, table, SUBNET_PKEYS_BLOCK);
	/* Until the answer is here it may have the one or the other. */
	sm_port_of(port)->pkeys_known = false;
	sm_smp_queue(smp);
	return true;
}

static bool set_port(struct sm *sm, struct subnet_port *port)
{
	uint16_t table[SUBNET_PKEYS_BLOCK];

	return adapter_of(port) && table_of(port, table) && !has_table(port, table) &&
	       send_table(sm, port, table);
}

static enum sm_step next(struct sm *sm)
{
	struct sm_sweep *s = &sm->sweep;

	for (unsigned int i = 0; i < PORTS_A_STEP; i++) {
		struct subnet_node *node;

		if (!sm->config.partitions || s->cursor == sm->switch_count)
			return SM_STEP_DONE;
		node = sm->switches[s->cursor]->node;
		if (++s->cursor2 > node->info.num_ports) {
			s->cursor2 = 0;
			s->cursor++;
		} else if (set_port(sm, &node->ports[s->cursor2])) {
			return SM_STEP_SENT;
		}
	}
	return SM_STEP_WORKED;
}

const struct sm_phase sm_phase_enforce = { .name = "enforce", .next = next };
