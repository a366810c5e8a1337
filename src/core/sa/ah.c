/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An address handle's attributes for a group (spec/kernel 2.10), on InfiniBand and on RoCE,
 * where the MAC address is not filled in: nobody here needs it.
 */
#include <endian.h>
#include <string.h>

#include "core/sa/sa_priv.h"

static int find_gid(struct ib_device *device, u32 port_num, const union ib_gid *gid,
		    enum ib_gid_type type, u32 ifindex, struct ib_gid_attr *ret)
{
	struct ib_port_attr port;

	if (ib_query_port(device, port_num, &port) < 0)
		return -ENOENT;
	for (int i = 0; i < port.gid_tbl_len; i++) {
		if (rdma_query_gid(device, port_num, i, ret) < 0)
			continue;
		if (ret->gid_type == type && gid_equal(ret->gid.raw, gid->raw) &&
		    (!ifindex || ret->ifindex == ifindex))
			return 0;
	}
	return -ENOENT;
}

int ib_init_ah_from_mcmember(struct ib_device *device, u32 port_num,
			     const struct ib_sa_mcmember_rec *rec, u32 ifindex,
			     enum ib_gid_type gid_type, struct rdma_ah_attr *ah_attr)
{
	enum rdma_link_layer link_layer;
	struct ib_gid_attr sgid;
	int r;

	if (!rdma_is_port_valid(device, port_num))
		return -ENOENT;
	link_layer = rdma_port_get_link_layer(device, port_num);
	if (link_layer == IB_LINK_LAYER_INFINIBAND)
		ifindex = 0;
	else if (link_layer != IB_LINK_LAYER_ETHERNET)
		return -EINVAL;
	r = find_gid(device, port_num, &rec->port_gid, gid_type, ifindex, &sgid);
	if (r < 0)
		return r;
	memset(ah_attr, 0, sizeof(*ah_attr));
	if (link_layer == IB_LINK_LAYER_INFINIBAND)
		ah_attr->dlid = be16toh(rec->mlid);
	ah_attr->sl = rec->sl;
	ah_attr->port_num = port_num;
	ah_attr->static_rate = rec->rate;
	ah_attr->has_grh = true;
	ah_attr->grh = (struct ib_global_route){
		.dgid = rec->mgid,
		.flow_label = be32toh(rec->flow_label),
		.sgid_index = (u8)sgid.index,
		.hop_limit = rec->hop_limit,
		.traffic_class = rec->traffic_class,
	};
	return 0;
}
