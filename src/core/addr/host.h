/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What rdma_cm asks of the host's own network stack: who owns an address, where a
 * destination is routed, how large an interface's packets are, which ports are free to
 * give out. Answers are of the moment; nothing is cached between calls. Calls are short
 * and never wait for the network.
 *
 * struct addr_host_ops is the seam: verbcastd uses addr_linux_ops, unit tests and the
 * simulator bring hosts of their own.
 */
#ifndef CORE_ADDR_HOST_H
#define CORE_ADDR_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct addr_route {
	uint32_t ifindex;
	bool local;                     /* the destination is an address of this host */
	struct sockaddr_storage source; /* preferred source; family 0: none told */
};

struct addr_ports {
	uint16_t first, last;        /* given out where none is asked for */
	uint16_t unprivileged_start; /* lower ones take a privilege */
};

struct addr_host_ops {
	/* The interface that owns a local address. -EADDRNOTAVAIL: not of this host. */
	int (*find_owner)(void *arg, const struct sockaddr *addr, uint32_t *ret_ifindex);
	/* Unicast or multicast. -ENETUNREACH: no route. */
	int (*find_route)(void *arg, const struct sockaddr *dst, struct addr_route *ret);
	/* -ENODEV: no such interface. */
	int (*link_mtu)(void *arg, uint32_t ifindex, uint32_t *ret_mtu);
	void (*ports)(void *arg, struct addr_ports *ret);
};

/* The machine, as seen from the network namespace of the calling thread. `arg` unused. */
extern const struct addr_host_ops addr_linux_ops;

/* A virtual host without a network of its own: loopback, no routes. `arg` unused. */
extern const struct addr_host_ops addr_isolated_ops;

/* net.ipv4.ip_local_port_range and ip_unprivileged_port_start; Linux's defaults where
 * they cannot be read. */
void addr_linux_ports(struct addr_ports *ret);

#endif
