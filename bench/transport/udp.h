/* SPDX-License-Identifier: BSD-2-Clause */
/* UDP multicast sockets on the loopback interface, for mcast.c and mcgso.c. */
#ifndef BENCH_UDP_H
#define BENCH_UDP_H

#include <netinet/in.h>

#include "transport/transport.h"

struct udp_pair {
	int out;
	int in;
	struct sockaddr_in to;
	unsigned int capacity; /* messages the receive buffer holds at least */
};

/* Sender and receiver of one worker: forward group for 0, backward for the others. */
int udp_open(struct udp_pair *p, const struct endpoint_config *config);
void udp_close(struct udp_pair *p);

#endif
