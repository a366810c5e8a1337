/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses of family AF_IB. */
#ifndef KAPI_RDMA_IB_H
#define KAPI_RDMA_IB_H

#include <linux/socket.h>
#include <linux/types.h>

struct ib_addr {
	union {
		__u8 uib_addr8[16];
		__be16 uib_addr16[8];
		__be32 uib_addr32[4];
		__be64 uib_addr64[2];
	} ib_u;
#define sib_addr8 ib_u.uib_addr8
#define sib_raw   ib_u.uib_addr8
};

struct sockaddr_ib {
	unsigned short int sib_family;
	__be16 sib_pkey;
	__be32 sib_flowinfo;
	struct ib_addr sib_addr;
	__be64 sib_sid;
	__be64 sib_sid_mask;
	__u64 sib_scope_id;
};

#endif
