/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The switches as a graph, and which end of a link is above the other.
 *
 * Routes go up and then down, never up again, so that no circle of packets that wait for
 * each other can arise. What is above:
 *
 * - In a fat tree, who is farther from the hosts. That leaves all shortest ways to use.
 *   It serves if no link joins switches of the same distance, and if there is a way
 *   between any two switches with hosts; routes.c finds out.
 * - Else, who is nearer to a root; equals by their number. There is always a way, if only
 *   through the root. The root is the middle of a longest of the shortest ways.
 */
#include "fabric/sm/sm_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define SWITCHES_A_STEP 64u

static int by_far_end(const void *a, const void *b)
{
	const struct sm_edge *x = a, *y = b;

	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return (int)x->port - (int)y->port;
}

/* Who goes round the edges comes to another neighbour each time, if there are several, and
 * not to the same one by another cable. */
static void take_turns(struct sm_switch *sw)
{
	uint32_t count = 0;

	for (uint32_t round = 0; count < sw->edge_count; round++) {
		for (uint32_t e = 0, nth = 0; e < sw->edge_count; e++) {
			nth = e && sw->edges[e].to == sw->edges[e - 1].to ? nth + 1 : 0;
			if (nth == round)
				sw->turns[count++] = (uint8_t)e;
		}
	}
}

static void find_edges(struct sm_switch *sw)
{
	struct subnet_node *node = sw->node;

	sw->edge_count = 0;
	sw->has_hosts = false;
	for (unsigned int i = 1; i <= node->info.num_ports; i++) {
		const struct subnet_port *peer = node->ports[i].peer;

		if (!peer)
			continue;
		if (!sm_is_switch(peer->node)) {
			sw->has_hosts = true;
			continue;
		}
		if (peer->node == node) /* a cable from the switch to itself */
			continue;
		sw->edges[sw->edge_count++] = (struct sm_edge){
			.to = sm_node_of(peer->node)->sw->index,
			.port = (uint8_t)i,
			.peer_port = peer->num,
		};
	}
	qsort(sw->edges, sw->edge_count, sizeof(*sw->edges), by_far_end);
	take_turns(sw);
}

/* Distances from what is in `queue` already, with a distance. The last one reached. */
static uint32_t spread(struct sm *sm, uint32_t count)
{
	struct sm_graph *g = &sm->graph;

	for (uint32_t i = 0; i < count; i++) {
		const struct sm_switch *sw = sm->switches[g->queue[i]];

		for (uint32_t e = 0; e < sw->edge_count; e++) {
			uint32_t to = sw->edges[e].to;

			if (g->dist[to] != UINT16_MAX)
				continue;
			g->dist[to] = (uint16_t)(g->dist[sw->index] + 1);
			g->queue[count++] = to;
		}
	}
	return count ? g->queue[count - 1] : 0;
}

static void clear_dist(struct sm *sm)
{
	for (uint32_t i = 0; i < sm->switch_count; i++)
		sm->graph.dist[i] = UINT16_MAX;
}

static uint32_t spread_from(struct sm *sm, uint32_t from)
{
	clear_dist(sm);
	sm->graph.dist[from] = 0;
	sm->graph.queue[0] = from;
	return spread(sm, 1);
}

static uint32_t step_back(const struct sm *sm, uint32_t from)
{
	const struct sm_switch *sw = sm->switches[from];

	for (uint32_t e = 0; e < sw->edge_count; e++)
		if (sm->graph.dist[sw->edges[e].to] + 1 == sm->graph.dist[from])
			return sw->edges[e].to;
	return from;
}

static uint32_t middle(struct sm *sm)
{
	uint32_t a = spread_from(sm, 0), b = spread_from(sm, a), at = b;

	for (unsigned int i = sm->graph.dist[b] / 2u; i > 0; i--)
		at = step_back(sm, at);
	return at;
}

static void set_ups(struct sm *sm)
{
	for (uint32_t i = 0; i < sm->switch_count; i++) {
		struct sm_switch *sw = sm->switches[i];

		for (uint32_t e = 0; e < sw->edge_count; e++)
			sw->edges[e].up =
				sm->switches[sw->edges[e].to]->level > sw->level;
	}
}

static bool levels_by_leaves(struct sm *sm)
{
	uint32_t count = 0;

	clear_dist(sm);
	for (uint32_t i = 0; i < sm->switch_count; i++) {
		if (!sm->switches[i]->has_hosts)
			continue;
		sm->graph.dist[i] = 0;
		sm->graph.queue[count++] = i;
	}
	if (!count)
		return false;
	spread(sm, count);
	for (uint32_t i = 0; i < sm->switch_count; i++)
		sm->switches[i]->level = sm->graph.dist[i];
	for (uint32_t i = 0; i < sm->switch_count; i++) {
		const struct sm_switch *sw = sm->switches[i];

		for (uint32_t e = 0; e < sw->edge_count; e++)
			if (sm->switches[sw->edges[e].to]->level == sw->level)
				return false;
	}
	set_ups(sm);
	return true;
}

void sm_graph_level_by_root(struct sm *sm)
{
	uint32_t root = sm->switch_count ? middle(sm) : 0, most = 0;

	sm->graph.by_leaves = false;
	if (!sm->switch_count)
		return;
	spread_from(sm, root);
	for (uint32_t i = 0; i < sm->switch_count; i++)
		if (sm->graph.dist[i] > most)
			most = sm->graph.dist[i];
	for (uint32_t i = 0; i < sm->switch_count; i++)
		sm->switches[i]->level =
			(most - sm->graph.dist[i]) * sm->switch_count + i;
	set_ups(sm);
}

