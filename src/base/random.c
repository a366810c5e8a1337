/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/random.h"

static uint64_t rotate(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

/* splitmix64, so that neighbouring seeds have nothing in common. */
void random_seed(struct random *r, uint64_t seed)
{
	for (int i = 0; i < 4; i++) {
		uint64_t z = seed += 0x9e3779b97f4a7c15ull;

		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
		z = (z ^ z >> 27) * 0x94d049bb133111ebull;
		r->s[i] = z ^ z >> 31;
	}
}

uint64_t random_u64(struct random *r)
{
	uint64_t *s = r->s, result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate(s[3], 45);
	return result;
}

uint64_t random_below(struct random *r, uint64_t bound)
{
	uint64_t limit = UINT64_MAX - UINT64_MAX % bound, x;

	do {
		x = random_u64(r);
	} while (x >= limit);
	return x % bound;
}
