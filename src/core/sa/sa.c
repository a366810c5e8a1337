/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layer of a node, its part in devices that come and go, and who uses it.
 */
#include <stdlib.h>

#include "base/log.h"
#include "core/sa/sa_priv.h"

/* -- clients ------------------------------------------------------------------------ */

void ib_sa_register_client(struct ib_sa_client *client)
{
	client->users = 1;
}

bool ib_sa_unregister_client(struct ib_sa_client *client)
{
	return --client->users == 0;
}

void ib_sa_client_get(struct ib_sa_client *client)
{
	client->users++;
}

void ib_sa_client_put(struct ib_sa_client *client)
{
	if (--client->users == 0 && client->idle)
		client->idle(client);
}

/* -- devices ------------------------------------------------------------------------ */

static bool has_sa(struct ib_device *ib)
{
	for (u32 p = rdma_start_port(ib); p <= rdma_end_port(ib); p++)
		if (rdma_cap_ib_sa(ib, p) && rdma_cap_ib_mad(ib, p))
			return true;
	return false;
}

static void free_device(struct sa_device *device)
{
	timer_disarm(&device->end);
	for (u32 p = 0; p < device->port_count; p++)
		ib_sa_port_fini(&device->ports[p]);
	list_remove(&device->link);
	free(device);
}

static void device_has_ended(struct timer *timer)
{
	free_device(container_of(timer, struct sa_device, end));
}

void ib_sa_device_put(struct sa_device *device)
{
	if (--device->users == 0)
		timer_arm(&device->end, 0);
}

static struct sa_device *make_device(struct ib_sa *sa, struct ib_device *ib)
{
	u32 count = ib->phys_port_cnt + 1; /* a switch has port 0 */
	struct sa_device *device;

	device = calloc(1, sizeof(*device) + count * sizeof(device->ports[0]));
	if (!device)
		return NULL;
	device->sa = sa;
	device->ib = ib;
	device->users = 1;
	list_init(&device->link);
	timer_init(&device->end, sa->config.timers, device_has_ended);
	for (device->port_count = 0; device->port_count < count; device->port_count++) {
		u32 p = device->port_count;

		if (ib_sa_port_init(&device->ports[p], device, p) < 0) {
			free_device(device);
			return NULL;
		}
	}
	return device;
}

static void add_device(struct ib_client *client, struct ib_device *ib)
{
	struct ib_sa *sa = container_of(client, struct ib_sa, client);
	struct sa_device *device;

	if (!has_sa(ib))
		return;
	device = make_device(sa, ib);
	if (!device) {
		log_error("%s: its subnet administration cannot be asked",
			  ib_device_name(ib));
		return;
	}
	list_append(&sa->devices, &device->link);
	ib->sa = device;
}

/*
 * Spec/kernel 2.10. Differs: Linux waits until the last handle is freed; here the groups
 * stay behind without a device, and their members hear of the loss from the timers.
 */
static void remove_device(struct ib_client *client, struct ib_device *ib)
{
	struct sa_device *device = ib->sa;

	if (!device)
		return;
	ib->sa = NULL;
	device->ib = NULL;
	for (u32 p = 0; p < device->port_count; p++)
		ib_sa_port_lose_groups(&device->ports[p]);
	ib_sa_device_put(device);
}

struct sa_port *ib_sa_port_find(struct ib_device *ib, u32 port_num, int *ret_error)
{
	*ret_error = -ENODEV;
	if (!ib->sa)
		return NULL;
	if (!rdma_is_port_valid(ib, port_num)) {
		*ret_error = -EINVAL;
		return NULL;
	}
	return ib->sa->ports[port_num].agent ? &ib->sa->ports[port_num] : NULL;
}

/* -- the layer ---------------------------------------------------------------------- */

int ib_sa_create(const struct ib_sa_config *config, struct ib_sa **ret)
{
	struct ib_sa *sa = calloc(1, sizeof(*sa));
	struct ib_device *ib;
	int r;

	if (!sa)
		return -ENOMEM;
	r = hash_init(&sa->queries);
	if (r < 0) {
		free(sa);
		return r;
	}
	sa->config = *config;
	list_init(&sa->devices);
	sa->client.add = add_device;
	sa->client.remove = remove_device;
	sa->client.event = ib_sa_event;
	ib_register_client(&sa->client, config->node);
	for (u32 n = 0; (ib = ib_node_device(config->node, n)); n++)
		add_device(&sa->client, ib);
	*ret = sa;
	return 0;
}

/* What no member needs any more may still be on its way to the SA; that ends here. */
static void end_groups(struct sa_port *port)
{
	list_for_each(l, &port->groups)
		ib_sa_query_forget(&container_of(l, struct sa_group, link)->query);
	ib_sa_port_silence(port);
	while (!list_empty(&port->groups)) {
		struct sa_group *group =
			container_of(port->groups.next, struct sa_group, link);

		if (group->members)
			log_error("port %u: %u members outlive the SA client", port->num,
				  group->members);
		ib_sa_group_free(group);
	}
}

static void end_device(struct sa_device *device)
{
	if (device->ib)
		device->ib->sa = NULL;
	for (u32 p = 0; p < device->port_count; p++)
		end_groups(&device->ports[p]);
	free_device(device);
}

void ib_sa_silence(struct ib_sa *sa)
{
	list_for_each(l, &sa->devices) {
		struct sa_device *device = container_of(l, struct sa_device, link);

		for (u32 p = 0; p < device->port_count; p++)
			ib_sa_port_silence(&device->ports[p]);
	}
}

void ib_sa_destroy(struct ib_sa *sa)
{
	if (!sa)
		return;
	if (sa->queries.count)
		log_error("%u queries outlive the SA client", sa->queries.count);
	while (!list_empty(&sa->devices))
		end_device(container_of(sa->devices.next, struct sa_device, link));
	ib_unregister_client(&sa->client);
	hash_fini(&sa->queries);
	free(sa);
}
