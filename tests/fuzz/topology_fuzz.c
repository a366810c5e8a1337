// SPDX-License-Identifier: BSD-2-Clause
// links: vc_fabric_net
/*
 * The parser of topologies against any text: it ends, says what is wrong, and what it
 * accepts is what topology.h promises.
 */
#include <stdlib.h>
#include <string.h>

#include "fabric/net/topology.h"

static void check_node(const struct topology *t, uint32_t i)
{
	const struct topology_node *n = &t->nodes[i];

	if (!n->name[0] || !n->node_guid || !n->ports || n->ports > TOPOLOGY_PORTS_MAX)
		abort();
	for (uint16_t p = 1; p <= n->ports; p++) {
		const struct topology_link *l = &n->links[p], *back;

		if (l->node == UINT32_MAX)
			continue;
		if (l->node >= t->count || !l->port || l->port > t->nodes[l->node].ports)
			abort();
		back = &t->nodes[l->node].links[l->port];
		if (back->node != i || back->port != p)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct topology *t = NULL;
	char error[100] = "";

	if (topology_parse((const char *)data, size, &t, error, sizeof(error)) < 0) {
		if (t || !error[0] || !memchr(error, '\0', sizeof(error)))
			abort();
		return 0;
	}
	for (uint32_t i = 0; i < t->count; i++)
		check_node(t, i);
	topology_destroy(t);
	return 0;
}
