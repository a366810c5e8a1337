/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contexts, protection domains, memory regions and completion queues: on this side they
 * are little more than their number and their limits. What they do is the engine's.
 */
#include "hca/hca_priv.h"

/* Take one of at most `limit`; -ENOMEM: there are as many. */
static int use_take(uint32_t *used, uint32_t limit)
{
	if (*used >= limit)
		return -ENOMEM;
	++*used;
	return 0;
}

int hca_alloc_ucontext(struct ib_ucontext *context)
{
	return context->process < SHM_SLOTS_MAX ? 0 : -EINVAL;
}

int hca_alloc_pd(struct ib_pd *pd)
{
	struct hca_device *dev = to_hca_device(pd->device);

	return use_take(&dev->use.pds, dev->limits.max_pd);
}

int hca_dealloc_pd(struct ib_pd *pd)
{
	to_hca_device(pd->device)->use.pds--;
	return 0;
}

/* Paging on demand is the default here, and not to be asked for by name. */
static int check_access(int access)
{
	return access & IB_ACCESS_ON_DEMAND ? -EOPNOTSUPP : 0;
}

int hca_reg_user_mr(struct ib_mr *mr)
{
	struct hca_device *dev = to_hca_device(mr->device);
	int r;

	r = check_access(mr->access);
	if (r < 0)
		return r;
	r = use_take(&dev->use.mrs, dev->limits.max_mr);
	if (r < 0)
		return r;
	r = hca_key_alloc(dev->site, &mr->lkey);
	if (r < 0) {
		dev->use.mrs--;
		return r;
	}
	mr->rkey = mr->lkey;
	return 0;
}

/* Keys stay: the region is the same, so whoever holds a key of it means it. */
int hca_rereg_user_mr(struct ib_mr *mr, int flags, struct ib_mr *to)
{
	return check_access(to->access);
}

int hca_dereg_mr(struct ib_mr *mr)
{
	struct hca_device *dev = to_hca_device(mr->device);

	hca_key_free(dev->site, mr->lkey);
	dev->use.mrs--;
	return 0;
}

int hca_create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr)
{
	struct hca_device *dev = to_hca_device(cq->device);

	if (attr->flags)
		return -EOPNOTSUPP;
	if (attr->cqe > dev->limits.max_cqe)
		return -EINVAL;
	cq->cqe = attr->cqe;
	return use_take(&dev->use.cqs, dev->limits.max_cq);
}

/* Whether completions held now fit is known to the engine, which asks first. */
int hca_resize_cq(struct ib_cq *cq, u32 cqe)
{
	if (cqe > to_hca_device(cq->device)->limits.max_cqe)
		return -EINVAL;
	cq->cqe = cqe;
	return 0;
}

int hca_destroy_cq(struct ib_cq *cq)
{
	to_hca_device(cq->device)->use.cqs--;
	return 0;
}
