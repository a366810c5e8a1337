/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What IP over InfiniBand is to rdma_cm: an interface on every InfiniBand port of a node,
 * with addresses and the partition's broadcast group, whose record every join of rdma_cm
 * starts from (spec/kernel 2.13, 3.2, 3.3). It carries no IP packets.
 *
 * The broadcast group is joined when the port is ACTIVE, and again after a reset, with
 * growing pauses while it cannot be. A consumer of the SA client like any other. One
 * thread.
 */
#ifndef CORE_IPOIB_IPOIB_H
#define CORE_IPOIB_IPOIB_H

#include <netinet/in.h>

#include "core/addr/sockaddr.h"
#include "core/sa/ib_sa.h"

#define IPOIB_HWADDR_BYTES 20u

struct ipoib;

/* The addresses that a port's interface has. Family 0: none of it. */
struct ipoib_addresses {
	struct sockaddr_in ip4;
	struct sockaddr_in6 ip6;
};

struct ipoib_config {
	struct ib_node *node;
	struct timer_queue *timers;
	/* Asked once a port, when its device is added. */
	void (*addresses)(void *arg, struct ib_device *device, u32 port_num,
			  struct ipoib_addresses *ret);
	/* Who has this address, beyond our own: its port's GID. -EHOSTUNREACH: nobody. May
	 * be null: nobody. */
	int (*neighbour)(void *arg, const struct sockaddr *addr, union ib_gid *ret);
	void *arg;
};

/* After the node's SA client, before its rdma_cm; it serves the devices that the node has
 * already, and those that come. Destroyed in the reverse order. */
int ipoib_create(const struct ipoib_config *config, struct ipoib **ret);
void ipoib_destroy(struct ipoib *ipoib);

/* An interface, as it stands. */
struct ipoib_interface {
	struct ib_device *device;
	u32 port_num;
	u16 pkey; /* host order, full member */
	bool up;  /* the port is a member of the broadcast group */
	u32 mtu;  /* of IP packets; 0 while it is not up */
	struct ipoib_addresses addresses;
	/* Hardware address of its broadcast: QPN, MGID. */
	u8 broadcast[IPOIB_HWADDR_BYTES];
};

/* By one of its addresses; -EADDRNOTAVAIL. */
int ipoib_find_by_addr(const struct ipoib *ipoib, const struct sockaddr *addr,
		       struct ipoib_interface *ret);
/* -ENODEV: that port has none. */
int ipoib_find_by_port(const struct ipoib *ipoib, const struct ib_device *device,
		       u32 port_num, struct ipoib_interface *ret);
/* The GID behind an address: one of our own, or a neighbour's. -EHOSTUNREACH. */
int ipoib_find_neighbour(const struct ipoib *ipoib, const struct sockaddr *addr,
			 union ib_gid *ret);
/* Is the address out of a network that some interface here is in? */
bool ipoib_is_on_link(const struct ipoib *ipoib, const struct sockaddr *addr);

/* The group that an IP multicast address means on an interface: signature 0x401b or 0x601b,
 * scope and P_Key of the broadcast address (spec/kernel 3.2, rows 4 and 5, without port
 * space). Any IPv4 address counts, by its lower 28 bits. */
void ipoib_map_group(const u8 broadcast[IPOIB_HWADDR_BYTES], const struct sockaddr *addr,
		     u8 mgid[16]);
/* The broadcast address of a partition, link-local scope. */
void ipoib_broadcast(u16 pkey, u8 broadcast[IPOIB_HWADDR_BYTES]);

/* Both networks have room for this many hosts each: 198.18.0.0/15 and fdc6:1200::/64. */
#define IPOIB_HOSTS_MAX 131000u
/* The n-th host's addresses there, n from 1. */
void ipoib_default_addresses(u32 n, struct ipoib_addresses *ret);
/* The other way round; 0: not out of these networks. */
u32 ipoib_default_host(const struct sockaddr *addr);

#endif
