/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A netlink socket that hears of every change of links, addresses and routes.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <stdlib.h>

#include "core/addr/links.h"

struct addr_monitor {
	struct nl_sock *sock;
	bool changed; /* while messages are being read */
};

/* A machine may have a route that changes every second; only default ones count. */
static bool counts(const struct nlmsghdr *h)
{
	const struct rtmsg *route = nlmsg_data(h);

	if (h->nlmsg_type != RTM_NEWROUTE && h->nlmsg_type != RTM_DELROUTE)
		return true;
	return nlmsg_datalen(h) < (int)sizeof(*route) || route->rtm_dst_len == 0;
}

static int hear(struct nl_msg *msg, void *arg)
{
	struct addr_monitor *m = arg;

	m->changed |= counts(nlmsg_hdr(msg));
	return NL_OK;
}

static int subscribe(struct addr_monitor *m)
{
	nl_socket_disable_seq_check(m->sock);
	if (nl_socket_modify_cb(m->sock, NL_CB_VALID, NL_CB_CUSTOM, hear, m) < 0 ||
	    nl_connect(m->sock, NETLINK_ROUTE) < 0 ||
	    nl_socket_set_nonblocking(m->sock) < 0 ||
	    nl_socket_add_memberships(m->sock, RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR,
				      RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE,
				      RTNLGRP_IPV6_ROUTE, 0) < 0)
		return -ENOBUFS;
	return 0;
}

int addr_monitor_open(struct addr_monitor **ret)
{
	struct addr_monitor *m = calloc(1, sizeof(*m));
	int r = -ENOMEM;

	if (!m)
		return -ENOMEM;
	m->sock = nl_socket_alloc();
	if (m->sock)
		r = subscribe(m);
	if (r < 0) {
		addr_monitor_close(m);
		return r;
	}
	*ret = m;
	return 0;
}

void addr_monitor_close(struct addr_monitor *m)
{
	if (!m)
		return;
	if (m->sock)
		nl_socket_free(m->sock);
	free(m);
}

int addr_monitor_fd(const struct addr_monitor *m)
{
	return nl_socket_get_fd(m->sock);
}

/* What does not fit into the socket is lost, and that is a change, too. */
bool addr_monitor_read(struct addr_monitor *m)
{
	int r;

	m->changed = false;
	do
		r = nl_recvmsgs_default(m->sock);
	while (r >= 0);
	return m->changed || r != -NLE_AGAIN;
}
