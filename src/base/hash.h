/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An intrusive hash table: the node lies in the object, the owner keeps the object. It
 * grows with what is in it and never shrinks. Equal hashes are told apart by the caller:
 *
 *   hash_for_each_match(node, &table, value)
 *           if (key_equal(container_of(node, struct thing, node), key)) ...
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct hash_node {
	struct list link; /* in its bucket */
	uint32_t value;
};

struct hash {
	struct list *buckets;
	uint32_t mask;
	uint32_t count;
};

/* 0 or -ENOMEM. */
int hash_init(struct hash *h);
/* Forgets what is in it. A zeroed table is fine. */
void hash_fini(struct hash *h);
/* Cannot fail: where there is no memory to grow, chains get longer. */
void hash_insert(struct hash *h, struct hash_node *node, uint32_t value);
/* `node` is in `h`. */
void hash_remove(struct hash *h, struct hash_node *node);
/* Empty it. `each` is called once for every node, which is out of the table by then. A
 * zeroed table is fine. */
void hash_drain(struct hash *h, void (*each)(struct hash_node *node));
/* Continue with `value` of the key's earlier part, 0 at first. */
uint32_t hash_bytes(uint32_t value, const void *bytes, size_t length);

static inline struct hash_node *hash_match(const struct list *head, struct list *from,
					   uint32_t value)
{
	for (; from != head; from = from->next) {
		struct hash_node *node = container_of(from, struct hash_node, link);

		if (node->value == value)
			return node;
	}
	return NULL;
}

/* All nodes of that value. The body may not change the table and go on. */
#define hash_for_each_match(node, h, val)                                               \
	for (struct hash_node *node =                                                   \
		     hash_match(&(h)->buckets[(val) & (h)->mask],                       \
				(h)->buckets[(val) & (h)->mask].next, (val));           \
	     node; node = hash_match(&(h)->buckets[(val) & (h)->mask], node->link.next, \
				     (val)))

#endif
