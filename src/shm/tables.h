/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables of a site: who is there, which ports, queue pairs and groups exist.
 *
 * One memory file, written by verbcastd alone and mapped read-only by every client
 * (sealed against shrinking, growing and future writable mappings). It has no pointers
 * and no locks; every field that changes after publication is atomic. Offsets and the
 * meaning of each state: docs/shm-layout.md.
 *
 * Readers are engines on the send path. They need no epoch and no retry loop:
 *
 *   - A group entry carries a generation. Whoever changes the entry's members first
 *     stores the member word (T1), then the next generation with release (T2). A sender
 *     loads the generation with acquire (pairs with T2), then copies the member words,
 *     and stamps every datagram with the generation it loaded. It keeps the copy until
 *     the generation differs from its own. While the youngest of all, which is stored
 *     last (T7), stays as it was, no entry's differs, and none need be looked at.
 *   - A receiver remembers the generation that its attach returned and takes only
 *     datagrams stamped with that one or a later one. So a send that begins after the
 *     attach returned reaches it, one stamped before does not, and a stale member copy,
 *     or an entry that serves another group by now, is harmless.
 *   - Generations come from one counter of the site, so those of different entries can be
 *     compared: that of an attach holds for all entries that lead to the member. Those of
 *     an entry never go back, not even when the entry is freed and used for another group.
 *
 * On RoCE a group of a port has one entry for as long as it has a member. On InfiniBand the
 * switches decide from which ports a member is reached, and entries come and go while
 * members stay: a receiver looks up what the entry of a datagram is (shm_group_view), and
 * whether it leads to it. What was stamped before the entry was linked is not the entry's.
 * Bits of processes are changed in a linked entry by attach and detach alone; when a route
 * comes or goes, the entry is replaced by a new one (shm_group_relink), or given up with
 * its bits. So what was stamped before the route was there does not count for it, and what
 * was stamped while it was is not lost.
 */
#ifndef SHM_TABLES_H
#define SHM_TABLES_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/limits.h"

#define SHM_TABLES_MAGIC   0x31424154424356ull /* "VCBTAB1" */
#define SHM_LAYOUT_VERSION 6u

#define SHM_NONE UINT32_MAX /* no entry, no port, no slot */

enum shm_slot_state {
	SHM_SLOT_FREE = 0,
	SHM_SLOT_LIVE = 1,
	SHM_SLOT_DEAD =
		2, /* process gone; its log may still be read, the slot not reused */
};

/* A process of the site. Identity is slot and incarnation, never a process number. */
struct shm_slot {
	_Atomic uint32_t incarnation; /* grows with every use of the slot; 0: never used */
	_Atomic uint32_t state;       /* enum shm_slot_state */
	uint32_t node;                /* fixed while LIVE or DEAD */
	uint32_t reserved[13];
};
static_assert(sizeof(struct shm_slot) == 64, "shm layout");

enum shm_gid_type {
	SHM_GID_IB = 0,
	SHM_GID_ROCE_V1 = 1,
	SHM_GID_ROCE_V2 = 2,
};

struct shm_gid_entry {
	uint8_t gid[16];
	_Atomic uint32_t
		valid;    /* 0: empty; else the entry's serial number, never reused */
	uint32_t type;    /* enum shm_gid_type */
	uint32_t ifindex; /* network interface behind it, 0: none */
	uint32_t reserved;
};
static_assert(sizeof(struct shm_gid_entry) == 32, "shm layout");

enum shm_link_layer {
	SHM_LINK_INFINIBAND = 1,
	SHM_LINK_ETHERNET = 2,
};

enum shm_port_flags {
	SHM_PORT_NETWORK =
		1u << 0, /* others may be behind it, whom no wire reaches yet */
};

/* What verbs say of it, in their numbers; the subnet manager's part is 0 on Ethernet. */
struct shm_port {
	uint32_t node;
	uint32_t device;   /* index in the device list of the site */
	uint32_t port_num; /* from 1 */
	uint32_t link_layer;
	_Atomic uint32_t state;      /* enum ibv_port_state */
	_Atomic uint32_t active_mtu; /* enum ibv_mtu */
	_Atomic uint32_t lid;
	_Atomic uint32_t generation; /* +1 after any change of this port */
	_Atomic uint32_t flags;      /* enum shm_port_flags */
	_Atomic uint32_t lmc, sm_lid, sm_sl, subnet_timeout, init_type_reply;
	_Atomic uint32_t cap_mask, phys_state, max_mtu, max_vl_num;
	_Atomic uint32_t active_width, active_speed;
	_Atomic uint32_t pkey_violations, qkey_violations;
	_Atomic uint32_t pkey_count, gid_count; /* lengths of the tables, as told */
	uint32_t reserved[8];
	_Atomic uint16_t pkeys[SHM_PKEYS_MAX]; /* host order, 0: empty */
	struct shm_gid_entry gids[SHM_GIDS_MAX];
};
static_assert(sizeof(struct shm_port) == 128 + 64 + 1024, "shm layout");

