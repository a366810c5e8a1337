/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Routes to every LID, destination switch by destination switch. A table knows nothing of
 * where a packet comes from, so the rule is: who can reach the destination by going down
 * alone does so, the others go up to the neighbour that is nearest to it. Each step makes
 * the distance smaller, and none goes up after one down (graph.c says why).
 *
 * Two switches without hosts may have no such way between them, the spines of a fat tree
 * for instance. Only management packets between the two travel there; they take the
 * shortest way there is.
 *
 * With LMC the first LIDs of ports, which most use, are spread as they would be without;
 * the others of a port have other ways, as far as there are any (find_strides).
 *
 * One destination costs O(links), all O(S * links + S * N); one or a few a step.
 */
#include "fabric/sm/sm_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* Links looked at in a step. */
#define EDGES_A_STEP 10000u

enum way {
	WAY_NONE,
	WAY_DOWN,
	WAY_UP,
	WAY_ANY,
};

/* -- distances to one switch ----------------------------------------------------------- */

struct search {
	struct sm *sm;
	uint32_t downs, ups; /* filled of queue, queue2 */
};

static void reach(struct search *s, uint32_t from, uint32_t to, enum way way)
{
	struct sm_graph *g = &s->sm->graph;

	if (g->way[to] != WAY_NONE)
		return;
	g->way[to] = (uint8_t)way;
	g->dist[to] = (uint16_t)(g->dist[from] + 1);
	if (way == WAY_DOWN)
		g->queue[s->downs++] = to;
	else
		g->queue2[s->ups++] = to;
}

/* All switches from which the way goes down alone: those above, and above these. */
static void search_downs(struct search *s, uint32_t dest)
{
	struct sm_graph *g = &s->sm->graph;

	g->way[dest] = WAY_DOWN;
	g->dist[dest] = 0;
	g->queue[s->downs++] = dest;
	for (uint32_t i = 0; i < s->downs; i++) {
		const struct sm_switch *sw = s->sm->switches[g->queue[i]];

		for (uint32_t e = 0; e < sw->edge_count; e++)
			if (sw->edges[e].up)
				reach(s, sw->index, sw->edges[e].to, WAY_DOWN);
	}
}

/* Then who is below one that has a way, nearest first: both queues are in the order of
 * their distances. */
static void search_ups(struct search *s)
{
	struct sm_graph *g = &s->sm->graph;
	uint32_t d = 0, u = 0;

	while (d < s->downs || u < s->ups) {
		const struct sm_switch *sw;
		uint32_t at;

		if (u == s->ups ||
		    (d < s->downs && g->dist[g->queue[d]] <= g->dist[g->queue2[u]]))
			at = g->queue[d++];
		else
			at = g->queue2[u++];
		sw = s->sm->switches[at];
		for (uint32_t e = 0; e < sw->edge_count; e++)
			if (!sw->edges[e].up)
				reach(s, at, sw->edges[e].to, WAY_UP);
	}
}

static bool search_round(struct search *s, uint32_t *found)
{
	struct sm_graph *g = &s->sm->graph;
	uint32_t count = 0;

	for (uint32_t i = 0; i < s->sm->switch_count; i++) {
		const struct sm_switch *sw = s->sm->switches[i];
		uint16_t best = UINT16_MAX;

		if (g->way[i] != WAY_NONE)
			continue;
		for (uint32_t e = 0; e < sw->edge_count; e++) {
			uint32_t to = sw->edges[e].to;

			if (g->way[to] != WAY_NONE && g->dist[to] < best)
				best = g->dist[to];
		}
		if (best == UINT16_MAX)
			continue;
		g->dist[i] = (uint16_t)(best + 1);
		found[count++] = i;
	}
	for (uint32_t i = 0; i < count; i++)
		g->way[found[i]] = WAY_ANY;
	return count > 0;
}

/* False: two switches with hosts have no way by the rule. */
static bool search(struct sm *sm, uint32_t dest)
{
	struct sm_graph *g = &sm->graph;
	struct search s = { .sm = sm };
	bool good = true;

	memset(g->way, WAY_NONE, sm->switch_count * sizeof(*g->way));
	search_downs(&s, dest);
	search_ups(&s);
	if (s.downs + s.ups == sm->switch_count)
		return true;
	for (uint32_t i = 0; i < sm->switch_count; i++)
		if (g->way[i] == WAY_NONE && sm->switches[i]->has_hosts &&
		    sm->switches[dest]->has_hosts)
			good = false;
	while (search_round(&s, g->queue2))
		;
	return good;
}

