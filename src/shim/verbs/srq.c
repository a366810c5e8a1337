// SPDX-License-Identifier: BSD-2-Clause
/*
 * Creating, changing, querying and destroying shared receive queues; posting goes straight
 * to the engine.
 */
#include <stdlib.h>

#include "shim/export.h"
#include "pd.h"
#include "srq.h"

#define CREATE_MASK_KNOWN                                          \
	((uint32_t)IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | \
	 IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM)

static struct ibv_srq_attr attr_from_uapi(const struct uapi_srq_attr *attr)
{
	return (struct ibv_srq_attr){ .max_wr = attr->max_wr,
				      .max_sge = attr->max_sge,
				      .srq_limit = attr->srq_limit };
}

static struct uapi_srq_attr attr_to_uapi(const struct ibv_srq_attr *attr)
{
	return (struct uapi_srq_attr){ .max_wr = attr->max_wr,
				       .max_sge = attr->max_sge,
				       .srq_limit = attr->srq_limit };
}

static void public_init(struct verbs_srq *srq, struct ibv_pd *pd, void *srq_context,
			const struct uapi_create_srq_reply *rep)
{
	srq->ibv.context = pd->context;
	srq->ibv.srq_context = srq_context;
	srq->ibv.pd = pd;
	srq->ibv.handle = rep->handle;
	pthread_mutex_init(&srq->ibv.mutex, NULL);
	pthread_cond_init(&srq->ibv.cond, NULL);
	pthread_mutex_init(&srq->lock, NULL);
	srq->attr = attr_from_uapi(&rep->attr);
}

static void srq_orphan(struct context_object *object)
{
	struct verbs_srq *srq = container_of(object, struct verbs_srq, object);

	pd_orphan(srq->ibv.pd);
	engine_srq_destroy(srq->engine);
}

static int srq_open(struct verbs_srq *srq, struct ibv_pd *pd,
		    const struct ibv_srq_init_attr *attr)
{
	struct process *p = process_of(pd->context);
	/* The limit does not count here: ibv_modify_srq arms it. */
	struct uapi_create_srq req = { .pd = pd->handle,
				       .srq_type = IBV_SRQT_BASIC,
				       .attr = { .max_wr = attr->attr.max_wr,
						 .max_sge = attr->attr.max_sge } };
	struct uapi_create_srq_reply rep;
	int r;

	r = process_rpc(p, UAPI_CREATE_SRQ, &req, sizeof(req), &rep, sizeof(rep));
	if (r < 0)
		return r;
	public_init(srq, pd, attr->srq_context, &rep);
	r = engine_srq_create(p->engine, pd_memory(pd), pd->handle, rep.attr.max_wr,
			      rep.attr.max_sge, srq, &srq->engine);
	if (r < 0) {
		process_release_rpc(p, UAPI_DESTROY_SRQ, rep.handle);
		return r;
	}
	srq->process = process_ref(p);
	pd_use(pd);
	context_adopt(pd->context, &srq->object, srq_orphan);
	return 0;
}

VC_EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd,
					 struct ibv_srq_init_attr *attr)
{
	struct verbs_srq *srq;
	int r;

	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return null_errno(-ENOMEM);
	r = srq_open(srq, pd, attr);
	if (r < 0) {
		free(srq);
		return null_errno(r);
	}
	attr->attr = srq->attr;
	return &srq->ibv;
}

/* The header sends the plain case to ibv_create_srq by itself. */
struct ibv_srq *srq_create_ex(struct ibv_context *context,
			      struct ibv_srq_init_attr_ex *attr)
{
	if (attr->comp_mask & ~CREATE_MASK_KNOWN)
		return null_errno(-EOPNOTSUPP);
	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type != IBV_SRQT_BASIC)
		return null_errno(-EOPNOTSUPP);
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd ||
	    attr->pd->context != context)
		return null_errno(-EINVAL);
	/* The older attributes are the head of the newer ones. */
	return ibv_create_srq(attr->pd, (struct ibv_srq_init_attr *)attr);
}

