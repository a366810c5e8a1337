/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walk the subnet, nearest first: NodeInfo through every live port, and what a node tells
 * of itself (spec/sa-sm 3.4). Links between switches are looked at from both ends: a link
 * counts when each end names the other, so a second node with the GUID of the first is
 * noticed, since it cannot be in the place of the first (spec/sa-sm 3.5).
 *
 * Nothing here changes the subnet that the SA sees, but for newer contents of nodes that
 * are in it; commit.c makes what was found the subnet.
 */
#include "fabric/sm/sm_priv.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"

#define NODES_A_STEP 300u

static void ask(struct sm *sm, struct subnet_port *to, uint16_t attr, uint32_t mod,
		sm_smp_fn done)
{
	struct sm_smp *smp = sm_sweep_ask(sm, to, MAD_METHOD_GET, attr, mod, done);

	if (smp)
		sm_smp_queue(smp);
}

/* -- what a node says of itself -------------------------------------------------------- */

static void described(struct sm *sm, struct sm_smp *smp, int error, const uint8_t *data)
{
	struct sm_node *n = sm_node_of(smp->to->node);

	if (sm_sweep_failed(sm, smp, error))
		return;
	memcpy(n->node->description, data, sizeof(n->node->description));
	n->described = true;
}

static void count_pkeys(struct subnet_port *port)
{
	port->pkey_count = SUBNET_PKEYS_MAX;
	while (port->pkey_count && !port->pkeys[port->pkey_count - 1])
		port->pkey_count--;
}

/* What is not told is taken for empty, so that it is set. */
static void pkeys_told(struct sm *sm, struct sm_smp *smp, int error, const uint8_t *data)
{
	struct subnet_port *port = smp->to;
	unsigned int at = smp->mod * SUBNET_PKEYS_BLOCK;
	bool failed = sm_sweep_failed(sm, smp, error);

	if (failed)
		sm_port_of(port)->pkeys_known = false;
	for (unsigned int i = 0; i < SUBNET_PKEYS_BLOCK && at + i < SUBNET_PKEYS_MAX; i++)
		port->pkeys[at + i] = failed ? 0 : wire_get16(data + 2 * i);
	count_pkeys(port);
}

/* Until the port has answered, its table is what it was: joins and paths go on meanwhile. */
static void ask_pkeys(struct sm *sm, struct subnet_port *port)
{
	unsigned int room = port->node->info.partition_cap;

	if (room > SUBNET_PKEYS_MAX)
		room = SUBNET_PKEYS_MAX;
	memset(port->pkeys + room, 0, (SUBNET_PKEYS_MAX - room) * sizeof(port->pkeys[0]));
	count_pkeys(port);
	for (unsigned int b = 0; b * SUBNET_PKEYS_BLOCK < room; b++)
		ask(sm, port, SMP_PKEY_TABLE, b, pkeys_told);
}

static void neighbour_told(struct sm *sm, struct sm_smp *smp, int error,
			   const uint8_t *data);

static void look_beyond(struct sm *sm, struct subnet_port *port)
{
	struct sm_port *p = sm_port_of(port);
	struct sm_smp *smp;

	/* On the tree both ends are certain: we have come through. */
	if (p->asked || p->claim)
		return;
	p->asked = true;
	smp = sm_sweep_ask(sm, port, MAD_METHOD_GET, SMP_NODE_INFO, 0, neighbour_told);
	if (!smp)
		return;
	smp->beyond = port->num;
	sm_smp_queue(smp);
}

/* Another SM has set it up since: there are two masters. */
static bool is_contested(const struct sm *sm, const struct subnet_port *port,
			 const struct smp_port_info *now)
{
	const struct sm_port *p = sm_port_of(port);

	if (!p->told || !sm->serving || !sm->own || !now->lid || !now->sm_lid ||
	    now->sm_lid == sm->inherited_lid)
		return false;
	return sm->renumbered || now->sm_lid != subnet_port_lid(sm->own) ||
	       now->lid != p->lid || now->lmc != sm_lmc_of(sm, port);
}

/* Another master has numbered itself as we are: the ports that it has set up since cannot
 * be told from ours. */
static bool has_our_lid(const struct sm *sm, const struct subnet_port *port,
			const struct smp_port_info *now)
{
	return port != sm->own && sm->serving && sm->own && now->lid &&
	       now->lid == now->sm_lid && now->lid == subnet_port_lid(sm->own);
}

/* A port that the SM had set up and that has nothing of it any more was reset. */
static bool was_reset(const struct subnet_port *port, const struct smp_port_info *now)
{
	const struct sm_port *p = sm_port_of(port);

	if (!p->told)
		return false;
	return now->lid == 0 || (now->state == SMP_PORT_INIT && !(port->num == 0));
}

