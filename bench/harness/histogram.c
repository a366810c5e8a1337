/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness/histogram.h"

static uint64_t bucket_middle(unsigned int bucket)
{
	unsigned int shift;
	uint64_t low;

	if (bucket < 2u << HISTOGRAM_BITS)
		return bucket;
	shift = (bucket >> HISTOGRAM_BITS) - 1;
	low = (uint64_t)(bucket - (shift << HISTOGRAM_BITS)) << shift;
	return low + (1ull << shift) / 2;
}

uint64_t histogram_quantile(const struct histogram *h, double part)
{
	uint64_t wanted = (uint64_t)(part * (double)h->count), seen = 0;

	for (unsigned int i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += h->buckets[i];
		if (seen > wanted)
			return bucket_middle(i);
	}
	return 0;
}
