/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device that a consumer registers: two ports with link layers as the test wants them,
 * and operations that count and answer what they are told to.
 */
#ifndef KAPI_FAKE_H
#define KAPI_FAKE_H

#include <rdma/ib_verbs.h>

#include "harness/harness.h"

struct fake {
	struct ib_device ib;
	enum rdma_link_layer layers[3]; /* by port, from 1 */
	enum ib_qp_state state;         /* what query_qp answers */
	u32 port;
	int query_error, attach_error;
	int attached, detached; /* calls */
	u16 lid;
	int created, destroyed; /* objects */
};

static inline struct fake *fake_of(struct ib_device *ib)
{
	return container_of(ib, struct fake, ib);
}

static inline int fake_query_port(struct ib_device *ib, u32 port,
				  struct ib_port_attr *attr)
{
	attr->state = IB_PORT_ACTIVE;
	attr->max_mtu = attr->active_mtu = IB_MTU_2048;
	attr->gid_tbl_len = 2;
	attr->pkey_tbl_len = 3;
	return 0;
}

static inline enum rdma_link_layer fake_link_layer(struct ib_device *ib, u32 port)
{
	return fake_of(ib)->layers[port];
}

static inline int fake_query_gid(struct ib_device *ib, u32 port, int index,
				 union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	if (index == 0)
		*gid = (union ib_gid){ .raw = { 0xfe, 0x80, [14] = port, [15] = 1 } };
	return 0;
}

static inline int fake_query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
	static const u16 table[] = { 0x8001, 0x0002, 0x8002 };

	*pkey = table[index];
	return 0;
}

static inline int fake_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	fake_of(pd->device)->created++;
	pd->local_dma_lkey = 7;
	return 0;
}

static inline int fake_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	fake_of(pd->device)->destroyed++;
	return 0;
}

static inline int fake_create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
				 struct uverbs_attr_bundle *attrs)
{
	fake_of(cq->device)->created++;
	return 0;
}

static inline int fake_destroy_cq(struct ib_cq *cq, struct ib_udata *udata)
{
	fake_of(cq->device)->destroyed++;
	return 0;
}

static inline int fake_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr,
				 struct ib_udata *udata)
{
	fake_of(qp->device)->created++;
	qp->qp_num = 17;
	return 0;
}

static inline int fake_query_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
				struct ib_qp_init_attr *init)
{
	attr->qp_state = fake_of(qp->device)->state;
	attr->port_num = fake_of(qp->device)->port;
	return fake_of(qp->device)->query_error;
}

static inline int fake_destroy_qp(struct ib_qp *qp, struct ib_udata *udata)
{
	fake_of(qp->device)->destroyed++;
	return 0;
}

static inline int fake_attach(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	fake_of(qp->device)->attached++;
	fake_of(qp->device)->lid = lid;
	return fake_of(qp->device)->attach_error;
}

static inline int fake_detach(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	fake_of(qp->device)->detached++;
	return fake_of(qp->device)->attach_error;
}

/* All that makes a queue pair; attach and detach are the test's to add. */
static const struct ib_device_ops fake_ops = {
	.query_port = fake_query_port,
	.get_link_layer = fake_link_layer,
	.query_gid = fake_query_gid,
	.query_pkey = fake_query_pkey,
	.alloc_pd = fake_alloc_pd,
	.dealloc_pd = fake_dealloc_pd,
	.create_cq = fake_create_cq,
	.destroy_cq = fake_destroy_cq,
	.create_qp = fake_create_qp,
	.query_qp = fake_query_qp,
	.destroy_qp = fake_destroy_qp,
};

static inline struct fake *fake_create(enum rdma_link_layer one, enum rdma_link_layer two)
{
	struct fake *f = ib_alloc_device(fake, ib);

	assert_non_null(f);
	f->layers[1] = one;
	f->layers[2] = two;
	f->ib.phys_port_cnt = 2;
	f->ib.node_type = RDMA_NODE_IB_CA;
	f->ib.num_comp_vectors = 1;
	ib_set_device_ops(&f->ib, &fake_ops);
	return f;
}

static inline void fake_destroy(struct fake *f)
{
	assert_int_equal(f->created, f->destroyed);
	ib_dealloc_device(&f->ib);
}

/* A queue pair of a device, and what it stands on. */
struct fake_qp {
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
};

static inline void fake_qp_make(struct fake_qp *q, struct ib_device *ib,
				enum ib_qp_type type)
{
	struct ib_qp_init_attr init = { .qp_type = type };

	q->pd = ib_alloc_pd(ib, 0);
	assert_false(IS_ERR(q->pd));
	q->cq = ib_alloc_cq(ib, NULL, 1, 0, IB_POLL_DIRECT);
	assert_false(IS_ERR(q->cq));
	init.send_cq = init.recv_cq = q->cq;
	q->qp = ib_create_qp(q->pd, &init);
	assert_false(IS_ERR(q->qp));
}

static inline void fake_qp_free(struct fake_qp *q)
{
	assert_int_equal(ib_destroy_qp(q->qp), 0);
	ib_free_cq(q->cq);
	ib_dealloc_pd(q->pd);
}

#endif
