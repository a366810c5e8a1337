/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whoever makes a namespace has all rights in it until exec; so everything is set up here,
 * before. Of two who make the same at once verbcastd keeps the first one's, and the other
 * takes that: what he has made himself goes with his process.
 */
#include "tools/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/nsfs.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/route.h>

#include "base/log.h"
#include "site/link.h"
#include "site/start.h"

#define INTERFACE "ib0"
#define BRIDGE    "ib"

/* -- what verbcastd keeps ----------------------------------------------------------- */

static int get(struct site_link *l, uint32_t which, int *ret_fd)
{
	struct uapi_netns request = { .which = which };

	return site_link_call(l, UAPI_NETNS_GET, &request, sizeof(request), -1, NULL, 0,
			      ret_fd);
}

static int put(struct site_link *l, uint32_t which, int fd)
{
	struct uapi_netns request = { .which = which };

	return site_link_call(l, UAPI_NETNS_PUT, &request, sizeof(request), fd, NULL, 0,
			      NULL);
}

/* -- interfaces --------------------------------------------------------------------- */

static int errno_of(int nl_error)
{
	switch (nl_error) {
	case 0:
		return 0;
	case -NLE_EXIST:
		return -EEXIST;
	case -NLE_NOMEM:
		return -ENOMEM;
	case -NLE_PERM:
	case -NLE_NOACCESS:
		return -EPERM;
	case -NLE_OPNOTSUPP:
		return -EOPNOTSUPP;
	case -NLE_NODEV:
	case -NLE_OBJ_NOTFOUND:
		return -ENODEV;
	default:
		return -EIO;
	}
}

/* Of the namespace that we are in now. */
static struct nl_sock *open_netlink(void)
{
	struct nl_sock *s = nl_socket_alloc();

	if (s && nl_connect(s, NETLINK_ROUTE) < 0) {
		nl_socket_free(s);
		return NULL;
	}
	return s;
}

/* Up, and in a bridge unless that is 0. */
static int set_up(struct nl_sock *s, const char *name, int bridge)
{
	struct rtnl_link *link, *change = rtnl_link_alloc();
	int r = change ? rtnl_link_get_kernel(s, 0, name, &link) : -NLE_NOMEM;

	if (!r) {
		rtnl_link_set_flags(change, IFF_UP);
		if (bridge)
			r = rtnl_link_enslave_ifindex(s, bridge,
						      rtnl_link_get_ifindex(link));
		if (!r)
			r = rtnl_link_change(s, link, change, 0);
		rtnl_link_put(link);
	}
	if (change)
		rtnl_link_put(change);
	return errno_of(r);
}

static int index_of(struct nl_sock *s, const char *name)
{
	struct rtnl_link *link;
	int index = 0;

	if (rtnl_link_get_kernel(s, 0, name, &link) == 0) {
		index = rtnl_link_get_ifindex(link);
		rtnl_link_put(link);
	}
	return index;
}

static int add_bridge(struct nl_sock *s)
{
	struct rtnl_link *bridge = rtnl_link_alloc();
	int r = -NLE_NOMEM;

	if (bridge) {
		rtnl_link_set_type(bridge, "bridge");
		rtnl_link_set_name(bridge, BRIDGE);
		rtnl_link_set_flags(bridge, IFF_UP);
		r = rtnl_link_add(s, bridge, NLM_F_CREATE | NLM_F_EXCL);
		rtnl_link_put(bridge);
	}
	return errno_of(r);
}

/* One end here, the other one in the hub, under a name of our own. */
static int add_cable(struct nl_sock *s, int hub, const char *far_end)
{
	struct rtnl_link *cable = rtnl_link_veth_alloc(), *peer;
	int r = -NLE_NOMEM;

	if (cable) {
		peer = rtnl_link_veth_get_peer(cable);
		rtnl_link_set_name(cable, INTERFACE);
		rtnl_link_set_name(peer, far_end);
		rtnl_link_set_ns_fd(peer, hub);
		rtnl_link_put(peer);
		r = rtnl_link_add(s, cable, NLM_F_CREATE | NLM_F_EXCL);
		rtnl_link_put(cable);
	}
	return errno_of(r);
}

