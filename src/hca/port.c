/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A port as the tables show it to every process, and as the core asks for it.
 */
#include <stdio.h>
#include <string.h>

#include "hca/hca_priv.h"
#include "wire/mtu.h"

#define PORT_CAP_CM        (1u << 16)
#define PORT_CAP_IP_GIDS   (1u << 26)
#define PORT_MAX_MSG_BYTES 0x800000u
#define PORT_PHYS_DISABLED 3
#define PORT_PHYS_LINK_UP  5
#define PORT_WIDTH_4X      2
#define PORT_SPEED_EDR     32

/* -- the GID table ------------------------------------------------------------------ */

/* Whoever reads it meanwhile sees two serials, and looks again (shim/verbs/port.c). */
static void gid_put(struct hca_device *dev, struct shm_gid_entry *to,
		    const struct hca_gid *from)
{
	atomic_thread_fence(memory_order_release);
	memcpy(to->gid, from->gid.raw, sizeof(to->gid));
	to->type = from->type;
	to->ifindex = from->ifindex;
	atomic_store_explicit(&to->valid, ++dev->site->gid_serial, memory_order_release);
}

static void gid_clear(struct shm_gid_entry *entry)
{
	atomic_store_explicit(&entry->valid, 0, memory_order_release);
}

static bool gid_is(const struct shm_gid_entry *entry, const struct hca_gid *gid)
{
	return atomic_load(&entry->valid) && entry->type == (uint32_t)gid->type &&
	       entry->ifindex == gid->ifindex && gid_equal(entry->gid, gid->gid.raw);
}

static bool is_default(const struct hca_port_link *link, unsigned int n)
{
	return link->default_gid && n == 0;
}

/* Is what the entry holds among the link's, and in its right place? */
static bool is_wanted(const struct hca_port_link *link, unsigned int index,
		      const struct shm_gid_entry *entry)
{
	for (unsigned int n = 0; n < link->gid_count; n++)
		if (gid_is(entry, &link->gids[n]))
			return !is_default(link, n) || index == 0;
	return false;
}

static bool has_gid(const struct shm_port *port, const struct hca_gid *gid)
{
	for (unsigned int i = 0; i < SHM_GIDS_MAX; i++)
		if (gid_is(&port->gids[i], gid))
			return true;
	return false;
}

/* The first free place, as in Linux. There is one: the table has one more than GIDs, and
 * the default GID's place is counted in them. */
static struct shm_gid_entry *free_place(struct hca_device *dev, struct shm_port *port)
{
	for (unsigned int i = dev->has_default_gid; i < SHM_GIDS_MAX; i++)
		if (!atomic_load(&port->gids[i].valid))
			return &port->gids[i];
	return NULL;
}

static bool gids_drop(struct shm_port *port, const struct hca_port_link *link)
{
	bool changed = false;

	for (unsigned int i = 0; i < SHM_GIDS_MAX; i++) {
		struct shm_gid_entry *entry = &port->gids[i];

		if (!atomic_load(&entry->valid) || is_wanted(link, i, entry))
			continue;
		gid_clear(entry);
		changed = true;
	}
	return changed;
}

static bool gids_add(struct hca_device *dev, struct shm_port *port,
		     const struct hca_port_link *link)
{
	bool changed = false;

	for (unsigned int n = 0; n < link->gid_count; n++) {
		struct shm_gid_entry *place;

		if (has_gid(port, &link->gids[n]))
			continue;
		place = is_default(link, n) ? &port->gids[0] : free_place(dev, port);
		if (!place)
			continue;
		gid_put(dev, place, &link->gids[n]);
		changed = true;
	}
	return changed;
}

/* An address that stays keeps its place and its serial. */
static bool gids_follow(struct hca_device *dev, struct shm_port *port,
			const struct hca_port_link *link)
{
	bool changed;

	dev->has_default_gid |= link->default_gid;
	changed = gids_drop(port, link);
	return gids_add(dev, port, link) || changed;
}

/* -- an InfiniBand port's, which have their places ----------------------------------- */

static bool gid_place(struct hca_device *dev, struct shm_gid_entry *entry,
		      const union ib_gid *gid)
{
	static const union ib_gid none;
	const struct hca_gid wanted = { .gid = *gid, .type = IB_GID_TYPE_IB };
	bool empty = gid_equal(gid->raw, none.raw);

	if (empty ? !atomic_load(&entry->valid) : gid_is(entry, &wanted))
		return false;
	gid_clear(entry);
	if (!empty)
		gid_put(dev, entry, &wanted);
	return true;
}

