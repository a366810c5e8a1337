/* SPDX-License-Identifier: BSD-2-Clause */
/* A network interface, as far as addresses of RDMA name one: its number and its name. */
#ifndef KAPI_LINUX_NETDEVICE_H
#define KAPI_LINUX_NETDEVICE_H

#include <net/net_namespace.h>
#include <net/if.h>

#include <linux/device.h>
#include <linux/if_ether.h>
#include <linux/types.h>

#define MAX_ADDR_LEN 32

struct net_device {
	char name[IF_NAMESIZE];
	int ifindex;
	unsigned int mtu;
	unsigned char dev_addr[MAX_ADDR_LEN];
	unsigned char broadcast[MAX_ADDR_LEN];
	struct device dev;
};

static inline void dev_hold(struct net_device *dev)
{
}

static inline void dev_put(struct net_device *dev)
{
}

#endif
