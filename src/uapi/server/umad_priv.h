/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Between the files of the libibumad commands: umad_cmd.c (the table, what ports are like),
 * umad_port.c (an open port: its agents and what they send) and umad_queue.c (the port's
 * rings and its socket, by which its messages go to and from the program).
 */
#ifndef UAPI_SERVER_UMAD_PRIV_H
#define UAPI_SERVER_UMAD_PRIV_H

#include "base/list.h"
#include "core/mad/ib_mad.h"
#include "loop/loop.h"
#include "uapi/protocol/umad_ring.h"
#include "uapi/server/command_priv.h"

/* The messages of an open port, both ways: in its rings, and beside them what has no room
 * there. What came together in a turn of the loop rings once, at its end. */
struct umad_queue {
	int fd; /* our end of the port's socket; -1: not open */
	struct loop *loop;
	struct loop_io *io;
	struct loop_timer *again; /* more of what the program has sent, in the next turn */
	struct loop_late late;
	struct uapi_umad_rings *rings;
	struct uapi_umad_end out, in;
	bool broken;          /* nothing is to be expected from it any more */
	struct list messages; /* struct queued_message that wait for room, `count` */
	struct list files;    /* the same: they are in the ring, and are to be fetched */
	unsigned int count;
	size_t bytes; /* of both */
	/* From the loop, or from umad_queue_take: what the program sends; its end is
	 * closed, or what it writes is nonsense. */
	void (*sent)(void *arg, const struct uapi_umad_message *m);
	void (*closed)(void *arg);
	void *arg;
};

/* The program gets the socket and the rings' file. */
int umad_queue_open(struct umad_queue *q, struct loop *loop, int ret_fds[2]);
/* One that is not open is fine. */
void umad_queue_close(struct umad_queue *q);
/* Ring, if the program listens, for what waits for the end of the turn. */
void umad_queue_flush(struct umad_queue *q);
/* The bytes of the oldest long message; -ENOENT: there is none. It is gone in any case. */
int umad_queue_fetch(struct umad_queue *q, int *ret_fd);
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

/* The descriptors of UMAD_OPEN. */
int umad_port_create(struct uapi_client *c, struct ib_device *device, uint32_t port_num,
		     int ret_fds[2]);
void umad_port_destroy(struct umad_port *port);
int umad_port_register(struct umad_port *port, const struct uapi_umad_register *req,
		       uint32_t *ret_agent);
int umad_port_unregister(struct umad_port *port, uint32_t agent);
/* `bytes` has all of it, m->length. */
int umad_port_send(struct umad_port *port, const struct uapi_umad_message *m,
		   const uint8_t *bytes);

#endif
