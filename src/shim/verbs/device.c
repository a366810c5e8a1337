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

static struct verbs_device *device_create(unsigned int index,
					  const struct uapi_device *attr)
{
	struct verbs_device *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	atomic_init(&d->refs, 1);
	d->index = index;
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

int devices_learn(struct process *p, unsigned int count)
{
	struct uapi_query_device req = { 0 };
	struct uapi_device attr;
	int r;

	if (count > SHM_PORTS_MAX)
		return -EPROTO;
	p->devices = calloc(count + 1, sizeof(struct verbs_device *));
	if (!p->devices)
		return -ENOMEM;
	for (req.index = 0; req.index < count; req.index++) {
		r = process_rpc(p, UAPI_QUERY_DEVICE, &req, sizeof(req), &attr,
				sizeof(attr));
		if (r < 0)
			return r;
		if (!attr_valid(&attr))
			return -EPROTO;
		if (!device_shown(attr.name))
			continue;
		p->devices[p->devices_n] = device_create(req.index, &attr);
		if (!p->devices[p->devices_n])
			return -ENOMEM;
		p->devices_n++;
	}
	return 0;
}

void devices_set_generation(struct process *p)
{
	for (unsigned int i = 0; i < p->devices_n; i++)
		p->devices[i]->generation = p->generation;
}

void devices_forget(struct process *p)
{
	for (unsigned int i = 0; i < p->devices_n; i++)
		device_put(p->devices[i]);
	free(p->devices);
}

struct verbs_device *device_find(struct process *p, const char *name)
{
	for (unsigned int i = 0; i < p->devices_n; i++)
		if (strcmp(p->devices[i]->ibv.name, name) == 0)
			return device_ref(p->devices[i]);
	return NULL;
}

struct verbs_device *device_at(struct process *p, unsigned int index)
{
	for (unsigned int i = 0; i < p->devices_n; i++)
		if (p->devices[i]->index == index)
			return device_ref(p->devices[i]);
	return NULL;
}

/* No verbcastd is no devices: an empty list, not a failure (spec/userland 2.4). */
#undef ibv_get_device_list
VC_EXPORT struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct ibv_device **list;
	struct process *p;
	unsigned int n;
	int r;

	p = process_get(&r);
	if (!p && r == -ENOMEM) {
		errno = ENOMEM;
		return NULL;
	}
	n = p ? p->devices_n : 0;
	list = calloc(n + 1, sizeof(*list));
	for (unsigned int i = 0; list && i < n; i++)
		list[i] = &device_ref(p->devices[i])->ibv;
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

	return d->generation == vc_generation() ? (int)d->index : -1;
}