/* Which unicast LIDs lead from an InfiniBand port to the port that has them: what the
 * switches' tables say. A bit is true for a LID that a port has at present. */
struct shm_reach {
	_Atomic uint64_t lids[SHM_LID_WORDS];
};

/* A queue pair number of a device, for unicast: which process runs it. One word, so a
 * reader sees all of an entry or none of it. 0: empty; linear probing. Removal shifts
 * later entries back, so there are no tombstones and nothing to rebuild; a reader that
 * finds nothing looks again if `qps_generation` moved (odd: a shift is under way). */
typedef _Atomic uint64_t shm_qp_word;
static inline uint64_t shm_qp_pack(uint32_t device, uint32_t qpn, uint32_t slot)
{
	return 1ull << 63 | (uint64_t)(device & 0x7fff) << 48 |
	       (uint64_t)(qpn & 0xffffff) << 24 | (slot & 0xffffff);
}

/* A compiled entry: what a datagram that leaves port `ingress` for `mgid` reaches. Given
 * up, it shows what it was until it is used again, which is as late as can be. */
struct shm_group {
	uint8_t mgid[16];      /* fixed while linked */
	uint32_t ingress;      /* index in ports[], fixed while linked */
	_Atomic uint32_t next; /* next entry of the bucket, SHM_NONE: last */
	_Atomic uint64_t generation;
	_Atomic uint32_t linked; /* 0: the entry is free */
	uint32_t free_next;      /* writer's: next free entry + 1 */
	_Atomic uint64_t since;  /* the generation in which it was linked */
	_Atomic uint32_t mlid;   /* multicast LID, 0 on Ethernet; fixed while linked */
	_Atomic uint32_t naming; /* odd while MGID, ingress, MLID and `since` change */
	uint32_t reserved[2];
	_Atomic uint64_t members[SHM_SLOT_WORDS]; /* a bit a process that has a member */
};
static_assert(sizeof(struct shm_group) == 64 + 128, "shm layout");
static_assert(offsetof(struct shm_group, members) == 64, "shm layout");

/* A rule of shm/faults.h. */
#define SHM_FAULT_WORDS 16u
struct shm_fault_words {
	_Atomic uint64_t words[SHM_FAULT_WORDS];
};

struct shm_tables_header {
	uint64_t magic;
	uint32_t layout_version;
	uint32_t header_bytes;
	uint64_t file_bytes;
	uint64_t site_id;                   /* random, differs for every life of a site */
	_Atomic uint64_t groups_generation; /* +1 before and +1 after an entry is linked or
					     * unlinked: odd while a chain changes */
	_Atomic uint32_t dead;              /* 1: verbcastd ended this site in order */
	_Atomic uint32_t qps_generation;    /* the same of qps[] */
	uint32_t groups_free;               /* writer's: first free entry + 1 */
	uint32_t groups_used; /* writer's: entries from here on were never used */
	uint32_t qps_linked;  /* writer's */
	_Atomic uint32_t ports_generation;   /* +1 after any change of any port */
	_Atomic uint32_t devices_generation; /* +1 after a device came or went: what a
					      * process knows of the list is true while it
					      * stays the same */
	uint32_t groups_free_last;           /* writer's: the last free entry + 1 */
	uint32_t groups_free_count;          /* writer's */
	_Atomic uint64_t generation; /* the youngest of all group entries; grows after
				      * that of the entry */
	_Atomic uint32_t faults;     /* 0: there is no rule (shm/faults.h) */
	uint32_t faults_last;        /* writer's: what it was last, but for 0 */
};
static_assert(sizeof(struct shm_tables_header) <= 4096, "shm layout");

