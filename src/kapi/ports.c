// SPDX-License-Identifier: BSD-2-Clause
/*
 * What can be asked of a device and its ports, and references to entries of GID tables.
 */
#include <rdma/ib_cache.h>

#include "kapi/device.h"
#include "kapi/host.h"

u32 kapi_port_caps(const struct ib_device *device, u32 port_num)
{
	if (!rdma_is_port_valid(device, port_num) || !device->core->ports)
		return 0;
	return device->core->ports[port_num].core_cap_flags;
}

size_t rdma_max_mad_size(const struct ib_device *device, u32 port_num)
{
	u32 caps = kapi_port_caps(device, port_num);

	if (caps & RDMA_CORE_CAP_OPA_MAD)
		return OPA_MGMT_MAD_SIZE_MAX;
	return caps & RDMA_CORE_CAP_IB_MAD ? RDMA_MAX_MAD_SIZE : 0;
}

/* The driver's answer, else the node type's (spec/kernel 1.2). */
enum rdma_link_layer rdma_port_get_link_layer(struct ib_device *device, u32 port_num)
{
	if (device->ops.get_link_layer)
		return device->ops.get_link_layer(device, port_num);
	switch (device->node_type) {
	case RDMA_NODE_IB_CA:
	case RDMA_NODE_IB_SWITCH:
	case RDMA_NODE_IB_ROUTER:
		return IB_LINK_LAYER_INFINIBAND;
	default:
		return IB_LINK_LAYER_ETHERNET;
	}
}

int ib_query_port(struct ib_device *device, u32 port_num, struct ib_port_attr *port_attr)
{
	if (!rdma_is_port_valid(device, port_num))
		return -EINVAL;
	if (!device->ops.query_port)
		return -EOPNOTSUPP;
	memset(port_attr, 0, sizeof(*port_attr));
	return device->ops.query_port(device, port_num, port_attr);
}

int ib_query_pkey(struct ib_device *device, u32 port_num, u16 index, u16 *pkey)
{
	if (!rdma_is_port_valid(device, port_num))
		return -EINVAL;
	if (!device->ops.query_pkey)
		return -EOPNOTSUPP;
	return device->ops.query_pkey(device, port_num, index, pkey);
}

int ib_find_pkey(struct ib_device *device, u32 port_num, u16 pkey, u16 *index)
{
	int found = -ENOENT;

	if (!rdma_is_port_valid(device, port_num))
		return -EINVAL;
	for (int i = 0; i < device->core->ports[port_num].pkey_tbl_len; i++) {
		u16 entry;
		int r = ib_query_pkey(device, port_num, i, &entry);

		if (r < 0)
			return r;
		if (!(entry & 0x7fff) || ((entry ^ pkey) & 0x7fff))
			continue;
		if (entry & 0x8000) {
			*index = i;
			return 0;
		}
		if (found < 0)
			*index = i;
		found = 0;
	}
	return found;
}

int ib_get_cached_pkey(struct ib_device *device, u32 port_num, int index, u16 *pkey)
{
	if (index < 0)
		return -EINVAL;
	return ib_query_pkey(device, port_num, index, pkey);
}

int ib_find_cached_pkey(struct ib_device *device, u32 port_num, u16 pkey, u16 *index)
{
	return ib_find_pkey(device, port_num, pkey, index);
}

int ib_get_cached_lmc(struct ib_device *device, u32 port_num, u8 *lmc)
{
	struct ib_port_attr attr;
	int r = ib_query_port(device, port_num, &attr);

	if (r == 0)
		*lmc = attr.lmc;
	return r;
}

int ib_get_cached_port_state(struct ib_device *device, u32 port_num,
			     enum ib_port_state *state)
{
	struct ib_port_attr attr;
	int r = ib_query_port(device, port_num, &attr);

	if (r == 0)
		*state = attr.state;
	return r;
}

/* -- GIDs --------------------------------------------------------------------------- */

/* What a reference to an entry refers to: a copy, so that it stays what it was. */
struct gid_ref {
	struct ib_gid_attr attr;
	struct net_device ndev;
	refcount_t refs;
};

const struct ib_gid_attr *gid_attr_new(const struct ib_gid_attr *attr, u32 ifindex)
{
	struct gid_ref *ref = kzalloc(sizeof(*ref), GFP_KERNEL);

	if (!ref)
		return ERR_PTR(-ENOMEM);
	ref->attr = *attr;
	refcount_set(&ref->refs, 1);
	if (ifindex && if_indextoname(ifindex, ref->ndev.name)) {
		ref->ndev.ifindex = ifindex;
		ref->ndev.dev.name = ref->ndev.name;
		ref->attr.ndev = &ref->ndev;
	}
	return &ref->attr;
}

