/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tree for every group (spec/sa-sm 7.4). The root is one of the switches from which no
 * host is farther than need be, by a hash of the MLID, so that groups spread over the
 * spines; from it the shortest ways lead to every switch with a multicast table. They do
 * not depend on the members: who joins or leaves makes branches come and go, and never
 * moves those of others. What of the tree lies above all members is left away.
 *
 * Members that receive get the bit of their port, and branches that lead to some; who only
 * sends gets the way up until it meets such a branch:
 *
 *	bit down to a child   if somebody receives below it
 *	bit up to the parent  if somebody receives elsewhere than below
 *
 * Differs: OpenSM gives all groups of a fat tree the same spine, and every member its bit
 * (spec/sa-sm 1.12, 7.1).
 */
#include "fabric/sm/sm_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* -- roots ----------------------------------------------------------------------------- */

static void tree_free(struct sm_tree *t)
{
	if (!t)
		return;
	free(t->parent);
	free(t->edge);
	free(t->edges);
	free(t->depth);
	free(t);
}

void sm_trees_free(struct sm *sm)
{
	struct sm_mcast *mc = &sm->mc;

	for (uint32_t i = 0; i < mc->tree_count; i++)
		tree_free(mc->trees[i]);
	free(mc->trees);
	free(mc->receivers);
	free(mc->members);
	free(mc->stamp);
	free(mc->touched);
	free(mc->roots);
	free(mc->root_start);
	mc->trees = NULL;
	mc->receivers = mc->members = mc->stamp = mc->touched = NULL;
	mc->roots = mc->root_start = NULL;
	mc->tree_count = mc->component_count = 0;
}

static int alloc(struct sm *sm)
{
	struct sm_mcast *mc = &sm->mc;
	uint32_t count = sm->switch_count + 1;

	sm_trees_free(sm);
	mc->trees = calloc(count, sizeof(struct sm_tree *));
	mc->receivers = calloc(count, sizeof(*mc->receivers));
	mc->members = calloc(count, sizeof(*mc->members));
	mc->stamp = calloc(count, sizeof(*mc->stamp));
	mc->touched = calloc(count, sizeof(*mc->touched));
	mc->roots = calloc(count, sizeof(*mc->roots));
	mc->root_start = calloc(count + 1, sizeof(*mc->root_start));
	if (!mc->trees || !mc->receivers || !mc->members || !mc->stamp || !mc->touched ||
	    !mc->roots || !mc->root_start) {
		sm_trees_free(sm);
		return -ENOMEM;
	}
	mc->tree_count = sm->switch_count;
	mc->stamp_now = 0;
	return 0;
}

static void flood(struct sm *sm, uint32_t from, uint32_t component)
{
	uint32_t *queue = sm->graph.queue, count = 0;

	queue[count++] = from;
	sm->switches[from]->component = component;
	for (uint32_t i = 0; i < count; i++) {
		const struct sm_switch *sw = sm->switches[queue[i]];

		for (uint32_t e = 0; e < sw->edge_count; e++) {
			struct sm_switch *to = sm->switches[sw->edges[e].to];

			if (to->component != SM_SWITCH_NONE || !sm_switch_is_capable(to))
				continue;
			to->component = component;
			queue[count++] = to->index;
		}
	}
}

static uint32_t least_eccentricity(const struct sm *sm, uint32_t component)
{
	uint32_t least = UINT32_MAX;

	for (uint32_t i = 0; i < sm->switch_count; i++)
		if (sm->switches[i]->component == component &&
		    sm->switches[i]->eccentricity < least)
			least = sm->switches[i]->eccentricity;
	return least;
}

static uint32_t add_roots(struct sm *sm, uint32_t component, uint32_t at)
{
	uint32_t least = least_eccentricity(sm, component);

	for (uint32_t i = 0; i < sm->switch_count; i++)
		if (sm->switches[i]->component == component &&
		    sm->switches[i]->eccentricity == least)
			sm->mc.roots[at++] = i;
	return at;
}

