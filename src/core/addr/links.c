/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading interfaces, addresses and the default route by libnl-route-3. A dump that the
 * kernel changed under us is asked for again.
 */
#include <errno.h>
#include <linux/if_addr.h>
#include <net/if.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/route.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/addr/links.h"
#include "wire/gid.h"

#define DUMPS_MAX 5 /* while the kernel changes what it tells */

#ifndef IFF_LOWER_UP
#define IFF_LOWER_UP 0x10000
#endif

/* -- what lies in a cache ------------------------------------------------------------ */

static bool is_link(struct nl_object *o)
{
	return rtnl_link_get_ifindex((struct rtnl_link *)o) > 0;
}

static void read_link(struct rtnl_link *from, struct addr_link *to)
{
	unsigned int flags = rtnl_link_get_flags(from);
	struct nl_addr *mac = rtnl_link_get_addr(from);
	const char *name = rtnl_link_get_name(from);

	to->ifindex = (uint32_t)rtnl_link_get_ifindex(from);
	snprintf(to->name, sizeof(to->name), "%s", name ? name : "");
	to->mtu = rtnl_link_get_mtu(from);
	to->loopback = flags & IFF_LOOPBACK;
	to->up = flags & IFF_UP;
	to->carrier = (flags & IFF_UP) && (flags & IFF_LOWER_UP);
	to->has_mac = !to->loopback && mac && nl_addr_get_len(mac) == sizeof(to->mac) &&
		      !nl_addr_iszero(mac);
	if (to->has_mac)
		memcpy(to->mac, nl_addr_get_binary_addr(mac), sizeof(to->mac));
}

/* Before duplicate detection is done, or where it failed, an address is not ours. */
static bool is_usable(struct rtnl_addr *addr)
{
	unsigned int flags = rtnl_addr_get_flags(addr);

	if (flags & IFA_F_DADFAILED)
		return false;
	return !(flags & IFA_F_TENTATIVE) || (flags & IFA_F_OPTIMISTIC);
}

static bool read_local(struct rtnl_addr *from, int family, struct addr_local *to)
{
	struct nl_addr *local = rtnl_addr_get_local(from);
	uint32_t ipv4;

	if (!local || nl_addr_get_family(local) != family || !is_usable(from))
		return false;
	to->ifindex = (uint32_t)rtnl_addr_get_ifindex(from);
	if (family == AF_INET && nl_addr_get_len(local) == sizeof(ipv4)) {
		memcpy(&ipv4, nl_addr_get_binary_addr(local), sizeof(ipv4));
		gid_from_ipv4(to->gid, ipv4);
		return true;
	}
	if (family != AF_INET6 || nl_addr_get_len(local) != sizeof(to->gid))
		return false;
	memcpy(to->gid, nl_addr_get_binary_addr(local), sizeof(to->gid));
	return true;
}

static int by_ifindex(const void *a, const void *b)
{
	const struct addr_link *x = a, *y = b;

	return x->ifindex < y->ifindex ? -1 : x->ifindex > y->ifindex;
}

static int take_links(struct nl_cache *cache, struct addr_links *to)
{
	struct nl_object *o;

	to->links = calloc((size_t)nl_cache_nitems(cache) + 1, sizeof(*to->links));
	if (!to->links)
		return -ENOMEM;
	for (o = nl_cache_get_first(cache); o; o = nl_cache_get_next(o))
		if (is_link(o))
			read_link((struct rtnl_link *)o, &to->links[to->link_count++]);
	qsort(to->links, to->link_count, sizeof(*to->links), by_ifindex);
	return 0;
}

static int take_locals(struct nl_cache *cache, struct addr_links *to)
{
	static const int families[] = { AF_INET, AF_INET6 };
	struct nl_object *o;

	to->locals = calloc((size_t)nl_cache_nitems(cache) + 1, sizeof(*to->locals));
	if (!to->locals)
		return -ENOMEM;
	for (int i = 0; i < 2; i++)
		for (o = nl_cache_get_first(cache); o; o = nl_cache_get_next(o))
			to->local_count += read_local((struct rtnl_addr *)o, families[i],
						      &to->locals[to->local_count]);
	return 0;
}

/* -- the default route --------------------------------------------------------------- */

struct best_route {
	uint32_t ifindex, metric;
};

