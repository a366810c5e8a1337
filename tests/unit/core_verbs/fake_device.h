/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A driver that does nothing but say yes, or no when told to, and remembers what it was
 * asked: what is under test is the core above it.
 */
#ifndef CORE_VERBS_FAKE_DEVICE_H
#define CORE_VERBS_FAKE_DEVICE_H

#include <string.h>

#include "core/verbs/ib_verbs.h"

#define FAKE_PORTS_MAX 4
#define FAKE_GIDS      4

struct fake_device {
	struct ib_device ib;
	enum rdma_link_layer link_layers[FAKE_PORTS_MAX]; /* of port i + 1 */
	int refuse;                  /* what every operation answers, if not 0 */
	struct ib_qp_attr qp_attr;   /* of all queue pairs */
	struct ib_srq_attr srq_attr; /* of all shared receive queues */
	u32 srq_mask;
	unsigned int calls; /* of the operations that create, change, destroy */
	union ib_gid last_gid;
	u16 last_lid;
	unsigned int attached; /* attach calls minus detach calls that said yes */
	u32 next_qpn;
};

static inline struct fake_device *fake_of(struct ib_device *ib)
{
	return container_of(ib, struct fake_device, ib);
}

static inline int fake_answer(struct ib_device *ib)
{
	fake_of(ib)->calls++;
	return fake_of(ib)->refuse;
}

static inline int fake_query_device(struct ib_device *ib, struct ib_device_attr *attr)
{
	attr->max_qp = 7;
	attr->max_send_sge = 5;
	attr->max_recv_sge = 3;
	strcpy(attr->fw_ver, "fake");
	return fake_of(ib)->refuse;
}

static inline int fake_query_port(struct ib_device *ib, u32 port,
				  struct ib_port_attr *attr)
{
	attr->state = IB_PORT_ACTIVE;
	attr->gid_tbl_len = FAKE_GIDS;
	return fake_of(ib)->refuse;
}

static inline enum rdma_link_layer fake_get_link_layer(struct ib_device *ib, u32 port)
{
	return fake_of(ib)->link_layers[port - 1];
}

/* GID i of port p is fe80::p:i, RoCE v2 behind interface 9; the second place is empty. */
static inline union ib_gid fake_gid(u32 port, int index)
{
	return (union ib_gid){ .raw = { 0xfe, 0x80, [14] = (u8)port, [15] = (u8)index } };
}

static inline int fake_query_gid(struct ib_device *ib, u32 port, int index,
				 struct ib_gid_attr *attr)
{
	if (index >= FAKE_GIDS)
		return -EINVAL;
	if (index == 1)
		return -ENODATA;
	attr->gid = fake_gid(port, index);
	attr->gid_type = IB_GID_TYPE_ROCE_UDP_ENCAP;
	attr->index = (u16)index;
	attr->port_num = port;
	attr->ifindex = index == 2 ? 9 : 0;
	return 0;
}

static inline int fake_query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
	*pkey = 0xffff;
	return index ? -EINVAL : 0;
}

static inline int fake_alloc_ucontext(struct ib_ucontext *context)
{
	return fake_answer(context->device);
}
static inline int fake_pd(struct ib_pd *pd)
{
	return fake_answer(pd->device);
}
static inline int fake_create_ah(struct ib_ah *ah, const struct rdma_ah_attr *attr)
{
	return fake_answer(ah->device);
}
static inline int fake_destroy_ah(struct ib_ah *ah)
{
	return fake_answer(ah->device);
}
static inline int fake_mr(struct ib_mr *mr)
{
	mr->lkey = mr->rkey = 0x1234;
	return fake_answer(mr->device);
}
static inline int fake_rereg_mr(struct ib_mr *mr, int flags, struct ib_mr *to)
{
	return fake_answer(mr->device);
}
static inline int fake_create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr)
{
	cq->cqe = attr->cqe;
	return fake_answer(cq->device);
}
static inline int fake_resize_cq(struct ib_cq *cq, u32 cqe)
{
	cq->cqe = cqe;
	return fake_answer(cq->device);
}
static inline int fake_destroy_cq(struct ib_cq *cq)
{
	return fake_answer(cq->device);
}
/* Grants one more than asked for, so that what is granted can be told from that. */
static inline int fake_create_srq(struct ib_srq *srq, struct ib_srq_init_attr *attr)
{
	attr->attr.max_wr++;
	fake_of(srq->device)->srq_attr = attr->attr;
	return fake_answer(srq->device);
}
static inline int fake_modify_srq(struct ib_srq *srq, struct ib_srq_attr *attr,
				  enum ib_srq_attr_mask mask)
{
	fake_of(srq->device)->srq_attr = *attr;
	fake_of(srq->device)->srq_mask = mask;
	return fake_answer(srq->device);
}
static inline int fake_query_srq(struct ib_srq *srq, struct ib_srq_attr *attr)
{
	*attr = fake_of(srq->device)->srq_attr;
	return fake_of(srq->device)->refuse;
}
static inline int fake_destroy_srq(struct ib_srq *srq)
{
	return fake_answer(srq->device);
}
static inline int fake_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr)
{
	qp->qp_num = ++fake_of(qp->device)->next_qpn;
	return fake_answer(qp->device);
}
static inline int fake_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask)
{
	fake_of(qp->device)->qp_attr = *attr;
	return fake_answer(qp->device);
}
static inline int fake_query_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
				struct ib_qp_init_attr *init_attr)
{
	*attr = fake_of(qp->device)->qp_attr;
	return 0;
}
static inline int fake_destroy_qp(struct ib_qp *qp)
{
	return fake_answer(qp->device);
}

