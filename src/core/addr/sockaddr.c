/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <string.h>
#include <arpa/inet.h>

#include "core/addr/sockaddr.h"

static_assert(sizeof(struct addr_sockaddr_ib) == 48, "public layout");

static const struct sockaddr_in *v4(const struct sockaddr *addr)
{
	return (const struct sockaddr_in *)addr;
}

static const struct sockaddr_in6 *v6(const struct sockaddr *addr)
{
	return (const struct sockaddr_in6 *)addr;
}

static const struct addr_sockaddr_ib *ib(const struct sockaddr *addr)
{
	return (const struct addr_sockaddr_ib *)addr;
}

size_t addr_size(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	case AF_IB:
		return sizeof(struct addr_sockaddr_ib);
	default:
		return 0;
	}
}

bool addr_is_any(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET:
		return v4(addr)->sin_addr.s_addr == 0;
	case AF_INET6:
		return gid_is_zero(v6(addr)->sin6_addr.s6_addr);
	case AF_IB:
		return gid_is_zero(ib(addr)->addr);
	default:
		return false;
	}
}

bool addr_is_loopback(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET:
		return ntohl(v4(addr)->sin_addr.s_addr) >> 24 == 127;
	case AF_INET6:
		return IN6_IS_ADDR_LOOPBACK(&v6(addr)->sin6_addr);
	case AF_IB:
		return gid_equal(ib(addr)->addr, in6addr_loopback.s6_addr);
	default:
		return false;
	}
}

bool addr_is_multicast(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET:
		return ntohl(v4(addr)->sin_addr.s_addr) >> 28 == 0xe;
	case AF_INET6:
		return v6(addr)->sin6_addr.s6_addr[0] == 0xff;
	case AF_IB:
		return ib(addr)->addr[0] == 0xff;
	default:
		return false;
	}
}

bool addr_is_link_local(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6(addr)->sin6_addr);
}

bool addr_equal_host(const struct sockaddr *a, const struct sockaddr *b)
{
	uint8_t gid_a[16], gid_b[16];

	if (a->sa_family != b->sa_family)
		return false;
	addr_to_gid(a, gid_a);
	addr_to_gid(b, gid_b);
	if (!gid_equal(gid_a, gid_b))
		return false;
	return !addr_is_link_local(a) || v6(a)->sin6_scope_id == v6(b)->sin6_scope_id;
}

uint16_t addr_port(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET:
		return ntohs(v4(addr)->sin_port);
	case AF_INET6:
		return ntohs(v6(addr)->sin6_port);
	default:
		return 0;
	}
}

void addr_set_port(struct sockaddr *addr, uint16_t port)
{
	if (addr->sa_family == AF_INET)
		((struct sockaddr_in *)addr)->sin_port = htons(port);
	else if (addr->sa_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
}

void addr_to_gid(const struct sockaddr *addr, uint8_t gid[16])
{
	memset(gid, 0, 16);
	if (addr->sa_family == AF_INET)
		gid_from_ipv4(gid, v4(addr)->sin_addr.s_addr);
	else if (addr->sa_family == AF_INET6)
		memcpy(gid, v6(addr)->sin6_addr.s6_addr, 16);
	else if (addr->sa_family == AF_IB)
		memcpy(gid, ib(addr)->addr, 16);
}

void addr_from_gid(struct sockaddr_storage *addr, const uint8_t gid[16],
		   uint32_t scope_id)
{
	struct sockaddr_in *in = (struct sockaddr_in *)addr;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)addr;

	memset(addr, 0, sizeof(*addr));
	if (gid_is_v4_mapped(gid)) {
		in->sin_family = AF_INET;
		in->sin_addr.s_addr = gid_to_ipv4(gid);
		return;
	}
	in6->sin6_family = AF_INET6;
	memcpy(in6->sin6_addr.s6_addr, gid, 16);
	if (addr_is_link_local((struct sockaddr *)addr))
		in6->sin6_scope_id = scope_id;
}

void addr_set_any(struct sockaddr_storage *addr, sa_family_t family)
{
	memset(addr, 0, sizeof(*addr));
	addr->ss_family = family;
}
