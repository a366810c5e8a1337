/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layer of a node, and its part in devices that come and go.
 */
#include <stdlib.h>

#include "base/log.h"
#include "core/mad/mad_priv.h"

static void add_device(struct ib_client *client, struct ib_device *ib)
{
	struct ib_mad *mad = container_of(client, struct ib_mad, client);
	u32 count = ib->phys_port_cnt + 1; /* a switch has port 0 */
	struct mad_device *device;

	if (!ib->ops.post_mad)
		return;
	device = calloc(1, sizeof(*device) + count * sizeof(device->ports[0]));
	if (!device || ib_set_client_data(ib, client, device) < 0) {
		log_error("%s: no memory for its management datagrams",
			  ib_device_name(ib));
		free(device);
		return;
	}
	device->mad = mad;
	device->ib = ib;
	device->port_count = count;
	list_init(&device->agents);
	for (u32 i = 0; i < count; i++) {
		device->ports[i].device = device;
		device->ports[i].num = i;
		list_init(&device->ports[i].classes[0]);
		list_init(&device->ports[i].classes[1]);
	}
	list_append(&mad->devices, &device->link);
	ib->mad = mad;
	ib->mad_receive = mad_receive;
}

static void let_go(struct mad_device *device)
{
	device->ib->mad = NULL;
	device->ib->mad_receive = NULL;
	while (!list_empty(&device->agents))
		mad_agent_orphan(
			container_of(device->agents.next, struct ib_mad_agent, link));
	for (u32 i = 0; i < device->port_count; i++)
		mad_classes_free(&device->ports[i]);
	list_remove(&device->link);
	free(device);
}

static void remove_device(struct ib_client *client, struct ib_device *ib)
{
	struct mad_device *device = ib_get_client_data(ib, client);

	if (device)
		let_go(device);
}

static int init_tables(struct ib_mad *mad)
{
	struct hash *tables[] = { &mad->agents, &mad->waiting, &mad->sends,
				  &mad->segmented, &mad->transfers };

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		int r = hash_init(tables[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

static void free_mad(struct ib_mad *mad)
{
	hash_fini(&mad->agents);
	hash_fini(&mad->waiting);
	hash_fini(&mad->sends);
	hash_fini(&mad->segmented);
	hash_fini(&mad->transfers);
	free(mad);
}

int ib_mad_create(const struct ib_mad_config *config, struct ib_mad **ret)
{
	struct ib_mad *mad = calloc(1, sizeof(*mad));
	struct ib_device *device;
	int r;

	if (!mad)
		return -ENOMEM;
	mad->config = *config;
	list_init(&mad->devices);
	/* Answers that belong to an earlier life of this node shall find nobody. */
	mad->last_tag = (u32)random_below(config->random, 1u << 24);
	mad->last_tid = (u32)random_u64(config->random);
	r = init_tables(mad);
	if (r < 0) {
		free_mad(mad);
		return r;
	}
	mad->client.add = add_device;
	mad->client.remove = remove_device;
	ib_register_client(&mad->client, config->node);
	for (u32 n = 0; (device = ib_node_device(config->node, n)); n++)
		add_device(&mad->client, device);
	*ret = mad;
	return 0;
}

void ib_mad_destroy(struct ib_mad *mad)
{
	if (!mad)
		return;
	if (mad->agents.count)
		log_error("%u agents outlive their MAD layer", mad->agents.count);
	while (!list_empty(&mad->devices))
		let_go(container_of(mad->devices.next, struct mad_device, link));
	ib_unregister_client(&mad->client);
	free_mad(mad);
}

struct ib_mad *ib_device_mad(const struct ib_device *device)
{
	return device->mad;
}

u32 ib_mad_next_tid(struct ib_mad *mad)
{
	return ++mad->last_tid;
}

void ib_mad_counters(const struct ib_mad *mad, struct ib_mad_counters *ret)
{
	*ret = mad->counters;
}
