/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The event loop over libevent's core, which looks after descriptors and signals. Timers
 * stand in a queue of our own with one descriptor of the kernel's: libevent would set its
 * own anew in every turn, which costs a system call, and its order among equal times is
 * unspecified. The descriptor is set when something is due earlier than it says, and not
 * when nothing is due then any more.
 *
 * Timers of zero delay wait in a list, which is emptied once a turn, after the
 * descriptors. What is armed meanwhile waits for the next turn.
 */
#include "loop/loop.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <event2/event.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/timer.h"

struct loop {
	struct event_base *base;
	bool stopped;
	struct timer_queue timers; /* of more than zero delay */
	int timer_fd;              /* readable at timer_at_ns */
	uint64_t timer_at_ns;      /* UINT64_MAX: not set */
	struct event *timer_event;
	struct list deferred; /* timers of zero delay, in the order of arming */
	struct list late;     /* struct loop_late */
	loop_fn before;       /* every callback; null: nothing */
	void *before_arg;
	uint64_t turn_ns; /* when its first callback began; 0: there was none in this turn */
	uint64_t longest_ns;
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
	struct timer timer;
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
	if (!loop->turn_ns)
		loop->turn_ns = clock_now_ns();
	if (loop->before)
		loop->before(loop->before_arg);
}

static void run_deferred(struct loop *loop)
{
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

static void run_late(struct loop *loop)
{
	while (!list_empty(&loop->late)) {
		struct loop_late *late =
			container_of(loop->late.next, struct loop_late, link);

		list_remove(&late->link);
		begin(loop);
		late->fn(late->arg);
	}
}

void loop_late(struct loop *loop, struct loop_late *late, loop_fn fn, void *arg)
{
	if (late->fn && !list_empty(&late->link))
		return;
	*late = (struct loop_late){ .fn = fn, .arg = arg };
	list_init(&late->link);
	list_append(&loop->late, &late->link);
}

void loop_late_cancel(struct loop_late *late)
{
	if (late->fn)
		list_remove(&late->link);
}

/* -- the kernel's timer ------------------------------------------------------------- */

static void set_timer(struct loop *loop)
{
	uint64_t next = timer_queue_next(&loop->timers);
	struct itimerspec at = {
		.it_value = { .tv_sec = (time_t)(next / 1000000000u),
			      .tv_nsec = (long)(next % 1000000000u) },
	};

	if (next >= loop->timer_at_ns)
		return;
	loop->timer_at_ns = next;
	timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static void earlier(void *arg)
{
	set_timer(arg);
}

static void timers_due(evutil_socket_t fd, short what, void *arg)
{
	struct loop *loop = arg;
	uint64_t expired;

	/* It may have been set anew since it was seen readable. */
	if (read(fd, &expired, sizeof(expired)) < 0)
		return;
	timer_queue_run(&loop->timers, clock_now_ns());
	loop->timer_at_ns = UINT64_MAX;
	set_timer(loop);
}

/* -- life --------------------------------------------------------------------------- */

static int open_timer(struct loop *loop)
{
	timer_queue_init(&loop->timers, clock_now_ns(), earlier, loop);
	loop->timer_at_ns = UINT64_MAX;
	loop->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (loop->timer_fd < 0)
		return -errno;
	loop->timer_event = event_new(loop->base, loop->timer_fd, EV_READ | EV_PERSIST,
				      timers_due, loop);
	if (loop->timer_event && event_add(loop->timer_event, NULL) == 0)
		return 0;
	if (loop->timer_event)
		event_free(loop->timer_event);
	close(loop->timer_fd);
	return -ENOMEM;
}

int loop_create(struct loop **ret)
{
	struct event_config *config;
	struct loop *loop;
	int r = -ENOMEM;

	loop = calloc(1, sizeof(*loop));
	config = event_config_new();
	if (!loop || !config)
		goto free_config;
	/* EVENT_* variables of whoever started us do not choose our method. */
	event_config_set_flag(config, EVENT_BASE_FLAG_IGNORE_ENV);
	list_init(&loop->deferred);
	list_init(&loop->late);
	loop->base = event_base_new_with_config(config);
	if (!loop->base)
		goto free_config;
	r = open_timer(loop);
	if (r < 0)
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
	return r;
}

void loop_destroy(struct loop *loop)
{
	if (!loop)
		return;
	event_free(loop->timer_event);
	close(loop->timer_fd);
	event_base_free(loop->base);
	free(loop);
}

/* Of its callbacks: what it waited before is not counted. */
static void end_turn(struct loop *loop)
{
	uint64_t took;

	if (!loop->turn_ns)
		return;
	took = clock_now_ns() - loop->turn_ns;
	loop->turn_ns = 0;
	if (took > loop->longest_ns)
		loop->longest_ns = took;
}

uint64_t loop_longest_turn_ns(const struct loop *loop)
{
	return loop->longest_ns;
}

int loop_run(struct loop *loop)
{
	loop->stopped = false;
	while (!loop->stopped) {
		int flags = EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY;

		if (!list_empty(&loop->deferred))
			flags |= EVLOOP_NONBLOCK;
		if (event_base_loop(loop->base, flags) < 0)
			return -EIO;
		if (!loop->stopped)
			run_deferred(loop);
		run_late(loop);
		end_turn(loop);
	}
	return 0;
}

void loop_stop(struct loop *loop)
{
	loop->stopped = true;
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

static void timer_due(struct timer *timer)
{
	struct loop_timer *t = container_of(timer, struct loop_timer, timer);

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
	timer_init(&t->timer, &loop->timers, timer_due);
	*ret = t;
	return 0;
}

void loop_timer_arm(struct loop_timer *t, uint64_t delay_ms)
{
	uint64_t most = UINT64_MAX / 1000000;

	loop_timer_arm_ns(t, (delay_ms < most ? delay_ms : most) * 1000000);
}

void loop_timer_arm_ns(struct loop_timer *t, uint64_t delay_ns)
{
	loop_timer_disarm(t);
	if (!delay_ns) {
		list_append(&t->loop->deferred, &t->link);
		return;
	}
	/* Delays count from now, not from the start of the turn. */
	timer_queue_advance(&t->loop->timers, clock_now_ns());
	timer_arm(&t->timer, delay_ns);
}

void loop_timer_disarm(struct loop_timer *t)
{
	list_remove(&t->link);
	timer_disarm(&t->timer);
}

void loop_timer_destroy(struct loop_timer *t)
{
	if (!t)
		return;
	loop_timer_disarm(t);
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
