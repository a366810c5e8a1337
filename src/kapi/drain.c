// SPDX-License-Identifier: BSD-2-Clause
/*
 * Draining queue pairs: into ERR, and a marker behind all that was posted. Completions are
 * worked off in their order, so when the marker's function is called, those of all before
 * it have returned.
 *
 * A shared receive queue takes no marker of one queue pair. What this one has taken from it
 * is in its completion queue by the time that it is in ERR, and that is worked off instead.
 *
 * Differs: Linux waits there for LAST_WQE_REACHED, up to a minute, and works off what is in
 * the completion queue itself, beside the thread whose task that is.
 */
#include "kapi/calls.h"
#include "kapi/events.h"
#include "kapi/objects.h"

/* On the stack of who waits for it. */
struct marker {
	struct ib_cqe cqe;
	struct completion done;
};

static void passed(struct ib_cq *cq, struct ib_wc *wc)
{
	complete(&container_of(wc->wr_cqe, struct marker, cqe)->done);
}

static void marker_init(struct marker *m)
{
	m->cqe.done = passed;
	init_completion(&m->done);
}

static void marker_wait(struct marker *m, struct ib_cq *cq)
{
	if (cq->poll_ctx != IB_POLL_DIRECT) {
		wait_for_completion(&m->done);
		return;
	}
	/* Another thread may have taken it, and be about to call. */
	do
		ib_process_cq_direct(cq, cq->cqe);
	while (!wait_for_completion_timeout(&m->done, HZ / 10));
}

/* Somebody must call the functions while this thread waits. */
static bool may_wait_for(const struct ib_cq *cq)
{
	if (WARN_ONCE(!cq_calls_functions(cq),
		      "only queues of ib_alloc_cq can be drained\n"))
		return false;
	if (!kapi_on_loop() &&
	    (cq->poll_ctx == IB_POLL_DIRECT || !completions_are_here()))
		return true;
	kapi_report(
		"a callback drains a queue pair, and would wait for itself; it goes on "
		"without");
	return false;
}

/* What is flushed may have filled the queue, and a marker that finds no room never comes. */
static int enter_error(struct ib_qp *qp, struct ib_cq *cq)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	int r = ib_modify_qp(qp, &attr, IB_QP_STATE);

	if (!r)
		cq_work_off(cq);
	return r;
}

/* It is flushed, so it names nothing. */
static int post_marker_send(struct ib_qp *qp, struct marker *m)
{
	union {
		struct ib_ud_wr ud;
		struct ib_rdma_wr rdma;
	} request;
	struct ib_send_wr *wr = &request.ud.wr; /* the first of either */

	memset(&request, 0, sizeof(request));
	wr->wr_cqe = &m->cqe;
	wr->opcode = qp->qp_type == IB_QPT_UD ? IB_WR_SEND : IB_WR_RDMA_WRITE;
	return ib_post_send(qp, wr, NULL);
}

static void drain_sends(struct ib_qp *qp)
{
	struct marker m;
	int r;

	if (!may_wait_for(qp->send_cq))
		return;
	marker_init(&m);
	r = enter_error(qp, qp->send_cq);
	if (!r)
		r = post_marker_send(qp, &m);
	if (!WARN_ONCE(r, "draining a send queue failed: %d\n", r))
		marker_wait(&m, qp->send_cq);
}

static void drain_receives(struct ib_qp *qp)
{
	struct marker m;
	struct ib_recv_wr wr = { .wr_cqe = &m.cqe };
	int r;

	if (!may_wait_for(qp->recv_cq))
		return;
	marker_init(&m);
	r = enter_error(qp, qp->recv_cq);
	if (!r)
		r = ib_post_recv(qp, &wr, NULL);
	if (!WARN_ONCE(r, "draining a receive queue failed: %d\n", r))
		marker_wait(&m, qp->recv_cq);
}

static void drain_shared(struct ib_qp *qp)
{
	int r;

	if (!may_wait_for(qp->recv_cq))
		return;
	r = enter_error(qp, qp->recv_cq);
	WARN_ONCE(r, "draining a shared receive queue failed: %d\n", r);
}

void ib_drain_sq(struct ib_qp *qp)
{
	if (qp->device->ops.drain_sq)
		qp->device->ops.drain_sq(qp);
	else
		drain_sends(qp);
}

void ib_drain_rq(struct ib_qp *qp)
{
	if (qp->device->ops.drain_rq)
		qp->device->ops.drain_rq(qp);
	else
		drain_receives(qp);
}

void ib_drain_qp(struct ib_qp *qp)
{
	ib_drain_sq(qp);
	if (qp->srq)
		drain_shared(qp);
	else
		ib_drain_rq(qp);
}
