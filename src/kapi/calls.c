// SPDX-License-Identifier: BSD-2-Clause
/*
 * The queue of calls in front of the loop (calls.h).
 */
#include "kapi/calls.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"
#include "loop/loop.h"

/* On the stack of the caller, who waits for `done`. */
struct call {
	struct list link; /* in calls.waiting, guarded by calls.lock */
	void (*fn)(void *arg);
	void *arg;
	bool done; /* guarded by calls.lock */
};

static struct {
	pthread_mutex_t lock; /* no other is taken under it */
	pthread_cond_t answered;
	struct list waiting; /* guarded by lock */
	bool stopped;        /* nobody turns the loop any more; guarded by lock */
	int event_fd;
	struct loop_io *io;
	pthread_mutex_t instead; /* of the loop, once it has stopped: over each call */
} calls = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.instead = PTHREAD_MUTEX_INITIALIZER,
	.answered = PTHREAD_COND_INITIALIZER,
	.waiting = LIST_INIT(calls.waiting),
	.event_fd = -1,
};

static _Thread_local bool is_loop;

static struct call *take(void)
{
	struct call *c = NULL;

	pthread_mutex_lock(&calls.lock);
	if (!list_empty(&calls.waiting)) {
		c = container_of(calls.waiting.next, struct call, link);
		list_remove(&c->link);
	}
	pthread_mutex_unlock(&calls.lock);
	return c;
}

static void answer(struct call *c)
{
	pthread_mutex_lock(&calls.lock);
	c->done = true;
	pthread_cond_broadcast(&calls.answered);
	pthread_mutex_unlock(&calls.lock);
}

/* Those that come meanwhile wait for the next turn: the loop has other work too. */
static void serve(void *arg, unsigned int events)
{
	struct call *c;
	uint64_t count;

	if (read(calls.event_fd, &count, sizeof(count)) != sizeof(count))
		return;
	while (count-- && (c = take()) != NULL) {
		c->fn(c->arg);
		answer(c);
	}
}

int kapi_calls_begin(struct loop *loop)
{
	int r;

	calls.stopped = false;
	calls.event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (calls.event_fd < 0)
		return -errno;
	r = loop_io_create(loop, calls.event_fd, LOOP_READ, serve, NULL, &calls.io);
	if (r < 0)
		kapi_calls_end();
	return r;
}

void kapi_calls_stop(void)
{
	struct call *c;

	pthread_mutex_lock(&calls.lock);
	calls.stopped = true;
	pthread_mutex_unlock(&calls.lock);
	while ((c = take()) != NULL) {
		c->fn(c->arg);
		answer(c);
	}
}

void kapi_calls_end(void)
{
	loop_io_destroy(calls.io);
	calls.io = NULL;
	if (calls.event_fd >= 0)
		close(calls.event_fd);
	calls.event_fd = -1;
}

void kapi_calls_claim(void)
{
	is_loop = true;
}

bool kapi_on_loop(void)
{
	return is_loop;
}

/* The calls' own calls must find themselves on the loop. */
static void call_instead(void (*fn)(void *arg), void *arg)
{
	pthread_mutex_lock(&calls.instead);
	is_loop = true;
	fn(arg);
	is_loop = false;
	pthread_mutex_unlock(&calls.instead);
}

/* True: it is done. */
static bool call_on_loop(struct call *c)
{
	const uint64_t one = 1;
	bool stopped;

	pthread_mutex_lock(&calls.lock);
	stopped = calls.stopped;
	if (!stopped) {
		list_append(&calls.waiting, &c->link);
		if (write(calls.event_fd, &one, sizeof(one)) < 0)
			log_error("the loop cannot be woken: %d", errno);
	}
	while (!stopped && !c->done)
		pthread_cond_wait(&calls.answered, &calls.lock);
	pthread_mutex_unlock(&calls.lock);
	return !stopped;
}

void kapi_call(void (*fn)(void *arg), void *arg)
{
	struct call c = { .fn = fn, .arg = arg };

	if (is_loop)
		fn(arg);
	else if (!call_on_loop(&c))
		call_instead(fn, arg);
}
