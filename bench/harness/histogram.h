/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A histogram of ticks whose buckets are 1/128 wide: percentiles without keeping (and
 * writing through the cache) a sample a round trip.
 */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stdint.h>
#include <string.h>

#define HISTOGRAM_BITS    7u
#define HISTOGRAM_BUCKETS ((64u - HISTOGRAM_BITS + 1u) << HISTOGRAM_BITS)

struct histogram {
	uint64_t count;
	uint32_t buckets[HISTOGRAM_BUCKETS];
};

static inline unsigned int histogram_bucket(uint64_t value)
{
	unsigned int shift;

	if (value < 1u << HISTOGRAM_BITS)
		return (unsigned int)value;
	shift = 63u - HISTOGRAM_BITS - (unsigned int)__builtin_clzll(value);
	return (shift << HISTOGRAM_BITS) + (unsigned int)(value >> shift);
}

static inline void histogram_add(struct histogram *h, uint64_t value)
{
	h->count++;
	h->buckets[histogram_bucket(value)]++;
}

static inline void histogram_clear(struct histogram *h)
{
	memset(h, 0, sizeof(*h));
}

/* The value below which `part` (0..1) of the samples lie; the middle of its bucket. */
uint64_t histogram_quantile(const struct histogram *h, double part);

#endif
