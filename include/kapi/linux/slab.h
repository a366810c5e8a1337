/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of the kernel's allocator: that of the C library. */
#ifndef KAPI_LINUX_SLAB_H
#define KAPI_LINUX_SLAB_H

#include <stdlib.h>
#include <string.h>

#include <linux/gfp.h>
#include <linux/overflow.h>

static inline void *kmalloc(size_t size, gfp_t flags)
{
	return flags & __GFP_ZERO ? calloc(1, size ? size : 1) : malloc(size ? size : 1);
}

static inline void *kzalloc(size_t size, gfp_t flags)
{
	return calloc(1, size ? size : 1);
}

static inline void *kcalloc(size_t n, size_t size, gfp_t flags)
{
	return calloc(n ? n : 1, size ? size : 1);
}

static inline void *kmalloc_array(size_t n, size_t size, gfp_t flags)
{
	return kcalloc(n, size, flags);
}

static inline void *krealloc(const void *p, size_t size, gfp_t flags)
{
	return realloc((void *)p, size ? size : 1);
}

static inline void kfree(const void *p)
{
	free((void *)p);
}

static inline void kfree_sensitive(const void *p)
{
	free((void *)p);
}

#define kzalloc_node(size, flags, node) kzalloc(size, flags)
#define kmalloc_node(size, flags, node) kmalloc(size, flags)
#define kvmalloc(size, flags)           kmalloc(size, flags)
#define kvzalloc(size, flags)           kzalloc(size, flags)
#define kvcalloc(n, size, flags)        kcalloc(n, size, flags)
#define kvmalloc_array(n, size, flags)  kmalloc_array(n, size, flags)
#define kvfree(p)                       kfree(p)

/* A cache of objects of one size: here no more than the size. */
struct kmem_cache {
	size_t size;
	void (*ctor)(void *);
};

#define SLAB_HWCACHE_ALIGN 0x2000u

static inline struct kmem_cache *kmem_cache_create(const char *name, unsigned int size,
						   unsigned int align, unsigned int flags,
						   void (*ctor)(void *))
{
	struct kmem_cache *cache = calloc(1, sizeof(*cache));

	if (cache) {
		cache->size = size;
		cache->ctor = ctor;
	}
	return cache;
}

static inline void kmem_cache_destroy(struct kmem_cache *cache)
{
	free(cache);
}

static inline void *kmem_cache_alloc(struct kmem_cache *cache, gfp_t flags)
{
	void *p = kmalloc(cache->size, flags);

	if (p && cache->ctor)
		cache->ctor(p);
	return p;
}

static inline void *kmem_cache_zalloc(struct kmem_cache *cache, gfp_t flags)
{
	return kmem_cache_alloc(cache, flags | __GFP_ZERO);
}

static inline void kmem_cache_free(struct kmem_cache *cache, void *p)
{
	free(p);
}

#endif
