/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Between this library and verbcastd. The library is one of its own and may be loaded
 * without libibverbs, so it is no process of the site but a tool: it asks what ports are
 * like on a connection that lasts as long as the question, and each open port has a
 * connection of its own.
 *
 * Environment: VERBCAST_SOCKET and VERBCAST_NODE, as in the other libraries.
 */
#ifndef SHIM_UMAD_SITE_H
#define SHIM_UMAD_SITE_H

#include <errno.h>

#include "uapi/client/client.h"

/* 0 or a negative errno; -ENODEV: there is no verbcastd to talk to. */
int site_connect(struct uapi_connection **ret);
/* A round trip in which the calling thread cannot be cancelled: it would leave the
 * connection out of step. */
int site_call(struct uapi_connection *c, struct uapi_call *call);
/* Port `port_num` of the index-th device; -ENODEV past the end, -EINVAL: no such port. */
int site_query(struct uapi_connection *c, uint32_t index, uint32_t port_num,
	       struct uapi_umad_port *ret);
/* The file of the port that says that a subnet manager is behind it. */
int site_issm(struct uapi_connection *c, const struct uapi_umad_port *port,
	      struct uapi_umad_issm *ret);
/* By name (null: any device) and number (0: any port); of several the most usable one
 * (spec/userland 4.2). -ENODEV: no such device; -EINVAL: no such port of it. */
int site_find(struct uapi_connection *c, const char *device, int port_num,
	      struct uapi_umad_port *ret);
/* Connects, and finds. */
int site_connect_and_find(struct uapi_connection **ret, const char *device, int port_num,
			  struct uapi_umad_port *ret_port);

/* How calls fail: `why` in errno, `r` as the return value. */
static inline int refuse(int r, int why)
{
	errno = why;
	return r;
}

#endif
