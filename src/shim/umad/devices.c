// SPDX-License-Identifier: BSD-2-Clause
/*
 * The devices with management: those of InfiniBand link layer (spec/userland 4.2, 4.5).
 * What is told is how things stand at that moment: programs look again after the subnet
 * manager has done its part.
 *
 * RoCE has no subnet management, so a site without a fabric has none of these, and the
 * lists are empty. Names that are asked for do not exist: -ENODEV.
 *
 * Differs: where there is no RDMA in the kernel, the stock umad_get_cas_names reports one
 * device "mthca0", which then cannot be opened. RoCE devices are not listed, although they
 * have a QP1 on hardware.
 */
#include <endian.h>
#include <errno.h>
#include <infiniband/umad.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/export.h"
#include "site.h"
#include "wire/smp.h"

VC_EXPORT int umad_init(void)
{
	return 0;
}

VC_EXPORT int umad_done(void)
{
	return 0;
}

static void copy_text(char *to, size_t size, const char *from)
{
	size_t length = strnlen(from, size - 1);

	memcpy(to, from, length);
	to[length] = '\0';
}

/* -- one port ----------------------------------------------------------------------- */

/* Gb/s, as the kernel's files say it. The speeds above QDR are bits of their own. */
static unsigned int rate_of(const struct uapi_umad_port *from)
{
	uint8_t plain = from->active_speed < 16 ? (uint8_t)from->active_speed : 0;
	uint8_t extended = (uint8_t)(from->active_speed >> 4);
	uint8_t rate = smp_link_rate((uint8_t)from->active_width, plain, extended);

	return smp_rate_speed(rate) / 10;
}

static int fill_port(umad_port_t *port, const struct uapi_umad_port *from)
{
	uint16_t *pkeys = calloc(from->pkey_count ? from->pkey_count : 1, sizeof(*pkeys));

	if (!pkeys)
		return -ENOMEM;
	memset(port, 0, sizeof(*port));
	memcpy(pkeys, from->pkeys, from->pkey_count * sizeof(*pkeys));
	copy_text(port->ca_name, sizeof(port->ca_name), from->device);
	copy_text(port->link_layer, sizeof(port->link_layer), "InfiniBand");
	port->portnum = (int)from->port_num;
	port->base_lid = from->lid;
	port->lmc = from->lmc;
	port->sm_lid = from->sm_lid;
	port->sm_sl = from->sm_sl;
	port->state = from->state;
	port->phys_state = from->phys_state;
	port->rate = rate_of(from);
	port->capmask = htobe32(from->cap_mask);
	memcpy(&port->gid_prefix, from->gid, 8);
	memcpy(&port->port_guid, from->gid + 8, 8);
	port->pkeys = pkeys;
	port->pkeys_size = from->pkey_count;
	return 0;
}

VC_EXPORT int umad_get_port(const char *ca_name, int portnum, umad_port_t *port)
{
	struct uapi_umad_port found;
	struct uapi_connection *c;
	int r;

	r = site_connect_and_find(&c, ca_name, portnum, &found);
	if (r == -EINVAL)
		r = -EIO;
	if (r < 0)
		return refuse(r, -r);
	r = fill_port(port, &found);
	uapi_connection_close(c);
	return r < 0 ? refuse(r, -r) : 0;
}

/*
 * Differs: the file is a FIFO of the site's, and is there from here on. The port is said
 * to have a subnet manager while somebody has it open, for reading.
 */
VC_EXPORT int umad_get_issm_path(const char *ca_name, int portnum, char path[], int max)
{
	struct uapi_umad_port found;
	struct uapi_umad_issm file;
	struct uapi_connection *c;
	int r;

	r = site_connect_and_find(&c, ca_name, portnum, &found);
	if (r < 0)
		return refuse(r, -r);
	r = site_issm(c, &found, &file);
	uapi_connection_close(c);
	if (!r && (int)strlen(file.path) >= max)
		r = -ENAMETOOLONG;
	if (r < 0)
		return refuse(r, -r);
	memcpy(path, file.path, strlen(file.path) + 1);
	return 0;
}

/* -- one device --------------------------------------------------------------------- */

static int fill_ports(struct uapi_connection *c, umad_ca_t *ca)
{
	for (int n = 1; n <= ca->numports; n++) {
		struct uapi_umad_port port;
		int r;

		r = site_find(c, ca->ca_name, n, &port);
		if (r < 0)
			return r;
		ca->ports[n] = calloc(1, sizeof(*ca->ports[n]));
		if (!ca->ports[n])
			return -ENOMEM;
		r = fill_port(ca->ports[n], &port);
		if (r < 0)
			return r;
	}
	return 0;
}

static int fill_ca(struct uapi_connection *c, umad_ca_t *ca,
		   const struct uapi_umad_port *from)
{
	int r;

	memset(ca, 0, sizeof(*ca));
	copy_text(ca->ca_name, sizeof(ca->ca_name), from->device);
	copy_text(ca->fw_ver, sizeof(ca->fw_ver), from->fw_ver);
	snprintf(ca->hw_ver, sizeof(ca->hw_ver), "%x", from->hw_ver);
	ca->node_type = from->node_type;
	ca->numports = from->phys_port_cnt < UMAD_CA_MAX_PORTS ? (int)from->phys_port_cnt
							       : UMAD_CA_MAX_PORTS - 1;
	ca->node_guid = from->node_guid;
	ca->system_guid = from->sys_image_guid;
	r = fill_ports(c, ca);
	if (r < 0)
		umad_release_ca(ca);
	return r;
}

