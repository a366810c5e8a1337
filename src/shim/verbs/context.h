/* SPDX-License-Identifier: BSD-2-Clause */
/* An open device. */
#ifndef SHIM_VERBS_CONTEXT_H
#define SHIM_VERBS_CONTEXT_H

#include <errno.h>

#include <infiniband/verbs.h>

#include "async.h"
#include "device.h"
#include "process_priv.h"

/* What the engine must forget of an object when its device is closed over it, as the
 * kernel does: a queue pair left behind must not write to memory the program reuses. */
struct context_object {
	struct list link; /* in context->objects, guarded by the public mutex */
	void (*orphan)(struct context_object *object);
};

/* Created by ibv_open_device, freed by ibv_close_device; holds its device and its
 * generation. Found by the event thread while in process->contexts. */
struct device_context {
	struct process *process;
	struct verbs_device *device;
	uint32_t handle;
	struct async_queue async;
	struct list link;           /* guarded by process->lock */
	bool fatal_told;            /* guarded by process->lock */
	struct list objects;        /* youngest first, so users before the used */
	struct verbs_context verbs; /* last: it ends in the public context */
};

static inline struct device_context *context_of(const struct ibv_context *context)
{
	return container_of(context, struct device_context, verbs.context);
}

static inline struct process *process_of(const struct ibv_context *context)
{
	return context_of(context)->process;
}

/* The index in the tables of a port of this device; SHM_NONE: no such port. */
static inline uint32_t port_index(const struct device_context *c, uint32_t port_num)
{
	const struct uapi_device *d = &c->device->attr;

	return port_num >= 1 && port_num <= d->phys_port_cnt
		       ? d->first_port + port_num - 1
		       : SHM_NONE;
}

void context_adopt(struct ibv_context *context, struct context_object *object,
		   void (*orphan)(struct context_object *object));
void context_disown(struct ibv_context *context, struct context_object *object);

/* The one event of a device that was removed, or whose verbcastd died; under
 * process->lock. */
void context_tell_fatal_locked(struct device_context *c);

/* ops.c: both tables (spec/userland 2.2, 2.3). */
void context_fill_ops(struct verbs_context *v);

/* Error dialects (spec/userland 2.6); `r` is a negative errno. */
static inline void *null_errno(int r)
{
	errno = -r;
	return NULL;
}

static inline int minus_errno(int r)
{
	errno = -r;
	return -1;
}

#endif
