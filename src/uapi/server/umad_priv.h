/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Between the files of the libibumad commands: umad_cmd.c (the table, what ports are like),
 * umad_port.c (an open port: its agents and what they send) and umad_queue.c (the port's
 * socket, on which its messages go to the program).
 */
#ifndef UAPI_SERVER_UMAD_PRIV_H
#define UAPI_SERVER_UMAD_PRIV_H

#include "base/list.h"
#include "core/mad/ib_mad.h"
#include "loop/loop.h"
#include "uapi/server/command_priv.h"

#define UMAD_TOGETHER 16u /* packets in one call, either way */

/* Also how it looks on the socket. */
struct umad_packet {
	struct uapi_header header;
	struct uapi_umad_message message;
};

/* Messages on their way to the program, in order: until the end of the turn, so that what
 * comes together is one system call, and then until its socket has room. */
struct umad_queue {
	int fd; /* our end of the port's socket; -1: not open */
	struct loop *loop;
	struct loop_late late;
	struct umad_packet together[UMAD_TOGETHER];
	unsigned int together_count;
	struct loop_io *io;
	bool broken;          /* nothing is to be expected from it any more */
	struct list messages; /* struct queued_message */
	unsigned int count;
	size_t bytes;
	unsigned int files; /* memory files sent since the socket was last seen empty */
	/* From the loop, or from umad_queue_take: what the program sends; its end is
	 * closed, or it does not keep the frame. */
	void (*sent)(void *arg, const struct uapi_umad_message *m);
	void (*closed)(void *arg);
	void *arg;
};

int umad_queue_open(struct umad_queue *q, struct loop *loop, int *ret_peer_fd);
/* One that is not open is fine. */
void umad_queue_close(struct umad_queue *q);
/* Send what waits for the end of the turn. */
void umad_queue_flush(struct umad_queue *q);
/* Take all that the program has sent so far. */
void umad_queue_take(struct umad_queue *q);
/* `bytes` has all of it, m->length. What a program that does not read has no room for is
 * lost, as on hardware. */
void umad_queue_put(struct umad_queue *q, const struct uapi_umad_message *m,
		    const uint8_t *bytes);

/*
 * A port that a client has opened. Created by UMAD_OPEN, found by its client alone, freed
 * with it.
 */
struct umad_port {
	struct uapi_client *client;
	uint32_t device_id, port_num;
	struct umad_queue queue;
	struct umad_agent *agents[UAPI_UMAD_AGENTS_MAX];
	struct list sends; /* struct umad_send: for whose end their agents wait */
	unsigned int send_count;
	size_t send_bytes;
};

int umad_port_create(struct uapi_client *c, struct ib_device *device, uint32_t port_num,
		     int *ret_peer_fd);
void umad_port_destroy(struct umad_port *port);
int umad_port_register(struct umad_port *port, const struct uapi_umad_register *req,
		       uint32_t *ret_agent);
int umad_port_unregister(struct umad_port *port, uint32_t agent);
/* `bytes` has all of it, m->length. */
int umad_port_send(struct umad_port *port, const struct uapi_umad_message *m,
		   const uint8_t *bytes);

#endif
