/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>

#define HASH_FIRST_BUCKETS 16u

static struct list *buckets_create(uint32_t count)
{
	struct list *buckets = malloc(count * sizeof(*buckets));

	if (!buckets)
		return NULL;
	for (uint32_t i = 0; i < count; i++)
		list_init(&buckets[i]);
	return buckets;
}

int hash_init(struct hash *h)
{
	h->buckets = buckets_create(HASH_FIRST_BUCKETS);
	if (!h->buckets)
		return -ENOMEM;
	h->mask = HASH_FIRST_BUCKETS - 1;
	h->count = 0;
	return 0;
}

void hash_fini(struct hash *h)
{
	free(h->buckets);
	h->buckets = NULL;
	h->count = 0;
}

static void move_all(struct list *bucket, struct list *buckets, uint32_t mask)
{
	list_for_each_safe(l, bucket) {
		struct hash_node *node = container_of(l, struct hash_node, link);

		list_remove(l);
		list_append(&buckets[node->value & mask], l);
	}
}

static void grow(struct hash *h)
{
	uint32_t mask = h->mask * 2 + 1;
	struct list *buckets = buckets_create(mask + 1);

	if (!buckets)
		return;
	for (uint32_t i = 0; i <= h->mask; i++)
		move_all(&h->buckets[i], buckets, mask);
	free(h->buckets);
	h->buckets = buckets;
	h->mask = mask;
}

void hash_insert(struct hash *h, struct hash_node *node, uint32_t value)
{
	if (h->count > h->mask && h->mask < 1u << 24)
		grow(h);
	node->value = value;
	list_append(&h->buckets[value & h->mask], &node->link);
	h->count++;
}

void hash_remove(struct hash *h, struct hash_node *node)
{
	list_remove(&node->link);
	h->count--;
}

void hash_drain(struct hash *h, void (*each)(struct hash_node *node))
{
	for (uint32_t i = 0; h->buckets && i <= h->mask; i++) {
		list_for_each_safe(l, &h->buckets[i]) {
			struct hash_node *node = container_of(l, struct hash_node, link);

			hash_remove(h, node);
			each(node);
		}
	}
}

uint32_t hash_bytes(uint32_t value, const void *bytes, size_t length)
{
	const uint8_t *p = bytes;
	uint64_t x = value ^ 0x9e3779b97f4a7c15ull;

	while (length--)
		x = (x ^ *p++) * 0x100000001b3ull;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	return (uint32_t)(x >> 32);
}
