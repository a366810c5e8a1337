/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asynchronous events of an open device, and the descriptor that tells of them: it is
 * readable exactly while an event can be fetched, and every new event gives a fresh edge
 * (spec/userland 2.8).
 */
#ifndef SHIM_VERBS_ASYNC_H
#define SHIM_VERBS_ASYNC_H

#include <pthread.h>
#include <stdbool.h>
#include <infiniband/verbs.h>

#include "base/list.h"

struct device_context;

struct async_queue {
	int fd; /* eventfd, the context's async_fd */
	pthread_mutex_t
		lock; /* guards the rest, and each object's count of fetched events */
	struct list events;
	bool signalled; /* the descriptor is readable */
};

int async_init(struct async_queue *q);
void async_fini(struct async_queue *q);

/* Takes a lock of its own, allocates; where there is no memory the event is lost. */
void async_push(struct device_context *c, const struct ibv_async_event *event);

/* Drop the events of an object that is being destroyed (`object`: ibv_qp, ibv_cq
 * or ibv_srq). */
void async_forget(struct device_context *c, const void *object);

#endif
