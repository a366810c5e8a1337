/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * User contexts, protection domains, and the address handles that stand on them.
 */
#include <stdlib.h>

#include "core/verbs/core_priv.h"

struct ib_ucontext *ib_alloc_ucontext(struct ib_device *device, u32 process)
{
	struct ib_ucontext *context;
	int r;

	if (!device->ops.alloc_ucontext)
		return ERR_PTR(-EOPNOTSUPP);
	r = core_device_check(device);
	if (r < 0)
		return ERR_PTR(r);
	context = core_object_alloc(device->ops.size_ib_ucontext, sizeof(*context));
	if (!context)
		return ERR_PTR(-ENOMEM);
	context->device = device;
	context->process = process;
	r = device->ops.alloc_ucontext(context);
	if (r < 0) {
		free(context);
		return ERR_PTR(r);
	}
	device->usecnt++;
	return context;
}

int ib_dealloc_ucontext(struct ib_ucontext *context)
{
	struct ib_device *device = context->device;

	if (context->usecnt)
		return -EBUSY;
	if (device->ops.dealloc_ucontext)
		device->ops.dealloc_ucontext(context);
	free(context);
	core_device_unuse(device);
	return 0;
}

static struct ib_pd *alloc_pd(struct ib_device *device, struct ib_ucontext *context)
{
	struct ib_pd *pd;
	int r;

	if (!device->ops.alloc_pd)
		return ERR_PTR(-EOPNOTSUPP);
	r = core_device_check(device);
	if (r < 0)
		return ERR_PTR(r);
	pd = core_object_alloc(device->ops.size_ib_pd, sizeof(*pd));
	if (!pd)
		return ERR_PTR(-ENOMEM);
	pd->device = device;
	pd->context = context;
	r = device->ops.alloc_pd(pd);
	if (r < 0) {
		free(pd);
		return ERR_PTR(r);
	}
	if (context)
		context->usecnt++;
	else
		device->usecnt++;
	return pd;
}

struct ib_pd *ib_alloc_pd(struct ib_device *device, unsigned int flags)
{
	return alloc_pd(device, NULL);
}

struct ib_pd *ib_alloc_user_pd(struct ib_ucontext *context)
{
	return alloc_pd(context->device, context);
}

int ib_dealloc_pd_user(struct ib_pd *pd)
{
	struct ib_device *device = pd->device;
	int r;

	if (pd->usecnt)
		return -EBUSY;
	if (!device->ops.dealloc_pd)
		return -EOPNOTSUPP;
	r = device->ops.dealloc_pd(pd);
	if (r < 0)
		return r;
	if (pd->context)
		pd->context->usecnt--;
	else
		core_device_unuse(device);
	free(pd);
	return 0;
}

void ib_dealloc_pd(struct ib_pd *pd)
{
	(void)ib_dealloc_pd_user(pd);
}

/* The checks are those of spec/kernel 5.1, rdma_create_ah. */
static int check_ah(struct ib_device *device, const struct rdma_ah_attr *attr)
{
	struct ib_gid_attr gid;

	if (!rdma_is_port_valid(device, attr->port_num))
		return -EINVAL;
	if (!attr->has_grh)
		return rdma_port_get_link_layer(device, attr->port_num) ==
				       IB_LINK_LAYER_ETHERNET
			       ? -EINVAL
			       : 0;
	if (rdma_query_gid(device, attr->port_num, attr->grh.sgid_index, &gid) < 0)
		return -EINVAL;
	return 0;
}

struct ib_ah *rdma_create_ah(struct ib_pd *pd, const struct rdma_ah_attr *attr)
{
	struct ib_device *device = pd->device;
	struct ib_ah *ah;
	int r;

	if (!device->ops.create_ah)
		return ERR_PTR(-EOPNOTSUPP);
	r = core_device_check(device);
	if (r == 0)
		r = check_ah(device, attr);
	if (r < 0)
		return ERR_PTR(r);
	ah = core_object_alloc(device->ops.size_ib_ah, sizeof(*ah));
	if (!ah)
		return ERR_PTR(-ENOMEM);
	ah->device = device;
	ah->pd = pd;
	r = device->ops.create_ah(ah, attr);
	if (r < 0) {
		free(ah);
		return ERR_PTR(r);
	}
	pd->usecnt++;
	return ah;
}

int rdma_destroy_ah(struct ib_ah *ah)
{
	int r;

	if (!ah->device->ops.destroy_ah)
		return -EOPNOTSUPP;
	r = ah->device->ops.destroy_ah(ah);
	if (r < 0)
		return r;
	ah->pd->usecnt--;
	free(ah);
	return 0;
}
