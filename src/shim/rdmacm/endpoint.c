// SPDX-License-Identifier: BSD-2-Clause
/*
 * Endpoints: an id with its queue pair from one call (spec/userland 3.2). The id is
 * synchronous. A passive one is bound, and listens only where connections are served;
 * an active one is resolved.
 */
#include <rdma/rdma_verbs.h>

#include "cm.h"

#define RESOLVE_TIMEOUT_MS 2000

static int place(struct rdma_cm_id *id, const struct rdma_addrinfo *res)
{
	if (res->ai_flags & RAI_PASSIVE)
		return rdma_bind_addr(id, res->ai_src_addr);
	if (rdma_resolve_addr(id, res->ai_src_addr, res->ai_dst_addr, RESOLVE_TIMEOUT_MS))
		return -1;
	return rdma_resolve_route(id, RESOLVE_TIMEOUT_MS);
}

/* The queue pairs of a passive endpoint are its connections'. */
static int furnish(struct rdma_cm_id *id, const struct rdma_addrinfo *res,
		   struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	if (!attr || res->ai_flags & RAI_PASSIVE)
		return 0;
	attr->qp_type = (enum ibv_qp_type)res->ai_qp_type;
	return rdma_create_qp(id, pd, attr);
}

VC_EXPORT int rdma_create_ep(struct rdma_cm_id **ret, struct rdma_addrinfo *res,
			     struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct rdma_cm_id *id;
	int r, error;

	r = cm_id_create(NULL, &id, NULL, (enum rdma_port_space)res->ai_port_space,
			 (enum ibv_qp_type)res->ai_qp_type);
	if (r < 0)
		return cm_result(r);
	if (place(id, res) || furnish(id, res, pd, attr)) {
		error = errno;
		rdma_destroy_id(id);
		errno = error;
		return -1;
	}
	*ret = id;
	return 0;
}

VC_EXPORT void rdma_destroy_ep(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	if (id->srq)
		rdma_destroy_srq(id);
	rdma_destroy_id(id);
}
