/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * P_Key tables of ports with LIDs, as the partitions say. A P_Key that is in the table
 * keeps its place, since clients name it by its index; a new one takes the first that is
 * free. Every port is in the default partition (spec/sa-sm 1.1: GMPs go there), as a
 * limited member if no partition says otherwise; the SM's port as a full one.
 */
#include "fabric/sm/sm_priv.h"

#include <string.h>

#include "base/log.h"

#define DEFAULT_BASE  0x7fffu
#define LOOKED_A_STEP 100u

struct table {
	uint16_t keys[SUBNET_PKEYS_MAX];
	unsigned int count;
};

static void want(struct table *t, uint16_t base, bool full)
{
	uint16_t key = (uint16_t)(base | (full ? IB_PKEY_FULL_MEMBER : 0));

	for (unsigned int i = 0; i < t->count; i++) {
		if ((t->keys[i] & 0x7fff) != base)
			continue;
		t->keys[i] |= key;
		return;
	}
	if (t->count < SUBNET_PKEYS_MAX)
		t->keys[t->count++] = key;
}

static bool is_member(const struct sm *sm, const struct subnet_port *port,
		      const struct sm_partition_member *m)
{
	uint8_t type = port->node->info.node_type;

	switch (m->kind) {
	case SM_MEMBER_ADAPTERS:
		return type == SMP_NODE_CA;
	case SM_MEMBER_SWITCHES:
		return type == SMP_NODE_SWITCH;
	case SM_MEMBER_ROUTERS:
		return type == SMP_NODE_ROUTER;
	case SM_MEMBER_SELF:
		return port == sm->own;
	case SM_MEMBER_PORT:
		break;
	}
	return !m->port_guid || m->port_guid == subnet_port_guid(port);
}

static void wanted(const struct sm *sm, const struct subnet_port *port, struct table *t)
{
	t->count = 0;
	want(t, DEFAULT_BASE, port == sm->own || !sm->config.partitions);
	for (unsigned int i = 0; i < sm->config.partition_count; i++) {
		const struct sm_partition *part = &sm->config.partitions[i];

		for (unsigned int k = 0; k < part->member_count; k++)
			if (is_member(sm, port, &part->members[k]))
				want(t, part->pkey & 0x7fff, part->members[k].full);
	}
}

static int index_of(const struct table *t, uint16_t base)
{
	for (unsigned int i = 0; base && i < t->count; i++)
		if ((t->keys[i] & 0x7fff) == base)
			return (int)i;
	return -1;
}

/* The port's table as it should be: what stays in its place, then what is missing. */
static void arrange(const struct subnet_port *port, const struct table *t,
		    struct table *ret)
{
	bool placed[SUBNET_PKEYS_MAX] = { false };
	unsigned int room = port->node->info.partition_cap, at = 0;

	if (room > SUBNET_PKEYS_MAX)
		room = SUBNET_PKEYS_MAX;
	memset(ret, 0, sizeof(*ret));
	for (unsigned int i = 0; i < room; i++) {
		int w = index_of(t, port->pkeys[i] & 0x7fff);

		if (w < 0 || placed[w])
			continue;
		placed[w] = true;
		ret->keys[i] = t->keys[w];
	}
	for (unsigned int w = 0; w < t->count; w++) {
		while (!placed[w] && at < room && ret->keys[at])
			at++;
		if (!placed[w] && at < room)
			ret->keys[at] = t->keys[w];
		else if (!placed[w])
			log_warning("sm: no room for P_Key 0x%04x at port %016llx",
				    t->keys[w],
				    (unsigned long long)subnet_port_guid(port));
	}
	for (unsigned int i = 0; i < room; i++)
		if (ret->keys[i])
			ret->count = i + 1;
}

static void set(struct sm *sm, struct sm_smp *smp, int error, const uint8_t *data)
{
	sm_sweep_failed(sm, smp, error);
}

static bool send_block(struct sm *sm, struct subnet_port *port, const struct table *t,
		       unsigned int block)
{
	const uint16_t *keys = t->keys + block * SUBNET_PKEYS_BLOCK;
	struct sm_smp *smp =
		sm_sweep_ask(sm, port, MAD_METHOD_SET, SMP_PKEY_TABLE, block, set);

	if (!smp)
		return false;
	wire_put16s(smp->data, keys, SUBNET_PKEYS_BLOCK);
	sm_smp_queue(smp);
	return true;
}

static bool set_port(struct sm *sm, struct subnet_port *port)
{
	struct table t, as;
	bool sent = false;

	wanted(sm, port, &t);
	arrange(port, &t, &as);
	for (unsigned int b = 0; b < SUBNET_PKEYS_MAX / SUBNET_PKEYS_BLOCK; b++)
		if (memcmp(as.keys + b * SUBNET_PKEYS_BLOCK,
			   port->pkeys + b * SUBNET_PKEYS_BLOCK,
			   SUBNET_PKEYS_BLOCK * sizeof(as.keys[0])) != 0)
			sent |= send_block(sm, port, &as, b);
	/* The sweep may end before the answer is here; the next one reads what came of it. */
	if (sent) {
		sm_port_of(port)->pkeys_known = false;
		memcpy(port->pkeys, as.keys, sizeof(port->pkeys));
		port->pkey_count = (uint16_t)as.count;
	}
	return sent;
}

static enum sm_step next(struct sm *sm)
{
	for (unsigned int i = 0; i < LOOKED_A_STEP; i++) {
		if (sm->sweep.cursor == sm->end_count)
			return SM_STEP_DONE;
		if (set_port(sm, sm->ends[sm->sweep.cursor++]))
			return SM_STEP_SENT;
	}
	return SM_STEP_WORKED;
}

const struct sm_phase sm_phase_pkeys = { .name = "pkeys", .next = next };
