/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the programs of the nodes have sent by their vib0, for the counters of the fabric's
 * ports: how many datagrams to which LID, with which P_Key, stands in the counter files of
 * the processes. The fabric asks (fabric_config.carry) when somebody wants to see counters,
 * and before its tables change, so that what was sent goes by the tables of then and no
 * datagram pays for it.
 *
 * A sender counts a moment after it has looked where the datagram goes. So what is sent
 * while tables change may be counted on the old way or on the new one.
 *
 * While some port is ARMED, which data makes ACTIVE, it is carried each second besides.
 * What the programs have refused for its keys is looked at each second while there are any,
 * and told to the fabric, which counts it at the port and tells the subnet manager.
 */
#ifndef DAEMON_TRAFFIC_H
#define DAEMON_TRAFFIC_H

#include "fabric/net/fabric.h"
#include "shm/counters.h"

struct traffic;

int traffic_create(struct timer_queue *timers, struct traffic **ret);
/* Null is fine. */
void traffic_destroy(struct traffic *t);

/* A process sends by that port from now on; its counters stay until it has ended. Null:
 * its node has no port, and nothing is counted. -ENOMEM: nothing is counted either. */
int traffic_process_began(struct traffic *t, uint32_t slot,
			  const struct shm_counters *counters, struct fabric_port *port);
/* It sends no more: what it has sent is carried. Harmless where none began. */
void traffic_process_ended(struct traffic *t, uint32_t slot);

/* Let the fabric carry what was sent to these LIDs since it was asked last. */
void traffic_carry(struct traffic *t, uint16_t first_lid, uint16_t last_lid);

#endif
