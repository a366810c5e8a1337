/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nodes, ports and cables as the topology has them, found by name or number, and listed.
 */
#include "fabric/net/fabric_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MTU_CAP_DEFAULT  5u /* 4096 */
#define PKEY_CAP_DEFAULT 32u

static uint16_t whole_blocks(uint16_t pkeys)
{
	return (uint16_t)((pkeys + NET_PKEYS_BLOCK - 1) / NET_PKEYS_BLOCK *
			  NET_PKEYS_BLOCK);
}

/* What the arrays below must have room for. */
struct sizes {
	size_t ports, ends, adapter_ports, switches, pkeys;
};

static struct sizes measure(const struct topology *t, uint16_t adapter_pkeys)
{
	struct sizes s = { 0 };

	for (uint32_t i = 0; i < t->count; i++) {
		const struct topology_node *n = &t->nodes[i];
		size_t ports = n->ports + 1u; /* an adapter's 0 stays unused */

		s.ports += ports;
		s.ends += n->is_switch ? 1 : n->ports;
		s.adapter_ports += n->is_switch ? 0 : n->ports;
		s.switches += n->is_switch;
		s.pkeys += ports * (n->is_switch ? NET_SWITCH_PKEYS
						 : whole_blocks(adapter_pkeys));
	}
	return s;
}

static int allocate(struct fabric *f, const struct sizes *s, uint32_t nodes)
{
	f->nodes = calloc(nodes + 1, sizeof(*f->nodes));
	f->ports = calloc(s->ports + 1, sizeof(*f->ports));
	f->ends = calloc(s->ends + 1, sizeof(*f->ends));
	f->adapter_ports = calloc(s->adapter_ports + 1, sizeof(struct fabric_port *));
	f->switches = calloc(s->switches + 1, sizeof(struct fabric_node *));
	f->pkeys = calloc(s->pkeys + 1, sizeof(*f->pkeys));
	f->mlid_generations = calloc(NET_MLIDS, sizeof(*f->mlid_generations));
	if (!f->nodes || !f->ports || !f->ends || !f->adapter_ports || !f->switches ||
	    !f->pkeys || !f->mlid_generations)
		return -ENOMEM;
	return hash_init(&f->names);
}

static uint32_t name_hash(const char *name)
{
	return hash_bytes(0, name, strlen(name));
}

/* The next free elements of the fabric's arrays. */
struct free_parts {
	struct fabric_port *port;
	struct net_end *end;
	uint16_t *pkeys;
	char *name;
};

static void place_port(struct fabric_node *n, uint8_t num, struct free_parts *parts)
{
	struct fabric_port *p = &n->ports[num];

	*p = (struct fabric_port){ .node = n, .num = num, .pkeys = parts->pkeys };
	parts->pkeys += n->pkey_room;
	if (n->is_switch ? num != 0 : num == 0)
		return;
	p->end = parts->end++;
	list_init(&p->end->notice);
	net_traps_init(p);
	net_mkey_init(p);
	if (!n->is_switch)
		n->fabric->adapter_ports[n->fabric->adapter_port_count++] = p;
}

static void place_node(struct fabric *f, const struct topology_node *t,
		       uint16_t adapter_pkeys, struct free_parts *parts)
{
	struct fabric_node *n = &f->nodes[f->node_count];

	*n = (struct fabric_node){
		.fabric = f,
		.name = parts->name,
		.guid = t->node_guid,
		.number = f->node_count++,
		.is_switch = t->is_switch,
		.powered = true,
		.num_ports = (uint8_t)t->ports,
		.pkey_cap = t->is_switch ? NET_SWITCH_PKEYS : adapter_pkeys,
		.mft_cap = t->is_switch ? t->mft_cap : 0,
		.ports = parts->port,
		.positions = (t->ports + 16u) / 16u,
	};
	n->pkey_room = whole_blocks(n->pkey_cap);
	memcpy(parts->name, t->name, sizeof(t->name));
	parts->name += sizeof(t->name);
	parts->port += t->ports + 1u;
	if (n->is_switch)
		f->switches[f->switch_count++] = n;
	for (unsigned int i = 0; i <= n->num_ports; i++)
		place_port(n, (uint8_t)i, parts);
	hash_insert(&f->names, &n->by_name, name_hash(n->name));
	net_node_reset(n);
}

