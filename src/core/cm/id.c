/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ids: life, options, bind, queue pair attributes (spec/kernel 3.4, 3.10).
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "core/cm/cma_priv.h"
#include "wire/mtu.h"

#define ROCE_PACKET_LIFE_TIME 16 /* 4.096 us times 2 to the power of this */

int cma_create(const struct cma_config *config, struct cma **ret)
{
	struct cma *cma = calloc(1, sizeof(*cma));

	if (!cma)
		return -ENOMEM;
	cma->config = *config;
	list_init(&cma->queue);
	list_init(&cma->ids);
	cma_ports_init(cma);
	ib_sa_register_client(&cma->sa_client);
	cma->client.remove = cma_remove_device;
	cma->client.event = cma_device_event;
	ib_register_client(&cma->client, config->node);
	*ret = cma;
	return 0;
}

void cma_destroy(struct cma *cma)
{
	if (!cma)
		return;
	ib_unregister_client(&cma->client);
	ib_sa_unregister_client(&cma->sa_client);
	free(cma);
}

int cma_id_create(struct cma *cma, const struct cma_id_config *config,
		  struct cma_id **ret)
{
	struct cma_id *id = calloc(1, sizeof(*id));

	if (!id)
		return -ENOMEM;
	id->cma = cma;
	id->config = *config;
	id->state = CMA_IDLE;
	list_init(&id->port_link);
	list_init(&id->multicasts);
	cma_work_init(&id->work, NULL);
	cma_id_init_change(id);
	list_append(&cma->ids, &id->link);
	*ret = id;
	return 0;
}

void cma_id_destroy(struct cma_id *id)
{
	if (!id)
		return;
	cma_resolve_cancel(id);
	cma_work_cancel(&id->change_work);
	cma_multicast_leave_all(id);
	cma_port_release(id);
	list_remove(&id->link);
	free(id);
}

void *cma_id_context(const struct cma_id *id)
{
	return id->config.context;
}

enum cma_state cma_id_state(const struct cma_id *id)
{
	return id->state;
}

/* -- options ------------------------------------------------------------------------ */

void cma_set_service_type(struct cma_id *id, u8 tos)
{
	id->tos = tos;
}

/* Switching on is allowed at any time before listen, off only before bind. */
int cma_set_reuseaddr(struct cma_id *id, bool reuse)
{
	if (!reuse && id->state != CMA_IDLE)
		return -EINVAL;
	id->reuseaddr = reuse;
	return 0;
}

int cma_set_afonly(struct cma_id *id, bool afonly)
{
	if (id->state != CMA_IDLE)
		return -EINVAL;
	id->afonly = afonly;
	return 0;
}

int cma_set_ack_timeout(struct cma_id *id, u8 timeout)
{
	if (id->config.qp_type != IB_QPT_RC && id->config.qp_type != IB_QPT_XRC_INI)
		return -EINVAL;
	id->ack_timeout = timeout;
	id->ack_timeout_set = true;
	return 0;
}

/* -- bind --------------------------------------------------------------------------- */

/* Spec/kernel 3.10, in its order. */
int cma_bind_addr(struct cma_id *id, const struct sockaddr *addr)
{
	struct cma_source source = { 0 };
	int r;

	if (addr_size(addr) == 0)
		return -EAFNOSUPPORT;
	if (id->state != CMA_IDLE)
		return -EINVAL;
	if (addr_is_link_local(addr) &&
	    !((const struct sockaddr_in6 *)addr)->sin6_scope_id)
		return -EINVAL;
	if (!addr_is_any(addr)) {
		r = cma_find_source(id->cma, addr, &source);
		if (r < 0)
			return r;
		r = cma_check_port_space(id, &source);
		if (r < 0)
			return r;
	}
	memcpy(&id->src, addr, addr_size(addr));
	r = cma_port_take(id);
	if (r < 0) {
		memset(&id->src, 0, sizeof(id->src));
		return r;
	}
	if (source.device)
		cma_id_set_source(id, &source);
	id->state = CMA_ADDR_BOUND;
	return 0;
}

