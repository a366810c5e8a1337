// SPDX-License-Identifier: BSD-2-Clause
/*
 * The helper thread: runs the engine for a program that does not. It sleeps until a
 * sender at its gate, or verbcastd, kicks it; and exactly, as a waiter does, while a
 * completion queue is armed and no thread is in engine_wait (a program in poll or epoll).
 * Arming makes its sleep exact without waking it (helper_watch). Now and then it
 * looks at all logs for those that sleep exactly, itself or waiters, whatever the bits say.
 *
 * A kicked helper does not drain behind the back of a program that polls and merely did
 * not get the CPU: what lies in the log costs nobody anything, while draining it into a
 * receive queue that the program is about to refill would drop what does not fit. It
 * watches for POLLS_MS first, once each time that the program has stopped polling.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "base/clock.h"
#include "engine/engine_priv.h"

#define POLLS_MS 5 /* half the grace of a sender (gate.c) */

static bool is_exact(const struct engine *e)
{
	return atomic_load_explicit(&e->armed, memory_order_relaxed) &&
	       !atomic_load_explicit(&e->waiters, memory_order_relaxed);
}

/*
 * Under rx: nobody needs to be told of a new bit, so nobody shall be woken by one. Where
 * the helper is to find the next event anyway, one that is awake early does no harm: its
 * write to a descriptor then meets no thread that waits for it, and which would run into
 * the locks that are held meanwhile.
 */
static void unwatch(struct engine *e)
{
	if (atomic_load_explicit(&e->by_waiters, memory_order_relaxed) &&
	    !atomic_load_explicit(&e->armed, memory_order_relaxed) &&
	    !atomic_load_explicit(&e->waiters, memory_order_relaxed))
		atomic_store_explicit(&e->doorbell->sleeping, 0, memory_order_relaxed);
}

void helper_watch(struct engine *e)
{
	bool wanted, wake = false;

	lock_take(&e->rx_lock);
	if (is_exact(e) && engine_sleep_prepare(e, SHM_SLEEPER_HELPER)) {
		rx_turn(e);
		wake = is_exact(e) && engine_sleep_prepare(e, SHM_SLEEPER_HELPER);
		unwatch(e);
	}
	wanted = e->rx.errands;
	lock_drop(&e->rx_lock);
	engine_settle(e);
	if (unlikely(wanted))
		senders_map_wanted(e);
	/* More came than a turn takes, and no event of it yet. */
	if (unlikely(wake))
		shm_doorbell_wake(e->doorbell, SHM_SLEEPER_HELPER);
}

/* True: sleep. */
static bool prepare(struct engine *e, uint32_t *turns)
{
	bool sleep = true;

	lock_take(&e->rx_lock);
	if (is_exact(e))
		sleep = !engine_sleep_prepare(e, SHM_SLEEPER_HELPER);
	*turns = e->rx.turns;
	lock_drop(&e->rx_lock);
	return sleep;
}

static uint32_t polls_now(const struct engine *e)
{
	return atomic_load_explicit(&e->polls, memory_order_relaxed);
}

static bool stopping(const struct engine *e)
{
	return atomic_load_explicit(&e->helper_stop, memory_order_acquire);
}

/* Does the program poll? `quiet` is the count of polls at which it was last seen not to. */
static bool program_polls(struct engine *e, uint32_t *quiet)
{
	const uint64_t end = clock_now_ns() + POLLS_MS * 1000000u;
	const uint32_t before = polls_now(e);

	while (before != *quiet) {
		uint32_t seen = engine_wait_prepare(e);

		if (polls_now(e) != before)
			return true;
		if (stopping(e) || is_exact(e) || clock_now_ns() >= end)
			*quiet = before;
		else
			shm_doorbell_sleep(e->doorbell, SHM_SLEEPER_HELPER, seen, 1);
	}
	return false;
}

static int helper_sleep(struct engine *e, uint32_t seen)
{
	return shm_doorbell_sleep(e->doorbell, SHM_SLEEPER_HELPER, seen,
				  faults_sleep_ms(e, ENGINE_RECHECK_MS));
}

/*
 * What an exact sleeper should have been woken for: we, who slept all the time; or waiters,
 * who did if no turns were run since we fell asleep.
 */
static void recheck(struct engine *e, uint32_t turns)
{
	if (is_exact(e))
		senders_recheck(e, NULL);
	else if (atomic_load_explicit(&e->waiters, memory_order_relaxed) &&
		 senders_recheck(e, &turns))
		shm_doorbell_wake(e->doorbell, SHM_SLEEPER_WAITER);
}

static void drain(struct engine *e)
{
	while (engine_turn_and_map(e) && !stopping(e))
		atomic_store_explicit(&e->by_waiters, false, memory_order_relaxed);
}

static void *helper_main(void *arg)
{
	struct engine *e = arg;
	uint32_t quiet = 0, done = 0, turns;

	while (!stopping(e)) {
		uint32_t seen = engine_wait_prepare(e);
		uint32_t kicks =
			atomic_load_explicit(&e->doorbell->kicks, memory_order_acquire);

		faults_run(e);
		if (is_exact(e) || (kicks != done && !program_polls(e, &quiet)))
			drain(e);
		done = kicks;
		if (prepare(e, &turns) && helper_sleep(e, seen) == -ETIMEDOUT)
			recheck(e, turns);
	}
	return NULL;
}

/* All signals stay the program's. */
static int start_locked(struct engine *e)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&e->helper, NULL, helper_main, e);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r < 0)
		return r;
	pthread_setname_np(e->helper, "verbcast-helper");
	e->helper_running = true;
	return 0;
}

int helper_start(struct engine *e)
{
	int r = 0;

	pthread_mutex_lock(&e->setup);
	if (!e->helper_running)
		r = start_locked(e);
	pthread_mutex_unlock(&e->setup);
	return r;
}

void helper_stop(struct engine *e)
{
	if (!e->helper_running)
		return;
	atomic_store_explicit(&e->helper_stop, true, memory_order_release);
	shm_doorbell_wake(e->doorbell, SHM_SLEEPER_HELPER);
	pthread_join(e->helper, NULL);
	e->helper_running = false;
}
