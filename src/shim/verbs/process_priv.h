/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One generation of this process as a client of verbcastd (process.h): its connection,
 * its view of the site's memory, its engine and its devices.
 *
 * States go one way: LIVE, then DOWN (verbcastd died: the engine is failed, but objects
 * can still be polled and destroyed) or FORKED (we are the child: nothing of the engine
 * and no shared memory is there; objects can only be freed).
 */
#ifndef SHIM_VERBS_PROCESS_PRIV_H
#define SHIM_VERBS_PROCESS_PRIV_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/descriptor.h"
#include "base/list.h"
#include "base/pool.h"
#include "engine/engine.h"
#include "uapi/client/client.h"
#include "process.h"

struct device_list;

enum process_state {
	PROCESS_LIVE,
	PROCESS_DOWN,
	PROCESS_FORKED,
};

/*
 * Created by the first process_get without a live one. Held by the variable that names
 * the current one, by its event thread, and by every context, CQ, QP, MR and AH made in
 * it. Findable while it is the current one. Freed by the last process_put.
 */
struct process {
	unsigned int generation; /* fixed, as everything down to `engine` */
	uint32_t slot;
	uint32_t incarnation;
	struct uapi_connection *connection;
	struct descriptor events;
	const struct shm_tables *tables;
	size_t tables_bytes;
	struct shm_doorbell *doorbell;
	struct shm_counters *counters;
	struct engine *engine;
	struct pool ahs; /* struct verbs_ah */

	pthread_mutex_t devices_lock; /* guards down to devices_seen */
	struct device_list *devices;  /* device.c; null: none */
	uint32_t devices_seen; /* devices_generation of the tables when it was made */

	_Atomic int state; /* enum process_state; written by the event thread, or in
				   * the child of a fork, where it is the only thread */
	_Atomic unsigned int refs;
	bool has_event_thread; /* guarded by process_lock */
	struct list link; /* in the list of all generations, guarded by process_lock */
	pthread_mutex_t lock; /* guards the rest */
	struct list contexts; /* struct device_context.link */
	bool fatal_told;      /* those in it have heard that the device is gone */
};

/* A reference to the generation that is connected, connecting first if there is none.
 * NULL with a negative errno in *ret_error: -ENODEV, -ENOMEM. */
struct process *process_get(int *ret_error);
struct process *process_ref(struct process *p);
void process_put(struct process *p);

static inline enum process_state process_state(const struct process *p)
{
	return atomic_load_explicit(&p->state, memory_order_acquire);
}

/* The check in front of everything that touches the engine. */
static inline bool process_forked(const struct process *p)
{
	return __builtin_expect(atomic_load_explicit(&p->state, memory_order_relaxed) ==
					PROCESS_FORKED,
				0);
}

/* A request in this generation; -ENODEV when it is over. */
int process_rpc(struct process *p, unsigned int op, const void *req, size_t reqlen,
		void *rep, size_t replen);
int process_call(struct process *p, struct uapi_call *call);

/* For requests that go to release something: what a generation that is over held is
 * released already. */
int process_release_rpc(struct process *p, unsigned int op, uint32_t handle);

/* process.c's helpers in other files. */

/* connection.c: connect, map, open the engine, learn the devices. */
int process_create(struct process **ret);
/* Free, in whatever state; also half-built ones. */
void process_destroy(struct process *p);
/* In the child of a fork: let go of what was inherited. */
void process_abandon(struct process *p);

/* events.c: start the thread; it owns one reference. */
int process_events_start(struct process *p);
void process_events_forked(void);
/* process.c: the event thread has seen the end of verbcastd; and is about to return. */
void process_over(struct process *p);
void process_events_end(struct process *p);

/* engine_ops.c */
extern const struct engine_ops process_engine_ops;

#endif
