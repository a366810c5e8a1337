/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A virtual host that is on no network but the site's fabric: it has a loopback interface
 * and no routes. Its ports are Linux's defaults, and none of them is privileged, since
 * nobody else's are at stake.
 */
#include <errno.h>

#include "core/addr/host.h"
#include "core/addr/sockaddr.h"

#define LOOPBACK_IFINDEX 1
#define LOOPBACK_MTU     65536

static int isolated_find_owner(void *arg, const struct sockaddr *addr,
			       uint32_t *ret_ifindex)
{
	if (!addr_is_loopback(addr))
		return -EADDRNOTAVAIL;
	*ret_ifindex = LOOPBACK_IFINDEX;
	return 0;
}

static int isolated_find_route(void *arg, const struct sockaddr *dst,
			       struct addr_route *ret)
{
	return -ENETUNREACH;
}

static int isolated_link_mtu(void *arg, uint32_t ifindex, uint32_t *ret_mtu)
{
	if (ifindex != LOOPBACK_IFINDEX)
		return -ENODEV;
	*ret_mtu = LOOPBACK_MTU;
	return 0;
}

static void isolated_ports(void *arg, struct addr_ports *ret)
{
	*ret = (struct addr_ports){ .first = 32768, .last = 60999 };
}

const struct addr_host_ops addr_isolated_ops = {
	.find_owner = isolated_find_owner,
	.find_route = isolated_find_route,
	.link_mtu = isolated_link_mtu,
	.ports = isolated_ports,
};
