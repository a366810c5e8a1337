/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Groups of the tests of the kernel API, and of their modules, on InfiniBand.
 */
#ifndef KAPI_MCMEMBER_H
#define KAPI_MCMEMBER_H

#include <rdma/ib_sa.h>

/* What a join names for a group that may not be there yet. */
#define MCMEMBER_CREATE_MASK                                       \
	(IB_SA_MCMEMBER_REC_MGID | IB_SA_MCMEMBER_REC_PORT_GID |   \
	 IB_SA_MCMEMBER_REC_PKEY | IB_SA_MCMEMBER_REC_JOIN_STATE | \
	 IB_SA_MCMEMBER_REC_QKEY | IB_SA_MCMEMBER_REC_SL |         \
	 IB_SA_MCMEMBER_REC_FLOW_LABEL | IB_SA_MCMEMBER_REC_TRAFFIC_CLASS)

/* The nth of a kind. */
static inline union ib_gid mcmember_group(u8 kind, u8 n)
{
	return (union ib_gid){
		.raw = { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [12] = 9, [14] = kind, n },
	};
}

#endif
