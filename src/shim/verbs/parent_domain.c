// SPDX-License-Identifier: BSD-2-Clause
/*
 * Thread domains and parent domains: what a program says of its threads and its memory. A
 * parent domain is a protection domain under another name, with allocators for the rings of
 * queues made on it. verbcastd knows of neither.
 */
#include <stdlib.h>

#include "pd.h"

#define PARENT_MASK_KNOWN                                   \
	((uint32_t)IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | \
	 IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)

struct ibv_td *td_alloc(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct verbs_td *td;

	if (attr->comp_mask)
		return null_errno(-EINVAL);
	td = calloc(1, sizeof(*td));
	if (!td)
		return null_errno(-ENOMEM);
	td->ibv.context = context;
	return &td->ibv;
}

int td_dealloc(struct ibv_td *ibv)
{
	struct verbs_td *td = (struct verbs_td *)ibv;

	if (atomic_load_explicit(&td->users, memory_order_acquire))
		return EBUSY;
	free(td);
	return 0;
}

/* -- the rings' memory -------------------------------------------------------------- */

static void *ring_alloc(const struct engine_memory *m, enum engine_ring ring,
			size_t bytes, size_t alignment)
{
	struct verbs_pd *pd = container_of(m, struct verbs_pd, memory);
	void *ptr = pd->alloc(&pd->ibv, pd->pd_context, bytes, alignment, ring);

	return ptr == IBV_ALLOCATOR_USE_DEFAULT ? ENGINE_MEMORY_DEFAULT : ptr;
}

/* Whose device was closed has lost count of its queues: what it gave for them is its own
 * affair, as with the libraries of hardware, and what it would do with it may be gone. */
static void ring_free(const struct engine_memory *m, enum engine_ring ring, void *ptr)
{
	struct verbs_pd *pd = container_of(m, struct verbs_pd, memory);

	if (!atomic_load_explicit(&pd->orphaned, memory_order_relaxed))
		pd->free(&pd->ibv, pd->pd_context, ptr, ring);
}

void pd_use(struct ibv_pd *pd)
{
	if (pd && pd_is_parent(pd))
		atomic_fetch_add_explicit(&pd_of(pd)->users, 1, memory_order_relaxed);
}

void pd_unuse(struct ibv_pd *pd)
{
	if (pd && pd_is_parent(pd))
		atomic_fetch_sub_explicit(&pd_of(pd)->users, 1, memory_order_release);
}

void pd_orphan(struct ibv_pd *pd)
{
	if (pd && pd_is_parent(pd))
		atomic_store_explicit(&pd_of(pd)->orphaned, true, memory_order_relaxed);
}

/* -- parent domains ----------------------------------------------------------------- */

static int check(const struct ibv_context *context,
		 const struct ibv_parent_domain_init_attr *attr)
{
	if (attr->comp_mask & ~PARENT_MASK_KNOWN)
		return -EINVAL;
	if (!attr->pd || attr->pd->context != context || pd_is_parent(attr->pd))
		return -EINVAL;
	if (attr->td && attr->td->context != context)
		return -EINVAL;
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS &&
	    (!attr->alloc || !attr->free))
		return -EINVAL;
	return 0;
}

static void take_attr(struct verbs_pd *pd, const struct ibv_parent_domain_init_attr *attr)
{
	pd->base = pd_of(attr->pd);
	pd->td = (struct verbs_td *)attr->td;
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
		pd->memory = (struct engine_memory){ ring_alloc, ring_free };
		pd->alloc = attr->alloc;
		pd->free = attr->free;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		pd->pd_context = attr->pd_context;
}

struct ibv_pd *parent_domain_alloc(struct ibv_context *context,
				   struct ibv_parent_domain_init_attr *attr)
{
	struct verbs_pd *pd;
	int r;

	r = check(context, attr);
	if (r < 0)
		return null_errno(r);
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return null_errno(-ENOMEM);
	take_attr(pd, attr);
	pd->ibv.context = context;
	pd->ibv.handle = attr->pd->handle;
	pd->process = process_ref(process_of(context));
	atomic_fetch_add_explicit(&pd->base->users, 1, memory_order_relaxed);
	if (pd->td)
		atomic_fetch_add_explicit(&pd->td->users, 1, memory_order_relaxed);
	return &pd->ibv;
}

/* Nothing is made on it any more. */
int parent_domain_dealloc(struct verbs_pd *pd)
{
	if (pd->td)
		atomic_fetch_sub_explicit(&pd->td->users, 1, memory_order_release);
	atomic_fetch_sub_explicit(&pd->base->users, 1, memory_order_release);
	process_put(pd->process);
	free(pd);
	return 0;
}
