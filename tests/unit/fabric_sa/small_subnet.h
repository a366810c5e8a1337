/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A subnet written by hand, and in place of the SM one that says what it is told to: hosts
 * H1, H2, ... with one port each at switch S1. H1 is the SM's. All ports have 2048 bytes
 * and 10 Gb/s and are full members of the default partition, until a test changes them.
 */
#ifndef FABRIC_SA_SMALL_SUBNET_H
#define FABRIC_SA_SMALL_SUBNET_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/sa/sa_server.h"
#include "fabric/sm/subnet.h"

#define SMALL_HOSTS_MAX   64
#define SMALL_HOST_GUID   0x100001ull /* of H1's port; the next is 2 more */
#define SMALL_SWITCH_GUID 0x200000ull
#define SMALL_SWITCH_LID  100
#define SMALL_PREFIX      0xfe80000000000000ull

/* An order of the SA's, until the pretended SM has done it. */
struct small_order {
	struct timer timer;
	struct sm *sm;
	uint16_t mlid;
	void (*done)(void *arg, int error);
	void *arg;
	struct small_order *next;
};

/* A question of the SA's, until the pretended port answers it. */
struct sm_smp {
	struct timer timer;
	struct sm *sm;
	struct sm_question *question;
	const struct subnet_port *port;
	uint16_t attr;
	uint32_t mod;
	bool set;
	uint8_t data[SMP_DATA_BYTES];
	struct sm_smp *next;
};

struct sm {
	struct subnet subnet;
	struct subnet_node nodes[SMALL_HOSTS_MAX + 1]; /* [0] is the switch */
	struct subnet_port host_ports[SMALL_HOSTS_MAX + 1][2];
	struct subnet_port switch_ports[SMALL_HOSTS_MAX + 1];
	unsigned int hosts;
	struct timer_queue *timers;
	uint32_t capacity;
	uint64_t route_ns;           /* what an order takes */
	int route_error;             /* how orders end */
	unsigned int orders;         /* so many were given */
	uint16_t ordered_mlid;       /* the last */
	struct sm_mc_member last[8]; /* its first members */
	unsigned int last_count;
	struct small_order *open;
	uint64_t ask_ns; /* what an answer takes */
	int ask_error;
	unsigned int mute; /* this host's port answers nothing */
	struct sm_smp *asked;
	unsigned int questions; /* so many were asked, and so many are open at the most */
	unsigned int asked_now, asked_most;
	/* Of an adapter's port, block 0. */
	uint64_t guids[SMALL_HOSTS_MAX + 1][8];
	void (*sent)(void *arg, const struct ib_packet *packet);
	void *arg;
};

static inline uint32_t small_guid_hash(uint64_t guid)
{
	return hash_bytes(0, &guid, sizeof(guid));
}

static inline struct subnet_port *small_host(struct sm *sm, unsigned int host)
{
	return &sm->host_ports[host][1];
}

static inline uint64_t small_guid(unsigned int host)
{
	return SMALL_HOST_GUID + 2 * (host - 1);
}

static inline void small_gid(union ib_gid *gid, uint64_t prefix, uint64_t guid)
{
	for (unsigned int i = 8; i--; prefix >>= 8, guid >>= 8) {
		gid->raw[i] = (uint8_t)prefix;
		gid->raw[8 + i] = (uint8_t)guid;
	}
}

/* To the general services of a port, from another's. */
static inline struct ib_packet small_packet(uint16_t from, uint16_t to,
					    const uint8_t *payload, size_t length)
{
	return (struct ib_packet){ .slid = from,
				   .dlid = to,
				   .pkey = 0xffff,
				   .dest_qp = IB_QP_GSI,
				   .src_qp = IB_QP_GSI,
				   .qkey = IB_GSI_QKEY,
				   .payload = payload,
				   .length = (uint32_t)length };
}

