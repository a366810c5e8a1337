/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains, parent domains and thread domains. */
#ifndef SHIM_VERBS_PD_H
#define SHIM_VERBS_PD_H

#include <stdatomic.h>

#include "context.h"

/* A thread domain: a promise of the program's that we do not need. Created by ibv_alloc_td,
 * freed by ibv_dealloc_td, after the parent domains that name it. */
struct verbs_td {
	struct ibv_td ibv;
	_Atomic unsigned int users; /* parent domains */
};

/*
 * Created by ibv_alloc_pd or ibv_alloc_parent_domain, freed by ibv_dealloc_pd. Who uses a
 * protection domain is verbcastd's business, and the engine tells them apart by its handle.
 * A parent domain has the handle of the protection domain that it stands on, and is known
 * to nobody else; so its users are counted here.
 */
struct verbs_pd {
	struct ibv_pd ibv;
	struct process *process; /* a reference */
	_Atomic unsigned int
		users; /* parent domains on it; queues with their rings in it */
	/* Of parent domains; fixed. */
	struct verbs_pd *base; /* null: it is a protection domain */
	struct verbs_td *td;
	struct engine_memory memory; /* alloc null: no allocators */
	void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment,
		       uint64_t resource_type);
	void (*free)(struct ibv_pd *pd, void *pd_context, void *ptr,
		     uint64_t resource_type);
	void *pd_context;
	_Atomic bool orphaned; /* its device was closed over it: call nobody */
};

static inline struct verbs_pd *pd_of(const struct ibv_pd *pd)
{
	return (struct verbs_pd *)pd;
}

static inline bool pd_is_parent(const struct ibv_pd *pd)
{
	return pd_of(pd)->base;
}

/* Where the rings of a queue made on it are to lie; null: where the engine likes. */
static inline const struct engine_memory *pd_memory(const struct ibv_pd *pd)
{
	return pd && pd_of(pd)->memory.alloc ? &pd_of(pd)->memory : NULL;
}

/* A queue that a parent domain may have given memory to comes, goes, or is orphaned. All
 * other domains are fine, null too. */
void pd_use(struct ibv_pd *pd);
void pd_unuse(struct ibv_pd *pd);
void pd_orphan(struct ibv_pd *pd);

/* parent_domain.c: operations in the context's tables (ops.c), and the end of one. */
struct ibv_td *td_alloc(struct ibv_context *context, struct ibv_td_init_attr *attr);
int td_dealloc(struct ibv_td *td);
struct ibv_pd *parent_domain_alloc(struct ibv_context *context,
				   struct ibv_parent_domain_init_attr *attr);
int parent_domain_dealloc(struct verbs_pd *pd);

#endif
