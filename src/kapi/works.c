// SPDX-License-Identifier: BSD-2-Clause
/*
 * Work queues (linux/workqueue.h). A work is in the list of its queue while it is pending;
 * a worker takes it out, and only then runs it, so that it may queue itself again. Who
 * waits for a work waits until it is neither in the list nor with a worker.
 *
 * One lock for all queues: works are few, and cancelling must find out where one is.
 */
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "kapi/calls.h"
#include "kapi/threads.h"

#define WORKERS_MAX 16

struct worker {
	struct workqueue_struct *wq;
	pthread_t thread;
	struct work_struct *current; /* guarded by works_lock; null: idle */
};

struct workqueue_struct {
	char name[16];
	unsigned int most;     /* workers */
	unsigned int count;    /* of them there are; guarded by works_lock */
	unsigned int idle;     /* guarded by works_lock */
	bool ending;           /* guarded by works_lock */
	struct list_head list; /* struct work_struct, guarded by works_lock */
	pthread_cond_t work;   /* for workers */
	pthread_cond_t done;   /* a work is over */
	struct worker workers[WORKERS_MAX];
};

static pthread_mutex_t works_lock = PTHREAD_MUTEX_INITIALIZER;
static struct workqueue_struct *system_queue; /* guarded by works_lock */
static _Thread_local struct worker *self;

static void do_one(struct worker *w)
{
	struct workqueue_struct *wq = w->wq;
	struct work_struct *work = list_first_entry(&wq->list, struct work_struct, entry);

	list_del_init(&work->entry);
	WRITE_ONCE(work->pending, false);
	w->current = work;
	pthread_mutex_unlock(&works_lock);
	work->func(work);
	/* It may be freed by now. */
	pthread_mutex_lock(&works_lock);
	w->current = NULL;
	pthread_cond_broadcast(&wq->done);
}

static void *run(void *arg)
{
	struct worker *w = arg;
	struct workqueue_struct *wq = w->wq;

	self = w;
	pthread_mutex_lock(&works_lock);
	while (!wq->ending || !list_empty(&wq->list)) {
		if (!list_empty(&wq->list)) {
			do_one(w);
			continue;
		}
		wq->idle++;
		pthread_cond_wait(&wq->work, &works_lock);
		wq->idle--;
	}
	pthread_mutex_unlock(&works_lock);
	return NULL;
}

static int add_worker(struct workqueue_struct *wq)
{
	struct worker *w = &wq->workers[wq->count];
	int r;

	w->wq = wq;
	w->current = NULL;
	r = kapi_thread_start(&w->thread, wq->name, run, w);
	if (!r)
		wq->count++;
	return r;
}

struct workqueue_struct *kapi_alloc_workqueue(bool ordered, const char *format, ...)
{
	struct workqueue_struct *wq = kzalloc(sizeof(*wq), GFP_KERNEL);
	va_list args;
	int r;

	if (!wq)
		return NULL;
	va_start(args, format);
	vsnprintf(wq->name, sizeof(wq->name), format, args);
	va_end(args);
	wq->most = ordered ? 1 : WORKERS_MAX;
	INIT_LIST_HEAD(&wq->list);
	pthread_cond_init(&wq->work, NULL);
	pthread_cond_init(&wq->done, NULL);
	/* The first is there from the start: queueing cannot fail. */
	pthread_mutex_lock(&works_lock);
	r = add_worker(wq);
	pthread_mutex_unlock(&works_lock);
	if (r < 0) {
		kfree(wq);
		return NULL;
	}
	return wq;
}

void destroy_workqueue(struct workqueue_struct *wq)
{
	if (!wq)
		return;
	pthread_mutex_lock(&works_lock);
	wq->ending = true;
	pthread_cond_broadcast(&wq->work);
	pthread_mutex_unlock(&works_lock);
	/* Nobody adds a worker any more. */
	for (unsigned int i = 0; i < wq->count; i++)
		pthread_join(wq->workers[i].thread, NULL);
	kfree(wq);
}

struct workqueue_struct *kapi_system_wq(void)
{
	struct workqueue_struct *wq, *mine = NULL;

	pthread_mutex_lock(&works_lock);
	wq = system_queue;
	pthread_mutex_unlock(&works_lock);
	if (wq)
		return wq;
	mine = kapi_alloc_workqueue(false, "kapi-works");
	pthread_mutex_lock(&works_lock);
	wq = system_queue;
	if (!wq)
		system_queue = mine;
	pthread_mutex_unlock(&works_lock);
	if (!wq)
		return mine;
	destroy_workqueue(mine);
	return wq;
}

void kapi_works_end(void)
{
	struct workqueue_struct *wq;

	pthread_mutex_lock(&works_lock);
	wq = system_queue;
	system_queue = NULL;
	pthread_mutex_unlock(&works_lock);
	destroy_workqueue(wq);
}

/* -- works -------------------------------------------------------------------------- */

