/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Destinations and routes (spec/kernel 3.10, spec/userland 3.2).
 *
 * There is nobody to ask over a network: groups need no neighbour, and an address that is
 * not the site's counts as on the link, as Linux takes it for a bound source without a
 * route and for the loopback interface; what is sent there leaves the machine and is
 * dropped by name (WIRE_OFF). So the answer is found when the event's turn comes, and no
 * resolution of an address times out. A route over InfiniBand is asked of the subnet
 * administrator, and that may.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "core/cm/cma_priv.h"
#include "wire/mtu.h"
#include "wire/sa.h"

static void deliver(struct cma_id *id, enum cma_event_type type, int status)
{
	struct cma_event event = { .event = type, .status = status };

	id->config.event(id, &event);
}

/* A wildcard source becomes the address of the port that was chosen; its port stays. */
static void adopt_source(struct cma_id *id, const struct cma_source *source)
{
	u16 port = addr_port(cma_sockaddr(&id->src));

	cma_id_set_source(id, source);
	if (!addr_is_any(cma_sockaddr(&id->src)))
		return;
	id->src = source->addr;
	addr_set_port((struct sockaddr *)&id->src, port);
}

static int find_device(struct cma_id *id)
{
	const struct sockaddr *dst = cma_sockaddr(&id->dst);
	struct cma_source source;
	int r;

	if (id->device)
		return 0;
	r = cma_find_source_for(id->cma, dst, &source);
	if (r < 0)
		return r;
	r = cma_check_port_space(id, &source);
	if (r < 0)
		return r;
	adopt_source(id, &source);
	return 0;
}

/* Any and loopback mean the node itself. On InfiniBand a group has its IPoIB address, an
 * other address the GID of the port that has it. */
static int find_dgid(struct cma_id *id)
{
	const struct sockaddr *dst = cma_sockaddr(&id->dst);

	if (addr_is_any(dst)) {
		id->dgid = id->sgid.gid;
		return 0;
	}
	if (!cma_is_infiniband(id) || dst->sa_family == AF_IB) {
		addr_to_gid(dst, id->dgid.raw);
		return 0;
	}
	if (addr_is_multicast(dst)) {
		ipoib_map_group(id->broadcast, dst, id->dgid.raw);
		return 0;
	}
	if (addr_is_loopback(dst)) {
		id->dgid = id->sgid.gid;
		return 0;
	}
	return ipoib_find_neighbour(id->cma->config.ipoib, dst, &id->dgid);
}

static void resolve_addr_work(struct cma_work *work)
{
	struct cma_id *id = container_of(work, struct cma_id, work);
	int r = find_device(id);

	if (r == 0)
		r = find_dgid(id);
	if (r < 0) {
		id->state = CMA_ADDR_BOUND;
		deliver(id, CMA_EVENT_ADDR_ERROR, r);
		return;
	}
	id->state = CMA_ADDR_RESOLVED;
	deliver(id, CMA_EVENT_ADDR_RESOLVED, 0);
}

/* An idle id binds first: to the source, or to the wildcard of the destination. */
static int bind_source(struct cma_id *id, const struct sockaddr *src, sa_family_t family)
{
	struct sockaddr_storage any;

	if (id->state == CMA_ADDR_BOUND)
		return 0;
	if (src)
		return cma_bind_addr(id, src);
	addr_set_any(&any, family);
	return cma_bind_addr(id, (struct sockaddr *)&any);
}

int cma_resolve_addr(struct cma_id *id, const struct sockaddr *src,
		     const struct sockaddr *dst, unsigned int timeout_ms)
{
	int r;

	if (addr_size(dst) == 0)
		return -EINVAL;
	if (id->state != CMA_IDLE && id->state != CMA_ADDR_BOUND)
		return -EINVAL;
	r = bind_source(id, src, dst->sa_family);
	if (r < 0)
		return r;
	if (id->src.ss_family != dst->sa_family)
		return -EINVAL;
	memset(&id->dst, 0, sizeof(id->dst));
	memcpy(&id->dst, dst, addr_size(dst));
	id->state = CMA_ADDR_QUERY;
	cma_work_init(&id->work, resolve_addr_work);
	cma_work_queue(id->cma, &id->work);
	return 0;
}

