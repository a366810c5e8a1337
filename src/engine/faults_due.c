// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is held comes when its time has come: whoever runs the engine without a lock, and
 * at the latest the helper, whose sleep ends then. One thread at a time; who finds another
 * at it goes on, since that one looks at all there is.
 *
 * F1  who holds something counts it in `pending`, then makes `quiet` FAULTS_BUSY
 * F2  who finds no rule makes `quiet` 0, then looks at `pending`. One of them sees the other.
 */
#include "base/clock.h"
#include "engine/faults.h"

#define MS 1000000u

static void lower_next(struct engine *e, uint64_t due_ns)
{
	uint64_t next = atomic_load_explicit(&e->faults.next_ns, memory_order_relaxed);

	while (due_ns < next)
		if (atomic_compare_exchange_weak_explicit(&e->faults.next_ns, &next,
							  due_ns, memory_order_relaxed,
							  memory_order_relaxed)) {
			shm_doorbell_wake(e->doorbell, SHM_SLEEPER_HELPER);
			return;
		}
}

void faults_pend(struct engine *e, uint64_t due_ns)
{
	struct faults *f = &e->faults;

	atomic_fetch_add_explicit(&f->pending, 1, memory_order_seq_cst); /* F1 */
	atomic_store_explicit(&f->quiet, FAULTS_BUSY, memory_order_seq_cst);
	lower_next(e, due_ns);
}

void faults_hurry(struct engine *e)
{
	lower_next(e, 0);
}

void faults_settle(struct engine *e)
{
	atomic_fetch_sub_explicit(&e->faults.pending, 1, memory_order_relaxed);
}

void faults_look_rx(struct engine *e)
{
	struct faults *f = &e->faults;
	struct rx *rx = &e->rx;
	bool was_on = f->rx.on;

	faults_look(e, &f->rx);
	/* Completions behind a late one wait in the queue, so none is written directly. */
	if (rx->sink && (f->rx.completions || rx->sink->stalled))
		rx->sink->direct_left = 0;
	if (f->rx.on && !was_on)
		rx->epoch++; /* runs end, and none begins */
	atomic_store_explicit(&f->quiet, f->rx.generation ? FAULTS_BUSY : 0,
			      memory_order_seq_cst); /* F2 */
	if (!atomic_load_explicit(&f->pending, memory_order_seq_cst))
		return;
	atomic_store_explicit(&f->quiet, FAULTS_BUSY, memory_order_seq_cst);
	rx->errands = true;
}

static uint64_t write_due(struct engine *e, uint64_t now_ns)
{
	struct list ready = LIST_INIT(ready);
	uint64_t next;

	lock_take(&e->tx_lock);
	faults_due(e, &e->faults.tx, now_ns, &ready);
	faults_write_unlocked(e, &ready);
	next = faults_due(e, &e->faults.tx, 0, &ready);
	tx_publish(e);
	lock_drop(&e->tx_lock);
	return next;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static struct engine_cq *stalled_after(struct engine *e, struct engine_cq *cq)
{
	struct list *pos;

	lock_take(&e->faults.lock);
	pos = cq ? cq->stall_link.next : e->faults.stalled.next;
	lock_drop(&e->faults.lock);
	return pos == &e->faults.stalled
		       ? NULL
		       : container_of(pos, struct engine_cq, stall_link);
}

/* A queue leaves the list under rx alone. */
static uint64_t show_due(struct engine *e, uint64_t now_ns)
{
	uint64_t next = FAULTS_NEVER_NS;
	struct engine_cq *cq, *after;

	for (cq = stalled_after(e, NULL); cq; cq = after) {
		after = stalled_after(e, cq);
		next = earlier(next, cq_show(cq, now_ns));
	}
	return next;
}

static uint64_t deliver_due(struct engine *e, uint64_t now_ns)
{
	struct list ready = LIST_INIT(ready);
	uint64_t next;

	lock_take(&e->rx_lock);
	next = faults_due(e, &e->faults.rx, now_ns, &ready);
	faults_deliver(e, &ready);
	next = earlier(next, show_due(e, now_ns));
	lock_drop(&e->rx_lock);
	return next;
}

void faults_run_slow(struct engine *e)
{
	struct faults *f = &e->faults;
	uint64_t now_ns = clock_now_ns(), next;

	if (atomic_load_explicit(&f->next_ns, memory_order_relaxed) > now_ns ||
	    atomic_exchange_explicit(&f->running, true, memory_order_acquire))
		return;
	/* What is held from now on lowers it again. */
	atomic_store_explicit(&f->next_ns, FAULTS_NEVER_NS, memory_order_relaxed);
	next = write_due(e, now_ns);
	next = earlier(next, deliver_due(e, now_ns));
	atomic_store_explicit(&f->running, false, memory_order_release);
	lower_next(e, next);
	engine_settle(e);
}

int faults_sleep_ms(const struct engine *e, int timeout_ms)
{
	uint64_t next = atomic_load_explicit(&e->faults.next_ns, memory_order_relaxed);
	uint64_t now, ms;

	if (likely(next == FAULTS_NEVER_NS))
		return timeout_ms;
	now = clock_now_ns();
	ms = next > now ? (next - now + MS - 1) / MS : 1;
	return ms < (uint64_t)timeout_ms ? (int)ms : timeout_ms;
}
