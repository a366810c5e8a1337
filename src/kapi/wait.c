// SPDX-License-Identifier: BSD-2-Clause
/*
 * Wait queues and completions (linux/wait.h, linux/completion.h), the kernel's clock, and
 * readers of RCU.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <errno.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "kapi/calls.h"

#define MS 1000000ull

unsigned long kapi_jiffies(void)
{
	return clock_now_ns() / MS;
}

u64 ktime_get_ns(void)
{
	return clock_now_ns();
}

void kapi_wait_init(struct wait_queue_head *q)
{
	pthread_mutex_init(&q->mutex, NULL);
	pthread_cond_init(&q->cond, NULL);
	q->turn = 0;
}

unsigned int kapi_wait_turn(struct wait_queue_head *q)
{
	unsigned int turn;

	pthread_mutex_lock(&q->mutex);
	turn = q->turn;
	pthread_mutex_unlock(&q->mutex);
	return turn;
}

/* False: `until` has come. */
static bool wait_once(struct wait_queue_head *q, unsigned long until)
{
	struct timespec end = { .tv_sec = until / 1000, .tv_nsec = until % 1000 * MS };

	if (until == ULONG_MAX)
		return pthread_cond_wait(&q->cond, &q->mutex) == 0;
	return pthread_cond_clockwait(&q->cond, &q->mutex, CLOCK_MONOTONIC, &end) == 0;
}

/* Only the loop brings what consumers wait for, so it would be waiting for itself. */
static bool may_sleep(void)
{
	if (!kapi_on_loop())
		return true;
	kapi_report("a callback waits for what only the loop can bring; it goes on "
		    "without");
	return false;
}

bool kapi_wait_sleep(struct wait_queue_head *q, unsigned int turn, unsigned long until)
{
	bool woken = true;

	pthread_mutex_lock(&q->mutex);
	if (q->turn == turn && !may_sleep())
		woken = false;
	while (q->turn == turn && woken)
		woken = wait_once(q, until);
	pthread_mutex_unlock(&q->mutex);
	return woken;
}

void wake_up(struct wait_queue_head *q)
{
	pthread_mutex_lock(&q->mutex);
	q->turn++;
	pthread_cond_broadcast(&q->cond);
	pthread_mutex_unlock(&q->mutex);
}

/* -- completions -------------------------------------------------------------------- */

void init_completion(struct completion *c)
{
	c->done = 0;
	kapi_wait_init(&c->wait);
}

void reinit_completion(struct completion *c)
{
	pthread_mutex_lock(&c->wait.mutex);
	c->done = 0;
	pthread_mutex_unlock(&c->wait.mutex);
}

/* The waiter may free it as soon as the mutex is free, so it is told under it. */
static void finish(struct completion *c, bool all)
{
	pthread_mutex_lock(&c->wait.mutex);
	if (all)
		c->done = UINT_MAX;
	else if (c->done != UINT_MAX)
		c->done++;
	pthread_cond_broadcast(&c->wait.cond);
	pthread_mutex_unlock(&c->wait.mutex);
}

void complete(struct completion *c)
{
	finish(c, false);
}

void complete_all(struct completion *c)
{
	finish(c, true);
}

static bool wait_until(struct completion *c, unsigned long until)
{
	bool done;

	pthread_mutex_lock(&c->wait.mutex);
	if (c->done || may_sleep())
		while (!c->done && wait_once(&c->wait, until))
			;
	done = c->done;
	if (done && c->done != UINT_MAX)
		c->done--;
	pthread_mutex_unlock(&c->wait.mutex);
	return done;
}

void wait_for_completion(struct completion *c)
{
	wait_until(c, ULONG_MAX);
}

unsigned long wait_for_completion_timeout(struct completion *c, unsigned long timeout)
{
	unsigned long end = jiffies + timeout, now;

	if (timeout >= MAX_SCHEDULE_TIMEOUT)
		end = ULONG_MAX;
	if (!wait_until(c, end))
		return 0;
	now = jiffies;
	return end > now ? end - now : 1;
}

bool try_wait_for_completion(struct completion *c)
{
	bool done;

	pthread_mutex_lock(&c->wait.mutex);
	done = c->done;
	if (done && c->done != UINT_MAX)
		c->done--;
	pthread_mutex_unlock(&c->wait.mutex);
	return done;
}

bool completion_done(struct completion *c)
{
	bool done;

	pthread_mutex_lock(&c->wait.mutex);
	done = c->done;
	pthread_mutex_unlock(&c->wait.mutex);
	return done;
}

/* -- delays, random numbers, RCU ---------------------------------------------------- */

void usleep_range(unsigned long least, unsigned long most)
{
	struct timespec t = { .tv_sec = least / 1000000,
			      .tv_nsec = least % 1000000 * 1000 };

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

void msleep(unsigned int ms)
{
	usleep_range(ms * 1000ul, ms * 1000ul);
}

void get_random_bytes(void *buf, size_t n)
{
	u8 *to = buf;

	while (n) {
		ssize_t got = getrandom(to, n, 0);

		if (got <= 0)
			continue;
		to += got;
		n -= got;
	}
}

/* Readers are few and short in consumers: one lock for all. */
static pthread_rwlock_t rcu = PTHREAD_RWLOCK_INITIALIZER;

void rcu_read_lock(void)
{
	pthread_rwlock_rdlock(&rcu);
}

void rcu_read_unlock(void)
{
	pthread_rwlock_unlock(&rcu);
}

void synchronize_rcu(void)
{
	pthread_rwlock_wrlock(&rcu);
	pthread_rwlock_unlock(&rcu);
}
