/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The broadcast log of a sending process.
 *
 * The sender creates the memory file, maps it read-write, seals it against shrinking,
 * growing and future writable mappings, and gives it to verbcastd; followers map it
 * read-only. A datagram is written once, whatever the number of receivers; each receiver
 * follows with a cursor of its own, copies out, and reads the sequence word again.
 * Nothing is ever counted or locked, so nothing is left to repair when somebody dies.
 *
 * Positions count datagrams from 1 and never wrap (64 bit). Position p lies in header
 * slot (p - 1) % SHM_LOG_SLOTS. The sequence word of a slot is
 *      2p      position p is published,
 *      2p + 1  position p is being written, or its payload was overwritten (dead).
 * Headers and payload lie apart, so that no payload byte is ever taken for a sequence
 * word; the first SHM_LOG_INLINE payload bytes lie in the slot, the rest in the payload
 * ring at `payload_at` (64-bit, taken modulo SHM_LOG_PAYLOAD; a datagram's bytes do not
 * wrap, the sender skips the tail of the ring instead).
 */
#ifndef SHM_LOG_H
#define SHM_LOG_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/limits.h"

#define SHM_LOG_MAGIC 0x474f4c424356ull /* "VCBLOG" */

enum shm_log_flags {
	SHM_LOG_WITH_IMM = 1u << 0,
	SHM_LOG_SOLICITED = 1u << 1,
	SHM_LOG_UNICAST = 1u << 2, /* dst_slot and dst_gid count, entry does not */
};

/* Every field is atomic: a follower reads each once, relaxed, and validates that copy. */
struct shm_log_slot {
	_Atomic uint64_t sequence;
	_Atomic uint64_t generation; /* of the group entry, as the sender saw it */
	_Atomic uint64_t payload_at;
	_Atomic uint32_t entry;   /* group entry (multicast) or receiving process slot (unicast) */
	_Atomic uint32_t ordinal; /* counts this sender's datagrams to `entry`, from 1; wraps */
	_Atomic uint32_t dst_qpn;
	_Atomic uint32_t src_qpn;
	_Atomic uint32_t qkey;
	_Atomic uint32_t imm;     /* as on the wire */
	_Atomic uint32_t src_gid; /* port index << 8 | GID index of the sender */
	_Atomic uint32_t dst_gid; /* the same of the receiver (unicast), else 0 */
	_Atomic uint16_t length;  /* payload bytes */
	_Atomic uint16_t pkey;
	_Atomic uint8_t flags;    /* enum shm_log_flags */
	_Atomic uint8_t hop_limit;
	_Atomic uint8_t traffic_class;
	_Atomic uint8_t sl;
	uint8_t payload[SHM_LOG_INLINE];
};
static_assert(sizeof(struct shm_log_slot) == 128, "shm layout");
static_assert(offsetof(struct shm_log_slot, payload) == 64, "shm layout");

struct shm_log_header {
	uint64_t magic;
	uint32_t layout_version;
	uint32_t slot;        /* the owner */
	uint32_t incarnation;
	uint32_t reserved0[11];
	_Atomic uint64_t head; /* positions below it are published; for followers that were lapped */
	uint64_t reserved1[7];
};
static_assert(offsetof(struct shm_log_header, head) == 64, "shm layout");

struct shm_log {
	union {
		struct shm_log_header h;
		uint8_t header_page[4096];
	};
	struct shm_log_slot slots[SHM_LOG_SLOTS];
	uint8_t payload[SHM_LOG_PAYLOAD];
};
static_assert(offsetof(struct shm_log, slots) == 4096, "shm layout");

/* Owner: create, map read-write, prefault, seal. */
int shm_log_create(uint32_t slot, uint32_t incarnation, int *ret_fd, struct shm_log **ret);
/* Anyone: verify seals and size of a descriptor that a client handed in. 0 or -EPROTO. */
int shm_log_verify(int fd);
/* Follower: map read-only, checked, not inherited by children. */
int shm_log_map(int fd, uint32_t slot, uint32_t incarnation, const struct shm_log **ret);
void shm_log_unmap(const struct shm_log *log);

#endif
