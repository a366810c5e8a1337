/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues. What is posted lies in the process that posts it; here are their
 * existence, their size as granted, and which queue pairs stand on them.
 */
#include <stdlib.h>
#include <string.h>

#include "core/verbs/core_priv.h"

struct ib_srq *ib_create_srq(struct ib_pd *pd, struct ib_srq_init_attr *attr)
{
	struct ib_device *device = pd->device;
	struct ib_srq *srq;
	int r;

	if (!device->ops.create_srq)
		return ERR_PTR(-EOPNOTSUPP);
	r = core_device_check(device);
	if (r < 0)
		return ERR_PTR(r);
	srq = core_object_alloc(device->ops.size_ib_srq, sizeof(*srq));
	if (!srq)
		return ERR_PTR(-ENOMEM);
	srq->device = device;
	srq->pd = pd;
	srq->srq_context = attr->srq_context;
	srq->srq_type = attr->srq_type;
	r = device->ops.create_srq(srq, attr);
	if (r < 0) {
		free(srq);
		return ERR_PTR(r);
	}
	pd->usecnt++;
	return srq;
}

int ib_modify_srq(struct ib_srq *srq, struct ib_srq_attr *attr,
		  enum ib_srq_attr_mask attr_mask)
{
	int r;

	if (!srq->device->ops.modify_srq)
		return -EOPNOTSUPP;
	r = core_device_check(srq->device);
	if (r < 0)
		return r;
	return srq->device->ops.modify_srq(srq, attr, attr_mask);
}

int ib_query_srq(struct ib_srq *srq, struct ib_srq_attr *attr)
{
	if (!srq->device->ops.query_srq)
		return -EOPNOTSUPP;
	memset(attr, 0, sizeof(*attr));
	return srq->device->ops.query_srq(srq, attr);
}

int ib_destroy_srq_user(struct ib_srq *srq)
{
	struct ib_pd *pd = srq->pd;
	int r;

	/* A queue pair takes from it (spec/kernel 5.1). */
	if (srq->usecnt)
		return -EBUSY;
	if (!srq->device->ops.destroy_srq)
		return -EOPNOTSUPP;
	r = srq->device->ops.destroy_srq(srq);
	if (r < 0)
		return r;
	pd->usecnt--;
	free(srq);
	return 0;
}

void ib_destroy_srq(struct ib_srq *srq)
{
	(void)ib_destroy_srq_user(srq);
}
