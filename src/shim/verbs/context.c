// SPDX-License-Identifier: BSD-2-Clause
/*
 * Opening and closing a device. A device of an older generation is looked up by name in
 * the current one: what a list of before a fork, or before verbcastd died, shows can be
 * opened afterwards.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "shim/export.h"
#include "context.h"

#define COMPLETION_VECTORS 1

static int handle_open(struct device_context *c)
{
	struct uapi_open_device req = { .id = c->device->attr.id };
	struct uapi_handle_reply rep;
	int r;

	r = process_rpc(c->process, UAPI_OPEN_DEVICE, &req, sizeof(req), &rep,
			sizeof(rep));
	if (r < 0)
		return r;
	c->handle = rep.handle;
	return 0;
}

static void public_init(struct device_context *c, int cmd_fd)
{
	struct ibv_context *context = &c->verbs.context;

	context_fill_ops(&c->verbs);
	c->verbs.sz = sizeof(c->verbs);
	context->abi_compat = __VERBS_ABI_IS_EXTENDED;
	context->device = &c->device->ibv;
	context->cmd_fd = cmd_fd;
	context->async_fd = c->async.fd;
	context->num_comp_vectors = COMPLETION_VECTORS;
	pthread_mutex_init(&context->mutex, NULL);
	list_init(&c->objects);
}

void context_adopt(struct ibv_context *context, struct context_object *object,
		   void (*orphan)(struct context_object *object))
{
	object->orphan = orphan;
	pthread_mutex_lock(&context->mutex);
	list_prepend(&context_of(context)->objects, &object->link);
	pthread_mutex_unlock(&context->mutex);
}

void context_disown(struct ibv_context *context, struct context_object *object)
{
	pthread_mutex_lock(&context->mutex);
	list_remove(&object->link);
	pthread_mutex_unlock(&context->mutex);
}

/* What is left of objects after this is memory, which the program may have leaked. */
static void orphan_objects(struct device_context *c)
{
	if (process_forked(c->process))
		return;
	list_for_each_safe(pos, &c->objects) {
		struct context_object *o = container_of(pos, struct context_object, link);

		list_remove(pos);
		o->orphan(o);
	}
}

void context_tell_fatal_locked(struct device_context *c)
{
	struct ibv_async_event e = { .event_type = IBV_EVENT_DEVICE_FATAL };

	if (c->fatal_told)
		return;
	c->fatal_told = true;
	async_push(c, &e);
}

/* Found by the event thread from here on; which may have been there a moment ago. */
static void publish(struct device_context *c)
{
	struct process *p = c->process;

	pthread_mutex_lock(&p->lock);
	list_append(&p->contexts, &c->link);
	if (p->fatal_told)
		context_tell_fatal_locked(c);
	pthread_mutex_unlock(&p->lock);
}

/* The device may have been removed after verbcastd had opened it and before the event
 * thread could find the context. Its number of the list moves before its event is sent. */
static void check_still_there(struct device_context *c)
{
	struct process *p = c->process;
	struct verbs_device *d = device_by_id(p, c->device->attr.id);

	if (d) {
		device_put(d);
		return;
	}
	pthread_mutex_lock(&p->lock);
	atomic_store_explicit(&c->device->gone, true, memory_order_relaxed);
	context_tell_fatal_locked(c);
	pthread_mutex_unlock(&p->lock);
}

/* Takes over the references. `cmd_fd` is a duplicate, since programs duplicate it, hand
 * it around and look at it, and each context of them is to have its own. */
static int context_create(struct process *p, struct verbs_device *d,
			  struct device_context **ret)
{
	struct device_context *c;
	int cmd_fd, r;

	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->process = p;
	c->device = d;
	r = async_init(&c->async);
	if (r < 0)
		goto free_context;
	cmd_fd = fcntl(uapi_connection_fd(p->connection), F_DUPFD_CLOEXEC, 0);
	cmd_fd = descriptor_behind_standard(cmd_fd);
	if (cmd_fd < 0) {
		r = -errno;
		goto fini_async;
	}
	r = handle_open(c);
	if (r < 0)
		goto close_fd;
	public_init(c, cmd_fd);
	publish(c);
	check_still_there(c);
	*ret = c;
	return 0;

close_fd:
	close(cmd_fd);
fini_async:
	async_fini(&c->async);
free_context:
	free(c);
	return r;
}

static struct ibv_context *open_found(struct process *p, struct verbs_device *d)
{
	struct device_context *c = NULL;
	int r = -ENODEV;

	if (d)
		r = context_create(p, d, &c);
	if (r == 0)
		return &c->verbs.context;
	if (d)
		device_put(d);
	process_put(p);
	return null_errno(r);
}

VC_EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct verbs_device *d = device_of(device);
	struct process *p;
	int r;

	p = process_get(&r);
	if (!p)
		return null_errno(r);
	return open_found(p, d->generation == p->generation
				     ? device_ref(d)
				     : device_find(p, device->name));
}

VC_EXPORT struct ibv_context *vc_open_index(unsigned int index)
{
	struct process *p;
	int r;

	p = process_get(&r);
	if (!p)
		return null_errno(r);
	return open_found(p, device_by_id(p, index));
}

VC_EXPORT int ibv_close_device(struct ibv_context *context)
{
	struct device_context *c = context_of(context);
	struct process *p = c->process;

	process_release_rpc(p, UAPI_CLOSE_DEVICE, c->handle);
	pthread_mutex_lock(&p->lock);
	list_remove(&c->link);
	pthread_mutex_unlock(&p->lock);
	orphan_objects(c);
	async_fini(&c->async);
	close(context->cmd_fd);
	pthread_mutex_destroy(&context->mutex);
	device_put(c->device);
	free(c);
	process_put(p);
	return 0;
}
