/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of a fabric, for the files of this folder.
 *
 *	fabric.c            nodes and ports, listings
 *	link.c              physical links, power, the port state machine
 *	tables.c            unicast and multicast forwarding tables
 *	walk.c              from hop to hop by the tables; fabric_walk_*
 *	directed.c          from hop to hop by a directed route
 *	packet.c            sending, flights, delivery
 *	sma*.c  pma.c       what firmware answers
 *	mkey.c              whom it answers
 *	violations.c        keys that do not fit
 *	trap.c  notify.c    what it says unasked, to the SM and to whoever is attached
 *
 * All memory belongs to the fabric and lives as long as it; flights live until they
 * arrive. Nodes, ports and cables never change: what does is state.
 */
#ifndef FABRIC_NET_FABRIC_PRIV_H
#define FABRIC_NET_FABRIC_PRIV_H

#include "base/hash.h"
#include "base/list.h"
#include "fabric/net/fabric.h"
#include "wire/bytes.h"

#define NET_SWITCH_PKEYS    32u /* both of port 0 and for enforcement */
#define NET_PKEYS_BLOCK     32u
#define NET_PKEYS_MAX       128u
#define NET_GUIDS           8u
#define NET_LID_UNICAST_MAX 0xbfffu
#define NET_LFT_CAP         (NET_LID_UNICAST_MAX + 1u)
#define NET_LFT_BLOCK       64u
#define NET_LFT_NONE        0xffu
#define NET_MFT_BLOCK       32u
#define NET_VL_ARB_BLOCKS   4u

/* Why a packet went no further; one counter each (net_count_drop). */
enum net_drop {
	NET_PASSED = 0,
	NET_LOST,
	NET_NO_ROUTE,
	NET_PORT_DOWN,
	NET_BAD_HOPS,
	NET_BAD_PKEY,
	NET_BAD_QKEY,
	NET_MALFORMED,
	NET_NOBODY,
};

/* What the PMA shows. */
struct net_counters {
	uint64_t xmit_bytes, xmit_packets, rcv_bytes, rcv_packets;
	uint64_t xmit_unicast, rcv_unicast, xmit_multicast, rcv_multicast; /* packets */
	uint32_t link_downed, relay_errors, xmit_discards, xmit_constraint,
		rcv_constraint, vl15_dropped;
};

/* A notice on its way to the SM: said again until it is repressed (spec/sa-sm 3.9). */
struct net_trap {
	struct timer timer; /* armed while it is unanswered */
	struct fabric_port *port;
	uint16_t number;
	bool again;     /* it happened once more since it was said */
	bool repressed; /* and waits for the interval to end (trap.c) */
	unsigned int said;
	uint64_t tid;
};

/* Keys that did not fit at an end port, or at the ports of its switch. */
enum net_violation {
	NET_VIOLATION_MKEY,
	NET_VIOLATION_PKEY,
	NET_VIOLATION_QKEY,
	NET_VIOLATION_SWITCH_PKEY,
	NET_VIOLATIONS,
};

struct net_security {
	struct net_trap traps[NET_VIOLATIONS];
	/* What is said, and what came since. */
	uint8_t details[NET_VIOLATIONS][NOTICE_DETAILS];
	uint8_t latest[NET_VIOLATIONS][NOTICE_DETAILS];
};

struct net_mkey {
	struct timer lease; /* armed since somebody did not know the key */
	struct fabric_port *port;
};

/* What an adapter's port and a switch's port 0 have more than other ports. */
struct net_end {
	const struct fabric_port_ops *ops;
	void *arg;
	uint64_t guids[NET_GUIDS];
	unsigned int sm_by;   /* 1 << enum fabric_issm; outlives the power */
	unsigned int changes; /* not yet told */
	struct list notice;   /* in fabric->notices while there are some */
	struct net_trap link_trap, local_trap;
	struct net_mkey mkey;
	struct net_security *security; /* null: no key ever failed to fit */
};

struct fabric_port {
	struct fabric_node *node;
	struct fabric_port *peer; /* the cable's other end; null: no cable */
	struct net_end *end;      /* null: a switch's external port */
	uint8_t num;
	bool pulled; /* the cable is, by an operator; the same at both ends */
	bool linked; /* physical state LinkUp, at both ends */
	struct smp_port_info info;
	uint16_t *pkeys;       /* node->pkey_room entries */
	uint8_t (*vl_arb)[64]; /* NET_VL_ARB_BLOCKS; null: never written */
	struct net_counters counters;
};

struct fabric_node {
	struct fabric *fabric;
	struct hash_node by_name;
	const char *name;
	uint64_t guid;
	uint32_t number;
	bool is_switch, powered;
	uint8_t num_ports;
	uint16_t pkey_cap, pkey_room; /* the latter in whole blocks */
	uint32_t mft_cap;
	struct fabric_port *ports; /* [0 .. num_ports]; an adapter has no port 0 */
	/* Switches. */
	struct smp_switch_info switch_info;
	uint8_t *lft; /* lft_room entries; what lies behind is NET_LFT_NONE */
	uint32_t lft_room;
	uint16_t **mft; /* blocks: NET_MFT_BLOCK rows of `positions` masks, or null */
	uint32_t mft_blocks;
	unsigned int positions;
	uint8_t (*sl_to_vl)[8]; /* [in * (num_ports + 1) + out]; null: never written */
	/* What fabric_arrives knows: does a packet that comes into the switch arrive? */
	uint32_t arrivals_serial;
	bool arrives;
	struct fabric_node *trail; /* the switch before, while that is found out */
};

