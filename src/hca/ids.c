/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/ids_priv.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

static uint32_t words_for(uint32_t bits)
{
	return (bits + 63) / 64;
}

int hca_ids_init(struct hca_ids *ids, uint32_t first, uint32_t count,
		 enum hca_ids_order order)
{
	uint32_t words = words_for(count);

	ids->words = calloc(words + words_for(words), sizeof(uint64_t));
	if (!ids->words)
		return -ENOMEM;
	ids->full = ids->words + words;
	ids->first = first;
	ids->count = count;
	ids->next = 0;
	ids->used = 0;
	ids->order = order;
	return 0;
}

void hca_ids_fini(struct hca_ids *ids)
{
	free(ids->words);
	ids->words = NULL;
}

/* The first bit at or after `from` that is clear, or `count`. */
static uint32_t first_clear(const uint64_t *words, uint32_t count, uint32_t from)
{
	uint32_t w = from / 64;
	uint64_t clear;

	if (from >= count)
		return count;
	clear = ~words[w] & UINT64_MAX << (from % 64);
	while (!clear) {
		if (++w == words_for(count))
			return count;
		clear = ~words[w];
	}
	from = w * 64 + (uint32_t)__builtin_ctzll(clear);
	return from < count ? from : count;
}

/* The first free number at or after `from`, or `count`. */
static uint32_t find_free(const struct hca_ids *ids, uint32_t from)
{
	uint32_t words = words_for(ids->count);
	uint32_t w = from / 64;
	uint32_t n;

	if (from >= ids->count)
		return ids->count;
	/* In the word of `from`, then in the first word that is not full. */
	n = first_clear(ids->words, w + 1 == words ? ids->count : (w + 1) * 64, from);
	if (n / 64 == w && n < ids->count)
		return n;
	w = first_clear(ids->full, words, w + 1);
	return w == words ? ids->count : first_clear(ids->words, ids->count, w * 64);
}

static void set_in_use(struct hca_ids *ids, uint32_t n)
{
	uint32_t w = n / 64;

	ids->words[w] |= 1ull << (n % 64);
	if (ids->words[w] == UINT64_MAX)
		ids->full[w / 64] |= 1ull << (w % 64);
}

int hca_ids_alloc(struct hca_ids *ids, uint32_t *ret)
{
	uint32_t n;

	if (ids->used == ids->count)
		return -ENOMEM;
	n = find_free(ids, ids->next);
	if (n == ids->count)
		n = find_free(ids, 0);
	set_in_use(ids, n);
	ids->used++;
	ids->next = n + 1;
	*ret = ids->first + n;
	return 0;
}

void hca_ids_free(struct hca_ids *ids, uint32_t id)
{
	uint32_t n = id - ids->first;

	ids->words[n / 64] &= ~(1ull << (n % 64));
	ids->full[n / 64 / 64] &= ~(1ull << (n / 64 % 64));
	ids->used--;
	if (ids->order == HCA_IDS_LOWEST && n < ids->next)
		ids->next = n;
}
