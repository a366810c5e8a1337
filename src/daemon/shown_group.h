/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A group as `fabric show` marks it: who is in it, which our subnet administrator knows,
 * and by which links its datagrams go, which is what the switches' tables say, whoever
 * wrote them.
 */
#ifndef DAEMON_SHOWN_GROUP_H
#define DAEMON_SHOWN_GROUP_H

#include <netinet/in.h>

#include "daemon/site.h"

struct shown_member {
	uint64_t port_guid;
	uint8_t join_state;
};

struct shown_group {
	struct fabric *net;
	uint16_t mlid;
	char mgid[INET6_ADDRSTRLEN]; /* empty: nobody told */
	/* In the order of GUIDs; a port that is in by more than one of its GUIDs is here as
	 * often. */
	struct shown_member *members;
	unsigned int count;
};

/* The group of that MGID, or of that MLID if `mgid` is null. -ENOENT: no administrator of
 * ours has it, which does no harm to an MLID; -ENOMEM. */
int shown_group_init(struct shown_group *g, const struct site *s,
		     const union ib_gid *mgid, uint16_t mlid);
void shown_group_fini(struct shown_group *g);

/* How the node's port is in it, bits of all its GUIDs together; 0: it is not. */
uint8_t shown_group_join_state(const struct shown_group *g, const char *node,
			       unsigned int port);
/* Do datagrams of the group leave the node by this port? From an adapter, what it sends as
 * a member, if the switch has an entry. */
bool shown_group_leaves(const struct shown_group *g, unsigned int node,
			unsigned int port);

#endif
