/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was: the last counters of members that left their group or died, of queue pairs
 * that were destroyed, and of processes that ended. Bounded; the oldest go first.
 */
#ifndef DAEMON_HISTORY_H
#define DAEMON_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "core/verbs/ib_verbs.h"
#include "daemon/slots.h"

#define HISTORY_MEMBERS   1024u
#define HISTORY_PROCESSES 256u
#define HISTORY_QPS       64u /* of one process */

struct history_group_key {
	uint32_t site_device;
	uint32_t port_num;
	uint8_t mgid[16];
};

struct history_member {
	struct hash_node node; /* by group, newest first within its bucket's matches */
	struct list link;      /* oldest first */
	bool shown;            /* status.c's, while it makes one status */
	struct history_group_key group;
	char node_name[64], device[64];
	pid_t pid;
	char program[64];
	uint32_t qpn;
	uint64_t delivered;
	uint64_t drops[DROP_MEMBER_REASONS];
};

struct history_qp {
	uint32_t qpn;
	char device[64];
	uint64_t sent, sent_bytes, received, received_bytes;
	uint64_t drops[DROP_REASONS];
};

/* A process, from its first destroyed queue pair on; in history->ended once it is gone. */
struct history_process {
	struct list link;
	uint32_t slot;
	pid_t pid;
	char program[64];
	char node[64];
	uint64_t drops[DROP_REASONS];
	uint32_t qp_count;
	struct history_qp qps[HISTORY_QPS];
};

struct history {
	struct hash members;
	struct list member_list;
	uint32_t member_count;
	struct list running; /* struct history_process of live processes */
	struct list ended;
	uint32_t ended_count;
};

int history_init(struct history *h);
void history_fini(struct history *h);

void history_member_left(struct history *h, const struct slot_view *p,
			 struct ib_device *device, const uint8_t mgid[16], uint32_t qpn,
			 uint32_t counters);
void history_qp_left(struct history *h, const struct slot_view *p,
		     struct ib_device *device, uint32_t qpn, uint32_t counters);
/* The numbers of one that lives. */
void history_qp_read(struct history_qp *to, const struct shm_qp_counters *c);
void history_process_ended(struct history *h, const struct slot_view *p);

uint32_t history_group_hash(const struct history_group_key *key);
bool history_group_equal(const struct history_group_key *a,
			 const struct history_group_key *b);
void history_group_key(struct history_group_key *key, struct ib_device *device,
		       uint32_t port_num, const uint8_t mgid[16]);

#endif
