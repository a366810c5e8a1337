/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Destinations and routes (spec/kernel 3.10, spec/userland 3.2).
 *
 * There is nobody to ask over a network: groups need no neighbour, and an address that is
 * not the site's counts as on the link, as Linux takes it for a bound source without a
 * route and for the loopback interface; what is sent there leaves the machine and is
 * dropped by name (WIRE_OFF). So the answer is found when the event's turn comes, and no
 * resolution times out.
 */
#include <string.h>

#include "core/cm/cma_priv.h"
#include "wire/mtu.h"

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
	addr_from_gid(&id->src, source->sgid.gid.raw, source->sgid.ifindex);
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

static void resolve_addr_work(struct cma_work *work)
{
	struct cma_id *id = container_of(work, struct cma_id, work);
	int r = find_device(id);

	if (r < 0) {
		id->state = CMA_ADDR_BOUND;
		deliver(id, CMA_EVENT_ADDR_ERROR, r);
		return;
	}
	addr_to_gid(cma_sockaddr(&id->dst), id->dgid.raw);
	if (addr_is_any(cma_sockaddr(&id->dst)))
		id->dgid = id->sgid.gid; /* the node itself */
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
	if (rdma_port_get_link_layer(id->device, id->port_num) != IB_LINK_LAYER_ETHERNET)
		return -ENOSYS;
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
