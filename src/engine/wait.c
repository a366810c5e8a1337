// SPDX-License-Identifier: BSD-2-Clause
/*
 * Threads that wait for a completion event (spec/dataplane 6, "Sleep").
 *
 * `wakes` grows with every ring taken, kick, and event raised in this process. A waiter
 * notes it before it looks at what it waits for, and sleeps only while it is the same, so
 * nothing that came after its look is slept through. engine_sleep_prepare is the other
 * half: it clears the doorbell's bits and looks at the logs once more. The re-check by
 * time is the helper's (helper.c): a timer in every sleep is a tenth of what it costs.
 *
 * S1  a waiter counts itself in `waiters` and then reads `wakes` (in the futex call);
 * S2  an event is counted in `wakes`, then `waiters` is read. One of them sees the other.
 */
#include <errno.h>

#include "base/clock.h"
#include "engine/engine_priv.h"

uint32_t engine_wait_prepare(struct engine *e)
{
	return atomic_load_explicit(&e->doorbell->wakes, memory_order_acquire);
}

void engine_wake(struct engine *e)
{
	atomic_fetch_add_explicit(&e->doorbell->wakes, 1, memory_order_seq_cst); /* S2 */
	if (atomic_load_explicit(&e->waiters, memory_order_seq_cst))
		shm_doorbell_wake(e->doorbell, SHM_SLEEPER_WAITER);
}

void engine_settle_slow(struct engine *e)
{
	if (atomic_exchange_explicit(&e->wake_wanted, false, memory_order_acq_rel))
		engine_wake(e);
}

/* True: sleep. If not, our flag is nobody's, unless others sleep by it. */
static bool prepare(struct engine *e)
{
	bool alone, sleep;

	lock_take(&e->rx_lock);
	atomic_store_explicit(&e->by_waiters, true, memory_order_relaxed);
	alone = !atomic_fetch_add_explicit(&e->waiters, 1, memory_order_seq_cst); /* S1 */
	sleep = !engine_sleep_prepare(e, SHM_SLEEPER_WAITER);
	if (!sleep && alone)
		atomic_store_explicit(&e->doorbell->sleeping, 0, memory_order_relaxed);
	lock_drop(&e->rx_lock);
	return sleep;
}

/* Awake: events that this thread raises itself wake nobody (S2). */
static void wake_up(struct engine *e)
{
	atomic_fetch_sub_explicit(&e->waiters, 1, memory_order_seq_cst);
}

static int sleep_once(struct engine *e, uint32_t seen, int timeout_ms)
{
	int r = 0;

	if (prepare(e))
		r = shm_doorbell_sleep(e->doorbell, SHM_SLEEPER_WAITER, seen, timeout_ms);
	wake_up(e);
	engine_turn_and_map(e);
	/* The last one out leaves armed queues to the helper. */
	if (atomic_load_explicit(&e->armed, memory_order_seq_cst))
		helper_watch(e);
	return r;
}

static uint64_t end_of(int timeout_ms)
{
	return timeout_ms < 0 ? UINT64_MAX
			      : clock_now_ns() + (uint64_t)timeout_ms * 1000000;
}

/* -1: no limit. */
static int left_ms(uint64_t until_ns)
{
	uint64_t now;

	if (until_ns == UINT64_MAX)
		return -1;
	now = clock_now_ns();
	return now >= until_ns ? 0 : (int)((until_ns - now + 999999) / 1000000);
}

int engine_wait(struct engine *e, uint32_t *seen, int timeout_ms)
{
	const uint64_t until_ns = end_of(timeout_ms);
	int left, r = 0;

	if (engine_turn_and_map(e))
		goto woken;
	while (engine_wait_prepare(e) == *seen) {
		left = left_ms(until_ns);
		if (!left)
			return -ETIMEDOUT;
		r = sleep_once(e, *seen, left);
		if (r == -EINTR)
			return r;
	}
woken:
	*seen = engine_wait_prepare(e);
	return 0;
}
