/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports that are open. A port id is the descriptor of the port's own socket, so programs
 * may poll it; beside it stands the connection on which verbcastd is asked.
 */
#ifndef SHIM_UMAD_PORTS_H
#define SHIM_UMAD_PORTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/descriptor.h"
#include "base/list.h"
#include "site.h"
#include "uapi/protocol/umad_ring.h"

/*
 * Requests that may be under way, counted by a hash of agent, class and transaction. While
 * there is none of its kind a new one cannot be the second of its transaction, which
 * verbcastd would refuse, and is sent without asking. Too many are counted at worst.
 */
#define PORT_REQUESTS 1024u

/* Created by open, found by its number until close or until the program has closed the
 * descriptor itself, freed when nobody uses it any more. */
struct port {
	struct list link; /* in the table of ports.c */
	struct descriptor socket;
	struct uapi_connection *connection;
	unsigned int refs;       /* guarded by ports.c's lock */
	bool told_of_end;        /* guarded by ports.c's lock */
	_Atomic uint32_t agents; /* a bit each that is registered */
	_Atomic uint8_t requests[PORT_REQUESTS];
	struct uapi_umad_rings *rings;
	pthread_mutex_t send_lock; /* held while a message is put into the ring */
	struct uapi_umad_end out;  /* guarded by send_lock */
	struct uapi_umad_end in;   /* guarded by ports_receive_lock, as is the next */
	bool is_rung; /* the bell of what is in the ring was seen, and is in the socket */
};

/* Null: no port of ours is open under this number. A port that is got has to be put. */
struct port *port_get(int portid);
void port_put(struct port *port);
/* Of its end, which its socket says: it is from now on. */
bool port_was_told_of_its_end(int portid);
int port_call(struct port *port, struct uapi_call *call);

/* Held while a message is taken off a ring; never while one is waited for. */
extern pthread_mutex_t ports_receive_lock;

#endif
