// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sends posted while the queue is drained (SQD): accepted, kept, and executed when the
 * queue pair returns to RTS. They take their places in the send queue meanwhile. Rare, so
 * each is a copy of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_priv.h"

struct held_send {
	struct list link; /* in engine_qp.held_sends, guarded by engine_qp.lock */
	struct ibv_send_wr wr;
	struct ibv_sge *sge;
	uint8_t data[]; /* the elements; behind them what was to be sent inline */
};

static void copy_inline(struct held_send *h, uint8_t *to)
{
	for (int i = 0; i < h->wr.num_sge; i++) {
		memcpy(to, (const void *)(uintptr_t)h->sge[i].addr, h->sge[i].length);
		h->sge[i].addr = (uintptr_t)to;
		to += h->sge[i].length;
	}
}

int send_hold(struct engine_qp *qp, const struct ibv_send_wr *wr)
{
	size_t sges = (size_t)wr->num_sge * sizeof(*wr->sg_list);
	bool is_inline = wr->send_flags & IBV_SEND_INLINE;
	struct held_send *h;

	h = malloc(sizeof(*h) + sges + (is_inline ? qp->config.cap.max_inline_data : 0));
	if (!h)
		return ENOMEM;
	h->wr = *wr;
	h->sge = (struct ibv_sge *)h->data;
	if (sges)
		memcpy(h->sge, wr->sg_list, sges);
	h->wr.sg_list = h->sge;
	h->wr.next = NULL;
	if (is_inline)
		copy_inline(h, h->data + sges);
	lock_take(&qp->lock);
	atomic_fetch_add_explicit(&qp->held, 1, memory_order_relaxed);
	list_append(&qp->held_sends, &h->link);
	lock_drop(&qp->lock);
	return 0;
}

/* Under engine_qp->lock: take the first one out of the queue. */
static struct held_send *pop_locked(struct engine_qp *qp)
{
	struct held_send *h;

	if (list_empty(&qp->held_sends))
		return NULL;
	h = container_of(qp->held_sends.next, struct held_send, link);
	list_remove(&h->link);
	atomic_fetch_sub_explicit(&qp->held, 1, memory_order_relaxed);
	return h;
}

static struct held_send *pop(struct engine_qp *qp)
{
	struct held_send *h;

	lock_take(&qp->lock);
	h = pop_locked(qp);
	lock_drop(&qp->lock);
	return h;
}

static void execute_one(struct engine_qp *qp, const struct ibv_send_wr *wr)
{
	int r;

	do {
		if (qp_state(qp) != IBV_QPS_RTS) {
			complete_send(qp, wr, IBV_WC_WR_FLUSH_ERR, 0);
			return;
		}
		r = send_execute(qp, wr);
	} while (r == SEND_AGAIN);
	if (r) /* refused, but accepted long ago */
		complete_send(qp, wr, IBV_WC_GENERAL_ERR, 0);
}

void send_held(struct engine_qp *qp)
{
	struct held_send *h;

	for (h = pop(qp); h; h = pop(qp)) {
		execute_one(qp, &h->wr);
		/* What is written but not published refers to nothing of it. */
		free(h);
	}
	tx_publish(qp->engine);
}

void send_held_flush(struct engine_qp *qp)
{
	struct held_send *h;

	for (h = pop_locked(qp); h; h = pop_locked(qp)) {
		complete_send(qp, &h->wr, IBV_WC_WR_FLUSH_ERR, 0);
		free(h);
	}
}

void send_held_drop(struct engine_qp *qp)
{
	struct held_send *h;

	for (h = pop_locked(qp); h; h = pop_locked(qp))
		free(h);
}
