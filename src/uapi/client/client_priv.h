/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages on a seqpacket socket: a header, a body, descriptors beside them. */
#ifndef UAPI_CLIENT_PRIV_H
#define UAPI_CLIENT_PRIV_H

#include <stddef.h>

#include "uapi/protocol/protocol.h"

struct message {
	struct uapi_header header;
	void *body;
	size_t room; /* received: bytes at `body` */
	int fds[UAPI_FDS_MAX];
	unsigned int fds_n;
};

/* 0 or a negative errno; -EPIPE: the peer is gone. */
int message_send(int fd, const struct uapi_header *h, const void *body, const int *fds);

/* 0; -EPIPE: the peer is gone; -EPROTO: the message lies about itself; -EMFILE: it is good,
 * but this process may not have so many descriptors more. Those it brought are closed in
 * either case. */
int message_receive(int fd, struct message *m);

void message_close_fds(struct message *m);

#endif
