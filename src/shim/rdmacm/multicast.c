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
	join->handle = rep.handle;
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

/* The newest whose address is the same byte by byte, port and scope included. */
static struct cm_join *find_join(struct cm_id *id, const struct sockaddr *addr,
				 size_t length)
{
	struct cm_join *found = NULL;

	cm_lock();
	list_for_each(pos, &id->joins) {
		struct cm_join *join = container_of(pos, struct cm_join, link);

		if (memcmp(&join->addr, addr, length) == 0) {
			found = join;
			break;
		}
	}
	cm_unlock();
	return found;
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

/* The request fails only where the membership is gone with verbcastd; then the rest is
 * done as well, and the failure told. */
VC_EXPORT int rdma_leave_multicast(struct rdma_cm_id *rdma_id, struct sockaddr *addr)
{
	struct cm_id *id = cm_id_of(rdma_id);
	size_t length = cm_addr_size(addr);
	struct uapi_handle req = { 0 };
	struct cm_join *join;
	bool detached;
	int r;

	if (!length)
		return cm_result(-EINVAL);
	join = find_join(id, addr, length);
	if (!join)
		return cm_result(-EADDRNOTAVAIL);
	detached = is_known(join);
	detach(join);
	req.handle = join->handle;
	r = cm_rpc(id->generation, UAPI_CM_LEAVE, &req, sizeof(req), NULL, 0);
	/* Differs: stock waits for ever for the event that a synchronous join left. */
	cm_id_ack_held(id);
	forget_join(join);
	if (!detached)
		detach(join); /* its event was fetched meanwhile */
	free(join);
	return cm_result(r);
}
