/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbcast-bench-netlist SHAPE: a topology in the form that ibsim and `verbcast fabric up`
 * read, so that both have the same. SHAPE: two-level:LEAVES:SPINES:HOSTS, or fat-tree:K.
 * No GUIDs are told: both choose those that ibsim does.
 */
#include <stdio.h>
#include <string.h>

#include "fabric/net/topology.h"

#define SEED 1u

static int make(const char *shape, struct topology **ret)
{
	unsigned int a, b, c;
	char rest;

	if (sscanf(shape, "two-level:%u:%u:%u%c", &a, &b, &c, &rest) == 3)
		return topology_two_level(a, b, c, SEED, ret);
	if (sscanf(shape, "fat-tree:%u%c", &a, &rest) == 1)
		return topology_fat_tree(a, SEED, ret);
	return -1;
}

static void print(const struct topology *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		const struct topology_node *n = &t->nodes[i];

		printf("%s %u \"%s\"\n", n->is_switch ? "Switch" : "Hca", n->ports,
		       n->name);
		for (unsigned int p = 1; p <= n->ports; p++)
			if (n->links[p].node != UINT32_MAX)
				printf("[%u]\t\"%s\"[%u]\n", p,
				       t->nodes[n->links[p].node].name, n->links[p].port);
		printf("\n");
	}
}

int main(int argc, char **argv)
{
	struct topology *t = NULL;

	if (argc != 2 || make(argv[1], &t) < 0) {
		fprintf(stderr,
			"usage: verbcast-bench-netlist two-level:LEAVES:SPINES:HOSTS"
			" | fat-tree:K\n");
		return 2;
	}
	print(t);
	topology_destroy(t);
	return 0;
}
