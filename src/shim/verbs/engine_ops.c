// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the engine asks of the library above it (engine_ops in engine.h): other processes'
 * memory comes from verbcastd, completion and asynchronous events go to their queues. The
 * latter two are called with the engine's lock held and take the lock of one queue.
 */
#include <errno.h>
#include <unistd.h>

#include "base/pidfd.h"
#include "channel.h"
#include "context.h"
#include "cq.h"
#include "process_priv.h"
#include "qp.h"
#include "srq.h"

static void close_all(const int *fds, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		close(fds[i]);
}

/* As we see numbers, which verbcastd may see otherwise. Closes `fd`. 0: we do not see it. */
static pid_t number_of(int fd)
{
	pid_t pid = 0, inner;

	if (pidfd_owner(fd, &pid, &inner) < 0)
		pid = 0;
	close(fd);
	return pid;
}

static int map_peer(void *arg, uint32_t slot, struct engine_peer *ret)
{
	struct uapi_map_peer req = { .slot = slot };
	struct uapi_map_peer_reply rep;
	int fds[UAPI_FDS_MAX];
	struct uapi_call call = {
		.op = UAPI_MAP_PEER,
		.req = &req,
		.reqlen = sizeof(req),
		.rep = &rep,
		.replen = sizeof(rep),
		.recv_fds = fds,
	};
	unsigned int n = 0;
	int r;

	r = process_call(arg, &call);
	if (r < 0)
		return r;
	if (call.recv_fds_n !=
	    (unsigned int)!!rep.has_doorbell + !!rep.has_log + !!rep.has_process) {
		close_all(fds, call.recv_fds_n);
		return -EPROTO;
	}
	*ret = (struct engine_peer){ .incarnation = rep.incarnation,
				     .dead = rep.dead,
				     .doorbell_fd = -1,
				     .log_fd = -1 };
	if (rep.has_doorbell)
		ret->doorbell_fd = fds[n++];
	if (rep.has_log)
		ret->log_fd = fds[n++];
	if (rep.has_process)
		ret->pid = number_of(fds[n]);
	return 0;
}

static int publish_log(void *arg, int fd)
{
	struct uapi_call call = { .op = UAPI_PUBLISH_LOG,
				  .send_fds = &fd,
				  .send_fds_n = 1 };

	return process_call(arg, &call);
}

static void drained(void *arg, uint32_t slot, uint32_t incarnation)
{
	struct uapi_drained req = { .slot = slot, .incarnation = incarnation };

	process_rpc(arg, UAPI_DRAINED, &req, sizeof(req), NULL, 0);
}

static void cq_event(void *arg, void *cq_context)
{
	struct verbs_cq *cq = cq_context;

	if (cq->ex.channel)
		channel_push(channel_of(cq->ex.channel), cq);
}

static void async_event(void *arg, enum ibv_event_type event, void *context)
{
	struct ibv_async_event e = { .event_type = event };

	if (event == IBV_EVENT_CQ_ERR) {
		struct verbs_cq *cq = context;

		e.element.cq = cq_public(cq);
		async_push(context_of(cq->ex.context), &e);
	} else if (event == IBV_EVENT_SRQ_LIMIT_REACHED) {
		struct verbs_srq *srq = context;

		e.element.srq = &srq->ibv;
		async_push(context_of(srq->ibv.context), &e);
	} else {
		struct verbs_qp *qp = context;

		e.element.qp = qp_public(qp);
		async_push(context_of(e.element.qp->context), &e);
	}
}

const struct engine_ops process_engine_ops = {
	.map_peer = map_peer,
	.publish_log = publish_log,
	.drained = drained,
	.cq_event = cq_event,
	.async_event = async_event,
};
