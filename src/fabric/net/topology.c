/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/net/topology_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define NODES_FIRST 16u

int topology_builder_init(struct topology_builder *b)
{
	*b = (struct topology_builder){ .t = calloc(1, sizeof(*b->t)) };
	return b->t ? 0 : -ENOMEM;
}

static int make_room(struct topology_builder *b)
{
	uint32_t room = b->room ? b->room * 2 : NODES_FIRST;
	struct topology_node *nodes;

	if (b->t->count < b->room)
		return 0;
	if (b->t->count >= TOPOLOGY_NODES_MAX)
		return -E2BIG;
	if (room > TOPOLOGY_NODES_MAX)
		room = TOPOLOGY_NODES_MAX;
	nodes = realloc(b->t->nodes, room * sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	b->t->nodes = nodes;
	b->room = room;
	return 0;
}

int topology_add(struct topology_builder *b, const char *name, bool is_switch,
		 uint16_t ports)
{
	struct topology_node *n;
	int r = make_room(b);

	if (r < 0)
		return r;
	n = &b->t->nodes[b->t->count];
	*n = (struct topology_node){
		.is_switch = is_switch,
		.ports = ports,
		.links = calloc(ports + 1u, sizeof(*n->links)),
		.mft_cap = is_switch ? TOPOLOGY_MFT_CAP_DEFAULT : 0,
	};
	if (!n->links)
		return -ENOMEM;
	snprintf(n->name, sizeof(n->name), "%s", name);
	for (unsigned int i = 0; i <= ports; i++)
		n->links[i].node = TOPOLOGY_NONE;
	b->t->count++;
	return 0;
}

void topology_connect(struct topology *t, uint32_t a, uint16_t a_port, uint32_t b,
		      uint16_t b_port)
{
	t->nodes[a].links[a_port] = (struct topology_link){ b, b_port };
	t->nodes[b].links[b_port] = (struct topology_link){ a, a_port };
}

void topology_destroy(struct topology *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->count; i++)
		free(t->nodes[i].links);
	free(t->nodes);
	free(t);
}
