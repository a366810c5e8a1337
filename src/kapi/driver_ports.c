// SPDX-License-Identifier: BSD-2-Clause
/*
 * What can be asked of the site's devices; and addresses between the two worlds.
 */
#include "kapi/driver_priv.h"

void driver_ah_attr_to_core(const struct rdma_ah_attr *from, struct core_rdma_ah_attr *to)
{
	memset(to, 0, sizeof(*to));
	to->has_grh = from->ah_flags & IB_AH_GRH;
	memcpy(&to->grh.dgid, &from->grh.dgid, sizeof(to->grh.dgid));
	to->grh.flow_label = from->grh.flow_label;
	to->grh.sgid_index = from->grh.sgid_index;
	to->grh.hop_limit = from->grh.hop_limit;
	to->grh.traffic_class = from->grh.traffic_class;
	to->port_num = from->port_num;
	to->dlid = rdma_ah_get_dlid(from);
	to->sl = from->sl;
	to->src_path_bits = rdma_ah_get_path_bits(from);
	to->static_rate = from->static_rate;
}

void driver_ah_attr_from_core(const struct core_rdma_ah_attr *from,
			      enum rdma_ah_attr_type type, struct rdma_ah_attr *to)
{
	memset(to, 0, sizeof(*to));
	to->type = type;
	to->port_num = from->port_num;
	to->sl = from->sl;
	to->static_rate = from->static_rate;
	rdma_ah_set_dlid(to, from->dlid);
	rdma_ah_set_path_bits(to, from->src_path_bits);
	if (!from->has_grh)
		return;
	to->ah_flags = IB_AH_GRH;
	memcpy(&to->grh.dgid, &from->grh.dgid, sizeof(to->grh.dgid));
	to->grh.flow_label = from->grh.flow_label;
	to->grh.sgid_index = from->grh.sgid_index;
	to->grh.hop_limit = from->grh.hop_limit;
	to->grh.traffic_class = from->grh.traffic_class;
}

static int query_device_here(struct ib_device *device, struct ib_device_attr *attr)
{
	struct core_ib_device_attr a;
	int r = core_ib_query_device(to_device(device)->core, &a);

	if (r < 0)
		return r;
	*attr = (struct ib_device_attr){
		.sys_image_guid = a.sys_image_guid,
		.max_mr_size = a.max_mr_size,
		.page_size_cap = a.page_size_cap,
		.vendor_id = a.vendor_id,
		.vendor_part_id = a.vendor_part_id,
		.hw_ver = a.hw_ver,
		.max_qp = a.max_qp,
		.max_qp_wr = a.max_qp_wr,
		.device_cap_flags = a.device_cap_flags,
		.kernel_cap_flags = IBK_BLOCK_MULTICAST_LOOPBACK,
		.max_send_sge = a.max_send_sge,
		.max_recv_sge = a.max_recv_sge,
		.max_sge_rd = a.max_recv_sge,
		.max_cq = a.max_cq,
		.max_cqe = a.max_cqe,
		.max_mr = a.max_mr,
		.max_pd = a.max_pd,
		.max_mcast_grp = a.max_mcast_grp,
		.max_mcast_qp_attach = a.max_mcast_qp_attach,
		.max_total_mcast_qp_attach = a.max_total_mcast_qp_attach,
		.max_ah = a.max_ah,
		.max_srq = a.max_srq,
		.max_srq_wr = a.max_srq_wr,
		.max_srq_sge = a.max_srq_sge,
		.max_pkeys = a.max_pkeys,
		.local_ca_ack_delay = a.local_ca_ack_delay,
	};
	return 0;
}
KAPI_ON_LOOP2(int, query_device_here, struct ib_device *, struct ib_device_attr *)

static int query_device(struct ib_device *device, struct ib_device_attr *attr,
			struct ib_udata *udata)
{
	return on_loop_query_device_here(device, attr);
}

static u64 subnet_prefix(struct core_ib_device *core, u32 port_num)
{
	struct core_ib_gid_attr gid;
	__be64 prefix;

	if (core_rdma_query_gid(core, port_num, 0, &gid) < 0)
		return 0;
	memcpy(&prefix, gid.gid.raw, sizeof(prefix));
	return be64_to_cpu(prefix);
}

