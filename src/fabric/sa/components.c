/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Comparing records by components: the bits that the mask names, wherever in the record
 * they lie.
 */
#include "fabric/sa/server_priv.h"

static bool bits_equal(const uint8_t *a, const uint8_t *b, unsigned int bit,
		       unsigned int bits)
{
	while (bits) {
		unsigned int skip = bit % 8, n = 8 - skip < bits ? 8 - skip : bits;
		uint8_t mask =
			(uint8_t)(0xff >> skip) & (uint8_t)(0xff << (8 - skip - n));

		if ((a[bit / 8] ^ b[bit / 8]) & mask)
			return false;
		bit += n;
		bits -= n;
	}
	return true;
}

bool sa_components_match(const struct sa_component *components, unsigned int count,
			 uint64_t mask, const uint8_t *asked, const uint8_t *record)
{
	for (unsigned int i = 0; i < count; i++) {
		const struct sa_component *c = &components[i];

		if ((mask >> c->number & 1) &&
		    !bits_equal(asked, record, c->bit, c->bits))
			return false;
	}
	return true;
}
