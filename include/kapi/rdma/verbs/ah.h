/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses and address handles; rates. */
#ifndef KAPI_RDMA_VERBS_AH_H
#define KAPI_RDMA_VERBS_AH_H

#include <linux/bug.h>
#include <linux/string.h>
#include <rdma/verbs/gid.h>

enum ib_ah_flags {
	IB_AH_GRH = 1
};

/* Spec/kernel 5.4. */
enum ib_rate {
	IB_RATE_PORT_CURRENT = 0,
	IB_RATE_2_5_GBPS = 2,
	IB_RATE_5_GBPS = 5,
	IB_RATE_10_GBPS = 3,
	IB_RATE_20_GBPS = 6,
	IB_RATE_30_GBPS = 4,
	IB_RATE_40_GBPS = 7,
	IB_RATE_60_GBPS = 8,
	IB_RATE_80_GBPS = 9,
	IB_RATE_120_GBPS = 10,
	IB_RATE_14_GBPS = 11,
	IB_RATE_56_GBPS = 12,
	IB_RATE_112_GBPS = 13,
	IB_RATE_168_GBPS = 14,
	IB_RATE_25_GBPS = 15,
	IB_RATE_100_GBPS = 16,
	IB_RATE_200_GBPS = 17,
	IB_RATE_300_GBPS = 18,
	IB_RATE_28_GBPS = 19,
	IB_RATE_50_GBPS = 20,
	IB_RATE_400_GBPS = 21,
	IB_RATE_600_GBPS = 22,
	IB_RATE_800_GBPS = 23,
	IB_RATE_1600_GBPS = 25,
};

/* Multiples of 2.5 Gb/s; -1: unknown. */
int ib_rate_to_mult(enum ib_rate rate) KAPI(ib_rate_to_mult);
/* Mb/s; -1: unknown. */
int ib_rate_to_mbps(enum ib_rate rate) KAPI(ib_rate_to_mbps);
/* The inverse of ib_rate_to_mult; IB_RATE_PORT_CURRENT: unknown. */
enum ib_rate mult_to_ib_rate(int mult) KAPI(mult_to_ib_rate);

struct ib_global_route {
	const struct ib_gid_attr *sgid_attr;
	union ib_gid dgid;
	u32 flow_label;
	u8 sgid_index;
	u8 hop_limit;
	u8 traffic_class;
};

enum rdma_ah_attr_type {
	RDMA_AH_ATTR_TYPE_UNDEFINED,
	RDMA_AH_ATTR_TYPE_IB,
	RDMA_AH_ATTR_TYPE_ROCE,
	RDMA_AH_ATTR_TYPE_OPA,
};

struct ib_ah_attr {
	u16 dlid;
	u8 src_path_bits;
};

struct roce_ah_attr {
	u8 dmac[ETH_ALEN];
};

struct opa_ah_attr {
	u32 dlid;
	u8 src_path_bits;
	bool make_grd;
};

struct rdma_ah_attr {
	struct ib_global_route grh;
	u8 sl;
	u8 static_rate;
	u32 port_num;
	u8 ah_flags;
	enum rdma_ah_attr_type type;
	union {
		struct ib_ah_attr ib;
		struct roce_ah_attr roce;
		struct opa_ah_attr opa;
	};
};

enum rdma_create_ah_flags {
	RDMA_CREATE_AH_SLEEPABLE = 1 << 0,
};

enum rdma_destroy_ah_flags {
	RDMA_DESTROY_AH_SLEEPABLE = 1 << 0,
};

struct ib_pd;
struct ib_udata;
struct ib_wc;

struct ib_ah {
	struct ib_device *device;
	struct ib_pd *pd;
	const struct ib_gid_attr *sgid_attr;
	enum rdma_ah_attr_type type;
};

static inline u8 *rdma_ah_retrieve_dmac(struct rdma_ah_attr *attr)
{
	return attr->type == RDMA_AH_ATTR_TYPE_ROCE ? attr->roce.dmac : NULL;
}

static inline void rdma_ah_set_dlid(struct rdma_ah_attr *attr, u32 dlid)
{
	if (attr->type == RDMA_AH_ATTR_TYPE_IB)
		attr->ib.dlid = (u16)dlid;
	else if (attr->type == RDMA_AH_ATTR_TYPE_OPA)
		attr->opa.dlid = dlid;
}

static inline u32 rdma_ah_get_dlid(const struct rdma_ah_attr *attr)
{
	if (attr->type == RDMA_AH_ATTR_TYPE_IB)
		return attr->ib.dlid;
	return attr->type == RDMA_AH_ATTR_TYPE_OPA ? attr->opa.dlid : 0;
}

static inline void rdma_ah_set_sl(struct rdma_ah_attr *attr, u8 sl)
{
	attr->sl = sl;
}

static inline u8 rdma_ah_get_sl(const struct rdma_ah_attr *attr)
{
	return attr->sl;
}

static inline void rdma_ah_set_path_bits(struct rdma_ah_attr *attr, u8 bits)
{
	if (attr->type == RDMA_AH_ATTR_TYPE_IB)
		attr->ib.src_path_bits = bits;
	else if (attr->type == RDMA_AH_ATTR_TYPE_OPA)
		attr->opa.src_path_bits = bits;
}

static inline u8 rdma_ah_get_path_bits(const struct rdma_ah_attr *attr)
{
	if (attr->type == RDMA_AH_ATTR_TYPE_IB)
		return attr->ib.src_path_bits;
	return attr->type == RDMA_AH_ATTR_TYPE_OPA ? attr->opa.src_path_bits : 0;
}

static inline void rdma_ah_set_port_num(struct rdma_ah_attr *attr, u32 port_num)
{
	attr->port_num = port_num;
}