static bool gids_place(struct hca_device *dev, struct shm_port *port,
		       const struct path_ib_port *ib)
{
	static const union ib_gid none;
	bool changed = false;

	for (unsigned int i = 0; i < SHM_GIDS_MAX; i++)
		changed |= gid_place(dev, &port->gids[i],
				     i < ib->gid_count ? &ib->gids[i] : &none);
	return changed;
}

/* -- the port ----------------------------------------------------------------------- */

static bool replace(_Atomic uint32_t *word, uint32_t value)
{
	return atomic_exchange(word, value) != value;
}

void hca_port_changed(struct hca_device *dev)
{
	atomic_fetch_add(&hca_port(dev, 1)->generation, 1);
	atomic_fetch_add(&dev->site->tables->h.ports_generation, 1);
}

static unsigned int ethernet_follow(struct hca_device *dev, struct shm_port *port,
				    const struct hca_port_link *link)
{
	unsigned int changes = 0;

	if (gids_follow(dev, port, link))
		changes |= HCA_PORT_GIDS;
	if (replace(&port->active_mtu, link->mtu ? (uint32_t)link->mtu : MTU_ENUM_4096))
		changes |= HCA_PORT_OTHER;
	replace(&port->phys_state, link->down ? PORT_PHYS_DISABLED : PORT_PHYS_LINK_UP);
	if (replace(&port->state, link->down ? IB_PORT_DOWN : IB_PORT_ACTIVE))
		changes |= HCA_PORT_STATE;
	return changes;
}

static bool pkeys_follow(struct shm_port *port, const struct path_ib_port *ib)
{
	bool changed = replace(&port->pkey_count, ib->pkey_count);

	for (unsigned int i = 0; i < SHM_PKEYS_MAX; i++) {
		uint16_t pkey = i < ib->pkey_count ? ib->pkeys[i] : 0;

		changed |= atomic_exchange(&port->pkeys[i], pkey) != pkey;
	}
	return changed;
}

static bool others_follow(struct shm_port *port, const struct path_ib_port *ib)
{
	bool changed = false;

	changed |= replace(&port->active_mtu, ib->active_mtu);
	changed |= replace(&port->max_mtu, ib->max_mtu);
	changed |= replace(&port->max_vl_num, ib->max_vl_num);
	changed |= replace(&port->active_width, ib->active_width);
	changed |= replace(&port->active_speed, ib->active_speed);
	changed |= replace(&port->cap_mask, ib->cap_mask);
	changed |= replace(&port->subnet_timeout, ib->subnet_timeout);
	changed |= replace(&port->init_type_reply, ib->init_type_reply);
	changed |= replace(&port->phys_state, ib->phys_state);
	changed |= replace(&port->pkey_violations, ib->pkey_violations);
	changed |= replace(&port->qkey_violations, ib->qkey_violations);
	changed |= replace(&port->gid_count, ib->gid_count);
	return changed;
}

/* The state last: who sees the port active sees what it is active with. */
static unsigned int infiniband_follow(struct hca_device *dev, struct shm_port *port,
				      const struct path_ib_port *ib)
{
	unsigned int changes = 0;

	if (gids_place(dev, port, ib))
		changes |= HCA_PORT_GIDS;
	if (pkeys_follow(port, ib))
		changes |= HCA_PORT_PKEYS;
	if (replace(&port->lid, ib->lid))
		changes |= HCA_PORT_LID;
	if (replace(&port->lmc, ib->lmc))
		changes |= HCA_PORT_LID;
	if (replace(&port->sm_lid, ib->sm_lid))
		changes |= HCA_PORT_SM;
	if (replace(&port->sm_sl, ib->sm_sl))
		changes |= HCA_PORT_SM;
	if (others_follow(port, ib))
		changes |= HCA_PORT_OTHER;
	if (replace(&port->state, ib->state))
		changes |= HCA_PORT_STATE;
	return changes;
}

unsigned int hca_port_follow(struct hca_device *dev, const struct hca_port_link *link)
{
	struct shm_port *port = hca_port(dev, 1);
	unsigned int changes = link->ib ? infiniband_follow(dev, port, link->ib)
					: ethernet_follow(dev, port, link);

	snprintf(dev->netdev, sizeof(dev->netdev), "%s",
		 link->netdev ? link->netdev : "");
	if (changes)
		hca_port_changed(dev);
	return changes;
}

