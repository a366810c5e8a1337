// SPDX-License-Identifier: BSD-2-Clause
/*
 * Completion queues. A poll that finds its queue empty runs the engine, which then writes
 * completions straight into the caller's array (spec/dataplane 2: a stored queue costs a
 * third of the rate of small messages); what others complete meanwhile is queued here.
 *
 * The ring grows by doubling as it fills, up to the capacity asked for. A caller's
 * allocator cannot be called in the middle of a delivery, so with one the ring has its full
 * size from the start.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/engine_priv.h"

#define RING_MIN 64u

/* A ring of full size, from the caller's memory. */
struct full_ring {
	struct cq_entry *entries;
	struct ring_source source;
	uint32_t size;
};

static int full_ring_init(struct full_ring *f, const struct engine_memory *memory,
			  uint32_t cqe)
{
	f->size = RING_MIN;
	while (f->size < cqe)
		f->size *= 2;
	f->source = (struct ring_source){ memory, ENGINE_RING_CQ };
	f->entries = ring_alloc(&f->source, f->size * sizeof(*f->entries));
	return f->entries ? 0 : -ENOMEM;
}

/* Put it in; `f` is what was there before. */
static void full_ring_swap(struct engine_cq *cq, struct full_ring *f)
{
	struct full_ring before = { cq->ring, cq->source, cq->size };

	for (uint64_t i = cq->head; i != cq->tail; i++)
		f->entries[i & (f->size - 1)] = cq->ring[i & (cq->size - 1)];
	cq->ring = f->entries;
	cq->source = f->source;
	cq->size = f->size;
	*f = before;
}

int engine_cq_create_in(struct engine *e, const struct engine_memory *memory,
			uint32_t cqe, void *cq_context, struct engine_cq **ret)
{
	struct full_ring full;
	struct engine_cq *cq;

	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -ENOMEM;
	cq->engine = e;
	cq->context = cq_context;
	cq->capacity = cqe;
	cq->memory = memory;
	lock_init(&cq->lock, LOCK_CQ);
	list_init(&cq->stall_link);
	if (memory) {
		if (full_ring_init(&full, memory, cqe) < 0) {
			free(cq);
			return -ENOMEM;
		}
		full_ring_swap(cq, &full);
	}
	*ret = cq;
	return 0;
}

int engine_cq_create(struct engine *e, uint32_t cqe, void *cq_context,
		     struct engine_cq **ret)
{
	return engine_cq_create_in(e, NULL, cqe, cq_context, ret);
}

static void cq_disarm(struct engine_cq *cq)
{
	if (atomic_exchange_explicit(&cq->armed, CQ_DISARMED, memory_order_relaxed))
		atomic_fetch_sub_explicit(&cq->engine->armed, 1, memory_order_relaxed);
}

/* -- completions that come late ------------------------------------------------------ */

static uint32_t now_ms(uint64_t now_ns)
{
	return (uint32_t)(now_ns / 1000000);
}

/* Under the queue's lock: the end of what may be seen. */
static inline uint64_t shown_end(const struct engine_cq *cq)
{
	return unlikely(cq->stalled) ? cq->shown : cq->tail;
}

static void count_shown(struct engine_cq *cq)
{
	atomic_store_explicit(&cq->count, (uint32_t)(shown_end(cq) - cq->head),
			      memory_order_release);
}

static void stall_begin(struct engine_cq *cq, uint64_t due_ns)
{
	struct faults *f = &cq->engine->faults;

	cq->stalled = true;
	cq->shown = cq->tail;
	lock_take(&f->lock);
	list_append(&f->stalled, &cq->stall_link);
	lock_drop(&f->lock);
	faults_pend(cq->engine, due_ns);
}

void cq_stall(struct engine_cq *cq, uint32_t late_ms)
{
	cq->late_ms = late_ms;
	if (!cq->stalled)
		stall_begin(cq, clock_now_ns() + late_ms * 1000000ull);
}

/* Under rx. */
static void cq_unstall(struct engine_cq *cq)
{
	struct faults *f = &cq->engine->faults;

	if (!cq->stalled)
		return;
	cq->stalled = false;
	lock_take(&f->lock);
	list_remove(&cq->stall_link);
	lock_drop(&f->lock);
	faults_settle(cq->engine);
}

