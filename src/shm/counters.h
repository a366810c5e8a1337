/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counter file of a process: written by its engine, mapped read-only by verbcastd,
 * which shows it (`verbcast status`) and keeps the last values of members that left.
 * Created by verbcastd, sealed against shrinking and growing. Values are relaxed atomics.
 */
#ifndef SHM_COUNTERS_H
#define SHM_COUNTERS_H

#include <assert.h>
#include <stddef.h>
#include <stdatomic.h>
#include <stdint.h>

#include "shm/drop_reasons.h"
#include "shm/limits.h"

#define SHM_COUNTERS_MAGIC 0x544e434243u /* "VCCNT" */

/* A member: one queue pair attached to one group. With `delivered` 64 bytes. */
struct shm_member_counters {
	_Atomic uint32_t drops[14]; /* the first reasons of drop_reasons.def; saturating */
};
static_assert(sizeof(struct shm_member_counters) == 56, "shm layout");

struct shm_qp_counters {
	_Atomic uint64_t sent; /* datagrams that left post_send for the fabric */
	_Atomic uint64_t sent_bytes;
	_Atomic uint64_t received; /* completions with payload, unicast and multicast */
	_Atomic uint64_t received_bytes;
	_Atomic uint64_t drops[28]; /* by reason: on send, and unicast on receive */
};
static_assert(sizeof(struct shm_qp_counters) == 256, "shm layout");

/* A rule that this process carries out, by its place in the tables (shm/faults.h). */
struct shm_fault_counters {
	_Atomic uint32_t rule; /* its id; the numbers are of this one alone */
	uint32_t reserved;
	_Atomic uint64_t matched;
	_Atomic uint64_t applied;
	_Atomic uint64_t skipped; /* was to be applied, and could not */
};
static_assert(sizeof(struct shm_fault_counters) == 32, "shm layout");

/* Where datagrams went: to one LID, with one P_Key of the InfiniBand port's table. That is
 * what the switches' counters are made of (daemon/traffic.h). */
struct shm_flow_counters {
	_Atomic uint64_t sent;
	_Atomic uint64_t sent_bytes;
};
static_assert(sizeof(struct shm_flow_counters) == 16, "shm layout");

struct shm_counters {
	uint64_t magic;
	uint32_t layout_version;
	uint32_t slot;
	/* Datagrams on InfiniBand that were refused for these, for the port's counters. */
	_Atomic uint64_t pkey_violations, qkey_violations;
	uint64_t reserved[4];
	_Atomic uint64_t drops[32]; /* what no queue pair can be named for */
	struct shm_fault_counters faults[SHM_FAULTS_MAX];
	uint8_t pad[4096 - 64 - 256 - 32 * SHM_FAULTS_MAX];
	struct shm_qp_counters qps[SHM_QP_COUNTERS];
	struct shm_member_counters members[SHM_MEMBER_COUNTERS];
	/* of each member; close together, for there may be many, and each is written now and
	 * then */
	_Atomic uint64_t delivered[SHM_MEMBER_COUNTERS];
	/* A bit a LID to which a flow was begun, and of each the indices of its P_Keys. RoCE
	 * has no LIDs, and no flows. */
	_Atomic uint64_t flow_lids[SHM_LIDS_MAX / 64];
	_Atomic uint32_t flow_pkeys[SHM_LIDS_MAX];
	struct shm_flow_counters flows[SHM_PKEYS_MAX][SHM_LIDS_MAX];
};
static_assert(SHM_PKEYS_MAX == 32, "a bit each in flow_pkeys");
static_assert(offsetof(struct shm_counters, qps) == 4096, "shm layout");

/* What its process has written there: to be shown, never to be relied on. */
static inline uint64_t shm_count(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

int shm_counters_create(uint32_t slot, int *ret_fd);
int shm_counters_map(int fd, int writable, struct shm_counters **ret);
void shm_counters_unmap(struct shm_counters *c);

#endif
