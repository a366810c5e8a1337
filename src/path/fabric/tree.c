/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From where a multicast LID reaches a port: each bound port's datagrams are walked
 * through the switches once, and the answers turned round.
 */
#include <errno.h>
#include <stdlib.h>

#include "path/fabric/fabric_path_priv.h"

static size_t words_of(const struct tree *t)
{
	return (t->room + 63) / 64;
}

static void tree_free(struct tree *t)
{
	for (uint32_t i = 0; i < t->room; i++)
		free(t->ingress[i]);
	free(t);
}

static void forget(struct hash_node *node)
{
	tree_free(container_of(node, struct tree, node));
}

void trees_forget(struct path_fabric *pf)
{
	hash_drain(&pf->trees, forget);
}

/* -- one tree ------------------------------------------------------------------------ */

struct walk {
	const struct path_fabric *pf;
	struct tree *tree;
	uint32_t from;
	bool failed;
};

/* The switches may bring a copy back to its sender, too. What goes to its own port's
 * members is the adapter's loopback, and there already. */
static void reached(void *arg, struct fabric_port *port)
{
	struct walk *w = arg;
	const struct bound_port *b = bound_of(w->pf, port);
	uint64_t **bits;

	if (!b || b->place == w->from)
		return;
	bits = &w->tree->ingress[b->place];
	if (!*bits)
		*bits = calloc(words_of(w->tree), sizeof(**bits));
	if (*bits)
		(*bits)[w->from / 64] |= 1ull << (w->from % 64);
	else
		w->failed = true;
}

static void walk_from(struct walk *w, const struct bound_port *b)
{
	struct fabric_port_info info;
	unsigned int i = 0;
	uint16_t pkey;

	w->from = b->place;
	fabric_port_info(b->port, &info);
	while (next_pkey(&info, &i, &pkey))
		fabric_walk_multicast(b->port, w->tree->mlid, pkey, reached, w);
}

static int tree_make(struct path_fabric *pf, uint16_t mlid, struct tree **ret)
{
	struct tree *t = calloc(1, sizeof(*t) + pf->room * sizeof(t->ingress[0]));
	struct walk w = { .pf = pf, .tree = t };

	if (!t)
		return -ENOMEM;
	t->mlid = mlid;
	t->room = pf->room;
	for (uint32_t place = 0; place < pf->room; place++)
		if (pf->places[place])
			walk_from(&w, pf->places[place]);
	if (w.failed) {
		tree_free(t);
		return -ENOMEM;
	}
	hash_insert(&pf->trees, &t->node, mlid);
	*ret = t;
	return 0;
}

static int tree_get(struct path_fabric *pf, uint16_t mlid, struct tree **ret)
{
	uint64_t generation = path_generation(pf);

	if (pf->trees_generation != generation)
		trees_forget(pf);
	pf->trees_generation = generation;
	hash_for_each_match(node, &pf->trees, mlid) {
		*ret = container_of(node, struct tree, node);
		return 0;
	}
	return tree_make(pf, mlid, ret);
}

/* -- the question -------------------------------------------------------------------- */

static int list_ports(const struct tree *t, const uint64_t *ingress, uint32_t *ret,
		      unsigned int room)
{
	unsigned int n = 1;

	for (size_t w = 0; ingress && w < words_of(t); w++)
		for (uint64_t bits = ingress[w]; bits; bits &= bits - 1, n++)
			if (n < room)
				ret[n] = (uint32_t)(w * 64) +
					 (uint32_t)__builtin_ctzll(bits);
	return (int)n;
}

int path_ingress_ports(void *arg, uint32_t place, const uint8_t mgid[16], uint16_t mlid,
		       uint32_t *ret, unsigned int room)
{
	struct path_fabric *pf = arg;
	struct tree *t;
	int r;

	if (room)
		ret[0] = place;
	if (!bound_at(pf, place))
		return 1;
	r = tree_get(pf, mlid, &t);
	return r < 0 ? r : list_ports(t, t->ingress[place], ret, room);
}
