// SPDX-License-Identifier: BSD-2-Clause
/*
 * Completion events: from the engine into a channel's queue, from there to the program.
 *
 * A thread blocked in ibv_get_cq_event sleeps on the process's doorbell and runs the
 * engine itself, so an event costs it neither the descriptor nor another thread. The
 * descriptor is written only where there are more events than such threads.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "shim/export.h"
#include "channel.h"
#include "context.h"
#include "cq.h"

VC_EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct verbs_channel *ch;

	if (process_state(process_of(context)) != PROCESS_LIVE)
		return null_errno(-ENODEV);
	ch = calloc(1, sizeof(*ch));
	if (!ch)
		return null_errno(-ENOMEM);
	ch->ibv.fd = descriptor_behind_standard(eventfd(0, EFD_CLOEXEC));
	if (ch->ibv.fd < 0) {
		free(ch);
		return NULL;
	}
	ch->ibv.context = context;
	ch->process = process_ref(process_of(context));
	pthread_mutex_init(&ch->lock, NULL);
	list_init(&ch->ready);
	return &ch->ibv;
}

VC_EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	struct verbs_channel *ch = channel_of(channel);
	struct ibv_context *context = channel->context;
	bool busy;

	pthread_mutex_lock(&context->mutex);
	busy = channel->refcnt;
	pthread_mutex_unlock(&context->mutex);
	if (busy)
		return EBUSY;
	close(channel->fd);
	pthread_mutex_destroy(&ch->lock);
	process_put(ch->process);
	free(ch);
	return 0;
}

static void signal_if_due_locked(struct verbs_channel *ch)
{
	uint64_t one = 1;

	if (ch->pending > ch->waiters &&
	    write(ch->ibv.fd, &one, sizeof(one)) == sizeof(one))
		ch->signalled = true;
}

static void quiet_if_empty_locked(struct verbs_channel *ch)
{
	uint64_t n;

	if (!ch->pending && ch->signalled)
		ch->signalled = read(ch->ibv.fd, &n, sizeof(n)) != sizeof(n);
}

void channel_push(struct verbs_channel *ch, struct verbs_cq *cq)
{
	pthread_mutex_lock(&ch->lock);
	if (!cq->events_pending++)
		list_append(&ch->ready, &cq->ready);
	ch->pending++;
	signal_if_due_locked(ch);
	pthread_mutex_unlock(&ch->lock);
}

unsigned int channel_forget(struct verbs_channel *ch, struct verbs_cq *cq)
{
	unsigned int fetched;

	pthread_mutex_lock(&ch->lock);
	list_remove(&cq->ready);
	ch->pending -= cq->events_pending;
	cq->events_pending = 0;
	quiet_if_empty_locked(ch);
	fetched = cq->events_fetched;
	pthread_mutex_unlock(&ch->lock);
	return fetched;
}

/* One event of the CQ that is first; a CQ with more of them queues up again. */
static struct verbs_cq *take_locked(struct verbs_channel *ch)
{
	struct verbs_cq *cq;

	if (list_empty(&ch->ready))
		return NULL;
	cq = container_of(ch->ready.next, struct verbs_cq, ready);
	list_remove(&cq->ready);
	if (--cq->events_pending)
		list_append(&ch->ready, &cq->ready);
	cq->events_fetched++;
	ch->pending--;
	quiet_if_empty_locked(ch);
	return cq;
}

static bool nonblocking(const struct verbs_channel *ch)
{
	return fcntl(ch->ibv.fd, F_GETFL) & O_NONBLOCK;
}

/* Wait as one of the channel's waiters. Events left for a waiter that gives up without
 * one are told of by the descriptor again. */
static int wait_event(struct verbs_channel *ch, struct verbs_cq **ret)
{
	struct engine *engine = ch->process->engine;
	uint32_t seen = engine_wait_prepare(engine);
	int r = 0;

	pthread_mutex_lock(&ch->lock);
	ch->waiters++;
	while (!(*ret = take_locked(ch)) && r != -EINTR) {
		pthread_mutex_unlock(&ch->lock);
		r = engine_wait(engine, &seen, -1);
		pthread_mutex_lock(&ch->lock);
	}
	ch->waiters--;
	if (!*ret && !ch->signalled)
		signal_if_due_locked(ch);
	pthread_mutex_unlock(&ch->lock);
	return *ret ? 0 : r;
}

VC_EXPORT int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **ret_cq,
			       void **ret_context)
{
	struct verbs_channel *ch = channel_of(channel);
	struct verbs_cq *cq;
	int r = 0;

	if (process_forked(ch->process))
		return minus_errno(-ENODEV);
	pthread_mutex_lock(&ch->lock);
	cq = take_locked(ch);
	pthread_mutex_unlock(&ch->lock);
	if (!cq)
		r = nonblocking(ch) ? -EAGAIN : wait_event(ch, &cq);
	if (r < 0)
		return minus_errno(r);
	*ret_cq = cq_public(cq);
	*ret_context = cq->ex.cq_context;
	return 0;
}