int sm_trees_begin(struct sm *sm)
{
	struct sm_mcast *mc = &sm->mc;
	uint32_t at = 0;

	if (alloc(sm) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < SM_MLIDS; i++)
		if (mc->groups[i])
			mc->groups[i]->component = SM_SWITCH_NONE;
	for (uint32_t i = 0; i < sm->switch_count; i++)
		sm->switches[i]->component = SM_SWITCH_NONE;
	for (uint32_t i = 0; i < sm->switch_count; i++) {
		if (sm->switches[i]->component != SM_SWITCH_NONE ||
		    !sm_switch_is_capable(sm->switches[i]))
			continue;
		flood(sm, i, mc->component_count);
		mc->root_start[mc->component_count] = at;
		at = add_roots(sm, mc->component_count, at);
		mc->root_start[++mc->component_count] = at;
	}
	return 0;
}

/* -- the ways from a root -------------------------------------------------------------- */

static void adopt_child(const struct sm *sm, struct sm_tree *t, uint32_t child,
			uint32_t parent)
{
	const struct sm_switch *sw = sm->switches[child];
	uint32_t e = 0;

	while (sw->edges[e].to != parent)
		e++;
	t->parent[child] = parent;
	t->depth[child] = (uint16_t)(t->depth[parent] + 1);
	t->edge[child] = e;
	for (; e < sw->edge_count && sw->edges[e].to == parent; e++)
		t->edges[child]++;
}

static void grow(struct sm *sm, struct sm_tree *t)
{
	uint32_t *queue = sm->graph.queue, count = 0;

	queue[count++] = t->root;
	for (uint32_t i = 0; i < count; i++) {
		const struct sm_switch *sw = sm->switches[queue[i]];

		for (uint32_t e = 0; e < sw->edge_count; e++) {
			uint32_t to = sw->edges[e].to;

			if (to == t->root || t->parent[to] != SM_SWITCH_NONE ||
			    !sm_switch_is_capable(sm->switches[to]))
				continue;
			adopt_child(sm, t, to, sw->index);
			queue[count++] = to;
		}
	}
}

static struct sm_tree *tree_create(struct sm *sm, uint32_t root)
{
	uint32_t count = sm->switch_count;
	struct sm_tree *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->root = root;
	t->parent = calloc(count, sizeof(*t->parent));
	t->edge = calloc(count, sizeof(*t->edge));
	t->edges = calloc(count, sizeof(*t->edges));
	t->depth = calloc(count, sizeof(*t->depth));
	if (!t->parent || !t->edge || !t->edges || !t->depth) {
		tree_free(t);
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++)
		t->parent[i] = SM_SWITCH_NONE;
	grow(sm, t);
	sm->mc.grown++;
	return t;
}

static uint32_t hash_of(uint16_t mlid, uint32_t salt)
{
	return hash_bytes(salt, &mlid, sizeof(mlid));
}

static const struct sm_tree *tree_of(struct sm *sm, uint16_t mlid, uint32_t component)
{
	struct sm_mcast *mc = &sm->mc;
	uint32_t start = mc->root_start[component];
	uint32_t count = mc->root_start[component + 1] - start;
	uint32_t root = mc->roots[start + hash_of(mlid, 0) % count];

	if (!mc->trees[root])
		mc->trees[root] = tree_create(sm, root);
	return mc->trees[root];
}

/* -- a group --------------------------------------------------------------------------- */

struct job {
	struct sm *sm;
	struct sm_group *g;
	const struct sm_tree *tree;
	uint32_t component;
	uint32_t members, receivers; /* that are reached */
	uint16_t deepest;
	int error;
};

static bool has_room(const struct sm_switch *sw, uint16_t mlid)
{
	return mlid - IB_LID_MULTICAST_BASE < sw->node->switch_info.mft_cap;
}

/* The member's switch, if the member can be reached; null: it is no error, or noted. */
static struct sm_switch *member_switch(struct job *j, const struct sm_mc_member *m,
				       uint8_t *port)
{
	struct subnet_port *p = subnet_port_by_guid(&j->sm->subnet, m->port_guid);
	struct sm_switch *sw = p && p->seen ? sm_switch_of(p, port) : NULL;

	if (!sw)
		return NULL;
	if (has_room(sw, j->g->mlid) && sw->component != SM_SWITCH_NONE &&
	    (j->component == SM_SWITCH_NONE || sw->component == j->component))
		return sw;
	j->error = -ENOSPC;
	return NULL;
}

