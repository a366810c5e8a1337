// SPDX-License-Identifier: BSD-2-Clause
/*
 * The event thread (verbcast-events): reads what verbcastd says unasked, and finds out
 * that it died. One a generation; it blocks all signals, is never joined, and ends when
 * its socket does. CM events go to librdmacm by its handler, port and device events to
 * the contexts of the device.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/log.h"
#include "shim/export.h"
#include "async.h"
#include "context.h"
#include "device.h"
#include "process_priv.h"

typedef void (*cm_handler)(const struct uapi_cm_event *event, void *arg);
typedef void (*down_handler)(unsigned int generation, void *arg);

static struct {
	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t idle;
	cm_handler cm;
	void *cm_arg;
	down_handler down;
	void *down_arg;
	unsigned int running; /* calls into either handler */
} handlers = { .lock = PTHREAD_MUTEX_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER };

static __thread bool in_handler;

/* The threads that held this lock, or ran a handler, are not in the child. */
void process_events_forked(void)
{
	pthread_mutex_init(&handlers.lock, NULL);
	pthread_cond_init(&handlers.idle, NULL);
	handlers.running = in_handler;
}

static void handler_enter_locked(void)
{
	handlers.running++;
	in_handler = true;
	pthread_mutex_unlock(&handlers.lock);
}

static void handler_leave(void)
{
	pthread_mutex_lock(&handlers.lock);
	in_handler = false;
	handlers.running--;
	pthread_cond_broadcast(&handlers.idle);
	pthread_mutex_unlock(&handlers.lock);
}

/* The caller has just replaced a handler; the former may still run in the event thread. */
static void handlers_wait_locked(void)
{
	while (handlers.running && !in_handler)
		pthread_cond_wait(&handlers.idle, &handlers.lock);
}

VC_EXPORT void vc_set_cm_handler(cm_handler fn, void *arg)
{
	pthread_mutex_lock(&handlers.lock);
	handlers.cm = fn;
	handlers.cm_arg = arg;
	handlers_wait_locked();
	pthread_mutex_unlock(&handlers.lock);
}

VC_EXPORT void vc_set_down_handler(down_handler fn, void *arg)
{
	pthread_mutex_lock(&handlers.lock);
	handlers.down = fn;
	handlers.down_arg = arg;
	handlers_wait_locked();
	pthread_mutex_unlock(&handlers.lock);
}

static void cm_call(const struct uapi_cm_event *event)
{
	cm_handler fn;
	void *arg;

	pthread_mutex_lock(&handlers.lock);
	fn = handlers.cm;
	arg = handlers.cm_arg;
	handler_enter_locked();
	if (fn)
		fn(event, arg);
	handler_leave();
}

static void down_call(unsigned int generation)
{
	down_handler fn;
	void *arg;

	pthread_mutex_lock(&handlers.lock);
	fn = handlers.down;
	arg = handlers.down_arg;
	handler_enter_locked();
	if (fn)
		fn(generation, arg);
	handler_leave();
}

/* A device was removed: its queue pairs stop, which ends poll loops, while others go on.
 * The number that the engine knows it by is not used again while a context is open. */
static void stop_device_locked(struct process *p, struct verbs_device *d)
{
	log_info("%s was removed", d->ibv.name);
	atomic_store_explicit(&d->gone, true, memory_order_relaxed);
	engine_fail_device(p->engine, d->attr.device);
}

static void tell_device_locked(struct process *p, uint32_t id,
			       const struct ibv_async_event *e)
{
	list_for_each(pos, &p->contexts) {
		struct device_context *c = container_of(pos, struct device_context, link);

		if (c->device->attr.id != id)
			continue;
		if (e->event_type != IBV_EVENT_DEVICE_FATAL) {
			async_push(c, e);
			continue;
		}
		stop_device_locked(p, c->device);
		context_tell_fatal_locked(c);
	}
}

static void tell_fatal(struct process *p)
{
	pthread_mutex_lock(&p->lock);
	p->fatal_told = true;
	list_for_each(pos, &p->contexts)
		context_tell_fatal_locked(container_of(pos, struct device_context, link));
	pthread_mutex_unlock(&p->lock);
}

/* Events of queue pairs and completion queues come from the engine, not from here. */
static void handle_async(struct process *p, const struct uapi_async_event *event)
{
	struct ibv_async_event e = { .event_type = event->event };

	if (event->handle)
		return;
	e.element.port_num = event->port_num;
	pthread_mutex_lock(&p->lock);
	tell_device_locked(p, event->device, &e);
	pthread_mutex_unlock(&p->lock);
}

static void handle_event(struct process *p, unsigned int op, const void *body,
			 size_t length)
{
	if (op == UAPI_EVENT_CM && length == sizeof(struct uapi_cm_event))
		cm_call(body);
	else if (op == UAPI_EVENT_ASYNC && length == sizeof(struct uapi_async_event))
		handle_async(p, body);
	else
		log_debug("event 0x%x of %zu bytes is unknown", op, length);
}

/* verbcastd is gone (design 2): poll loops end because everything is flushed, programs
 * that listen hear of it, and the next open may reach a new one. */
static void go_down(struct process *p)
{
	log_info("verbcastd is gone");
	process_over(p);
	engine_fail(p->engine);
	tell_fatal(p);
	down_call(p->generation);
}

static void *event_thread(void *arg)
{
	struct process *p = arg;
	union {
		struct uapi_cm_event cm;
		struct uapi_async_event async;
	} body;
	unsigned int op;
	size_t length;
	int r;

	pthread_setname_np(pthread_self(), "verbcast-events");
	while (descriptor_is_ours(&p->events)) {
		r = uapi_event_read(p->events.fd, &op, &body, sizeof(body), &length);
		if (r == -ENODEV)
			break;
		if (r == 0)
			handle_event(p, op, &body, length);
	}
	go_down(p);
	process_events_end(p);
	return NULL;
}

int process_events_start(struct process *p)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	r = pthread_attr_init(&attr);
	if (r)
		return -r;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&thread, &attr, event_thread, p);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -r;
}
