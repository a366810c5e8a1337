// SPDX-License-Identifier: BSD-2-Clause
/*
 * Queueing, fetching and acknowledging asynchronous events. They come from the engine
 * (queue pairs, completion queues; with its lock held) and from the event thread (ports,
 * devices), and are fetched by any thread of the program.
 *
 * What is fetched is counted at its object, and what is acknowledged in the public
 * struct: destroying the object waits until both are equal (spec/userland 2.4).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "shim/export.h"
#include "context.h"
#include "cq.h"
#include "qp.h"
#include "srq.h"

struct async_event {
	struct list link;
	struct ibv_async_event event;
};

int async_init(struct async_queue *q)
{
	q->fd = descriptor_behind_standard(eventfd(0, EFD_CLOEXEC));
	if (q->fd < 0)
		return -errno;
	pthread_mutex_init(&q->lock, NULL);
	list_init(&q->events);
	q->signalled = false;
	return 0;
}

void async_fini(struct async_queue *q)
{
	list_for_each_safe(pos, &q->events)
		free(container_of(pos, struct async_event, link));
	pthread_mutex_destroy(&q->lock);
	close(q->fd);
}

/* Cannot block: the counter would have to reach 2^64 - 1. */
static void signal_locked(struct async_queue *q)
{
	uint64_t one = 1;

	q->signalled = write(q->fd, &one, sizeof(one)) == sizeof(one) || q->signalled;
}

static void quiet_if_empty_locked(struct async_queue *q)
{
	uint64_t n;

	if (list_empty(&q->events) && q->signalled)
		q->signalled = read(q->fd, &n, sizeof(n)) != sizeof(n);
}

void async_push(struct device_context *c, const struct ibv_async_event *event)
{
	struct async_queue *q = &c->async;
	struct async_event *e = malloc(sizeof(*e));

	if (!e)
		return;
	e->event = *event;
	pthread_mutex_lock(&q->lock);
	list_append(&q->events, &e->link);
	signal_locked(q);
	pthread_mutex_unlock(&q->lock);
}

static bool event_is_of_cq(enum ibv_event_type type)
{
	return type == IBV_EVENT_CQ_ERR;
}

static bool event_is_of_srq(enum ibv_event_type type)
{
	return type == IBV_EVENT_SRQ_LIMIT_REACHED || type == IBV_EVENT_SRQ_ERR;
}

static bool event_is_of_qp(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return true;
	default:
		return false;
	}
}

static bool event_is_of(const struct ibv_async_event *e, const void *object)
{
	return (event_is_of_qp(e->event_type) && e->element.qp == object) ||
	       (event_is_of_cq(e->event_type) && e->element.cq == object) ||
	       (event_is_of_srq(e->event_type) && e->element.srq == object);
}

void async_forget(struct device_context *c, const void *object)
{
	struct async_queue *q = &c->async;

	pthread_mutex_lock(&q->lock);
	list_for_each_safe(pos, &q->events) {
		struct async_event *e = container_of(pos, struct async_event, link);

		if (!event_is_of(&e->event, object))
			continue;
		list_remove(pos);
		free(e);
	}
	quiet_if_empty_locked(q);
	pthread_mutex_unlock(&q->lock);
}

static bool async_take(struct async_queue *q, struct ibv_async_event *ret)
{
	struct async_event *e = NULL;

	pthread_mutex_lock(&q->lock);
	if (!list_empty(&q->events)) {
		e = container_of(q->events.next, struct async_event, link);
		list_remove(&e->link);
		*ret = e->event;
		if (event_is_of_qp(ret->event_type))
			qp_of(ret->element.qp)->events_fetched++;
		else if (event_is_of_cq(ret->event_type))
			cq_of(ret->element.cq)->async_fetched++;
		else if (event_is_of_srq(ret->event_type))
			srq_of(ret->element.srq)->events_fetched++;
		quiet_if_empty_locked(q);
	}
	pthread_mutex_unlock(&q->lock);
	free(e);
	return e;
}

/* Blocks in poll, not in read: another thread may fetch the event we were woken for. */
VC_EXPORT int ibv_get_async_event(struct ibv_context *context,
				  struct ibv_async_event *event)
{
	struct async_queue *q = &context_of(context)->async;
	struct pollfd p = { .fd = q->fd, .events = POLLIN };

	if (process_forked(process_of(context)))
		return minus_errno(-ENODEV);
	while (!async_take(q, event)) {
		if (fcntl(q->fd, F_GETFL) & O_NONBLOCK)
			return minus_errno(-EAGAIN);
		if (poll(&p, 1, -1) < 0)
			return -1;
	}
	return 0;
}

VC_EXPORT void ibv_ack_async_event(struct ibv_async_event *event)
{
	if (event_is_of_qp(event->event_type)) {
		struct ibv_qp *qp = event->element.qp;

		pthread_mutex_lock(&qp->mutex);
		qp->events_completed++;
		pthread_cond_broadcast(&qp->cond);
		pthread_mutex_unlock(&qp->mutex);
	} else if (event_is_of_cq(event->event_type)) {
		struct ibv_cq *cq = event->element.cq;

		pthread_mutex_lock(&cq->mutex);
		cq->async_events_completed++;
		pthread_cond_broadcast(&cq->cond);
		pthread_mutex_unlock(&cq->mutex);
	} else if (event_is_of_srq(event->event_type)) {
		struct ibv_srq *srq = event->element.srq;

		pthread_mutex_lock(&srq->mutex);
		srq->events_completed++;
		pthread_cond_broadcast(&srq->cond);
		pthread_mutex_unlock(&srq->mutex);
	}
}