VC_EXPORT int umad_get_ca(const char *ca_name, umad_ca_t *ca)
{
	struct uapi_umad_port found;
	struct uapi_connection *c;
	int r;

	r = site_connect_and_find(&c, ca_name, 0, &found);
	if (r < 0)
		return refuse(r, -r);
	r = fill_ca(c, ca, &found);
	uapi_connection_close(c);
	return r < 0 ? refuse(r, -r) : 0;
}

/* By port number; an adapter has no port 0. */
VC_EXPORT int umad_get_ca_portguids(const char *ca_name, __be64 *portguids, int max)
{
	umad_ca_t ca;
	int n, r;

	r = umad_get_ca(ca_name, &ca);
	if (r < 0)
		return r;
	n = ca.numports + 1;
	if (!portguids)
		r = 0;
	else if (max < n)
		r = refuse(-ENOMEM, ENOMEM);
	else
		for (r = 0; r < n; r++)
			portguids[r] = r ? ca.ports[r]->port_guid : 0;
	umad_release_ca(&ca);
	return r;
}

VC_EXPORT int umad_release_port(umad_port_t *port)
{
	if (!port)
		return -ENODEV;
	free(port->pkeys);
	port->pkeys = NULL;
	port->pkeys_size = 0;
	return 0;
}

VC_EXPORT int umad_release_ca(umad_ca_t *ca)
{
	size_t i;

	if (!ca)
		return -ENODEV;
	for (i = 0; i < UMAD_CA_MAX_PORTS; i++) {
		if (!ca->ports[i])
			continue;
		umad_release_port(ca->ports[i]);
		free(ca->ports[i]);
		ca->ports[i] = NULL;
	}
	return 0;
}

/* -- lists -------------------------------------------------------------------------- */

/* `each` returns false to end it. 0 or a negative errno; nobody to ask: no device. */
static int for_each_device(bool (*each)(void *arg, const char *name), void *arg)
{
	struct uapi_umad_port port;
	struct uapi_connection *c;
	int r;

	r = site_connect(&c);
	if (r < 0)
		return r == -ENODEV ? 0 : r;
	for (uint32_t i = 0; !(r = site_query(c, i, 1, &port)); i++)
		if (!each(arg, port.device))
			break;
	uapi_connection_close(c);
	return r == -ENODEV ? 0 : r;
}

struct names {
	char (*to)[UMAD_CA_NAME_LEN];
	int count, max;
};

static bool add_name(void *arg, const char *name)
{
	struct names *names = arg;

	if (names->count >= names->max)
		return false;
	copy_text(names->to[names->count++], UMAD_CA_NAME_LEN, name);
	return true;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

VC_EXPORT int umad_get_cas_names(char cas[][UMAD_CA_NAME_LEN], int max)
{
	struct names names = { cas, 0, max };

	(void)for_each_device(add_name, &names);
	qsort(cas, (size_t)names.count, UMAD_CA_NAME_LEN, compare_names);
	return names.count;
}

struct node_list {
	struct umad_device_node *first, **end;
	bool failed;
};

static bool add_node(void *arg, const char *name)
{
	struct node_list *list = arg;
	size_t size = strlen(name) + 1;
	struct umad_device_node *node = malloc(sizeof(*node) + size);

	if (!node) {
		list->failed = true;
		return false;
	}
	node->next = NULL;
	node->ca_name = memcpy(node + 1, name, size);
	*list->end = node;
	list->end = &node->next;
	return true;
}

/* ibstat takes NULL with errno for a failure, and with 0 for an empty list. */
VC_EXPORT struct umad_device_node *umad_get_ca_device_list(void)
{
	struct node_list list = { .end = &list.first };
	int r = for_each_device(add_node, &list);

	if (list.failed)
		r = -ENOMEM;
	if (r < 0) {
		umad_free_ca_device_list(list.first);
		list.first = NULL;
	}
	errno = -r;
	return list.first;
}

/* A node and its name are one allocation. */
VC_EXPORT void umad_free_ca_device_list(struct umad_device_node *head)
{
	struct umad_device_node *next;

	for (; head; head = next) {
		next = head->next;
		free(head);
	}
}

/* By name. `size` is the caller's count of the nodes, and needs no counting here. */
VC_EXPORT int umad_sort_ca_device_list(struct umad_device_node **head, size_t size)
{
	struct umad_device_node *sorted = NULL, *node, *next, **at;

	if (!head)
		return EINVAL;
	for (node = *head; node; node = next) {
		next = node->next;
		at = &sorted;
		while (*at && strcmp((*at)->ca_name, node->ca_name) <= 0)
			at = &(*at)->next;
		node->next = *at;
		*at = node;
	}
	*head = sorted;
	return 0;
}
