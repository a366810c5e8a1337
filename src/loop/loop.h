/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The daemon's event loop: descriptors, timers, signals and deferred calls, on one
 * thread. A thin seam over libevent, so that virtual time can take its place in tests.
 *
 * State machines are handed what they need (`now`, timers) and never wait.
 */
#ifndef LOOP_LOOP_H
#define LOOP_LOOP_H

#include <stdint.h>

#include "base/list.h"

struct loop;
struct loop_io;
struct loop_timer;
struct loop_signal;

enum loop_io_events {
	LOOP_READ = 1u << 0,
	LOOP_WRITE = 1u << 1,
};

int loop_create(struct loop **ret);
void loop_destroy(struct loop *loop);
/* Until loop_stop; 0 or negative errno. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);
uint64_t loop_now_ns(struct loop *loop);
/* The longest that callbacks of one turn ever took, by the clock: so long nobody else was
 * answered. */
uint64_t loop_longest_turn_ns(const struct loop *loop);

typedef void (*loop_fn)(void *arg);
/* Called before every callback of any kind: how whoever keeps a `now` of its own for
 * state machines brings it up to date. Null: no more. */
void loop_before_each(struct loop *loop, loop_fn fn, void *arg);

typedef void (*loop_io_fn)(void *arg, unsigned int events);
/* Level triggered; the descriptor stays the caller's. */
int loop_io_create(struct loop *loop, int fd, unsigned int events, loop_io_fn fn,
		   void *arg, struct loop_io **ret);
int loop_io_modify(struct loop_io *io, unsigned int events);
void loop_io_destroy(struct loop_io *io);

int loop_timer_create(struct loop *loop, loop_fn fn, void *arg, struct loop_timer **ret);
/* One shot, from now; arming again moves it. Zero means as soon as the loop turns, after
 * what is already due, in the order of arming: how a callback is kept out of the call
 * that caused it. */
void loop_timer_arm(struct loop_timer *timer, uint64_t delay_ms);
/* The same in nanoseconds. */
void loop_timer_arm_ns(struct loop_timer *timer, uint64_t delay_ns);
void loop_timer_disarm(struct loop_timer *timer);
void loop_timer_destroy(struct loop_timer *timer);

/* What is done once at the end of a turn, when all else of it is done: how what came
 * together goes on together. Lies in its user's object, zeroed before the first use. */
struct loop_late {
	struct list link;
	loop_fn fn;
	void *arg;
};
/* Harmless if it is to be called already. */
void loop_late(struct loop *loop, struct loop_late *late, loop_fn fn, void *arg);
void loop_late_cancel(struct loop_late *late);

int loop_signal_create(struct loop *loop, int signum, loop_fn fn, void *arg,
		       struct loop_signal **ret);
void loop_signal_destroy(struct loop_signal *s);

#endif
