/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_LINUX_BVEC_H
#define KAPI_LINUX_BVEC_H

#include <linux/mm.h>

struct bio_vec {
	struct page *bv_page;
	unsigned int bv_len;
	unsigned int bv_offset;
};

static inline void *bvec_virt(const struct bio_vec *b)
{
	return (char *)page_address(b->bv_page) + b->bv_offset;
}

#endif
