/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who is reached from where: the question that the fabric and the network answer, each
 * in its own way, and that a device asks when a queue pair joins or leaves a group.
 *
 * Ports are numbers in the site's table of ports. An answer must stay the same as long
 * as the group has a member on the port, or the device be told (it is not yet).
 */
#ifndef PATH_REACH_REACH_H
#define PATH_REACH_REACH_H

#include <stdint.h>

#define PATH_INGRESS_MAX 16u

struct path_ops {
	/* The ports from which a datagram to `mgid` reaches a member behind `port`, that
	 * port itself included. Returns how many were written to `ret` (room for
	 * PATH_INGRESS_MAX), or a negative errno. */
	int (*ingress_ports)(void *arg, uint32_t port, const uint8_t mgid[16],
			     uint32_t *ret);
};

struct path {
	const struct path_ops *ops;
	void *arg;
};

#endif
