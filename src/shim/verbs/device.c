// SPDX-License-Identifier: BSD-2-Clause
/*
 * The device list, and what a device says of itself unopened.
 *
 * Environment: VERBCAST_DEVICE narrows the list to the names in it (comma between them),
 * VERBCAST_SYSFS is where the synthetic tree lies (sysfs.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/export.h"
#include "context.h"
#include "device.h"
#include "sysfs.h"

struct verbs_device *device_ref(struct verbs_device *d)
{
	atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);
	return d;
}

void device_put(struct verbs_device *d)
{
	if (atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) == 1)
		free(d);
}

static bool name_listed(const char *list, const char *name)
{
	size_t n = strlen(name);

	while (*list) {
		size_t len = strcspn(list, ",");

		if (len == n && memcmp(list, name, n) == 0)
			return true;
		list += len + (list[len] == ',');
	}
	return false;
}

static bool device_shown(const char *name)
{
	const char *wanted = secure_getenv("VERBCAST_DEVICE");

	return !wanted || !wanted[0] || name_listed(wanted, name);
}

/* A path that does not fit is left empty: nothing is found there, as it should be. */
static void set_path(char *path, const char *class, const char *name)
{
	int n = snprintf(path, IBV_SYSFS_PATH_MAX, "%s/class/%s/%s", ibv_get_sysfs_path(),
			 class, name);

	if (n >= IBV_SYSFS_PATH_MAX)
		path[0] = '\0';
}

static struct verbs_device *device_create(const struct process *p,
					  const struct uapi_device *attr)
{
	struct verbs_device *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	atomic_init(&d->refs, 1);
	d->generation = p->generation;
	d->attr = *attr;
	d->ibv.node_type = attr->node_type;
	d->ibv.transport_type = attr->transport;
	memcpy(d->ibv.name, attr->name, sizeof(d->ibv.name));
	snprintf(d->ibv.dev_name, sizeof(d->ibv.dev_name), "uverbs%u", attr->device);
	set_path(d->ibv.dev_path, "infiniband_verbs", d->ibv.dev_name);
	set_path(d->ibv.ibdev_path, "infiniband", d->ibv.name);
	return d;
}

/* What verbcastd says is checked: names end, ports are in the tables. */
static bool attr_valid(struct uapi_device *attr)
{
	attr->name[sizeof(attr->name) - 1] = '\0';
	attr->fw_ver[sizeof(attr->fw_ver) - 1] = '\0';
	return attr->name[0] && attr->first_port < SHM_PORTS_MAX && attr->phys_port_cnt &&
	       attr->phys_port_cnt <= SHM_PORTS_MAX - attr->first_port &&
	       attr->phys_port_cnt <= UINT8_MAX;
}

/* -- the devices of a generation ---------------------------------------------------- */

/* Replaced as a whole, by one store, so that a child of a fork finds one of them. */
struct device_list {
	unsigned int count, room;
	struct verbs_device *devices[];
};

static void list_drop(struct device_list *l)
{
	for (unsigned int i = 0; l && i < l->count; i++)
		device_put(l->devices[i]);
	free(l);
}

static struct verbs_device *known_locked(const struct process *p, uint32_t id)
{
	const struct device_list *l = p->devices;

	for (unsigned int i = 0; l && i < l->count; i++)
		if (l->devices[i]->attr.id == id)
			return l->devices[i];
	return NULL;
}

static int list_grow(struct device_list **l)
{
	unsigned int room = *l ? 2 * (*l)->room : 4;
	struct device_list *grown;

	if (*l && (*l)->count < (*l)->room)
		return 0;
	grown = realloc(*l, sizeof(*grown) + room * sizeof(grown->devices[0]));
	if (!grown)
		return -ENOMEM;
	if (!*l)
		grown->count = 0;
	grown->room = room;
	*l = grown;
	return 0;
}

static int list_add_locked(struct process *p, struct device_list **l,
			   const struct uapi_device *attr)
{
	struct verbs_device *d = known_locked(p, attr->id);
	int r;

	r = list_grow(l);
	if (r < 0)
		return r;
	d = d ? device_ref(d) : device_create(p, attr);
	if (!d)
		return -ENOMEM;
	(*l)->devices[(*l)->count++] = d;
	return 0;
}

static int ask_all_locked(struct process *p, struct device_list **l)
{
	struct uapi_query_device req = { 0 };
	struct uapi_device attr;
	int r;

	for (req.index = 0; req.index < SHM_PORTS_MAX; req.index++) {
		r = process_rpc(p, UAPI_QUERY_DEVICE, &req, sizeof(req), &attr,
				sizeof(attr));
		if (r == -ENODEV)
			return process_state(p) == PROCESS_LIVE ? 0 : r;
		if (r < 0)
			return r;
		if (!attr_valid(&attr))
			return -EPROTO;
		if (device_shown(attr.name))
			r = list_add_locked(p, l, &attr);
		if (r < 0)
			return r;
	}
	return -EPROTO;
}

