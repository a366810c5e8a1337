/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a fabric consists of: channel adapters, switches and the links between them, read
 * from a file in ibnetdiscover's form (the one ibsim reads too) or made from a short form.
 * Checked and complete: names and GUIDs are unique, links lead to ports that exist.
 */
#ifndef FABRIC_NET_TOPOLOGY_H
#define FABRIC_NET_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOPOLOGY_NODES_MAX 20000u
#define TOPOLOGY_PORTS_MAX 254u /* of a switch */

struct topology_node {
	char name[64];
	bool is_switch;
	uint64_t node_guid; /* host order; port GUIDs of an adapter: + port number */
	uint16_t ports;     /* without a switch's port 0 */
	struct topology_link *links; /* [1 .. ports] */
	uint32_t mft_cap; /* switches: multicast entries, 0: none; default 1024 */
};

/* The far end; node UINT32_MAX: none. */
struct topology_link {
	uint32_t node;
	uint16_t port;
};

struct topology {
	struct topology_node *nodes; /* adapters and switches, in the order of the file */
	uint32_t count;
};

/* -EINVAL: `error` (may be null) says which line and what. -ENOMEM. */
int topology_parse(const char *text, size_t length, struct topology **ret, char *error,
		   size_t error_room);
/* One switch and `hosts` adapters h1 .. hN; GUIDs follow from the seed. */
int topology_star(unsigned int hosts, uint64_t guid_seed, struct topology **ret);
/* `switches` in a ring, `hosts_per_switch` on each. */
int topology_ring(unsigned int switches, unsigned int hosts_per_switch,
		  uint64_t guid_seed, struct topology **ret);
/* Three levels of switches with `k` ports, k*k*k/4 hosts; k even, 4 .. 36. */
int topology_fat_tree(unsigned int k, uint64_t guid_seed, struct topology **ret);
/* Two levels: leaves with `hosts` each, every leaf linked to every spine. */
int topology_two_level(unsigned int leaves, unsigned int spines, unsigned int hosts,
		       uint64_t guid_seed, struct topology **ret);
void topology_destroy(struct topology *t);

#endif
