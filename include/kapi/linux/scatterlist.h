/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of pieces of memory. Tables are flat here, never chained. */
#ifndef KAPI_LINUX_SCATTERLIST_H
#define KAPI_LINUX_SCATTERLIST_H

#include <linux/errno.h>
#include <linux/mm.h>

struct scatterlist {
	unsigned long page_link; /* the page, and bit 1: the last of its list */
	unsigned int offset;
	unsigned int length;
	dma_addr_t dma_address;
	unsigned int dma_length;
};

struct sg_table {
	struct scatterlist *sgl;
	unsigned int nents;
	unsigned int orig_nents;
};

#define SG_END             2UL
#define sg_dma_address(sg) ((sg)->dma_address)
#define sg_dma_len(sg)     ((sg)->dma_length)
#define sg_is_last(sg)     ((sg)->page_link & SG_END)

static inline struct page *sg_page(struct scatterlist *sg)
{
	return (struct page *)(sg->page_link & ~3UL);
}

static inline void sg_set_page(struct scatterlist *sg, struct page *page,
			       unsigned int len, unsigned int offset)
{
	sg->page_link = (unsigned long)page | (sg->page_link & SG_END);
	sg->offset = offset;
	sg->length = len;
}

static inline void sg_set_buf(struct scatterlist *sg, const void *buf, unsigned int len)
{
	sg_set_page(sg, virt_to_page(buf), len, offset_in_page(buf));
}

static inline void *sg_virt(struct scatterlist *sg)
{
	return (char *)page_address(sg_page(sg)) + sg->offset;
}

static inline struct scatterlist *sg_next(struct scatterlist *sg)
{
	return sg_is_last(sg) ? NULL : sg + 1;
}

static inline void sg_mark_end(struct scatterlist *sg)
{
	sg->page_link |= SG_END;
}

static inline void sg_init_table(struct scatterlist *sg, unsigned int n)
{
	memset(sg, 0, sizeof(*sg) * n);
	sg_mark_end(&sg[n - 1]);
}

static inline void sg_init_one(struct scatterlist *sg, const void *buf, unsigned int len)
{
	sg_init_table(sg, 1);
	sg_set_buf(sg, buf, len);
}

static inline int sg_alloc_table(struct sg_table *t, unsigned int n, gfp_t flags)
{
	t->sgl = n ? kcalloc(n, sizeof(*t->sgl), flags) : NULL;
	if (!t->sgl)
		return n ? -ENOMEM : -EINVAL;
	t->nents = t->orig_nents = n;
	sg_init_table(t->sgl, n);
	return 0;
}

static inline void sg_free_table(struct sg_table *t)
{
	kfree(t->sgl);
	t->sgl = NULL;
}

#define for_each_sg(list, sg, n, i) \
	for (i = 0, sg = (list); i < (int)(n); i++, sg = sg_next(sg))
#define for_each_sgtable_sg(t, sg, i) for_each_sg((t)->sgl, sg, (t)->orig_nents, i)

#endif
