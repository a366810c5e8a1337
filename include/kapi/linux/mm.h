/* SPDX-License-Identifier: BSD-2-Clause */
/* A page is memory aligned to its size; its struct is never defined. */
#ifndef KAPI_LINUX_MM_H
#define KAPI_LINUX_MM_H

#include <linux/slab.h>

#define PAGE_SHIFT        12
#define PAGE_SIZE         (1UL << PAGE_SHIFT)
#define PAGE_MASK         (~(PAGE_SIZE - 1))
#define offset_in_page(p) ((unsigned long)(p) & ~PAGE_MASK)
#define PAGE_ALIGN(x)     (((x) + PAGE_SIZE - 1) & PAGE_MASK)

struct page;

static inline void *page_address(const struct page *page)
{
	return (void *)page;
}

static inline struct page *virt_to_page(const void *p)
{
	return (struct page *)((unsigned long)p & PAGE_MASK);
}

static inline struct page *alloc_pages(gfp_t flags, unsigned int order)
{
	void *p = aligned_alloc(PAGE_SIZE, PAGE_SIZE << order);

	if (p && (flags & __GFP_ZERO))
		memset(p, 0, PAGE_SIZE << order);
	return (struct page *)p;
}

static inline void __free_pages(struct page *page, unsigned int order)
{
	free((void *)page);
}

#define alloc_page(flags)      alloc_pages(flags, 0)
#define __free_page(page)      __free_pages(page, 0)
#define __get_free_page(flags) ((unsigned long)alloc_page(flags))
#define get_zeroed_page(flags) ((unsigned long)alloc_page((flags) | __GFP_ZERO))
#define free_page(p)           free((void *)(p))
#define kmap(page)             page_address(page)
#define kunmap(page)           ((void)(page))

#endif
