// SPDX-License-Identifier: BSD-2-Clause
/*
 * Protection domains, memory regions and shared receive queues: the checks of spec/kernel
 * 5.1, and who stands on whom. What they do on the device is the driver's.
 */
#include "kapi/objects.h"

void *object_alloc(size_t driver_size, size_t core_size)
{
	return kzalloc(max(driver_size, core_size), GFP_KERNEL);
}

/* -- protection domains ------------------------------------------------------------- */

/* The key to all memory, where the device has none that is always there. */
static int give_dma_key(struct ib_pd *pd, unsigned int flags)
{
	int access = IB_ACCESS_LOCAL_WRITE;
	struct ib_mr *mr;

	if (flags & IB_PD_UNSAFE_GLOBAL_RKEY)
		access |= IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE;
	if (pd->device->attrs.kernel_cap_flags & IBK_LOCAL_DMA_LKEY)
		pd->local_dma_lkey = pd->device->local_dma_lkey;
	else if (!pd->device->ops.get_dma_mr)
		return -EOPNOTSUPP;
	if (!(flags & IB_PD_UNSAFE_GLOBAL_RKEY) && pd->local_dma_lkey)
		return 0;
	if (!pd->device->ops.get_dma_mr)
		return -EOPNOTSUPP;
	mr = pd->device->ops.get_dma_mr(pd, access);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	mr->device = pd->device;
	mr->pd = pd;
	mr->type = IB_MR_TYPE_DMA;
	pd->__internal_mr = mr;
	if (!pd->local_dma_lkey)
		pd->local_dma_lkey = mr->lkey;
	if (flags & IB_PD_UNSAFE_GLOBAL_RKEY)
		pd->unsafe_global_rkey = mr->rkey;
	return 0;
}

struct ib_pd *__ib_alloc_pd(struct ib_device *device, unsigned int flags,
			    const char *caller)
{
	struct ib_pd *pd;
	int r;

	if (!device->ops.alloc_pd)
		return ERR_PTR(-EOPNOTSUPP);
	pd = object_alloc(device->ops.size_ib_pd, sizeof(*pd));
	if (!pd)
		return ERR_PTR(-ENOMEM);
	pd->device = device;
	pd->flags = flags;
	r = device->ops.alloc_pd(pd, NULL);
	if (r < 0) {
		kfree(pd);
		return ERR_PTR(r);
	}
	r = give_dma_key(pd, flags);
	if (r < 0 && (r != -EOPNOTSUPP || (flags & IB_PD_UNSAFE_GLOBAL_RKEY))) {
		ib_dealloc_pd(pd);
		return ERR_PTR(r);
	}
	if (flags & IB_PD_UNSAFE_GLOBAL_RKEY)
		pr_warn("%s: a key to all memory for the other side\n", device->name);
	return pd;
}

int ib_dealloc_pd_user(struct ib_pd *pd, struct ib_udata *udata)
{
	int r;

	if (WARN_ON(atomic_read(&pd->usecnt)))
		return -EBUSY;
	if (pd->__internal_mr) {
		r = pd->device->ops.dereg_mr
			    ? pd->device->ops.dereg_mr(pd->__internal_mr, udata)
			    : -EOPNOTSUPP;
		WARN_ON(r);
		pd->__internal_mr = NULL;
	}
	r = pd->device->ops.dealloc_pd ? pd->device->ops.dealloc_pd(pd, udata)
				       : -EOPNOTSUPP;
	if (r)
		return r;
	kfree(pd);
	return 0;
}

/* -- memory regions ----------------------------------------------------------------- */

struct ib_mr *ib_alloc_mr(struct ib_pd *pd, enum ib_mr_type mr_type, u32 max_num_sg)
{
	struct ib_mr *mr;

	if (!pd->device->ops.alloc_mr)
		return ERR_PTR(-EOPNOTSUPP);
	if (mr_type == IB_MR_TYPE_INTEGRITY)
		return ERR_PTR(-EINVAL);
	mr = pd->device->ops.alloc_mr(pd, mr_type, max_num_sg);
	if (IS_ERR(mr))
		return mr;
	mr->device = pd->device;
	mr->pd = pd;
	mr->type = mr_type;
	atomic_inc(&pd->usecnt);
	return mr;
}

int ib_dereg_mr_user(struct ib_mr *mr, struct ib_udata *udata)
{
	struct ib_pd *pd = mr->pd;
	int r;

	if (!mr->device->ops.dereg_mr)
		return -EOPNOTSUPP;
	r = mr->device->ops.dereg_mr(mr, udata);
	if (r == 0)
		atomic_dec(&pd->usecnt);
	return r;
}

int ib_check_mr_status(struct ib_mr *mr, u32 check_mask, struct ib_mr_status *mr_status)
{
	if (!mr->device->ops.check_mr_status)
		return -EOPNOTSUPP;
	return mr->device->ops.check_mr_status(mr, check_mask, mr_status);
}

/* -- shared receive queues ---------------------------------------------------------- */

struct ib_srq *ib_create_srq_user(struct ib_pd *pd, struct ib_srq_init_attr *attr,
				  void *uobject, struct ib_udata *udata)
{
	struct ib_srq *srq;
	int r;

	if (!pd->device->ops.create_srq)
		return ERR_PTR(-EOPNOTSUPP);
	srq = object_alloc(pd->device->ops.size_ib_srq, sizeof(*srq));
	if (!srq)
		return ERR_PTR(-ENOMEM);
	srq->device = pd->device;
	srq->pd = pd;
	srq->event_handler = attr->event_handler;
	srq->srq_context = attr->srq_context;
	srq->srq_type = attr->srq_type;
	r = pd->device->ops.create_srq(srq, attr, udata);
	if (r < 0) {
		kfree(srq);
		return ERR_PTR(r);
	}
	atomic_inc(&pd->usecnt);
	return srq;
}

int ib_modify_srq(struct ib_srq *srq, struct ib_srq_attr *attr,
		  enum ib_srq_attr_mask attr_mask)
{
	if (!srq->device->ops.modify_srq)
		return -EOPNOTSUPP;
	return srq->device->ops.modify_srq(srq, attr, attr_mask, NULL);
}

int ib_query_srq(struct ib_srq *srq, struct ib_srq_attr *attr)
{
	if (!srq->device->ops.query_srq)
		return -EOPNOTSUPP;
	return srq->device->ops.query_srq(srq, attr);
}

int ib_destroy_srq_user(struct ib_srq *srq, struct ib_udata *udata)
{
	struct ib_pd *pd = srq->pd;
	int r;

	if (atomic_read(&srq->usecnt))
		return -EBUSY;
	if (!srq->device->ops.destroy_srq)
		return -EOPNOTSUPP;
	r = srq->device->ops.destroy_srq(srq, udata);
	if (r)
		return r;
	atomic_dec(&pd->usecnt);
	kfree(srq);
	return 0;
}

int ib_post_srq_recv(struct ib_srq *srq, const struct ib_recv_wr *recv_wr,
		     const struct ib_recv_wr **bad_recv_wr)
{
	const struct ib_recv_wr *dummy;

	if (!srq->device->ops.post_srq_recv)
		return -EOPNOTSUPP;
	return srq->device->ops.post_srq_recv(srq, recv_wr,
					      bad_recv_wr ? bad_recv_wr : &dummy);
}
