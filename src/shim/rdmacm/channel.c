// SPDX-License-Identifier: BSD-2-Clause
/*
 * Event channels (spec/userland 2.8, 3.3).
 *
 * The descriptor is an eventfd in semaphore mode whose count is the length of the queue;
 * both change under cm_lock. So the descriptor is readable exactly when an event can be
 * fetched, and every event makes a new edge. Nobody blocks in reading it: who waits
 * sleeps on a futex, which a signal ends or restarts as it would a system call on a
 * device, and which outlives the descriptor when the program closes the channel under a
 * waiting thread.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "cm.h"

struct cm_channel *cm_channel_of(struct rdma_event_channel *channel)
{
	return container_of(channel, struct cm_channel, channel);
}

int cm_channel_create(struct cm_channel **ret)
{
	struct cm_channel *ch = calloc(1, sizeof(*ch));

	if (!ch)
		return -ENOMEM;
	ch->channel.fd =
		descriptor_behind_standard(eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE));
	if (ch->channel.fd < 0) {
		free(ch);
		return -errno;
	}
	list_init(&ch->events);
	ch->refs = 1;
	ch->era = cm_era();
	*ret = ch;
	return 0;
}

struct cm_channel *cm_channel_ref_locked(struct cm_channel *ch)
{
	ch->refs++;
	return ch;
}

void cm_channel_put_locked(struct cm_channel *ch)
{
	if (--ch->refs == 0)
		free(ch);
}

/* -- the queue and its count -------------------------------------------------------- */

static void count_up(struct cm_channel *ch)
{
	uint64_t one = 1;

	/* Fails only at a count of 2^64 - 1. */
	if (write(ch->channel.fd, &one, sizeof(one)) < 0)
		return;
}

/* A program of ill manners may have read the descriptor itself: never block here. */
static void count_down(struct cm_channel *ch)
{
	struct pollfd p = { .fd = ch->channel.fd, .events = POLLIN };
	uint64_t one;

	if (poll(&p, 1, 0) == 1 && read(ch->channel.fd, &one, sizeof(one)) < 0)
		return;
}

static void take_locked(struct cm_channel *ch, struct cm_event *e)
{
	list_remove(&e->link);
	count_down(ch);
}

/* In a forked child the descriptor's count is still the parent's. */
static bool is_of_now(const struct cm_channel *ch)
{
	return ch->era == cm_era() && !ch->closed;
}

void cm_channel_post_locked(struct cm_channel *ch, struct cm_event *e)
{
	if (!is_of_now(ch)) {
		free(e);
		return;
	}
	list_append(&ch->events, &e->link);
	count_up(ch);
	__atomic_fetch_add(&ch->posted, 1, __ATOMIC_RELEASE); /* C1, read by C2 */
	syscall(SYS_futex, &ch->posted, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void cm_channel_purge_locked(struct cm_channel *ch, const struct cm_id *id,
			     const struct cm_join *join)
{
	if (!is_of_now(ch))
		return;
	list_for_each_safe(pos, &ch->events) {
		struct cm_event *e = container_of(pos, struct cm_event, link);

		if (e->id != id || (join && e->join != join))
			continue;
		take_locked(ch, e);
		free(e);
	}
}

void cm_channel_move_locked(struct cm_channel *from, struct cm_channel *to,
			    const struct cm_id *id)
{
	if (!is_of_now(from))
		return;
	list_for_each_safe(pos, &from->events) {
		struct cm_event *e = container_of(pos, struct cm_event, link);

		if (e->id != id)
			continue;
		take_locked(from, e);
		cm_channel_post_locked(to, e);
	}
}

/* -- waiting ------------------------------------------------------------------------ */

static void abandon_wait(void *arg)
{
	cm_lock();
	cm_channel_put_locked(arg);
	cm_unlock();
}

/* Until something is posted after `seen`. A cancellation point, as reading a device is:
 * programs cancel the thread that waits here. */
static int sleep_for_event(struct cm_channel *ch, uint32_t seen)
{
	volatile int result = 0;
	int old;

	pthread_cleanup_push(abandon_wait, ch);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
	if (syscall(SYS_futex, &ch->posted, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0) < 0)
		result = -errno;
	pthread_setcanceltype(old, NULL);
	pthread_cleanup_pop(0);
	return result == -EINTR ? -EINTR : 0;
}

static bool is_nonblocking(const struct cm_channel *ch)
{
	int flags = fcntl(ch->channel.fd, F_GETFL);

	return flags >= 0 && (flags & O_NONBLOCK);
}

static struct cm_event *fetch_locked(struct cm_channel *ch)
{
	struct cm_event *e;

	if (list_empty(&ch->events))
		return NULL;
	e = container_of(ch->events.next, struct cm_event, link);
	take_locked(ch, e);
	e->id->fetched++;
	if (e->join)
		e->join->fetched++;
	return e;
}

/* The descriptor is looked at once: later it may be closed, and its number another's. */
static int wait_for_event(struct cm_channel *ch, struct cm_event **ret)
{
	bool block = !is_nonblocking(ch);
	uint32_t seen;
	int r = 0;

	cm_lock();
	if (!is_of_now(ch)) {
		r = ch->closed ? -EBADF : -ENODEV;
		cm_unlock();
		return r;
	}
	cm_channel_ref_locked(ch);
	while (r == 0 && !(*ret = fetch_locked(ch))) {
		seen = __atomic_load_n(&ch->posted, __ATOMIC_ACQUIRE); /* C2 */
		cm_unlock();
		r = block ? sleep_for_event(ch, seen) : -EAGAIN;
		cm_lock();
	}
	cm_channel_put_locked(ch);
	cm_unlock();
	return r;
}

/* -- what programs call ------------------------------------------------------------- */

VC_EXPORT struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct cm_channel *ch;
	int r;

	r = cm_open();
	if (r == 0)
		r = cm_channel_create(&ch);
	if (r < 0) {
		errno = -r;
		return NULL;
	}
	return &ch->channel;
}

VC_EXPORT void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	struct cm_channel *ch = cm_channel_of(channel);

	cm_lock();
	while (!list_empty(&ch->events)) {
		struct cm_event *e = container_of(ch->events.next, struct cm_event, link);

		list_remove(&e->link);
		free(e);
	}
	ch->closed = true;
	close(ch->channel.fd);
	cm_channel_put_locked(ch);
	cm_unlock();
}

VC_EXPORT int rdma_get_cm_event(struct rdma_event_channel *channel,
				struct rdma_cm_event **event)
{
	struct cm_event *e;
	int r;

	if (!event)
		return cm_result(-EINVAL);
	r = wait_for_event(cm_channel_of(channel), &e);
	if (r < 0)
		return cm_result(r);
	cm_event_arrive(e);
	*event = &e->event;
	return 0;
}

VC_EXPORT int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	struct cm_event *e = container_of(event, struct cm_event, event);

	if (!event)
		return cm_result(-EINVAL);
	cm_lock();
	e->id->fetched--;
	if (e->join)
		e->join->fetched--;
	cm_acked_locked();
	cm_unlock();
	free(e);
	return 0;
}