static inline int fake_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid, int change)
{
	struct fake_device *fake = fake_of(qp->device);
	int r = fake_answer(qp->device);

	fake->last_gid = *gid;
	fake->last_lid = lid;
	if (r == 0)
		fake->attached += (unsigned int)change;
	return r;
}
static inline int fake_attach(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	return fake_mcast(qp, gid, lid, 1);
}
static inline int fake_detach(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	return fake_mcast(qp, gid, lid, -1);
}

static inline int fake_describe_device(struct ib_device *ib, struct ib_device_info *info)
{
	info->site_device = 3;
	info->first_port = 40;
	strcpy(info->netdev, "lo");
	return 0;
}
static inline int fake_describe_qp(struct ib_qp *qp, struct ib_qp_info *info)
{
	info->counters = qp->qp_num + 100;
	return 0;
}
static inline int fake_describe_mcast(struct ib_qp *qp, const union ib_gid *gid,
				      struct ib_mcast_info *info)
{
	*info = (struct ib_mcast_info){ .entry = gid->raw[15],
					.counters = 5,
					.generation = 6 };
	return 0;
}

static const struct ib_device_ops fake_ops = {
	.query_device = fake_query_device,
	.query_port = fake_query_port,
	.get_link_layer = fake_get_link_layer,
	.query_gid = fake_query_gid,
	.query_pkey = fake_query_pkey,
	.alloc_ucontext = fake_alloc_ucontext,
	.alloc_pd = fake_pd,
	.dealloc_pd = fake_pd,
	.create_ah = fake_create_ah,
	.destroy_ah = fake_destroy_ah,
	.reg_user_mr = fake_mr,
	.rereg_user_mr = fake_rereg_mr,
	.dereg_mr = fake_mr,
	.create_cq = fake_create_cq,
	.resize_cq = fake_resize_cq,
	.destroy_cq = fake_destroy_cq,
	.create_srq = fake_create_srq,
	.modify_srq = fake_modify_srq,
	.query_srq = fake_query_srq,
	.destroy_srq = fake_destroy_srq,
	.create_qp = fake_create_qp,
	.modify_qp = fake_modify_qp,
	.query_qp = fake_query_qp,
	.destroy_qp = fake_destroy_qp,
	.attach_mcast = fake_attach,
	.detach_mcast = fake_detach,
	.describe_device = fake_describe_device,
	.describe_qp = fake_describe_qp,
	.describe_mcast = fake_describe_mcast,
};

static inline void fake_init(struct fake_device *fake, const char *name, u32 ports,
			     enum rdma_link_layer link_layer)
{
	memset(fake, 0, sizeof(*fake));
	strcpy(fake->ib.name, name);
	fake->ib.ops = fake_ops;
	fake->ib.node_type = RDMA_NODE_IB_CA;
	fake->ib.node_guid = 0x0102030405060708ull;
	fake->ib.phys_port_cnt = ports;
	fake->ib.num_comp_vectors = 1;
	for (u32 i = 0; i < ports; i++)
		fake->link_layers[i] = link_layer;
}

#endif
