/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tree for every group (spec/sa-sm 7.4). The root is one of the switches from which no
 * host is farther than need be, by a hash of the MLID, so that groups spread over the
 * spines; from it the shortest ways lead to every switch whose multicast table has room for
 * the MLID, by such switches alone (forests.c). They do not depend on the members: who joins
 * or leaves makes branches come and go, and never moves those of others. What of the tree
 * lies above all members is left away.
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

#include "base/log.h"

/* -- of the group being computed -------------------------------------------------------- */

void sm_trees_free(struct sm *sm)
{
	struct sm_mcast *mc = &sm->mc;

	sm_forests_free(sm);
	free(mc->receivers);
	free(mc->members);
	free(mc->stamp);
	free(mc->touched);
	mc->receivers = mc->members = mc->stamp = mc->touched = NULL;
}

int sm_trees_begin(struct sm *sm)
{
	struct sm_mcast *mc = &sm->mc;
	uint32_t count = sm->switch_count + 1;

	sm_trees_free(sm);
	mc->receivers = calloc(count, sizeof(*mc->receivers));
	mc->members = calloc(count, sizeof(*mc->members));
	mc->stamp = calloc(count, sizeof(*mc->stamp));
	mc->touched = calloc(count, sizeof(*mc->touched));
	if (!mc->receivers || !mc->members || !mc->stamp || !mc->touched) {
		sm_trees_free(sm);
		return -ENOMEM;
	}
	mc->stamp_now = 0;
	for (uint32_t i = 0; i < SM_MLIDS; i++)
		if (mc->groups[i])
			mc->groups[i]->component = SM_SWITCH_NONE;
	return 0;
}

static uint32_t hash_of(uint16_t mlid, uint32_t salt)
{
	return hash_bytes(salt, &mlid, sizeof(mlid));
}

/* -- a group --------------------------------------------------------------------------- */

struct job {
	struct sm *sm;
	struct sm_group *g;
	struct sm_forest *forest;
	const struct sm_tree *tree;
	uint32_t component;
	uint32_t members, receivers; /* that are reached */
	uint32_t cut_off;            /* members that are not, and are in the subnet */
	uint16_t deepest;
	int error;
};

/* Null: it is not in the subnet, or on no switch. */
static struct sm_switch *member_switch(const struct job *j, const struct sm_mc_member *m,
				       uint8_t *port)
{
	struct subnet_port *p = subnet_port_by_guid(&j->sm->subnet, m->port_guid);

	return p && p->seen ? sm_switch_of(p, port) : NULL;
}

/* The part of the fabric that it is in; SM_SWITCH_NONE: none that has room. */
static uint32_t component_of(const struct job *j, const struct sm_mc_member *m)
{
	uint8_t port;
	const struct sm_switch *sw = member_switch(j, m, &port);

	return sw ? j->forest->component[sw->index] : SM_SWITCH_NONE;
}

static bool is_in_tree(const struct job *j, const struct sm_switch *sw)
{
	return j->component != SM_SWITCH_NONE &&
	       j->forest->component[sw->index] == j->component;
}

bool sm_can_route(const struct sm *sm, uint16_t mlid, uint64_t port_guid)
{
	const struct sm_group *g = sm->mc.groups[mlid - IB_LID_MULTICAST_BASE];
	const struct sm_forest *f = sm_forest_find(sm, mlid);
	struct subnet_port *p = subnet_port_by_guid(&sm->subnet, port_guid);
	uint8_t port;
	const struct sm_switch *sw = p && p->seen ? sm_switch_of(p, &port) : NULL;

	return sw && g && f && f->component[sw->index] != SM_SWITCH_NONE &&
	       (g->component == SM_SWITCH_NONE ||
		g->component == f->component[sw->index]);
}

/* The component that most members are in, or of such the first one's. */
static uint32_t best_component(const struct job *j)
{
	uint32_t *tally = j->forest->tally, best = SM_SWITCH_NONE;

	memset(tally, 0, j->forest->component_count * sizeof(*tally));
	for (uint32_t i = 0; i < j->g->member_count; i++) {
		uint32_t component = component_of(j, &j->g->members[i]);

		if (component != SM_SWITCH_NONE)
			tally[component]++;
	}
	for (uint32_t i = 0; i < j->g->member_count; i++) {
		uint32_t component = component_of(j, &j->g->members[i]);

		if (component != SM_SWITCH_NONE &&
		    (best == SM_SWITCH_NONE || tally[component] > tally[best]))
			best = component;
	}
	return best;
}

static bool has_member_in(const struct job *j, uint32_t component)
{
	for (uint32_t i = 0; i < j->g->member_count; i++)
		if (component_of(j, &j->g->members[i]) == component)
			return true;
	return false;
}

/*
 * A group has one tree. Where the switches that have room for it fall into parts it stays in
 * the one that it is in, and who joins elsewhere is refused. When the subnet changes under
 * its members, most of them decide: the others are cut off, and stay members for the time
 * when there is a way again.
 */
static void choose_component(struct job *j)
{
	if (j->g->component != SM_SWITCH_NONE && has_member_in(j, j->g->component))
		j->component = j->g->component;
	else
		j->component = best_component(j);
	j->g->component = j->component;
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
		const struct sm_switch *sw = member_switch(j, m, &port);

		if (!sw)
			continue;
		if (!is_in_tree(j, sw)) {
			j->cut_off++;
			continue;
		}
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
		if (sw && is_in_tree(j, sw))
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

	j->forest = sm_forest_get(j->sm, j->g->mlid);
	if (!j->forest)
		return -ENOMEM;
	choose_component(j);
	if (j->component != SM_SWITCH_NONE) {
		j->tree = sm_tree_get(j->sm, j->forest, j->component,
				      hash_of(j->g->mlid, 0));
		if (!j->tree)
			return -ENOMEM;
	}
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
	sm_group_cut_off(sm, g, j.cut_off);
	return !r && j.cut_off ? -ENOSPC : r;
}

void sm_group_cut_off(struct sm *sm, struct sm_group *g, uint32_t count)
{
	if (count != g->cut_off)
		log_debug("sm: MLID 0x%04x: %u members are cut off", g->mlid, count);
	sm->counters.members_cut_off += count;
	sm->counters.members_cut_off -= g->cut_off;
	sm->mc.groups_cut_off += count > 0;
	sm->mc.groups_cut_off -= g->cut_off > 0;
	g->cut_off = count;
}
