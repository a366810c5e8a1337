// SPDX-License-Identifier: BSD-2-Clause
/*
 * Join and leave (spec/kernel 3.9, spec/userland 3.4). Attaching is the event's business
 * (event.c), detaching is leave's.
 */
#include <stdlib.h>
#include <string.h>

#include "cm.h"

static struct cm_join *create_join(struct cm_id *id, const struct sockaddr *addr,
				   size_t length, bool send_only, void *context)
{
	struct cm_join *join = calloc(1, sizeof(*join));

	if (!join)
		return NULL;
	join->id = id;
	join->context = context;
	join->send_only = send_only;
	join->pending = true;
	memcpy(&join->addr, addr, length);
	cm_lock();
	join->uid = cm_new_uid_locked();
	list_prepend(&id->joins, &join->link);
	cm_unlock();
	return join;
}

/* Unknown from here on; what is queued of it is dropped, what is fetched waited for. */
static void forget_join(struct cm_join *join)
{
	struct cm_id *id = join->id;

	cm_lock();
	list_remove(&join->link);
	cm_channel_purge_locked(cm_channel_of(id->id.channel), id, join);
	while (join->fetched && id->era == cm_era())
		cm_wait_ack_locked();
	cm_acked_locked(); /* who waits for the end of a join that fails */
	cm_unlock();
}

static void settle_join(struct cm_join *join, uint32_t handle)
{
	cm_lock();
	join->handle = handle;
	join->stage = CM_JOINED;
	cm_acked_locked();
	cm_unlock();
}

/* No event of theirs is left: the id has seen to that. */
void cm_joins_free(struct cm_id *id)
{
	list_for_each_safe(pos, &id->joins)
		free(container_of(pos, struct cm_join, link));
}

/* -- join --------------------------------------------------------------------------- */

static int join_group(struct cm_id *id, const struct sockaddr *addr, bool send_only,
		      void *context)
{
	struct uapi_cm_join req = {
		.id = id->handle,
		.flags = send_only ? UAPI_CM_JOIN_SENDONLY : 0,
		.length = (uint32_t)cm_addr_size(addr),
	};
	struct uapi_handle_reply rep;
	struct cm_join *join;
	int r;

	if (!req.length)
		return cm_result(-EINVAL);
	memcpy(&req.addr, addr, req.length);
	join = create_join(id, addr, req.length, send_only, context);
	if (!join)
		return cm_result(-ENOMEM);
	req.uid = join->uid;
	r = cm_rpc(id->generation, UAPI_CM_JOIN, &req, sizeof(req), &rep, sizeof(rep));
	if (r < 0) {
		forget_join(join);
		free(join);
		return cm_result(r);
	}
	settle_join(join, rep.handle);
	return cm_complete(id);
}

VC_EXPORT int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr,
				  void *context)
{
	return join_group(cm_id_of(id), addr, false, context);
}

/* In the order of spec/userland 3.4. */
VC_EXPORT int rdma_join_multicast_ex(struct rdma_cm_id *id,
				     struct rdma_cm_join_mc_attr_ex *attr, void *context)
{
	if (attr->comp_mask >= RDMA_CM_JOIN_MC_ATTR_RESERVED)
		return cm_result(-ENOTSUP);
	if (!(attr->comp_mask & RDMA_CM_JOIN_MC_ATTR_ADDRESS))
		return cm_result(-EINVAL);
	if (!(attr->comp_mask & RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS) ||
	    attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return cm_result(-EINVAL);
	return join_group(cm_id_of(id), attr->addr,
			  attr->join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
			  context);
}

/* -- leave -------------------------------------------------------------------------- */

/* The newest whose address is the same byte by byte, port and scope included. One that
 * another thread is leaving is as good as gone. */
static struct cm_join *find_join_locked(struct cm_id *id, const struct sockaddr *addr,
					size_t length, bool leaving)
{
	list_for_each(pos, &id->joins) {
		struct cm_join *join = container_of(pos, struct cm_join, link);

		if (memcmp(&join->addr, addr, length) == 0 &&
		    (join->stage == CM_LEAVING) == leaving)
			return join;
	}
	return NULL;
}

/* For the caller alone, from here on. The event of a join, and so whoever waits for it,
 * may be faster than the call that joins. Spec/kernel 6, 39: of two that leave one
 * membership the second is told ENOENT. */
static int take_join(struct cm_id *id, const struct sockaddr *addr, size_t length,
		     struct cm_join **ret)
{
	struct cm_join *join;
	int r = 0;

	cm_lock();
	for (;;) {
		join = find_join_locked(id, addr, length, false);
		if (!join || join->stage == CM_JOINED || id->era != cm_era())
			break;
		cm_wait_ack_locked();
	}
	if (join)
		join->stage = CM_LEAVING;
	else
		r = find_join_locked(id, addr, length, true) ? -ENOENT : -EADDRNOTAVAIL;
	cm_unlock();
	*ret = join;
	return r;
}

/* The group, once its event has told it. */
static bool is_known(struct cm_join *join)
{
	bool known;

	cm_lock();
	known = join->known;
	cm_unlock();
	return known;
}

/* The result does not matter: the queue pair may be another than the event found. */
static void detach(struct cm_join *join)
{
	struct ibv_qp *qp = join->id->id.qp;
	int old;

	if (!qp || join->send_only || !is_known(join))
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	ibv_detach_mcast(qp, &join->mgid, join->mlid);
	pthread_setcancelstate(old, NULL);
}

/* Differs: stock leaves an attached queue pair behind, which cannot be destroyed; here
 * delivery to it ends and the memberships stay (spec/userland 3.4). */
void cm_joins_detach(struct cm_id *id)
{
	list_for_each(pos, &id->joins)
		detach(container_of(pos, struct cm_join, link));
}

/* The request fails only where the membership is gone with verbcastd or its id; then the
 * rest is done as well, and the failure told. */
static int leave(struct cm_id *id, struct cm_join *join)
{
	struct uapi_handle req = { .handle = join->handle };
	bool detached = is_known(join);
	int r;

	detach(join);
	r = cm_rpc(id->generation, UAPI_CM_LEAVE, &req, sizeof(req), NULL, 0);
	/* Differs: stock waits for ever for the event that a synchronous join left. */
	cm_id_ack_held(id);
	forget_join(join);
	if (!detached)
		detach(join); /* its event was fetched meanwhile */
	free(join);
	return r;
}

VC_EXPORT int rdma_leave_multicast(struct rdma_cm_id *rdma_id, struct sockaddr *addr)
{
	size_t length = cm_addr_size(addr);
	struct cm_join *join;
	struct cm_id *id;
	int r;

	if (!length)
		return cm_result(-EINVAL);
	id = cm_id_enter(rdma_id);
	if (!id)
		return cm_result(-ENOENT);
	r = take_join(id, addr, length, &join);
	if (r == 0)
		r = leave(id, join);
	cm_id_exit(id);
	return cm_result(r);
}
