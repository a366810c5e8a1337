// SPDX-License-Identifier: BSD-2-Clause
/*
 * Creating, changing, querying and destroying queue pairs; posting goes straight to the
 * engine. verbcastd judges each change first, then the engine follows it, so that the
 * two never disagree for longer than a call.
 */
#include <stdlib.h>

#include "shim/export.h"
#include "context.h"
#include "cq.h"
#include "pd.h"
#include "qp.h"
#include "srq.h"

#define CREATE_MASK_KNOWN                                      \
	(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | \
	 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)

static uint32_t cq_handle(const struct ibv_cq *cq)
{
	return cq ? cq->handle : 0;
}

static struct uapi_qp_cap cap_to_uapi(const struct ibv_qp_cap *cap)
{
	return (struct uapi_qp_cap){
		.max_send_wr = cap->max_send_wr,
		.max_recv_wr = cap->max_recv_wr,
		.max_send_sge = cap->max_send_sge,
		.max_recv_sge = cap->max_recv_sge,
		.max_inline_data = cap->max_inline_data,
	};
}

static struct ibv_qp_cap cap_from_uapi(const struct uapi_qp_cap *cap)
{
	return (struct ibv_qp_cap){
		.max_send_wr = cap->max_send_wr,
		.max_recv_wr = cap->max_recv_wr,
		.max_send_sge = cap->max_send_sge,
		.max_recv_sge = cap->max_recv_sge,
		.max_inline_data = cap->max_inline_data,
	};
}

static int ask_daemon(struct process *p, const struct ibv_qp_init_attr_ex *attr,
		      struct uapi_create_qp_reply *rep)
{
	struct uapi_create_qp req = {
		.pd = attr->pd->handle,
		.send_cq = cq_handle(attr->send_cq),
		.recv_cq = cq_handle(attr->recv_cq),
		.srq = attr->srq ? attr->srq->handle : 0,
		.qp_type = attr->qp_type,
		.create_flags = attr->create_flags,
		.sq_sig_all = attr->sq_sig_all,
		.cap = cap_to_uapi(&attr->cap),
	};

	return process_rpc(p, UAPI_CREATE_QP, &req, sizeof(req), rep, sizeof(*rep));
}

static int open_engine(struct verbs_qp *qp, struct device_context *c,
		       const struct ibv_qp_init_attr_ex *attr,
		       const struct uapi_create_qp_reply *rep)
{
	struct engine_qp_config config = {
		.qpn = rep->qpn,
		.type = attr->qp_type,
		.device = c->device->attr.device,
		.pd = attr->pd->handle,
		.send_cq = cq_of(attr->send_cq)->engine,
		.recv_cq = cq_of(attr->recv_cq)->engine,
		.srq = attr->srq ? srq_of(attr->srq)->engine : NULL,
		.memory = pd_memory(attr->pd),
		.cap = qp->cap,
		.sq_sig_all = attr->sq_sig_all,
		.block_self_multicast =
			attr->create_flags & IBV_QP_CREATE_BLOCK_SELF_MCAST_LB,
		.counters = rep->counters,
		.ibv_qp = qp_public(qp),
		.qp_context = qp,
	};

	return engine_qp_create(c->process->engine, &config, &qp->engine);
}

static void public_init(struct verbs_qp *qp, struct ibv_context *context,
			const struct ibv_qp_init_attr_ex *attr,
			const struct uapi_create_qp_reply *rep)
{
	struct ibv_qp *ibv = qp_public(qp);

	ibv->context = context;
	ibv->qp_context = attr->qp_context;
	ibv->pd = attr->pd;
	ibv->send_cq = attr->send_cq;
	ibv->recv_cq = attr->recv_cq;
	ibv->srq = attr->srq;
	ibv->handle = rep->handle;
	ibv->qp_num = rep->qpn;
	ibv->state = IBV_QPS_RESET;
	ibv->qp_type = attr->qp_type;
	pthread_mutex_init(&ibv->mutex, NULL);
	pthread_cond_init(&ibv->cond, NULL);
	pthread_mutex_init(&qp->lock, NULL);
	qp->cap = cap_from_uapi(&rep->cap);
	qp->sq_sig_all = attr->sq_sig_all;
	qp->attr.qp_state = IBV_QPS_RESET;
	qp->attr.cur_qp_state = IBV_QPS_RESET;
}

