// SPDX-License-Identifier: BSD-2-Clause
/*
 * Destinations and routes: asked of verbcastd, answered by events (spec/userland 3.2).
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"

#define SELECTOR_EQUAL 2

static enum cm_pending set_pending(struct cm_id *id, enum cm_pending pending)
{
	enum cm_pending before;

	cm_lock();
	before = id->pending;
	id->pending = pending;
	cm_unlock();
	return before;
}

/* Set before the request, since the answer may outrun the reply; its own error ends it. */
static int ask(struct cm_id *id, enum cm_pending pending, unsigned int op,
	       const void *request, size_t length)
{
	enum cm_pending before = set_pending(id, pending);
	int r;

	r = cm_rpc(id->generation, op, request, length, NULL, 0);
	if (r < 0)
		set_pending(id, before);
	return r;
}

VC_EXPORT int rdma_resolve_addr(struct rdma_cm_id *rdma_id, struct sockaddr *src_addr,
				struct sockaddr *dst_addr, int timeout_ms)
{
	struct cm_id *id = cm_id_of(rdma_id);
	struct uapi_cm_resolve_addr req = { .id = id->handle };
	int r;

	req.timeout_ms = (uint32_t)timeout_ms;
	req.dst_length = (uint32_t)cm_addr_size(dst_addr);
	req.src_length = (uint32_t)cm_addr_size(src_addr);
	if (!req.dst_length || (src_addr && !req.src_length))
		return cm_result(-EINVAL);
	memcpy(&req.dst, dst_addr, req.dst_length);
	if (src_addr)
		memcpy(&req.src, src_addr, req.src_length);
	r = ask(id, CM_PENDING_ADDR, UAPI_CM_RESOLVE_ADDR, &req, sizeof(req));
	if (r < 0)
		return cm_result(r);
	memcpy(&id->id.route.addr.dst_storage, dst_addr, req.dst_length);
	return cm_complete(id);
}

VC_EXPORT int rdma_resolve_route(struct rdma_cm_id *rdma_id, int timeout_ms)
{
	struct cm_id *id = cm_id_of(rdma_id);
	struct uapi_cm_resolve_route req = {
		.id = id->handle,
		.timeout_ms = (uint32_t)timeout_ms,
	};
	int r;

	r = ask(id, CM_PENDING_ROUTE, UAPI_CM_RESOLVE_ROUTE, &req, sizeof(req));
	if (r < 0)
		return cm_result(r);
	return cm_complete(id);
}

/* One path: the administrator's, or as RoCE makes it up. */
int cm_id_apply_path(struct cm_id *id, const struct uapi_cm_route *route)
{
	struct ibv_sa_path_rec *path = calloc(1, sizeof(*path));

	if (!path)
		return -ENOMEM;
	memcpy(path->dgid.raw, route->dgid, sizeof(route->dgid));
	memcpy(path->sgid.raw, route->sgid, sizeof(route->sgid));
	path->slid = htobe16(route->slid);
	path->dlid = htobe16(route->dlid);
	path->flow_label = htobe32(route->flow_label);
	path->hop_limit = route->hop_limit;
	path->traffic_class = route->traffic_class;
	path->sl = route->sl;
	path->reversible = 1;
	path->numb_path = 1;
	path->pkey = htobe16((uint16_t)route->pkey);
	path->mtu_selector = SELECTOR_EQUAL;
	path->mtu = (uint8_t)route->path_mtu;
	path->rate_selector = SELECTOR_EQUAL;
	path->rate = (uint8_t)route->path_rate;
	path->packet_life_time_selector = SELECTOR_EQUAL;
	path->packet_life_time = route->packet_life_time;
	free(id->id.route.path_rec);
	id->id.route.path_rec = path;
	id->id.route.num_paths = 1;
	return 0;
}