static inline u32 rdma_ah_get_port_num(const struct rdma_ah_attr *attr)
{
	return attr->port_num;
}

static inline void rdma_ah_set_static_rate(struct rdma_ah_attr *attr, u8 rate)
{
	attr->static_rate = rate;
}

static inline u8 rdma_ah_get_static_rate(const struct rdma_ah_attr *attr)
{
	return attr->static_rate;
}

static inline void rdma_ah_set_ah_flags(struct rdma_ah_attr *attr, enum ib_ah_flags flags)
{
	attr->ah_flags = flags;
}

static inline enum ib_ah_flags rdma_ah_get_ah_flags(const struct rdma_ah_attr *attr)
{
	return (enum ib_ah_flags)attr->ah_flags;
}

static inline const struct ib_global_route *
rdma_ah_read_grh(const struct rdma_ah_attr *attr)
{
	return &attr->grh;
}

static inline struct ib_global_route *rdma_ah_retrieve_grh(struct rdma_ah_attr *attr)
{
	return &attr->grh;
}

static inline void rdma_ah_set_grh(struct rdma_ah_attr *attr, union ib_gid *dgid,
				   u32 flow_label, u8 sgid_index, u8 hop_limit,
				   u8 traffic_class)
{
	attr->ah_flags = IB_AH_GRH;
	if (dgid)
		attr->grh.dgid = *dgid;
	attr->grh.flow_label = flow_label;
	attr->grh.sgid_index = sgid_index;
	attr->grh.hop_limit = hop_limit;
	attr->grh.traffic_class = traffic_class;
	attr->grh.sgid_attr = NULL;
}

/* Lets go of the source GID that the attributes hold. */
void rdma_destroy_ah_attr(struct rdma_ah_attr *attr) KAPI(rdma_destroy_ah_attr);
void rdma_copy_ah_attr(struct rdma_ah_attr *dest, const struct rdma_ah_attr *src)
	KAPI(rdma_copy_ah_attr);
/* The reference to `sgid_attr` goes to `attr`. */
void rdma_move_grh_sgid_attr(struct rdma_ah_attr *attr, union ib_gid *dgid,
			     u32 flow_label, u8 hop_limit, u8 traffic_class,
			     const struct ib_gid_attr *sgid_attr)
	KAPI(rdma_move_grh_sgid_attr);

/* By the port's protocol. */
enum rdma_ah_attr_type rdma_ah_find_type(struct ib_device *dev, u32 port_num)
	KAPI(rdma_ah_find_type);

/* Spec/kernel 5.1: the port valid, a GRH on RoCE, the GID of the table: -EINVAL, or the
 * driver's own. The attributes come back as they were. */
struct ib_ah *rdma_create_ah(struct ib_pd *pd, struct rdma_ah_attr *ah_attr, u32 flags)
	KAPI(rdma_create_ah);
/* As rdma_create_ah, and the destination's MAC address of a multicast GID is filled in. */
struct ib_ah *rdma_create_user_ah(struct ib_pd *pd, struct rdma_ah_attr *ah_attr,
				  struct ib_udata *udata) KAPI(rdma_create_user_ah);
int rdma_modify_ah(struct ib_ah *ah, struct rdma_ah_attr *ah_attr) KAPI(rdma_modify_ah);
int rdma_query_ah(struct ib_ah *ah, struct rdma_ah_attr *ah_attr) KAPI(rdma_query_ah);
int rdma_destroy_ah_user(struct ib_ah *ah, u32 flags, struct ib_udata *udata)
	KAPI(rdma_destroy_ah_user);

static inline void rdma_destroy_ah(struct ib_ah *ah, u32 flags)
{
	int ret = rdma_destroy_ah_user(ah, flags, NULL);

	WARN_ONCE(ret, "destroying an address handle failed: %d\n", ret);
}

/* -EINVAL: another network type, or a null pointer. */
int ib_get_gids_from_rdma_hdr(const union rdma_network_hdr *hdr,
			      enum rdma_network_type net_type, union ib_gid *sgid,
			      union ib_gid *dgid) KAPI(ib_get_gids_from_rdma_hdr);
/* 4, 6, or 0: neither. */
int ib_get_rdma_header_version(const union rdma_network_hdr *hdr)
	KAPI(ib_get_rdma_header_version);
/*
 * How to answer whoever sent a datagram. -ENOENT where it came by multicast with a header:
 * its destination is in no GID table. Then the address is to be made by hand, with the
 * sender's GID as `dgid` and an entry of one's own.
 */
int ib_init_ah_attr_from_wc(struct ib_device *device, u32 port_num,
			    const struct ib_wc *wc, const struct ib_grh *grh,
			    struct rdma_ah_attr *ah_attr) KAPI(ib_init_ah_attr_from_wc);
struct ib_ah *ib_create_ah_from_wc(struct ib_pd *pd, const struct ib_wc *wc,
				   const struct ib_grh *grh, u32 port_num)
	KAPI(ib_create_ah_from_wc);

/* Spec/kernel 4.3. */
static inline u16 rdma_flow_label_to_udp_sport(u32 fl)
{
	return ((fl & 0x3fff) ^ (fl >> 14 & 0x3f)) | 0xc000;
}

static inline u32 rdma_calc_flow_label(u32 lqpn, u32 rqpn)
{
	u64 v = (u64)lqpn * rqpn;

	v ^= v >> 20;
	v ^= v >> 40;
	return v & 0xfffff;
}

static inline u16 rdma_get_udp_sport(u32 fl, u32 lqpn, u32 rqpn)
{
	return rdma_flow_label_to_udp_sport(fl ? fl : rdma_calc_flow_label(lqpn, rqpn));
}

#endif
