/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues. */
#ifndef SHIM_VERBS_CQ_H
#define SHIM_VERBS_CQ_H

#include <infiniband/verbs.h>

#include "base/list.h"
#include "context.h"

/*
 * Created by ibv_create_cq(_ex); named by queue pairs, by its channel while it has
 * events, by the engine until engine_cq_destroy. ibv_destroy_cq frees it, after waiting
 * for the program to acknowledge what it fetched.
 */
struct verbs_cq {
	struct ibv_cq_ex ex;     /* begins as a struct ibv_cq does */
	struct process *process; /* a reference */
	struct engine_cq *engine;
	struct context_object object;
	struct ibv_pd *parent; /* the parent domain it was made on, or null */
	struct list ready;     /* this and the counts: guarded by the channel's lock */
	unsigned int events_pending;
	unsigned int events_fetched;
	unsigned int async_fetched; /* guarded by the context's async lock */
	pthread_mutex_t bracket;    /* held from start_poll to end_poll, guards `wc` */
	struct ibv_wc wc;           /* the completion the bracket stands at */
};

static inline struct verbs_cq *cq_of(const struct ibv_cq *cq)
{
	return (struct verbs_cq *)cq;
}

static inline struct ibv_cq *cq_public(struct verbs_cq *cq)
{
	return (struct ibv_cq *)&cq->ex;
}

/* Operations in the context's tables (ops.c). */
int cq_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int cq_arm(struct ibv_cq *cq, int solicited_only);
int cq_modify(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
struct ibv_cq_ex *cq_create_ex(struct ibv_context *context,
			       struct ibv_cq_init_attr_ex *attr);

/* cq_ex.c: fill the polling bracket's slots. */
void cq_fill_ex(struct ibv_cq_ex *cq);

#endif
