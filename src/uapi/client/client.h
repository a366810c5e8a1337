/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client's end of the control protocol: connect, say hello, ask and be answered, hear
 * what verbcastd says unasked. It knows messages and descriptors, not what they mean.
 *
 * A connection that breaks, or that breaks the protocol, is dead for good: every call
 * says -ENODEV from then on, and the event socket reaches its end, so that whoever reads
 * it finds out too. All calls are thread-safe, except open and close.
 */
#ifndef UAPI_CLIENT_CLIENT_H
#define UAPI_CLIENT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uapi/protocol/protocol.h"

struct uapi_connection;

/* What to say at hello. */
struct uapi_introduction {
	const char *path;        /* of verbcastd's socket */
	uint32_t layout_version; /* SHM_LAYOUT_VERSION */
	uint32_t flags;          /* enum uapi_hello_flags */
	const char *node;        /* NULL: the site's first */
};

/* What was answered. The descriptors are the caller's; -1 for a tool. */
struct uapi_welcome {
	struct uapi_hello_reply reply;
	int event_fd;
	int tables_fd;
	int doorbell_fd;
	int counters_fd;
};

/*
 * Connect and say hello. 0; -ENOENT, -ECONNREFUSED: nobody listens there; -EPROTO: another
 * version of the protocol or the layout (`ret_welcome->reply` then names verbcastd's, and
 * there is no connection), or not verbcastd at all (`reply.version` is 0).
 */
int uapi_connection_open(const struct uapi_introduction *who,
			 struct uapi_connection **ret, struct uapi_welcome *ret_welcome);
/* Closes the control socket, and nothing else; also right in the child after a fork. */
void uapi_connection_close(struct uapi_connection *c);

/* The control socket; stays the connection's. -1: the program has closed it. */
int uapi_connection_fd(const struct uapi_connection *c);

/* Whether verbcastd holds its end, as far as can be seen without asking. */
bool uapi_connection_alive(const struct uapi_connection *c);

/* One message out and one back. */
struct uapi_call {
	unsigned int op;
	const void *req;
	size_t reqlen;
	void *rep;           /* written on success only */
	size_t replen;       /* exactly what the operation fixes */
	const int *send_fds; /* stay the caller's */
	unsigned int send_fds_n;
	int *recv_fds;           /* room for UAPI_FDS_MAX; the caller's on success */
	unsigned int recv_fds_n; /* out */
};

/* 0, -ENODEV: the connection is dead, -EMFILE: no room for the descriptors of the reply,
 * or verbcastd's own answer. Blocks for a round trip; signals do not interrupt it. */
int uapi_connection_call(struct uapi_connection *c, struct uapi_call *call);

/* The plain case: no descriptors. */
int uapi_connection_rpc(struct uapi_connection *c, unsigned int op, const void *req,
			size_t reqlen, void *rep, size_t replen);

/* One event; blocks. `ret_op` is an enum uapi_event_op, `body` holds `*ret_length` bytes.
 * 0; -ENODEV: verbcastd closed it; -EPROTO: not an event. */
int uapi_event_read(int event_fd, unsigned int *ret_op, void *body, size_t room,
		    size_t *ret_length);

#endif
