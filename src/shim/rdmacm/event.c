// SPDX-License-Identifier: BSD-2-Clause
/*
 * What an event does when the program fetches it (spec/userland 3.2 to 3.4): it fills
 * its id, and a JOIN attaches the id's queue pair. Its id and membership cannot go while
 * it is fetched, so nothing here holds the lock.
 */
#include <string.h>

#include "cm.h"

static const char *const names[] = {
	[RDMA_CM_EVENT_ADDR_RESOLVED] = "RDMA_CM_EVENT_ADDR_RESOLVED",
	[RDMA_CM_EVENT_ADDR_ERROR] = "RDMA_CM_EVENT_ADDR_ERROR",
	[RDMA_CM_EVENT_ROUTE_RESOLVED] = "RDMA_CM_EVENT_ROUTE_RESOLVED",
	[RDMA_CM_EVENT_ROUTE_ERROR] = "RDMA_CM_EVENT_ROUTE_ERROR",
	[RDMA_CM_EVENT_CONNECT_REQUEST] = "RDMA_CM_EVENT_CONNECT_REQUEST",
	[RDMA_CM_EVENT_CONNECT_RESPONSE] = "RDMA_CM_EVENT_CONNECT_RESPONSE",
	[RDMA_CM_EVENT_CONNECT_ERROR] = "RDMA_CM_EVENT_CONNECT_ERROR",
	[RDMA_CM_EVENT_UNREACHABLE] = "RDMA_CM_EVENT_UNREACHABLE",
	[RDMA_CM_EVENT_REJECTED] = "RDMA_CM_EVENT_REJECTED",
	[RDMA_CM_EVENT_ESTABLISHED] = "RDMA_CM_EVENT_ESTABLISHED",
	[RDMA_CM_EVENT_DISCONNECTED] = "RDMA_CM_EVENT_DISCONNECTED",
	[RDMA_CM_EVENT_DEVICE_REMOVAL] = "RDMA_CM_EVENT_DEVICE_REMOVAL",
	[RDMA_CM_EVENT_MULTICAST_JOIN] = "RDMA_CM_EVENT_MULTICAST_JOIN",
	[RDMA_CM_EVENT_MULTICAST_ERROR] = "RDMA_CM_EVENT_MULTICAST_ERROR",
	[RDMA_CM_EVENT_ADDR_CHANGE] = "RDMA_CM_EVENT_ADDR_CHANGE",
	[RDMA_CM_EVENT_TIMEWAIT_EXIT] = "RDMA_CM_EVENT_TIMEWAIT_EXIT",
};

VC_EXPORT const char *rdma_event_str(enum rdma_cm_event_type event)
{
	if ((unsigned int)event >= sizeof(names) / sizeof(names[0]))
		return "UNKNOWN EVENT";
	return names[event];
}

static void turn_into_error(struct cm_event *e, enum rdma_cm_event_type type, int status)
{
	e->event.event = type;
	e->event.status = status;
}

static void arrive_addr_resolved(struct cm_event *e)
{
	int r = cm_id_apply_route(e->id, &e->said.route);

	if (r < 0)
		turn_into_error(e, RDMA_CM_EVENT_ADDR_ERROR, r);
}

static void arrive_route_resolved(struct cm_event *e)
{
	int r = cm_id_apply_path(e->id, &e->said.route);

	if (r < 0)
		turn_into_error(e, RDMA_CM_EVENT_ROUTE_ERROR, r);
}

/* The queue pair that the id has at this moment, and no later one, is attached. A leave
 * that runs meanwhile waits for the event, and finds the group known. */
static int arrive_join(struct cm_event *e)
{
	struct cm_join *join = e->join;
	struct ibv_qp *qp = e->id->id.qp;
	union ibv_gid mgid;
	int r = 0;

	memcpy(mgid.raw, e->said.ah.dgid, sizeof(mgid.raw));
	if (qp && !join->send_only)
		r = ibv_attach_mcast(qp, &mgid, e->said.mlid);
	if (r)
		turn_into_error(e, RDMA_CM_EVENT_MULTICAST_ERROR, -1);
	cm_lock();
	join->mgid = mgid;
	join->mlid = e->said.mlid;
	join->known = true;
	cm_unlock();
	return r;
}

static void fill(struct cm_event *e)
{
	struct rdma_ud_param *ud = &e->event.param.ud;

	e->event.id = &e->id->id;
	e->event.event = (enum rdma_cm_event_type)e->said.event;
	e->event.status = e->said.status;
	if (!e->join)
		return;
	ud->private_data = e->join->context;
	if (e->event.event != RDMA_CM_EVENT_MULTICAST_JOIN)
		return;
	ud->qp_num = e->said.qp_num;
	ud->qkey = e->said.qkey;
	vc_ah_attr_from_uapi(&e->said.ah, &ud->ah_attr);
}

/* The program's thread; requests inside are no cancellation points, or the event would
 * be lost half-way. */
void cm_event_arrive(struct cm_event *e)
{
	int error = 0, old;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	fill(e);
	if (e->event.event == RDMA_CM_EVENT_ADDR_RESOLVED)
		arrive_addr_resolved(e);
	else if (e->event.event == RDMA_CM_EVENT_ROUTE_RESOLVED)
		arrive_route_resolved(e);
	else if (e->event.event == RDMA_CM_EVENT_MULTICAST_JOIN && e->join)
		error = arrive_join(e);
	pthread_setcancelstate(old, NULL);
	if (error)
		errno = error;
}

/* What is no answer: the program of a synchronous id has no other way to learn of a
 * changed address than to look. */
static bool is_aside(const struct rdma_cm_event *event)
{
	return event->event == RDMA_CM_EVENT_ADDR_CHANGE;
}

int cm_complete(struct cm_id *id)
{
	int r, status;

	if (!id->sync)
		return 0;
	do {
		cm_id_ack_held(id);
		r = rdma_get_cm_event(id->id.channel, &id->id.event);
		if (r)
			return r;
	} while (is_aside(id->id.event));
	status = id->id.event->status;
	if (id->id.event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		return cm_result(-ENODEV); /* what was waited for never comes */
	if (status == 0)
		return 0;
	if (id->id.event->event == RDMA_CM_EVENT_REJECTED)
		return cm_result(-ECONNREFUSED);
	return cm_result(status < 0 ? status : -status);
}
