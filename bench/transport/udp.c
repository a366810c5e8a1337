/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/udp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define RECEIVE_BUFFER (16 << 20)

/* 239.255.x.y of a run; forward groups are even, backward ones odd. The port is the
 * group's own, so a socket bound to it hears nobody else's. */
static struct sockaddr_in group_of(uint32_t run, bool backward)
{
	struct sockaddr_in a = { .sin_family = AF_INET };

	a.sin_addr.s_addr = htonl(0xefff0000u | (run << 1 & 0xfffeu) | backward);
	a.sin_port = htons((uint16_t)(20000 + run % 6000 * 2 + backward));
	return a;
}

/* What the kernel charges a datagram is twice its size and a header, at the most. */
static unsigned int receive_capacity(int fd, size_t size)
{
	int bytes = RECEIVE_BUFFER;
	socklen_t len = sizeof(bytes);

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &len))
		return 0;
	return (unsigned int)((size_t)bytes / (2 * size + 1024));
}

static int open_out(struct udp_pair *p)
{
	struct in_addr loopback = { htonl(INADDR_LOOPBACK) };
	int bytes = 4 << 20;

	p->out = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (p->out < 0)
		return -errno;
	setsockopt(p->out, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	if (setsockopt(p->out, IPPROTO_IP, IP_MULTICAST_IF, &loopback, sizeof(loopback)))
		return -errno;
	return 0;
}

static int open_in(struct udp_pair *p, struct sockaddr_in from, size_t size)
{
	struct ip_mreq group = { from.sin_addr, { htonl(INADDR_LOOPBACK) } };
	int one = 1;

	p->in = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (p->in < 0)
		return -errno;
	if (setsockopt(p->in, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(p->in, (struct sockaddr *)&from, sizeof(from)) ||
	    setsockopt(p->in, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof(group)))
		return -errno;
	p->capacity = receive_capacity(p->in, size);
	return p->capacity ? 0 : -ENOBUFS;
}

int udp_open(struct udp_pair *p, const struct endpoint_config *c)
{
	int r;

	p->in = -1;
	p->to = group_of(c->run, c->worker != 0);
	r = open_out(p);
	if (!r)
		r = open_in(p, group_of(c->run, c->worker == 0), c->size);
	if (r)
		udp_close(p);
	return r;
}

void udp_close(struct udp_pair *p)
{
	if (p->out >= 0)
		close(p->out);
	if (p->in >= 0)
		close(p->in);
}
