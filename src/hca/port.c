/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A port as the tables show it to every process, and as the core asks for it.
 */
#include <string.h>

#include "hca/hca_priv.h"

#define MTU_4096           5
#define PKEY_DEFAULT       0xffff
#define PORT_CAP_CM        (1u << 16)
#define PORT_CAP_IP_GIDS   (1u << 26)
#define PORT_MAX_MSG_BYTES 0x800000u
#define PORT_PHYS_LINK_UP  5
#define PORT_WIDTH_4X      2
#define PORT_SPEED_EDR     32

static void gid_publish(struct shm_gid_entry *to, const struct hca_gid *from,
			uint32_t serial)
{
	memcpy(to->gid, from->gid.raw, sizeof(to->gid));
	to->type = from->type;
	to->ifindex = from->ifindex;
	atomic_store_explicit(&to->valid, serial, memory_order_release);
}

void hca_port_publish(struct hca_device *dev, const struct hca_device_config *config)
{
	struct shm_port *port = hca_port(dev, 1);

	port->node = ib_node_index(dev->ib.node);
	port->device = dev->site_device;
	port->port_num = 1;
	port->link_layer = SHM_LINK_ETHERNET;
	atomic_store(&port->active_mtu, MTU_4096);
	atomic_store(&port->lid, 0);
	atomic_store(&port->pkeys[0], PKEY_DEFAULT);
	for (unsigned int i = 0; i < config->gid_count; i++)
		gid_publish(&port->gids[i], &config->gids[i], i + 1);
	atomic_store(&port->state, IB_PORT_ACTIVE);
	atomic_fetch_add(&port->generation, 1);
}

void hca_port_unpublish(struct hca_device *dev)
{
	struct shm_port *port = hca_port(dev, 1);

	atomic_store(&port->state, IB_PORT_NOP);
	for (unsigned int i = 0; i < SHM_GIDS_MAX; i++)
		atomic_store(&port->gids[i].valid, 0);
	atomic_fetch_add(&port->generation, 1);
}

enum rdma_link_layer hca_get_link_layer(struct ib_device *device, u32 port_num)
{
	return hca_port(to_hca_device(device), port_num)->link_layer ==
			       SHM_LINK_INFINIBAND
		       ? IB_LINK_LAYER_INFINIBAND
		       : IB_LINK_LAYER_ETHERNET;
}

int hca_query_port(struct ib_device *device, u32 port_num, struct ib_port_attr *attr)
{
	struct shm_port *port = hca_port(to_hca_device(device), port_num);

	attr->state = atomic_load(&port->state);
	attr->max_mtu = MTU_4096;
	attr->active_mtu = (int)atomic_load(&port->active_mtu);
	attr->gid_tbl_len = SHM_GIDS_MAX;
	attr->port_cap_flags = PORT_CAP_CM | PORT_CAP_IP_GIDS;
	attr->max_msg_sz = PORT_MAX_MSG_BYTES;
	attr->pkey_tbl_len = 1;
	attr->lid = (u16)atomic_load(&port->lid);
	attr->max_vl_num = 1;
	attr->active_width = PORT_WIDTH_4X;
	attr->active_speed = PORT_SPEED_EDR;
	attr->phys_state = PORT_PHYS_LINK_UP;
	return 0;
}

int hca_query_gid(struct ib_device *device, u32 port_num, int index,
		  struct ib_gid_attr *attr)
{
	const struct shm_port *port = hca_port(to_hca_device(device), port_num);
	const struct shm_gid_entry *entry;

	if (index >= (int)SHM_GIDS_MAX)
		return -EINVAL;
	entry = &port->gids[index];
	if (!atomic_load(&entry->valid))
		return -ENODATA;
	memcpy(attr->gid.raw, entry->gid, sizeof(attr->gid.raw));
	attr->gid_type = entry->type;
	attr->index = (u16)index;
	attr->port_num = port_num;
	attr->ifindex = entry->ifindex;
	return 0;
}

int hca_query_pkey(struct ib_device *device, u32 port_num, u16 index, u16 *pkey)
{
	struct shm_port *port = hca_port(to_hca_device(device), port_num);

	if (index >= 1)
		return -EINVAL;
	*pkey = atomic_load(&port->pkeys[index]);
	return 0;
}
