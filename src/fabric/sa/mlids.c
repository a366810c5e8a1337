/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which MLIDs are free, in two levels of bits: taking and giving cost the same however
 * many are taken, and the lowest free one is found first (spec/sa-sm 1.9).
 */
#include "fabric/sa/server_priv.h"

#define WORD_BITS 64u

static bool is_taken(const struct sa_mlids *m, uint32_t index)
{
	return m->taken[index / WORD_BITS] >> index % WORD_BITS & 1;
}

static void take(struct sa_mlids *m, uint32_t index)
{
	uint32_t word = index / WORD_BITS;

	m->taken[word] |= 1ull << index % WORD_BITS;
	if (m->taken[word] == UINT64_MAX)
		m->full[word / WORD_BITS] |= 1ull << word % WORD_BITS;
}

/* The lowest free index; SA_MLIDS_MAX or more: none. */
static uint32_t lowest_free(const struct sa_mlids *m)
{
	for (uint32_t i = 0; i < sizeof(m->full) / sizeof(m->full[0]); i++) {
		uint32_t word;

		if (m->full[i] == UINT64_MAX)
			continue;
		word = i * WORD_BITS + (uint32_t)__builtin_ctzll(~m->full[i]);
		return word * WORD_BITS + (uint32_t)__builtin_ctzll(~m->taken[word]);
	}
	return SA_MLIDS_MAX;
}

uint16_t sa_mlid_take(struct sa_mlids *m, uint32_t capacity, uint16_t wish)
{
	uint32_t index;

	if (capacity > SA_MLIDS_MAX)
		capacity = SA_MLIDS_MAX;
	if (wish >= IB_LID_MULTICAST_BASE && sa_mlid_index(wish) < capacity &&
	    !is_taken(m, sa_mlid_index(wish)))
		index = sa_mlid_index(wish);
	else
		index = lowest_free(m);
	if (index >= capacity)
		return 0;
	take(m, index);
	return (uint16_t)(IB_LID_MULTICAST_BASE + index);
}

void sa_mlid_give(struct sa_mlids *m, uint16_t mlid)
{
	uint32_t index = sa_mlid_index(mlid), word = index / WORD_BITS;

	m->taken[word] &= ~(1ull << index % WORD_BITS);
	m->full[word / WORD_BITS] &= ~(1ull << word % WORD_BITS);
}

uint32_t sa_mlid_next(const struct sa_mlids *m, uint32_t index)
{
	while (index < SA_MLIDS_MAX) {
		uint64_t word = m->taken[index / WORD_BITS] >> index % WORD_BITS;

		if (word)
			return index + (uint32_t)__builtin_ctzll(word);
		index = (index / WORD_BITS + 1) * WORD_BITS;
	}
	return SA_MLIDS_MAX;
}
