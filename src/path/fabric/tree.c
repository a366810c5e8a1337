/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From where a multicast LID reaches a port: the bound ports' datagrams are walked through
 * the switches, and the answers turned round.
 */
#include <errno.h>
#include <stdlib.h>

#include "path/fabric/fabric_path_priv.h"

#define TREES_MAX 1024u /* 10 KB each where there are a thousand ports */

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

/* -- walking ------------------------------------------------------------------------- */

/*
 * Whatever comes into one switch with one P_Key reaches the same ports, but that nothing
 * leaves by where it came in: a copy of a port's own datagram is not for it anyway. So two
 * of the ports whose datagrams come in there are walked, the one of which finds the other;
 * what either reaches is what each of them reaches.
 */
struct entry {
	struct hash_node node; /* in walk.entries, by number and P_Key */
	int number;            /* fabric_walk_entry */
	uint16_t pkey;
	unsigned int walked;
	uint64_t *sources; /* a bit a place */
	uint64_t reached[];
};

struct walk {
	const struct path_fabric *pf;
	struct tree *tree;
	struct hash entries;
	struct entry *entry; /* of the port that is walked from */
	bool failed;
};

static void reached(void *arg, struct fabric_port *port)
{
	struct walk *w = arg;
	const struct bound_port *b = bound_of(w->pf, port);

	if (b)
		w->entry->reached[b->place / 64] |= 1ull << (b->place % 64);
}

static uint32_t entry_hash(int number, uint16_t pkey)
{
	return hash_bytes(hash_bytes(0, &number, sizeof(number)), &pkey, sizeof(pkey));
}

static struct entry *entry_get(struct walk *w, int number, uint16_t pkey)
{
	uint32_t value = entry_hash(number, pkey);
	size_t words = words_of(w->tree);
	struct entry *entry;

	/* Who comes into no switch has nobody to share with. */
	if (number >= 0) {
		hash_for_each_match(node, &w->entries, value) {
			entry = container_of(node, struct entry, node);
			if (entry->number == number && entry->pkey == pkey)
				return entry;
		}
	}
	entry = calloc(1, sizeof(*entry) + 2 * words * sizeof(entry->reached[0]));
	if (!entry) {
		w->failed = true;
		return NULL;
	}
	entry->number = number;
	entry->pkey = pkey;
	entry->sources = entry->reached + words;
	hash_insert(&w->entries, &entry->node, value);
	return entry;
}

static void walk_from(struct walk *w, const struct bound_port *b)
{
	for (unsigned int i = 0; i < b->pkey_count; i++) {
		int number = fabric_walk_entry(b->port, b->pkeys[i]);

		w->entry = entry_get(w, number, b->pkeys[i]);
		if (!w->entry)
			return;
		w->entry->sources[b->place / 64] |= 1ull << (b->place % 64);
		if (w->entry->walked++ < 2)
			fabric_walk_multicast(b->port, w->tree->mlid, b->pkeys[i],
					      reached, w);
	}
}

/* -- one tree ------------------------------------------------------------------------ */

static uint64_t *ingress_of(struct walk *w, uint32_t place)
{
	uint64_t **bits = &w->tree->ingress[place];

	if (!*bits)
		*bits = calloc(words_of(w->tree), sizeof(**bits));
	if (!*bits)
		w->failed = true;
	return *bits;
}

/* What goes to its own port's members is the adapter's loopback, and there already. */
static void turn_round(struct walk *w, const struct entry *entry)
{
	size_t words = words_of(w->tree);

	for (size_t i = 0; i < words; i++) {
		for (uint64_t left = entry->reached[i]; left; left &= left - 1) {
			uint32_t place =
				(uint32_t)(i * 64) + (uint32_t)__builtin_ctzll(left);
			uint64_t *ingress = ingress_of(w, place);

			for (size_t k = 0; ingress && k < words; k++)
				ingress[k] |= entry->sources[k];
			if (ingress)
				ingress[i] &= ~(left & -left);
		}
	}
}

static void turn_all_round(struct walk *w)
{
	for (uint32_t i = 0; i <= w->entries.mask; i++) {
		list_for_each_safe(l, &w->entries.buckets[i]) {
			struct entry *entry = container_of(l, struct entry, node.link);

			turn_round(w, entry);
			free(entry);
		}
	}
	hash_fini(&w->entries);
}

static int tree_make(struct path_fabric *pf, uint16_t mlid, struct tree **ret)
{
	struct tree *t = calloc(1, sizeof(*t) + pf->room * sizeof(t->ingress[0]));
	struct walk w = { .pf = pf, .tree = t };

	if (!t)
		return -ENOMEM;
	if (hash_init(&w.entries) < 0) {
		free(t);
		return -ENOMEM;
	}
	t->mlid = mlid;
	t->generation = path_mlid_generation(pf, mlid);
	t->room = pf->room;
	for (uint32_t place = 0; place < pf->room; place++)
		if (pf->places[place])
			walk_from(&w, pf->places[place]);
	turn_all_round(&w);
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
	uint64_t generation = path_mlid_generation(pf, mlid);
	uint64_t all = path_senders_generation(pf);

	if (pf->trees_generation != all || pf->trees.count >= TREES_MAX)
		trees_forget(pf);
	pf->trees_generation = all;
	hash_for_each_match(node, &pf->trees, mlid) {
		struct tree *t = container_of(node, struct tree, node);

		if (t->generation == generation) {
			*ret = t;
			return 0;
		}
		hash_remove(&pf->trees, node);
		tree_free(t);
		break;
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
