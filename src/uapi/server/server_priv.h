/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Between the server's own files: server.c (who may come in, leases, presence),
 * client.c (one connection: its sockets and its death), site_cmd.c (ops 1 to 7),
 * admin_cmd.c (op 8, which is answered later).
 */
#ifndef UAPI_SERVER_SERVER_PRIV_H
#define UAPI_SERVER_SERVER_PRIV_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/list.h"
#include "uapi/server/command_priv.h"

#define UAPI_OPS_END 128u /* op numbers are below */

/* One operation: its sizes out of UAPI_OPS, its handler out of a module's list. */
struct uapi_op_entry {
	uapi_command_fn fn; /* null: nobody serves it */
	uint32_t request_bytes;
	uint32_t reply_bytes;
};

/* Descriptors of network namespaces, -1: none (netns_cmd.c). */
struct uapi_netns_store {
	int *fds;
	uint32_t count;
};

struct uapi_server {
	struct uapi_server_config config;
	struct uapi_netns_store netns;
	struct uapi_op_entry ops[UAPI_OPS_END];
	struct loop_io *listen_io;
	struct list connections; /* struct connection.link */
	unsigned int connection_count;
	unsigned int process_count; /* of them, those that are a process of the site */
	struct list leases;
	unsigned int lease_count;
	int spare_fd; /* given up to refuse a caller when descriptors have run out */
};

enum connection_state {
	CONNECTION_NEW, /* nothing but HELLO is taken */
	CONNECTION_TOOL,
	CONNECTION_PROCESS,
};

/* Part of its connection; `pending` from the request to the answer. */
struct uapi_admin_call {
	bool pending;
	uint32_t serial;
};

/*
 * A connection. Created by accept, found by nobody but the loop's callbacks, freed by
 * connection_destroy: called by these callbacks alone, never below a handler. What fails
 * below a handler calls connection_doom instead.
 */
struct connection {
	struct uapi_client client; /* filled when the state is CONNECTION_PROCESS */
	struct uapi_server *server;
	struct list link;
	enum connection_state state;
	bool doomed;
	pid_t pid; /* as the socket says, in our number space */
	uid_t uid;
	int fd;
	int pidfd;    /* -1: the kernel has none */
	int event_fd; /* our end; -1: none */
	struct loop_io *io, *pidfd_io, *event_io;
	struct loop_timer *hello_timer; /* deadline of HELLO */
	struct loop_timer *doom_timer;
	struct list events; /* struct queued_event: what event_fd had no room for */
	unsigned int event_count;
	struct uapi_admin_call admin;
};

int connection_create(struct uapi_server *s, int fd, const struct ucred *who);
void connection_destroy(struct connection *c);
/* Destroy it as soon as the loop turns; `why` goes to the log. */
void connection_doom(struct connection *c, const char *why);
/* Does `fd` stand for the process at the other end? 0 or a negative errno. */
int connection_check_pidfd(const struct connection *c, int fd, pid_t *ret_inner);
/* Make the event socket; the peer's end is handed back. */
int connection_open_events(struct connection *c, int *ret_peer_fd);
int connection_watch_pidfd(struct connection *c, int pidfd);
/* A reply to the request with this serial number. A body goes along as it is given. */
void connection_reply(struct connection *c, uint16_t op, uint32_t serial, int status,
		      const void *body, size_t bytes, struct uapi_fds *fds);

/* 0 or a negative errno; -EAGAIN: no room. `fds` may be null; `out` of it goes along. */
int uapi_message_send(int fd, const void *message, size_t bytes,
		      const struct uapi_fds *fds);

/* Ops 1 to 7. HELLO answers by itself even where it fails (uapi_hello_reply). */
extern const struct uapi_command site_commands[];
int site_hello(struct connection *c, const void *body, size_t bytes,
	       struct uapi_hello_reply *reply, struct uapi_fds *fds);
void site_goodbye(struct connection *c);

extern const struct uapi_command admin_commands[];
void admin_goodbye(struct connection *c);

/* netns_cmd.c */
extern const struct uapi_command netns_commands[];
void netns_close(struct uapi_netns_store *store);

int uapi_lease_add(struct uapi_server *s, pid_t pid, int pidfd, bool is_private);
void uapi_server_presence(struct uapi_server *s, bool ended_private);

#endif
