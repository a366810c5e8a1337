/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibnetdiscover names nodes by their GUIDs and says in a comment what people call them. So
 * its output, read here, gives a fabric whose nodes have the names they had. In a real one
 * several may have the same description; those keep their GUIDs for names.
 *
 * It lists nodes as it meets them on its way from where it runs. Their order gives them
 * addresses here, so it is made to follow from the fabric alone, by GUID.
 */
#include "fabric/net/topology_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct candidate {
	const char *text;
	uint32_t node;
	bool is_description;
};

static int compare_candidates(const void *a, const void *b)
{
	return strcmp(((const struct candidate *)a)->text,
		      ((const struct candidate *)b)->text);
}

/* Every name and every description that is not its node's name. */
static size_t collect(const struct topology *t, char (*descriptions)[64],
		      struct candidate *all)
{
	size_t count = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		all[count++] = (struct candidate){ t->nodes[i].name, i, false };
		if (descriptions[i][0] && strcmp(descriptions[i], t->nodes[i].name) != 0)
			all[count++] = (struct candidate){ descriptions[i], i, true };
	}
	return count;
}

static bool is_alone(const struct candidate *all, size_t count, size_t i)
{
	return (i == 0 || strcmp(all[i - 1].text, all[i].text) != 0) &&
	       (i + 1 == count || strcmp(all[i + 1].text, all[i].text) != 0);
}

int topology_name_nodes(struct topology *t, char (*descriptions)[64])
{
	struct candidate *all = calloc(2 * (size_t)t->count + 1, sizeof(*all));
	bool *named = calloc((size_t)t->count + 1, sizeof(*named));
	size_t count;
	int r = -ENOMEM;

	if (!all || !named)
		goto out;
	count = collect(t, descriptions, all);
	qsort(all, count, sizeof(*all), compare_candidates);
	for (size_t i = 0; i < count; i++)
		named[all[i].node] |= all[i].is_description && is_alone(all, count, i);
	for (uint32_t i = 0; i < t->count; i++) {
		if (named[i])
			memcpy(t->nodes[i].name, descriptions[i],
			       sizeof(t->nodes[i].name));
	}
	r = 0;
out:
	free(named);
	free(all);
	return r;
}

/* -- order ------------------------------------------------------------------------------ */

static int compare_guids(const void *a, const void *b)
{
	uint64_t x = ((const struct topology_node *)a)->node_guid;
	uint64_t y = ((const struct topology_node *)b)->node_guid;

	return x < y ? -1 : x > y;
}

/* Links name nodes by number: where each has gone to is found by its GUID. */
int topology_sort(struct topology *t)
{
	uint64_t *guids = calloc((size_t)t->count + 1, sizeof(*guids));

	if (!guids)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++)
		guids[i] = t->nodes[i].node_guid;
	qsort(t->nodes, t->count, sizeof(*t->nodes), compare_guids);
	for (uint32_t i = 0; i < t->count; i++) {
		for (unsigned int port = 1; port <= t->nodes[i].ports; port++) {
			struct topology_link *l = &t->nodes[i].links[port];
			struct topology_node key;
			const struct topology_node *peer;

			if (l->node == TOPOLOGY_NONE)
				continue;
			key.node_guid = guids[l->node];
			peer = bsearch(&key, t->nodes, t->count, sizeof(key),
				       compare_guids);
			l->node = (uint32_t)(peer - t->nodes);
		}
	}
	free(guids);
	return 0;
}
