/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses for the device. It is software, so they are pointers, as with Linux's own
 * software devices (ib_uses_virt_dma); mapping cannot fail and syncing has nothing to do.
 */
#ifndef KAPI_RDMA_VERBS_DMA_H
#define KAPI_RDMA_VERBS_DMA_H

#include <linux/bvec.h>
#include <linux/dma-mapping.h>
#include <rdma/verbs/device.h>

static inline bool ib_uses_virt_dma(struct ib_device *dev)
{
	return !dev->dma_device;
}

static inline void *ib_virt_dma_to_ptr(u64 dma_addr)
{
	return (void *)(uintptr_t)dma_addr;
}

/* There is no struct page: the start of the page in memory. */
static inline struct page *ib_virt_dma_to_page(u64 dma_addr)
{
	return virt_to_page(ib_virt_dma_to_ptr(dma_addr));
}

static inline int ib_dma_mapping_error(struct ib_device *dev, u64 dma_addr)
{
	return 0;
}

static inline u64 ib_dma_map_single(struct ib_device *dev, void *cpu_addr, size_t size,
				    enum dma_data_direction direction)
{
	return (uintptr_t)cpu_addr;
}

static inline void ib_dma_unmap_single(struct ib_device *dev, u64 addr, size_t size,
				       enum dma_data_direction direction)
{
}

static inline u64 ib_dma_map_page(struct ib_device *dev, struct page *page,
				  unsigned long offset, size_t size,
				  enum dma_data_direction direction)
{
	return (uintptr_t)page_address(page) + offset;
}

static inline void ib_dma_unmap_page(struct ib_device *dev, u64 addr, size_t size,
				     enum dma_data_direction direction)
{
}

static inline u64 ib_dma_map_bvec(struct ib_device *dev, struct bio_vec *bvec,
				  enum dma_data_direction direction)
{
	return (uintptr_t)bvec_virt(bvec);
}

static inline void ib_dma_unmap_bvec(struct ib_device *dev, u64 addr, size_t size,
				     enum dma_data_direction direction)
{
}

/* The number mapped; 0 would be failure. */
static inline int ib_dma_map_sg_attrs(struct ib_device *dev, struct scatterlist *sg,
				      int nents, enum dma_data_direction direction,
				      unsigned long dma_attrs)
{
	struct scatterlist *s;
	int i;

	for_each_sg(sg, s, nents, i) {
		s->dma_address = (uintptr_t)sg_virt(s);
		s->dma_length = s->length;
	}
	return nents;
}

static inline void ib_dma_unmap_sg_attrs(struct ib_device *dev, struct scatterlist *sg,
					 int nents, enum dma_data_direction direction,
					 unsigned long dma_attrs)
{
}

/* 0, or -EIO: nothing was mapped. */
static inline int ib_dma_map_sgtable_attrs(struct ib_device *dev, struct sg_table *sgt,
					   enum dma_data_direction direction,
					   unsigned long dma_attrs)
{
	int nents =
		ib_dma_map_sg_attrs(dev, sgt->sgl, sgt->orig_nents, direction, dma_attrs);

	if (!nents)
		return -EIO;
	sgt->nents = nents;
	return 0;
}

static inline void ib_dma_unmap_sgtable_attrs(struct ib_device *dev, struct sg_table *sgt,
					      enum dma_data_direction direction,
					      unsigned long dma_attrs)
{
}

static inline int ib_dma_map_sg(struct ib_device *dev, struct scatterlist *sg, int nents,
				enum dma_data_direction direction)
{
	return ib_dma_map_sg_attrs(dev, sg, nents, direction, 0);
}

static inline void ib_dma_unmap_sg(struct ib_device *dev, struct scatterlist *sg,
				   int nents, enum dma_data_direction direction)
{
}

static inline unsigned int ib_dma_max_seg_size(struct ib_device *dev)
{
	return UINT_MAX;
}

static inline void ib_dma_sync_single_for_cpu(struct ib_device *dev, u64 addr,
					      size_t size, enum dma_data_direction dir)
{
}

static inline void ib_dma_sync_single_for_device(struct ib_device *dev, u64 addr,
						 size_t size, enum dma_data_direction dir)
{
}

#endif
