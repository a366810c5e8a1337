/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wait queues. A waiter takes the queue's turn number, looks at its condition, and sleeps
 * while nobody has called wake_up since.
 *
 * On the loop thread nothing could come that one might wait for: there a wait that would
 * sleep is reported as a bug of the caller and is over at once.
 */
#ifndef KAPI_LINUX_WAIT_H
#define KAPI_LINUX_WAIT_H

#include <pthread.h>

#include <linux/jiffies.h>
#include <linux/types.h>
#include <verbcast/label.h>

typedef struct wait_queue_head {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	unsigned int turn;
} wait_queue_head_t;

#define DECLARE_WAIT_QUEUE_HEAD(x) \
	wait_queue_head_t x = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 }

void kapi_wait_init(struct wait_queue_head *q) KAPI(wait_init);
unsigned int kapi_wait_turn(struct wait_queue_head *q) KAPI(wait_turn);
/* True: somebody has called wake_up since `turn`. False: `until` (jiffies) has come, or
 * nobody ever can. */
bool kapi_wait_sleep(struct wait_queue_head *q, unsigned int turn, unsigned long until)
	KAPI(wait_sleep);
void wake_up(struct wait_queue_head *q) KAPI(wake_up);

#define init_waitqueue_head(q)       kapi_wait_init(q)
#define wake_up_all(q)               wake_up(q)
#define wake_up_interruptible(q)     wake_up(q)
#define wake_up_interruptible_all(q) wake_up(q)

#define wait_event_until(q, condition, until)                                   \
	({                                                                      \
		unsigned int wait_turn;                                         \
		bool wait_met;                                                  \
		do {                                                            \
			wait_turn = kapi_wait_turn(&(q));                       \
			wait_met = (condition);                                 \
		} while (!wait_met && kapi_wait_sleep(&(q), wait_turn, until)); \
		wait_met || (condition);                                        \
	})

#define wait_event(q, condition) ((void)wait_event_until(q, condition, ULONG_MAX))
#define wait_event_interruptible(q, condition) \
	(wait_event_until(q, condition, ULONG_MAX) ? 0 : -ERESTARTSYS)
#define wait_event_killable(q, condition) wait_event_interruptible(q, condition)
/* The jiffies that were left, at least 1; 0: none, and the condition does not hold. */
#define wait_event_timeout(q, condition, timeout)                  \
	({                                                         \
		unsigned long wait_end = jiffies + (timeout);      \
		long wait_left = 0;                                \
		if (wait_event_until(q, condition, wait_end)) {    \
			wait_left = (long)(wait_end - jiffies);    \
			wait_left = wait_left > 0 ? wait_left : 1; \
		}                                                  \
		wait_left;                                         \
	})
#define wait_event_interruptible_timeout(q, condition, timeout) \
	wait_event_timeout(q, condition, timeout)

#endif