bool sm_can_route(const struct sm *sm, uint16_t mlid, uint64_t port_guid)
{
	const struct sm_group *g = sm->mc.groups[mlid - IB_LID_MULTICAST_BASE];
	struct subnet_port *p = subnet_port_by_guid(&sm->subnet, port_guid);
	uint8_t port;
	const struct sm_switch *sw = p && p->seen ? sm_switch_of(p, &port) : NULL;

	return sw && g && has_room(sw, mlid) && sw->component != SM_SWITCH_NONE &&
	       (g->component == SM_SWITCH_NONE || g->component == sw->component);
}

static bool has_member_in(struct job *j, uint32_t component)
{
	uint8_t port;

	for (uint32_t i = 0; i < j->g->member_count; i++) {
		const struct sm_switch *sw = member_switch(j, &j->g->members[i], &port);

		if (sw && sw->component == component)
			return true;
	}
	return false;
}

/* The part of the fabric that has a tree is the first member's, for as long as there is one;
 * who is elsewhere is refused, so that all are in it. */
static void choose_component(struct job *j)
{
	uint8_t port;

	j->component = SM_SWITCH_NONE;
	if (j->g->component != SM_SWITCH_NONE && has_member_in(j, j->g->component)) {
		j->component = j->g->component;
		return;
	}
	for (uint32_t i = 0; i < j->g->member_count; i++) {
		const struct sm_mc_member *m = &j->g->members[i];
		struct sm_switch *sw = member_switch(j, m, &port);

		if (!sw)
			continue;
		j->component = sw->component;
		return;
	}
}

/* The switches from here up to the root are part of it. */
static void touch(struct job *j, uint32_t at)
{
	struct sm_mcast *mc = &j->sm->mc;

	if (j->tree->depth[at] > j->deepest)
		j->deepest = j->tree->depth[at];
	while (at != SM_SWITCH_NONE && mc->stamp[at] != mc->stamp_now) {
		mc->stamp[at] = mc->stamp_now;
		mc->receivers[at] = mc->members[at] = 0;
		mc->touched[mc->touched_count++] = at;
		if (!has_room(j->sm->switches[at], j->g->mlid))
			j->error = -ENOSPC;
		at = j->tree->parent[at];
	}
}

static void count_members(struct job *j)
{
	struct sm_mcast *mc = &j->sm->mc;
	uint8_t port;

	mc->stamp_now++;
	mc->touched_count = 0;
	for (uint32_t i = 0; i < j->g->member_count; i++) {
		const struct sm_mc_member *m = &j->g->members[i];
		struct sm_switch *sw = member_switch(j, m, &port);

		if (!sw)
			continue;
		touch(j, sw->index);
		mc->members[sw->index]++;
		mc->receivers[sw->index] += m->receives;
		j->members++;
		j->receivers += m->receives;
	}
}

/* From those at each switch to those below it. */
static void sum_up(struct job *j)
{
	struct sm_mcast *mc = &j->sm->mc;

	for (unsigned int depth = j->deepest; depth > 0; depth--) {
		for (uint32_t i = 0; i < mc->touched_count; i++) {
			uint32_t at = mc->touched[i], parent = j->tree->parent[at];

			if (j->tree->depth[at] != depth)
				continue;
			mc->members[parent] += mc->members[at];
			mc->receivers[parent] += mc->receivers[at];
		}
	}
}

/* The lowest switch above all members. */
static uint32_t top_of(const struct job *j)
{
	const struct sm_mcast *mc = &j->sm->mc;
	uint32_t top = j->tree->root;

	for (uint32_t i = 0; i < mc->touched_count; i++)
		if (mc->members[mc->touched[i]] == j->members &&
		    j->tree->depth[mc->touched[i]] > j->tree->depth[top])
			top = mc->touched[i];
	return top;
}

