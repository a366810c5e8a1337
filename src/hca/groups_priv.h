/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_GROUPS_PRIV_H
#define HCA_GROUPS_PRIV_H

#include "hca/hca_priv.h"

/* How many members of a group a process has: its bit in the entries stands while any. */
struct hca_group_process {
	struct list link;
	uint32_t slot;
	uint32_t members;
};

/*
 * A group that a port of this device is in, and its compiled entries: one for each port
 * from which the group's datagrams come here. Created by the first attach, freed by the
 * last detach; found by (port, MGID).
 */
struct hca_group {
	struct hash_node node;
	struct list link; /* in device.group_list */
	union ib_gid mgid;
	uint32_t port_num;
	uint32_t *entries;
	uint32_t entry_count;
	struct list members; /* struct hca_member, in order of attach */
	uint32_t member_count;
	struct list processes; /* struct hca_group_process */
};

/* A queue pair in a group, from attach to detach; found by (queue pair, MGID). */
struct hca_member {
	struct hash_node node;
	struct list group_link;
	struct list qp_link;
	struct hca_group *group;
	struct hca_qp *qp;
	struct hca_group_process *process;
	uint32_t counters;
	uint64_t generation; /* of entries[0] when it attached */
};

#endif