/* The question that fabric_arrivals_begin has asked. */
struct net_arrivals {
	const struct fabric_port *to;
	uint16_t dlid, pkey;
	uint32_t serial; /* of the question; nodes with another one are not known yet */
};

struct fabric {
	struct timer_queue *timers;
	struct random *random;
	uint64_t hop_latency_ns;
	uint8_t mtu_cap;
	void (*routes_changed)(void *arg);
	void (*multicast_changed)(void *arg, uint16_t first_mlid, uint32_t rows);
	void (*carry)(void *arg, uint16_t first_lid, uint16_t last_lid);
	void *arg;

	struct fabric_node *nodes;
	struct fabric_port *ports; /* of all nodes */
	struct net_end *ends;
	uint16_t *pkeys;
	char *node_names;
	uint32_t node_count, switch_count, port_count;
	struct fabric_port **adapter_ports;
	struct fabric_node **switches;
	uint32_t adapter_port_count;
	uint32_t armed_ports; /* net_set_state */
	struct hash names;

	struct list flights; /* under way */
	struct list spare_flights;
	struct list notices; /* net_end.notice */
	struct timer notify;
	uint64_t generation; /* of what fabric_walk_* answers */
	/* Of when something changed last that is more than a multicast table; and, by MLID,
	 * a multicast table. */
	uint64_t unicast_generation;
	uint64_t *mlid_generations;
	struct net_arrivals arrivals;
	uint64_t next_tid;
	struct fabric_trouble trouble;
	struct fabric_counters counters;
};

#define NET_MLIDS 0x4000u /* 0xc000 .. 0xffff */

#define net_for_each_port(p, n)                                    \
	for (struct fabric_port *p = &(n)->ports[!(n)->is_switch]; \
	     p <= &(n)->ports[(n)->num_ports]; p++)

static inline bool net_is_external(const struct fabric_port *p)
{
	return p->node->is_switch && p->num;
}

/* Where management of the node that `p` leads to is done. */
static inline struct fabric_port *net_end_of(struct fabric_port *p)
{
	return p->node->is_switch ? &p->node->ports[0] : p;
}

static inline bool net_has_lid(const struct fabric_port *p, uint16_t lid)
{
	return p->info.lid &&
	       (uint32_t)lid >> p->info.lmc == (uint32_t)p->info.lid >> p->info.lmc;
}

/* -- fabric.c, notify.c ------------------------------------------------------------ */

/* What fabric_walk_* answers may be another; the second: for MLIDs alone, those of a block
 * of a table in which the bits are set. */
void net_routes_changed(struct fabric *f);
void net_multicast_changed(struct fabric *f, uint32_t block, uint32_t rows);
/* Before either, and before counters are shown: count what was sent to these LIDs. */
void net_count_sent(struct fabric *f, uint16_t first_lid, uint16_t last_lid);
#define net_count_all_sent(f) net_count_sent(f, 0, UINT16_MAX)
/* Tell whoever is attached, later. External ports have nobody. */
void net_port_changed(struct fabric_port *p, unsigned int changes);
void net_notify_init(struct fabric *f);

/* -- link.c ------------------------------------------------------------------------ */

/* As after power on: nothing that an SM wrote is left. Not the links. */
void net_node_reset(struct fabric_node *n);
/* Bring both ends to where cable, power and disabled ports want them. */
void net_link_update(struct fabric_port *p);
/* Down, and up again where nothing forbids it. */
void net_link_retrain(struct fabric_port *p);

/* Nobody sets info.state but by this. */
static inline void net_set_state(struct fabric_port *p, uint8_t state)
{
	struct fabric *f = p->node->fabric;

	f->armed_ports -= p->info.state == SMP_PORT_ARMED;
	f->armed_ports += state == SMP_PORT_ARMED;
	p->info.state = state;
}
/* What data does to an ARMED port at which it arrives. */
void net_activate(struct fabric_port *p);

/* -- tables.c ---------------------------------------------------------------------- */

/* NET_LFT_NONE: no route, or above LinearFDBTop. */
uint8_t net_lft_port(const struct fabric_node *n, uint16_t lid);
void net_lft_get(const struct fabric_node *n, uint32_t block, uint8_t *ret);
/* -ENOMEM. */
int net_lft_set(struct fabric_node *n, uint32_t block, const uint8_t *entries);
/* Whether the multicast table says where this MLID goes (spec/sa-sm 7.5 step 4). */
static inline bool net_mft_covers(const struct fabric_node *n, uint16_t mlid)
{
	return mlid - IB_LID_MULTICAST_BASE < n->mft_cap &&
	       mlid <= n->switch_info.mft_top;
}
/* `positions` masks, or null: none are set. */
const uint16_t *net_mft_masks(const struct fabric_node *n, uint32_t index);
void net_mft_get(const struct fabric_node *n, uint32_t block, unsigned int position,
		 uint16_t ret[NET_MFT_BLOCK]);
