// SPDX-License-Identifier: BSD-2-Clause
#include "site.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PORT_ACTIVE   4
#define PHYS_DISABLED 3
#define PHYS_LINK_UP  5
#define LINK_IB       1

int site_connect(struct uapi_connection **ret)
{
	struct uapi_introduction who = {
		.path = secure_getenv("VERBCAST_SOCKET"),
		.flags = UAPI_HELLO_TOOL,
		.node = secure_getenv("VERBCAST_NODE"),
	};
	struct uapi_welcome welcome;
	int r, cancel;

	if (!who.path || !who.path[0])
		return -ENODEV;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	r = uapi_connection_open(&who, ret, &welcome);
	pthread_setcancelstate(cancel, &cancel);
	return r == -ENOMEM || r == -EMFILE || !r ? r : -ENODEV;
}

int site_call(struct uapi_connection *c, struct uapi_call *call)
{
	int r, cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	r = uapi_connection_call(c, call);
	pthread_setcancelstate(cancel, &cancel);
	return r;
}

int site_query(struct uapi_connection *c, uint32_t index, uint32_t port_num,
	       struct uapi_umad_port *ret)
{
	struct uapi_umad_query req = { .index = index, .port_num = port_num };
	struct uapi_call call = {
		.op = UAPI_UMAD_QUERY,
		.req = &req,
		.reqlen = sizeof(req),
		.rep = ret,
		.replen = sizeof(*ret),
	};
	int r = site_call(c, &call);

	if (r < 0)
		return r;
	if (ret->pkey_count > UAPI_UMAD_PKEYS_MAX)
		return -EPROTO;
	ret->device[sizeof(ret->device) - 1] = '\0';
	ret->fw_ver[sizeof(ret->fw_ver) - 1] = '\0';
	return 0;
}

int site_issm(struct uapi_connection *c, const struct uapi_umad_port *port,
	      struct uapi_umad_issm *ret)
{
	struct uapi_umad_open req = { .id = port->id, .port_num = port->port_num };
	struct uapi_call call = {
		.op = UAPI_UMAD_ISSM,
		.req = &req,
		.reqlen = sizeof(req),
		.rep = ret,
		.replen = sizeof(*ret),
	};
	int r = site_call(c, &call);

	if (r < 0)
		return r;
	ret->path[sizeof(ret->path) - 1] = '\0';
	return 0;
}

/* How much a program that does not care would like the port; 0: not at all. */
static int usability(const struct uapi_umad_port *port)
{
	if (port->state == PORT_ACTIVE && port->link_layer == LINK_IB)
		return 3;
	if (port->phys_state == PHYS_LINK_UP)
		return 2;
	return port->phys_state != PHYS_DISABLED;
}

int site_find(struct uapi_connection *c, const char *device, int port_num,
	      struct uapi_umad_port *ret)
{
	struct uapi_umad_port port;
	int r, best = -1, error = -ENODEV;

	if (port_num < 0)
		return -EINVAL;
	for (uint32_t i = 0; !(r = site_query(c, i, 1, &port)); i++) {
		uint32_t first = port_num ? (uint32_t)port_num : 1;
		uint32_t last = port_num ? (uint32_t)port_num : port.phys_port_cnt;

		if (device && strcmp(device, port.device) != 0)
			continue;
		for (uint32_t n = first; n <= last; n++) {
			r = site_query(c, i, n, &port);
			if (r < 0)
				error = r;
			else if (port_num && device) {
				*ret = port;
				return 0;
			} else if (usability(&port) > best) {
				best = usability(&port);
				*ret = port;
			}
		}
	}
	return best >= 0 ? 0 : error;
}

int site_connect_and_find(struct uapi_connection **ret, const char *device, int port_num,
			  struct uapi_umad_port *ret_port)
{
	struct uapi_connection *c;
	int r;

	r = site_connect(&c);
	if (r < 0)
		return r;
	r = site_find(c, device, port_num, ret_port);
	if (r < 0) {
		uapi_connection_close(c);
		return r;
	}
	*ret = c;
	return 0;
}
