/* SPDX-License-Identifier: BSD-2-Clause */
/* Building a topology, for the parser and the generators. */
#ifndef FABRIC_NET_TOPOLOGY_PRIV_H
#define FABRIC_NET_TOPOLOGY_PRIV_H

#include "fabric/net/topology.h"

#define TOPOLOGY_MFT_CAP_DEFAULT 1024u
#define TOPOLOGY_MFT_CAP_MAX     0x3fffu /* MLIDs 0xc000 .. 0xfffe */
#define TOPOLOGY_NONE            UINT32_MAX

struct topology_builder {
	struct topology *t;
	uint32_t room;
};

int topology_builder_init(struct topology_builder *b);
/* The new node is the last. -ENOMEM, or -E2BIG: TOPOLOGY_NODES_MAX are there. */
int topology_add(struct topology_builder *b, const char *name, bool is_switch,
		 uint16_t ports);
static inline struct topology_node *topology_last(struct topology_builder *b)
{
	return &b->t->nodes[b->t->count - 1];
}
/* The ports exist and are free. */
void topology_connect(struct topology *t, uint32_t a, uint16_t a_port, uint32_t b,
		      uint16_t b_port);
/* Give nodes the names that describe them, where those tell nodes apart. A description for
 * each node; empty: it has none. -ENOMEM. */
int topology_name_nodes(struct topology *t, char (*descriptions)[64]);
/* By GUID. -ENOMEM. */
int topology_sort(struct topology *t);

#endif
