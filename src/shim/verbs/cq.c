// SPDX-License-Identifier: BSD-2-Clause
/*
 * Creating, polling, arming and destroying completion queues. The queue itself is the
 * engine's; verbcastd counts it and gives the handle.
 */
#include <stdlib.h>

#include "shim/export.h"
#include "channel.h"
#include "context.h"
#include "cq.h"
#include "pd.h"

/* What every completion tells anyway; no timestamps, no VLAN, no flow tag. */
#define WC_FLAGS_KNOWN ((uint64_t)IBV_WC_STANDARD_FLAGS)
#define CREATE_MASK_KNOWN \
	((uint32_t)IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD)
#define CQ_FLAGS_KNOWN \
	((uint32_t)IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN)

static void channel_get(struct ibv_comp_channel *channel, int n)
{
	if (!channel)
		return;
	pthread_mutex_lock(&channel->context->mutex);
	channel->refcnt += n;
	pthread_mutex_unlock(&channel->context->mutex);
}

static void public_init(struct verbs_cq *cq, struct ibv_context *context,
			const struct ibv_cq_init_attr_ex *attr,
			const struct uapi_create_cq_reply *rep)
{
	struct ibv_cq *ibv = cq_public(cq);

	ibv->context = context;
	ibv->channel = attr->channel;
	ibv->cq_context = attr->cq_context;
	ibv->handle = rep->handle;
	ibv->cqe = rep->cqe;
	pthread_mutex_init(&ibv->mutex, NULL);
	pthread_cond_init(&ibv->cond, NULL);
	pthread_mutex_init(&cq->bracket, NULL);
	list_init(&cq->ready);
	cq_fill_ex(&cq->ex);
}

static void cq_orphan(struct context_object *object)
{
	struct verbs_cq *cq = container_of(object, struct verbs_cq, object);

	pd_orphan(cq->parent);
	engine_cq_destroy(cq->engine);
	if (cq->ex.channel)
		channel_forget(channel_of(cq->ex.channel), cq);
}

/* Publish last: the engine may raise an event as soon as it knows of the queue. */
static int cq_open(struct verbs_cq *cq, struct ibv_context *context,
		   const struct ibv_cq_init_attr_ex *attr)
{
	struct process *p = process_of(context);
	struct uapi_create_cq req = { .context = context_of(context)->handle,
				      .cqe = attr->cqe,
				      .vector = attr->comp_vector };
	struct uapi_create_cq_reply rep;
	int r;

	r = process_rpc(p, UAPI_CREATE_CQ, &req, sizeof(req), &rep, sizeof(rep));
	if (r < 0)
		return r;
	public_init(cq, context, attr, &rep);
	cq->parent = attr->parent_domain;
	r = engine_cq_create_in(p->engine, pd_memory(cq->parent), rep.cqe, cq,
				&cq->engine);
	if (r < 0) {
		process_release_rpc(p, UAPI_DESTROY_CQ, rep.handle);
		return r;
	}
	cq->process = process_ref(p);
	pd_use(cq->parent);
	channel_get(attr->channel, 1);
	context_adopt(context, &cq->object, cq_orphan);
	return 0;
}

static struct verbs_cq *cq_create(struct ibv_context *context,
				  const struct ibv_cq_init_attr_ex *attr)
{
	struct verbs_cq *cq;
	int r;

	if (!attr->cqe || attr->comp_vector >= (uint32_t)context->num_comp_vectors)
		return null_errno(-EINVAL);
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return null_errno(-ENOMEM);
	r = cq_open(cq, context, attr);
	if (r < 0) {
		free(cq);
		return null_errno(r);
	}
	return cq;
}

VC_EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe,
				       void *cq_context, struct ibv_comp_channel *channel,
				       int comp_vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe > 0 ? cqe : 0,
		.cq_context = cq_context,
		.channel = channel,
		.comp_vector = comp_vector,
	};
	struct verbs_cq *cq = cq_create(context, &attr);

	return cq ? cq_public(cq) : NULL;
}

static bool is_parent_here(const struct ibv_pd *pd, const struct ibv_context *context)
{
	return pd && pd->context == context && pd_is_parent(pd);
}