static int add_address(struct nl_sock *s, int interface, int family, const void *bytes,
		       size_t length, uint32_t prefix)
{
	struct nl_addr *local = nl_addr_build(family, (void *)(uintptr_t)bytes, length);
	struct rtnl_addr *addr = rtnl_addr_alloc();
	int r = -NLE_NOMEM;

	if (local && addr) {
		nl_addr_set_prefixlen(local, (int)prefix);
		rtnl_addr_set_ifindex(addr, interface);
		rtnl_addr_set_local(addr, local);
		if (family == AF_INET6)
			rtnl_addr_set_flags(addr, IFA_F_NODAD);
		r = rtnl_addr_add(s, addr, 0);
	}
	if (addr)
		rtnl_addr_put(addr);
	if (local)
		nl_addr_put(local);
	return errno_of(r);
}

/* There is no default route; multicast would have none either. */
static int add_multicast_route(struct nl_sock *s, int interface)
{
	struct rtnl_nexthop *hop = rtnl_route_nh_alloc();
	struct rtnl_route *route = rtnl_route_alloc();
	struct nl_addr *to = NULL;
	int r = -NLE_NOMEM;

	if (hop && route && nl_addr_parse("224.0.0.0/4", AF_INET, &to) == 0) {
		rtnl_route_nh_set_ifindex(hop, interface);
		rtnl_route_set_dst(route, to);
		rtnl_route_set_scope(route, RT_SCOPE_LINK);
		rtnl_route_add_nexthop(route, hop);
		hop = NULL;
		r = rtnl_route_add(s, route, 0);
	}
	if (to)
		nl_addr_put(to);
	if (route)
		rtnl_route_put(route);
	if (hop)
		rtnl_route_nh_free(hop);
	return errno_of(r);
}

/* -- the hub ------------------------------------------------------------------------ */

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), r = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		r = -errno;
	close(fd);
	return r;
}

/* Users and groups are as outside, as far as one may say so without privilege: one each. */
static int map_ids(uid_t uid, gid_t gid)
{
	char text[64];
	int r;

	snprintf(text, sizeof(text), "%u %u 1\n", uid, uid);
	r = write_file("/proc/self/uid_map", text);
	if (!r)
		r = write_file("/proc/self/setgroups", "deny");
	snprintf(text, sizeof(text), "%u %u 1\n", gid, gid);
	return r ? r : write_file("/proc/self/gid_map", text);
}

static int set_up_hub(void)
{
	struct nl_sock *s = open_netlink();
	int r;

	if (!s)
		return -ENOMEM;
	r = add_bridge(s);
	nl_socket_free(s);
	return r;
}

/* In a process of its own: who has made a user namespace cannot go into another one's. */
static int make_hub(const struct site_paths *p, const char *node)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	struct site_link l;
	int fd, r;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) {
		r = -errno;
		log_error("--netns: user and network namespaces are forbidden or not to "
			  "be had here: %s",
			  strerror(errno));
		return r;
	}
	r = map_ids(uid, gid);
	if (!r)
		r = set_up_hub();
	if (!r)
		r = site_link_open(&l, p, node);
	if (r < 0) {
		log_error("--netns: cannot set up the bridge: %s", strerror(-r));
		return r;
	}
	fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	r = fd < 0 ? -errno : put(&l, UAPI_NETNS_HUB, fd);
	site_link_close(&l);
	return r == -EEXIST ? 0 : r;
}

static int make_hub_aside(const struct site_paths *p, const char *node)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		return -errno;
	if (child == 0)
		_exit(make_hub(p, node) < 0);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EPERM;
}

