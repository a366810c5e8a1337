// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which generation this process is in (process.h): the one that is connected, found or
 * made by process_get, ended by the death of verbcastd or by a fork.
 *
 * Called from any thread of the program; process_over from the event thread; the fork
 * handlers from whoever forks. `process_lock` is held while connecting, so that two
 * threads make one connection, and over a fork, so that the child finds the list whole.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "shim/export.h"
#include "device.h"
#include "process_priv.h"

static pthread_mutex_t process_lock = PTHREAD_MUTEX_INITIALIZER;
static struct process *current;      /* guarded by process_lock; holds a reference */
static unsigned int last_generation; /* guarded by process_lock */
static struct list generations = LIST_INIT(generations); /* guarded by process_lock */

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void fork_prepare(void)
{
	pthread_mutex_lock(&process_lock);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&process_lock);
}

/* The child has one thread, so nobody else is in any of our calls. The references of
 * threads that are not there any more are dropped with theirs. */
static void fork_child(void)
{
	struct process *was = current;

	pthread_mutex_init(&process_lock, NULL);
	current = NULL;
	process_events_forked();
	list_for_each_safe(pos, &generations) {
		struct process *p = container_of(pos, struct process, link);
		bool had_thread = p->has_event_thread;

		p->has_event_thread = false;
		process_abandon(p);
		if (had_thread)
			process_put(p);
	}
	if (was)
		process_put(was);
}

static void fork_handlers_install(void)
{
	pthread_atfork(fork_prepare, fork_parent, fork_child);
}

static int connect_locked(void)
{
	struct process *p;
	int r;

	pthread_once(&fork_once, fork_handlers_install);
	r = process_create(&p);
	if (r < 0)
		return r == -ENOMEM ? r : -ENODEV;
	p->generation = ++last_generation;
	devices_set_generation(p);
	list_append(&generations, &p->link);
	process_ref(p); /* put by the event thread's end */
	p->has_event_thread = true;
	r = process_events_start(p);
	if (r < 0) {
		p->has_event_thread = false;
		list_remove(&p->link);
		process_destroy(p);
		return r == -ENOMEM ? r : -ENODEV;
	}
	current = p;
	return 0;
}

/* The event thread may not have noticed yet that verbcastd is gone. */
struct process *process_get(int *ret_error)
{
	struct process *p = NULL, *stale = NULL;
	int r = 0;

	pthread_mutex_lock(&process_lock);
	if (current && !uapi_connection_alive(current->connection)) {
		stale = current;
		current = NULL;
	}
	if (!current)
		r = connect_locked();
	if (current)
		p = process_ref(current);
	pthread_mutex_unlock(&process_lock);
	if (stale)
		process_put(stale);
	*ret_error = r;
	return p;
}

struct process *process_ref(struct process *p)
{
	atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
	return p;
}

void process_put(struct process *p)
{
	if (atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (!process_forked(p))
		pthread_mutex_lock(&process_lock);
	list_remove(&p->link);
	if (!process_forked(p))
		pthread_mutex_unlock(&process_lock);
	process_destroy(p);
}

void process_over(struct process *p)
{
	bool was_current;

	pthread_mutex_lock(&process_lock);
	atomic_store_explicit(&p->state, PROCESS_DOWN, memory_order_release);
	was_current = current == p;
	if (was_current)
		current = NULL;
	pthread_mutex_unlock(&process_lock);
	if (was_current)
		process_put(p);
}

void process_events_end(struct process *p)
{
	pthread_mutex_lock(&process_lock);
	p->has_event_thread = false;
	pthread_mutex_unlock(&process_lock);
	process_put(p);
}

int process_call(struct process *p, struct uapi_call *call)
{
	if (process_state(p) != PROCESS_LIVE)
		return -ENODEV;
	return uapi_connection_call(p->connection, call);
}

int process_rpc(struct process *p, unsigned int op, const void *req, size_t reqlen,
		void *rep, size_t replen)
{
	int r = -ENODEV;

	if (process_state(p) == PROCESS_LIVE)
		r = uapi_connection_rpc(p->connection, op, req, reqlen, rep, replen);
	if (r < 0)
		log_debug("%s: %d", uapi_op_name(op), r);
	return r;
}

int process_release_rpc(struct process *p, unsigned int op, uint32_t handle)
{
	struct uapi_handle req = { .handle = handle };
	int r = process_rpc(p, op, &req, sizeof(req), NULL, 0);

	return r == -ENODEV ? 0 : r;
}

VC_EXPORT int vc_process_open(void)
{
	int r;
	struct process *p = process_get(&r);

	if (p)
		process_put(p);
	return r;
}

/* The current generation, if there is one; unlike process_get it makes none. */
static struct process *process_peek(void)
{
	struct process *p;

	pthread_mutex_lock(&process_lock);
	p = current ? process_ref(current) : NULL;
	pthread_mutex_unlock(&process_lock);
	return p;
}

VC_EXPORT unsigned int vc_generation(void)
{
	unsigned int generation;

	pthread_mutex_lock(&process_lock);
	generation = current ? current->generation : 0;
	pthread_mutex_unlock(&process_lock);
	return generation;
}

VC_EXPORT int vc_rpc_in(unsigned int generation, unsigned int op, const void *req,
			size_t reqlen, void *rep, size_t replen)
{
	struct process *p = process_peek();
	int r = -ENODEV;

	if (!p)
		return r;
	if (!generation || p->generation == generation)
		r = process_rpc(p, op, req, reqlen, rep, replen);
	process_put(p);
	return r;
}

VC_EXPORT int vc_rpc(unsigned int op, const void *req, size_t reqlen, void *rep,
		     size_t replen)
{
	return vc_rpc_in(0, op, req, reqlen, rep, replen);
}
