/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What attach and detach can cost at least, since each asks a daemon: two bare round
 * trips over a seqpacket socket to another process, which sleeps until it is asked.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "transport/transport.h"

#define REQUEST_BYTES 128u

struct seqpacket_endpoint {
	struct endpoint endpoint;
	int listener;
	int fd;
};

/* An abstract name: nothing is left in the file system. */
static socklen_t socket_name(struct sockaddr_un *a, uint32_t run)
{
	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1,
					    "verbcast-bench-%u", run));
}

static void seqpacket_close(struct endpoint *e)
{
	struct seqpacket_endpoint *s = (struct seqpacket_endpoint *)e;

	if (s->fd >= 0)
		close(s->fd);
	if (s->listener >= 0)
		close(s->listener);
	free(s);
}

static int seqpacket_open(const struct endpoint_config *c, struct endpoint **ret)
{
	struct seqpacket_endpoint *s = calloc(1, sizeof(*s));
	struct sockaddr_un name;
	socklen_t len = socket_name(&name, c->run);

	if (!s)
		return -ENOMEM;
	s->listener = -1;
	s->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (s->fd < 0)
		goto failed;
	*ret = &s->endpoint;
	if (!c->worker)
		return 0;
	s->listener = s->fd;
	s->fd = -1;
	if (!bind(s->listener, (struct sockaddr *)&name, len) && !listen(s->listener, 1))
		return 0;

failed:
	seqpacket_close(&s->endpoint);
	return -errno;
}

static void answer(int fd)
{
	char request[REQUEST_BYTES];
	ssize_t len;

	while ((len = recv(fd, request, sizeof(request), 0)) > 0)
		if (send(fd, request, (size_t)len, MSG_NOSIGNAL) != len)
			break;
	_exit(0);
}

/* The answering side lives in a child of worker 1, which is never told to stop: the end
 * of the connection tells it. */
static int seqpacket_connect(struct endpoint *e)
{
	struct seqpacket_endpoint *s = (struct seqpacket_endpoint *)e;
	struct sockaddr_un name;
	socklen_t len = socket_name(&name, e->config.run);
	pid_t pid;

	if (!e->config.worker)
		return connect(s->fd, (struct sockaddr *)&name, len) ? -errno : 0;
	s->fd = accept(s->listener, NULL, NULL);
	if (s->fd < 0)
		return -errno;
	pid = fork();
	if (!pid)
		answer(s->fd);
	return pid < 0 ? -errno : 0;
}

static void round_trip(struct seqpacket_endpoint *s)
{
	char request[REQUEST_BYTES] = { 0 };

	if (send(s->fd, request, sizeof(request), MSG_NOSIGNAL) != sizeof(request) ||
	    recv(s->fd, request, sizeof(request), 0) != sizeof(request))
		s->endpoint.errors++;
}

static void seqpacket_pair(struct endpoint *e, uint64_t word)
{
	round_trip((struct seqpacket_endpoint *)e);
	round_trip((struct seqpacket_endpoint *)e);
}

const struct transport transport_seqpacket = {
	.name = "seqpacket",
	.what = "two bare round trips to another process",
	.lossless = true,
	.open = seqpacket_open,
	.connect = seqpacket_connect,
	.send = seqpacket_pair,
	.close = seqpacket_close,
};
