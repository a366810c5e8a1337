/* SPDX-License-Identifier: BSD-2-Clause */
/* Something that others wait for. What linux/wait.h says of the loop thread holds here. */
#ifndef KAPI_LINUX_COMPLETION_H
#define KAPI_LINUX_COMPLETION_H

#include <linux/errno.h>
#include <linux/wait.h>

struct completion {
	unsigned int done;
	struct wait_queue_head wait;
};

#define COMPLETION_INITIALIZER                                                 \
	{                                                                      \
		0,                                                             \
		{                                                              \
			PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 \
		}                                                              \
	}
#define DECLARE_COMPLETION(x)         struct completion x = COMPLETION_INITIALIZER
#define DECLARE_COMPLETION_ONSTACK(x) DECLARE_COMPLETION(x)

void init_completion(struct completion *c) KAPI(init_completion);
void reinit_completion(struct completion *c) KAPI(reinit_completion);
void complete(struct completion *c) KAPI(complete);
void complete_all(struct completion *c) KAPI(complete_all);
void wait_for_completion(struct completion *c) KAPI(wait_for_completion);
/* 0: not in time; else the jiffies left, at least 1. */
unsigned long wait_for_completion_timeout(struct completion *c, unsigned long timeout)
	KAPI(wait_for_completion_timeout);
bool try_wait_for_completion(struct completion *c) KAPI(try_wait_for_completion);
bool completion_done(struct completion *c) KAPI(completion_done);

static inline int wait_for_completion_interruptible(struct completion *c)
{
	wait_for_completion(c);
	return 0;
}

static inline int wait_for_completion_killable(struct completion *c)
{
	wait_for_completion(c);
	return 0;
}

#define wait_for_completion_interruptible_timeout(c, timeout) \
	((long)wait_for_completion_timeout(c, timeout))

#endif