static int set_levels(struct sm *sm)
{
	sm->graph.by_leaves = levels_by_leaves(sm);
	if (!sm->graph.by_leaves)
		sm_graph_level_by_root(sm);
	return 0;
}

/* -- ports with LIDs, by switch -------------------------------------------------------- */

struct sm_switch *sm_switch_of(struct subnet_port *port, uint8_t *out)
{
	*out = 0;
	if (sm_is_switch(port->node))
		return sm_node_of(port->node)->sw;
	if (!port->peer || !sm_is_switch(port->peer->node))
		return NULL;
	*out = port->peer->num;
	return sm_node_of(port->peer->node)->sw;
}

static int by_lid(const void *a, const void *b)
{
	const struct sm_host *x = a, *y = b;

	return (int)x->lid - (int)y->lid;
}

static struct sm_host host_of(const struct sm *sm, const struct subnet_port *end,
			      uint8_t out)
{
	uint16_t lid = sm_port_of(end)->lid;

	return (struct sm_host){
		.lid = lid,
		.lids = lid ? (uint8_t)(1u << sm_lmc_of(sm, end)) : 0,
		.port = out,
	};
}

static int place_hosts(struct sm *sm)
{
	struct sm_graph *g = &sm->graph;
	uint8_t out;

	for (uint32_t i = 0; i < sm->end_count; i++) {
		struct sm_switch *sw = sm_switch_of(sm->ends[i], &out);

		if (sw)
			g->host_start[sw->index + 1]++;
	}
	for (uint32_t i = 0; i < sm->switch_count; i++)
		g->host_start[i + 1] += g->host_start[i];
	/* Fill from behind each start, which then is the start of the next. */
	for (uint32_t i = sm->end_count; i-- > 0;) {
		struct sm_switch *sw = sm_switch_of(sm->ends[i], &out);

		if (sw)
			g->hosts[--g->host_start[sw->index + 1]] =
				host_of(sm, sm->ends[i], out);
	}
	for (uint32_t i = 0; i < sm->switch_count; i++)
		g->host_start[i] = g->host_start[i + 1];
	g->host_start[sm->switch_count] = 0;
	for (uint32_t i = 0; i < sm->end_count; i++)
		g->host_start[sm->switch_count] +=
			sm_switch_of(sm->ends[i], &out) != NULL;
	/* Not in the order in which this SM has found them. */
	for (uint32_t i = 0; i < sm->switch_count; i++)
		qsort(g->hosts + g->host_start[i],
		      g->host_start[i + 1] - g->host_start[i], sizeof(*g->hosts), by_lid);
	return 0;
}

/* -- the phase ------------------------------------------------------------------------- */

void sm_graph_free(struct sm *sm)
{
	struct sm_graph *g = &sm->graph;

	free(g->dist);
	free(g->way);
	free(g->queue);
	free(g->queue2);
	free(g->stride);
	free(g->host_start);
	free(g->hosts);
	memset(g, 0, sizeof(*g));
}

static int graph_alloc(struct sm *sm)
{
	struct sm_graph *g = &sm->graph;
	uint32_t count = sm->switch_count + 1;

	sm_graph_free(sm);
	g->dist = calloc(count, sizeof(*g->dist));
	g->way = calloc(count, sizeof(*g->way));
	g->queue = calloc(count, sizeof(*g->queue));
	g->queue2 = calloc(count, sizeof(*g->queue2));
	g->stride = calloc(count, sizeof(*g->stride));
	g->host_start = calloc(count + 1, sizeof(*g->host_start));
	g->hosts = calloc(sm->end_count + 1u, sizeof(*g->hosts));
	if (!g->dist || !g->way || !g->queue || !g->queue2 || !g->stride ||
	    !g->host_start || !g->hosts) {
		sm_graph_free(sm);
		return -ENOMEM;
	}
	return 0;
}

/* One a step. */
static int (*const stages[])(struct sm *sm) = { graph_alloc, place_hosts, set_levels };
#define STAGES (sizeof(stages) / sizeof(stages[0]))

static enum sm_step next(struct sm *sm)
{
	struct sm_sweep *s = &sm->sweep;

	if (!s->topology || s->cursor2 == STAGES)
		return SM_STEP_DONE;
	if (s->cursor == sm->switch_count) {
		if (stages[s->cursor2++](sm) == 0)
			return SM_STEP_WORKED;
		s->cursor2 = STAGES;
		s->failed = true;
		return SM_STEP_DONE;
	}
	for (unsigned int i = 0; i < SWITCHES_A_STEP && s->cursor < sm->switch_count; i++)
		find_edges(sm->switches[s->cursor++]);
	return SM_STEP_WORKED;
}

/* For want of memory: what is routed stays as it is. */
static void end(struct sm *sm)
{
	if (!sm->sweep.failed || !sm->sweep.topology || sm->graph.hosts)
		return;
	sm->sweep.wanted = true;
	sm->sweep.failures++;
	sm_sweep_stop(sm, sm->config.light_sweep_ns);
}

const struct sm_phase sm_phase_graph = { .name = "graph", .next = next, .end = end };
