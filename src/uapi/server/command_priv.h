/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Between the dispatcher (server.c: sockets, hello, op table) and the command modules
 * (verbs_cmd.c, cm_cmd.c, umad_cmd.c): what a client is, and what a command handler may count on.
 *
 * Everything runs on the loop's thread. A handler is called for one request at a time,
 * never blocks, and has answered when it returns (ADMIN alone may answer later); what comes
 * later goes to the client by uapi_client_event.
 */
#ifndef UAPI_SERVER_COMMAND_PRIV_H
#define UAPI_SERVER_COMMAND_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/verbs/ib_verbs.h"
#include "uapi/protocol/protocol.h"
#include "uapi/server/handles_priv.h"
#include "uapi/server/server.h"

struct loop;
struct umad_port;

/*
 * A process that said hello (not a tool). The dispatcher embeds it in its own struct of
 * the connection, fills the fields up to `slot`, zeroes the others, and opens and closes the
 * modules:
 *
 *   open:  verbs_client_open, cm_client_open
 *   close: cm_client_close, verbs_client_close; then site_ops.process_close
 *
 * The close hooks accept a client whose open hook failed or was never called. A tool is
 * one of umad_cmd.c alone: it has the fields up to `node`.
 */
struct uapi_client {
	struct uapi_server *server;
	struct loop *loop;
	const struct uapi_limits *limits;
	struct ib_node *node;
	uint32_t slot;                /* of the process; ib_ucontext.process */
	bool privileged;              /* runs as root: may bind low ports */
	struct uapi_handles *handles; /* created by verbs_client_open, freed by its close */
	uint32_t mcast_aliases; /* verbs: pairs beyond the first of a QP and group */
	void *cm;               /* cm_cmd.c's own */
	struct umad_port *umad; /* umad_cmd.c: the port that is open; null: none */
};

/*
 * Descriptors beside a message. What came with the request is in `in`; the handler takes
 * one over by setting it to -1, the dispatcher closes the rest. What is to go with the
 * reply is in `out`; the dispatcher closes those marked in `close_out` (bit i: out[i]),
 * whether the reply could be sent or not.
 */
struct uapi_fds {
	int in[UAPI_FDS_MAX];
	unsigned int in_count;
	int out[UAPI_FDS_MAX];
	unsigned int out_count;
	unsigned int close_out;
};

/* What a handler returns that answers by connection_reply. */
#define UAPI_ANSWERS_LATER 1

/* The request's size is the one of the op; the reply is zeroed and goes out only on 0.
 * 0, a negative errno, or UAPI_ANSWERS_LATER. */
typedef int (*uapi_command_fn)(struct uapi_client *c, const void *request, void *reply,
			       struct uapi_fds *fds);

/* A module's commands, ended by op 0. Sizes and names are in UAPI_OPS. */
struct uapi_command {
	uint16_t op;
	uapi_command_fn fn;
};

extern const struct uapi_command verbs_commands[]; /* ops 16 .. 35 */
extern const struct uapi_command cm_commands[];    /* ops 64 .. 74 */
extern const struct uapi_command umad_commands[];  /* ops 80 .. 86 */

int verbs_client_open(struct uapi_client *c);
/* Destroys all verbs objects of the client, dependants first; attached queue pairs are
 * detached by force (spec/kernel 1.6). */
void verbs_client_close(struct uapi_client *c);

int cm_client_open(struct uapi_client *c);
void cm_client_close(struct uapi_client *c);

/* Closes its port, if it has opened one. */
void umad_client_close(struct uapi_client *c);

/* Send a message on the client's event socket; queued, in order, while that is full.
 * 0; -ENOBUFS: the client lets too much pile up, and is disconnected from the loop. */
int uapi_client_event(struct uapi_client *c, uint16_t op, const void *body,
		      size_t length);

#endif
