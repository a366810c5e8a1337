/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/nodes.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "daemon/devices.h"

static_assert(DEVICES_PLACES + ADMIN_NODES_MAX <= SHM_PORTS_MAX, "places of ports");

/* The RoCE devices come before it. */
#define VIB_PLACE 1000u

struct nodes {
	struct nodes_config config;
	struct node *all;
	unsigned int count;
	unsigned int up; /* so many of the first were seen to be */
};

/* -- the port ------------------------------------------------------------------------ */

/* From the end of the table: RoCE devices take it from the front. */
static uint32_t place_of(const struct node *node)
{
	return SHM_PORTS_MAX - 1 - node->index;
}

static void receive(void *arg, const struct ib_packet *packet)
{
	struct node *node = arg;

	if (node->vib)
		hca_device_receive_mad(node->vib, packet);
}

static int describe(struct node *node, struct path_ib_port *port)
{
	return path_fabric_describe(site_fabric_path(node->nodes->config.fabric),
				    place_of(node), port);
}

static void changed(void *arg, unsigned int changes)
{
	struct node *node = arg;
	struct hca_port_link link = { .netdev = NULL };
	struct path_ib_port port;

	if (!node->vib || describe(node, &port) < 0)
		return;
	link.ib = &port;
	hca_device_follow(node->vib, &link);
	if (changes & FABRIC_PORT_REREGISTER)
		hca_device_reregister(node->vib);
	node->nodes->config.changed(node->nodes->config.arg, node);
}

static const struct path_fabric_port_ops port_ops = {
	.receive = receive,
	.changed = changed,
};

static int create_vib(struct node *node)
{
	const struct nodes_config *c = &node->nodes->config;
	struct path_fabric *path = site_fabric_path(c->fabric);
	struct hca_device_config config = {
		.site = c->hca,
		.path = path_fabric_path(path),
		.name = "vib0",
		.site_device = place_of(node),
		.port_index = place_of(node),
		.place = VIB_PLACE,
		.limits = *c->limits,
		.ops = c->ops,
		.arg = c->arg,
	};
	struct fabric_port_info info;
	struct path_ib_port port;
	int r;

	fabric_port_info(node->port, &info);
	config.guid = htobe64(info.node_guid);
	r = path_fabric_bind(path, place_of(node), node->port, &port_ops, node);
	if (!r)
		r = describe(node, &port);
	if (r < 0)
		return r;
	config.link.ib = &port;
	return hca_device_create(node->ib, &config, &node->vib);
}

/* -- addresses ----------------------------------------------------------------------- */

static void addresses(void *arg, struct ib_device *device, u32 port_num,
		      struct ipoib_addresses *ret)
{
	const struct node *node = arg;

	ipoib_default_addresses(node->index + 1, ret);
}

/* What is asked by ARP elsewhere: all hosts of the fabric are ours. */
static int neighbour(void *arg, const struct sockaddr *addr, union ib_gid *ret)
{
	const struct nodes *n = ((const struct node *)arg)->nodes;
	u32 host = ipoib_default_host(addr);
	struct node *node = host ? nodes_nth(n, host - 1) : NULL;
	struct ib_gid_attr gid;

	if (!node || !node->vib ||
	    rdma_query_gid(hca_device_ib(node->vib), 1, 0, &gid) < 0)
		return -EHOSTUNREACH;
	*ret = gid.gid;
	return 0;
}

/* -- life ---------------------------------------------------------------------------- */

static int start(struct node *node)
{
	const struct nodes_config *c = &node->nodes->config;
	const struct ib_mad_config mad = { node->ib, c->timers, c->random };
	struct ib_sa_config sa = { node->ib, NULL, c->timers, c->random };
	const struct ipoib_config ipoib = {
		.node = node->ib,
		.timers = c->timers,
		.addresses = addresses,
		.neighbour = neighbour,
		.arg = node,
	};
	int r;

	r = create_vib(node);
	if (!r)
		r = ib_mad_create(&mad, &node->mad);
	sa.mad = node->mad;
	if (!r)
		r = ib_sa_create(&sa, &node->sa);
	if (!r)
		r = ipoib_create(&ipoib, &node->ipoib);
	if (r < 0)
		log_error("cannot make node %s: %s", ib_node_name(node->ib),
			  strerror(-r));
	return r;
}

