/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects of one size, close together: few take few pages, very many take huge ones, so
 * that whoever picks one at random does not wait for page tables as well. Aligned to a
 * cache line. Memory goes back to the system with the pool alone.
 *
 * Thread-safe, but for the making and unmaking. After fork(2) the child may use no pool of
 * its parent's: another thread may have been in it.
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <pthread.h>
#include <stddef.h>

struct pool_chunk;
struct pool_free;

struct pool {
	pthread_mutex_t lock;      /* guards the rest */
	size_t object;             /* bytes of one; fixed */
	struct pool_chunk *chunks; /* the youngest is the largest */
	struct pool_free *free;
	char *next, *end; /* what the youngest chunk has left */
};

/* Nothing is allocated yet. */
void pool_init(struct pool *p, size_t object);
/* All objects are gone with it. */
void pool_fini(struct pool *p);
/* Not cleared. Null: no memory. */
void *pool_alloc(struct pool *p);
void pool_free(struct pool *p, void *object);

#endif
