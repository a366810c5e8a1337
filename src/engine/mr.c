// SPDX-License-Identifier: BSD-2-Clause
/*
 * Memory regions of the process by lkey: an open-addressing table that both sides of the
 * data path read under their own lock, so that changes take both. Warm path.
 */
#include <errno.h>
#include <stdlib.h>

#include "engine/engine_priv.h"

#define MR_BUCKETS_MIN 64u

int mr_init(struct engine *e)
{
	e->mrs.buckets = calloc(MR_BUCKETS_MIN, sizeof(*e->mrs.buckets));
	if (!e->mrs.buckets)
		return -ENOMEM;
	e->mrs.mask = MR_BUCKETS_MIN - 1;
	return 0;
}

void mr_fini(struct engine *e)
{
	free(e->mrs.buckets);
}

static struct mr *mr_probe(const struct mr_table *t, uint32_t lkey)
{
	uint32_t b = mr_bucket(t, lkey);

	while (t->buckets[b].used && t->buckets[b].lkey != lkey)
		b = (b + 1) & t->mask;
	return &t->buckets[b];
}

/* At most half full, so that a probe always ends. */
static int mr_grow(struct mr_table *t)
{
	struct mr_table bigger = { .mask = 2 * t->mask + 1, .count = t->count };

	if (2 * (t->count + 1) <= t->mask + 1)
		return 0;
	bigger.buckets = calloc((size_t)bigger.mask + 1, sizeof(*bigger.buckets));
	if (!bigger.buckets)
		return -ENOMEM;
	for (uint32_t b = 0; b <= t->mask; b++)
		if (t->buckets[b].used)
			*mr_probe(&bigger, t->buckets[b].lkey) = t->buckets[b];
	free(t->buckets);
	*t = bigger;
	return 0;
}

static int mr_add_locked(struct mr_table *t, const struct mr *new)
{
	struct mr *mr;
	int r;

	r = mr_grow(t);
	if (r < 0)
		return r;
	mr = mr_probe(t, new->lkey);
	if (mr->used)
		return -EEXIST;
	*mr = *new;
	t->count++;
	return 0;
}

int engine_mr_add(struct engine *e, uint32_t pd, uint32_t lkey, void *addr, uint64_t iova,
		  uint64_t length, unsigned int access)
{
	const struct mr mr = {
		.lkey = lkey,
		.pd = pd,
		.iova = iova,
		.length = length,
		.addr = addr,
		.access = access,
		.used = true,
	};
	int r;

	lock_take(&e->tx_lock);
	lock_take(&e->rx_lock);
	r = mr_add_locked(&e->mrs, &mr);
	lock_drop(&e->rx_lock);
	lock_drop(&e->tx_lock);
	return r;
}

/* Shift later entries back over the hole, as long as their probe begins before it. */
static void mr_remove_locked(struct mr_table *t, uint32_t lkey)
{
	uint32_t hole = (uint32_t)(mr_probe(t, lkey) - t->buckets);

	if (!t->buckets[hole].used)
		return;
	for (uint32_t b = (hole + 1) & t->mask; t->buckets[b].used;
	     b = (b + 1) & t->mask) {
		uint32_t home = mr_bucket(t, t->buckets[b].lkey);

		if (((b - home) & t->mask) < ((b - hole) & t->mask))
			continue;
		t->buckets[hole] = t->buckets[b];
		hole = b;
	}
	t->buckets[hole] = (struct mr){ 0 };
	t->count--;
}

void engine_mr_remove(struct engine *e, uint32_t lkey)
{
	lock_take(&e->tx_lock);
	lock_take(&e->rx_lock);
	mr_remove_locked(&e->mrs, lkey);
	e->tx.region = (struct mr){ 0 };
	e->rx.epoch++; /* runs know it */
	lock_drop(&e->rx_lock);
	lock_drop(&e->tx_lock);
}
