/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The doorbell file of a process: who has something for it, whether it sleeps, and how
 * far it has read each sender's log.
 *
 * Created by verbcastd, sealed against shrinking and growing, mapped read-write by every
 * process of the site. Everything in it is a hint: a peer that scribbles here delays the
 * owner or makes it look in vain, no more (spec/dataplane 8). Whoever sleeps re-checks
 * by time, and senders ring again at their gate.
 *
 * Everybody sleeps on one futex word, `wakes`, as one of two sorts (enum shm_sleeper),
 * told apart by the futex bit set:
 *   - a thread blocked in ibv_get_cq_event, or the helper while a CQ is armed, sleeps
 *     exactly: its bit in `sleeping` is set, and whoever sets a doorbell bit that was
 *     clear takes the bits and wakes those sorts;
 *   - the helper of a program that merely does not poll sleeps with its bit clear; only
 *     a sender at its gate, or verbcastd, kicks it.
 */
#ifndef SHM_DOORBELL_H
#define SHM_DOORBELL_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/limits.h"

#define SHM_DOORBELL_MAGIC 0x4c4c4542444356ull /* "VCDBELL" */

enum shm_sleeper {
	SHM_SLEEPER_WAITER = 1u << 0, /* threads in engine_wait */
	SHM_SLEEPER_HELPER = 1u << 1, /* the engine's helper thread */
	SHM_SLEEPER_ALL = SHM_SLEEPER_WAITER | SHM_SLEEPER_HELPER,
};

/* How far the owner has read the log of the process in slot i; one line each, so that
 * senders do not meet. Advice: a wrong value costs time or a drop, never safety. */
struct shm_cursor {
	_Atomic uint64_t position;    /* next position the owner will read */
	_Atomic uint32_t incarnation; /* of the sender; 0: never followed */
	uint32_t reserved[13];
};
static_assert(sizeof(struct shm_cursor) == SHM_CACHE_LINE, "shm layout");

struct shm_doorbell {
	uint64_t magic; /* this line: for people who look into the file */
	uint32_t layout_version;
	uint32_t slot; /* the owner */
	uint32_t incarnation;
	uint32_t reserved0[11];

	/* line 1, 2, 3: a bit a sender slot, and above it a bit a word */
	_Atomic uint64_t summary;
	uint64_t reserved1[7];
	_Atomic uint64_t words[SHM_SLOT_WORDS];

	/* line 4: sleep */
	_Atomic uint32_t wakes;    /* futex; grows with every wake and kick */
	_Atomic uint32_t sleeping; /* enum shm_sleeper: who wants to hear of a new bit */
	_Atomic uint32_t kicks;    /* grows with every kick */
	_Atomic uint32_t reserved2;
	uint64_t reserved3[6];

	uint8_t pad[4096 - 64 * 5];
	struct shm_cursor cursors[SHM_SLOTS_MAX];
};
static_assert(offsetof(struct shm_doorbell, summary) == 64, "shm layout");
static_assert(offsetof(struct shm_doorbell, words) == 128, "shm layout");
static_assert(offsetof(struct shm_doorbell, wakes) == 256, "shm layout");
static_assert(offsetof(struct shm_doorbell, cursors) == 4096, "shm layout");

/* Create the file (verbcastd). The descriptor is sealed; close it by close(2). */
int shm_doorbell_create(uint32_t slot, uint32_t incarnation, int *ret_fd);
/* Map it read-write, not inherited by children. The descriptor is verbcastd's: its size
 * and seals are checked (-EPROTO), what stands in it is not, for every peer writes there,
 * and one that scribbles must not keep others from ringing. */
int shm_doorbell_map(int fd, struct shm_doorbell **ret);
void shm_doorbell_unmap(struct shm_doorbell *d);

/* Sender: set the bit of `sender` if it is clear, and wake an exact sleeper if so.
 * The caller has published before and passed a full barrier. Returns true if it woke. */
bool shm_doorbell_ring(struct shm_doorbell *d, uint32_t sender);
/* Sender at its gate, verbcastd at a funeral: set the bit and wake whoever there is. */
void shm_doorbell_kick(struct shm_doorbell *d, uint32_t sender);

/* Owner: count up `wakes` and wake these sorts of sleepers. */
void shm_doorbell_wake(struct shm_doorbell *d, uint32_t sleepers);
/* Owner: sleep as one sort while `wakes` is `seen`. 0, -EINTR, -ETIMEDOUT; -1: no limit. */
int shm_doorbell_sleep(struct shm_doorbell *d, uint32_t sleeper, uint32_t seen,
		       int timeout_ms);

#endif
