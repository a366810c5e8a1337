// SPDX-License-Identifier: BSD-2-Clause
/*
 * The memory of rings: the caller's, where he gives some, else malloc's. Never under a lock
 * of the engine: the caller's allocator may be anything, an interpreter with a lock of its
 * own included.
 */
#include <stdlib.h>

#include "engine/engine_priv.h"

#define RING_ALIGNMENT 64u

void *ring_alloc(struct ring_source *source, size_t bytes)
{
	const struct engine_memory *m = source->memory;
	void *ptr = ENGINE_MEMORY_DEFAULT;

	if (m)
		ptr = m->alloc(m, source->ring, bytes, RING_ALIGNMENT);
	if (ptr != ENGINE_MEMORY_DEFAULT)
		return ptr;
	source->memory = NULL;
	return malloc(bytes);
}

void ring_free(const struct ring_source *source, void *ptr)
{
	if (!source->memory)
		free(ptr);
	else if (ptr)
		source->memory->free(source->memory, source->ring, ptr);
}