int cma_listen(struct cma_id *id, int backlog)
{
	struct sockaddr_storage any;
	int r;

	if (id->state == CMA_IDLE) {
		addr_set_any(&any, AF_INET);
		r = cma_bind_addr(id, (struct sockaddr *)&any);
		if (r < 0)
			return r;
	}
	if (id->state != CMA_ADDR_BOUND)
		return -EINVAL;
	return -EOPNOTSUPP;
}

/* -- queue pair attributes ---------------------------------------------------------- */

/* Spec/kernel 3.4. */
int cma_default_qkey(struct cma_id *id)
{
	struct ib_sa_mcmember_rec broadcast;
	int r;

	if (id->qkey)
		return 0;
	switch (id->config.ps) {
	case CMA_PS_UDP:
	case CMA_PS_IB:
		id->qkey = CMA_UDP_QKEY;
		return 0;
	case CMA_PS_IPOIB:
		r = cma_broadcast_rec(id, &broadcast);
		if (r < 0)
			return r;
		id->qkey = be32toh(broadcast.qkey);
		return 0;
	default:
		return 0;
	}
}

int cma_init_qp_attr(struct cma_id *id, struct ib_qp_attr *attr, int *ret_mask)
{
	int mask = IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT;
	int r;

	if (!id->device)
		return -EINVAL;
	r = ib_find_pkey(id->device, id->port_num, cma_id_pkey(id), &attr->pkey_index);
	if (r < 0)
		return r;
	attr->port_num = id->port_num;
	if (id->config.qp_type == IB_QPT_UD) {
		r = cma_default_qkey(id);
		if (r < 0)
			return r;
		attr->qkey = id->qkey;
		mask |= IB_QP_QKEY;
	} else {
		attr->qp_access_flags = 0;
		mask |= IB_QP_ACCESS_FLAGS;
	}
	*ret_mask = mask;
	return 0;
}

/* -- where an id stands ------------------------------------------------------------- */

static void query_ib_path(const struct cma_id *id, struct cma_route *ret)
{
	ret->mtu = id->path.mtu;
	ret->rate = id->path.rate;
	ret->flow_label = be32toh(id->path.flow_label);
	ret->slid = be16toh(id->path.ib.slid);
	ret->dlid = be16toh(id->path.ib.dlid);
	ret->hop_limit = id->path.hop_limit;
	ret->traffic_class = id->path.traffic_class;
	ret->sl = id->path.sl;
	ret->packet_life_time = id->path.packet_life_time;
}

static void query_roce_path(const struct cma_id *id, struct cma_route *ret)
{
	bool v1 = cma_default_gid_type(id->device, id->port_num) == IB_GID_TYPE_ROCE;
	struct ib_port_attr port;
	u32 mtu;

	if (cma_link_mtu(id->cma, id->sgid.ifindex, &mtu) == 0)
		ret->mtu = mtu_enum_from_roce_link(mtu);
	else if (ib_query_port(id->device, id->port_num, &port) == 0)
		ret->mtu = port.active_mtu;
	ret->rate = cma_port_rate(id->device, id->port_num);
	ret->hop_limit = v1 ? 1 : CMA_ROCE_V2_HOP_LIMIT;
	ret->packet_life_time = ROCE_PACKET_LIFE_TIME;
}

void cma_query_route(const struct cma_id *id, struct cma_route *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->src = id->src;
	ret->dst = id->dst;
	ret->device = id->device;
	if (!id->device)
		return;
	ret->port_num = id->port_num;
	ret->sgid = id->sgid.gid;
	ret->dgid = id->dgid;
	ret->pkey = cma_id_pkey(id);
	if (id->state != CMA_ROUTE_RESOLVED)
		return;
	ret->num_paths = 1;
	if (cma_is_infiniband(id))
		query_ib_path(id, ret);
	else
		query_roce_path(id, ret);
}
