/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports, read from the site's tables; no round trip. */
#ifndef SHIM_VERBS_PORT_H
#define SHIM_VERBS_PORT_H

#include "context.h"

/* The port in the tables; NULL: no such port, or the tables are not mapped (any more). */
const struct shm_port *port_find(const struct ibv_context *context, uint32_t port_num);

/* A copy of one entry that was whole at some moment. False: empty, or past the end. */
bool port_gid(const struct shm_port *port, uint32_t index, struct shm_gid_entry *ret);

/* The extended slot; fills as much as `length` bytes of the caller's struct. */
int port_query(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
	       size_t length);

/* Private to rdma-core, but ibv_devinfo and pyverbs call it (spec/userland 1.5): the type
 * as sysfs knows it, where InfiniBand and RoCE v1 are one. */
int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
		       unsigned int *type);

#endif