static int query_port_here(struct ib_device *device, u32 port_num,
			   struct ib_port_attr *attr)
{
	struct core_ib_device *core = to_device(device)->core;
	struct core_ib_port_attr a;
	int r = core_ib_query_port(core, port_num, &a);

	if (r < 0)
		return r;
	*attr = (struct ib_port_attr){
		.subnet_prefix = subnet_prefix(core, port_num),
		.state = (enum ib_port_state)a.state,
		.max_mtu = (enum ib_mtu)a.max_mtu,
		.active_mtu = (enum ib_mtu)a.active_mtu,
		.phys_mtu = ib_mtu_enum_to_int((enum ib_mtu)a.max_mtu),
		.gid_tbl_len = a.gid_tbl_len,
		.ip_gids = core_rdma_port_get_link_layer(core, port_num) ==
			   core_IB_LINK_LAYER_ETHERNET,
		.port_cap_flags = a.port_cap_flags,
		.max_msg_sz = a.max_msg_sz,
		.bad_pkey_cntr = a.bad_pkey_cntr,
		.qkey_viol_cntr = a.qkey_viol_cntr,
		.pkey_tbl_len = a.pkey_tbl_len,
		.sm_lid = a.sm_lid,
		.lid = a.lid,
		.lmc = a.lmc,
		.max_vl_num = a.max_vl_num,
		.sm_sl = a.sm_sl,
		.subnet_timeout = a.subnet_timeout,
		.init_type_reply = a.init_type_reply,
		.active_width = a.active_width,
		.active_speed = a.active_speed,
		.phys_state = a.phys_state,
	};
	return 0;
}
KAPI_ON_LOOP3(int, query_port_here, struct ib_device *, u32, struct ib_port_attr *)

static enum rdma_link_layer link_layer_here(struct ib_device *device, u32 port_num)
{
	return (enum rdma_link_layer)core_rdma_port_get_link_layer(
		to_device(device)->core, port_num);
}
KAPI_ON_LOOP2(enum rdma_link_layer, link_layer_here, struct ib_device *, u32)

static int query_pkey_here(struct ib_device *device, u32 port_num, u16 index, u16 *pkey)
{
	return core_ib_query_pkey(to_device(device)->core, port_num, index, pkey);
}
KAPI_ON_LOOP4(int, query_pkey_here, struct ib_device *, u32, u16, u16 *)

static int query_gid_here(struct ib_device *device, u32 port_num, int index,
			  struct core_ib_gid_attr *attr)
{
	return core_rdma_query_gid(to_device(device)->core, port_num, index, attr);
}
KAPI_ON_LOOP4(int, query_gid_here, struct ib_device *, u32, int,
	      struct core_ib_gid_attr *)

int driver_query_gid(struct ib_device *device, u32 port_num, int index,
		     struct ib_gid_attr *attr, u32 *ifindex)
{
	struct core_ib_gid_attr a;
	int r = on_loop_query_gid_here(device, port_num, index, &a);

	if (r < 0)
		return r;
	memcpy(&attr->gid, &a.gid, sizeof(attr->gid));
	attr->gid_type = (enum ib_gid_type)a.gid_type;
	*ifindex = a.ifindex;
	return 0;
}

static int query_gid(struct ib_device *device, u32 port_num, int index, union ib_gid *gid)
{
	struct ib_gid_attr attr;
	u32 ifindex;
	int r = driver_query_gid(device, port_num, index, &attr, &ifindex);

	if (r == 0)
		*gid = attr.gid;
	return r;
}

static void rescan(void *arg)
{
	const struct kapi_host *host = kapi_host();

	if (host && host->rescan)
		host->rescan(host->arg);
}

void rdma_roce_rescan_device(struct ib_device *ibdev)
{
	if (device_core(ibdev))
		kapi_call(rescan, NULL);
}

const struct ib_device_ops driver_port_ops = {
	.driver_id = RDMA_DRIVER_UNKNOWN,
	.query_device = query_device,
	.query_port = on_loop_query_port_here,
	.get_link_layer = on_loop_link_layer_here,
	.query_pkey = on_loop_query_pkey_here,
	.query_gid = query_gid,
};
