/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Port spaces of a node: who has which port (spec/kernel 3.10, spec/userland 3.2).
 *
 * An id has its port from bind to its end. Two ids may share a number if both set
 * REUSEADDR, or if their addresses differ and neither is a wildcard.
 */
#include "core/cm/cma_priv.h"

void cma_ports_init(struct cma *cma)
{
	for (int i = 0; i < CMA_PORT_SPACES; i++)
		for (int b = 0; b < CMA_PORT_BUCKETS; b++)
			list_init(&cma->ports[i].buckets[b]);
}

static struct cma_port_space_table *find_space(struct cma *cma, enum cma_port_space ps)
{
	switch (ps) {
	case CMA_PS_TCP:
		return &cma->ports[0];
	case CMA_PS_UDP:
		return &cma->ports[1];
	case CMA_PS_IPOIB:
		return &cma->ports[2];
	case CMA_PS_IB:
		return &cma->ports[3];
	}
	return NULL;
}

static struct list *find_bucket(struct cma_port_space_table *space, u16 port)
{
	return &space->buckets[port % CMA_PORT_BUCKETS];
}

static bool is_taken(struct cma_port_space_table *space, u16 port)
{
	list_for_each(pos, find_bucket(space, port)) {
		struct cma_id *other = container_of(pos, struct cma_id, port_link);

		if (addr_port(cma_sockaddr(&other->src)) == port)
			return true;
	}
	return false;
}

/* May `id` have its port beside `other`, which has the same? */
static int check_pair(const struct cma_id *id, const struct cma_id *other)
{
	const struct sockaddr *a = cma_sockaddr(&id->src);
	const struct sockaddr *b = cma_sockaddr(&other->src);

	if (id->reuseaddr && other->reuseaddr)
		return 0;
	if (id->afonly && other->afonly && a->sa_family != b->sa_family)
		return 0;
	if (addr_is_any(a) || addr_is_any(b))
		return -EADDRNOTAVAIL;
	return addr_equal_host(a, b) ? -EADDRINUSE : 0;
}

static int check_port(struct cma_port_space_table *space, const struct cma_id *id,
		      u16 port)
{
	list_for_each(pos, find_bucket(space, port)) {
		struct cma_id *other = container_of(pos, struct cma_id, port_link);
		int r;

		if (addr_port(cma_sockaddr(&other->src)) != port)
			continue;
		r = check_pair(id, other);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Goes round the range from where the last search ended: a port just given back is not
 * the next one given out. */
static int find_free(struct cma_port_space_table *space, const struct addr_ports *range,
		     u16 *ret_port)
{
	u32 count = (u32)range->last - range->first + 1;
	u32 start = space->next >= range->first && space->next <= range->last
			    ? (u32)space->next - range->first
			    : 0;

	for (u32 i = 0; i < count; i++) {
		u16 port = (u16)(range->first + (start + i) % count);

		if (is_taken(space, port))
			continue;
		space->next = (u16)(port + 1);
		*ret_port = port;
		return 0;
	}
	return -EADDRNOTAVAIL;
}

int cma_port_take(struct cma_id *id)
{
	struct cma_port_space_table *space = find_space(id->cma, id->config.ps);
	u16 port = addr_port(cma_sockaddr(&id->src));
	struct addr_ports limits;
	int r;

	if (!space)
		return -EPROTONOSUPPORT;
	id->cma->config.host->ports(id->cma->config.host_arg, &limits);
	if (port == 0) {
		r = find_free(space, &limits, &port);
	} else if (port < limits.unprivileged_start && !id->config.privileged) {
		r = -EACCES;
	} else {
		r = check_port(space, id, port);
	}
	if (r < 0)
		return r;
	addr_set_port((struct sockaddr *)&id->src, port);
	list_append(find_bucket(space, port), &id->port_link);
	return 0;
}

void cma_port_release(struct cma_id *id)
{
	list_remove(&id->port_link);
}
