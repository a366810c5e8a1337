/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A seeded source of random numbers (xoshiro256**), for state machines that must do the
 * same again from the same seed. Nothing secret may come out of it.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct random {
	uint64_t s[4];
};

void random_seed(struct random *r, uint64_t seed);
uint64_t random_u64(struct random *r);
/* 0 .. bound - 1, evenly; `bound` is not 0. */
uint64_t random_below(struct random *r, uint64_t bound);
/* True with this probability, in millionths. */
static inline bool random_chance(struct random *r, uint32_t millionths)
{
	return random_below(r, 1000000) < millionths;
}

#endif
