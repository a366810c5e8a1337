/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues. Their entries are in the process that polls them; here are their
 * existence, their size as granted, and who stands on them.
 */
#include <stdlib.h>

#include "core/verbs/core_priv.h"

static struct ib_cq *create_cq(struct ib_device *device, struct ib_ucontext *context,
			       void *cq_context, const struct ib_cq_init_attr *attr)
{
	struct ib_cq *cq;
	int r;

	if (!device->ops.create_cq)
		return ERR_PTR(-EOPNOTSUPP);
	r = core_device_check(device);
	if (r < 0)
		return ERR_PTR(r);
	if (attr->cqe == 0 || attr->comp_vector >= device->num_comp_vectors)
		return ERR_PTR(-EINVAL);
	cq = core_object_alloc(device->ops.size_ib_cq, sizeof(*cq));
	if (!cq)
		return ERR_PTR(-ENOMEM);
	cq->device = device;
	cq->context = context;
	cq->cq_context = cq_context;
	r = device->ops.create_cq(cq, attr);
	if (r < 0) {
		free(cq);
		return ERR_PTR(r);
	}
	if (context)
		context->usecnt++;
	else
		device->usecnt++;
	return cq;
}

struct ib_cq *ib_create_cq(struct ib_device *device, void *cq_context,
			   const struct ib_cq_init_attr *attr)
{
	return create_cq(device, NULL, cq_context, attr);
}

struct ib_cq *ib_create_user_cq(struct ib_ucontext *context, void *cq_context,
				const struct ib_cq_init_attr *attr)
{
	return create_cq(context->device, context, cq_context, attr);
}

int ib_resize_cq(struct ib_cq *cq, u32 cqe)
{
	int r;

	if (!cq->device->ops.resize_cq)
		return -EOPNOTSUPP;
	r = core_device_check(cq->device);
	if (r < 0)
		return r;
	if (cqe == 0)
		return -EINVAL;
	return cq->device->ops.resize_cq(cq, cqe);
}

int ib_destroy_cq_user(struct ib_cq *cq)
{
	struct ib_device *device = cq->device;
	int r;

	if (cq->usecnt)
		return -EBUSY;
	if (!device->ops.destroy_cq)
		return -EOPNOTSUPP;
	r = device->ops.destroy_cq(cq);
	if (r < 0)
		return r;
	if (cq->context)
		cq->context->usecnt--;
	else
		core_device_unuse(device);
	free(cq);
	return 0;
}

void ib_destroy_cq(struct ib_cq *cq)
{
	(void)ib_destroy_cq_user(cq);
}
