/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine's addresses, routes and links, asked of rtnetlink by libnl-route-3.
 *
 * A question opens a netlink socket, asks, and closes it: no state can go stale, and an
 * answer of an earlier question cannot be taken for this one's. Called by the daemon's
 * loop; the kernel answers at once.
 */
#include <errno.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/route.h>

#include "core/addr/host.h"
#include "core/addr/sockaddr.h"

static int open_netlink(struct nl_sock **ret)
{
	struct nl_sock *sock = nl_socket_alloc();

	if (!sock)
		return -ENOMEM;
	if (nl_connect(sock, NETLINK_ROUTE) < 0) {
		nl_socket_free(sock);
		return -ENOBUFS;
	}
	*ret = sock;
	return 0;
}

static struct nl_addr *to_nl(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET)
		return nl_addr_build(AF_INET, &((struct sockaddr_in *)addr)->sin_addr, 4);
	if (addr->sa_family == AF_INET6)
		return nl_addr_build(AF_INET6, &((struct sockaddr_in6 *)addr)->sin6_addr,
				     16);
	return NULL;
}

static void from_nl(struct nl_addr *from, struct sockaddr_storage *ret)
{
	socklen_t len = sizeof(*ret);

	memset(ret, 0, sizeof(*ret));
	if (nl_addr_fill_sockaddr(from, (struct sockaddr *)ret, &len) < 0)
		ret->ss_family = AF_UNSPEC;
}

/* A host owns all of its loopback network, and else exactly the addresses it has. */
static bool owns(struct nl_addr *local, struct nl_addr *wanted, bool loopback)
{
	if (loopback)
		return nl_addr_cmp_prefix(local, wanted) == 0;
	return nl_addr_get_family(local) == nl_addr_get_family(wanted) &&
	       nl_addr_get_len(local) == nl_addr_get_len(wanted) &&
	       memcmp(nl_addr_get_binary_addr(local), nl_addr_get_binary_addr(wanted),
		      nl_addr_get_len(local)) == 0;
}

static uint32_t wanted_scope(const struct sockaddr *addr)
{
	return addr_is_link_local(addr) ? ((struct sockaddr_in6 *)addr)->sin6_scope_id
					: 0;
}

static int search_owner(struct nl_cache *cache, const struct sockaddr *addr,
			struct nl_addr *wanted, uint32_t *ret_ifindex)
{
	bool loopback = addr->sa_family == AF_INET && addr_is_loopback(addr);
	uint32_t scope = wanted_scope(addr);

	for (struct nl_object *o = nl_cache_get_first(cache); o;
	     o = nl_cache_get_next(o)) {
		struct rtnl_addr *entry = (struct rtnl_addr *)o;
		struct nl_addr *local = rtnl_addr_get_local(entry);
		uint32_t ifindex = (uint32_t)rtnl_addr_get_ifindex(entry);

		if (!local || !owns(local, wanted, loopback))
			continue;
		if (scope && scope != ifindex)
			continue;
		*ret_ifindex = ifindex;
		return 0;
	}
	return -EADDRNOTAVAIL;
}

static int linux_find_owner(void *arg, const struct sockaddr *addr, uint32_t *ret_ifindex)
{
	struct nl_addr *wanted = to_nl(addr);
	struct nl_cache *cache;
	struct nl_sock *sock;
	int r;

	if (!wanted)
		return -EADDRNOTAVAIL;
	r = open_netlink(&sock);
	if (r < 0)
		goto put_wanted;
	r = -ENOMEM;
	if (rtnl_addr_alloc_cache(sock, &cache) < 0)
		goto close_sock;
	r = search_owner(cache, addr, wanted, ret_ifindex);
	nl_cache_free(cache);
close_sock:
	nl_socket_free(sock);
put_wanted:
	nl_addr_put(wanted);
	return r;
}

static int read_route(struct rtnl_route *route, struct addr_route *ret)
{
	struct rtnl_nexthop *hop;
	struct nl_addr *source;

	switch (rtnl_route_get_type(route)) {
	case RTN_BLACKHOLE:
	case RTN_UNREACHABLE:
	case RTN_PROHIBIT:
		return -ENETUNREACH;
	}
	hop = rtnl_route_nexthop_n(route, 0);
	if (!hop)
		return -ENETUNREACH;
	memset(ret, 0, sizeof(*ret));
	ret->ifindex = (uint32_t)rtnl_route_nh_get_ifindex(hop);
	ret->local = rtnl_route_get_type(route) == RTN_LOCAL;
	source = rtnl_route_get_pref_src(route);
	if (source)
		from_nl(source, &ret->source);
	return 0;
}

/* A scoped destination names its interface itself; no table is asked. */
static bool scoped_route(const struct sockaddr *dst, struct addr_route *ret)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)dst;
	uint32_t owner;

	if (dst->sa_family != AF_INET6 || !in6->sin6_scope_id)
		return false;
	if (!addr_is_link_local(dst) && !IN6_IS_ADDR_MC_LINKLOCAL(&in6->sin6_addr))
		return false;
	memset(ret, 0, sizeof(*ret));
	ret->ifindex = in6->sin6_scope_id;
	ret->local = linux_find_owner(NULL, dst, &owner) == 0;
	return true;
}

static int linux_find_route(void *arg, const struct sockaddr *dst, struct addr_route *ret)
{
	struct nl_addr *wanted = to_nl(dst);
	struct rtnl_route *route;
	struct nl_sock *sock;
	int r;

	if (!wanted)
		return -ENETUNREACH;
	r = 0;
	if (scoped_route(dst, ret))
		goto put_wanted;
	r = open_netlink(&sock);
	if (r < 0)
		goto put_wanted;
	r = -ENETUNREACH;
	if (rtnl_route_lookup(sock, wanted, &route) < 0)
		goto close_sock;
	r = read_route(route, ret);
	rtnl_route_put(route);
close_sock:
	nl_socket_free(sock);
put_wanted:
	nl_addr_put(wanted);
	return r;
}

static int linux_link_mtu(void *arg, uint32_t ifindex, uint32_t *ret_mtu)
{
	struct rtnl_link *link;
	struct nl_sock *sock;
	int r;

	r = open_netlink(&sock);
	if (r < 0)
		return r;
	r = rtnl_link_get_kernel(sock, (int)ifindex, NULL, &link);
	if (r < 0) {
		r = r == -NLE_NOMEM ? -ENOMEM : -ENODEV;
		goto close_sock;
	}
	*ret_mtu = rtnl_link_get_mtu(link);
	rtnl_link_put(link);
	r = 0;
close_sock:
	nl_socket_free(sock);
	return r;
}

static void linux_ports(void *arg, struct addr_ports *ret)
{
	addr_linux_ports(ret);
}

const struct addr_host_ops addr_linux_ops = {
	.find_owner = linux_find_owner,
	.find_route = linux_find_route,
	.link_mtu = linux_link_mtu,
	.ports = linux_ports,
};
