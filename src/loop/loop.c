/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The event loop over libevent's core.
 *
 * Timers of zero delay do not go through libevent's heap, whose order among equal times
 * is unspecified: they stand in a queue of their own, which one libevent timer empties.
 * What is armed while the queue is being emptied waits for the next turn.
 */
#include "loop/loop.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <event2/event.h>

#include "base/clock.h"
#include "base/list.h"

struct loop {
	struct event_base *base;
	struct event *turn;   /* pending while `deferred` is not empty */
	struct list deferred; /* timers of zero delay, in the order of arming */
	loop_fn before;       /* every callback; null: nothing */
	void *before_arg;
};

struct loop_io {
	struct loop *loop;
	struct event *event;
	int fd;
	loop_io_fn fn;
	void *arg;
};

struct loop_timer {
	struct loop *loop;
	struct event *event;
	struct list link; /* in loop->deferred while armed with zero */
	loop_fn fn;
	void *arg;
};

struct loop_signal {
	struct loop *loop;
	struct event *event;
	loop_fn fn;
	void *arg;
};

static void begin(struct loop *loop)
{
	if (loop->before)
		loop->before(loop->before_arg);
}

static void run_deferred(evutil_socket_t fd, short what, void *arg)
{
	struct loop *loop = arg;
	struct list batch = LIST_INIT(batch);

	/* Move all: a callback may arm, disarm or destroy any timer, its own too. */
	while (!list_empty(&loop->deferred)) {
		struct list *first = loop->deferred.next;

		list_remove(first);
		list_append(&batch, first);
	}
	while (!list_empty(&batch)) {
		struct loop_timer *t = container_of(batch.next, struct loop_timer, link);

		list_remove(&t->link);
		begin(loop);
		t->fn(t->arg);
	}
}

int loop_create(struct loop **ret)
{
	struct event_config *config;
	struct loop *loop;

	loop = calloc(1, sizeof(*loop));
	config = event_config_new();
	if (!loop || !config)
		goto free_config;
	/* Delays count from now, not from the start of the turn, and by the exact clock:
	 * the coarse one lags by up to a tick, and a timer by it runs that much early.
	 * EVENT_* variables of whoever started us do not choose our method. */
	event_config_set_flag(config, EVENT_BASE_FLAG_NO_CACHE_TIME);
	event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
	event_config_set_flag(config, EVENT_BASE_FLAG_IGNORE_ENV);
	list_init(&loop->deferred);
	loop->base = event_base_new_with_config(config);
	if (!loop->base)
		goto free_config;
	loop->turn = event_new(loop->base, -1, 0, run_deferred, loop);
	if (!loop->turn)
		goto free_base;
	event_config_free(config);
	*ret = loop;
	return 0;

free_base:
	event_base_free(loop->base);
free_config:
	if (config)
		event_config_free(config);
	free(loop);
	return -ENOMEM;
}

void loop_destroy(struct loop *loop)
{
	if (!loop)
		return;
	event_free(loop->turn);
	event_base_free(loop->base);
	free(loop);
}

int loop_run(struct loop *loop)
{
	return event_base_loop(loop->base, EVLOOP_NO_EXIT_ON_EMPTY) < 0 ? -EIO : 0;
}

void loop_stop(struct loop *loop)
{
	event_base_loopbreak(loop->base);
}

uint64_t loop_now_ns(struct loop *loop)
{
	return clock_now_ns();
}

void loop_before_each(struct loop *loop, loop_fn fn, void *arg)
{
	loop->before = fn;
	loop->before_arg = arg;
}

static short event_mask(unsigned int events)
{
	return (short)(EV_PERSIST | (events & LOOP_READ ? EV_READ : 0) |
		       (events & LOOP_WRITE ? EV_WRITE : 0));
}

static void io_ready(evutil_socket_t fd, short what, void *arg)
{
	struct loop_io *io = arg;

	begin(io->loop);
	io->fn(io->arg,
	       (what & EV_READ ? LOOP_READ : 0u) | (what & EV_WRITE ? LOOP_WRITE : 0u));
}

