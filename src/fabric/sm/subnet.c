/* SPDX-License-Identifier: BSD-2-Clause */
/* The database: nodes, ports, and the tables they are found by. */
#include "fabric/sm/sm_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

uint32_t sm_guid_hash(uint64_t guid)
{
	return hash_bytes(0, &guid, sizeof(guid));
}

static uint32_t lid_hash(uint16_t lid)
{
	return hash_bytes(0, &lid, sizeof(lid));
}

/* -- for everybody --------------------------------------------------------------------- */

uint64_t subnet_port_guid(const struct subnet_port *port)
{
	const struct smp_node_info *info = &port->node->info;

	if (sm_is_switch(port->node))
		return info->port_guid;
	/* NodeInfo names the GUID of the port it was asked at; they go up by one. */
	return info->port_guid + port->num - info->local_port;
}

struct subnet_port *subnet_port_by_guid(const struct subnet *s, uint64_t guid)
{
	hash_for_each_match(node, &s->ports_by_guid, sm_guid_hash(guid)) {
		struct subnet_port *port =
			container_of(node, struct subnet_port, by_guid);

		if (subnet_port_guid(port) == guid)
			return port;
	}
	return NULL;
}

static struct subnet_port *port_at_lid(const struct subnet *s, uint16_t lid)
{
	hash_for_each_match(node, &s->ports_by_lid, lid_hash(lid)) {
		struct subnet_port *port = container_of(node, struct subnet_port, by_lid);

		if (port->info.lid == lid)
			return port;
	}
	return NULL;
}

struct subnet_port *subnet_port_by_lid(const struct subnet *s, uint16_t lid)
{
	for (unsigned int lmc = 0; lmc <= 7; lmc++) {
		uint16_t base = (uint16_t)(lid & ~((1u << lmc) - 1));
		struct subnet_port *port = port_at_lid(s, base);

		if (port && port->info.lmc >= lmc)
			return port;
	}
	return NULL;
}

uint16_t subnet_port_lid(const struct subnet_port *port)
{
	return sm_is_switch(port->node) ? port->node->ports[0].info.lid : port->info.lid;
}

bool subnet_port_has_pkey(const struct subnet_port *port, uint16_t pkey)
{
	for (unsigned int i = 0; i < port->pkey_count; i++)
		if (ib_pkeys_match(port->pkeys[i], pkey))
			return true;
	return false;
}

bool subnet_ports_share_pkey(const struct subnet_port *a, const struct subnet_port *b)
{
	for (unsigned int i = 0; i < a->pkey_count; i++)
		if (subnet_port_has_pkey(b, a->pkeys[i]))
			return true;
	return false;
}

/* -- nodes ----------------------------------------------------------------------------- */

int sm_subnet_init(struct sm *sm)
{
	struct subnet *s = &sm->subnet;

	s->prefix = sm->config.subnet_prefix;
	list_init(&s->nodes);
	list_init(&sm->found);
	if (hash_init(&s->nodes_by_guid) < 0 || hash_init(&s->ports_by_guid) < 0 ||
	    hash_init(&s->ports_by_lid) < 0 || hash_init(&sm->nodes) < 0)
		return -ENOMEM;
	return 0;
}

/* In the middle of a commit one end of a link may know of it, and the other not. */
static void forget_all_links(struct list *nodes)
{
	list_for_each(l, nodes) {
		struct subnet_node *node = container_of(l, struct subnet_node, link);

		for (unsigned int i = 0; i <= node->info.num_ports; i++)
			node->ports[i].peer = NULL;
	}
}

void sm_subnet_fini(struct sm *sm)
{
	struct subnet *s = &sm->subnet;

	if (!s->nodes_by_guid.buckets)
		return;
	forget_all_links(&s->nodes);
	forget_all_links(&sm->found);
	while (!list_empty(&s->nodes))
		sm_node_destroy(sm, sm_node_of(container_of(s->nodes.next,
							    struct subnet_node, link)));
	while (!list_empty(&sm->found))
		sm_node_destroy(sm, sm_node_of(container_of(sm->found.next,
							    struct subnet_node, link)));
	hash_fini(&s->nodes_by_guid);
	hash_fini(&s->ports_by_guid);
	hash_fini(&s->ports_by_lid);
	hash_fini(&sm->nodes);
	free(sm->switches);
	free(sm->ends);
	free(sm->new_switches);
	free(sm->new_ends);
}

static struct sm_switch *switch_create(struct subnet_node *node)
{
	struct sm_switch *sw = calloc(1, sizeof(*sw));

	if (!sw)
		return NULL;
	sw->node = node;
	sw->positions = (uint8_t)((node->info.num_ports + 1u + SM_PORTS_WORD - 1) /
				  SM_PORTS_WORD);
	sw->load = calloc(node->info.num_ports + 1u, sizeof(*sw->load));
	sw->edges = calloc(node->info.num_ports + 1u, sizeof(*sw->edges));
	sw->turns = calloc(node->info.num_ports + 1u, sizeof(*sw->turns));
	if (!sw->load || !sw->edges || !sw->turns) {
		sm_switch_destroy(sw);
		return NULL;
	}
	return sw;
}

void sm_switch_destroy(struct sm_switch *sw)
{
	if (!sw)
		return;
	for (uint32_t i = 0; sw->cells && i < sw->cell_count; i++) {
		if (sw->cells[i])
			list_remove(&sw->cells[i]->link);
		free(sw->cells[i]);
	}
	free(sw->cells);
	free(sw->lft_want);
	free(sw->lft_have);
	free(sw->lft_known);
	free(sw->load);
	free(sw->edges);
	free(sw->turns);
	free(sw);
}

