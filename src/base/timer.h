/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Timers of a state machine that is handed the time: a queue, its `now`, and what is due
 * when. The daemon drives a queue from its event loop, the simulator in virtual time; a
 * state machine cannot tell. Also how work is put off: a delay of zero means at the next
 * run, in the order of arming, never from inside the call that armed it.
 *
 * Intrusive and without allocation: arming cannot fail. One thread.
 */
#ifndef BASE_TIMER_H
#define BASE_TIMER_H

#include <stdbool.h>
#include <stdint.h>

struct timer;
struct timer_queue;
typedef void (*timer_fn)(struct timer *timer);

/* Embed it; container_of leads back to the owner. */
struct timer {
	struct timer_queue *queue;
	timer_fn fn;
	uint64_t when_ns;
	uint64_t serial;                   /* equal times go by the order of arming */
	struct timer *child, *next, *prev; /* the queue's heap */
	bool armed;
};

struct timer_queue {
	uint64_t now_ns;
	uint64_t serial;
	struct timer *root;
	/* Something is due earlier than before: whoever drives the queue looks at
	 * timer_queue_next again. May be null. */
	void (*earlier)(void *arg);
	void *arg;
};

void timer_queue_init(struct timer_queue *q, uint64_t now_ns, void (*earlier)(void *arg),
		      void *arg);
/* When the first timer is due; UINT64_MAX: none is armed. */
uint64_t timer_queue_next(const struct timer_queue *q);
/* The time is `now_ns` (never earlier than before): call what is due, by time and then by
 * order of arming. What is armed meanwhile for now or earlier waits for the next run. */
void timer_queue_run(struct timer_queue *q, uint64_t now_ns);
/* The same, but no more than `max` calls. True: what was due before is not all done. */
bool timer_queue_run_some(struct timer_queue *q, uint64_t now_ns, unsigned int max);
/* The time is `now_ns`, and nothing is called: for whoever is about to arm timers. */
void timer_queue_advance(struct timer_queue *q, uint64_t now_ns);

void timer_init(struct timer *t, struct timer_queue *q, timer_fn fn);
/* One shot, counted from the queue's now; arming again moves it. */
void timer_arm(struct timer *t, uint64_t delay_ns);
/* Harmless if it is not armed; it may be freed afterwards. */
void timer_disarm(struct timer *t);

#define TIMER_MS 1000000ull

#endif