int loop_io_create(struct loop *loop, int fd, unsigned int events, loop_io_fn fn,
		   void *arg, struct loop_io **ret)
{
	struct loop_io *io;

	io = calloc(1, sizeof(*io));
	if (!io)
		return -ENOMEM;
	io->loop = loop;
	io->fd = fd;
	io->fn = fn;
	io->arg = arg;
	io->event = event_new(loop->base, fd, event_mask(events), io_ready, io);
	if (!io->event) {
		free(io);
		return -ENOMEM;
	}
	if (events && event_add(io->event, NULL) < 0) {
		event_free(io->event);
		free(io);
		return -EBADF;
	}
	*ret = io;
	return 0;
}

int loop_io_modify(struct loop_io *io, unsigned int events)
{
	struct event_base *base = event_get_base(io->event);

	event_del(io->event);
	if (event_assign(io->event, base, io->fd, event_mask(events), io_ready, io) < 0)
		return -ENOMEM;
	return events && event_add(io->event, NULL) < 0 ? -EBADF : 0;
}

void loop_io_destroy(struct loop_io *io)
{
	if (!io)
		return;
	event_free(io->event);
	free(io);
}

static void timer_due(evutil_socket_t fd, short what, void *arg)
{
	struct loop_timer *t = arg;

	begin(t->loop);
	t->fn(t->arg);
}

int loop_timer_create(struct loop *loop, loop_fn fn, void *arg, struct loop_timer **ret)
{
	struct loop_timer *t;

	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->loop = loop;
	t->fn = fn;
	t->arg = arg;
	list_init(&t->link);
	t->event = event_new(loop->base, -1, 0, timer_due, t);
	if (!t->event) {
		free(t);
		return -ENOMEM;
	}
	*ret = t;
	return 0;
}

static void arm_us(struct loop_timer *t, uint64_t delay_us)
{
	struct timeval tv = {
		.tv_sec = (time_t)(delay_us / 1000000),
		.tv_usec = (suseconds_t)(delay_us % 1000000),
	};

	loop_timer_disarm(t);
	if (delay_us) {
		event_add(t->event, &tv);
		return;
	}
	list_append(&t->loop->deferred, &t->link);
	if (!event_pending(t->loop->turn, EV_TIMEOUT, NULL))
		event_add(t->loop->turn, &tv);
}

void loop_timer_arm(struct loop_timer *t, uint64_t delay_ms)
{
	arm_us(t, delay_ms * 1000);
}

void loop_timer_arm_ns(struct loop_timer *t, uint64_t delay_ns)
{
	arm_us(t, delay_ns / 1000 + (delay_ns % 1000 > 0));
}

void loop_timer_disarm(struct loop_timer *t)
{
	list_remove(&t->link);
	event_del(t->event);
}

void loop_timer_destroy(struct loop_timer *t)
{
	if (!t)
		return;
	loop_timer_disarm(t);
	event_free(t->event);
	free(t);
}

static void signal_came(evutil_socket_t fd, short what, void *arg)
{
	struct loop_signal *s = arg;

	begin(s->loop);
	s->fn(s->arg);
}

int loop_signal_create(struct loop *loop, int signum, loop_fn fn, void *arg,
		       struct loop_signal **ret)
{
	struct loop_signal *s;

	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->loop = loop;
	s->fn = fn;
	s->arg = arg;
	s->event = event_new(loop->base, signum, EV_SIGNAL | EV_PERSIST, signal_came, s);
	if (!s->event) {
		free(s);
		return -ENOMEM;
	}
	if (event_add(s->event, NULL) < 0) {
		event_free(s->event);
		free(s);
		return -EINVAL;
	}
	*ret = s;
	return 0;
}

void loop_signal_destroy(struct loop_signal *s)
{
	if (!s)
		return;
	event_free(s->event);
	free(s);
}
