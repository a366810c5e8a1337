/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Groups, their members, and the compiled entries that lead to them.
 *
 * A group belongs to a port, an entry to the site: one (ingress port, MGID, MLID) leads to
 * the processes of all ports that are reached from there. A process is a node's, and that
 * has one port of a kind: so a process's bit in an entry is one group's affair.
 */
#ifndef HCA_GROUPS_PRIV_H
#define HCA_GROUPS_PRIV_H

#include "hca/hca_priv.h"

/* An entry of the tables. Created for the first group it leads to, freed after the last;
 * found by its name. */
struct hca_entry {
	struct hash_node node; /* in site.entries */
	union ib_gid mgid;
	uint32_t ingress;
	uint16_t mlid;
	uint32_t index; /* in shm_tables.groups; another one when it was replaced */
	uint32_t uses;  /* groups */
};

/* How many members of a group a process has: its bit in the entries stands while any. */
struct hca_group_process {
	struct list link;
	uint32_t slot;
	uint32_t members;
};

/*
 * A group that a port of this device is in, and the entries that lead to it: one for each
 * port from which the group's datagrams come here. Created by the first attach, freed by
 * the last detach; found by (port, MGID).
 */
struct hca_group {
	struct hash_node node;
	struct list link;           /* in device.group_list */
	struct list compile_link;   /* in device.compiled or site.stale */
	struct hash_node mlid_node; /* in site.mlids */
	struct hca_device *device;
	union ib_gid mgid;
	uint16_t mlid; /* of the attaches; 0 on Ethernet, where none counts */
	uint32_t port_num;
	uint64_t routes; /* generation of the path's answer that `entries` follow */
	/* The port's own first, then in the order of the ports. */
	struct hca_entry **entries;
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
	uint64_t generation; /* the first that its attach made */
};

/* entries.c. The bits of the group's processes are set, and cleared. */
/* -ENOMEM: no memory, or no place in the tables. */
int hca_entry_get(struct hca_group *group, uint32_t ingress, struct hca_entry **ret);
void hca_entry_put(struct hca_group *group, struct hca_entry *entry);

/* compile.c */
/* Have the entries that the path's answer demands. On failure some of the wanted ones are
 * missing, and the port's own may be one of them. */
int hca_group_compile(struct hca_group *group);
/* Have none. */
void hca_group_uncompile(struct hca_group *group);

#endif
