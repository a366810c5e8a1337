/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What client programs of tests/apps that manage share: the port, one MAD, and requests to
 * the subnet administrator. Written against libibumad's API alone; a program wants it by
 * the line "links: apps_umad".
 */
#ifndef APPS_UMAD_H
#define APPS_UMAD_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#include <infiniband/umad.h>
#include <infiniband/umad_sa.h>
#include <infiniband/umad_types.h>

#include "check.h"

#define MAD_BYTES 256
#define GSI_QKEY  0x80010000
#define WAIT_MS   20000 /* reached only by a failure */

/* What a request for a membership names of its record, and one that creates the group:
 * MGID, port GID, join state; Q_Key, traffic class, P_Key, SL, flow label besides. */
#define CLIENT_MEMBER_MASK (1 << 0 | 1 << 1 | 1 << 16)
#define CLIENT_CREATE_MASK \
	(CLIENT_MEMBER_MASK | 1 << 2 | 1 << 6 | 1 << 7 | 1 << 12 | 1 << 13)

/* A message of one MAD. */
struct client_mad {
	struct ib_user_mad umad;
	uint8_t mad[MAD_BYTES];
};

/* The first port, opened. */
struct client_port {
	umad_port_t attr;
	int id;
};

/* With the library: umad_init() and umad_done(). */
void client_port_open(struct client_port *p);
void client_port_close(struct client_port *p);
/* Asks the administrator, with messages of segments; the first agent of this port: 0. */
int client_sa_agent(const struct client_port *p);

/* `umad` is all zeroes, and has this header then, which is returned. */
struct umad_hdr *client_mad_header(void *umad, uint8_t mgmt_class, uint8_t version,
				   uint8_t method, uint16_t attribute, uint64_t tid);
/* The same for the administrator, with the address. */
struct umad_sa_packet *client_sa_request(const struct client_port *p, void *umad,
					 uint8_t method, uint16_t attribute, uint64_t tid,
					 uint64_t mask);
/* The port's membership in the nth group of that kind, by an MCMemberRecord. */
void client_sa_member(const struct client_port *p, struct umad_sa_packet *sa,
		      uint8_t kind, uint32_t n, uint8_t join_state);

#endif
