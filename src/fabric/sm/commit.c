/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was found becomes the subnet. What lies behind a node that has not answered is not
 * there; then links, then who is gone is told to the client and forgotten, then who is new
 * comes in. Each pass takes some nodes a time.
 *
 * Who inherits from another master takes as its own what that one has set up, and hears of
 * the rest as of ports that were reset.
 *
 * A port that was reset since the last sweep is out and in again (spec/sa-sm 2.3): its
 * memberships are over, and it will be told to register anew.
 */
#include "fabric/sm/sm_priv.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"

#define NODES_A_STEP 100u

static bool is_set_up(const struct sm *sm, const struct subnet_port *port)
{
	const struct sm_port *p = sm_port_of(port);

	return p->found && p->lid_there && port->info.sm_lid == sm->master_lid &&
	       (port->num == 0 || port->info.state == SMP_PORT_ACTIVE);
}

static void inherit(struct sm *sm, struct subnet_node *node)
{
	struct sm_node *n = sm_node_of(node);

	if (!sm->inheriting_ports)
		return;
	for (unsigned int i = 0; i <= node->info.num_ports; i++) {
		struct subnet_port *port = &node->ports[i];

		if (port != sm_end_of(port))
			continue;
		n->ports[i].told = true;
		n->ports[i].arrived = !is_set_up(sm, port);
	}
	if (n->sw)
		n->sw->inherited = !n->ports[0].arrived;
}

static void tell_out(struct sm *sm, struct subnet_port *port)
{
	const struct sm_client_ops *client = sm->config.client;
	struct sm_port *p = sm_port_of(port);

	if (!p->told) {
		sm_tell_anew(sm, port);
		return;
	}
	p->told = false;
	if (client && client->port_out)
		client->port_out(sm->config.client_arg, subnet_port_guid(port));
}

static bool is_there(const struct sm_node *n)
{
	return n->found && (!n->sw || n->ports[0].found);
}

/* Every node on the way to it is there: those that are not will be freed. */
static bool is_reached(struct subnet_port *end)
{
	struct subnet_port *via = sm_port_of(end)->via;

	for (; via; via = sm_port_of(sm_end_of(via))->via)
		if (!is_there(sm_node_of(via->node)))
			return false;
	return true;
}

static void drop_unreached(struct sm *sm, struct subnet_node *node)
{
	struct sm_node *n = sm_node_of(node);
	bool there = is_there(n);

	(void)sm;
	for (unsigned int i = 0; i <= node->info.num_ports; i++) {
		struct sm_port *p = &n->ports[i];

		if (p->found && !(there && is_reached(sm_end_of(&node->ports[i]))))
			p->found = false;
	}
}

static bool claims_agree(const struct subnet_port *port)
{
	const struct sm_port *p = sm_port_of(port);

	return p->claim && p->found && sm_port_of(p->claim)->found &&
	       sm_port_of(p->claim)->claim == port;
}

static void commit_link(struct sm *sm, struct subnet_port *port)
{
	struct sm_port *p = sm_port_of(port);
	struct subnet_port *peer = claims_agree(port) ? p->claim : NULL;

	if (p->claim && p->found && sm_port_of(p->claim)->claim != port) {
		log_warning("sm: the link of node %016llx port %u leads to node %016llx, "
			    "which has another one there: two nodes with one GUID?",
			    (unsigned long long)port->node->info.node_guid, port->num,
			    (unsigned long long)p->claim->node->info.node_guid);
		sm->duplicates++;
		sm->sweep.failed = true;
	}
	if (port->peer != peer)
		sm->sweep.topology = true;
	port->peer = peer;
	port->seen = p->found && (peer || port->num == 0 || port == sm->own);
	/* It may lead over one that is dropped before this one. */
	if (!port->seen)
		p->via = NULL;
}

static void commit_links(struct sm *sm, struct subnet_node *node)
{
	for (unsigned int i = 0; i <= node->info.num_ports; i++)
		commit_link(sm, &node->ports[i]);
}

