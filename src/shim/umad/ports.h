/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports that are open. A port id is the descriptor of the port's own socket, so programs
 * may poll it; beside it stands the connection on which verbcastd is asked.
 */
#ifndef SHIM_UMAD_PORTS_H
#define SHIM_UMAD_PORTS_H

#include <pthread.h>

#include "site.h"

struct port;

/* Null: no port of ours is open under this number. A port that is got has to be put. */
struct port *port_get(int portid);
void port_put(struct port *port);
int port_call(struct port *port, struct uapi_call *call);

/* Held while a message is taken off a socket, so that two threads do not share one; never
 * while one is waited for. */
extern pthread_mutex_t ports_receive_lock;

#endif
