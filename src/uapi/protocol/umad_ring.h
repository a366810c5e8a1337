/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rings of an open port, one each way, in a memory file that verbcastd makes and both
 * map. Who puts a message rings a bell only if the other side listens, that is, has found
 * nothing; the bell is a packet of UAPI_UMAD_BELL on the port's socket.
 *
 * Both ends keep their own position and never take it from the ring: what the other side
 * writes there is input. A message is copied before anybody looks at it. Who dies between
 * two stores leaves messages that have not been put, or a side that is not rung; the
 * socket's end tells of it.
 *
 * Barriers: A, head after the message, with its acquire in _look; B, tail after the copy,
 * with its acquire in _put; C, head before `listens`, against `listens` before head, and
 * all that was taken before it; D,
 * tail before `wants_room`, against `wants_room` before tail.
 */
#ifndef UAPI_UMAD_RING_H
#define UAPI_UMAD_RING_H

#include <stdatomic.h>
#include <stdbool.h>

#include "uapi/protocol/protocol.h"

#define UAPI_UMAD_SLOTS 128u

struct uapi_umad_ring {
	_Atomic uint32_t head; /* how many have been put */
	uint32_t reserved0[15];
	_Atomic uint32_t tail;       /* how many have been taken */
	_Atomic uint32_t listens;    /* 1: who takes is to be rung, once */
	_Atomic uint32_t wants_room; /* 1: so is who puts, when half is free */
	uint32_t reserved1[13];
	struct {
		struct uapi_umad_message message;
		uint32_t reserved;
	} slots[UAPI_UMAD_SLOTS];
};

/* The whole file. */
struct uapi_umad_rings {
	struct uapi_umad_ring out, in; /* from the program, to it */
};
static_assert(sizeof(struct uapi_umad_rings) == 2 * (128 + 320 * UAPI_UMAD_SLOTS),
	      "protocol");

/* One side of one ring. */
struct uapi_umad_end {
	struct uapi_umad_ring *ring;
	uint32_t count; /* of what it has put, or taken */
};

int uapi_umad_rings_create(int *ret_fd, struct uapi_umad_rings **ret);
/* -EPROTO: not such a file. A forked child does not have the mapping. */
int uapi_umad_rings_map(int fd, struct uapi_umad_rings **ret);
void uapi_umad_rings_unmap(struct uapi_umad_rings *rings);

/* Put: false: there is no room. */
bool uapi_umad_ring_put(struct uapi_umad_end *e, const struct uapi_umad_message *m);
/* After one or more: the other side is to be rung, by who got this answer. False, too, if
 * all has been taken by now: a bell would be one for nothing. */
bool uapi_umad_ring_is_heard(struct uapi_umad_end *e);
/* False: half of it is free; true: the other side rings when it is. */
bool uapi_umad_ring_await_room(struct uapi_umad_end *e);
/* Take: 1, 0: there is none, -EPROTO: nonsense. It stays there until it is dropped. */
int uapi_umad_ring_look(const struct uapi_umad_end *e, struct uapi_umad_message *ret);
bool uapi_umad_ring_is_empty(const struct uapi_umad_end *e);
/* True: the other side awaits room, and is to be rung. */
bool uapi_umad_ring_drop(struct uapi_umad_end *e);
/* True: there is nothing, and the other side rings when there is. False: something has
 * come, and the other side may ring for it or not. */
bool uapi_umad_ring_listen(struct uapi_umad_end *e);

#endif