/* -- tables ---------------------------------------------------------------------------- */

static bool leads_on(const struct sm_graph *g, uint32_t from, const struct sm_edge *e)
{
	if (g->way[e->to] == WAY_NONE || g->dist[e->to] + 1 != g->dist[from])
		return false;
	switch (g->way[from]) {
	case WAY_DOWN:
		return !e->up && g->way[e->to] == WAY_DOWN;
	case WAY_UP:
		return e->up && g->way[e->to] != WAY_ANY;
	default:
		return true;
	}
}

/*
 * By its choice among equal ports a switch tells the LIDs of a port apart. If the switch
 * after it did the same by the same number, two choices of two ports would make two ways,
 * and not four: so what the switches before it have used up of the offset, its stride,
 * counts there as one. The stride of a switch is the product of the choices on the way to
 * it from a switch with hosts, the largest; 0: none comes that way.
 */
#define STRIDE_MAX (1u << SM_LMC_MAX)

/* Farthest first: by counting them in queue2. */
static uint32_t order_by_distance(struct sm *sm)
{
	struct sm_graph *g = &sm->graph;
	uint32_t *start = g->queue2, count = 0;

	memset(start, 0, (sm->switch_count + 1u) * sizeof(*start));
	for (uint32_t i = 0; i < sm->switch_count; i++) {
		if (g->way[i] == WAY_NONE)
			continue;
		start[g->dist[i]]++;
		count++;
	}
	for (uint32_t d = sm->switch_count; d-- > 0;)
		start[d] += start[d + 1];
	for (uint32_t i = 0; i < sm->switch_count; i++)
		if (g->way[i] != WAY_NONE)
			g->queue[--start[g->dist[i]]] = i;
	return count;
}

static uint32_t count_choices(const struct sm_graph *g, const struct sm_switch *sw)
{
	uint32_t count = 0;

	for (uint32_t e = 0; e < sw->edge_count; e++)
		count += leads_on(g, sw->index, &sw->edges[e]);
	return count;
}

static void pass_on(struct sm_graph *g, const struct sm_switch *sw)
{
	uint32_t stride = g->stride[sw->index] * count_choices(g, sw);

	if (stride > STRIDE_MAX)
		stride = STRIDE_MAX;
	for (uint32_t e = 0; e < sw->edge_count; e++) {
		uint32_t to = sw->edges[e].to;

		if (leads_on(g, sw->index, &sw->edges[e]) && g->stride[to] < stride)
			g->stride[to] = (uint8_t)stride;
	}
}

static void find_strides(struct sm *sm)
{
	struct sm_graph *g = &sm->graph;
	uint32_t count = order_by_distance(sm);

	for (uint32_t i = 0; i < sm->switch_count; i++)
		g->stride[i] = sm->switches[i]->has_hosts;
	for (uint32_t i = 0; i < count; i++)
		pass_on(g, sm->switches[g->queue[i]]);
}

static uint32_t turn_of(uint32_t offset, uint32_t stride)
{
	return stride > 1 ? offset % stride + offset / stride : offset;
}

/* First LIDs of a switch go round the ports that lead to it, beginning with the idlest. */
static void fill(struct sm *sm, struct sm_switch *sw, uint32_t dest)
{
	const struct sm_graph *g = &sm->graph;
	uint8_t ports[256];
	uint32_t count = 0, at = 0;

	for (uint32_t e = 0; e < sw->edge_count; e++) {
		const struct sm_edge *edge = &sw->edges[sw->turns[e]];

		if (!leads_on(g, sw->index, edge))
			continue;
		ports[count] = edge->port;
		if (sw->load[ports[count]] < sw->load[ports[at]])
			at = count;
		count++;
	}
	for (uint32_t i = g->host_start[dest]; count && i < g->host_start[dest + 1];
	     i++) {
		const struct sm_host *host = &g->hosts[i];

		for (uint32_t k = 0; k < host->lids; k++)
			sw->lft_want[host->lid + k] =
				ports[(at + turn_of(k, g->stride[sw->index])) % count];
		sw->load[ports[at]]++;
		at = at + 1 == count ? 0 : at + 1;
	}
}