/* A port with a LID: an adapter's, or port 0 of a switch. */
static void end_told(struct sm *sm, struct subnet_port *port,
		     const struct smp_port_info *now)
{
	struct sm_port *p = sm_port_of(port);
	bool contested, reset;

	/* Who gave our port another LID may have taken ours: it does not tell us apart. */
	if (port == sm->own)
		sm->renumbered = p->lid && now->lid && now->lid != p->lid;
	contested = is_contested(sm, port, now);
	reset = was_reset(port, now) || contested;
	if (!p->arrived && (contested || has_our_lid(sm, port, now)))
		sm->contested = true;
	if (!p->told || reset)
		p->arrived = true;
	if (reset && sm_is_switch(port->node))
		sm_switch_forget(sm_node_of(port->node)->sw);
	/* Until a sweep finds the port as one has set it up: a port that is reset in
	 * between looks as new as before. */
	if (!p->pkeys_known || !p->told || reset) {
		p->pkeys_known = p->told && !reset;
		ask_pkeys(sm, port);
	}
	if (now->cap_mask & SMP_CAP_SM && port != sm->own)
		sm_election_found(sm, port);
}

static bool has_link(const struct smp_port_info *info)
{
	return info->phys_state == SMP_PHYS_LINK_UP && info->state >= SMP_PORT_INIT;
}

static void port_told(struct sm *sm, struct sm_smp *smp, int error, const uint8_t *data)
{
	struct subnet_node *node = smp->to->node;
	struct subnet_port *port = &node->ports[smp->mod & 0xff];
	struct sm_port *p = sm_port_of(port);
	bool is_end = port == sm_end_of(port);
	struct smp_port_info now;

	if (sm_sweep_failed(sm, smp, error))
		return;
	smp_port_info_get(data, &now);
	if (is_end)
		end_told(sm, port, &now);
	sm_port_take_info(sm, port, &now);
	p->found = has_link(&now) || (is_end && sm_is_switch(node));
	if (p->found && (!is_end || port == sm->own) && port->num)
		look_beyond(sm, port);
}

static void ask_port(struct sm *sm, struct subnet_port *port)
{
	ask(sm, sm_end_of(port), SMP_PORT_INFO, port->num, port_told);
}

/* -- switches -------------------------------------------------------------------------- */

static void cleared(struct sm *sm, struct sm_smp *smp, int error, const uint8_t *data)
{
	if (!sm_sweep_failed(sm, smp, error))
		smp_switch_info_get(data, &smp->to->node->switch_info);
}

/* Before the ports are asked: what changes after that is told by the next trap or light
 * sweep. */
static void clear_change(struct sm *sm, struct sm_switch *sw)
{
	struct sm_smp *smp = sm_sweep_ask(sm, &sw->node->ports[0], MAD_METHOD_SET,
					  SMP_SWITCH_INFO, 0, cleared);

	if (!smp)
		return;
	sm_switch_info_put(sm, sw, SM_CLEAR_CHANGE, smp->data);
	sm_smp_queue(smp);
}

static void switch_told(struct sm *sm, struct sm_smp *smp, int error, const uint8_t *data)
{
	struct subnet_node *node = smp->to->node;
	struct sm_switch *sw = sm_node_of(node)->sw;
	struct smp_switch_info now;

	if (sm_sweep_failed(sm, smp, error)) {
		sm_node_of(node)->found = false;
		return;
	}
	smp_switch_info_get(data, &now);
	if (now.lft_top != node->switch_info.lft_top ||
	    now.mft_top != node->switch_info.mft_top)
		sm_switch_forget(sw);
	node->switch_info = now;
	if (sm->state == SM_MASTER && now.state_change)
		clear_change(sm, sw);
	for (unsigned int i = 0; i <= node->info.num_ports; i++)
		ask_port(sm, &node->ports[i]);
}

/* -- nodes ----------------------------------------------------------------------------- */

static void adapter_port_found(struct sm *sm, struct subnet_port *port,
			       struct subnet_port *via)
{
	sm_port_of(port)->via = via;
	ask_port(sm, port);
}

static void node_found(struct sm *sm, struct sm_node *n, struct subnet_port *port,
		       struct subnet_port *via)
{
	n->found = true;
	if (n->sw)
		sm_port_of(&n->node->ports[0])->via = via;
	else
		adapter_port_found(sm, port, via);
	if (!n->described)
		ask(sm, port, SMP_NODE_DESCRIPTION, 0, described);
	if (n->sw)
		ask(sm, port, SMP_SWITCH_INFO, 0, switch_told);
}

static bool node_info_is_sane(const struct smp_node_info *info)
{
	if (info->node_guid == 0 || info->port_guid == 0 || info->num_ports == 0 ||
	    info->num_ports == 255 || info->local_port > info->num_ports)
		return false;
	if (info->node_type == SMP_NODE_SWITCH)
		return true;
	return info->local_port >= 1 &&
	       (info->node_type == SMP_NODE_CA || info->node_type == SMP_NODE_ROUTER);
}

/* The node of that GUID, new or known; null: not to be had. */
static struct sm_node *node_of_info(struct sm *sm, const struct smp_node_info *info)
{
	struct sm_node *n;

