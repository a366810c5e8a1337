/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs: creation, change, query, destruction. Which change is allowed the driver
 * decides, by ib_modify_qp_is_ok (qp_state.c).
 */
#include <stdlib.h>
#include <string.h>

#include "core/verbs/core_priv.h"

/* All that a queue pair stands on is one device's and one user's. */
static int check_family(const struct ib_pd *pd, const struct ib_qp_init_attr *attr)
{
	const struct ib_cq *cqs[] = { attr->send_cq, attr->recv_cq };

	for (int i = 0; i < 2; i++) {
		if (!cqs[i] || cqs[i]->device != pd->device ||
		    cqs[i]->context != pd->context)
			return -EINVAL;
	}
	if (attr->srq &&
	    (attr->srq->device != pd->device || attr->srq->pd->context != pd->context))
		return -EINVAL;
	return 0;
}

struct ib_qp *ib_create_qp(struct ib_pd *pd, struct ib_qp_init_attr *attr)
{
	struct ib_device *device = pd->device;
	struct ib_qp *qp;
	int r;

	if (!device->ops.create_qp)
		return ERR_PTR(-EOPNOTSUPP);
	r = core_device_check(device);
	if (r == 0)
		r = check_family(pd, attr);
	if (r < 0)
		return ERR_PTR(r);
	qp = core_object_alloc(device->ops.size_ib_qp, sizeof(*qp));
	if (!qp)
		return ERR_PTR(-ENOMEM);
	qp->device = device;
	qp->pd = pd;
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	qp->srq = attr->srq;
	qp->qp_context = attr->qp_context;
	qp->qp_type = attr->qp_type;
	r = device->ops.create_qp(qp, attr);
	if (r < 0) {
		free(qp);
		return ERR_PTR(r);
	}
	pd->usecnt++;
	qp->send_cq->usecnt++;
	qp->recv_cq->usecnt++;
	if (qp->srq)
		qp->srq->usecnt++;
	list_append(&device->qps, &qp->device_link);
	return qp;
}

int ib_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int attr_mask)
{
	int r;

	if (!qp->device->ops.modify_qp)
		return -EOPNOTSUPP;
	r = core_device_check(qp->device);
	if (r < 0)
		return r;
	if ((attr_mask & IB_QP_PORT) && !rdma_is_port_valid(qp->device, attr->port_num))
		return -EINVAL;
	/* PSNs are 24 bits wide (spec/kernel 5.1). */
	attr->sq_psn &= 0xffffff;
	attr->rq_psn &= 0xffffff;
	return qp->device->ops.modify_qp(qp, attr, attr_mask);
}

int ib_query_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int attr_mask,
		struct ib_qp_init_attr *init_attr)
{
	if (!qp->device->ops.query_qp)
		return -EOPNOTSUPP;
	memset(attr, 0, sizeof(*attr));
	memset(init_attr, 0, sizeof(*init_attr));
	return qp->device->ops.query_qp(qp, attr, attr_mask, init_attr);
}

int ib_destroy_qp(struct ib_qp *qp)
{
	struct ib_pd *pd = qp->pd;
	int r;

	/* Attached to a group (spec/kernel 1.6). */
	if (qp->usecnt)
		return -EBUSY;
	if (!qp->device->ops.destroy_qp)
		return -EOPNOTSUPP;
	r = qp->device->ops.destroy_qp(qp);
	if (r < 0)
		return r;
	list_remove(&qp->device_link);
	if (qp->srq)
		qp->srq->usecnt--;
	qp->recv_cq->usecnt--;
	qp->send_cq->usecnt--;
	pd->usecnt--;
	free(qp);
	return 0;
}

int ib_describe_qp(struct ib_qp *qp, struct ib_qp_info *info)
{
	if (!qp->device->ops.describe_qp)
		return -EOPNOTSUPP;
	return qp->device->ops.describe_qp(qp, info);
}
