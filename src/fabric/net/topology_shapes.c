/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Topologies in a short form. Adapters h1 .. hN have one port and come before the
 * switches; a switch's low ports lead down, its high ports up or around.
 */
#include "fabric/net/topology_priv.h"

#include <errno.h>
#include <stdio.h>

struct shape {
	struct topology_builder b;
	uint64_t next_guid;
};

/* The upper 40 bits come of the seed, the lower 24 count. */
static uint64_t first_guid(uint64_t seed)
{
	uint64_t z = seed + 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	z ^= z >> 31;
	/* A locally administered, individual address, and so never 0. */
	return ((z & 0xfcffffffff000000ull) | 0x0200000000000000ull) + 1;
}

static int add_some(struct shape *s, const char *prefix, unsigned int count,
		    bool is_switch, unsigned int ports)
{
	char name[64];

	for (unsigned int i = 1; i <= count; i++) {
		int r;

		snprintf(name, sizeof(name), "%s%u", prefix, i);
		r = topology_add(&s->b, name, is_switch, (uint16_t)ports);
		if (r < 0)
			return r;
		topology_last(&s->b)->node_guid = s->next_guid;
		s->next_guid += is_switch ? 1 : ports + 1;
	}
	return 0;
}

static int shape_begin(struct shape *s, uint64_t guid_seed, unsigned int hosts)
{
	int r = topology_builder_init(&s->b);

	if (r < 0)
		return r;
	s->next_guid = first_guid(guid_seed);
	r = add_some(s, "h", hosts, false, 1);
	if (r < 0)
		topology_destroy(s->b.t);
	return r;
}

static int shape_end(struct shape *s, int r, struct topology **ret)
{
	if (r < 0)
		topology_destroy(s->b.t);
	else
		*ret = s->b.t;
	return r;
}

static void connect_ports(struct shape *s, uint32_t a, unsigned int a_port, uint32_t b,
			  unsigned int b_port)
{
	topology_connect(s->b.t, a, (uint16_t)a_port, b, (uint16_t)b_port);
}

/* Adapter 0, 1, ... to ports 1 .. `each` of the switches from `first` on. */
static void link_hosts(struct shape *s, uint32_t first, unsigned int switches,
		       unsigned int each)
{
	uint32_t host = 0;

	for (uint32_t sw = 0; sw < switches; sw++) {
		for (unsigned int port = 1; port <= each; port++)
			connect_ports(s, host++, 1, first + sw, port);
	}
}

int topology_star(unsigned int hosts, uint64_t guid_seed, struct topology **ret)
{
	struct shape s;
	int r;

	if (!hosts || hosts > TOPOLOGY_PORTS_MAX)
		return -EINVAL;
	r = shape_begin(&s, guid_seed, hosts);
	if (r < 0)
		return r;
	r = add_some(&s, "s", 1, true, hosts);
	if (r == 0)
		link_hosts(&s, hosts, 1, hosts);
	return shape_end(&s, r, ret);
}

static bool fits(uint64_t switches, uint64_t hosts)
{
	return switches + hosts <= TOPOLOGY_NODES_MAX;
}

int topology_ring(unsigned int switches, unsigned int hosts_per_switch,
		  uint64_t guid_seed, struct topology **ret)
{
	unsigned int hosts, next = hosts_per_switch + 1, previous = hosts_per_switch + 2;
	struct shape s;
	int r;

	if (switches < 2 || hosts_per_switch > TOPOLOGY_PORTS_MAX - 2 ||
	    !fits(switches, (uint64_t)switches * hosts_per_switch))
		return -EINVAL;
	hosts = switches * hosts_per_switch;
	r = shape_begin(&s, guid_seed, hosts);
	if (r < 0)
		return r;
	r = add_some(&s, "s", switches, true, previous);
	if (r < 0)
		return shape_end(&s, r, ret);
	link_hosts(&s, hosts, switches, hosts_per_switch);
	for (unsigned int i = 0; i < switches; i++)
		connect_ports(&s, hosts + i, next, hosts + (i + 1) % switches, previous);
	return shape_end(&s, 0, ret);
}

/* Pods of k/2 edge and k/2 aggregation switches; the n-th aggregation switch of each pod
 * leads to the n-th k/2 of the core. */
static void link_fat_tree(struct shape *s, unsigned int k, uint32_t edge, uint32_t agg,
			  uint32_t core)
{
	unsigned int half = k / 2;

	link_hosts(s, edge, k * half, half);
	for (unsigned int pod = 0; pod < k; pod++) {
		for (unsigned int i = 0; i < half * half; i++) {
			unsigned int a = i / half, n = i % half;

			connect_ports(s, edge + pod * half + n, half + a + 1,
				      agg + pod * half + a, n + 1);
			connect_ports(s, agg + pod * half + a, half + n + 1, core + i,
				      pod + 1);
		}
	}
}

int topology_fat_tree(unsigned int k, uint64_t guid_seed, struct topology **ret)
{
	unsigned int half = k / 2, hosts = k * half * half;
	struct shape s;
	int r;

	if (k < 4 || k > 36 || k % 2)
		return -EINVAL;
	r = shape_begin(&s, guid_seed, hosts);
	if (r < 0)
		return r;
	r = add_some(&s, "edge", k * half, true, k);
	if (r == 0)
		r = add_some(&s, "agg", k * half, true, k);
	if (r == 0)
		r = add_some(&s, "core", half * half, true, k);
	if (r == 0)
		link_fat_tree(&s, k, hosts, hosts + k * half, hosts + 2 * k * half);
	return shape_end(&s, r, ret);
}

int topology_two_level(unsigned int leaves, unsigned int spines, unsigned int hosts,
		       uint64_t guid_seed, struct topology **ret)
{
	struct shape s;
	int r;

	if (!leaves || !spines || leaves > TOPOLOGY_PORTS_MAX ||
	    spines > TOPOLOGY_PORTS_MAX || hosts > TOPOLOGY_PORTS_MAX - spines ||
	    !fits(leaves + spines, (uint64_t)leaves * hosts))
		return -EINVAL;
	r = shape_begin(&s, guid_seed, leaves * hosts);
	if (r < 0)
		return r;
	r = add_some(&s, "leaf", leaves, true, hosts + spines);
	if (r == 0)
		r = add_some(&s, "spine", spines, true, leaves);
	if (r < 0)
		return shape_end(&s, r, ret);
	link_hosts(&s, leaves * hosts, leaves, hosts);
	for (unsigned int l = 0; l < leaves; l++) {
		for (unsigned int p = 0; p < spines; p++)
			connect_ports(&s, leaves * hosts + l, hosts + p + 1,
				      leaves * hosts + leaves + p, l + 1);
	}
	return shape_end(&s, 0, ret);
}
