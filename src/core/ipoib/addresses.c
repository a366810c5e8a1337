/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses: the networks that ports get theirs from, and what groups are on the wire.
 */
#include <arpa/inet.h>
#include <string.h>

#include "core/ipoib/ipoib.h"

#define NETWORK4      0xc6120000u /* 198.18.0.0/15, for benchmarks of devices */
#define NETWORK4_MASK 0xfffe0000u

/* fdc6:1200::/64 */
static const u8 network6[8] = { 0xfd, 0xc6, 0x12, 0x00 };

void ipoib_default_addresses(u32 n, struct ipoib_addresses *ret)
{
	u32 number = htonl(n);

	memset(ret, 0, sizeof(*ret));
	if (n == 0 || n > IPOIB_HOSTS_MAX)
		return;
	ret->ip4.sin_family = AF_INET;
	ret->ip4.sin_addr.s_addr = htonl(NETWORK4 + n);
	ret->ip6.sin6_family = AF_INET6;
	memcpy(ret->ip6.sin6_addr.s6_addr, network6, sizeof(network6));
	memcpy(ret->ip6.sin6_addr.s6_addr + 12, &number, sizeof(number));
}

static u32 host_of_ip6(const struct in6_addr *addr)
{
	static const u8 zeros[4];
	u32 number;

	if (memcmp(addr->s6_addr, network6, sizeof(network6)) != 0 ||
	    memcmp(addr->s6_addr + 8, zeros, sizeof(zeros)) != 0)
		return 0;
	memcpy(&number, addr->s6_addr + 12, sizeof(number));
	return ntohl(number);
}

u32 ipoib_default_host(const struct sockaddr *addr)
{
	u32 n = 0;

	if (addr->sa_family == AF_INET) {
		u32 ip = ntohl(((const struct sockaddr_in *)addr)->sin_addr.s_addr);

		n = (ip & NETWORK4_MASK) == NETWORK4 ? ip - NETWORK4 : 0;
	} else if (addr->sa_family == AF_INET6) {
		n = host_of_ip6(&((const struct sockaddr_in6 *)addr)->sin6_addr);
	}
	return n > IPOIB_HOSTS_MAX ? 0 : n;
}

/* Reserved byte, QPN 0xffffff, and ff12:401b:PKEY::ffff:ffff. */
void ipoib_broadcast(u16 pkey, u8 broadcast[IPOIB_HWADDR_BYTES])
{
	static const u8 form[IPOIB_HWADDR_BYTES] = {
		0x00, 0xff, 0xff, 0xff, 0xff, 0x12, 0x40, 0x1b, 0,    0,
		0,    0,    0,    0,    0,    0,    0xff, 0xff, 0xff, 0xff,
	};

	memcpy(broadcast, form, sizeof(form));
	pkey |= IB_PKEY_FULL_MEMBER;
	broadcast[8] = (u8)(pkey >> 8);
	broadcast[9] = (u8)pkey;
}

static void map_ip6(const struct in6_addr *addr, u8 mgid[16])
{
	mgid[2] = 0x60;
	memcpy(mgid + 6, addr->s6_addr + 6, 10);
}

static void map_ip4(const struct in_addr *addr, u8 mgid[16])
{
	u32 group = htonl(ntohl(addr->s_addr) & 0x0fffffffu);

	mgid[2] = 0x40;
	memcpy(mgid + 12, &group, sizeof(group));
}

void ipoib_map_group(const u8 broadcast[IPOIB_HWADDR_BYTES], const struct sockaddr *addr,
		     u8 mgid[16])
{
	memset(mgid, 0, 16);
	mgid[0] = 0xff;
	mgid[1] = 0x10 | (broadcast[5] & 0xf);
	mgid[3] = 0x1b;
	mgid[4] = broadcast[8];
	mgid[5] = broadcast[9];
	if (addr->sa_family == AF_INET6)
		map_ip6(&((const struct sockaddr_in6 *)addr)->sin6_addr, mgid);
	else
		map_ip4(&((const struct sockaddr_in *)addr)->sin_addr, mgid);
}
