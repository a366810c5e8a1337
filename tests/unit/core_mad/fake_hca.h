/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An adapter with management queue pairs and no fabric: it keeps what is sent from its
 * ports, for the test to look at and to answer. Ports have the state, LID, SM and P_Keys
 * that the test gives them.
 */
#ifndef CORE_MAD_FAKE_HCA_H
#define CORE_MAD_FAKE_HCA_H

#include <stdlib.h>
#include <string.h>

#include "core/verbs/ib_verbs.h"
#include "wire/mad.h"

#define FAKE_HCA_PORTS 2
#define FAKE_HCA_PKEYS 4

struct fake_mad {
	u32 port_num;
	struct ib_packet packet; /* its payload is `bytes` */
	u8 bytes[MAD_BYTES];
};

struct fake_hca {
	struct ib_device ib;
	enum rdma_link_layer link_layer[FAKE_HCA_PORTS + 1];
	struct ib_port_attr port; /* of all ports */
	u16 pkeys[FAKE_HCA_PKEYS];
	int refuse; /* what post_mad answers, if not 0 */
	/* What was sent and not taken yet: sent[taken .. count). */
	struct fake_mad *sent;
	size_t taken, count, room;
};

static inline struct fake_hca *fake_hca_of(struct ib_device *ib)
{
	return container_of(ib, struct fake_hca, ib);
}

static inline int fake_hca_query_port(struct ib_device *ib, u32 port_num,
				      struct ib_port_attr *attr)
{
	*attr = fake_hca_of(ib)->port;
	return 0;
}

static inline enum rdma_link_layer fake_hca_link_layer(struct ib_device *ib, u32 port_num)
{
	return fake_hca_of(ib)->link_layer[port_num];
}

/* GID i of port p is fe80::p:i; on Ethernet RoCE v2, with interface 7 from place 1 on. */
static inline union ib_gid fake_hca_gid(u32 port_num, int index)
{
	return (union ib_gid){
		.raw = { 0xfe, 0x80, [14] = (u8)port_num, [15] = (u8)(index + 1) }
	};
}

static inline int fake_hca_query_gid(struct ib_device *ib, u32 port_num, int index,
				     struct ib_gid_attr *attr)
{
	bool ethernet = fake_hca_of(ib)->link_layer[port_num] == IB_LINK_LAYER_ETHERNET;

	if (index >= fake_hca_of(ib)->port.gid_tbl_len)
		return -EINVAL;
	attr->gid = fake_hca_gid(port_num, index);
	attr->gid_type = ethernet ? IB_GID_TYPE_ROCE_UDP_ENCAP : IB_GID_TYPE_IB;
	attr->index = (u16)index;
	attr->port_num = port_num;
	attr->ifindex = ethernet && index ? 7 : 0;
	return 0;
}

static inline int fake_hca_query_pkey(struct ib_device *ib, u32 port_num, u16 index,
				      u16 *pkey)
{
	if (index >= FAKE_HCA_PKEYS)
		return -EINVAL;
	*pkey = fake_hca_of(ib)->pkeys[index];
	return 0;
}

static inline int fake_hca_post_mad(struct ib_device *ib, u32 port_num,
				    const struct ib_packet *packet)
{
	struct fake_hca *hca = fake_hca_of(ib);
	struct fake_mad *mad;

	if (hca->refuse)
		return hca->refuse;
	if (hca->taken == hca->count)
		hca->taken = hca->count = 0;
	if (hca->count == hca->room) {
		hca->room = hca->room ? hca->room * 2 : 16;
		hca->sent = realloc(hca->sent, hca->room * sizeof(*hca->sent));
	}
	mad = &hca->sent[hca->count++];
	mad->port_num = port_num;
	mad->packet = *packet;
	memcpy(mad->bytes, packet->payload, MAD_BYTES);
	return 0;
}

/* The oldest of what was sent; null: nothing. It is there until the next call. */
static inline struct fake_mad *fake_hca_take(struct fake_hca *hca)
{
	struct fake_mad *mad;

	if (hca->taken == hca->count)
		return NULL;
	mad = &hca->sent[hca->taken++];
	mad->packet.payload = mad->bytes;
	return mad;
}

static inline size_t fake_hca_waiting(const struct fake_hca *hca)
{
	return hca->count - hca->taken;
}

/* Goes the way back, with `bytes` for a payload. */
static inline void fake_hca_answer(struct fake_hca *hca, u32 port_num,
				   const struct ib_packet *to, const u8 bytes[MAD_BYTES])
{
	struct ib_packet packet = *to;

	packet.slid = to->dlid;
	packet.dlid = hca->port.lid;
	packet.src_qp = to->dest_qp;
	packet.dest_qp = to->src_qp;
	packet.sgid = to->dgid;
	packet.dgid = to->sgid;
	packet.payload = bytes;
	ib_receive_mad(&hca->ib, port_num, &packet);
}

static inline void fake_hca_event(struct fake_hca *hca, u32 port_num,
				  enum ib_event_type type)
{
	struct ib_event event = { .device = &hca->ib, .event = type };

	event.element.port_num = port_num;
	ib_dispatch_event(&event);
}

static inline void fake_hca_init(struct fake_hca *hca, const char *name,
				 enum rdma_link_layer link_layer)
{
	memset(hca, 0, sizeof(*hca));
	strcpy(hca->ib.name, name);
	hca->ib.ops = (struct ib_device_ops){
		.query_port = fake_hca_query_port,
		.get_link_layer = fake_hca_link_layer,
		.query_gid = fake_hca_query_gid,
		.query_pkey = fake_hca_query_pkey,
		.post_mad = fake_hca_post_mad,
	};
	hca->ib.node_type = RDMA_NODE_IB_CA;
	hca->ib.phys_port_cnt = FAKE_HCA_PORTS;
	for (u32 i = 0; i <= FAKE_HCA_PORTS; i++)
		hca->link_layer[i] = link_layer;
	hca->pkeys[0] = 0xffff;
	hca->port = (struct ib_port_attr){
		.state = IB_PORT_ACTIVE,
		.gid_tbl_len = 3,
		.pkey_tbl_len = FAKE_HCA_PKEYS,
		.lid = 5,
		.sm_lid = 1,
		.sm_sl = 2,
	};
}

/* It must be unregistered. */
static inline void fake_hca_fini(struct fake_hca *hca)
{
	free(hca->sent);
	hca->sent = NULL;
}

#endif
