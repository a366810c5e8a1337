/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_VERBS_CORE_PRIV_H
#define CORE_VERBS_CORE_PRIV_H

#include "core/verbs/ib_verbs.h"

/* A zeroed object of the driver's size, which embeds the core's; null: no memory. */
void *core_object_alloc(size_t driver_size, size_t core_size);

void node_add_device(struct ib_node *node, struct ib_device *device);
void node_remove_device(struct ib_node *node, struct ib_device *device);
struct ib_device *node_find_device(struct ib_node *node, const char *name);

#endif