/* Behind one that is late: it waits, and may be late itself. */
static __attribute__((noinline)) void end_stalled(struct engine_cq *cq, bool solicited)
{
	struct cq_entry *entry = &cq->ring[cq->tail & (cq->size - 1)];
	uint32_t due = now_ms(clock_now_ns()) + cq->late_ms;

	entry->solicited = solicited;
	entry->due_ms = !cq->late_ms ? 0 : due ? due : 1;
	cq->late_ms = 0;
	cq->tail++;
	lock_drop(&cq->lock);
}

/* Under the queue's lock: up to the first that is not due. */
static bool show_some(struct engine_cq *cq, uint32_t now, bool *ret_solicited)
{
	uint64_t before = cq->shown;

	for (; cq->shown != cq->tail; cq->shown++) {
		const struct cq_entry *entry = &cq->ring[cq->shown & (cq->size - 1)];

		if (entry->due_ms && (int32_t)(entry->due_ms - now) > 0)
			break;
		*ret_solicited |= entry->solicited;
	}
	count_shown(cq);
	return cq->shown != before;
}

uint64_t cq_show(struct engine_cq *cq, uint64_t now_ns)
{
	bool solicited = false, some;
	uint64_t next = UINT64_MAX;
	uint32_t due;

	lock_take(&cq->lock);
	some = show_some(cq, now_ms(now_ns), &solicited);
	if (cq->shown == cq->tail) {
		cq_unstall(cq);
	} else {
		due = cq->ring[cq->shown & (cq->size - 1)].due_ms - now_ms(now_ns);
		next = now_ns + due * 1000000ull;
	}
	lock_drop(&cq->lock);
	if (some)
		cq_notify(cq, solicited);
	return next;
}

/* -- life ---------------------------------------------------------------------------- */

void engine_cq_destroy(struct engine_cq *cq)
{
	if (!cq)
		return;
	cq_disarm(cq);
	lock_take(&cq->engine->rx_lock);
	cq_unstall(cq);
	lock_drop(&cq->engine->rx_lock);
	ring_free(&cq->source, cq->ring);
	free(cq);
}

int engine_cq_resize(struct engine_cq *cq, uint32_t cqe)
{
	struct full_ring full = { .entries = NULL };
	int r = -EINVAL;

	/* What has arrived counts, though no poll has looked at it yet. */
	if (cqe < cq->capacity)
		engine_turn_and_map(cq->engine);
	if (cq->memory && full_ring_init(&full, cq->memory, cqe) < 0)
		return -ENOMEM;
	lock_take(&cq->lock);
	if (cqe >= cq->tail - cq->head) {
		if (full.entries)
			full_ring_swap(cq, &full);
		cq->capacity = cqe;
		r = 0;
	}
	lock_drop(&cq->lock);
	ring_free(&full.source, full.entries);
	return r;
}

static bool ring_grow(struct engine_cq *cq)
{
	uint32_t size = cq->size ? 2 * cq->size : RING_MIN;
	struct cq_entry *ring;

	ring = malloc(size * sizeof(*ring));
	if (!ring)
		return false;
	for (uint64_t i = cq->head; i != cq->tail; i++)
		ring[i & (size - 1)] = cq->ring[i & (cq->size - 1)];
	free(cq->ring);
	cq->ring = ring;
	cq->size = size;
	return true;
}

static void cq_overrun(struct engine_cq *cq)
{
	struct engine *e = cq->engine;

	e->ops->async_event(e->arg, IBV_EVENT_CQ_ERR, cq->context);
	atomic_store_explicit(&e->wake_wanted, true, memory_order_relaxed);
}

struct cq_entry *cq_begin(struct engine_cq *cq)
{
	uint32_t count;
	bool first;

	lock_take(&cq->lock);
	count = (uint32_t)(cq->tail - cq->head);
	if (likely(count < cq->capacity && (count < cq->size || ring_grow(cq))))
		return &cq->ring[cq->tail & (cq->size - 1)];
	first = !cq->overrun;
	cq->overrun = true;
	lock_drop(&cq->lock);
	if (first)
		cq_overrun(cq);
	return NULL;
}

void cq_end(struct engine_cq *cq, bool solicited)
{
	if (unlikely(cq->stalled)) {
		end_stalled(cq, solicited);
		return;
	}
	cq->tail++;
	atomic_store_explicit(&cq->count, (uint32_t)(cq->tail - cq->head),
			      memory_order_release);
	lock_drop(&cq->lock);
	cq_notify(cq, solicited);
}

bool cq_push(struct engine_cq *cq, const struct ibv_wc *wc, struct engine_qp *qp)
{
	struct cq_entry *entry = cq_begin(cq);

	if (!entry)
		return false;
	*entry = (struct cq_entry){ .wc = *wc, .qp = qp };
	cq_end(cq, true);
	return true;
}