static void qp_orphan(struct context_object *object)
{
	struct verbs_qp *qp = container_of(object, struct verbs_qp, object);

	pd_orphan(qp_public(qp)->pd);
	engine_qp_destroy(qp->engine);
}

static int qp_open(struct verbs_qp *qp, struct ibv_context *context,
		   const struct ibv_qp_init_attr_ex *attr)
{
	struct device_context *c = context_of(context);
	struct uapi_create_qp_reply rep;
	int r;

	r = ask_daemon(c->process, attr, &rep);
	if (r < 0)
		return r;
	public_init(qp, context, attr, &rep);
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		r = qp_batch_create(qp, attr->send_ops_flags);
		if (r < 0)
			goto release;
	}
	r = open_engine(qp, c, attr, &rep);
	if (r < 0)
		goto destroy_batch;
	qp->process = process_ref(c->process);
	pd_use(attr->pd);
	srq_use(attr->srq);
	context_adopt(context, &qp->object, qp_orphan);
	return 0;

destroy_batch:
	qp_batch_destroy(qp);
release:
	process_release_rpc(c->process, UAPI_DESTROY_QP, rep.handle);
	return r;
}

/* In the order of the stock library: what is unknown is unsupported, what is known and
 * wrong is invalid. */
static int check_create(struct ibv_context *context,
			const struct ibv_qp_init_attr_ex *attr)
{
	if (attr->comp_mask & ~(uint32_t)CREATE_MASK_KNOWN)
		return -EOPNOTSUPP;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd ||
	    attr->pd->context != context)
		return -EINVAL;
	if (attr->create_flags & ~(uint32_t)IBV_QP_CREATE_BLOCK_SELF_MCAST_LB)
		return -EOPNOTSUPP;
	if (attr->qp_type != IBV_QPT_UD)
		return -EOPNOTSUPP;
	if (!attr->send_cq || !attr->recv_cq)
		return -EINVAL;
	if (attr->srq && attr->srq->context != context)
		return -EINVAL;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		return qp_batch_check(attr->qp_type, attr->send_ops_flags);
	return 0;
}

struct ibv_qp *qp_create_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_init_attr_ex known = *attr;
	struct verbs_qp *qp;
	int r;

	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS))
		known.create_flags = 0;
	r = check_create(context, &known);
	if (r < 0)
		return null_errno(r);
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return null_errno(-ENOMEM);
	r = qp_open(qp, context, &known);
	if (r < 0) {
		free(qp);
		return null_errno(r);
	}
	attr->cap = qp->cap;
	return qp_public(qp);
}

VC_EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_qp *qp = qp_create_ex(pd->context, &ex);

	if (qp)
		attr->cap = ex.cap;
	return qp;
}

/* The device, or verbcastd, may have gone while the answer was on its way. Then the event
 * thread may have stopped all queue pairs before this one was put into its new state. */
static void stop_if_gone(struct verbs_qp *qp)
{
	const struct verbs_device *d = context_of(qp_public(qp)->context)->device;

	if (process_state(qp->process) == PROCESS_DOWN)
		engine_fail(qp->process->engine);
	else if (atomic_load_explicit(&d->gone, memory_order_relaxed))
		engine_fail_device(qp->process->engine, d->attr.device);
}

static void engine_follow(struct verbs_qp *qp, const struct uapi_modify_qp_reply *rep)
{
	struct engine_qp_attr to = {
		.state = rep->attr.qp_state,
		.port_index = rep->port_index,
		.port_num = rep->attr.port_num,
		.pkey_index = rep->attr.pkey_index,
		.qkey = rep->attr.qkey,
		.sq_psn = rep->attr.sq_psn,
	};

	engine_qp_modify(qp->engine, &to);
	qp->attr = rep->attr;
	stop_if_gone(qp);
}

/* A queue pair that the engine took to ERR is there, whatever verbcastd last heard: only
 * RESET and ERR lead out of it. */
static bool stuck_locked(const struct verbs_qp *qp, const struct ibv_qp_attr *attr,
			 int mask)
{
	if (engine_qp_state(qp->engine) != IBV_QPS_ERR ||
	    qp->attr.qp_state == IBV_QPS_ERR)
		return false;
	return !(mask & IBV_QP_STATE) ||
	       (attr->qp_state != IBV_QPS_RESET && attr->qp_state != IBV_QPS_ERR);
}

