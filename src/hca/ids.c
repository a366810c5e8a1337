/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/ids_priv.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

int hca_ids_init(struct hca_ids *ids, uint32_t first, uint32_t count,
		 enum hca_ids_order order)
{
	ids->words = calloc((count + 63) / 64, sizeof(uint64_t));
	if (!ids->words)
		return -ENOMEM;
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

static bool in_use(const struct hca_ids *ids, uint32_t n)
{
	return ids->words[n / 64] >> (n % 64) & 1;
}

/* The first free number at or after `from`, or `count`. */
static uint32_t find_free(const struct hca_ids *ids, uint32_t from)
{
	uint32_t n = from;

	while (n < ids->count) {
		if (n % 64 == 0 && ids->words[n / 64] == UINT64_MAX)
			n += 64;
		else if (in_use(ids, n))
			n++;
		else
			return n;
	}
	return ids->count;
}

int hca_ids_alloc(struct hca_ids *ids, uint32_t *ret)
{
	uint32_t n;

	if (ids->used == ids->count)
		return -ENOMEM;
	n = find_free(ids, ids->next);
	if (n == ids->count)
		n = find_free(ids, 0);
	ids->words[n / 64] |= 1ull << (n % 64);
	ids->used++;
	ids->next = n + 1;
	*ret = ids->first + n;
	return 0;
}

void hca_ids_free(struct hca_ids *ids, uint32_t id)
{
	uint32_t n = id - ids->first;

	ids->words[n / 64] &= ~(1ull << (n % 64));
	ids->used--;
	if (ids->order == HCA_IDS_LOWEST && n < ids->next)
		ids->next = n;
}