static void stop(struct node *node)
{
	if (node->ipoib)
		ipoib_destroy(node->ipoib);
	if (node->sa)
		ib_sa_destroy(node->sa);
	if (node->mad)
		ib_mad_destroy(node->mad);
	node->ipoib = NULL;
	node->sa = NULL;
	node->mad = NULL;
	if (node->port)
		path_fabric_unbind(site_fabric_path(node->nodes->config.fabric),
				   place_of(node));
	hca_device_destroy(node->vib);
	node->vib = NULL;
}

int nodes_start(struct nodes *n)
{
	int r = 0;

	for (unsigned int i = 0; i < n->count && !r; i++)
		if (n->all[i].port)
			r = start(&n->all[i]);
	return r;
}

void nodes_silence(struct nodes *n)
{
	for (unsigned int i = 0; i < n->count; i++)
		if (n->all[i].sa)
			ib_sa_silence(n->all[i].sa);
}

void nodes_stop(struct nodes *n)
{
	for (unsigned int i = 0; n && i < n->count; i++)
		stop(&n->all[i]);
}

static unsigned int count_hosts(const struct nodes_config *c)
{
	unsigned int n = 0;

	while (c->fabric && site_fabric_host(c->fabric, n))
		n++;
	return n;
}

static int create_node(struct nodes *n, unsigned int index)
{
	struct node *node = &n->all[index];
	struct fabric_port_info info;

	node->nodes = n;
	node->index = index;
	if (n->config.fabric)
		node->port = site_fabric_host(n->config.fabric, index);
	if (node->port)
		fabric_port_info(node->port, &info);
	node->ib = ib_node_create(node->port ? info.node : NODES_FIRST_NAME, index);
	return node->ib ? 0 : -ENOMEM;
}

int nodes_create(const struct nodes_config *config, struct nodes **ret)
{
	struct nodes *n = calloc(1, sizeof(*n));
	unsigned int hosts = count_hosts(config);
	int r = 0;

	if (!n)
		return -ENOMEM;
	n->config = *config;
	n->count = hosts ? hosts : 1;
	n->all = calloc(n->count, sizeof(n->all[0]));
	if (!n->all)
		r = -ENOMEM;
	for (unsigned int i = 0; i < n->count && !r; i++)
		r = create_node(n, i);
	if (r < 0) {
		nodes_destroy(n);
		return r;
	}
	*ret = n;
	return 0;
}

void nodes_destroy(struct nodes *n)
{
	if (!n)
		return;
	for (unsigned int i = 0; n->all && i < n->count; i++)
		ib_node_destroy(n->all[i].ib);
	free(n->all);
	free(n);
}

static bool is_up(const struct node *node)
{
	struct ipoib_interface i;

	return !node->vib ||
	       (!ipoib_find_by_port(node->ipoib, hca_device_ib(node->vib), 1, &i) &&
		i.up);
}

bool nodes_are_up(struct nodes *n)
{
	while (n->up < n->count && is_up(&n->all[n->up]))
		n->up++;
	return n->up == n->count;
}

struct node *nodes_nth(const struct nodes *n, unsigned int index)
{
	return index < n->count ? &n->all[index] : NULL;
}

struct node *nodes_find(const struct nodes *n, const char *name)
{
	if (!*name)
		return &n->all[0];
	for (unsigned int i = 0; i < n->count; i++)
		if (!strcmp(name, ib_node_name(n->all[i].ib)))
			return &n->all[i];
	return strcmp(name, NODES_FIRST_NAME) ? NULL : &n->all[0];
}

struct node *nodes_find_ib(const struct nodes *n, const struct ib_node *ib)
{
	return nodes_nth(n, ib_node_index(ib));
}

struct node *nodes_find_guid(const struct nodes *n, uint64_t port_guid)
{
	for (unsigned int i = 0; i < n->count; i++) {
		struct fabric_port_info info;

		if (!n->all[i].port)
			continue;
		fabric_port_info(n->all[i].port, &info);
		if (info.port_guid == port_guid)
			return &n->all[i];
	}
	return NULL;
}
