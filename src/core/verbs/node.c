/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A node: a virtual host, the list of its devices, and who wants to know of them. Created
 * by the daemon for as long as the site lives.
 */
#include <stdlib.h>
#include <string.h>

#include "core/verbs/core_priv.h"

struct ib_node {
	char name[64];
	u32 index;
	struct list devices; /* struct ib_device, by place, then in order of registration */
	struct list clients; /* struct ib_client */
	u32 next_id;         /* of a device */
};

struct ib_node *ib_node_create(const char *name, u32 index)
{
	struct ib_node *node;

	if (strlen(name) >= sizeof(node->name))
		return NULL;
	node = calloc(1, sizeof(*node));
	if (!node)
		return NULL;
	memcpy(node->name, name, strlen(name) + 1);
	node->index = index;
	list_init(&node->devices);
	list_init(&node->clients);
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

struct ib_device *ib_node_find_device(struct ib_node *node, u32 id)
{
	list_for_each(l, &node->devices) {
		struct ib_device *device = container_of(l, struct ib_device, node_link);

		if (device->id == id)
			return device;
	}
	return NULL;
}

u32 ib_device_id(const struct ib_device *device)
{
	return device->id;
}

void node_add_device(struct ib_node *node, struct ib_device *device)
{
	struct list *before = &node->devices;

	while (before->prev != &node->devices &&
	       container_of(before->prev, struct ib_device, node_link)->place >
		       device->place)
		before = before->prev;
	list_insert_before(&device->node_link, before);
	device->node = node;
	device->id = node->next_id++;
	list_for_each(l, &node->clients) {
		struct ib_client *client = container_of(l, struct ib_client, link);

		if (client->add)
			client->add(client, device);
	}
}

void node_remove_device(struct ib_node *node, struct ib_device *device)
{
	list_remove(&device->node_link);
	/* Spec/kernel 2.10: in reverse order. */
	for (struct list *l = node->clients.prev; l != &node->clients; l = l->prev) {
		struct ib_client *client = container_of(l, struct ib_client, link);

		if (client->remove)
			client->remove(client, device);
	}
	client_data_drop_all(device);
}

void node_tell_event(struct ib_node *node, const struct ib_event *event)
{
	list_for_each(l, &node->clients) {
		struct ib_client *client = container_of(l, struct ib_client, link);

		if (client->event)
			client->event(client, event);
	}
}

void ib_register_client(struct ib_client *client, struct ib_node *node)
{
	client->node = node;
	list_append(&node->clients, &client->link);
}

void ib_unregister_client(struct ib_client *client)
{
	list_for_each(l, &client->node->devices)
		ib_set_client_data(container_of(l, struct ib_device, node_link), client,
				   NULL);
	list_remove(&client->link);
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
