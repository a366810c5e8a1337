/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses of the network in GIDs, and MAC addresses of groups (spec/kernel 4.9). */
#ifndef KAPI_RDMA_IB_ADDR_H
#define KAPI_RDMA_IB_ADDR_H

#include <linux/in.h>
#include <linux/in6.h>
#include <rdma/ib_verbs.h>

static inline int rdma_is_multicast_gid(const union ib_gid *gid)
{
	return gid->raw[0] == 0xff;
}

static inline bool rdma_is_multicast_addr(struct in6_addr *addr)
{
	if (addr->s6_addr[0] == 0xff)
		return true;
	return IN6_IS_ADDR_V4MAPPED(addr) &&
	       IN_MULTICAST(ntohl(((__be32 *)addr->s6_addr)[3]));
}

static inline void rdma_get_mcast_mac(struct in6_addr *addr, u8 *mac)
{
	mac[0] = 0x33;
	mac[1] = 0x33;
	memcpy(mac + 2, &addr->s6_addr[12], 4);
}

static inline int rdma_ip2gid(struct sockaddr *addr, union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	if (addr->sa_family == AF_INET) {
		gid->raw[10] = gid->raw[11] = 0xff;
		memcpy(gid->raw + 12, &((struct sockaddr_in *)addr)->sin_addr, 4);
		return 0;
	}
	if (addr->sa_family != AF_INET6)
		return -EINVAL;
	memcpy(gid->raw, &((struct sockaddr_in6 *)addr)->sin6_addr, 16);
	return 0;
}

static inline void rdma_gid2ip(struct sockaddr *out, const union ib_gid *gid)
{
	if (IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)gid)) {
		struct sockaddr_in *in = (struct sockaddr_in *)out;

		memset(in, 0, sizeof(*in));
		in->sin_family = AF_INET;
		memcpy(&in->sin_addr, gid->raw + 12, 4);
	} else {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;

		memset(in6, 0, sizeof(*in6));
		in6->sin6_family = AF_INET6;
		memcpy(&in6->sin6_addr, gid->raw, 16);
	}
}

static inline int iboe_get_mtu(int mtu)
{
	mtu -= 40 + 8 + 12 + 4 + 28 + 4;
	return mtu >= 256 ? (int)ib_mtu_int_to_enum(mtu) : 0;
}

int rdma_addr_size(const struct sockaddr *addr) KAPI(rdma_addr_size);

#endif