static void lay_cables(struct fabric *f, const struct topology *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		for (unsigned int p = 1; p <= t->nodes[i].ports; p++) {
			const struct topology_link *l = &t->nodes[i].links[p];

			if (l->node != UINT32_MAX)
				f->nodes[i].ports[p].peer =
					&f->nodes[l->node].ports[l->port];
		}
	}
	for (uint32_t i = 0; i < t->count; i++) {
		net_for_each_port(p, &f->nodes[i]) net_link_update(p);
	}
}

static int build(struct fabric *f, const struct topology *t, uint16_t pkey_cap)
{
	struct sizes s = measure(t, pkey_cap);
	struct free_parts parts;
	int r = allocate(f, &s, t->count);

	if (r < 0)
		return r;
	f->node_names = calloc(t->count + 1, sizeof(t->nodes[0].name));
	if (!f->node_names)
		return -ENOMEM;
	f->port_count = (uint32_t)s.ports;
	parts = (struct free_parts){ f->ports, f->ends, f->pkeys, f->node_names };
	for (uint32_t i = 0; i < t->count; i++)
		place_node(f, &t->nodes[i], pkey_cap, &parts);
	lay_cables(f, t);
	return 0;
}

int fabric_create(const struct fabric_config *config, struct fabric **ret)
{
	uint16_t pkey_cap = config->pkey_cap ? config->pkey_cap : PKEY_CAP_DEFAULT;
	struct fabric *f;
	int r;

	if (pkey_cap > NET_PKEYS_MAX || config->mtu_cap > MTU_CAP_DEFAULT)
		return -EINVAL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->timers = config->timers;
	f->random = config->random;
	f->hop_latency_ns = config->hop_latency_ns;
	f->mtu_cap = config->mtu_cap ? config->mtu_cap : MTU_CAP_DEFAULT;
	list_init(&f->flights);
	list_init(&f->spare_flights);
	net_notify_init(f);
	r = build(f, config->topology, pkey_cap);
	if (r < 0) {
		fabric_destroy(f);
		return r;
	}
	/* Nobody asked before, so nobody hears of the links that came up. */
	f->routes_changed = config->routes_changed;
	f->multicast_changed = config->multicast_changed;
	f->carry = config->carry;
	f->arg = config->arg;
	*ret = f;
	return 0;
}

void fabric_destroy(struct fabric *f)
{
	if (!f)
		return;
	net_flights_drop(f);
	timer_disarm(&f->notify);
	for (uint32_t i = 0; i < f->node_count; i++) {
		struct fabric_node *n = &f->nodes[i];

		net_tables_clear(n);
		net_for_each_port(p, n)
		{
			free(p->vl_arb);
			if (p->end) {
				net_traps_stop(p);
				net_mkey_stop(p);
				free(p->end->security);
			}
		}
	}
	hash_fini(&f->names);
	free(f->nodes);
	free(f->ports);
	free(f->ends);
	free(f->adapter_ports);
	free(f->switches);
	free(f->pkeys);
	free(f->mlid_generations);
	free(f->node_names);
	free(f);
}

/* -- finding ----------------------------------------------------------------------- */

static struct fabric_node *find_node(struct fabric *f, const char *name)
{
	hash_for_each_match(node, &f->names, name_hash(name)) {
		struct fabric_node *n = container_of(node, struct fabric_node, by_name);

		if (strcmp(n->name, name) == 0)
			return n;
	}
	return NULL;
}

struct fabric_port *fabric_hca_port(struct fabric *f, unsigned int n)
{
	return n < f->adapter_port_count ? f->adapter_ports[n] : NULL;
}

struct fabric_port *fabric_switch_port(struct fabric *f, unsigned int n)
{
	return n < f->switch_count ? &f->switches[n]->ports[0] : NULL;
}

struct fabric_port *fabric_find_port(struct fabric *f, const char *node,
				     unsigned int port)
{
	struct fabric_node *n = find_node(f, node);

	if (!n)
		return NULL;
	if (n->is_switch)
		return port ? NULL : &n->ports[0];
	if (!port)
		port = 1;
	return port <= n->num_ports ? &n->ports[port] : NULL;
}

/* -- what an operator does --------------------------------------------------------- */

