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
	SHM_LOG_UNICAST =
		1u << 2, /* a receiving slot and GID count, the entry does not */
};

static inline uint64_t shm_log_pair(uint32_t low, uint32_t high)
{
	return (uint64_t)high << 32 | low;
}
static inline uint32_t shm_log_low(uint64_t pair)
{
	return (uint32_t)pair;
}
static inline uint32_t shm_log_high(uint64_t pair)
{
	return (uint32_t)(pair >> 32);
}

#define SHM_LOG_PSN_SHIFT   40 /* told while faults are made alone */
#define SHM_LOG_PSN_TOLD    (1ull << 39)
#define SHM_LOG_PKEY_SHIFT  16
#define SHM_LOG_FLAGS_SHIFT 32
#define SHM_LOG_HOPS_SHIFT  40 /* hop limit, and behind it traffic class and SL */
#define SHM_LOG_NO_GRH      (1ull << 20) /* in the hops: InfiniBand, without a GRH */
static inline uint64_t shm_log_hops(uint8_t hop_limit, uint8_t traffic_class, uint8_t sl)
{
	return hop_limit | (uint64_t)traffic_class << 8 | (uint64_t)sl << 16;
}

/*
 * Two or more fields share a word, so that a datagram is written and read in eight words.
 * Each is atomic: a follower reads it once, relaxed, and checks and uses that copy.
 *
 *   bits     0 .. 31                        32 .. 63
 *   route    group entry, or (unicast)      ordinal: counts this sender's datagrams to
 *            slot of the receiving process  `entry`, from 1; wraps
 *   numbers  destination QP number          source QP number
 *   keys     Q_Key                          immediate data, as on the wire
 *   gids     source, as an end               destination, the same; multicast: flow
 *                                            label, 0 on RoCE
 *   shape    0 .. 15 payload bytes, 16 .. 31 P_Key, 32 .. 39 enum shm_log_flags,
 *            40 .. 47 hop limit, 48 .. 55 traffic class, 56 .. 59 SL, 60 no GRH
 *
 * An end: 0 .. 7 GID index, 8 .. 17 port, 18 .. 24 path bits of the LID (InfiniBand). Of a
 * datagram without GRH the GID indices do not count.
 */
static inline uint32_t shm_log_end(uint32_t port, uint32_t gid_index, uint32_t path_bits)
{
	return gid_index | port << 8 | path_bits << 18;
}
static inline uint32_t shm_log_end_gid(uint32_t end)
{
	return end & 0xff;
}
static inline uint32_t shm_log_end_port(uint32_t end)
{
	return end >> 8 & (SHM_PORTS_MAX - 1);
}
static inline uint32_t shm_log_end_path_bits(uint32_t end)
{
	return end >> 18 & 0x7f;
}
static_assert(SHM_PORTS_MAX == 1u << 10, "the bits of a port in an end");

struct shm_log_slot {
	_Atomic uint64_t sequence;
	_Atomic uint64_t generation; /* of the group entry, as the sender saw it; unicast:
				      * the flow label */
	_Atomic uint64_t payload_at; /* above SHM_LOG_PSN_SHIFT: the PSN, or 0 */
	_Atomic uint64_t route;
	_Atomic uint64_t numbers;
	_Atomic uint64_t keys;
	_Atomic uint64_t gids;
	_Atomic uint64_t shape;
	uint8_t payload[SHM_LOG_INLINE];
};
static_assert(sizeof(struct shm_log_slot) == 128, "shm layout");
static_assert(offsetof(struct shm_log_slot, payload) == 64, "shm layout");

struct shm_log_header {
	uint64_t magic;
	uint32_t layout_version;
	uint32_t slot; /* the owner */
	uint32_t incarnation;
	uint32_t reserved0[11];
	_Atomic uint64_t
		head; /* positions below it are published; for followers that were lapped */
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

/* Payload comes to memory in steps, as it is used: who says little takes little. */
#define SHM_LOG_STEP (256u << 10)
static_assert(SHM_LOG_PAYLOAD % SHM_LOG_STEP == 0, "whole steps");

/* Owner: create, map read-write, prefault all but the payload behind its first step, seal. */
int shm_log_create(uint32_t slot, uint32_t incarnation, int *ret_fd,
		   struct shm_log **ret);
/* Owner: prefault the step of payload that begins at `from`. */
void shm_log_prefault(struct shm_log *log, uint64_t from);
/* Anyone: verify seals and size of a descriptor that a client handed in. 0 or -EPROTO. */
int shm_log_verify(int fd);
/* Follower: map read-only, checked, not inherited by children. */
int shm_log_map(int fd, uint32_t slot, uint32_t incarnation, const struct shm_log **ret);
void shm_log_unmap(const struct shm_log *log);

#endif
