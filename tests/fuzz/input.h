/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fuzz target's input as a list of steps, read from its front: what is there no more is 0.
 * And copies of exact size, for AddressSanitizer to see what is read behind them.
 */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct fuzz_input {
	const uint8_t *data;
	size_t size;
};

static inline uint8_t fuzz_byte(struct fuzz_input *in)
{
	if (!in->size)
		return 0;
	in->size--;
	return *in->data++;
}

/* A length and so many bytes, as far as there are any, and room for them: how many. */
static inline size_t fuzz_bytes(struct fuzz_input *in, uint8_t *out, size_t room)
{
	size_t n = fuzz_byte(in);

	if (n > in->size)
		n = in->size;
	if (n > room)
		n = room;
	if (n)
		memcpy(out, in->data, n);
	in->data += n;
	in->size -= n;
	return n;
}

/* To be freed. */
static inline uint8_t *fuzz_exact(const uint8_t *bytes, size_t length)
{
	uint8_t *exact = malloc(length ? length : 1);

	if (!exact)
		abort();
	if (length)
		memcpy(exact, bytes, length);
	return exact;
}

#endif
