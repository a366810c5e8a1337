/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_BOTH_H
#define KAPI_BOTH_H

/* What rdma_create_id, rdma_bind_addr and rdma_join_multicast return in the kernel. */
int both_kernel(void);

#endif
