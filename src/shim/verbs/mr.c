// SPDX-License-Identifier: BSD-2-Clause
/*
 * Memory regions: verbcastd gives out the keys and judges the access flags, the engine
 * of this process looks them up on every work request.
 */
#include <stdlib.h>

#include "shim/export.h"
#include "pd.h"

/* Created by the ibv_reg_mr family, changed by ibv_rereg_mr, freed by ibv_dereg_mr. */
struct verbs_mr {
	struct ibv_mr ibv;
	struct process *process; /* a reference */
	struct uapi_reg_mr as;   /* as registered last */
	struct context_object object;
};

static struct verbs_mr *mr_of(struct ibv_mr *mr)
{
	return (struct verbs_mr *)mr;
}

/* Optional flags are those a device may ignore, and this one does. */
static unsigned int access_demanded(unsigned int access)
{
	return access & ~IBV_ACCESS_OPTIONAL_RANGE;
}

static int engine_add(struct verbs_mr *mr, const struct uapi_reg_mr *as, uint32_t lkey)
{
	return engine_mr_add(mr->process->engine, as->pd, lkey,
			     (void *)(uintptr_t)as->addr, as->iova, as->length,
			     as->access);
}

static void public_set(struct verbs_mr *mr, struct ibv_pd *pd,
		       const struct uapi_reg_mr *as, const struct uapi_reg_mr_reply *rep)
{
	mr->as = *as;
	mr->ibv.context = pd->context;
	mr->ibv.pd = pd;
	mr->ibv.addr = (void *)(uintptr_t)as->addr;
	mr->ibv.length = as->length;
	mr->ibv.handle = rep->handle;
	mr->ibv.lkey = rep->lkey;
	mr->ibv.rkey = rep->rkey;
}

static void mr_orphan(struct context_object *object)
{
	struct verbs_mr *mr = container_of(object, struct verbs_mr, object);

	engine_mr_remove(mr->process->engine, mr->ibv.lkey);
}

static struct ibv_mr *mr_register(struct ibv_pd *pd, const struct uapi_reg_mr *as)
{
	struct process *p = process_of(pd->context);
	struct uapi_reg_mr_reply rep;
	struct verbs_mr *mr;
	int r;

	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return null_errno(-ENOMEM);
	r = process_rpc(p, UAPI_REG_MR, as, sizeof(*as), &rep, sizeof(rep));
	if (r < 0)
		goto free_mr;
	mr->process = process_ref(p);
	r = engine_add(mr, as, rep.lkey);
	if (r < 0)
		goto deregister;
	public_set(mr, pd, as, &rep);
	context_adopt(pd->context, &mr->object, mr_orphan);
	return &mr->ibv;

deregister:
	process_release_rpc(p, UAPI_DEREG_MR, rep.handle);
	process_put(p);
free_mr:
	free(mr);
	return null_errno(r);
}

VC_EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
					  uint64_t iova, unsigned int access)
{
	struct uapi_reg_mr as = {
		.pd = pd->handle,
		.access = access_demanded(access),
		.addr = (uintptr_t)addr,
		.length = length,
		.iova = access & IBV_ACCESS_ZERO_BASED ? 0 : iova,
	};

	return mr_register(pd, &as);
}

#undef ibv_reg_mr
VC_EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
				    int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, access);
}

#undef ibv_reg_mr_iova
VC_EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length,
					 uint64_t iova, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, access);
}

#define REREG_FLAGS                                                 \
	(IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | \
	 IBV_REREG_MR_CHANGE_ACCESS)

static bool rereg_valid(int flags, const struct ibv_pd *pd, const void *addr,
			size_t length)
{
	if (!flags || flags & ~REREG_FLAGS)
		return false;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION && (!addr || !length))
		return false;
	return !(flags & IBV_REREG_MR_CHANGE_PD) || pd;
}

/* The new key first where it differs, so that no work request falls into a gap; the
 * same key can only be replaced. */
static int engine_replace(struct verbs_mr *mr, const struct uapi_reg_mr *to,
			  uint32_t lkey)
{
	uint32_t old = mr->ibv.lkey;
	int r;

	if (lkey == old)
		engine_mr_remove(mr->process->engine, old);
	r = engine_add(mr, to, lkey);
	if (r == 0 && lkey != old)
		engine_mr_remove(mr->process->engine, old);
	return r;
}

VC_EXPORT int ibv_rereg_mr(struct ibv_mr *ibv, int flags, struct ibv_pd *pd, void *addr,
			   size_t length, int access)
{
	struct verbs_mr *mr = mr_of(ibv);
	struct uapi_rereg_mr req = { .mr = ibv->handle, .flags = flags, .to = mr->as };
	struct uapi_reg_mr_reply rep;
	int r;

	if (!rereg_valid(flags, pd, addr, length)) {
		errno = EINVAL;
		return IBV_REREG_MR_ERR_INPUT;
	}
	if (flags & IBV_REREG_MR_CHANGE_PD)
		req.to.pd = pd->handle;
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		req.to.access = access_demanded(access);
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		req.to.addr = req.to.iova = (uintptr_t)addr;
		req.to.length = length;
	}
	r = process_rpc(mr->process, UAPI_REREG_MR, &req, sizeof(req), &rep, sizeof(rep));
	if (r == 0)
		r = engine_replace(mr, &req.to, rep.lkey);
	if (r < 0) {
		errno = -r;
		return IBV_REREG_MR_ERR_CMD;
	}
	public_set(mr, flags & IBV_REREG_MR_CHANGE_PD ? pd : ibv->pd, &req.to, &rep);
	return 0;
}

VC_EXPORT int ibv_dereg_mr(struct ibv_mr *ibv)
{
	struct verbs_mr *mr = mr_of(ibv);
	int r;

	r = process_release_rpc(mr->process, UAPI_DEREG_MR, ibv->handle);
	if (r < 0)
		return -r;
	if (!process_forked(mr->process)) {
		context_disown(ibv->context, &mr->object);
		engine_mr_remove(mr->process->engine, ibv->lkey);
	}
	process_put(mr->process);
	free(mr);
	return 0;
}