static uint32_t devices_generation(const struct process *p)
{
	return atomic_load_explicit(&p->tables->h.devices_generation,
				    memory_order_acquire);
}

/* A list in which one is missing, because it changed while we asked, is not taken. */
static int learn_locked(struct process *p)
{
	struct device_list *l, *was = p->devices;
	uint32_t seen;
	bool same;
	int r;

	do {
		l = NULL;
		seen = devices_generation(p);
		r = ask_all_locked(p, &l);
		same = seen == devices_generation(p);
		if (r < 0 || !same)
			list_drop(l);
		if (r < 0)
			return r;
	} while (!same);
	p->devices = l;
	p->devices_seen = seen;
	list_drop(was);
	return 0;
}

int devices_learn(struct process *p)
{
	int r;

	pthread_mutex_lock(&p->devices_lock);
	r = learn_locked(p);
	pthread_mutex_unlock(&p->devices_lock);
	return r;
}

/* Where verbcastd cannot be asked, what was known last stays. */
static void refresh_locked(struct process *p)
{
	if (process_state(p) == PROCESS_LIVE && p->devices_seen != devices_generation(p))
		learn_locked(p);
}

void devices_set_generation(struct process *p)
{
	for (unsigned int i = 0; p->devices && i < p->devices->count; i++)
		p->devices->devices[i]->generation = p->generation;
}

void devices_forget(struct process *p)
{
	list_drop(p->devices);
}

static struct verbs_device *named_locked(const struct process *p, const char *name)
{
	const struct device_list *l = p->devices;

	for (unsigned int i = 0; l && i < l->count; i++)
		if (strcmp(l->devices[i]->ibv.name, name) == 0)
			return l->devices[i];
	return NULL;
}

struct verbs_device *device_find(struct process *p, const char *name)
{
	struct verbs_device *d;

	pthread_mutex_lock(&p->devices_lock);
	refresh_locked(p);
	d = named_locked(p, name);
	if (d)
		device_ref(d);
	pthread_mutex_unlock(&p->devices_lock);
	return d;
}

struct verbs_device *device_by_id(struct process *p, uint32_t id)
{
	struct verbs_device *d;

	pthread_mutex_lock(&p->devices_lock);
	refresh_locked(p);
	d = known_locked(p, id);
	if (d)
		device_ref(d);
	pthread_mutex_unlock(&p->devices_lock);
	return d;
}

/* NULL: no memory. */
static struct ibv_device **public_list(struct process *p, unsigned int *ret_count)
{
	struct ibv_device **list;
	unsigned int n;

	pthread_mutex_lock(&p->devices_lock);
	refresh_locked(p);
	n = p->devices ? p->devices->count : 0;
	list = calloc(n + 1, sizeof(*list));
	for (unsigned int i = 0; list && i < n; i++)
		list[i] = &device_ref(p->devices->devices[i])->ibv;
	pthread_mutex_unlock(&p->devices_lock);
	*ret_count = n;
	return list;
}

/* No verbcastd is no devices: an empty list, not a failure (spec/userland 2.4). */
#undef ibv_get_device_list
VC_EXPORT struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct ibv_device **list;
	struct process *p;
	unsigned int n = 0;
	int r;

	p = process_get(&r);
	if (!p && r == -ENOMEM) {
		errno = ENOMEM;
		return NULL;
	}
	list = p ? public_list(p, &n) : calloc(1, sizeof(*list));
	if (p)
		process_put(p);
	if (!list) {
		errno = ENOMEM;
		return NULL;
	}
	if (num_devices)
		*num_devices = n;
	return list;
}

VC_EXPORT void ibv_free_device_list(struct ibv_device **list)
{
	if (!list)
		return;
	for (struct ibv_device **d = list; *d; d++)
		device_put(device_of(*d));
	free(list);
}

VC_EXPORT const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

VC_EXPORT int ibv_get_device_index(struct ibv_device *device)
{
	return device_of(device)->attr.device + 1;
}

VC_EXPORT __be64 ibv_get_device_guid(struct ibv_device *device)
{
	return device_of(device)->attr.node_guid;
}

VC_EXPORT int vc_device_index(const struct ibv_device *device)
{
	struct verbs_device *d = device_of(device);

	return d->generation == vc_generation() ? (int)d->attr.id : -1;
}
