/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Devices, as the list of ibv_get_device_list shows them.
 *
 * A generation learns its devices when it begins, and anew when verbcastd says that they
 * have changed and a list is asked for; each is one object for as long as anybody holds
 * it, so that the pointers of two lists are equal, as programs expect.
 */
#ifndef SHIM_VERBS_DEVICE_H
#define SHIM_VERBS_DEVICE_H

#include <infiniband/verbs.h>

#include "process_priv.h"

/* Made with its generation, held by it, by device lists and by open contexts. */
struct verbs_device {
	struct ibv_device ibv;
	/* Provider libraries compare the word behind the public struct with their own table
	 * to see whether a device is theirs (spec/userland 1.6): never. */
	void *foreign;
	_Atomic unsigned int refs;
	unsigned int generation;
	_Atomic bool gone;       /* verbcastd has said that it was removed */
	struct uapi_device attr; /* fixed */
};

static inline struct verbs_device *device_of(const struct ibv_device *device)
{
	return (struct verbs_device *)device;
}

struct verbs_device *device_ref(struct verbs_device *d);
void device_put(struct verbs_device *d);

/* Of that generation, by name or by number; with a reference, or NULL. */
struct verbs_device *device_find(struct process *p, const char *name);
struct verbs_device *device_by_id(struct process *p, uint32_t id);

/* connection.c, process.c */
int devices_learn(struct process *p);
void devices_set_generation(struct process *p);
void devices_forget(struct process *p);

#endif
