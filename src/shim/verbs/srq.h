/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues. */
#ifndef SHIM_VERBS_SRQ_H
#define SHIM_VERBS_SRQ_H

#include <stdatomic.h>
#include <infiniband/verbs.h>

#include "context.h"

/*
 * Created by ibv_create_srq(_ex), freed by ibv_destroy_srq. verbcastd judges every change
 * by the limits, the engine by what is posted. `users` is the number of queue pairs: the
 * engine must not lose it under one, verbcastd there or not.
 */
struct verbs_srq {
	struct ibv_srq ibv;
	struct process *process; /* a reference */
	struct engine_srq *engine;
	struct context_object object;
	_Atomic unsigned int users;
	uint32_t events_fetched;  /* guarded by the context's async lock */
	pthread_mutex_t lock;     /* guards `attr`, and the order of changes */
	struct ibv_srq_attr attr; /* as verbcastd has it */
};

static inline struct verbs_srq *srq_of(const struct ibv_srq *srq)
{
	return (struct verbs_srq *)srq;
}

/* qp.c: a queue pair comes or goes. Null is fine. */
void srq_use(struct ibv_srq *srq);
void srq_unuse(struct ibv_srq *srq);

/* Operations in the context's tables (ops.c). */
struct ibv_srq *srq_create_ex(struct ibv_context *context,
			      struct ibv_srq_init_attr_ex *attr);
int srq_post_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad_wr);

#endif
