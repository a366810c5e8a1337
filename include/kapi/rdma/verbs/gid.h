/* SPDX-License-Identifier: BSD-2-Clause */
/* Global identifiers and the table entries that hold them. */
#ifndef KAPI_RDMA_VERBS_GID_H
#define KAPI_RDMA_VERBS_GID_H

#include <asm/byteorder.h>
#include <linux/netdevice.h>
#include <linux/types.h>
#include <verbcast/label.h>

union ib_gid {
	u8 raw[16];
	struct {
		__be64 subnet_prefix;
		__be64 interface_id;
	} global;
};

extern union ib_gid zgid __asm__("kapi_zgid") __attribute__((visibility("default")));

enum ib_gid_type {
	IB_GID_TYPE_IB = 0,
	IB_GID_TYPE_ROCE = 1,
	IB_GID_TYPE_ROCE_UDP_ENCAP = 2,
	IB_GID_TYPE_SIZE
};

#define ROCE_V2_UDP_DPORT 4791

struct ib_device;

/* An entry of a port's table. Whoever was given one holds a reference (rdma/ib_cache.h). */
struct ib_gid_attr {
	struct net_device *ndev;
	struct ib_device *device;
	union ib_gid gid;
	enum ib_gid_type gid_type;
	u16 index;
	u32 port_num;
};

enum rdma_network_type {
	RDMA_NETWORK_IB,
	RDMA_NETWORK_ROCE_V1,
	RDMA_NETWORK_IPV4,
	RDMA_NETWORK_IPV6
};

enum rdma_transport_type {
	RDMA_TRANSPORT_IB,
	RDMA_TRANSPORT_IWARP,
	RDMA_TRANSPORT_USNIC,
	RDMA_TRANSPORT_USNIC_UDP,
	RDMA_TRANSPORT_UNSPECIFIED,
};

enum rdma_node_type {
	RDMA_NODE_IB_CA = 1,
	RDMA_NODE_IB_SWITCH,
	RDMA_NODE_IB_ROUTER,
	RDMA_NODE_RNIC,
	RDMA_NODE_USNIC,
	RDMA_NODE_USNIC_UDP,
	RDMA_NODE_UNSPECIFIED,
};

enum rdma_link_layer {
	IB_LINK_LAYER_UNSPECIFIED,
	IB_LINK_LAYER_INFINIBAND,
	IB_LINK_LAYER_ETHERNET,
};

struct ib_grh {
	__be32 version_tclass_flow;
	__be16 paylen;
	u8 next_hdr;
	u8 hop_limit;
	union ib_gid sgid;
	union ib_gid dgid;
};

#include <netinet/ip.h>

/* The 40 bytes in front of a datagram, spec/kernel 4.6. */
union rdma_network_hdr {
	struct ib_grh ibgrh;
	struct {
		u8 reserved[20];
		struct iphdr roce4grh;
	};
};

#define IB_QPN_MASK             0xFFFFFF
#define IB_MULTICAST_QPN        0xffffff
#define IB_LID_PERMISSIVE       cpu_to_be16(0xFFFF)
#define IB_MULTICAST_LID_BASE   cpu_to_be16(0xC000)
#define IB_DEFAULT_GID_PREFIX   cpu_to_be64(0xfe80000000000000ULL)
#define IB_DEFAULT_PKEY_PARTIAL 0x7FFF
#define IB_DEFAULT_PKEY_FULL    0xFFFF

#endif
