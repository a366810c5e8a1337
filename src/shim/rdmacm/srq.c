// SPDX-License-Identifier: BSD-2-Clause
/*
 * The shared receive queue of an id, from which its queue pairs take where the program
 * names no other (spec/userland 3.2; qp.c).
 */
#include <string.h>
#include <rdma/rdma_verbs.h>

#include "cm.h"

static int check(const struct rdma_cm_id *id, const struct ibv_srq_init_attr_ex *attr)
{
	if (id->srq || !id->verbs || !attr->pd)
		return -EINVAL;
	return attr->pd->context == id->verbs ? 0 : -EINVAL;
}

static int create_srq(struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq *srq;
	int r;

	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd) {
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
		attr->pd = id->pd;
	}
	r = check(id, attr);
	if (r < 0)
		return r;
	srq = ibv_create_srq_ex(id->verbs, attr);
	if (!srq)
		return errno ? -errno : -ENOMEM;
	if (!id->pd)
		id->pd = attr->pd;
	id->srq = srq;
	return 0;
}

VC_EXPORT int rdma_create_srq_ex(struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	int old, r;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	r = create_srq(id, attr);
	pthread_setcancelstate(old, NULL);
	return cm_result(r);
}

/* The older attributes are the head of the newer ones. */
VC_EXPORT int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd,
			      struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex = { 0 };
	int r;

	memcpy(&ex, attr, sizeof(*attr));
	ex.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	ex.srq_type = IBV_SRQT_BASIC;
	ex.pd = pd;
	r = rdma_create_srq_ex(id, &ex);
	if (r == 0)
		memcpy(attr, &ex, sizeof(*attr));
	return r;
}

/* Queue pairs that take from it must be gone; as everywhere in rdma_cm, nobody is told of
 * those that are not. */
VC_EXPORT void rdma_destroy_srq(struct rdma_cm_id *id)
{
	int old;

	if (!id->srq)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	ibv_destroy_srq(id->srq);
	id->srq = NULL;
	pthread_setcancelstate(old, NULL);
}