static void drop_lost(struct sm *sm, struct subnet_node *node)
{
	struct sm_node *n = sm_node_of(node);
	bool there = is_there(n);

	for (unsigned int i = 0; i <= node->info.num_ports; i++) {
		struct subnet_port *port = &node->ports[i];
		struct sm_port *p = &n->ports[i];

		p->claim = NULL; /* it may lead to one that is dropped */
		if (port != sm_end_of(port))
			continue;
		if (!there || !port->seen || p->arrived)
			tell_out(sm, port);
		if (port->seen)
			continue;
		p->pkeys_known = false;
		sm_port_withdraw(sm, port);
		sm_port_set_lid(sm, port, 0);
	}
	n->failed = false;
	if (there)
		return;
	log_info("sm: node %016llx is gone", (unsigned long long)node->info.node_guid);
	sm->sweep.topology = true;
	sm_node_destroy(sm, n);
}

static void take_in(struct sm *sm, struct subnet_node *node)
{
	struct sm_node *n = sm_node_of(node);

	if (!n->committed) {
		n->committed = true;
		list_remove(&node->link);
		list_append(&sm->subnet.nodes, &node->link);
		hash_insert(&sm->subnet.nodes_by_guid, &node->by_guid,
			    sm_guid_hash(node->info.node_guid));
		sm->subnet.node_count++;
		sm->sweep.topology = true;
	}
	for (unsigned int i = 0; i <= node->info.num_ports; i++)
		if (node->ports[i].seen && &node->ports[i] == sm_end_of(&node->ports[i]))
			sm_port_publish(sm, &node->ports[i]);
}

/* -- arrays ---------------------------------------------------------------------------- */

static bool is_end(const struct subnet_port *port)
{
	return port->seen && port == sm_end_of((struct subnet_port *)port) &&
	       sm_port_of(port)->has_guid;
}

static void count_node(struct sm *sm, struct subnet_node *node)
{
	const struct sm_switch *sw = sm_node_of(node)->sw;

	for (unsigned int i = 0; i <= node->info.num_ports; i++)
		sm->new_end_count += is_end(&node->ports[i]);
	sm->new_switch_count += sw != NULL;
	if (sw && sm_switch_is_capable(sw) &&
	    node->switch_info.mft_cap < sm->new_mlid_capacity)
		sm->new_mlid_capacity = node->switch_info.mft_cap;
}

static int arrays_alloc(struct sm *sm)
{
	sm->new_ends = calloc(sm->new_end_count + 1u, sizeof(struct subnet_port *));
	sm->new_switches = calloc(sm->new_switch_count + 1u, sizeof(struct sm_switch *));
	sm->new_end_count = sm->new_switch_count = 0;
	if (!sm->new_ends || !sm->new_switches)
		return -ENOMEM;
	/* The SM's own port, the switches, the others: the order of bringing up
	 * (spec/sa-sm 3.4). */
	if (is_end(sm->own))
		sm->new_ends[sm->new_end_count++] = sm->own;
	return 0;
}

static void fill_ends(struct sm *sm, struct subnet_node *node)
{
	for (unsigned int i = 0; i <= node->info.num_ports; i++)
		if (is_end(&node->ports[i]) && &node->ports[i] != sm->own)
			sm->new_ends[sm->new_end_count++] = &node->ports[i];
}

static void fill_switch(struct sm *sm, struct subnet_node *node)
{
	struct sm_switch *sw = sm_node_of(node)->sw;

	if (!sw)
		return;
	sm->new_switches[sm->new_switch_count++] = sw;
	fill_ends(sm, node);
}

static void fill_adapter(struct sm *sm, struct subnet_node *node)
{
	if (!sm_is_switch(node))
		fill_ends(sm, node);
}

