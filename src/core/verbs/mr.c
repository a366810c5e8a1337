/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions. The core checks what can be checked without the memory, which is in
 * another process: what a key grants is enforced by that process's engine.
 */
#include <stdlib.h>

#include "core/verbs/core_priv.h"

#define ACCESS_REMOTE_WRITERS (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)

/* Who lets others write must let himself (spec/userland 2.4, 5.5). */
int ib_check_mr_access(int access)
{
	if (access & ~IB_ACCESS_SUPPORTED)
		return -EINVAL;
	if ((access & ACCESS_REMOTE_WRITERS) && !(access & IB_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	return 0;
}

static int check_range(u64 start, u64 length, u64 iova)
{
	if (length == 0)
		return -EINVAL;
	if (start + length < start || iova + length < iova)
		return -EINVAL;
	return 0;
}

struct ib_mr *ib_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova,
			     int access)
{
	struct ib_device *device = pd->device;
	struct ib_mr *mr;
	int r;

	if (!device->ops.reg_user_mr)
		return ERR_PTR(-EOPNOTSUPP);
	r = core_device_check(device);
	if (r == 0)
		r = ib_check_mr_access(access);
	if (r == 0)
		r = check_range(start, length, iova);
	if (r < 0)
		return ERR_PTR(r);

	mr = core_object_alloc(device->ops.size_ib_mr, sizeof(*mr));
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->device = device;
	mr->pd = pd;
	mr->start = start;
	mr->length = length;
	mr->iova = iova;
	mr->access = access;
	r = device->ops.reg_user_mr(mr);
	if (r < 0) {
		free(mr);
		return ERR_PTR(r);
	}
	pd->usecnt++;
	return mr;
}

static void mr_take(struct ib_mr *mr, const struct ib_mr *to)
{
	mr->pd->usecnt--;
	to->pd->usecnt++;
	mr->pd = to->pd;
	mr->start = to->start;
	mr->length = to->length;
	mr->iova = to->iova;
	mr->access = to->access;
	mr->lkey = to->lkey;
	mr->rkey = to->rkey;
}

int ib_rereg_user_mr(struct ib_mr *mr, int flags, u64 start, u64 length, u64 iova,
		     int access, struct ib_pd *pd)
{
	struct ib_mr to = *mr;
	int r;

	if (!mr->device->ops.rereg_user_mr)
		return -EOPNOTSUPP;
	r = core_device_check(mr->device);
	if (r < 0)
		return r;
	if (!flags || (flags & ~IB_MR_REREG_SUPPORTED))
		return -EINVAL;
	if (mr->usecnt)
		return -EBUSY;
	if (flags & IB_MR_REREG_ACCESS) {
		to.access = access;
		r = ib_check_mr_access(access);
		if (r < 0)
			return r;
	}
	if (flags & IB_MR_REREG_TRANS) {
		to.start = start;
		to.length = length;
		to.iova = iova;
		r = check_range(start, length, iova);
		if (r < 0)
			return r;
	}
	if (flags & IB_MR_REREG_PD) {
		if (!pd || pd->device != mr->device || pd->context != mr->pd->context)
			return -EINVAL;
		to.pd = pd;
	}
	r = mr->device->ops.rereg_user_mr(mr, flags, &to);
	if (r < 0)
		return r;
	mr_take(mr, &to);
	return 0;
}

int ib_dereg_mr(struct ib_mr *mr)
{
	struct ib_pd *pd = mr->pd;
	int r;

	if (mr->usecnt)
		return -EBUSY;
	if (!mr->device->ops.dereg_mr)
		return -EOPNOTSUPP;
	r = mr->device->ops.dereg_mr(mr);
	if (r < 0)
		return r;
	pd->usecnt--;
	free(mr);
	return 0;
}
