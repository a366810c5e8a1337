/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_VERBS_CORE_PRIV_H
#define CORE_VERBS_CORE_PRIV_H

#include "core/verbs/ib_verbs.h"

/* A zeroed object of the driver's size, which embeds the core's; null: no memory. */
void *core_object_alloc(size_t driver_size, size_t core_size);

/* Nothing more is made on a device that was removed, or changed. */
static inline int core_device_check(const struct ib_device *device)
{
	return device->removed ? -EIO : 0;
}

/* Drop what device->usecnt counts. */
void core_device_unuse(struct ib_device *device);

void client_data_drop_all(struct ib_device *device);
void node_add_device(struct ib_node *node, struct ib_device *device);
void node_remove_device(struct ib_node *node, struct ib_device *device);
struct ib_device *node_find_device(struct ib_node *node, const char *name);
void node_tell_event(struct ib_node *node, const struct ib_event *event);

#endif
