/* SPDX-License-Identifier: BSD-2-Clause */
/* There is no DMA: an address for the device is the pointer. rdma/ib_verbs.h has the
 * calls. */
#ifndef KAPI_LINUX_DMA_MAPPING_H
#define KAPI_LINUX_DMA_MAPPING_H

#include <linux/device.h>
#include <linux/scatterlist.h>

enum dma_data_direction {
	DMA_BIDIRECTIONAL = 0,
	DMA_TO_DEVICE = 1,
	DMA_FROM_DEVICE = 2,
	DMA_NONE = 3,
};

#define DMA_BIT_MASK(n) ((n) == 64 ? ~0ULL : (1ULL << (n)) - 1)

#endif