static void fill_own(struct sm *sm, struct sm_switch *sw)
{
	const struct sm_graph *g = &sm->graph;

	for (uint32_t i = g->host_start[sw->index]; i < g->host_start[sw->index + 1]; i++)
		memset(sw->lft_want + g->hosts[i].lid, g->hosts[i].port,
		       g->hosts[i].lids);
	sw->lft_want[0] = SM_ROUTE_NONE;
}

static void measure(struct sm *sm, uint32_t dest)
{
	if (!sm->switches[dest]->has_hosts)
		return;
	for (uint32_t i = 0; i < sm->switch_count; i++)
		if (sm->graph.way[i] != WAY_NONE &&
		    sm->graph.dist[i] > sm->switches[i]->eccentricity)
			sm->switches[i]->eccentricity = sm->graph.dist[i];
}

/* Tables hold whole blocks, up to the highest LID; they grow and stay. */
static int table_begin(const struct sm *sm, struct sm_switch *sw)
{
	uint32_t blocks = sm->lid_top / SM_LIDS_BLOCK + 1u;
	size_t bytes = (size_t)blocks * SM_LIDS_BLOCK;

	if (blocks > sw->lft_blocks) {
		uint8_t *want = realloc(sw->lft_want, bytes);
		uint8_t *have = want ? realloc(sw->lft_have, bytes) : NULL;
		bool *known = have ? realloc(sw->lft_known, blocks) : NULL;

		sw->lft_want = want ? want : sw->lft_want;
		sw->lft_have = have ? have : sw->lft_have;
		if (!known)
			return -ENOMEM;
		sw->lft_known = known;
		memset(known + sw->lft_blocks, 0, blocks - sw->lft_blocks);
		sw->lft_blocks = blocks;
	}
	memset(sw->lft_want, SM_ROUTE_NONE, (size_t)sw->lft_blocks * SM_LIDS_BLOCK);
	memset(sw->load, 0, (sw->node->info.num_ports + 1u) * sizeof(*sw->load));
	sw->eccentricity = 0;
	return 0;
}

/* -- the phase ------------------------------------------------------------------------- */

static uint32_t route_to(struct sm *sm, uint32_t dest)
{
	uint32_t edges = 0;

	if (!search(sm, dest) && sm->graph.by_leaves) {
		log_debug("sm: not a fat tree: routes go by a root");
		sm_graph_level_by_root(sm);
		sm->sweep.cursor = sm->sweep.cursor2 = 0;
		return UINT32_MAX;
	}
	if (sm->config.lmc)
		find_strides(sm);
	for (uint32_t i = 0; i < sm->switch_count; i++) {
		edges += sm->switches[i]->edge_count;
		if (i != dest)
			fill(sm, sm->switches[i], dest);
	}
	fill_own(sm, sm->switches[dest]);
	measure(sm, dest);
	return edges + (sm->switch_count << sm->config.lmc);
}

static enum sm_step next(struct sm *sm)
{
	struct sm_sweep *s = &sm->sweep;
	uint32_t work = 0;

	if (!s->topology)
		return SM_STEP_DONE;
	for (; s->cursor2 < sm->switch_count && work < EDGES_A_STEP; s->cursor2++) {
		struct sm_switch *sw = sm->switches[s->cursor2];

		if (table_begin(sm, sw) < 0) {
			s->failed = true;
			return SM_STEP_DONE;
		}
		work += sw->lft_blocks * 4;
	}
	while (s->cursor < sm->switch_count && work < EDGES_A_STEP) {
		uint32_t done = route_to(sm, s->cursor);

		if (done == UINT32_MAX)
			return SM_STEP_WORKED;
		work += done;
		s->cursor++;
	}
	return s->cursor < sm->switch_count ? SM_STEP_WORKED : SM_STEP_DONE;
}

static void end(struct sm *sm)
{
	struct sm_sweep *s = &sm->sweep;

	if (!s->topology)
		return;
	if (s->cursor < sm->switch_count || sm_trees_begin(sm) < 0) {
		s->failed = true; /* for want of memory; the next sweep tries again */
		return;
	}
	s->topology = false;
	s->regroup = true;
}

const struct sm_phase sm_phase_routes = { .name = "routes", .next = next, .end = end };