/* What never changes, nor is anybody's to say. */
static void ethernet_publish(struct shm_port *port)
{
	atomic_store(&port->lid, 0);
	atomic_store(&port->lmc, 0);
	atomic_store(&port->sm_lid, 0);
	atomic_store(&port->sm_sl, 0);
	atomic_store(&port->subnet_timeout, 0);
	atomic_store(&port->init_type_reply, 0);
	atomic_store(&port->pkey_violations, 0);
	atomic_store(&port->qkey_violations, 0);
	atomic_store(&port->cap_mask, PORT_CAP_CM | PORT_CAP_IP_GIDS);
	atomic_store(&port->max_mtu, MTU_ENUM_4096);
	atomic_store(&port->max_vl_num, 1);
	atomic_store(&port->active_width, PORT_WIDTH_4X);
	atomic_store(&port->active_speed, PORT_SPEED_EDR);
	atomic_store(&port->gid_count, SHM_GIDS_MAX);
	atomic_store(&port->pkey_count, 1);
	atomic_store(&port->pkeys[0], IB_PKEY_DEFAULT_FULL);
}

void hca_port_publish(struct hca_device *dev, const struct ib_node *node,
		      const struct hca_device_config *config)
{
	struct shm_port *port = hca_port(dev, 1);

	port->node = ib_node_index(node);
	port->device = dev->site_device;
	port->port_num = 1;
	port->link_layer = dev->infiniband ? SHM_LINK_INFINIBAND : SHM_LINK_ETHERNET;
	atomic_store(&port->flags, config->network ? SHM_PORT_NETWORK : 0);
	if (!dev->infiniband)
		ethernet_publish(port);
	hca_port_follow(dev, &config->link);
}

void hca_port_unpublish(struct hca_device *dev)
{
	struct shm_port *port = hca_port(dev, 1);

	atomic_store(&port->state, IB_PORT_NOP);
	for (unsigned int i = 0; i < SHM_GIDS_MAX; i++)
		gid_clear(&port->gids[i]);
	atomic_store(&port->lid, 0);
	hca_port_changed(dev);
}

enum rdma_link_layer hca_get_link_layer(struct ib_device *device, u32 port_num)
{
	return to_hca_device(device)->infiniband ? IB_LINK_LAYER_INFINIBAND
						 : IB_LINK_LAYER_ETHERNET;
}

int hca_query_port(struct ib_device *device, u32 port_num, struct ib_port_attr *attr)
{
	struct shm_port *port = hca_port(to_hca_device(device), port_num);

	attr->state = atomic_load(&port->state);
	attr->max_mtu = (int)atomic_load(&port->max_mtu);
	attr->active_mtu = (int)atomic_load(&port->active_mtu);
	attr->gid_tbl_len = (int)atomic_load(&port->gid_count);
	attr->port_cap_flags = atomic_load(&port->cap_mask);
	attr->max_msg_sz = PORT_MAX_MSG_BYTES;
	attr->bad_pkey_cntr = atomic_load(&port->pkey_violations);
	attr->qkey_viol_cntr = atomic_load(&port->qkey_violations);
	attr->pkey_tbl_len = (u16)atomic_load(&port->pkey_count);
	attr->lid = (u16)atomic_load(&port->lid);
	attr->sm_lid = (u16)atomic_load(&port->sm_lid);
	attr->lmc = (u8)atomic_load(&port->lmc);
	attr->max_vl_num = (u8)atomic_load(&port->max_vl_num);
	attr->sm_sl = (u8)atomic_load(&port->sm_sl);
	attr->subnet_timeout = (u8)atomic_load(&port->subnet_timeout);
	attr->init_type_reply = (u8)atomic_load(&port->init_type_reply);
	attr->active_width = (u8)atomic_load(&port->active_width);
	attr->active_speed = (u16)atomic_load(&port->active_speed);
	attr->phys_state = (u8)atomic_load(&port->phys_state);
	return 0;
}

int hca_query_gid(struct ib_device *device, u32 port_num, int index,
		  struct ib_gid_attr *attr)
{
	const struct shm_port *port = hca_port(to_hca_device(device), port_num);
	const struct shm_gid_entry *entry;

	if (index >= (int)atomic_load(&port->gid_count))
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

	if (index >= atomic_load(&port->pkey_count))
		return -EINVAL;
	*pkey = atomic_load(&port->pkeys[index]);
	return 0;
}