static inline void small_link(struct subnet_port *port, uint16_t lid)
{
	port->seen = true;
	port->info.lid = lid;
	port->info.gid_prefix = SMALL_PREFIX;
	port->info.neighbor_mtu = 4;
	port->info.mtu_cap = 4;
	port->info.guid_cap = lid ? 8 : 0;
	port->info.width_active = 2;
	port->info.speed_active = 1;
	port->info.state = SMP_PORT_ACTIVE;
	port->info.phys_state = SMP_PHYS_LINK_UP;
	port->pkeys[0] = 0xffff;
	port->pkey_count = 1;
}

static inline void small_add_node(struct sm *sm, struct subnet_node *node, uint8_t type,
				  uint64_t guid, struct subnet_port *ports,
				  const char *name)
{
	node->info = (struct smp_node_info){
		.base_version = 1,
		.class_version = 1,
		.node_type = type,
		.num_ports = type == SMP_NODE_SWITCH ? SMALL_HOSTS_MAX : 1,
		.sys_guid = guid,
		.node_guid = guid,
		.port_guid = type == SMP_NODE_SWITCH ? guid : guid + 1,
		.partition_cap = 32,
		.local_port = type == SMP_NODE_SWITCH ? 0 : 1,
	};
	memcpy(node->description, name, strlen(name));
	node->ports = ports;
	list_append(&sm->subnet.nodes, &node->link);
	hash_insert(&sm->subnet.nodes_by_guid, &node->by_guid, small_guid_hash(guid));
	sm->subnet.node_count++;
}

static inline void small_add_port(struct sm *sm, struct subnet_port *port)
{
	hash_insert(&sm->subnet.ports_by_guid, &port->by_guid,
		    small_guid_hash(subnet_port_guid(port)));
	hash_insert(&sm->subnet.ports_by_lid, &port->by_lid, port->info.lid);
}

static inline void small_add_host(struct sm *sm, unsigned int host)
{
	char name[] = { 'H', (char)('0' + host / 10), (char)('0' + host % 10), 0 };
	struct subnet_port *port = small_host(sm, host);
	struct subnet_port *peer = &sm->switch_ports[host];

	small_add_node(sm, &sm->nodes[host], SMP_NODE_CA, small_guid(host) - 1,
		       sm->host_ports[host], name);
	*port = (struct subnet_port){ .node = &sm->nodes[host], .num = 1, .peer = peer };
	small_link(port, (uint16_t)host);
	small_add_port(sm, port);
	*peer = (struct subnet_port){ .node = &sm->nodes[0],
				      .num = (uint8_t)host,
				      .peer = port };
	small_link(peer, 0);
}

static inline void small_subnet_init(struct sm *sm, unsigned int hosts,
				     struct timer_queue *timers)
{
	memset(sm, 0, sizeof(*sm));
	sm->hosts = hosts;
	sm->timers = timers;
	sm->capacity = 1024;
	sm->subnet.prefix = SMALL_PREFIX;
	list_init(&sm->subnet.nodes);
	hash_init(&sm->subnet.nodes_by_guid);
	hash_init(&sm->subnet.ports_by_guid);
	hash_init(&sm->subnet.ports_by_lid);
	small_add_node(sm, &sm->nodes[0], SMP_NODE_SWITCH, SMALL_SWITCH_GUID,
		       sm->switch_ports, "S1");
	for (unsigned int i = 0; i <= SMALL_HOSTS_MAX; i++)
		sm->switch_ports[i] =
			(struct subnet_port){ .node = &sm->nodes[0], .num = (uint8_t)i };
	small_link(&sm->switch_ports[0], SMALL_SWITCH_LID);
	small_add_port(sm, &sm->switch_ports[0]);
	for (unsigned int host = 1; host <= hosts; host++)
		small_add_host(sm, host);
	sm->subnet.sm_port = small_host(sm, 1);
}

/* Hosts have 2^lmc LIDs each: H1 from 1 << lmc on. */
static inline void small_set_lmc(struct sm *sm, uint8_t lmc)
{
	for (unsigned int host = 1; host <= sm->hosts; host++) {
		struct subnet_port *port = small_host(sm, host);

		hash_remove(&sm->subnet.ports_by_lid, &port->by_lid);
		port->info.lid = (uint16_t)(host << lmc);
		port->info.lmc = lmc;
		hash_insert(&sm->subnet.ports_by_lid, &port->by_lid, port->info.lid);
	}
}

