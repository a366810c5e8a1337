/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel verbs API, as the core implements it: the calls a consumer makes (ib_*),
 * the objects it holds, and the table of operations a driver fills (ib_device_ops).
 *
 * The core knows no shared memory and no software device: what a call does on the device
 * it asks of the driver by ops, as Linux does. Everything runs on one loop, single
 * threaded; no call blocks, callbacks come from the loop (docs/locking.md).
 *
 * Names, signatures and errno follow spec/kernel 1, 2 and 5: negative errno, pointers
 * with ERR_PTR. `lid` arguments are in host byte order.
 */
#ifndef CORE_VERBS_IB_VERBS_H
#define CORE_VERBS_IB_VERBS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "wire/gid.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

/* Pointer or negative errno, as in the kernel API. */
static inline void *ERR_PTR(long error)
{
	return (void *)error;
}
static inline long PTR_ERR(const void *ptr)
{
	return (long)ptr;
}
static inline bool IS_ERR(const void *ptr)
{
	return (unsigned long)ptr >= (unsigned long)-4095;
}

struct ib_device;
struct ib_node;

/* -- what rdma_cm and the server ask of devices ------------------------------------- */

enum ib_port_state {
	IB_PORT_NOP = 0,
	IB_PORT_DOWN = 1,
	IB_PORT_INIT = 2,
	IB_PORT_ARMED = 3,
	IB_PORT_ACTIVE = 4,
	IB_PORT_ACTIVE_DEFER = 5,
};

enum rdma_link_layer {
	IB_LINK_LAYER_UNSPECIFIED = 0,
	IB_LINK_LAYER_INFINIBAND = 1,
	IB_LINK_LAYER_ETHERNET = 2,
};

enum ib_gid_type {
	IB_GID_TYPE_IB = 0,
	IB_GID_TYPE_ROCE = 1,
	IB_GID_TYPE_ROCE_UDP_ENCAP = 2,
};

struct ib_port_attr {
	enum ib_port_state state;
	int max_mtu, active_mtu; /* MTU enum: 1 = 256 .. 5 = 4096 */
	int gid_tbl_len;
	u32 port_cap_flags, max_msg_sz, bad_pkey_cntr, qkey_viol_cntr;
	u16 pkey_tbl_len;
	u16 lid, sm_lid;
	u8 lmc, max_vl_num, sm_sl, subnet_timeout, init_type_reply;
	u8 active_width, phys_state;
	u16 active_speed;
};

struct ib_gid_attr {
	union ib_gid gid;
	enum ib_gid_type gid_type;
	u16 index;
	u32 port_num;
	u32 ifindex; /* network interface behind the GID, 0: none */
};

/* Devices of a node, in the order of the device list. A node is a virtual host of the
 * site; the core keeps everything per node and has no global per host. */
struct ib_node *ib_node_create(const char *name, u32 index);
void ib_node_destroy(struct ib_node *node);
const char *ib_node_name(const struct ib_node *node);
u32 ib_node_index(const struct ib_node *node);
/* The n-th device of a node, null past the end. */
struct ib_device *ib_node_device(struct ib_node *node, u32 n);
/* Its position in that list, as ib_node_device counts. */
u32 ib_device_index(const struct ib_device *device);
const char *ib_device_name(const struct ib_device *device);
u32 rdma_start_port(const struct ib_device *device);
u32 rdma_end_port(const struct ib_device *device);
enum rdma_link_layer rdma_port_get_link_layer(struct ib_device *device, u32 port_num);
int ib_query_port(struct ib_device *device, u32 port_num, struct ib_port_attr *attr);
/* -EINVAL: no such port or index; -ENODATA: empty. */
int rdma_query_gid(struct ib_device *device, u32 port_num, int index, struct ib_gid_attr *attr);
/* The entry equal to `gid`, of `type`; -ENOENT. */
int rdma_find_gid_by_port(struct ib_device *device, const union ib_gid *gid, enum ib_gid_type type,
			  u32 port_num, struct ib_gid_attr *ret);
int ib_query_pkey(struct ib_device *device, u32 port_num, u16 index, u16 *ret_pkey);
/* Interface index behind a port (0: none), for routes and IGMP. */
u32 ib_device_ifindex(struct ib_device *device, u32 port_num);

#endif