void kapi_init_work(struct work_struct *w, work_func_t func)
{
	INIT_LIST_HEAD(&w->entry);
	w->func = func;
	w->wq = NULL;
	w->pending = false;
}

static void enqueue_locked(struct workqueue_struct *wq, struct work_struct *w)
{
	w->wq = wq;
	list_add_tail(&w->entry, &wq->list);
	if (!wq->idle && wq->count < wq->most)
		add_worker(wq);
	pthread_cond_signal(&wq->work);
}

bool queue_work(struct workqueue_struct *wq, struct work_struct *w)
{
	bool queued;

	pthread_mutex_lock(&works_lock);
	queued = !w->pending && !wq->ending;
	if (queued) {
		WRITE_ONCE(w->pending, true);
		enqueue_locked(wq, w);
	}
	pthread_mutex_unlock(&works_lock);
	return queued;
}

static bool runs_locked(const struct work_struct *w)
{
	for (unsigned int i = 0; w->wq && i < w->wq->count; i++)
		if (w->wq->workers[i].current == w)
			return true;
	return false;
}

/* From the work itself there is nothing to wait for. */
static void wait_idle_locked(struct work_struct *w, bool pending_too)
{
	if (self && self->current == w)
		return;
	while (runs_locked(w) || (pending_too && w->pending && !list_empty(&w->entry)))
		pthread_cond_wait(&w->wq->done, &works_lock);
}

static bool unqueue_locked(struct work_struct *w)
{
	if (!w->pending || list_empty(&w->entry))
		return false;
	list_del_init(&w->entry);
	WRITE_ONCE(w->pending, false);
	return true;
}

bool cancel_work_sync(struct work_struct *w)
{
	bool was;

	pthread_mutex_lock(&works_lock);
	was = unqueue_locked(w);
	wait_idle_locked(w, false);
	was |= unqueue_locked(w);
	pthread_mutex_unlock(&works_lock);
	return was;
}

bool flush_work(struct work_struct *w)
{
	bool was;

	pthread_mutex_lock(&works_lock);
	was = w->pending || runs_locked(w);
	wait_idle_locked(w, true);
	pthread_mutex_unlock(&works_lock);
	return was;
}

static bool busy_locked(const struct workqueue_struct *wq)
{
	for (unsigned int i = 0; i < wq->count; i++)
		if (wq->workers[i].current && &wq->workers[i] != self)
			return true;
	return !list_empty(&wq->list);
}

void flush_workqueue(struct workqueue_struct *wq)
{
	if (self && self->wq == wq) {
		kapi_report("a work flushes the work queue that runs it");
		return;
	}
	pthread_mutex_lock(&works_lock);
	while (busy_locked(wq))
		pthread_cond_wait(&wq->done, &works_lock);
	pthread_mutex_unlock(&works_lock);
}

/* -- delayed ones: pending from the start, in the list when the timer has fired ----- */

static void delay_over(struct timer_list *t)
{
	struct delayed_work *d = from_timer(d, t, timer);

	pthread_mutex_lock(&works_lock);
	if (d->work.pending && list_empty(&d->work.entry))
		enqueue_locked(d->wq, &d->work);
	pthread_mutex_unlock(&works_lock);
}

void kapi_init_delayed_work(struct delayed_work *d, work_func_t func)
{
	kapi_init_work(&d->work, func);
	kapi_timer_setup(&d->timer, delay_over);
	d->wq = NULL;
}

bool queue_delayed_work(struct workqueue_struct *wq, struct delayed_work *d,
			unsigned long delay)
{
	bool queued;

	if (!delay)
		return queue_work(wq, &d->work);
	pthread_mutex_lock(&works_lock);
	queued = !d->work.pending;
	if (queued) {
		WRITE_ONCE(d->work.pending, true);
		d->wq = wq;
	}
	pthread_mutex_unlock(&works_lock);
	if (queued)
		mod_timer(&d->timer, jiffies + delay);
	return queued;
}

bool cancel_delayed_work(struct delayed_work *d)
{
	bool was = timer_delete_sync(&d->timer);

	pthread_mutex_lock(&works_lock);
	was |= unqueue_locked(&d->work);
	if (list_empty(&d->work.entry))
		WRITE_ONCE(d->work.pending, false);
	pthread_mutex_unlock(&works_lock);
	return was;
}

bool cancel_delayed_work_sync(struct delayed_work *d)
{
	bool was = cancel_delayed_work(d);

	was |= cancel_work_sync(&d->work);
	/* It may have queued itself again while it was waited for. */
	was |= cancel_delayed_work(d);
	return was;
}

bool mod_delayed_work(struct workqueue_struct *wq, struct delayed_work *d,
		      unsigned long delay)
{
	bool was = cancel_delayed_work(d);

	queue_delayed_work(wq, d, delay);
	return was;
}

bool flush_delayed_work(struct delayed_work *d)
{
	bool was = timer_delete_sync(&d->timer);

	if (was)
		delay_over(&d->timer);
	return flush_work(&d->work) || was;
}
