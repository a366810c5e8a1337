/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where trees of groups may grow. A switch whose multicast table ends before an MLID would
 * drop its packets, wherever they came from (spec/sa-sm 7.5), so a forest has the switches
 * that have room for the MLID, and no other: what hangs together of them, which of these may
 * be roots, and the shortest ways from each root that is in use. All MLIDs between two sizes
 * of tables share one; mostly there is one, and those that nobody asks for are not made.
 *
 * Differs: OpenSM leads through a switch that has no table, and loses who is behind it
 * (spec/sa-sm 7.1).
 */
#include "fabric/sm/sm_priv.h"

#include <errno.h>
#include <stdlib.h>

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

static void forest_free(struct sm_forest *f)
{
	for (uint32_t i = 0; f->trees && i < f->switch_count; i++)
		tree_free(f->trees[i]);
	free(f->trees);
	free(f->component);
	free(f->roots);
	free(f->root_start);
	free(f->tally);
	free(f);
}

void sm_forests_free(struct sm *sm)
{
	while (sm->mc.forests) {
		struct sm_forest *f = sm->mc.forests;

		sm->mc.forests = f->next;
		forest_free(f);
	}
}

/* -- what hangs together --------------------------------------------------------------- */

static void flood(struct sm *sm, struct sm_forest *f, uint32_t from)
{
	uint32_t *queue = sm->graph.queue, count = 0;

	queue[count++] = from;
	f->component[from] = f->component_count;
	for (uint32_t i = 0; i < count; i++) {
		const struct sm_switch *sw = sm->switches[queue[i]];

		for (uint32_t e = 0; e < sw->edge_count; e++) {
			uint32_t to = sw->edges[e].to;

			if (f->component[to] != SM_SWITCH_NONE ||
			    !sm_switch_has_room(sm->switches[to], f->first))
				continue;
			f->component[to] = f->component_count;
			queue[count++] = to;
		}
	}
}

static uint32_t least_eccentricity(const struct sm *sm, const struct sm_forest *f)
{
	uint32_t least = UINT32_MAX;

	for (uint32_t i = 0; i < sm->switch_count; i++)
		if (f->component[i] == f->component_count &&
		    sm->switches[i]->eccentricity < least)
			least = sm->switches[i]->eccentricity;
	return least;
}

/* Those of the component that was found last. */
static uint32_t add_roots(const struct sm *sm, struct sm_forest *f, uint32_t at)
{
	uint32_t least = least_eccentricity(sm, f);

	for (uint32_t i = 0; i < sm->switch_count; i++)
		if (f->component[i] == f->component_count &&
		    sm->switches[i]->eccentricity == least)
			f->roots[at++] = i;
	return at;
}

static void find_components(struct sm *sm, struct sm_forest *f)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < sm->switch_count; i++)
		f->component[i] = SM_SWITCH_NONE;
	for (uint32_t i = 0; i < sm->switch_count; i++) {
		if (f->component[i] != SM_SWITCH_NONE ||
		    !sm_switch_has_room(sm->switches[i], f->first))
			continue;
		flood(sm, f, i);
		f->root_start[f->component_count] = at;
		at = add_roots(sm, f, at);
		f->root_start[++f->component_count] = at;
	}
}

/* The MLIDs around this one for which the same switches have room. */
static void find_range(const struct sm *sm, struct sm_forest *f, uint32_t mlid)
{
	f->first = 0;
	f->end = SM_MLIDS;
	for (uint32_t i = 0; i < sm->switch_count; i++) {
		uint32_t cap = sm->switches[i]->node->switch_info.mft_cap;

		if (cap > mlid && cap < f->end)
			f->end = cap;
		else if (cap <= mlid && cap > f->first)
			f->first = cap;
	}
}

static struct sm_forest *forest_create(struct sm *sm, uint32_t mlid)
{
	uint32_t count = sm->switch_count + 1;
	struct sm_forest *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->switch_count = sm->switch_count;
	f->trees = calloc(count, sizeof(struct sm_tree *));
	f->component = calloc(count, sizeof(*f->component));
	f->roots = calloc(count, sizeof(*f->roots));
	f->root_start = calloc(count + 1, sizeof(*f->root_start));
	f->tally = calloc(count, sizeof(*f->tally));
	if (!f->trees || !f->component || !f->roots || !f->root_start || !f->tally) {
		forest_free(f);
		return NULL;
	}
	find_range(sm, f, mlid);
	find_components(sm, f);
	sm->mc.grown++;
	return f;
}

struct sm_forest *sm_forest_find(const struct sm *sm, uint16_t mlid)
{
	uint32_t index = mlid - IB_LID_MULTICAST_BASE;
	struct sm_forest *f = sm->mc.forests;

	while (f && !(f->first <= index && index < f->end))
		f = f->next;
	return f;
}

struct sm_forest *sm_forest_get(struct sm *sm, uint16_t mlid)
{
	struct sm_forest *f = sm_forest_find(sm, mlid);

	if (f)
		return f;
	f = forest_create(sm, mlid - IB_LID_MULTICAST_BASE);
	if (!f)
		return NULL;
	f->next = sm->mc.forests;
	sm->mc.forests = f;
	return f;
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

static void grow(struct sm *sm, const struct sm_forest *f, struct sm_tree *t)
{
	uint32_t *queue = sm->graph.queue, count = 0;

	queue[count++] = t->root;
	for (uint32_t i = 0; i < count; i++) {
		const struct sm_switch *sw = sm->switches[queue[i]];

		for (uint32_t e = 0; e < sw->edge_count; e++) {
			uint32_t to = sw->edges[e].to;

			if (to == t->root || t->parent[to] != SM_SWITCH_NONE ||
			    f->component[to] == SM_SWITCH_NONE)
				continue;
			adopt_child(sm, t, to, sw->index);
			queue[count++] = to;
		}
	}
}

static struct sm_tree *tree_create(struct sm *sm, const struct sm_forest *f,
				   uint32_t root)
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
	grow(sm, f, t);
	sm->mc.grown++;
	return t;
}

const struct sm_tree *sm_tree_get(struct sm *sm, struct sm_forest *f, uint32_t component,
				  uint32_t hash)
{
	uint32_t start = f->root_start[component];
	uint32_t root = f->roots[start + hash % (f->root_start[component + 1] - start)];

	if (!f->trees[root])
		f->trees[root] = tree_create(sm, f, root);
	return f->trees[root];
}