void cq_raise(struct engine_cq *cq)
{
	struct engine *e = cq->engine;

	if (!atomic_exchange_explicit(&cq->armed, CQ_DISARMED, memory_order_relaxed))
		return; /* another thread raised it */
	atomic_fetch_sub_explicit(&e->armed, 1, memory_order_relaxed);
	e->ops->cq_event(e->arg, cq->context);
	atomic_store_explicit(&e->wake_wanted, true, memory_order_relaxed);
}

/* A polled completion of a send gives its place in the send queue back. */
static void give_back(struct engine_qp *qp, uint32_t sends)
{
	if (sends)
		sq_used_add(qp, -sends);
}

static int pop(struct engine_cq *cq, int n, struct ibv_wc *wc)
{
	struct engine_qp *qp = NULL;
	uint32_t sends = 0;
	uint64_t end;
	int i;

	if (!n || !atomic_load_explicit(&cq->count, memory_order_acquire))
		return 0;
	lock_take(&cq->lock);
	end = shown_end(cq);
	for (i = 0; i < n && cq->head != end; i++) {
		const struct cq_entry *entry = &cq->ring[cq->head++ & (cq->size - 1)];

		wc[i] = entry->wc;
		if (entry->qp != qp) {
			give_back(qp, sends);
			qp = entry->qp;
			sends = 0;
		}
		sends += entry->is_send;
	}
	give_back(qp, sends);
	atomic_store_explicit(&cq->count, (uint32_t)(end - cq->head),
			      memory_order_release);
	lock_drop(&cq->lock);
	return i;
}

/* Under rx: what is queued first, then what the logs hold. */
static int poll_engine(struct engine_cq *cq, int n, struct ibv_wc *wc)
{
	struct engine *e = cq->engine;
	int k = pop(cq, n, wc);

	if (k == n)
		return k;
	cq->direct = wc + k;
	cq->direct_left = (uint32_t)(n - k);
	e->rx.sink = cq;
	atomic_store_explicit(&e->polls,
			      atomic_load_explicit(&e->polls, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	rx_turn(e);
	e->rx.sink = NULL;
	k = (int)(cq->direct - wc); /* what is left of it may have been taken away */
	cq->direct_left = 0;
	/* Errors met meanwhile are queued, behind what was written directly. */
	return k + pop(cq, n - k, wc + k);
}

int engine_cq_poll(struct engine_cq *cq, int n, struct ibv_wc *wc)
{
	struct engine *e = cq->engine;
	bool wanted;
	int k;

	if (unlikely(n <= 0))
		return 0;
	k = pop(cq, n, wc);
	if (k == n || !lock_try(&e->rx_lock))
		return k;
	k += poll_engine(cq, n - k, wc + k);
	wanted = e->rx.errands;
	lock_drop(&e->rx_lock);
	engine_settle(e);
	if (unlikely(wanted))
		senders_map_wanted(e);
	return k;
}

void engine_cq_arm(struct engine_cq *cq, bool solicited_only)
{
	struct engine *e = cq->engine;
	int before;

	lock_take(&e->rx_lock);
	before = atomic_load_explicit(&cq->armed, memory_order_relaxed);
	if (before != CQ_ARMED_ANY)
		before = atomic_exchange_explicit(
			&cq->armed, solicited_only ? CQ_ARMED_SOLICITED : CQ_ARMED_ANY,
			memory_order_relaxed);
	if (before == CQ_DISARMED)
		atomic_fetch_add_explicit(&e->armed, 1, memory_order_relaxed);
	lock_drop(&e->rx_lock);
	helper_watch(e);
}

void cq_purge(struct engine_cq *cq, struct engine_qp *qp)
{
	uint64_t kept, shown;

	lock_take(&cq->lock);
	kept = shown = cq->head;
	for (uint64_t i = cq->head; i != cq->tail; i++) {
		const struct cq_entry *entry = &cq->ring[i & (cq->size - 1)];

		if (entry->qp != qp)
			cq->ring[kept++ & (cq->size - 1)] = *entry;
		else if (entry->is_send)
			sq_used_add(qp, -1u);
		if (i < cq->shown)
			shown = kept;
	}
	cq->tail = kept;
	cq->shown = shown;
	count_shown(cq);
	if (unlikely(cq->stalled))
		faults_hurry(cq->engine);
	lock_drop(&cq->lock);
}
