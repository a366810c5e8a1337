/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device: its op table, its attributes, its birth and its end.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "hca/hca_priv.h"
#include "wire/mtu.h"

/* 0 and 1 are the special queue pairs, 0xffffff is multicast; the low ones are left out
 * so that a number taken for an index shows. */
#define QPN_FIRST 0x11u
#define QPN_LAST  0xfffffeu

#define VENDOR_ID_NONE 0xffffffu /* "no vendor", as rxe says */
#define PAGE_SIZES     0xfffff000ull

/* Hardware has no limit but what follows from the other two (spec/kernel 1.3). */
static uint32_t max_attachments(const struct hca_device *dev)
{
	const struct hca_limits *l = &dev->limits;
	uint64_t all = (uint64_t)l->max_mcast_grp * l->max_mcast_qp_attach;

	if (!dev->infiniband)
		return l->max_total_mcast_qp_attach;
	return all < INT32_MAX ? (uint32_t)all : INT32_MAX;
}

static int query_device(struct ib_device *ib, struct ib_device_attr *attr)
{
	const struct hca_device *dev = to_hca_device(ib);
	const struct hca_limits *l = &dev->limits;

	memcpy(attr->fw_ver, VERBCAST_VERSION, sizeof(VERBCAST_VERSION));
	attr->sys_image_guid = ib->node_guid;
	attr->max_mr_size = UINT64_MAX;
	attr->page_size_cap = PAGE_SIZES;
	attr->vendor_id = VENDOR_ID_NONE;
	attr->device_cap_flags = IB_DEVICE_CURR_QP_STATE_MOD | IB_DEVICE_SYS_IMAGE_GUID |
				 IB_DEVICE_SRQ_RESIZE;
	attr->max_qp = l->max_qp;
	attr->max_qp_wr = l->max_qp_wr;
	attr->max_send_sge = attr->max_recv_sge = l->max_sge;
	attr->max_cq = l->max_cq;
	attr->max_cqe = l->max_cqe;
	attr->max_mr = l->max_mr;
	attr->max_pd = l->max_pd;
	attr->max_ah = l->max_ah;
	attr->max_mcast_grp = l->max_mcast_grp;
	attr->max_mcast_qp_attach = l->max_mcast_qp_attach;
	attr->max_total_mcast_qp_attach = max_attachments(dev);
	attr->max_srq = l->max_srq;
	attr->max_srq_wr = l->max_srq_wr;
	attr->max_srq_sge = l->max_srq_sge;
	attr->max_inline_data = l->max_inline;
	attr->num_comp_vectors = ib->num_comp_vectors;
	attr->max_pkeys = dev->infiniband ? PATH_PKEYS_MAX : 1;
	return 0;
}

static void unused(struct ib_device *ib)
{
	const struct hca_device *dev = to_hca_device(ib);

	if (dev->ops && dev->ops->unused)
		dev->ops->unused(dev->arg, ib);
}

static int describe_device(struct ib_device *ib, struct ib_device_info *info)
{
	const struct hca_device *dev = to_hca_device(ib);

	info->site_device = dev->site_device;
	info->first_port = dev->port_index;
	memcpy(info->netdev, dev->netdev, sizeof(info->netdev));
	return 0;
}

static int post_mad(struct ib_device *ib, u32 port_num, const struct ib_packet *packet)
{
	const struct hca_device *dev = to_hca_device(ib);
	const struct path *path = dev->path;

	return path->ops->send_mad(path->arg, hca_port_index(dev, port_num), packet);
}