static int modify_locked(struct verbs_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	struct uapi_modify_qp req = { .qp = qp_public(qp)->handle, .mask = mask };
	struct uapi_modify_qp_reply rep;
	int r;

	if (stuck_locked(qp, attr, mask))
		return -EINVAL;
	vc_qp_attr_to_uapi(attr, &req.attr);
	r = process_rpc(qp->process, UAPI_MODIFY_QP, &req, sizeof(req), &rep,
			sizeof(rep));
	if (r < 0)
		return r;
	engine_follow(qp, &rep);
	if (mask & IBV_QP_STATE)
		qp_public(qp)->state = rep.attr.qp_state;
	return 0;
}

VC_EXPORT int ibv_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int attr_mask)
{
	struct verbs_qp *qp = qp_of(ibv);
	int r;

	if (process_state(qp->process) != PROCESS_LIVE)
		return ENODEV;
	pthread_mutex_lock(&qp->lock);
	r = modify_locked(qp, attr, attr_mask);
	pthread_mutex_unlock(&qp->lock);
	return -r;
}

static void fill_init_attr(struct verbs_qp *qp, struct ibv_qp_init_attr *init)
{
	struct ibv_qp *ibv = qp_public(qp);

	*init = (struct ibv_qp_init_attr){
		.qp_context = ibv->qp_context,
		.send_cq = ibv->send_cq,
		.recv_cq = ibv->recv_cq,
		.srq = ibv->srq,
		.cap = qp->cap,
		.qp_type = ibv->qp_type,
		.sq_sig_all = qp->sq_sig_all,
	};
}

/* Everything is answered, whatever the mask asks for: it is all here. */
VC_EXPORT int ibv_query_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int attr_mask,
			   struct ibv_qp_init_attr *init_attr)
{
	struct verbs_qp *qp = qp_of(ibv);

	if (process_forked(qp->process))
		return ENODEV;
	pthread_mutex_lock(&qp->lock);
	vc_qp_attr_from_uapi(&qp->attr, attr);
	attr->qp_state = engine_qp_state(qp->engine);
	attr->cur_qp_state = attr->qp_state;
	attr->cap = qp->cap;
	ibv->state = attr->qp_state;
	pthread_mutex_unlock(&qp->lock);
	fill_init_attr(qp, init_attr);
	return 0;
}

static void wait_acks(struct verbs_qp *qp)
{
	struct ibv_qp *ibv = qp_public(qp);

	pthread_mutex_lock(&ibv->mutex);
	while (ibv->events_completed != qp->events_fetched)
		pthread_cond_wait(&ibv->cond, &ibv->mutex);
	pthread_mutex_unlock(&ibv->mutex);
}

/* While it is attached verbcastd refuses, and nothing changes (spec/kernel 1.6). */
VC_EXPORT int ibv_destroy_qp(struct ibv_qp *ibv)
{
	struct verbs_qp *qp = qp_of(ibv);
	int r;

	r = process_release_rpc(qp->process, UAPI_DESTROY_QP, ibv->handle);
	if (r < 0)
		return -r;
	if (!process_forked(qp->process)) {
		context_disown(ibv->context, &qp->object);
		engine_qp_destroy(qp->engine);
		async_forget(context_of(ibv->context), ibv);
		wait_acks(qp);
	}
	srq_unuse(ibv->srq);
	pd_unuse(ibv->pd);
	qp_attachments_forget(qp);
	qp_batch_destroy(qp);
	pthread_mutex_destroy(&qp->lock);
	pthread_cond_destroy(&ibv->cond);
	pthread_mutex_destroy(&ibv->mutex);
	process_put(qp->process);
	free(qp);
	return 0;
}

int qp_post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct verbs_qp *qp = qp_of(ibv);

	if (process_forked(qp->process)) {
		*bad_wr = wr;
		return ENODEV;
	}
	return engine_qp_post_send(qp->engine, wr, bad_wr);
}

int qp_post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct verbs_qp *qp = qp_of(ibv);

	if (process_forked(qp->process)) {
		*bad_wr = wr;
		return ENODEV;
	}
	return engine_qp_post_recv(qp->engine, wr, bad_wr);
}

/* One process's engine delivers in the order of the bytes it copies, but promises none. */
VC_EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op,
					 uint32_t flags)
{
	return 0;
}

VC_EXPORT unsigned int vc_qp_handle(const struct ibv_qp *qp)
{
	return qp->handle;
}