static bool is_default(struct rtnl_route *route)
{
	struct nl_addr *dst = rtnl_route_get_dst(route);

	return rtnl_route_get_table(route) == RT_TABLE_MAIN &&
	       rtnl_route_get_type(route) == RTN_UNICAST &&
	       (!dst || nl_addr_get_prefixlen(dst) == 0) &&
	       rtnl_route_get_nnexthops(route) > 0;
}

static void consider(struct rtnl_route *route, struct best_route *best)
{
	uint32_t metric = rtnl_route_get_priority(route);
	struct rtnl_nexthop *hop;

	if (!is_default(route) || (best->ifindex && metric >= best->metric))
		return;
	hop = rtnl_route_nexthop_n(route, 0);
	best->ifindex = (uint32_t)rtnl_route_nh_get_ifindex(hop);
	best->metric = metric;
}

static int find_default(struct nl_sock *sock, int family, uint32_t *ret_ifindex)
{
	struct best_route best = { 0 };
	struct nl_cache *cache;
	struct nl_object *o;
	int r;

	r = rtnl_route_alloc_cache(sock, family, 0, &cache);
	if (r < 0)
		return r;
	for (o = nl_cache_get_first(cache); o; o = nl_cache_get_next(o))
		consider((struct rtnl_route *)o, &best);
	nl_cache_free(cache);
	*ret_ifindex = best.ifindex;
	return 0;
}

/* -- all of it ----------------------------------------------------------------------- */

static int with_cache(struct nl_cache *cache, struct addr_links *to,
		      int (*take)(struct nl_cache *cache, struct addr_links *to))
{
	int r = take(cache, to);

	nl_cache_free(cache);
	return r < 0 ? -NLE_NOMEM : 0;
}

/* 0 or an error of libnl. */
static int read_once(struct nl_sock *sock, struct addr_links *ret)
{
	struct nl_cache *cache;
	int r;

	memset(ret, 0, sizeof(*ret));
	r = rtnl_link_alloc_cache(sock, AF_UNSPEC, &cache);
	if (r >= 0)
		r = with_cache(cache, ret, take_links);
	if (r >= 0)
		r = rtnl_addr_alloc_cache(sock, &cache);
	if (r >= 0)
		r = with_cache(cache, ret, take_locals);
	if (r >= 0)
		r = find_default(sock, AF_INET, &ret->default_ifindex);
	if (r >= 0 && !ret->default_ifindex)
		r = find_default(sock, AF_INET6, &ret->default_ifindex);
	if (r < 0)
		addr_links_free(ret);
	return r;
}

int addr_links_read(struct addr_links *ret)
{
	struct nl_sock *sock = nl_socket_alloc();
	int r = -NLE_NOMEM;

	if (!sock)
		return -ENOMEM;
	if (nl_connect(sock, NETLINK_ROUTE) >= 0) {
		for (int i = 0; i < DUMPS_MAX; i++) {
			r = read_once(sock, ret);
			if (r != -NLE_DUMP_INTR)
				break;
		}
	} else {
		r = -NLE_FAILURE;
	}
	nl_socket_free(sock);
	return r >= 0 ? 0 : r == -NLE_NOMEM ? -ENOMEM : -ENOBUFS;
}

void addr_links_free(struct addr_links *l)
{
	free(l->links);
	free(l->locals);
	memset(l, 0, sizeof(*l));
}

const struct addr_link *addr_links_find(const struct addr_links *l, uint32_t ifindex)
{
	for (size_t i = 0; i < l->link_count; i++)
		if (l->links[i].ifindex == ifindex)
			return &l->links[i];
	return NULL;
}

const struct addr_link *addr_links_named(const struct addr_links *l, const char *name)
{
	for (size_t i = 0; i < l->link_count; i++)
		if (strcmp(l->links[i].name, name) == 0)
			return &l->links[i];
	return NULL;
}

/* The universal bit is inverted (RFC 4291, appendix A). */
void addr_gid_from_mac(const uint8_t mac[6], uint8_t gid[16])
{
	memset(gid, 0, 16);
	gid[0] = 0xfe;
	gid[1] = 0x80;
	gid[8] = mac[0] ^ 2;
	gid[9] = mac[1];
	gid[10] = mac[2];
	gid[11] = 0xff;
	gid[12] = 0xfe;
	memcpy(gid + 13, mac + 3, 3);
}
