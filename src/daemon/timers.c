/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/timers.h"

#include <errno.h>
#include <stdlib.h>

#define STEP_NS 500000u
#define BATCH   16u /* timers between two looks at the clock */

struct timers {
	struct timer_queue queue;
	struct loop *loop;
	struct loop_timer *timer;
	bool running; /* it is armed afterwards, once */
};

static void arm(struct timers *t)
{
	uint64_t next = timer_queue_next(&t->queue), now = t->queue.now_ns;

	if (next == UINT64_MAX)
		loop_timer_disarm(t->timer);
	else
		loop_timer_arm_ns(t->timer, next > now ? next - now : 0);
}

static void earlier(void *arg)
{
	struct timers *t = arg;

	if (!t->running)
		arm(t);
}

/* What is armed meanwhile for now is done in the same turn, as far as there is time: a
 * datagram that arrives is answered, and the answer arrives. */
static void run(void *arg)
{
	struct timers *t = arg;
	uint64_t end = t->queue.now_ns + STEP_NS;

	t->running = true;
	do
		timer_queue_run_some(&t->queue, loop_now_ns(t->loop), BATCH);
	while (timer_queue_next(&t->queue) <= t->queue.now_ns && t->queue.now_ns < end);
	t->running = false;
	arm(t);
}

static void now(void *arg)
{
	struct timers *t = arg;

	timer_queue_advance(&t->queue, loop_now_ns(t->loop));
}

void timers_settle(struct timers *t, uint64_t within_ns, bool (*done)(void *arg),
		   void *arg)
{
	uint64_t end = loop_now_ns(t->loop) + within_ns;

	t->running = true;
	while (!done(arg) && timer_queue_next(&t->queue) <= t->queue.now_ns &&
	       t->queue.now_ns < end)
		timer_queue_run_some(&t->queue, loop_now_ns(t->loop), BATCH);
	t->running = false;
	now(t);
	arm(t);
}

int timers_create(struct loop *loop, struct timers **ret)
{
	struct timers *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->loop = loop;
	r = loop_timer_create(loop, run, t, &t->timer);
	if (r < 0) {
		free(t);
		return r;
	}
	timer_queue_init(&t->queue, loop_now_ns(loop), earlier, t);
	loop_before_each(loop, now, t);
	*ret = t;
	return 0;
}

void timers_destroy(struct timers *t)
{
	if (!t)
		return;
	loop_before_each(t->loop, NULL, NULL);
	loop_timer_destroy(t->timer);
	free(t);
}

struct timer_queue *timers_queue(struct timers *t)
{
	return &t->queue;
}
