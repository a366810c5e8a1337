// SPDX-License-Identifier: BSD-2-Clause
/*
 * Ids: life, bind, options, migration (spec/userland 3.2).
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/ib.h>

#include "cm.h"

size_t cm_addr_size(const struct sockaddr *addr)
{
	if (!addr)
		return 0;
	switch (addr->sa_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	case AF_IB:
		return sizeof(struct sockaddr_ib);
	default:
		return 0;
	}
}

/* The event that a synchronous call left to be looked at. */
void cm_id_ack_held(struct cm_id *id)
{
	struct rdma_cm_event *event;

	cm_lock();
	event = id->id.event;
	id->id.event = NULL;
	cm_unlock();
	if (event)
		rdma_ack_cm_event(event);
}

/* -- create and destroy ------------------------------------------------------------- */

static int ask_for_id(struct cm_id *id)
{
	struct uapi_cm_create_id req = {
		.uid = id->uid,
		.ps = id->id.ps,
		.qp_type = id->id.qp_type,
	};
	struct uapi_handle_reply rep;
	int r;

	r = cm_rpc(id->generation, UAPI_CM_CREATE_ID, &req, sizeof(req), &rep,
		   sizeof(rep));
	if (r == 0)
		id->handle = rep.handle;
	return r;
}

/* A reference to the program's channel, or a channel of the id's own. */
static int find_channel(struct rdma_event_channel *channel, struct cm_id *id)
{
	struct cm_channel *own;
	int r;

	if (channel) {
		if (cm_channel_of(channel)->era != cm_era())
			return -ENODEV;
		cm_lock();
		cm_channel_ref_locked(cm_channel_of(channel));
		cm_unlock();
		id->id.channel = channel;
		return 0;
	}
	r = cm_channel_create(&own);
	if (r < 0)
		return r;
	cm_lock();
	cm_channel_ref_locked(own); /* put with the id; the creator's by destroy */
	cm_unlock();
	id->id.channel = &own->channel;
	id->sync = true;
	return 0;
}

static void drop_channel(struct cm_id *id)
{
	struct cm_channel *ch = cm_channel_of(id->id.channel);

	if (id->sync)
		rdma_destroy_event_channel(id->id.channel);
	cm_lock();
	cm_channel_put_locked(ch);
	cm_unlock();
}

int cm_id_create(struct rdma_event_channel *channel, struct rdma_cm_id **ret,
		 void *context, enum rdma_port_space ps, enum ibv_qp_type qp_type)
{
	struct cm_id *id;
	int r;

	r = cm_open();
	if (r < 0)
		return r;
	id = calloc(1, sizeof(*id));
	if (!id)
		return -ENOMEM;
	id->id.context = context;
	id->id.ps = ps;
	id->id.qp_type = qp_type;
	id->generation = vc_generation();
	id->era = cm_era();
	list_init(&id->joins);
	list_init(&id->link);
	list_init(&id->address_link);
	r = find_channel(channel, id);
	if (r < 0)
		goto free_id;
	cm_lock();
	id->uid = cm_new_uid_locked();
	cm_publish_locked(id);
	cm_unlock();
	r = ask_for_id(id);
	if (r < 0)
		goto unpublish;
	*ret = &id->id;
	return 0;
unpublish:
	cm_lock();
	cm_unpublish_locked(id);
	cm_channel_purge_locked(cm_channel_of(id->id.channel), id, NULL);
	cm_unlock();
	drop_channel(id);
free_id:
	free(id);
	return r;
}

VC_EXPORT int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id,
			     void *context, enum rdma_port_space ps)
{
	bool datagram = ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB;

	return cm_result(cm_id_create(channel, id, context, ps,
				      datagram ? IBV_QPT_UD : IBV_QPT_RC));
}

/* Nobody finds it from here on; false: another thread was faster. */
static bool retire(struct cm_id *id)
{
	bool ours;

	cm_lock();
	ours = cm_unpublish_locked(id);
	cm_unlock();
	return ours;
}

/* No event is queued any more, the last one that is fetched has been acknowledged, and
 * other threads' calls are over. In a forked child nobody is left who could do either. */
static void silence(struct cm_id *id)
{
	cm_lock();
	cm_channel_purge_locked(cm_channel_of(id->id.channel), id, NULL);
	while ((id->fetched || id->calls) && id->era == cm_era())
		cm_wait_ack_locked();
	cm_unlock();
}

VC_EXPORT int rdma_destroy_id(struct rdma_cm_id *rdma_id)
{
	struct cm_id *id = cm_id_of(rdma_id);
	struct uapi_handle req = { 0 };

	if (!retire(id))
		return cm_result(-ENOENT);
	req.handle = id->handle;
	/* Fails only where verbcastd, or the parent's connection, is gone with the id. */
	cm_rpc(id->generation, UAPI_CM_DESTROY_ID, &req, sizeof(req), NULL, 0);
	cm_id_ack_held(id);
	silence(id);
	cm_joins_free(id);
	drop_channel(id);
	cm_device_put(id->device);
	free(id->id.route.path_rec);
	free(id);
	return 0;
}

/* -- bind --------------------------------------------------------------------------- */

static void copy_address(struct sockaddr_storage *to, const struct sockaddr_storage *from,
			 uint32_t length)
{
	if (length > 0 && length <= sizeof(*to))
		memcpy(to, from, length);
}

