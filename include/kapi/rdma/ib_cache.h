/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of GIDs and P_Keys of a port, by reference. */
#ifndef KAPI_RDMA_IB_CACHE_H
#define KAPI_RDMA_IB_CACHE_H

#include <rdma/ib_verbs.h>

/* ERR_PTR: -EINVAL (no such port), -ENODATA (an empty place, or none). A reference. */
const struct ib_gid_attr *rdma_get_gid_attr(struct ib_device *device, u32 port_num,
					    int index) KAPI(rdma_get_gid_attr);
void rdma_put_gid_attr(const struct ib_gid_attr *attr) KAPI(rdma_put_gid_attr);
void rdma_hold_gid_attr(const struct ib_gid_attr *attr) KAPI(rdma_hold_gid_attr);
/* ERR_PTR(-ENOENT): no such entry. `ndev` null: behind any interface. A reference. */
const struct ib_gid_attr *
rdma_find_gid_by_port(struct ib_device *ib_dev, const union ib_gid *gid,
		      enum ib_gid_type gid_type, u32 port, struct net_device *ndev)
	KAPI(rdma_find_gid_by_port);
const struct ib_gid_attr *rdma_find_gid(struct ib_device *device, const union ib_gid *gid,
					enum ib_gid_type gid_type,
					struct net_device *ndev) KAPI(rdma_find_gid);
int ib_get_cached_pkey(struct ib_device *device_handle, u32 port_num, int index,
		       u16 *pkey) KAPI(ib_get_cached_pkey);
int ib_find_cached_pkey(struct ib_device *device, u32 port_num, u16 pkey, u16 *index)
	KAPI(ib_find_cached_pkey);
int ib_get_cached_lmc(struct ib_device *device, u32 port_num, u8 *lmc)
	KAPI(ib_get_cached_lmc);
int ib_get_cached_port_state(struct ib_device *device, u32 port_num,
			     enum ib_port_state *port_active)
	KAPI(ib_get_cached_port_state);

static inline enum rdma_network_type
rdma_gid_attr_network_type(const struct ib_gid_attr *a)
{
	static const u8 v4[12] = { [10] = 0xff, [11] = 0xff };

	if (a->gid_type == IB_GID_TYPE_IB)
		return RDMA_NETWORK_IB;
	if (a->gid_type == IB_GID_TYPE_ROCE)
		return RDMA_NETWORK_ROCE_V1;
	return memcmp(a->gid.raw, v4, sizeof(v4)) ? RDMA_NETWORK_IPV6 : RDMA_NETWORK_IPV4;
}

#endif