int fabric_link_set(struct fabric *f, const char *node, unsigned int port, bool up)
{
	struct fabric_node *n = find_node(f, node);
	struct fabric_port *p;

	if (!n || !port || port > n->num_ports || !n->ports[port].peer)
		return -ENOENT;
	p = &n->ports[port];
	p->pulled = !up;
	p->peer->pulled = !up;
	net_link_update(p);
	return 0;
}

int fabric_power_set(struct fabric *f, const char *node, bool on)
{
	struct fabric_node *n = find_node(f, node);

	if (!n)
		return -ENOENT;
	if (n->powered == on)
		return 0;
	net_count_all_sent(f);
	n->powered = on;
	/* Going down, the neighbours' ports fall first; coming up, all is as new. */
	if (on)
		net_node_reset(n);
	net_for_each_port(p, n) net_link_update(p);
	if (!on)
		net_node_reset(n);
	net_for_each_port(p, n) net_port_changed(
		p, FABRIC_PORT_STATE | FABRIC_PORT_LID | FABRIC_PORT_SM |
			   FABRIC_PORT_PKEYS | FABRIC_PORT_GIDS | FABRIC_PORT_OTHER);
	net_routes_changed(f);
	return 0;
}

void fabric_trouble_set(struct fabric *f, const struct fabric_trouble *trouble)
{
	f->trouble = *trouble;
}

/* -- listings ---------------------------------------------------------------------- */

void fabric_counters(const struct fabric *f, struct fabric_counters *ret)
{
	*ret = f->counters;
}

uint64_t fabric_routes_generation(const struct fabric *f)
{
	return f->generation;
}

uint64_t fabric_unicast_generation(const struct fabric *f)
{
	return f->unicast_generation;
}

uint64_t fabric_mlid_generation(const struct fabric *f, uint16_t mlid)
{
	uint64_t of_mlid = f->mlid_generations[mlid & (NET_MLIDS - 1)];

	return of_mlid > f->unicast_generation ? of_mlid : f->unicast_generation;
}

unsigned int fabric_node_count(const struct fabric *f)
{
	return f->node_count;
}

void fabric_node_view(const struct fabric *f, unsigned int n,
		      struct fabric_node_view *ret)
{
	const struct fabric_node *node = &f->nodes[n];

	*ret = (struct fabric_node_view){
		.name = node->name,
		.is_switch = node->is_switch,
		.powered = node->powered,
		.node_guid = node->guid,
		.ports = node->num_ports,
		.lid = node->ports[!node->is_switch].info.lid,
		.lmc = node->ports[!node->is_switch].info.lmc,
	};
}

void fabric_link_view(const struct fabric *f, unsigned int node, unsigned int port,
		      struct fabric_link_view *ret)
{
	const struct fabric_port *p = &f->nodes[node].ports[port];

	*ret = (struct fabric_link_view){
		.connected = p->peer,
		.up = p->linked,
		.peer = p->peer ? p->peer->node->number : UINT32_MAX,
		.peer_port = p->peer ? p->peer->num : 0,
		.state = p->info.state,
		.phys_state = p->info.phys_state,
	};
}

bool fabric_mft_has(const struct fabric *f, unsigned int node, uint16_t mlid,
		    unsigned int port)
{
	const struct fabric_node *n = &f->nodes[node];
	const uint16_t *masks;

	if (!n->is_switch || !ib_lid_is_multicast(mlid) || port > n->num_ports)
		return false;
	if (!net_mft_covers(n, mlid))
		return false;
	masks = net_mft_masks(n, mlid - IB_LID_MULTICAST_BASE);
	return masks && masks[port / 16] >> port % 16 & 1;
}

void fabric_port_info(const struct fabric_port *port, struct fabric_port_info *ret)
{
	const struct fabric_node *n = port->node;

	*ret = (struct fabric_port_info){
		.node = n->name,
		.node_guid = n->guid,
		.port_guid = port->end->guids[0],
		.sys_guid = n->guid,
		.port_num = port->num,
		.info = port->info,
		.pkey_count = n->pkey_cap,
	};
	ret->info.local_port = port->num;
	memcpy(ret->pkeys, port->pkeys, n->pkey_cap * sizeof(*ret->pkeys));
	memcpy(ret->guids, port->end->guids, sizeof(ret->guids));
}