/* What the program sees of where the id stands. The device is found once. */
int cm_id_apply_route(struct cm_id *id, const struct uapi_cm_route *route)
{
	struct rdma_addr *addr = &id->id.route.addr;
	struct cm_device *device;
	int r;

	copy_address(&addr->src_storage, &route->src, route->src_length);
	copy_address(&addr->dst_storage, &route->dst, route->dst_length);
	if (!route->bound)
		return 0;
	memcpy(addr->addr.ibaddr.sgid.raw, route->sgid, sizeof(route->sgid));
	memcpy(addr->addr.ibaddr.dgid.raw, route->dgid, sizeof(route->dgid));
	addr->addr.ibaddr.pkey = htobe16((uint16_t)route->pkey);
	id->id.port_num = (uint8_t)route->port_num;
	if (id->device)
		return 0;
	r = cm_device_get(id->generation, route->device, &device);
	if (r < 0)
		return r;
	id->id.verbs = device->verbs;
	id->id.pd = device->pd;
	cm_lock();
	id->device = device;
	cm_unlock();
	return 0;
}

VC_EXPORT int rdma_bind_addr(struct rdma_cm_id *rdma_id, struct sockaddr *addr)
{
	struct cm_id *id = cm_id_of(rdma_id);
	struct uapi_cm_addr req = { .id = id->handle };
	struct uapi_cm_route route;
	int r;

	req.length = (uint32_t)cm_addr_size(addr);
	if (!req.length)
		return cm_result(-EINVAL);
	memcpy(&req.addr, addr, req.length);
	r = cm_rpc(id->generation, UAPI_CM_BIND_ADDR, &req, sizeof(req), &route,
		   sizeof(route));
	if (r == 0)
		r = cm_id_apply_route(id, &route);
	return cm_result(r);
}

/* Network order; an AF_IB address keeps its port in the low bits of the service. */
static __be16 port_of(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET:
		return ((const struct sockaddr_in *)addr)->sin_port;
	case AF_INET6:
		return ((const struct sockaddr_in6 *)addr)->sin6_port;
	case AF_IB:
		return htobe16(
			(uint16_t)be64toh(((const struct sockaddr_ib *)addr)->sib_sid));
	default:
		return 0;
	}
}

VC_EXPORT __be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return port_of(&id->route.addr.src_addr);
}

VC_EXPORT __be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return port_of(&id->route.addr.dst_addr);
}

/* -- options ------------------------------------------------------------------------ */

VC_EXPORT int rdma_set_option(struct rdma_cm_id *rdma_id, int level, int optname,
			      void *optval, size_t optlen)
{
	struct cm_id *id = cm_id_of(rdma_id);
	struct uapi_cm_option req = {
		.id = id->handle,
		.level = (uint32_t)level,
		.name = (uint32_t)optname,
		.length = (uint32_t)optlen,
	};

	/* A path of one's own is for InfiniBand, and no id is on such a port. */
	if (level == RDMA_OPTION_IB)
		return cm_result(optname == RDMA_OPTION_IB_PATH ? -EOPNOTSUPP : -ENOSYS);
	if (optlen > sizeof(req.value) || (optlen && !optval))
		return cm_result(level == RDMA_OPTION_ID ? -EINVAL : -ENOSYS);
	if (optlen)
		memcpy(req.value, optval, optlen);
	return cm_result(
		cm_rpc(id->generation, UAPI_CM_SET_OPTION, &req, sizeof(req), NULL, 0));
}

/* -- migration ---------------------------------------------------------------------- */

/* Move the id, and what is queued of it, to the channel that `to` holds a reference of;
 * then wait for what the program still has of the old one. */
static void move(struct cm_id *id, struct cm_channel *to)
{
	struct cm_channel *from = cm_channel_of(id->id.channel);

	cm_lock();
	cm_channel_move_locked(from, to, id);
	id->id.channel = &to->channel;
	while (id->fetched && id->era == cm_era())
		cm_wait_ack_locked();
	cm_unlock();
}

VC_EXPORT int rdma_migrate_id(struct rdma_cm_id *rdma_id,
			      struct rdma_event_channel *channel)
{
	struct cm_id *id = cm_id_of(rdma_id);
	struct cm_id was = { .id.channel = id->id.channel, .sync = id->sync };
	struct cm_id now = { .sync = false };
	int r;

	if (id->sync && !channel)
		return cm_result(-EINVAL);
	r = find_channel(channel, &now);
	if (r < 0)
		return cm_result(r);
	cm_id_ack_held(id);
	move(id, cm_channel_of(now.id.channel));
	id->sync = now.sync;
	drop_channel(&was);
	return 0;
}

/* -- enhanced connection establishment: storage, nothing more ------------------------ */

VC_EXPORT int rdma_set_local_ece(struct rdma_cm_id *rdma_id, struct ibv_ece *ece)
{
	if (!ece || rdma_id->qp || ece->comp_mask || !ece->vendor_id)
		return cm_result(-EINVAL);
	cm_id_of(rdma_id)->local_ece = *ece;
	return 0;
}

VC_EXPORT int rdma_get_remote_ece(struct rdma_cm_id *rdma_id, struct ibv_ece *ece)
{
	if (!ece || rdma_id->qp)
		return cm_result(-EINVAL);
	*ece = cm_id_of(rdma_id)->remote_ece;
	return 0;
}