static void set_bit(struct job *j, uint32_t at, unsigned int port)
{
	struct sm_switch *sw = j->sm->switches[at];
	unsigned int index = j->g->mlid - IB_LID_MULTICAST_BASE;
	struct sm_cell *cell;

	if (!has_room(sw, j->g->mlid))
		return;
	cell = sm_cell_get(j->sm, sw, (uint16_t)(index / SM_MLIDS_BLOCK),
			   port / SM_PORTS_WORD);
	if (!cell) {
		j->error = -ENOMEM;
		return;
	}
	cell->want[index % SM_MLIDS_BLOCK] |= (uint16_t)(1u << port % SM_PORTS_WORD);
}

static void set_branches(struct job *j, uint32_t top)
{
	const struct sm_mcast *mc = &j->sm->mc;
	const struct sm_tree *t = j->tree;

	for (uint32_t i = 0; i < mc->touched_count; i++) {
		uint32_t at = mc->touched[i];
		const struct sm_edge *e;

		if (at == top || t->depth[at] <= t->depth[top])
			continue;
		e = &j->sm->switches[at]->edges[t->edge[at] +
						hash_of(j->g->mlid, at) % t->edges[at]];
		if (mc->receivers[at])
			set_bit(j, t->parent[at], e->peer_port);
		if (mc->receivers[at] < j->receivers)
			set_bit(j, at, e->port);
	}
}

static void set_members(struct job *j)
{
	uint8_t port;

	for (uint32_t i = 0; i < j->g->member_count; i++) {
		struct sm_switch *sw;

		if (!j->g->members[i].receives)
			continue;
		sw = member_switch(j, &j->g->members[i], &port);
		if (sw)
			set_bit(j, sw->index, port);
	}
}

static void check_tree(struct sm *sm, const struct sm_group *g)
{
	for (uint32_t i = 0; i < g->tree_count; i++) {
		const struct sm_switch *sw = sm->switches[g->tree[i]];

		for (unsigned int p = 0; p < sw->positions; p++) {
			struct sm_cell *cell = sm_cell_find(sw, g->mlid, p);

			if (cell)
				sm_cell_check(sm, cell);
		}
	}
}

static void clear_tree(struct sm *sm, struct sm_group *g)
{
	unsigned int word = (g->mlid - IB_LID_MULTICAST_BASE) % SM_MLIDS_BLOCK;

	for (uint32_t i = 0; i < g->tree_count; i++) {
		const struct sm_switch *sw = sm->switches[g->tree[i]];

		for (unsigned int p = 0; p < sw->positions; p++) {
			struct sm_cell *cell = sm_cell_find(sw, g->mlid, p);

			if (cell)
				cell->want[word] = 0;
		}
	}
}

static int keep_tree(struct job *j)
{
	const struct sm_mcast *mc = &j->sm->mc;
	uint32_t *tree = realloc(j->g->tree, (mc->touched_count + 1) * sizeof(*tree));

	if (!tree)
		return -ENOMEM;
	memcpy(tree, mc->touched, mc->touched_count * sizeof(*tree));
	j->g->tree = tree;
	j->g->tree_count = mc->touched_count;
	return 0;
}

/* Fewer than two members, or none that receives: nothing for switches to do, the sender's
 * own loopback is the adapter's. */
static int route(struct job *j)
{
	uint32_t top;

	choose_component(j);
	j->g->component = j->component;
	if (j->component == SM_SWITCH_NONE)
		return j->error;
	j->tree = tree_of(j->sm, j->g->mlid, j->component);
	if (!j->tree)
		return -ENOMEM;
	count_members(j);
	if (keep_tree(j) < 0)
		return -ENOMEM;
	if (j->members < 2)
		return j->error;
	sum_up(j);
	top = top_of(j);
	set_branches(j, top);
	set_members(j);
	return j->error;
}

int sm_group_compute(struct sm *sm, struct sm_group *g)
{
	struct job j = { .sm = sm, .g = g };
	int r;

	clear_tree(sm, g);
	/* Cells of the old tree are checked now, those of the new below: who is in both
	 * is on the list once. */
	check_tree(sm, g);
	g->tree_count = 0;
	r = route(&j);
	check_tree(sm, g);
	return r;
}
