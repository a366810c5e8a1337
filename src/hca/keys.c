/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory keys: 24 bits of a number that goes round, and an 8-bit tag that differs from
 * one key to the next. A tag is never 0 or 0xff, so that neither neighbour of a key
 * (key + 1, key - 1) is ever a key: programs try them (spec/userland 5.5).
 */
#include "hca/hca_priv.h"

#define TAGS 254u

int hca_key_alloc(struct hca_site *site, uint32_t *ret_key)
{
	uint32_t index;
	int r;

	r = hca_ids_alloc(&site->keys, &index);
	if (r < 0)
		return r;
	*ret_key = index << 8 | (1 + site->key_serial++ % TAGS);
	return 0;
}

void hca_key_free(struct hca_site *site, uint32_t key)
{
	hca_ids_free(&site->keys, key >> 8);
}
