// SPDX-License-Identifier: BSD-2-Clause
/*
 * Posting by batches (spec/userland 2.5): wr_start opens one, each wr_send adds a request
 * with the wr_id and wr_flags of that moment, the setters fill the last one, wr_complete
 * posts them all. Requests are gathered as struct ibv_send_wr, and the engine gets the
 * chain; inline data is copied by its setter.
 *
 * A wrong call within a batch makes the whole batch fail, with the first error. Where the
 * send queue is too full for all of it, the head of the batch is posted and wr_complete
 * says ENOMEM, as ibv_post_send does.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/export.h"
#include "qp.h"

#define UD_SEND_OPS ((uint64_t)IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)

/* Made and freed with its queue pair. */
struct qp_batch {
	pthread_mutex_t
		lock; /* held from wr_start to wr_complete or wr_abort; guards all */
	unsigned int n, room;
	int error; /* 0 or the first positive errno of the batch */
	struct ibv_send_wr *wrs;
	struct ibv_sge *sges; /* `stride` a request */
	unsigned int stride; /* cap.max_send_sge, at least the one that inline data takes */
	char *inlines;       /* cap.max_inline_data a request; touched when used */
};

static struct verbs_qp *of(struct ibv_qp_ex *ex)
{
	return (struct verbs_qp *)ex;
}

static void batch_fail(struct qp_batch *b, int error)
{
	if (!b->error)
		b->error = error;
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct qp_batch *b = of(ex)->batch;

	pthread_mutex_lock(&b->lock);
	b->n = 0;
	b->error = 0;
}

static struct ibv_send_wr *add(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode)
{
	struct qp_batch *b = of(ex)->batch;
	struct ibv_send_wr *wr;

	if (b->n == b->room) {
		batch_fail(b, ENOMEM);
		return NULL;
	}
	wr = &b->wrs[b->n];
	*wr = (struct ibv_send_wr){
		.wr_id = ex->wr_id,
		.sg_list = &b->sges[(size_t)b->n * b->stride],
		.opcode = opcode,
		.send_flags = ex->wr_flags,
	};
	if (b->n)
		b->wrs[b->n - 1].next = wr;
	b->n++;
	return wr;
}

static void wr_send(struct ibv_qp_ex *ex)
{
	add(ex, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm_data)
{
	struct ibv_send_wr *wr = add(ex, IBV_WR_SEND_WITH_IMM);

	if (wr)
		wr->imm_data = imm_data;
}

/* The request that setters fill; NULL where there is none, or the batch failed already. */
static struct ibv_send_wr *last(struct ibv_qp_ex *ex)
{
	struct qp_batch *b = of(ex)->batch;

	if (!b->n)
		batch_fail(b, EINVAL);
	return b->error ? NULL : &b->wrs[b->n - 1];
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn,
			   uint32_t qkey)
{
	struct ibv_send_wr *wr = last(ex);

	if (!wr)
		return;
	wr->wr.ud.ah = ah;
	wr->wr.ud.remote_qpn = qpn;
	wr->wr.ud.remote_qkey = qkey;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_sge *list)
{
	struct ibv_send_wr *wr = last(ex);

	if (!wr)
		return;
	if (n > of(ex)->cap.max_send_sge) {
		batch_fail(of(ex)->batch, EINVAL);
		return;
	}
	memcpy(wr->sg_list, list, n * sizeof(*list));
	wr->num_sge = n;
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
	struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	wr_set_sge_list(ex, 1, &sge);
}

/* Copied at once, so that the caller may use its memory again; one element is enough. */
static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t n,
				    const struct ibv_data_buf *list)
{
	struct verbs_qp *qp = of(ex);
	struct qp_batch *b = qp->batch;
	struct ibv_send_wr *wr = last(ex);
	size_t max = qp->cap.max_inline_data, used = 0;
	char *to;

	if (!wr)
		return;
	to = b->inlines + (b->n - 1) * max;
	for (size_t i = 0; i < n; i++) {
		if (list[i].length > max - used) {
			batch_fail(b, EINVAL);
			return;
		}
		memcpy(to + used, list[i].addr, list[i].length);
		used += list[i].length;
	}
	wr->sg_list[0] = (struct ibv_sge){ .addr = (uintptr_t)to, .length = used };
	wr->num_sge = 1;
	wr->send_flags |= IBV_SEND_INLINE;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(ex, 1, &buf);
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct verbs_qp *qp = of(ex);
	struct qp_batch *b = qp->batch;
	struct ibv_send_wr *bad;
	int r = b->error;

	if (!r && b->n)
		r = qp_post_send(qp_public(qp), b->wrs, &bad);
	pthread_mutex_unlock(&b->lock);
	return r;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	pthread_mutex_unlock(&of(ex)->batch->lock);
}

int qp_batch_check(enum ibv_qp_type type, uint64_t send_ops)
{
	return type == IBV_QPT_UD && !(send_ops & ~UD_SEND_OPS) ? 0 : -EOPNOTSUPP;
}

static void fill_slots(struct ibv_qp_ex *ex, uint64_t send_ops)
{
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	if (send_ops & IBV_QP_EX_WITH_SEND)
		ex->wr_send = wr_send;
	if (send_ops & IBV_QP_EX_WITH_SEND_WITH_IMM)
		ex->wr_send_imm = wr_send_imm;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
}

int qp_batch_create(struct verbs_qp *qp, uint64_t send_ops)
{
	struct qp_batch *b = calloc(1, sizeof(*b));
	size_t room = qp->cap.max_send_wr;

	if (!b)
		return -ENOMEM;
	b->room = room;
	b->stride = qp->cap.max_send_sge ? qp->cap.max_send_sge : 1;
	b->wrs = calloc(room + 1, sizeof(*b->wrs));
	b->sges = calloc(room * b->stride + 1, sizeof(*b->sges));
	b->inlines = calloc(room * qp->cap.max_inline_data + 1, 1);
	pthread_mutex_init(&b->lock, NULL);
	qp->batch = b;
	if (!b->wrs || !b->sges || !b->inlines) {
		qp_batch_destroy(qp);
		return -ENOMEM;
	}
	fill_slots(&qp->ex, send_ops);
	return 0;
}

void qp_batch_destroy(struct verbs_qp *qp)
{
	struct qp_batch *b = qp->batch;

	if (!b)
		return;
	free(b->inlines);
	free(b->sges);
	free(b->wrs);
	pthread_mutex_destroy(&b->lock);
	free(b);
	qp->batch = NULL;
}

VC_EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *ibv)
{
	struct verbs_qp *qp = qp_of(ibv);

	return qp->batch ? &qp->ex : NULL;
}
