// SPDX-License-Identifier: BSD-2-Clause
/*
 * Receive queues: a ring with one reader, the holder of rx, and one writer at a time, the
 * holder of the lock of the queue pair, or of the shared queue (srq.c), that it is in.
 */
#include <errno.h>

#include "engine/engine_priv.h"

int rq_init(struct recv_queue *rq, uint32_t depth, uint32_t max_sge,
	    struct ring_source source)
{
	uint32_t size = 1;

	while (size < depth)
		size *= 2;
	rq->stride =
		(uint32_t)(sizeof(struct recv_entry) + max_sge * sizeof(struct ibv_sge));
	rq->source = source;
	rq->entries = ring_alloc(&rq->source, (size_t)size * rq->stride);
	if (!rq->entries)
		return -ENOMEM;
	rq->mask = size - 1;
	rq->depth = depth;
	return 0;
}

void rq_fini(struct recv_queue *rq)
{
	ring_free(&rq->source, rq->entries);
}

/* What a queue pair in ERR answers to a receive request. */
static void flush_one(struct engine_qp *qp, uint64_t wr_id)
{
	struct ibv_wc wc = {
		.wr_id = wr_id,
		.status = IBV_WC_WR_FLUSH_ERR,
		.opcode = IBV_WC_RECV,
		.qp_num = qp->config.qpn,
	};

	cq_push(qp->config.recv_cq, &wc, qp);
}

int rq_post(struct recv_queue *rq, uint32_t max_sge, const struct ibv_recv_wr *wr)
{
	uint32_t tail = atomic_load_explicit(&rq->tail, memory_order_relaxed);
	uint32_t head = atomic_load_explicit(&rq->head, memory_order_acquire); /* Q2 */
	struct recv_entry *entry;

	if (unlikely(wr->num_sge < 0 || (uint32_t)wr->num_sge > max_sge))
		return EINVAL;
	if (unlikely(tail - head >= rq->depth))
		return ENOMEM;
	entry = rq_entry(rq, tail);
	entry->wr_id = wr->wr_id;
	entry->num_sge = (uint32_t)wr->num_sge;
	for (int i = 0; i < wr->num_sge; i++)
		entry->sge[i] = wr->sg_list[i];
	atomic_store_explicit(&rq->tail, tail + 1, memory_order_release); /* Q1 */
	return 0;
}

/* What every request is answered in this state, or 0. */
static int check_state(const struct engine_qp *qp, int state)
{
	if (unlikely(state == IBV_QPS_RESET || qp->config.srq))
		return EINVAL;
	if (unlikely(atomic_load_explicit(&qp->engine->failed, memory_order_relaxed)))
		return ENODEV;
	return 0;
}

static int post_to_failed(struct engine_qp *qp, const struct ibv_recv_wr *wr)
{
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->config.cap.max_recv_sge)
		return EINVAL;
	flush_one(qp, wr->wr_id);
	return 0;
}

/* The state stays what it is while the lock is held. */
static int post_all(struct engine_qp *qp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr)
{
	const int state = qp_state(qp);
	const int refusal = check_state(qp, state);
	int r = 0;

	for (; wr; wr = wr->next) {
		if (unlikely(refusal))
			r = refusal;
		else if (unlikely(state == IBV_QPS_ERR))
			r = post_to_failed(qp, wr);
		else
			r = rq_post(&qp->rq, qp->config.cap.max_recv_sge, wr);
		if (unlikely(r)) {
			*bad_wr = wr;
			break;
		}
	}
	return r;
}

int engine_qp_post_recv(struct engine_qp *qp, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr)
{
	int r;

	lock_take(&qp->lock);
	r = post_all(qp, wr, bad_wr);
	lock_drop(&qp->lock);
	engine_settle(qp->engine);
	return r;
}