struct shm_tables {
	union {
		struct shm_tables_header h;
		uint8_t header_page[4096];
	};
	struct shm_slot slots[SHM_SLOTS_MAX];
	struct shm_port ports[SHM_PORTS_MAX];
	shm_qp_word qps[SHM_QP_BUCKETS];
	/* index + 1 of the first entry, 0: none */
	_Atomic uint32_t group_buckets[SHM_GROUP_BUCKETS];
	struct shm_group groups[SHM_GROUPS_MAX];
	struct shm_reach reach[SHM_PORTS_MAX]; /* as ports */
	struct shm_fault_words faults[SHM_FAULTS_MAX];
};
static_assert(offsetof(struct shm_tables, slots) == 4096, "shm layout");
static_assert(offsetof(struct shm_tables, ports) == 4096 + 64 * SHM_SLOTS_MAX,
	      "shm layout");

/*
 * Reading side; any process. `t` is mapped read-only and `bytes` long.
 */

/* 0, or -EPROTO when the file is not a table file of this layout version. */
int shm_tables_check(const struct shm_tables *t, size_t bytes);

/* The entry for (ingress, mgid, mlid), or SHM_NONE. Bounded whatever the file holds. */
uint32_t shm_group_find(const struct shm_tables *t, uint32_t ingress,
			const uint8_t mgid[16], uint16_t mlid);
/* Is there one for (ingress, mgid) with whatever MLID? Bounded. */
bool shm_group_exists(const struct shm_tables *t, uint32_t ingress,
		      const uint8_t mgid[16]);

/* Copy the member words of an entry, and the generation they belong to. False: by now
 * the entry is not the one for (ingress, mgid, mlid). */
bool shm_group_read(const struct shm_tables *t, uint32_t entry, uint32_t ingress,
		    const uint8_t mgid[16], uint16_t mlid,
		    uint64_t members[SHM_SLOT_WORDS], uint64_t *ret_generation);

/* What an entry is, or was before it was given up: for a receiver in `slot`. */
struct shm_group_view {
	uint8_t mgid[16];
	uint32_t ingress;
	uint16_t mlid;
	bool member;         /* the slot's bit stands */
	uint64_t since;      /* what is stamped earlier was meant for another entry */
	uint64_t generation; /* of this view: what is stamped later has to be looked up */
};
/* False: no such entry, or it kept changing; say nothing of it then. Bounded. */
bool shm_group_view(const struct shm_tables *t, uint32_t entry, uint32_t slot,
		    struct shm_group_view *ret);

/* Does a unicast datagram from the InfiniBand port reach who has that LID? */
static inline bool shm_reaches(const struct shm_tables *t, uint32_t port, uint16_t lid)
{
	return lid / 64u < SHM_LID_WORDS &&
	       atomic_load_explicit(&t->reach[port].lids[lid / 64u],
				    memory_order_relaxed) >>
			       (lid % 64u) &
		       1;
}

/* The slot that runs `qpn` of `device`, or SHM_NONE. Bounded. */
uint32_t shm_qp_find(const struct shm_tables *t, uint32_t device, uint32_t qpn);

/*
 * Writing side; verbcastd only, single threaded.
 */
int shm_tables_create(int *ret_fd, struct shm_tables **ret_tables);
void shm_tables_destroy(int fd, struct shm_tables *t);

/* Link a new entry, without members. -ENOSPC when all are in use. */
int shm_group_link(struct shm_tables *t, uint32_t ingress, const uint8_t mgid[16],
		   uint16_t mlid, uint32_t *ret_entry);
void shm_group_unlink(struct shm_tables *t, uint32_t entry);
/*
 * Let a new entry take the place of `entry`, with the same name and the same members, but
 * for those in `changed`, which are `in` it or not. What is stamped with the old one is for
 * whom it was for. -ENOSPC: the old one stays.
 */
int shm_group_relink(struct shm_tables *t, uint32_t entry,
		     const uint64_t changed[SHM_SLOT_WORDS], bool in,
		     uint32_t *ret_entry);

/* Set or clear the bit of a process; returns the entry's new generation. A change of
 * generation is made even where the bit stays as it is (a further member in the same
 * process attaches: what was sent before must not reach it). */
uint64_t shm_group_set(struct shm_tables *t, uint32_t entry, uint32_t slot);
uint64_t shm_group_clear(struct shm_tables *t, uint32_t entry, uint32_t slot);

/* -ENOSPC when SHM_QPS_MAX are linked, -EEXIST when this one is. */
int shm_qp_link(struct shm_tables *t, uint32_t device, uint32_t qpn, uint32_t slot);
void shm_qp_unlink(struct shm_tables *t, uint32_t device, uint32_t qpn);

/* True: that was another answer. `lid` is a unicast one. */
bool shm_reach_set(struct shm_tables *t, uint32_t port, uint16_t lid, bool reached);

#endif
