/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What clients keep with a device (spec/kernel 5.1): a few entries, in a list of the
 * device's.
 */
#include <stdlib.h>

#include "core/verbs/core_priv.h"

struct client_data {
	struct list link; /* in device->client_data */
	const struct ib_client *client;
	void *data;
};

static struct client_data *find(const struct ib_device *device,
				const struct ib_client *client)
{
	list_for_each(l, &device->client_data) {
		struct client_data *entry = container_of(l, struct client_data, link);

		if (entry->client == client)
			return entry;
	}
	return NULL;
}

static void drop(struct client_data *entry)
{
	list_remove(&entry->link);
	free(entry);
}

void *ib_get_client_data(const struct ib_device *device, const struct ib_client *client)
{
	const struct client_data *entry = find(device, client);

	return entry ? entry->data : NULL;
}

int ib_set_client_data(struct ib_device *device, struct ib_client *client, void *data)
{
	struct client_data *entry = find(device, client);

	if (!data) {
		if (entry)
			drop(entry);
		return 0;
	}
	if (!entry) {
		int r = core_device_check(device);

		if (r < 0)
			return r;
		entry = malloc(sizeof(*entry));
		if (!entry)
			return -ENOMEM;
		entry->client = client;
		list_append(&device->client_data, &entry->link);
	}
	entry->data = data;
	return 0;
}

void client_data_drop_all(struct ib_device *device)
{
	list_for_each_safe(l, &device->client_data)
		drop(container_of(l, struct client_data, link));
}