static int ask_daemon(struct verbs_srq *srq, const struct ibv_srq_attr *attr, int mask,
		      struct uapi_srq_attr *rep)
{
	struct uapi_modify_srq req = { .srq = srq->ibv.handle,
				       .mask = (uint32_t)mask,
				       .attr = attr_to_uapi(attr) };

	return process_rpc(srq->process, UAPI_MODIFY_SRQ, &req, sizeof(req), rep,
			   sizeof(*rep));
}

static int modify_locked(struct verbs_srq *srq, const struct ibv_srq_attr *attr, int mask)
{
	struct uapi_srq_attr rep;
	int r;

	r = ask_daemon(srq, attr, mask, &rep);
	if (r < 0)
		return r;
	r = engine_srq_modify(srq->engine, mask, attr);
	if (r <
	    0) { /* it holds more than that: tell verbcastd that all stays as it was */
		ask_daemon(srq, &srq->attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT, &rep);
		return r;
	}
	srq->attr = attr_from_uapi(&rep);
	return 0;
}

VC_EXPORT int ibv_modify_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr, int mask)
{
	struct verbs_srq *srq = srq_of(ibv);
	int r;

	if (process_state(srq->process) != PROCESS_LIVE)
		return ENODEV;
	pthread_mutex_lock(&srq->lock);
	r = modify_locked(srq, attr, mask);
	pthread_mutex_unlock(&srq->lock);
	return -r;
}

VC_EXPORT int ibv_query_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr)
{
	struct verbs_srq *srq = srq_of(ibv);
	struct uapi_handle req = { .handle = ibv->handle };
	struct uapi_srq_attr rep;
	int r;

	r = process_rpc(srq->process, UAPI_QUERY_SRQ, &req, sizeof(req), &rep,
			sizeof(rep));
	if (r < 0)
		return -r;
	*attr = attr_from_uapi(&rep);
	attr->srq_limit = engine_srq_limit(srq->engine);
	return 0;
}

static void wait_acks(struct verbs_srq *srq)
{
	struct ibv_srq *ibv = &srq->ibv;

	pthread_mutex_lock(&ibv->mutex);
	while (ibv->events_completed != srq->events_fetched)
		pthread_cond_wait(&ibv->cond, &ibv->mutex);
	pthread_mutex_unlock(&ibv->mutex);
}

VC_EXPORT int ibv_destroy_srq(struct ibv_srq *ibv)
{
	struct verbs_srq *srq = srq_of(ibv);
	int r;

	if (atomic_load_explicit(&srq->users, memory_order_acquire))
		return EBUSY;
	r = process_release_rpc(srq->process, UAPI_DESTROY_SRQ, ibv->handle);
	if (r < 0)
		return -r;
	if (!process_forked(srq->process)) {
		context_disown(ibv->context, &srq->object);
		engine_srq_destroy(srq->engine);
		async_forget(context_of(ibv->context), ibv);
		wait_acks(srq);
	}
	pd_unuse(ibv->pd);
	pthread_mutex_destroy(&srq->lock);
	pthread_cond_destroy(&ibv->cond);
	pthread_mutex_destroy(&ibv->mutex);
	process_put(srq->process);
	free(srq);
	return 0;
}

void srq_use(struct ibv_srq *srq)
{
	if (srq)
		atomic_fetch_add_explicit(&srq_of(srq)->users, 1, memory_order_relaxed);
}

void srq_unuse(struct ibv_srq *srq)
{
	if (srq)
		atomic_fetch_sub_explicit(&srq_of(srq)->users, 1, memory_order_release);
}

int srq_post_recv(struct ibv_srq *ibv, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad_wr)
{
	struct verbs_srq *srq = srq_of(ibv);

	if (process_forked(srq->process)) {
		*bad_wr = wr;
		return ENODEV;
	}
	return engine_srq_post_recv(srq->engine, wr, bad_wr);
}
