// SPDX-License-Identifier: BSD-2-Clause
/*
 * Contexts and default protection domains: one of each for a device, shared by all ids
 * on it, so that programs may mix them (spec/userland 3.2). Contexts stay open to the
 * end of the process, since programs keep pointers to them; the protection domain goes
 * with the last id.
 */
#include <stdlib.h>

#include "cm.h"

static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;
static int cancel_state; /* of the holder; guarded by device_lock */
static struct list devices = LIST_INIT(devices); /* guarded by device_lock */

/* As cm_lock, but held over requests. */
void cm_device_lock(void)
{
	int old;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	pthread_mutex_lock(&device_lock);
	cancel_state = old;
}

void cm_device_unlock(void)
{
	int old = cancel_state;

	pthread_mutex_unlock(&device_lock);
	pthread_setcancelstate(old, NULL);
}

static struct cm_device *find_device_locked(unsigned int generation, unsigned int index)
{
	list_for_each(pos, &devices) {
		struct cm_device *d = container_of(pos, struct cm_device, link);

		if (d->generation == generation && d->index == index)
			return d;
	}
	return NULL;
}

static int open_device_locked(unsigned int generation, unsigned int index,
			      struct cm_device **ret)
{
	struct cm_device *d = find_device_locked(generation, index);

	if (!d) {
		if (generation != vc_generation())
			return -ENODEV;
		d = calloc(1, sizeof(*d));
		if (!d)
			return -ENOMEM;
		d->verbs = vc_open_index(index);
		if (!d->verbs) {
			free(d);
			return -errno;
		}
		d->generation = generation;
		d->index = index;
		list_append(&devices, &d->link);
	}
	*ret = d;
	return 0;
}

static int use_device_locked(struct cm_device *d)
{
	if (!d->pd) {
		d->pd = ibv_alloc_pd(d->verbs);
		if (!d->pd)
			return -errno;
	}
	d->users++;
	return 0;
}

int cm_device_get(unsigned int generation, unsigned int index, struct cm_device **ret)
{
	int r;

	cm_device_lock();
	r = open_device_locked(generation, index, ret);
	if (r == 0)
		r = use_device_locked(*ret);
	cm_device_unlock();
	return r;
}

void cm_device_put(struct cm_device *d)
{
	if (!d)
		return;
	cm_device_lock();
	if (--d->users == 0) {
		/* A program that left objects on it keeps it alive with them. */
		ibv_dealloc_pd(d->pd);
		d->pd = NULL;
	}
	cm_device_unlock();
}

static int open_all(struct ibv_device **list, struct ibv_context **contexts)
{
	unsigned int generation = vc_generation();
	struct cm_device *d;
	int index, count = 0, r = 0;

	cm_device_lock();
	for (int i = 0; list[i] && r == 0; i++) {
		index = vc_device_index(list[i]);
		if (index < 0)
			continue;
		r = open_device_locked(generation, (unsigned int)index, &d);
		if (r == 0)
			contexts[count++] = d->verbs;
	}
	cm_device_unlock();
	return r < 0 ? r : count;
}

VC_EXPORT struct ibv_context **rdma_get_devices(int *num_devices)
{
	struct ibv_context **contexts = NULL;
	struct ibv_device **list = NULL;
	int n = 0, old, r;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	r = cm_open();
	if (r == 0) {
		list = ibv_get_device_list(&n);
		contexts = calloc((size_t)n + 1, sizeof(*contexts));
		r = list && contexts ? open_all(list, contexts) : -ENOMEM;
	}
	if (list)
		ibv_free_device_list(list);
	pthread_setcancelstate(old, NULL);
	if (num_devices)
		*num_devices = r < 0 ? 0 : r;
	if (r < 0) {
		free(contexts);
		errno = -r;
		return NULL;
	}
	return contexts;
}

VC_EXPORT void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}