static int get_hub(struct site_link *l, const struct site_paths *p, const char *node,
		   int *ret_fd)
{
	int r = get(l, UAPI_NETNS_HUB, ret_fd);

	if (r != -ENOENT)
		return r;
	r = make_hub_aside(p, node);
	return r < 0 ? r : get(l, UAPI_NETNS_HUB, ret_fd);
}

/* -- a node ------------------------------------------------------------------------- */

static int connect_to_bridge(const char *far_end)
{
	struct nl_sock *s = open_netlink();
	int r;

	if (!s)
		return -ENOMEM;
	r = set_up(s, far_end, index_of(s, BRIDGE));
	nl_socket_free(s);
	return r;
}

static int set_up_addresses(struct nl_sock *s, const struct uapi_netns_address *a)
{
	int interface = index_of(s, INTERFACE), r;

	r = add_address(s, interface, AF_INET, a->ip4, sizeof(a->ip4), a->ip4_prefix);
	if (!r)
		r = set_up(s, INTERFACE, 0);
	if (!r)
		r = add_multicast_route(s, interface);
	/* A kernel may be without it. */
	if (!r)
		(void)add_address(s, interface, AF_INET6, a->ip6, sizeof(a->ip6),
				  a->ip6_prefix);
	return r;
}

/* We are in the node's namespace, `own`, and come back to it. */
static int set_up_node(struct nl_sock *s, int own, int hub, uint32_t index,
		       const struct uapi_netns_address *address)
{
	char far_end[IFNAMSIZ];
	int r;

	/* Another one may be at it, too, and leave his. */
	snprintf(far_end, sizeof(far_end), "h%u.%u", (index + 1) % 10000,
		 (unsigned int)getpid());
	r = set_up(s, "lo", 0);
	if (!r)
		r = add_cable(s, hub, far_end);
	if (!r && setns(hub, CLONE_NEWNET) < 0)
		r = -errno;
	if (!r)
		r = connect_to_bridge(far_end);
	if (!r && setns(own, CLONE_NEWNET) < 0)
		r = -errno;
	return r ? r : set_up_addresses(s, address);
}

static int make_node(struct site_link *l, int hub)
{
	struct uapi_netns_address address;
	struct nl_sock *s;
	int own, r;

	r = site_link_call(l, UAPI_NETNS_ADDRESS, NULL, 0, -1, &address, sizeof(address),
			   NULL);
	if (r < 0)
		return r;
	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (own < 0)
		return -errno;
	s = open_netlink();
	r = s ? set_up_node(s, own, hub, l->hello.node, &address) : -ENOMEM;
	if (s)
		nl_socket_free(s);
	if (!r)
		r = put(l, UAPI_NETNS_NODE, own);
	close(own);
	return r;
}

static int move_to(int fd)
{
	int r = setns(fd, CLONE_NEWNET) < 0 ? -errno : 0;

	close(fd);
	return r;
}

static int enter_node(struct site_link *l, int hub)
{
	int fd, r = get(l, UAPI_NETNS_NODE, &fd);

	if (r == -ENOENT) {
		r = make_node(l, hub);
		if (r != -EEXIST)
			return r;
		r = get(l, UAPI_NETNS_NODE, &fd);
	}
	return r < 0 ? r : move_to(fd);
}

static int enter(struct site_link *l, int hub)
{
	int user = ioctl(hub, NS_GET_USERNS), r = 0;

	if (user < 0)
		return -errno;
	if (setns(user, CLONE_NEWUSER) < 0)
		r = -errno;
	close(user);
	return r ? r : enter_node(l, hub);
}

int netns_enter(const struct site_paths *p, const char *node)
{
	struct site_link l;
	int hub, r;

	r = site_link_open(&l, p, node);
	if (r < 0) {
		site_link_explain(&l, p, node, r);
		return r;
	}
	r = get_hub(&l, p, node, &hub);
	if (!r) {
		r = enter(&l, hub);
		close(hub);
	}
	site_link_close(&l);
	if (r < 0)
		log_error("--netns: no network namespace for the node: %s", strerror(-r));
	return r;
}