void rdma_hold_gid_attr(const struct ib_gid_attr *attr)
{
	refcount_inc(&container_of(attr, struct gid_ref, attr)->refs);
}

void rdma_put_gid_attr(const struct ib_gid_attr *attr)
{
	struct gid_ref *ref = container_of(attr, struct gid_ref, attr);

	if (refcount_dec_and_test(&ref->refs))
		kfree(ref);
}

/* A driver of a consumer's tells the GID; what type it is its port says. */
static int driver_gid_entry(struct ib_device *device, u32 port_num, int index,
			    struct ib_gid_attr *attr)
{
	static const union ib_gid zero;
	int r;

	if (!device->ops.query_gid)
		return -EOPNOTSUPP;
	r = device->ops.query_gid(device, port_num, index, &attr->gid);
	if (r < 0)
		return r;
	if (!memcmp(&attr->gid, &zero, sizeof(zero)))
		return -ENODATA;
	attr->gid_type = rdma_protocol_roce_udp_encap(device, port_num)
				 ? IB_GID_TYPE_ROCE_UDP_ENCAP
			 : rdma_protocol_roce(device, port_num) ? IB_GID_TYPE_ROCE
								: IB_GID_TYPE_IB;
	return 0;
}

int gid_entry(struct ib_device *device, u32 port_num, int index, struct ib_gid_attr *attr,
	      u32 *ifindex)
{
	int r;

	if (!rdma_is_port_valid(device, port_num) || index < 0)
		return -EINVAL;
	memset(attr, 0, sizeof(*attr));
	*ifindex = 0;
	if (device->core->query_gid)
		r = device->core->query_gid(device, port_num, index, attr, ifindex);
	else
		r = driver_gid_entry(device, port_num, index, attr);
	attr->device = device;
	attr->port_num = port_num;
	attr->index = index;
	return r;
}

int rdma_query_gid(struct ib_device *device, u32 port_num, int index, union ib_gid *gid)
{
	struct ib_gid_attr attr;
	u32 ifindex;
	int r = gid_entry(device, port_num, index, &attr, &ifindex);

	if (r == 0)
		*gid = attr.gid;
	return r;
}

const struct ib_gid_attr *rdma_get_gid_attr(struct ib_device *device, u32 port_num,
					    int index)
{
	struct ib_gid_attr attr;
	u32 ifindex;
	int r = gid_entry(device, port_num, index, &attr, &ifindex);

	if (r < 0)
		return ERR_PTR(r == -EINVAL && rdma_is_port_valid(device, port_num) &&
					       index >= 0
				       ? -ENODATA
				       : r);
	return gid_attr_new(&attr, ifindex);
}

static int gid_count(const struct ib_device *device, u32 port_num)
{
	return device->core->ports ? device->core->ports[port_num].gid_tbl_len : 0;
}

const struct ib_gid_attr *rdma_find_gid_by_port(struct ib_device *device,
						const union ib_gid *gid,
						enum ib_gid_type gid_type, u32 port,
						struct net_device *ndev)
{
	struct ib_gid_attr attr;
	u32 ifindex;

	if (!rdma_is_port_valid(device, port))
		return ERR_PTR(-ENOENT);
	for (int i = 0; i < gid_count(device, port); i++) {
		if (gid_entry(device, port, i, &attr, &ifindex) < 0)
			continue;
		if (attr.gid_type != gid_type || memcmp(&attr.gid, gid, sizeof(*gid)) ||
		    (ndev && ifindex != (u32)ndev->ifindex))
			continue;
		return gid_attr_new(&attr, ifindex);
	}
	return ERR_PTR(-ENOENT);
}

const struct ib_gid_attr *rdma_find_gid(struct ib_device *device, const union ib_gid *gid,
					enum ib_gid_type gid_type,
					struct net_device *ndev)
{
	u32 port;

	rdma_for_each_port(device, port) {
		const struct ib_gid_attr *attr =
			rdma_find_gid_by_port(device, gid, gid_type, port, ndev);

		if (!IS_ERR(attr))
			return attr;
	}
	return ERR_PTR(-ENOENT);
}

int ib_find_gid(struct ib_device *device, union ib_gid *gid, u32 *port_num, u16 *index)
{
	u32 port;

	rdma_for_each_port(device, port) {
		for (int i = 0; i < gid_count(device, port); i++) {
			union ib_gid entry;

			if (rdma_query_gid(device, port, i, &entry) < 0 ||
			    memcmp(&entry, gid, sizeof(entry)))
				continue;
			*port_num = port;
			if (index)
				*index = i;
			return 0;
		}
	}
	return -ENOENT;
}
