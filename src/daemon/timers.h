/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The site's timers: one struct timer_queue for all its state machines, driven by the
 * loop in real time. Its `now` is that of the callback in hand, whatever woke the loop.
 *
 * No step takes longer than half a millisecond, timers that take long themselves aside:
 * what is due beyond that waits until descriptors have been looked at.
 */
#ifndef DAEMON_TIMERS_H
#define DAEMON_TIMERS_H

#include "base/timer.h"
#include "loop/loop.h"

struct timers;

/* The loop's before-each function is the timers' from then on. */
int timers_create(struct loop *loop, struct timers **ret);
/* After all that has timers in the queue. Null is fine. */
void timers_destroy(struct timers *t);
struct timer_queue *timers_queue(struct timers *t);
/* Before the loop runs: call what is due, for at most so long, until `done` says that it
 * is enough. What lies in the future is not waited for. */
void timers_settle(struct timers *t, uint64_t within_ns, bool (*done)(void *arg),
		   void *arg);

#endif