static int by_guid(const void *a, const void *b)
{
	const struct sm_switch *const *x = a, *const *y = b;
	uint64_t p = (*x)->node->info.node_guid, q = (*y)->node->info.node_guid;

	return p < q ? -1 : p > q;
}

/* Whoever is SM, wherever it is, counts them alike and so finds the same routes. */
static void number_switches(struct sm *sm)
{
	qsort(sm->new_switches, sm->new_switch_count, sizeof(struct sm_switch *),
	      by_guid);
	for (uint32_t i = 0; i < sm->new_switch_count; i++)
		sm->new_switches[i]->index = i;
}

static void arrays_swap(struct sm *sm)
{
	number_switches(sm);
	sm->inheriting_ports = false;
	free(sm->ends);
	free(sm->switches);
	sm->ends = sm->new_ends;
	sm->switches = sm->new_switches;
	sm->end_count = sm->new_end_count;
	sm->switch_count = sm->new_switch_count;
	sm->mlid_capacity = sm->new_mlid_capacity;
	sm->new_ends = NULL;
	sm->new_switches = NULL;
}

/* -- the phase ------------------------------------------------------------------------- */

static const struct {
	bool found; /* nodes that are not yet in the subnet, not those that are */
	void (*fn)(struct sm *sm, struct subnet_node *node);
} passes[] = {
	{ false, inherit },       { true, inherit },       { false, drop_unreached },
	{ true, drop_unreached }, { false, commit_links }, { true, commit_links },
	{ false, drop_lost },     { true, drop_lost },     { true, take_in },
	{ false, take_in },       { false, count_node },   { false, fill_switch },
	{ false, fill_adapter },
};
#define PASSES     (sizeof(passes) / sizeof(passes[0]))
#define FIRST_FILL (PASSES - 2) /* the first pass that needs the arrays */

static struct list *pass_list(struct sm *sm)
{
	return passes[sm->sweep.cursor].found ? &sm->found : &sm->subnet.nodes;
}

static void begin(struct sm *sm)
{
	sm_mcast_block(sm);
	sm->subnet.sm_port = sm->own;
	sm->sweep.node_cursor = pass_list(sm)->next;
	free(sm->new_ends);
	free(sm->new_switches);
	sm->new_ends = NULL;
	sm->new_switches = NULL;
	sm->new_end_count = sm->new_switch_count = 0;
	sm->new_mlid_capacity = SM_MLIDS;
	/* Switches among them may go now; nobody looks at them before the end. */
	sm->end_count = sm->switch_count = 0;
}

/* False: there is none, or no memory for it. */
static bool next_pass(struct sm *sm)
{
	struct sm_sweep *s = &sm->sweep;

	if (++s->cursor == PASSES) {
		arrays_swap(sm);
		return false;
	}
	if (s->cursor == FIRST_FILL && arrays_alloc(sm) < 0)
		return false;
	s->node_cursor = pass_list(sm)->next;
	return true;
}

static enum sm_step next(struct sm *sm)
{
	struct sm_sweep *s = &sm->sweep;

	if (s->cursor2)
		return SM_STEP_DONE;
	for (unsigned int i = 0; i < NODES_A_STEP; i++) {
		struct list *pos = s->node_cursor;

		if (pos == pass_list(sm)) {
			if (next_pass(sm))
				continue;
			s->cursor2 = true;
			return SM_STEP_DONE;
		}
		s->node_cursor = pos->next;
		passes[s->cursor].fn(sm, container_of(pos, struct subnet_node, link));
	}
	return SM_STEP_WORKED;
}

static void end(struct sm *sm)
{
	if (!sm->new_ends && !sm->new_switches && sm->end_count)
		return;
	/* No memory for the arrays: all again, later. */
	sm->sweep.topology = sm->sweep.wanted = true;
	sm->sweep.failures++;
	sm_sweep_stop(sm, sm->config.light_sweep_ns);
}

const struct sm_phase sm_phase_commit = {
	.name = "commit",
	.begin = begin,
	.next = next,
	.end = end,
};
