/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Message buffers of one spacing for all contestants: an odd number of cache lines, since
 * power-of-two spacing costs a third at 64 B (spec/performance 5.5).
 */
#ifndef BENCH_BUFFERS_H
#define BENCH_BUFFERS_H

#include <stdint.h>
#include <stdlib.h>

#include "harness/message.h"

#define BUFFERS_LINE 64u
/* Receivers take at most this many messages a call, whatever the sender's batch is. */
#define BUFFERS_POLL 32u

struct buffers {
	uint8_t *memory;
	size_t stride;
	size_t offset; /* of a buffer in its lines */
	unsigned int count;
};

static inline size_t buffers_stride(size_t bytes)
{
	return ((bytes + BUFFERS_LINE - 1) / BUFFERS_LINE | 1) * BUFFERS_LINE;
}

static inline void *buffers_at(const struct buffers *b, unsigned int index)
{
	return b->memory + index * b->stride + b->offset;
}

static inline size_t buffers_bytes(const struct buffers *b)
{
	return b->stride * b->count;
}

/* `offset` bytes of each are left in front. Every page is touched. */
static inline int buffers_init(struct buffers *b, size_t bytes, size_t offset,
			       unsigned int count)
{
	b->stride = buffers_stride(offset + bytes);
	b->offset = offset;
	b->count = count;
	b->memory = aligned_alloc(4096, (b->stride * count + 4095) / 4096 * 4096);
	if (!b->memory)
		return -1;
	memset(b->memory, 0, b->stride * count);
	return 0;
}

static inline void buffers_fini(struct buffers *b)
{
	free(b->memory);
	b->memory = NULL;
}

#endif