static const struct ib_device_ops device_ops = {
	.size_ib_qp = sizeof(struct hca_qp),
	.size_ib_srq = sizeof(struct hca_srq),
	.query_device = query_device,
	.query_port = hca_query_port,
	.get_link_layer = hca_get_link_layer,
	.query_gid = hca_query_gid,
	.query_pkey = hca_query_pkey,
	.alloc_ucontext = hca_alloc_ucontext,
	.alloc_pd = hca_alloc_pd,
	.dealloc_pd = hca_dealloc_pd,
	.reg_user_mr = hca_reg_user_mr,
	.rereg_user_mr = hca_rereg_user_mr,
	.dereg_mr = hca_dereg_mr,
	.create_cq = hca_create_cq,
	.resize_cq = hca_resize_cq,
	.destroy_cq = hca_destroy_cq,
	.create_srq = hca_create_srq,
	.modify_srq = hca_modify_srq,
	.query_srq = hca_query_srq,
	.destroy_srq = hca_destroy_srq,
	.create_qp = hca_create_qp,
	.modify_qp = hca_modify_qp,
	.query_qp = hca_query_qp,
	.destroy_qp = hca_destroy_qp,
	.attach_mcast = hca_attach_mcast,
	.detach_mcast = hca_detach_mcast,
	.post_mad = post_mad,
	.unused = unused,
	.describe_device = describe_device,
	.describe_qp = hca_describe_qp,
	.describe_mcast = hca_describe_mcast,
};

/* 02 marks a locally administered identifier, the last two bytes the device. */
uint64_t hca_guid(uint64_t site_seed, uint32_t n)
{
	uint64_t x = site_seed + 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	x ^= x >> 31;
	return htobe64((x & 0x00ffffffffff0000ull) | 0x0200000000000000ull |
		       ((n + 1) & 0xffff));
}

static int check_infiniband(const struct path_ib_port *ib)
{
	if (ib->pkey_count > PATH_PKEYS_MAX || ib->gid_count > PATH_GIDS_MAX)
		return -EINVAL;
	if (ib->active_mtu < MTU_ENUM_256 || ib->active_mtu > MTU_ENUM_4096)
		return -EINVAL;
	return ib->lmc > 7 ? -EINVAL : 0;
}
static_assert(PATH_PKEYS_MAX <= SHM_PKEYS_MAX && PATH_GIDS_MAX <= SHM_GIDS_MAX,
	      "the tables take what a port has");

static int check_link(const struct hca_port_link *link)
{
	if (link->netdev &&
	    strlen(link->netdev) >= sizeof(((struct hca_device *)0)->netdev))
		return -EINVAL;
	if (link->ib)
		return check_infiniband(link->ib);
	if (link->mtu < 0 || link->mtu > MTU_ENUM_4096)
		return -EINVAL;
	return link->gid_count > HCA_GIDS_MAX ? -EINVAL : 0;
}

static bool has_infiniband(const struct hca_site *site, const struct ib_node *node)
{
	list_for_each(l, &site->devices) {
		const struct hca_device *dev =
			container_of(l, struct hca_device, site_link);

		if (dev->infiniband && !dev->ib.removed && dev->ib.node == node)
			return true;
	}
	return false;
}

static int check_config(const struct ib_node *node,
			const struct hca_device_config *config)
{
	if (!config->name[0] ||
	    strlen(config->name) >= sizeof(((struct ib_device *)0)->name))
		return -EINVAL;
	if (config->port_index >= SHM_PORTS_MAX || !config->guid)
		return -EINVAL;
	if (config->link.ib && has_infiniband(config->site, node))
		return -EEXIST;
	return check_link(&config->link);
}

static void take_config(struct hca_device *dev, const struct hca_device_config *config)
{
	memcpy(dev->ib.name, config->name, strlen(config->name) + 1);
	dev->ib.ops = device_ops;
	/* Who has none has no management queue pairs either. */
	if (!config->path->ops->send_mad)
		dev->ib.ops.post_mad = NULL;
	dev->ib.node_type = RDMA_NODE_IB_CA;
	dev->ib.node_guid = config->guid;
	dev->ib.phys_port_cnt = 1;
	dev->ib.num_comp_vectors = 1;
	dev->ib.place = config->place;
	dev->site = config->site;
	dev->path = config->path;
	dev->ops = config->ops;
	dev->arg = config->arg;
	dev->limits = config->limits;
	dev->site_device = config->site_device;
	dev->port_index = config->port_index;
	dev->infiniband = config->link.ib != NULL;
	list_init(&dev->group_list);
	list_init(&dev->compiled);
	list_init(&dev->reach_link);
}

int hca_device_create(struct ib_node *node, const struct hca_device_config *config,
		      struct hca_device **ret)
{
	struct hca_device *dev;
	int r;

