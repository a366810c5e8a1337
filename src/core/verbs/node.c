/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A node: a virtual host, and the list of its devices. Created by the daemon for as long
 * as the site lives.
 */
#include <stdlib.h>
#include <string.h>

#include "core/verbs/core_priv.h"

struct ib_node {
	char name[64];
	u32 index;
	struct list devices; /* struct ib_device, in order of registration */
};

struct ib_node *ib_node_create(const char *name, u32 index)
{
	struct ib_node *node;

	if (strlen(name) >= sizeof(node->name))
		return NULL;
	node = calloc(1, sizeof(*node));
	if (!node)
		return NULL;
	strcpy(node->name, name);
	node->index = index;
	list_init(&node->devices);
	return node;
}

void ib_node_destroy(struct ib_node *node)
{
	free(node);
}

const char *ib_node_name(const struct ib_node *node)
{
	return node->name;
}

u32 ib_node_index(const struct ib_node *node)
{
	return node->index;
}

struct ib_device *ib_node_device(struct ib_node *node, u32 n)
{
	list_for_each(l, &node->devices) {
		if (n-- == 0)
			return container_of(l, struct ib_device, node_link);
	}
	return NULL;
}

u32 ib_device_index(const struct ib_device *device)
{
	u32 n = 0;

	list_for_each(l, &device->node->devices) {
		if (l == &device->node_link)
			break;
		n++;
	}
	return n;
}

void node_add_device(struct ib_node *node, struct ib_device *device)
{
	list_append(&node->devices, &device->node_link);
	device->node = node;
}

void node_remove_device(struct ib_node *node, struct ib_device *device)
{
	list_remove(&device->node_link);
	device->node = NULL;
}

struct ib_device *node_find_device(struct ib_node *node, const char *name)
{
	list_for_each(l, &node->devices) {
		struct ib_device *device = container_of(l, struct ib_device, node_link);

		if (strcmp(device->name, name) == 0)
			return device;
	}
	return NULL;
}