/* As a sweep that does not find the port. */
static inline void small_lose(struct sm *sm, unsigned int host)
{
	small_host(sm, host)->seen = false;
}

static inline void small_smp_free(struct sm_smp *smp)
{
	struct sm_smp **p = &smp->sm->asked;

	while (*p != smp)
		p = &(*p)->next;
	*p = smp->next;
	smp->sm->asked_now--;
	smp->question->smp = NULL;
	timer_disarm(&smp->timer);
	free(smp);
}

static inline void small_subnet_fini(struct sm *sm)
{
	while (sm->asked)
		small_smp_free(sm->asked);
	while (sm->open) {
		struct small_order *order = sm->open;

		sm->open = order->next;
		timer_disarm(&order->timer);
		free(order);
	}
	hash_fini(&sm->subnet.nodes_by_guid);
	hash_fini(&sm->subnet.ports_by_guid);
	hash_fini(&sm->subnet.ports_by_lid);
}

/* -- what the server calls ----------------------------------------------------------- */

uint64_t subnet_port_guid(const struct subnet_port *port)
{
	return port->node->info.port_guid;
}

uint16_t subnet_port_lid(const struct subnet_port *port)
{
	return port->node->info.node_type == SMP_NODE_SWITCH
		       ? port->node->ports[0].info.lid
		       : port->info.lid;
}

struct subnet_port *subnet_port_by_guid(const struct subnet *s, uint64_t guid)
{
	hash_for_each_match(node, &s->ports_by_guid, small_guid_hash(guid)) {
		struct subnet_port *port =
			container_of(node, struct subnet_port, by_guid);

		if (subnet_port_guid(port) == guid)
			return port;
	}
	return NULL;
}

struct subnet_port *subnet_port_by_lid(const struct subnet *s, uint16_t lid)
{
	for (unsigned int lmc = 0; lmc <= SM_LMC_MAX; lmc++) {
		uint16_t first = (uint16_t)(lid & ~((1u << lmc) - 1));

		hash_for_each_match(node, &s->ports_by_lid, first) {
			struct subnet_port *port =
				container_of(node, struct subnet_port, by_lid);

			if (port->info.lmc >= lmc)
				return port;
		}
	}
	return NULL;
}

bool subnet_port_has_pkey(const struct subnet_port *port, uint16_t pkey)
{
	for (unsigned int i = 0; i < port->pkey_count; i++) {
		if (ib_pkeys_match(port->pkeys[i], pkey))
			return true;
	}
	return false;
}

bool subnet_ports_share_pkey(const struct subnet_port *a, const struct subnet_port *b)
{
	for (unsigned int i = 0; i < a->pkey_count; i++) {
		if (subnet_port_has_pkey(b, a->pkeys[i]))
			return true;
	}
	return false;
}

const struct subnet *sm_subnet(const struct sm *sm)
{
	return &sm->subnet;
}

/* Where there is no room there is none for anybody. */
bool sm_can_route(const struct sm *sm, uint16_t mlid, uint64_t port_guid)
{
	return false;
}

uint32_t sm_mlid_capacity(const struct sm *sm)
{
	return sm->capacity;
}

/* Each host is behind the port of its number, which is its LID, or what comes of it. */
const uint8_t *sm_lft_block(const struct subnet_node *node, unsigned int block)
{
	static uint8_t table[SM_LFT_BLOCK_LIDS];
	uint8_t sm_lmc = node->ports[1].peer ? node->ports[1].peer->info.lmc : 0;

	for (unsigned int i = 0; i < SM_LFT_BLOCK_LIDS; i++)
		table[i] = (uint8_t)(i >> sm_lmc);
	return node->info.node_type == SMP_NODE_SWITCH && block == 0 ? table : NULL;
}