/* -- routes ------------------------------------------------------------------------- */

static void ib_route_work(struct cma_work *work)
{
	struct cma_id *id = container_of(work, struct cma_id, work);

	if (id->route_status < 0) {
		id->state = CMA_ADDR_RESOLVED;
		deliver(id, CMA_EVENT_ROUTE_ERROR, id->route_status);
		return;
	}
	id->state = CMA_ROUTE_RESOLVED;
	deliver(id, CMA_EVENT_ROUTE_RESOLVED, 0);
}

static void path_found(int status, const struct sa_path_rec *rec, void *context)
{
	struct cma_path_query *q = context;
	struct cma_id *id = q->id;

	free(q);
	if (!id)
		return;
	id->path_query = NULL;
	id->route_status = status;
	if (status == 0)
		id->path = *rec;
	cma_work_init(&id->work, ib_route_work);
	cma_work_queue(id->cma, &id->work);
}

static int query_path(struct cma_id *id, struct cma_path_query *q,
		      unsigned int timeout_ms)
{
	const u64 mask = SA_PR_DGID | SA_PR_SGID | SA_PR_PKEY | SA_PR_NUMB_PATH |
			 SA_PR_REVERSIBLE | SA_PR_TCLASS;
	struct sa_path_rec rec = {
		.dgid = id->dgid,
		.sgid = id->sgid.gid,
		.pkey = htobe16(cma_id_pkey(id)),
		.numb_path = 1,
		.reversible = 1,
		.traffic_class = id->tos,
	};

	return ib_sa_path_rec_get(&id->cma->sa_client, id->device, id->port_num, &rec,
				  ib_sa_comp_mask_from_host(mask), timeout_ms, path_found,
				  q, &q->query);
}

/* Spec/userland 3.2, rdma_resolve_route. */
static int resolve_ib_route(struct cma_id *id, unsigned int timeout_ms)
{
	struct cma_path_query *q = calloc(1, sizeof(*q));
	int r;

	if (!q)
		return -ENOMEM;
	q->id = id;
	r = query_path(id, q, timeout_ms);
	if (r < 0) {
		free(q);
		return r;
	}
	q->query_id = r;
	id->path_query = q;
	id->state = CMA_ROUTE_QUERY;
	return 0;
}

void cma_resolve_cancel(struct cma_id *id)
{
	struct cma_path_query *q = id->path_query;

	cma_work_cancel(&id->work);
	if (!q)
		return;
	q->id = NULL;
	id->path_query = NULL;
	ib_sa_cancel_query(q->query_id, q->query);
}

static void resolve_route_work(struct cma_work *work)
{
	struct cma_id *id = container_of(work, struct cma_id, work);

	id->state = CMA_ROUTE_RESOLVED;
	deliver(id, CMA_EVENT_ROUTE_RESOLVED, 0);
}

/* RoCE knows its route without asking: cma_query_route makes it up. */
int cma_resolve_route(struct cma_id *id, unsigned int timeout_ms)
{
	u32 mtu;
	int r;

	if (timeout_ms == 0)
		return -EINVAL;
	if (id->state != CMA_ADDR_RESOLVED)
		return -EINVAL;
	if (cma_is_infiniband(id))
		return resolve_ib_route(id, timeout_ms);
	r = cma_link_mtu(id->cma, id->sgid.ifindex, &mtu);
	if (r < 0)
		return r;
	if (mtu_enum_from_roce_link(mtu) == 0)
		return -EINVAL;
	id->state = CMA_ROUTE_QUERY;
	cma_work_init(&id->work, resolve_route_work);
	cma_work_queue(id->cma, &id->work);
	return 0;
}
