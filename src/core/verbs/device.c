/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Devices: registration, and what can be asked of one and of its ports.
 */
#include <stdlib.h>
#include <string.h>

#include "core/verbs/core_priv.h"

void *core_object_alloc(size_t driver_size, size_t core_size)
{
	return calloc(1, driver_size > core_size ? driver_size : core_size);
}

int ib_register_device(struct ib_device *device, struct ib_node *node)
{
	int r;

	if (!device->name[0] || memchr(device->name, 0, sizeof(device->name)) == NULL)
		return -EINVAL;
	if (node_find_device(node, device->name))
		return -EEXIST;
	r = hash_init(&device->attached);
	if (r < 0)
		return r;
	list_init(&device->event_handlers);
	list_init(&device->qps);
	list_init(&device->client_data);
	device->usecnt = 0;
	device->removed = false;
	node_add_device(node, device);
	return 0;
}

void ib_remove_device(struct ib_device *device)
{
	struct ib_event event = {
		.device = device,
		.event = IB_EVENT_DEVICE_FATAL,
	};

	if (device->removed)
		return;
	device->removed = true;
	node_remove_device(device->node, device);
	ib_dispatch_event(&event);
}

int ib_unregister_device(struct ib_device *device)
{
	if (device->usecnt)
		return -EBUSY;
	ib_remove_device(device);
	hash_fini(&device->attached);
	device->node = NULL;
	return 0;
}

void core_device_unuse(struct ib_device *device)
{
	if (--device->usecnt == 0 && device->removed && device->ops.unused)
		device->ops.unused(device);
}

const char *ib_device_name(const struct ib_device *device)
{
	return device->name;
}

/* A switch has port 0 alone (spec/kernel 5.1). */
u32 rdma_start_port(const struct ib_device *device)
{
	return device->node_type == RDMA_NODE_IB_SWITCH ? 0 : 1;
}

u32 rdma_end_port(const struct ib_device *device)
{
	return device->node_type == RDMA_NODE_IB_SWITCH ? 0 : device->phys_port_cnt;
}

bool rdma_is_port_valid(const struct ib_device *device, u32 port_num)
{
	return port_num >= rdma_start_port(device) && port_num <= rdma_end_port(device);
}

/* The driver's answer, else the node type's (spec/kernel 1.2). */
enum rdma_link_layer rdma_port_get_link_layer(struct ib_device *device, u32 port_num)
{
	if (device->ops.get_link_layer)
		return device->ops.get_link_layer(device, port_num);
	if (device->node_type == RDMA_NODE_IB_CA ||
	    device->node_type == RDMA_NODE_IB_SWITCH)
		return IB_LINK_LAYER_INFINIBAND;
	return IB_LINK_LAYER_ETHERNET;
}

/* The ops look, and change nothing. */
static bool is_infiniband(const struct ib_device *device, u32 port_num)
{
	return rdma_is_port_valid(device, port_num) &&
	       rdma_port_get_link_layer((struct ib_device *)device, port_num) ==
		       IB_LINK_LAYER_INFINIBAND;
}

bool rdma_cap_ib_sa(const struct ib_device *device, u32 port_num)
{
	return is_infiniband(device, port_num);
}

bool rdma_cap_ib_mcast(const struct ib_device *device, u32 port_num)
{
	return rdma_cap_ib_sa(device, port_num);
}

bool rdma_cap_ib_mad(const struct ib_device *device, u32 port_num)
{
	return rdma_is_port_valid(device, port_num) && device->ops.post_mad;
}

bool rdma_cap_ib_smi(const struct ib_device *device, u32 port_num)
{
	return rdma_cap_ib_mad(device, port_num) && is_infiniband(device, port_num);
}

int ib_query_device(struct ib_device *device, struct ib_device_attr *attr)
{
	if (!device->ops.query_device)
		return -EOPNOTSUPP;
	memset(attr, 0, sizeof(*attr));
	return device->ops.query_device(device, attr);
}

int ib_describe_device(struct ib_device *device, struct ib_device_info *info)
{
	if (!device->ops.describe_device)
		return -EOPNOTSUPP;
	memset(info, 0, sizeof(*info));
	return device->ops.describe_device(device, info);
}

int ib_query_port(struct ib_device *device, u32 port_num, struct ib_port_attr *attr)
{
	if (!rdma_is_port_valid(device, port_num))
		return -EINVAL;
	if (!device->ops.query_port)
		return -EOPNOTSUPP;
	memset(attr, 0, sizeof(*attr));
	return device->ops.query_port(device, port_num, attr);
}

int rdma_query_gid(struct ib_device *device, u32 port_num, int index,
		   struct ib_gid_attr *attr)
{
	if (!rdma_is_port_valid(device, port_num) || index < 0)
		return -EINVAL;
	if (!device->ops.query_gid)
		return -EOPNOTSUPP;
	memset(attr, 0, sizeof(*attr));
	return device->ops.query_gid(device, port_num, index, attr);
}

int rdma_find_gid_by_port(struct ib_device *device, const union ib_gid *gid,
			  enum ib_gid_type type, u32 port_num, struct ib_gid_attr *ret)
{
	struct ib_gid_attr attr;
	struct ib_port_attr port;
	int r;

	r = ib_query_port(device, port_num, &port);
	if (r < 0)
		return r;
	for (int i = 0; i < port.gid_tbl_len; i++) {
		if (rdma_query_gid(device, port_num, i, &attr) < 0)
			continue;
		if (attr.gid_type != type || !gid_equal(attr.gid.raw, gid->raw))
			continue;
		*ret = attr;
		return 0;
	}
	return -ENOENT;
}

int ib_query_pkey(struct ib_device *device, u32 port_num, u16 index, u16 *ret_pkey)
{
	if (!rdma_is_port_valid(device, port_num))
		return -EINVAL;
	if (!device->ops.query_pkey)
		return -EOPNOTSUPP;
	return device->ops.query_pkey(device, port_num, index, ret_pkey);
}

int ib_find_pkey(struct ib_device *device, u32 port_num, u16 pkey, u16 *ret_index)
{
	struct ib_port_attr attr;
	int r, found = -ENOENT;

	r = ib_query_port(device, port_num, &attr);
	if (r < 0)
		return r;
	for (u16 i = 0; i < attr.pkey_tbl_len; i++) {
		u16 entry;

		if (ib_query_pkey(device, port_num, i, &entry) < 0 || !entry ||
		    ((entry ^ pkey) & ~IB_PKEY_FULL_MEMBER) != 0)
			continue;
		if (found < 0 || (entry & IB_PKEY_FULL_MEMBER))
			*ret_index = i;
		found = 0;
		if (entry & IB_PKEY_FULL_MEMBER)
			break;
	}
	return found;
}

u32 ib_device_ifindex(struct ib_device *device, u32 port_num)
{
	struct ib_gid_attr attr;
	struct ib_port_attr port;

	if (ib_query_port(device, port_num, &port) < 0)
		return 0;
	for (int i = 0; i < port.gid_tbl_len; i++) {
		if (rdma_query_gid(device, port_num, i, &attr) == 0 && attr.ifindex)
			return attr.ifindex;
	}
	return 0;
}
