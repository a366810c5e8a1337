// SPDX-License-Identifier: BSD-2-Clause
/*
 * Shared receive queues: the ring of rq.c, which many queue pairs take from. They all do so
 * under rx, so that for the ring nothing changes but whose lock its writers hold.
 *
 * The limit is looked at when a receive is taken, not when it is armed, as Linux's own
 * software device does: a queue that is below it already says so with the next datagram.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_priv.h"

static struct ring_source ring_source(const struct engine_memory *memory)
{
	return (struct ring_source){ memory, ENGINE_RING_SRQ };
}

int engine_srq_create(struct engine *e, const struct engine_memory *memory, uint32_t pd,
		      uint32_t max_wr, uint32_t max_sge, void *srq_context,
		      struct engine_srq **ret)
{
	struct engine_srq *srq;
	int r;

	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return -ENOMEM;
	r = rq_init(&srq->rq, max_wr, max_sge, ring_source(memory));
	if (r < 0) {
		free(srq);
		return r;
	}
	srq->engine = e;
	srq->context = srq_context;
	srq->memory = memory;
	srq->pd = pd;
	srq->max_sge = max_sge;
	lock_init(&srq->lock, LOCK_SRQ);
	*ret = srq;
	return 0;
}

void engine_srq_destroy(struct engine_srq *srq)
{
	if (!srq)
		return;
	rq_fini(&srq->rq);
	free(srq);
}

/* Under rx; posting may add to it meanwhile. */
static uint32_t srq_count(const struct engine_srq *srq)
{
	return atomic_load_explicit(&srq->rq.tail, memory_order_acquire) - /* Q1 */
	       atomic_load_explicit(&srq->rq.head, memory_order_relaxed);
}

void srq_look_at_limit(struct engine_srq *srq, uint32_t limit)
{
	struct engine *e = srq->engine;

	if (srq_count(srq) >= limit)
		return;
	atomic_store_explicit(&srq->limit, 0, memory_order_relaxed);
	e->ops->async_event(e->arg, IBV_EVENT_SRQ_LIMIT_REACHED, srq->context);
	atomic_store_explicit(&e->wake_wanted, true, memory_order_relaxed);
}

uint32_t engine_srq_limit(const struct engine_srq *srq)
{
	return atomic_load_explicit(&srq->limit, memory_order_relaxed);
}

/* Under rx and the lock: what is posted moves to the beginning of the new ring. */
static void move_entries(struct recv_queue *to, struct recv_queue *from)
{
	uint32_t tail = atomic_load_explicit(&from->tail, memory_order_relaxed);
	uint32_t n = 0;

	for (uint32_t i = atomic_load_explicit(&from->head, memory_order_relaxed);
	     i != tail; i++)
		memcpy(rq_entry(to, n++), rq_entry(from, i), from->stride);
	atomic_store_explicit(&to->tail, n, memory_order_relaxed);
}

/* `to` is what was there before. */
static void swap_locked(struct recv_queue *rq, struct recv_queue *to)
{
	struct recv_queue before = { .entries = rq->entries, .source = rq->source };

	move_entries(to, rq);
	rq->entries = to->entries;
	rq->source = to->source;
	rq->mask = to->mask;
	rq->depth = to->depth;
	rq->known_tail = atomic_load_explicit(&to->tail, memory_order_relaxed);
	atomic_store_explicit(&rq->head, 0, memory_order_relaxed);
	atomic_store_explicit(&rq->tail, rq->known_tail, memory_order_relaxed);
	to->entries = before.entries;
	to->source = before.source;
}

/* `to`: the ring to have from now on, if the depth is to change. */
static int modify_locked(struct engine_srq *srq, int mask,
			 const struct ibv_srq_attr *attr, struct recv_queue *to)
{
	uint32_t max_wr = mask & IBV_SRQ_MAX_WR ? attr->max_wr : srq->rq.depth;
	uint32_t limit = mask & IBV_SRQ_LIMIT ? attr->srq_limit : engine_srq_limit(srq);

	if (max_wr < srq_count(srq) || max_wr < limit)
		return -EINVAL;
	if (mask & IBV_SRQ_MAX_WR)
		swap_locked(&srq->rq, to);
	atomic_store_explicit(&srq->limit, limit, memory_order_relaxed);
	return 0;
}

int engine_srq_modify(struct engine_srq *srq, int mask, const struct ibv_srq_attr *attr)
{
	struct engine *e = srq->engine;
	struct recv_queue to = { 0 };
	int r = 0;

	if (mask & IBV_SRQ_MAX_WR)
		r = attr->max_wr ? rq_init(&to, attr->max_wr, srq->max_sge,
					   ring_source(srq->memory))
				 : -EINVAL;
	if (r < 0)
		return r;
	lock_take(&e->rx_lock);
	lock_take(&srq->lock);
	r = modify_locked(srq, mask, attr, &to);
	lock_drop(&srq->lock);
	lock_drop(&e->rx_lock);
	rq_fini(&to);
	return r;
}

static int post_all(struct engine_srq *srq, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr)
{
	int r = 0;

	if (unlikely(atomic_load_explicit(&srq->engine->failed, memory_order_relaxed)))
		r = ENODEV;
	for (; wr; wr = wr->next) {
		if (!r)
			r = rq_post(&srq->rq, srq->max_sge, wr);
		if (unlikely(r)) {
			*bad_wr = wr;
			break;
		}
	}
	return r;
}

int engine_srq_post_recv(struct engine_srq *srq, struct ibv_recv_wr *wr,
			 struct ibv_recv_wr **bad_wr)
{
	int r;

	lock_take(&srq->lock);
	r = post_all(srq, wr, bad_wr);
	lock_drop(&srq->lock);
	return r;
}
