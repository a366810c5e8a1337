/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A range of numbers that are given out and taken back.
 *
 * Numbers that others may still hold (queue pair numbers, keys) go round, so that a
 * number is used again as late as can be; places in a file (counter blocks) are filled
 * from below, so that the file stays small.
 */
#ifndef HCA_IDS_PRIV_H
#define HCA_IDS_PRIV_H

#include <stdint.h>

enum hca_ids_order {
	HCA_IDS_ROUND,
	HCA_IDS_LOWEST,
};

struct hca_ids {
	uint64_t *words; /* a bit a number in use */
	uint64_t *full;  /* a bit a word that is all ones; behind words, in one piece */
	uint32_t first, count;
	uint32_t next; /* where to look first, from 0 */
	uint32_t used;
	enum hca_ids_order order;
};

/* Numbers first .. first + count - 1. 0 or -ENOMEM. */
int hca_ids_init(struct hca_ids *ids, uint32_t first, uint32_t count,
		 enum hca_ids_order order);
/* A zeroed range is fine. */
void hca_ids_fini(struct hca_ids *ids);
/* -ENOMEM: all are in use. */
int hca_ids_alloc(struct hca_ids *ids, uint32_t *ret);
void hca_ids_free(struct hca_ids *ids, uint32_t id);

#endif
