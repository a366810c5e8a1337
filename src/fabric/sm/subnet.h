/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The subnet as the last sweep found it: nodes, ports, links. Written by the SM, read by
 * the SA. Sweeps take nodes away: pointers into it are good until the next timer runs.
 */
#ifndef FABRIC_SM_SUBNET_H
#define FABRIC_SM_SUBNET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/list.h"
#include "wire/smp.h"

#define SUBNET_PKEYS_MAX   128u
#define SUBNET_PKEYS_BLOCK 32u /* of an SMP, and of a record */

struct subnet_node;

struct subnet_port {
	struct subnet_node *node;
	uint8_t num;
	bool seen; /* in the last sweep, with a link that is up */
	struct smp_port_info info;
	struct subnet_port *peer; /* null: none */
	uint16_t pkeys[SUBNET_PKEYS_MAX];
	uint16_t pkey_count;
	struct hash_node by_guid; /* adapter ports and switch port 0 */
	struct hash_node by_lid;
};

struct subnet_node {
	struct list link; /* in subnet.nodes, in the order they were found */
	struct hash_node by_guid;
	struct smp_node_info info;
	uint8_t description[64];
	struct smp_switch_info switch_info; /* switches */
	struct subnet_port *ports; /* [0 .. num_ports]; 0 counts for switches alone */
	void *sm;                  /* the SM's own */
};

struct subnet {
	uint64_t prefix; /* host order */
	struct list nodes;
	uint32_t node_count;
	struct hash nodes_by_guid, ports_by_guid, ports_by_lid;
	struct subnet_port *sm_port;
};

/* The port with this GUID that has a LID: an adapter's, or port 0 of a switch. */
struct subnet_port *subnet_port_by_guid(const struct subnet *s, uint64_t guid);
/* LMC is honoured. */
struct subnet_port *subnet_port_by_lid(const struct subnet *s, uint16_t lid);
uint64_t subnet_port_guid(const struct subnet_port *port);
/* The base LID of the port, or of its switch. */
uint16_t subnet_port_lid(const struct subnet_port *port);
/* One of the port's P_Keys matches (ib_pkeys_match). */
bool subnet_port_has_pkey(const struct subnet_port *port, uint16_t pkey);
/* Some P_Key of the one matches one of the other. */
bool subnet_ports_share_pkey(const struct subnet_port *a, const struct subnet_port *b);

#endif
