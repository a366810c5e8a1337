/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/log.h"
#include "daemon/site.h"
#include "daemon/sysfs_tree.h"

/* A device as the tree shows it, with memory for what it points to. */
struct entry {
	struct sysfs_device device;
	struct sysfs_port port;
	struct sysfs_gid gids[SHM_GIDS_MAX];
	uint16_t pkeys[SHM_PKEYS_MAX];
	struct ib_device_attr attr;
	struct ib_device_info info;
};

/* Lanes times what each carries; encodings of spec/userland 5. */
static unsigned int rate_of(const struct ib_port_attr *attr)
{
	static const unsigned int lanes[] = { [1] = 1, [2] = 4, [4] = 8, [8] = 12 };
	unsigned int n = attr->active_width < 9 ? lanes[attr->active_width] : 0;

	switch (attr->active_speed) {
	case 1: /* SDR */
		return n * 5 / 2;
	case 2: /* DDR */
		return n * 5;
	case 4: /* QDR */
	case 8: /* FDR10 */
		return n * 10;
	case 16: /* FDR */
		return n * 14;
	case 32: /* EDR */
		return n * 25;
	case 64: /* HDR */
		return n * 50;
	default:
		return 0;
	}
}

static void describe_port(struct ib_device *device, struct entry *e)
{
	struct ib_port_attr attr = { 0 };

	ib_query_port(device, 1, &attr);
	e->port = (struct sysfs_port){
		.state = attr.state,
		.phys_state = attr.phys_state,
		.ethernet = rdma_port_get_link_layer(device, 1) == IB_LINK_LAYER_ETHERNET,
		.lid = attr.lid,
		.lmc = attr.lmc,
		.sm_lid = attr.sm_lid,
		.sm_sl = attr.sm_sl,
		.rate_gbps = rate_of(&attr),
		.cap_mask = attr.port_cap_flags,
		.pkeys = e->pkeys,
		.pkey_count = attr.pkey_tbl_len,
		.gids = e->gids,
		.gid_count = (size_t)attr.gid_tbl_len,
	};
	for (int i = 0; i < attr.gid_tbl_len; i++) {
		struct ib_gid_attr gid;

		if (rdma_query_gid(device, 1, i, &gid) < 0)
			continue;
		memcpy(e->gids[i].raw, gid.gid.raw, sizeof(e->gids[i].raw));
		e->gids[i].roce_v2 = gid.gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP;
	}
	for (int i = 0; i < attr.pkey_tbl_len; i++)
		ib_query_pkey(device, 1, (u16)i, &e->pkeys[i]);
}

static void describe(const struct site *s, struct ib_device *device, struct entry *e)
{
	ib_query_device(device, &e->attr);
	ib_describe_device(device, &e->info);
	describe_port(device, e);
	e->device = (struct sysfs_device){
		.name = ib_device_name(device),
		.uverbs = e->info.site_device,
		.netdev = e->info.netdev,
		.fw_ver = e->attr.fw_ver,
		.node_desc = s->paths->name,
		.node_type = RDMA_NODE_IB_CA,
		.hw_rev = e->attr.hw_ver,
		.vendor_id = e->attr.vendor_id,
		.vendor_part_id = e->attr.vendor_part_id,
		.node_guid = device->node_guid,
		.sys_image_guid = e->attr.sys_image_guid,
		.ports = &e->port,
		.port_count = 1,
	};
}

static size_t count_devices(struct ib_node *node)
{
	size_t n = 0;

	while (ib_node_device(node, (u32)n))
		n++;
	return n;
}

/* -- which files there are ------------------------------------------------------------- */

static uint32_t hash_text(uint32_t value, const char *text)
{
	return text ? hash_bytes(value, text, strlen(text) + 1)
		    : hash_bytes(value, "", 1);
}

static uint32_t hash_gids(uint32_t value, const struct sysfs_port *p)
{
	static const uint8_t none[16];

	for (size_t i = 0; i < p->gid_count; i++) {
		bool empty = memcmp(p->gids[i].raw, none, sizeof(none)) == 0;

		value = hash_bytes(value, &empty, sizeof(empty));
	}
	return value;
}

/* Trees with the same one have files of the same names. */
static uint32_t shape_of(const struct sysfs_device *devices, size_t n)
{
	uint32_t value = hash_bytes(0, &n, sizeof(n));

	for (size_t i = 0; i < n; i++) {
		const struct sysfs_device *d = &devices[i];
		size_t counts[] = { d->uverbs, d->ports->gid_count, d->ports->pkey_count,
				    d->ports->rate_gbps > 0 };

		value = hash_bytes(value, counts, sizeof(counts));
		value = hash_text(value, d->name);
		value = hash_text(value, d->netdev);
		value = hash_text(value, d->fw_ver);
		value = hash_text(value, d->node_desc);
		value = hash_gids(value, d->ports);
	}
	return value;
}

static int write_tree(struct node *node, const char *dir,
		      const struct sysfs_device *devices, size_t n)
{
	uint32_t shape = shape_of(devices, n);
	int r = -ENOENT;

	if (node->in_tree && node->tree_shape == shape)
		r = sysfs_tree_update(dir, devices, n);
	if (r < 0)
		r = sysfs_tree_replace(dir, devices, n);
	node->tree_shape = shape;
	return r;
}

static int write_devices(const struct site *s, struct node *node, const char *dir,
			 size_t n)
{
	struct entry *entries = calloc(n + 1, sizeof(*entries));
	struct sysfs_device *devices = calloc(n + 1, sizeof(*devices));
	int r = -ENOMEM;

	if (entries && devices) {
		for (size_t i = 0; i < n; i++) {
			describe(s, ib_node_device(node->ib, (u32)i), &entries[i]);
			devices[i] = entries[i].device;
		}
		r = write_tree(node, dir, devices, n);
	}
	free(devices);
	free(entries);
	return r;
}

int tree_write(struct site *s, struct node *node)
{
	char dir[SITE_PATH_MAX + 16];
	int r = 0;

	snprintf(dir, sizeof(dir), "%s/%u", s->paths->sys, node->index);
	if (mkdir(s->paths->sys, 0700) < 0 && errno != EEXIST)
		r = -errno;
	if (!r)
		r = write_devices(s, node, dir, count_devices(node->ib));
	if (r < 0)
		log_error("cannot make %s: %s", dir, strerror(-r));
	node->in_tree = true;
	node->tree_stale = false;
	return r;
}
