// SPDX-License-Identifier: BSD-2-Clause
/*
 * The devices with management: those of InfiniBand link layer (spec/userland 4.2, 4.5).
 *
 * RoCE has no subnet management, so a site without a fabric has none of these, and the
 * lists are empty. Names that are asked for do not exist: -ENODEV.
 *
 * Differs: where there is no RDMA in the kernel, the stock umad_get_cas_names reports one
 * device "mthca0", which then cannot be opened.
 */
#include <errno.h>
#include <infiniband/umad.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "shim/export.h"

VC_EXPORT int umad_init(void)
{
	return 0;
}

VC_EXPORT int umad_done(void)
{
	return 0;
}

VC_EXPORT int umad_get_cas_names(char cas[][UMAD_CA_NAME_LEN], int max)
{
	return 0;
}

static int no_device(void)
{
	errno = ENODEV;
	return -ENODEV;
}

VC_EXPORT int umad_get_ca_portguids(const char *ca_name, __be64 *portguids, int max)
{
	return no_device();
}

VC_EXPORT int umad_get_ca(const char *ca_name, umad_ca_t *ca)
{
	return no_device();
}

VC_EXPORT int umad_get_port(const char *ca_name, int portnum, umad_port_t *port)
{
	return no_device();
}

VC_EXPORT int umad_get_issm_path(const char *ca_name, int portnum, char path[], int max)
{
	return no_device();
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

/* ibstat takes NULL with errno for a failure, and with 0 for an empty list. */
VC_EXPORT struct umad_device_node *umad_get_ca_device_list(void)
{
	errno = 0;
	return NULL;
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
