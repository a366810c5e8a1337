/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine's locks: one word, held for a few hundred nanoseconds, never across a system
 * call that may block. They die with their process; no lock is shared between processes.
 *
 * Taking one costs one atomic exchange, giving it back one store. A waiter spins, then
 * yields, then sleeps for tens of microseconds: whatever the scheduling classes of the
 * threads, the holder gets to run.
 *
 * Order: a thread takes locks in rising rank only. Debug builds check it (lock.c).
 */
#ifndef ENGINE_LOCK_H
#define ENGINE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* docs/locking.md says what each guards. */
enum lock_rank {
	LOCK_TX,     /* engine->tx_lock */
	LOCK_RX,     /* engine->rx_lock */
	LOCK_QP,     /* engine_qp->lock */
	LOCK_SRQ,    /* engine_srq->lock */
	LOCK_CQ,     /* engine_cq->lock */
	LOCK_FAULTS, /* engine->faults.lock */
};

struct lock {
	_Atomic uint32_t held;
	uint32_t rank;
};

static inline void lock_init(struct lock *l, enum lock_rank rank)
{
	atomic_init(&l->held, 0);
	l->rank = rank;
}

void lock_wait(struct lock *l);

#ifdef NDEBUG
static inline void lock_note_take(const struct lock *l)
{
}
static inline void lock_note_drop(const struct lock *l)
{
}
#else
void lock_note_take(const struct lock *l);
void lock_note_drop(const struct lock *l);
#endif

/* L1 acquire here pairs with L2 release there: what one holder wrote the next one sees. */
static inline bool lock_try(struct lock *l)
{
	if (atomic_load_explicit(&l->held, memory_order_relaxed) ||
	    atomic_exchange_explicit(&l->held, 1, memory_order_acquire)) /* L1 */
		return false;
	lock_note_take(l);
	return true;
}

static inline void lock_take(struct lock *l)
{
	if (__builtin_expect(!lock_try(l), 0))
		lock_wait(l);
}

static inline void lock_drop(struct lock *l)
{
	lock_note_drop(l);
	atomic_store_explicit(&l->held, 0, memory_order_release); /* L2 */
}

#endif