void sm_switch_forget(struct sm_switch *sw)
{
	if (sw->lft_known)
		memset(sw->lft_known, 0, sw->lft_blocks * sizeof(*sw->lft_known));
	sw->mft_adopted = sw->inherited = false;
	for (unsigned int i = 1; i <= sw->node->info.num_ports; i++)
		sm_node_of(sw->node)->ports[i].pkeys_known = false;
	for (uint32_t i = 0; i < sw->cell_count; i++)
		if (sw->cells[i])
			sw->cells[i]->known = false;
}

static struct sm_node *node_alloc(const struct smp_node_info *info)
{
	struct subnet_node *node = calloc(1, sizeof(*node));
	struct sm_node *n = calloc(1, sizeof(*n));

	if (!node || !n)
		goto fail;
	node->info = *info;
	node->sm = n;
	n->node = node;
	node->ports = calloc(info->num_ports + 1u, sizeof(*node->ports));
	n->ports = calloc(info->num_ports + 1u, sizeof(*n->ports));
	if (!node->ports || !n->ports)
		goto fail;
	if (info->node_type == SMP_NODE_SWITCH) {
		n->sw = switch_create(node);
		if (!n->sw)
			goto fail;
	}
	for (unsigned int i = 0; i <= info->num_ports; i++) {
		node->ports[i].node = node;
		node->ports[i].num = (uint8_t)i;
	}
	return n;
fail:
	if (node)
		free(node->ports);
	if (n)
		free(n->ports);
	free(node);
	free(n);
	return NULL;
}

struct sm_node *sm_node_create(struct sm *sm, const struct smp_node_info *info)
{
	struct sm_node *n = node_alloc(info);

	if (!n) {
		log_warning("sm: no memory for node %016llx",
			    (unsigned long long)info->node_guid);
		return NULL;
	}
	list_append(&sm->found, &n->node->link);
	hash_insert(&sm->nodes, &n->by_guid, sm_guid_hash(info->node_guid));
	return n;
}

struct sm_node *sm_node_find(const struct sm *sm, uint64_t guid)
{
	hash_for_each_match(entry, &sm->nodes, sm_guid_hash(guid)) {
		struct sm_node *n = container_of(entry, struct sm_node, by_guid);

		if (n->node->info.node_guid == guid)
			return n;
	}
	return NULL;
}

static void forget_links(const struct subnet_node *gone, struct subnet_node *node)
{
	for (unsigned int i = 0; i <= node->info.num_ports; i++)
		if (node->ports[i].peer && node->ports[i].peer->node == gone)
			node->ports[i].peer = NULL;
}

void sm_node_destroy(struct sm *sm, struct sm_node *n)
{
	struct subnet_node *node = n->node;

	sm_smp_cancel_node(sm, node);
	for (unsigned int i = 0; i <= node->info.num_ports; i++) {
		struct subnet_port *peer = node->ports[i].peer;

		sm_port_withdraw(sm, &node->ports[i]);
		sm_port_set_lid(sm, &node->ports[i], 0);
		if (peer)
			forget_links(node, peer->node);
		if (sm->own == &node->ports[i])
			sm->own = sm->subnet.sm_port = NULL;
		if (sm->master == &node->ports[i])
			sm->master = NULL;
		if (sm->dead == &node->ports[i])
			sm->dead = NULL;
		for (unsigned int r = 0; r < sm->remote_count; r++)
			if (sm->remotes[r].port == &node->ports[i])
				sm->remotes[r].port = NULL;
	}
	if (n->committed) {
		hash_remove(&sm->subnet.nodes_by_guid, &node->by_guid);
		sm->subnet.node_count--;
	}
	hash_remove(&sm->nodes, &n->by_guid);
	list_remove(&node->link);
	sm_switch_destroy(n->sw);
	free(n->ports);
	free(node->ports);
	free(n);
	free(node);
}

/* -- ports ----------------------------------------------------------------------------- */

/* Two ports with one GUID: the first keeps it, the other is left alone (spec/sa-sm 3.5). */
void sm_port_publish(struct sm *sm, struct subnet_port *port)
{
	struct sm_port *p = sm_port_of(port);
	uint64_t guid = subnet_port_guid(port);

	if (p->has_guid)
		return;
	if (subnet_port_by_guid(&sm->subnet, guid)) {
		log_warning("sm: more than one port has GUID %016llx",
			    (unsigned long long)guid);
		sm->duplicates++;
		return;
	}
	hash_insert(&sm->subnet.ports_by_guid, &port->by_guid, sm_guid_hash(guid));
	p->has_guid = true;
}

void sm_port_withdraw(struct sm *sm, struct subnet_port *port)
{
	struct sm_port *p = sm_port_of(port);

	if (!p->has_guid)
		return;
	hash_remove(&sm->subnet.ports_by_guid, &port->by_guid);
	p->has_guid = false;
}

void sm_port_set_lid(struct sm *sm, struct subnet_port *port, uint16_t lid)
{
	struct sm_port *p = sm_port_of(port);

	if (p->has_lid)
		hash_remove(&sm->subnet.ports_by_lid, &port->by_lid);
	p->has_lid = lid != 0;
	p->lid = lid;
	port->info.lid = lid;
	port->info.lmc = lid ? sm_lmc_of(sm, port) : 0;
	if (lid)
		hash_insert(&sm->subnet.ports_by_lid, &port->by_lid, lid_hash(lid));
}

void sm_port_take_info(const struct sm *sm, struct subnet_port *port,
		       const struct smp_port_info *now)
{
	struct sm_port *p = sm_port_of(port);

	port->info = *now;
	port->info.client_rereg = 0;
	p->lid_there = now->lid;
	p->lmc_there = now->lmc;
	if (!p->lid)
		return;
	port->info.lid = p->lid;
	port->info.lmc = sm_lmc_of(sm, port);
}