	if (!node_info_is_sane(info)) {
		log_warning("sm: nonsense in the NodeInfo of %016llx",
			    (unsigned long long)info->node_guid);
		return NULL;
	}
	n = sm_node_find(sm, info->node_guid);
	if (!n)
		return sm_node_create(sm, info);
	if (n->node->info.node_type != info->node_type ||
	    n->node->info.num_ports != info->num_ports) {
		log_warning("sm: two nodes have GUID %016llx",
			    (unsigned long long)info->node_guid);
		sm->duplicates++;
		return NULL;
	}
	if (!n->found)
		n->node->info = *info;
	return n;
}

static void neighbour_told(struct sm *sm, struct sm_smp *smp, int error,
			   const uint8_t *data)
{
	struct subnet_port *from = &smp->to->node->ports[smp->beyond], *port;
	struct smp_node_info info;
	struct sm_node *n;

	if (sm_sweep_failed(sm, smp, error))
		return;
	smp_node_info_get(data, &info);
	n = node_of_info(sm, &info);
	if (!n || n->failed || info.local_port == 0) {
		sm->sweep.failed = true;
		return;
	}
	port = &n->node->ports[info.local_port];
	sm_port_of(from)->claim = port;
	if (!n->found) {
		sm_port_of(port)->claim = from;
		node_found(sm, n, port, from);
	} else if (!n->sw && !sm_port_of(port)->claim) {
		sm_port_of(port)->claim = from;
		adapter_port_found(sm, port, from);
	}
}

static void own_told(struct sm *sm, struct sm_smp *smp, int error, const uint8_t *data)
{
	struct smp_node_info info;
	struct sm_node *n;

	if (sm_sweep_failed(sm, smp, error))
		return;
	smp_node_info_get(data, &info);
	n = node_of_info(sm, &info);
	if (!n) {
		sm->sweep.failed = true;
		return;
	}
	sm->own = &n->node->ports[n->sw ? 0 : info.local_port];
	node_found(sm, n, sm->own, NULL);
}

/* -- the phase ------------------------------------------------------------------------- */

/* Whoever was or is master beside us may have written anything, and all are to register
 * anew with us. Who was master all the while, and has met no trace of the other one in his
 * part of the subnet, needs to look after the other's ports only, which are new to him; but
 * the other may have written tables after we had written ours, so that they are read. */
static void doubt(const struct sm *sm, struct sm_node *n)
{
	bool all = !sm->serving || sm->doubting_all;

	if (n->sw) {
		sm_switch_forget(n->sw);
		n->sw->inherited = sm->serving;
	}
	for (unsigned int i = 0; i <= n->node->info.num_ports; i++) {
		n->ports[i].pkeys_known = false;
		n->ports[i].arrived |= all;
		n->ports[i].told &= sm->serving;
	}
}

static void unfind(const struct sm *sm, struct subnet_node *node)
{
	struct sm_node *n = sm_node_of(node);

	if (sm->doubting || sm->state != SM_MASTER)
		doubt(sm, n);
	n->found = n->failed = false;
	for (unsigned int i = 0; i <= node->info.num_ports; i++) {
		struct sm_port *p = &n->ports[i];

		p->found = p->asked = false;
		p->claim = NULL;
	}
}

static void renew_begin(struct sm *sm)
{
	sm->remote_count = 0;
	sm->sweep.node_cursor = sm->subnet.nodes.next;
}

/* The nodes of the subnet, then those that an earlier sweep found and did not keep. */
static enum sm_step renew_next(struct sm *sm)
{
	struct sm_sweep *s = &sm->sweep;

	for (unsigned int i = 0; i < NODES_A_STEP; i++) {
		if (s->node_cursor == &sm->subnet.nodes)
			s->node_cursor = sm->found.next;
		if (s->node_cursor == &sm->found) {
			sm->doubting = false;
			return SM_STEP_DONE;
		}
		unfind(sm, container_of(s->node_cursor, struct subnet_node, link));
		s->node_cursor = s->node_cursor->next;
	}
	return SM_STEP_WORKED;
}

const struct sm_phase sm_phase_renew = {
	.name = "renew",
	.begin = renew_begin,
	.next = renew_next,
};

static void begin(struct sm *sm)
{
	struct sm_smp *smp =
		sm_sweep_ask(sm, NULL, MAD_METHOD_GET, SMP_NODE_INFO, 0, own_told);

	if (smp)
		sm_smp_queue(smp);
}

/* Answers lead to further questions. */
static enum sm_step next(struct sm *sm)
{
	return SM_STEP_DONE;
}

/* Without a link of our own we see nothing, and nothing can be said of the others: neither
 * that the master has died, nor for how long it has gone on. So nothing is inherited. */
static void end(struct sm *sm)
{
	if (sm->own && sm_port_of(sm->own)->found)
		return;
	sm->master_lid = 0;
	sm->blind |= sm->state == SM_MASTER;
	sm->sweep.failures++;
	sm->sweep.wanted = true;
	sm->up = false;
	sm_sweep_stop(sm, sm->config.smp_timeout_ns);
}

const struct sm_phase sm_phase_discover = {
	.name = "discover",
	.begin = begin,
	.next = next,
	.end = end,
};
