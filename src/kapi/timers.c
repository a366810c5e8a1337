// SPDX-License-Identifier: BSD-2-Clause
/*
 * The kernel's timers (linux/timer.h): a list in the order of their time, and one thread
 * that calls them; it starts with the first timer and ends with the site, or stays.
 */
#include <linux/timer.h>
#include <pthread.h>
#include <signal.h>

#include "kapi/threads.h"

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;     /* of the list, or `running` is over */
	struct list_head pending;   /* struct timer_list, guarded by lock */
	struct timer_list *running; /* guarded by lock */
	pthread_t thread;
	bool started, ending; /* guarded by lock */
} timers = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
	.pending = LIST_HEAD_INIT(timers.pending),
};

static struct timer_list *first(void)
{
	return list_first_entry_or_null(&timers.pending, struct timer_list, entry);
}

static void sleep_until(unsigned long j)
{
	struct timespec end = { .tv_sec = j / 1000, .tv_nsec = j % 1000 * 1000000 };

	pthread_cond_clockwait(&timers.changed, &timers.lock, CLOCK_MONOTONIC, &end);
}

static void run_one(struct timer_list *t)
{
	list_del_init(&t->entry);
	timers.running = t;
	pthread_mutex_unlock(&timers.lock);
	t->function(t);
	pthread_mutex_lock(&timers.lock);
	timers.running = NULL;
	pthread_cond_broadcast(&timers.changed);
}

static void *run(void *arg)
{
	pthread_mutex_lock(&timers.lock);
	while (!timers.ending) {
		struct timer_list *t = first();

		if (!t)
			pthread_cond_wait(&timers.changed, &timers.lock);
		else if (time_after(t->expires, jiffies))
			sleep_until(t->expires);
		else
			run_one(t);
	}
	pthread_mutex_unlock(&timers.lock);
	return NULL;
}

static void insert(struct timer_list *t)
{
	struct timer_list *other;

	list_for_each_entry_reverse(other, &timers.pending, entry)
		if (!time_after(other->expires, t->expires))
			break;
	list_add(&t->entry, &other->entry);
	if (!timers.started)
		timers.started =
			kapi_thread_start(&timers.thread, "kapi-timers", run, NULL) == 0;
	pthread_cond_broadcast(&timers.changed);
}

void kapi_timer_setup(struct timer_list *t, void (*function)(struct timer_list *))
{
	INIT_LIST_HEAD(&t->entry);
	t->function = function;
	t->expires = 0;
	t->flags = 0;
}

static int remove_locked(struct timer_list *t)
{
	if (list_empty(&t->entry))
		return 0;
	list_del_init(&t->entry);
	return 1;
}

int mod_timer(struct timer_list *t, unsigned long expires)
{
	int was;

	pthread_mutex_lock(&timers.lock);
	was = remove_locked(t);
	t->expires = expires;
	insert(t);
	pthread_mutex_unlock(&timers.lock);
	return was;
}

void add_timer(struct timer_list *t)
{
	mod_timer(t, t->expires);
}

int kapi_timer_delete(struct timer_list *t)
{
	int was;

	pthread_mutex_lock(&timers.lock);
	was = remove_locked(t);
	pthread_mutex_unlock(&timers.lock);
	return was;
}

int kapi_timer_delete_sync(struct timer_list *t)
{
	int was;

	pthread_mutex_lock(&timers.lock);
	was = remove_locked(t);
	while (timers.running == t && !pthread_equal(pthread_self(), timers.thread)) {
		pthread_cond_wait(&timers.changed, &timers.lock);
		was |= remove_locked(t);
	}
	pthread_mutex_unlock(&timers.lock);
	return was;
}

int timer_pending(const struct timer_list *t)
{
	int pending;

	pthread_mutex_lock(&timers.lock);
	pending = !list_empty(&t->entry);
	pthread_mutex_unlock(&timers.lock);
	return pending;
}

void kapi_timers_end(void)
{
	bool started;

	pthread_mutex_lock(&timers.lock);
	started = timers.started;
	timers.ending = true;
	pthread_cond_broadcast(&timers.changed);
	pthread_mutex_unlock(&timers.lock);
	if (started)
		pthread_join(timers.thread, NULL);
	pthread_mutex_lock(&timers.lock);
	timers.started = timers.ending = false;
	pthread_mutex_unlock(&timers.lock);
}
