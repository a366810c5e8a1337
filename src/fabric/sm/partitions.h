/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Partitions from a file, in the form of OpenSM's partitions.conf (spec/sa-sm 1.10):
 *
 *	Name=P_KEY[,ipoib][,mtu=N][,rate=N][,sl=N][,scope=N]...[,defmember=full|limited]:
 *		[mgid=MGID[,mtu=N][,rate=N][,sl=N][,Q_Key=N][,TClass=N][,FlowLabel=N]]...
 *		[MEMBER[=full|limited]][,MEMBER...] ;
 *
 * A MEMBER is ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS, SELF (the SM's port), a port GUID,
 * or what is Differs: the name of a node, for fabrics whose GUIDs nobody knows beforehand.
 * Who is not said to be either is a limited member, unless defmember is full. MTU and rate
 * are the protocol's codes. What is behind # is a comment.
 *
 * Differs: there are no made-up P_Keys, no indx0 and no member that is both; all of them
 * are errors, as is what OpenSM drops silently.
 */
#ifndef FABRIC_SM_PARTITIONS_H
#define FABRIC_SM_PARTITIONS_H

#include <stddef.h>

#include "fabric/sm/sm.h"

#define SM_PARTITIONS_BYTES_MAX (1u << 20)

struct sm_partitions {
	const struct sm_partition *list; /* as sm_config's */
	unsigned int count;
};

/* The GUID of the node's first port; 0: there is no such node. */
typedef uint64_t (*sm_partitions_guid_fn)(void *arg, const char *name);

/* -EINVAL, with "line N: ..." in `error`; -ENOMEM, with nothing there. */
int sm_partitions_parse(const char *text, size_t bytes, sm_partitions_guid_fn guid_of,
			void *arg, struct sm_partitions **ret, char *error, size_t room);
/* Null is fine. */
void sm_partitions_destroy(struct sm_partitions *p);

#endif
