// SPDX-License-Identifier: BSD-2-Clause
/*
 * A chunk is twice as large as all before it, up to a huge page, and cut into objects from
 * front to back; objects given back are handed out first, the latest first of all.
 */
#include "base/pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LINE      64u
#define CHUNK_MIN (4u << 10)
#define CHUNK_MAX (2u << 20)

struct pool_chunk {
	_Alignas(LINE) struct pool_chunk *before;
	size_t bytes;
};

struct pool_free {
	struct pool_free *next;
};

void pool_init(struct pool *p, size_t object)
{
	*p = (struct pool){ .object = (object + LINE - 1) & ~(size_t)(LINE - 1) };
	pthread_mutex_init(&p->lock, NULL);
}

void pool_fini(struct pool *p)
{
	while (p->chunks) {
		struct pool_chunk *chunk = p->chunks;

		p->chunks = chunk->before;
		munmap(chunk, chunk->bytes);
	}
	pthread_mutex_destroy(&p->lock);
}

#ifdef __SANITIZE_ADDRESS__ /* which has to see each object come and go */
void *pool_alloc(struct pool *p)
{
	return aligned_alloc(LINE, p->object);
}

void pool_free(struct pool *p, void *object)
{
	free(object);
}
#else

static void *map(size_t bytes)
{
	void *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	return m == MAP_FAILED ? NULL : m;
}

/* Where a huge page may lie: one is cut out of twice as much. */
static void *map_huge(void)
{
	char *m = map(2 * CHUNK_MAX), *at;

	if (!m)
		return NULL;
	at = (char *)(((uintptr_t)m + CHUNK_MAX - 1) & ~(uintptr_t)(CHUNK_MAX - 1));
	if (at > m)
		munmap(m, (size_t)(at - m));
	munmap(at + CHUNK_MAX, (size_t)(m + CHUNK_MAX - at));
	madvise(at, CHUNK_MAX, MADV_HUGEPAGE); /* it may decline */
	return at;
}

static int grow(struct pool *p)
{
	size_t bytes = p->chunks ? 2 * p->chunks->bytes : CHUNK_MIN;
	struct pool_chunk *chunk;

	if (bytes > CHUNK_MAX)
		bytes = CHUNK_MAX;
	chunk = bytes == CHUNK_MAX ? map_huge() : map(bytes);
	if (!chunk)
		return -1;
	chunk->before = p->chunks;
	chunk->bytes = bytes;
	p->chunks = chunk;
	p->next = (char *)(chunk + 1);
	p->end = (char *)chunk + bytes;
	return 0;
}

static void *alloc_locked(struct pool *p)
{
	void *object = p->free;

	if (object) {
		p->free = p->free->next;
		return object;
	}
	if ((size_t)(p->end - p->next) < p->object && grow(p) < 0)
		return NULL;
	object = p->next;
	p->next += p->object;
	return object;
}

void *pool_alloc(struct pool *p)
{
	void *object;

	pthread_mutex_lock(&p->lock);
	object = alloc_locked(p);
	pthread_mutex_unlock(&p->lock);
	return object;
}

void pool_free(struct pool *p, void *object)
{
	struct pool_free *f = object;

	pthread_mutex_lock(&p->lock);
	f->next = p->free;
	p->free = f;
	pthread_mutex_unlock(&p->lock);
}
#endif
