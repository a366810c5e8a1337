// SPDX-License-Identifier: BSD-2-Clause
/* Protection domains: verbcastd has them, we hold the handle. */
#include <stdlib.h>

#include "shim/export.h"
#include "pd.h"

VC_EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct uapi_handle req = { .handle = context_of(context)->handle };
	struct uapi_handle_reply rep;
	struct verbs_pd *pd;
	int r;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return null_errno(-ENOMEM);
	r = process_rpc(process_of(context), UAPI_ALLOC_PD, &req, sizeof(req), &rep,
			sizeof(rep));
	if (r < 0) {
		free(pd);
		return null_errno(r);
	}
	pd->process = process_ref(process_of(context));
	pd->ibv.context = context;
	pd->ibv.handle = rep.handle;
	return &pd->ibv;
}

VC_EXPORT int ibv_dealloc_pd(struct ibv_pd *ibv)
{
	struct verbs_pd *pd = pd_of(ibv);
	int r;

	if (atomic_load_explicit(&pd->users, memory_order_acquire))
		return EBUSY;
	if (pd_is_parent(ibv))
		return parent_domain_dealloc(pd);
	r = process_release_rpc(pd->process, UAPI_DEALLOC_PD, ibv->handle);
	if (r < 0)
		return -r;
	process_put(pd->process);
	free(pd);
	return 0;
}