/* -ENOMEM. */
int net_mft_set(struct fabric_node *n, uint32_t block, unsigned int position,
		const uint16_t masks[NET_MFT_BLOCK]);
void net_tables_clear(struct fabric_node *n);

/* -- walk.c, directed.c ------------------------------------------------------------ */

/* One packet's way, or that of many which are alike. `packets` 0: only asked, and neither
 * counted nor hit by trouble. */
struct net_transit {
	bool vl15;
	bool is_data; /* of an engine: trouble is for management */
	bool is_multicast;
	uint16_t dlid, pkey;
	uint64_t packets, bytes;
	/* Whose it is, for who is to be told of a bad P_Key; the latter null: of data. */
	uint16_t slid;
	const struct ib_packet *packet;
	uint64_t delay_ns;      /* so far */
	struct fabric_port *at; /* the port it came in by, or was dropped at */
};

/* From `out` over its link to t->at. */
enum net_drop net_cross(struct net_transit *t, struct fabric_port *out);
/* From an adapter's port or port 0 to the node where it ends; t->at is the port by which
 * it arrived. */
enum net_drop net_route(struct net_transit *t, struct fabric_port *from);
/* The same for a directed-route SMP, which is changed under way. */
enum net_drop net_route_directed(struct net_transit *t, struct fabric_port *from,
				 uint8_t *mad);
bool net_pkey_passes(const struct fabric_port *p, uint16_t pkey);

/* -- packet.c ---------------------------------------------------------------------- */

void net_flights_drop(struct fabric *f);

/* -- sma.c, pma.c ------------------------------------------------------------------ */

enum net_answer {
	NET_FOR_CLIENT, /* not firmware's business */
	NET_ANSWERED,   /* the MAD is the response now */
	NET_SWALLOWED,
};

/* What arrived at `end` of a node from that LID, by its port `ingress`. */
enum net_answer net_sma_receive(struct fabric_port *end, unsigned int ingress,
				uint16_t slid, uint8_t *mad);
enum net_answer net_pma_receive(struct fabric_port *end, uint8_t *mad);

/* Attributes: a MAD status. `data` is of SMP_DATA_BYTES. */
struct sma_request {
	struct fabric_port *end;
	unsigned int ingress;
	bool mkey_known; /* the asker's M_Key is the port's */
	uint32_t modifier;
	uint8_t *data;
};
uint16_t sma_port_info_get(struct sma_request *r);
uint16_t sma_port_info_set(struct sma_request *r);
uint16_t sma_switch_info_get(struct sma_request *r);
uint16_t sma_switch_info_set(struct sma_request *r);
uint16_t sma_guid_info_get(struct sma_request *r);
uint16_t sma_guid_info_set(struct sma_request *r);
uint16_t sma_pkeys_get(struct sma_request *r);
uint16_t sma_pkeys_set(struct sma_request *r);
uint16_t sma_sl_to_vl_get(struct sma_request *r);
uint16_t sma_sl_to_vl_set(struct sma_request *r);
uint16_t sma_vl_arb_get(struct sma_request *r);
uint16_t sma_vl_arb_set(struct sma_request *r);
uint16_t sma_lft_get(struct sma_request *r);
uint16_t sma_lft_set(struct sma_request *r);
uint16_t sma_mft_get(struct sma_request *r);
uint16_t sma_mft_set(struct sma_request *r);

/* -- trap.c ------------------------------------------------------------------------ */

void net_traps_init(struct fabric_port *end);
void net_traps_stop(struct fabric_port *end);
void net_trap_init(struct net_trap *trap, struct fabric_port *end, uint16_t number);
/* Sent at once, or when an earlier one is answered. Without LIDs, nowhere. */
void net_trap_raise(struct net_trap *trap);
/* True: it answered a trap of firmware, now or once. */
bool net_trap_repress(struct fabric_port *end, uint64_t tid);

/* -- mkey.c ------------------------------------------------------------------------ */

void net_mkey_init(struct fabric_port *end);
void net_mkey_stop(struct fabric_port *end);
/* May who shows this key, from that LID, ask this of the port? If not, that is counted. */
bool net_mkey_allows(struct fabric_port *end, uint16_t slid, const uint8_t *mad);

/* -- violations.c ------------------------------------------------------------------ */

/* Each is counted in PortInfo, and the SM is told. */
void net_violate_mkey(struct fabric_port *end, uint16_t slid, const uint8_t *mad);
/* Of what arrived on QP1. */
void net_violate_pkey(struct fabric_port *end, const struct ib_packet *packet);
void net_violate_qkey(struct fabric_port *end, const struct ib_packet *packet);
/* At a switch's external port. */
void net_violate_switch_pkey(struct fabric_port *p, const struct net_transit *t);
/* Its details, for the notice that is about to be said. */
const uint8_t *net_violation_details(const struct net_trap *trap);

#endif