struct ibv_cq_ex *cq_create_ex(struct ibv_context *context,
			       struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_cq_init_attr_ex known = *attr;
	struct verbs_cq *cq;

	if (attr->wc_flags & ~WC_FLAGS_KNOWN || attr->comp_mask & ~CREATE_MASK_KNOWN)
		return null_errno(-EOPNOTSUPP);
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    attr->flags & ~CQ_FLAGS_KNOWN)
		return null_errno(-EOPNOTSUPP);
	if (!(attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD))
		known.parent_domain = NULL;
	else if (!is_parent_here(attr->parent_domain, context))
		return null_errno(-EINVAL);
	cq = cq_create(context, &known);
	return cq ? &cq->ex : NULL;
}

VC_EXPORT int ibv_resize_cq(struct ibv_cq *ibv, int cqe)
{
	struct verbs_cq *cq = cq_of(ibv);
	struct uapi_resize_cq req = { .cq = ibv->handle, .cqe = cqe };
	struct uapi_create_cq_reply rep;
	int r;

	if (cqe < 1)
		return EINVAL;
	r = process_rpc(cq->process, UAPI_RESIZE_CQ, &req, sizeof(req), &rep,
			sizeof(rep));
	if (r < 0)
		return -r;
	r = engine_cq_resize(cq->engine, rep.cqe);
	if (r <
	    0) { /* it holds more than that: tell verbcastd that all stays as it was */
		req.cqe = ibv->cqe;
		process_rpc(cq->process, UAPI_RESIZE_CQ, &req, sizeof(req), &rep,
			    sizeof(rep));
		return -r;
	}
	ibv->cqe = rep.cqe;
	return 0;
}

/* The second step of dying: what the program fetched, it must acknowledge first. */
static void wait_acks(struct verbs_cq *cq, unsigned int events)
{
	struct ibv_cq *ibv = cq_public(cq);

	pthread_mutex_lock(&ibv->mutex);
	while (ibv->comp_events_completed != events ||
	       ibv->async_events_completed != cq->async_fetched)
		pthread_cond_wait(&ibv->cond, &ibv->mutex);
	pthread_mutex_unlock(&ibv->mutex);
}

static void cq_close(struct verbs_cq *cq)
{
	struct ibv_cq *ibv = cq_public(cq);
	unsigned int events = 0;

	context_disown(ibv->context, &cq->object);
	engine_cq_destroy(cq->engine);
	if (ibv->channel)
		events = channel_forget(channel_of(ibv->channel), cq);
	async_forget(context_of(ibv->context), ibv);
	wait_acks(cq, events);
}

VC_EXPORT int ibv_destroy_cq(struct ibv_cq *ibv)
{
	struct verbs_cq *cq = cq_of(ibv);
	int r;

	r = process_release_rpc(cq->process, UAPI_DESTROY_CQ, ibv->handle);
	if (r < 0)
		return -r;
	if (!process_forked(cq->process))
		cq_close(cq);
	pd_unuse(cq->parent);
	channel_get(ibv->channel, -1);
	pthread_mutex_destroy(&cq->bracket);
	pthread_cond_destroy(&ibv->cond);
	pthread_mutex_destroy(&ibv->mutex);
	process_put(cq->process);
	free(cq);
	return 0;
}

VC_EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += n;
	pthread_cond_broadcast(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}

int cq_poll(struct ibv_cq *ibv, int n, struct ibv_wc *wc)
{
	struct verbs_cq *cq = cq_of(ibv);

	if (process_forked(cq->process))
		return -ENODEV;
	return engine_cq_poll(cq->engine, n, wc);
}

int cq_arm(struct ibv_cq *ibv, int solicited_only)
{
	struct verbs_cq *cq = cq_of(ibv);

	if (process_forked(cq->process))
		return ENODEV;
	engine_cq_arm(cq->engine, solicited_only);
	return 0;
}

/* Moderation is a hint, and nothing here would gain by it. */
int cq_modify(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	return attr->attr_mask & ~(uint32_t)IBV_CQ_ATTR_MODERATE ? EINVAL : 0;
}
