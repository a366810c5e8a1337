/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/addresses.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "wire/gid.h"

static void add_gid(struct addresses *a, int family, const void *address,
		    uint32_t ifindex)
{
	struct hca_gid *g = &a->gids[a->count];
	uint32_t ipv4;

	if (a->count == HCA_GIDS_MAX)
		return;
	memset(g, 0, sizeof(*g));
	if (family == AF_INET) {
		memcpy(&ipv4, address, sizeof(ipv4));
		gid_from_ipv4(g->gid.raw, ipv4);
	} else {
		memcpy(g->gid.raw, address, 16);
	}
	g->type = IB_GID_TYPE_ROCE_UDP_ENCAP;
	g->ifindex = ifindex;
	a->count++;
}

static uint32_t find_loopback(struct nl_cache *links, char name[16])
{
	for (struct nl_object *o = nl_cache_get_first(links); o;
	     o = nl_cache_get_next(o)) {
		struct rtnl_link *link = (struct rtnl_link *)o;

		if (!(rtnl_link_get_flags(link) & IFF_LOOPBACK))
			continue;
		snprintf(name, 16, "%s", rtnl_link_get_name(link));
		return (uint32_t)rtnl_link_get_ifindex(link);
	}
	return 0;
}

static void add_family(struct addresses *a, struct nl_cache *cache, int family,
		       uint32_t ifindex)
{
	for (struct nl_object *o = nl_cache_get_first(cache); o;
	     o = nl_cache_get_next(o)) {
		struct rtnl_addr *entry = (struct rtnl_addr *)o;
		struct nl_addr *local = rtnl_addr_get_local(entry);

		if (local && (uint32_t)rtnl_addr_get_ifindex(entry) == ifindex &&
		    nl_addr_get_family(local) == family)
			add_gid(a, family, nl_addr_get_binary_addr(local), ifindex);
	}
}

static uint32_t ask_machine(struct addresses *a, struct nl_sock *sock)
{
	struct nl_cache *links, *addrs;
	uint32_t ifindex;

	if (rtnl_link_alloc_cache(sock, AF_UNSPEC, &links) < 0)
		return 0;
	ifindex = find_loopback(links, a->netdev);
	nl_cache_free(links);
	if (!ifindex || rtnl_addr_alloc_cache(sock, &addrs) < 0)
		return ifindex;
	add_family(a, addrs, AF_INET, ifindex);
	add_family(a, addrs, AF_INET6, ifindex);
	nl_cache_free(addrs);
	return ifindex;
}

void addresses_of_loopback(struct addresses *a)
{
	static const struct in6_addr loopback6 = IN6ADDR_LOOPBACK_INIT;
	uint32_t loopback4 = htonl(INADDR_LOOPBACK), ifindex = 0;
	struct nl_sock *sock = nl_socket_alloc();

	memset(a, 0, sizeof(*a));
	snprintf(a->netdev, sizeof(a->netdev), "lo");
	if (sock && nl_connect(sock, NETLINK_ROUTE) >= 0)
		ifindex = ask_machine(a, sock);
	if (sock)
		nl_socket_free(sock);
	if (a->count)
		return;
	log_info("the loopback interface has no address; 127.0.0.1 and ::1 stand in");
	add_gid(a, AF_INET, &loopback4, ifindex ? ifindex : 1);
	add_gid(a, AF_INET6, &loopback6, ifindex ? ifindex : 1);
}
