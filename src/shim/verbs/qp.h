/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs. */
#ifndef SHIM_VERBS_QP_H
#define SHIM_VERBS_QP_H

#include <infiniband/verbs.h>

#include "base/hash.h"
#include "context.h"

struct qp_batch;

/* Code compiled with newer headers reads function slots behind our struct ibv_qp_ex:
 * they are there, and NULL (spec/userland 2.1). */
#define QP_EX_SPARE_SLOTS 8

/*
 * Created by ibv_create_qp(_ex), freed by ibv_destroy_qp. verbcastd judges every
 * transition and keeps the attributes; the engine runs the queues.
 */
struct verbs_qp {
	struct ibv_qp_ex ex; /* begins with a struct ibv_qp */
	void *spare[QP_EX_SPARE_SLOTS];
	struct process *process; /* a reference */
	struct engine_qp *engine;
	struct context_object object;
	struct ibv_qp_cap cap; /* as granted */
	bool sq_sig_all;
	uint32_t events_fetched;  /* guarded by the context's async lock */
	pthread_mutex_t lock;     /* guards what is below, and the order of changes */
	struct uapi_qp_attr attr; /* as after the last change */
	struct hash attachments;  /* mcast.c; no table before the first attach */
	struct qp_batch *batch;   /* qp_ex.c; NULL: not created with send operations */
};

static inline struct verbs_qp *qp_of(const struct ibv_qp *qp)
{
	return (struct verbs_qp *)qp;
}

static inline struct ibv_qp *qp_public(struct verbs_qp *qp)
{
	return &qp->ex.qp_base;
}

/* Operations in the context's tables (ops.c). */
struct ibv_qp *qp_create_ex(struct ibv_context *context,
			    struct ibv_qp_init_attr_ex *attr);
int qp_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int qp_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/* qp_ex.c: 0 or -EOPNOTSUPP for operations that a queue pair of this type does not do. */
int qp_batch_check(enum ibv_qp_type type, uint64_t send_ops);
int qp_batch_create(struct verbs_qp *qp, uint64_t send_ops);
void qp_batch_destroy(struct verbs_qp *qp);

/* mcast.c: free the records of what is attached; the queue pair is going. */
void qp_attachments_forget(struct verbs_qp *qp);

#endif