/* One group, of ports 2 and 17. */
const uint16_t *sm_mft_block(const struct subnet_node *node, unsigned int block,
			     unsigned int position)
{
	static const uint16_t tables[2][SM_MFT_BLOCK_MLIDS] = { { [1] = 1 << 2 },
								{ [1] = 1 << 1 } };

	if (node->info.node_type != SMP_NODE_SWITCH || block != 0 || position > 1)
		return NULL;
	return tables[position];
}

void sm_own_info(const struct sm *sm, struct smp_sm_info *ret)
{
	*ret = (struct smp_sm_info){ .guid = subnet_port_guid(sm->subnet.sm_port),
				     .priority = 3,
				     .state = SMP_SM_MASTER };
}

int sm_send_gsi(struct sm *sm, const struct ib_packet *packet)
{
	sm->sent(sm->arg, packet);
	return 0;
}

static inline void small_order_done(struct timer *timer)
{
	struct small_order *order = container_of(timer, struct small_order, timer);
	struct small_order **p = &order->sm->open;

	while (*p != order)
		p = &(*p)->next;
	*p = order->next;
	order->done(order->arg, order->sm->route_error);
	free(order);
}

void sm_route_group(struct sm *sm, uint16_t mlid, const struct sm_mc_member *members,
		    unsigned int count, void (*done)(void *arg, int error), void *arg)
{
	struct small_order *order = calloc(1, sizeof(*order));

	if (!order)
		order = calloc(1, sizeof(*order)); /* a test fails one of all */
	if (!order)
		abort();
	order->sm = sm;
	order->mlid = mlid;
	order->done = done;
	order->arg = arg;
	order->next = sm->open;
	sm->open = order;
	timer_init(&order->timer, sm->timers, small_order_done);
	timer_arm(&order->timer, sm->route_ns);
	sm->orders++;
	sm->ordered_mlid = mlid;
	sm->last_count = count;
	for (unsigned int i = 0; i < count && i < 8; i++)
		sm->last[i] = members[i];
}

/* GUIDs are kept; other tables show what they were asked for. */
static inline void small_smp_done(struct timer *timer)
{
	struct sm_smp *smp = container_of(timer, struct sm_smp, timer);
	struct sm *sm = smp->sm;
	struct sm_question *q = smp->question;
	uint64_t *guids = sm->guids[(smp->port->info.lid) % (SMALL_HOSTS_MAX + 1)];
	int error;
	uint8_t data[SMP_DATA_BYTES] = { (uint8_t)smp->attr, (uint8_t)(smp->mod >> 16),
					 (uint8_t)(smp->mod >> 8), (uint8_t)smp->mod };

	if (smp->attr == SMP_GUID_INFO) {
		for (unsigned int i = 0; smp->set && i < 64; i++)
			guids[i / 8] = guids[i / 8] << 8 | smp->data[i];
		guids[0] = subnet_port_guid(smp->port);
		for (unsigned int i = 0; i < 64; i++)
			data[i] = (uint8_t)(guids[i / 8] >> 8 * (7 - i % 8));
	}
	error = smp->port == small_host(sm, sm->mute) ? -ETIMEDOUT : sm->ask_error;
	small_smp_free(smp);
	q->answered(q, error, error ? NULL : data);
}

int sm_ask(struct sm *sm, struct sm_question *q, const struct subnet_port *port,
	   uint16_t attr, uint32_t mod, const uint8_t *data)
{
	struct sm_smp *smp = calloc(1, sizeof(*smp));

	if (!smp)
		return -ENOMEM;
	*smp = (struct sm_smp){ .sm = sm,
				.question = q,
				.port = port,
				.attr = attr,
				.mod = mod,
				.set = data,
				.next = sm->asked };
	if (data)
		memcpy(smp->data, data, SMP_DATA_BYTES);
	timer_init(&smp->timer, sm->timers, small_smp_done);
	timer_arm(&smp->timer, sm->ask_ns);
	q->smp = smp;
	sm->asked = smp;
	sm->questions++;
	if (++sm->asked_now > sm->asked_most)
		sm->asked_most = sm->asked_now;
	return 0;
}

void sm_question_drop(struct sm_question *q)
{
	if (q->smp)
		small_smp_free(q->smp);
}

#endif
