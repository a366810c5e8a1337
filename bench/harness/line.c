/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness/line.h"

#include "harness/board.h"
#include "harness/summary.h"
#include "harness/ticks.h"

#define BLOCKS 64u
#define ROUNDS 64u /* a block; the median of the blocks counts */

static void serve(struct board *b)
{
	double block[BLOCKS];
	uint64_t round = 0;

	for (unsigned int i = 0; i < BLOCKS; i++) {
		uint64_t begin = ticks_now();

		for (unsigned int k = 0; k < ROUNDS; k++) {
			atomic_store_explicit(&b->ping, ++round, memory_order_release);
			while (atomic_load_explicit(&b->pong, memory_order_acquire) !=
			       round)
				;
		}
		block[i] = (double)(ticks_now() - begin);
	}
	b->line = (uint64_t)(summary_of(block, BLOCKS).median / ROUNDS / 2);
}

static void answer(struct board *b)
{
	for (uint64_t round = 1; round <= (uint64_t)BLOCKS * ROUNDS; round++) {
		while (atomic_load_explicit(&b->ping, memory_order_acquire) != round)
			;
		atomic_store_explicit(&b->pong, round, memory_order_release);
	}
}

void line_probe(struct board *b, unsigned int worker)
{
	if (worker == 0)
		serve(b);
	else
		answer(b);
}
