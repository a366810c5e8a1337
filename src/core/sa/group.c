/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A port's groups. Those with an MGID are found by it; a group for which the SA has yet to
 * choose one is found by nobody, so there may be many.
 */
#include <stdlib.h>

#include "core/sa/sa_priv.h"

static u32 mgid_hash(const union ib_gid *mgid)
{
	return hash_bytes(0, mgid->raw, sizeof(mgid->raw));
}

struct sa_group *ib_sa_group_find(struct sa_port *port, const union ib_gid *mgid)
{
	hash_for_each_match(node, &port->by_mgid, mgid_hash(mgid)) {
		struct sa_group *group = container_of(node, struct sa_group, node);

		if (gid_equal(group->key.raw, mgid->raw))
			return group;
	}
	return NULL;
}

void ib_sa_group_rename(struct sa_group *group, const union ib_gid *mgid)
{
	if (group->is_named)
		hash_remove(&group->port->by_mgid, &group->node);
	group->key = *mgid;
	group->is_named = !gid_is_zero(mgid->raw);
	if (group->is_named)
		hash_insert(&group->port->by_mgid, &group->node, mgid_hash(mgid));
}

struct sa_group *ib_sa_group_get(struct sa_port *port, const union ib_gid *mgid)
{
	struct sa_group *group =
		gid_is_zero(mgid->raw) ? NULL : ib_sa_group_find(port, mgid);

	if (group)
		return group;
	group = calloc(1, sizeof(*group));
	if (!group)
		return NULL;
	group->port = port;
	group->rec.mgid = *mgid;
	group->pkey_index = SA_PKEY_UNKNOWN;
	group->leave_retries = 3;
	group->name_retries = 3;
	list_init(&group->pending);
	list_init(&group->active);
	timer_init(&group->worker, port->device->sa->config.timers, ib_sa_worker_run);
	list_append(&port->groups, &group->link);
	ib_sa_group_rename(group, mgid);
	port->device->users++;
	return group;
}

void ib_sa_group_free(struct sa_group *group)
{
	struct sa_device *device = group->port->device;

	timer_disarm(&group->worker);
	if (group->is_named)
		hash_remove(&group->port->by_mgid, &group->node);
	list_remove(&group->link);
	free(group);
	ib_sa_device_put(device);
}

void ib_sa_group_put(struct sa_group *group)
{
	if (group->state == SA_GROUP_IDLE && group->members == 0)
		ib_sa_group_free(group);
}