	r = check_config(node, config);
	if (r < 0)
		return r;
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	take_config(dev, config);
	r = hca_ids_init(&dev->qpns, QPN_FIRST, QPN_LAST - QPN_FIRST + 1, HCA_IDS_ROUND);
	if (r < 0)
		goto free_device;
	r = hash_init(&dev->groups);
	if (r < 0)
		goto fini_qpns;
	r = hash_init(&dev->members);
	if (r < 0)
		goto fini_groups;
	hca_port_publish(dev, node, config);
	r = ib_register_device(&dev->ib, node);
	if (r < 0)
		goto unpublish_port;
	list_append(&config->site->devices, &dev->site_link);
	dev->site->senders_serial++;
	*ret = dev;
	return 0;

unpublish_port:
	hca_port_unpublish(dev);
	hash_fini(&dev->members);
fini_groups:
	hash_fini(&dev->groups);
fini_qpns:
	hca_ids_fini(&dev->qpns);
free_device:
	free(dev);
	return r;
}

static void tell(struct hca_device *dev, enum ib_event_type type)
{
	struct ib_event event = {
		.device = &dev->ib,
		.element.port_num = 1,
		.event = type,
	};

	ib_dispatch_event(&event);
}

static uint32_t port_state(const struct hca_device *dev)
{
	return atomic_load(&hca_port(dev, 1)->state);
}

int hca_device_follow(struct hca_device *dev, const struct hca_port_link *link)
{
	unsigned int changes;
	uint32_t was;
	int r;

	r = check_link(link);
	if (r < 0 || dev->ib.removed || dev->infiniband != (link->ib != NULL))
		return -EINVAL;
	was = port_state(dev);
	changes = hca_port_follow(dev, link);
	if (changes & HCA_PORT_LID)
		dev->site->senders_serial++;
	if (changes & HCA_PORT_GIDS)
		tell(dev, IB_EVENT_GID_CHANGE);
	if (changes & HCA_PORT_PKEYS)
		tell(dev, IB_EVENT_PKEY_CHANGE);
	if (changes & HCA_PORT_LID)
		tell(dev, IB_EVENT_LID_CHANGE);
	if (changes & HCA_PORT_SM)
		tell(dev, IB_EVENT_SM_CHANGE);
	if (was != IB_PORT_ACTIVE && port_state(dev) == IB_PORT_ACTIVE)
		tell(dev, IB_EVENT_PORT_ACTIVE);
	if (was == IB_PORT_ACTIVE && port_state(dev) != IB_PORT_ACTIVE)
		tell(dev, IB_EVENT_PORT_ERR);
	return 0;
}

void hca_device_reregister(struct hca_device *dev)
{
	if (!dev->ib.removed)
		tell(dev, IB_EVENT_CLIENT_REREGISTER);
}

void hca_device_receive_mad(struct hca_device *dev, const struct ib_packet *packet)
{
	if (!dev->ib.removed)
		ib_receive_mad(&dev->ib, 1, packet);
}

/* The port goes first: who hears of the end finds nothing left of it. */
void hca_device_remove(struct hca_device *dev)
{
	if (dev->ib.removed)
		return;
	hca_port_unpublish(dev);
	hca_groups_unreach(dev);
	list_remove(&dev->reach_link);
	dev->site->senders_serial++;
	/* Before anybody is told: who has opened it meanwhile looks at this then. */
	atomic_fetch_add(&dev->site->tables->h.devices_generation, 1);
	ib_remove_device(&dev->ib);
}

int hca_device_destroy(struct hca_device *dev)
{
	int r;

	if (!dev)
		return 0;
	if (dev->ib.usecnt)
		return -EBUSY;
	hca_device_remove(dev);
	r = ib_unregister_device(&dev->ib);
	if (r < 0)
		return r;
	list_remove(&dev->site_link);
	hash_fini(&dev->members);
	hash_fini(&dev->groups);
	hca_ids_fini(&dev->qpns);
	free(dev);
	return 0;
}

struct ib_device *hca_device_ib(struct hca_device *dev)
{
	return &dev->ib;
}
