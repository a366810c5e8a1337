/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The subnet as hardware: adapters' ports, switches and links. Management datagrams walk
 * it hop by hop through forwarding tables and directed routes; nodes answer subnet
 * management (SMA) and performance management (PMA) by themselves, like firmware
 * (spec/sa-sm 3). It has no subnet manager: whoever speaks from one of its ports may be
 * one. Nothing of what the SM wrote is known elsewhere but by asking the tables here.
 *
 * One thread; what is sent arrives from the timers, after the links' latency (0 by
 * default), in order along a path. One MAD a packet.
 */
#ifndef FABRIC_NET_FABRIC_H
#define FABRIC_NET_FABRIC_H

#include "base/random.h"
#include "base/timer.h"
#include "fabric/net/topology.h"
#include "wire/ib_packet.h"
#include "wire/smp.h"

struct fabric;
struct fabric_port; /* an adapter's port, or a switch's port 0 */

struct fabric_config {
	struct timer_queue *timers;
	struct random *random;
	const struct topology *topology; /* copied */
	uint64_t hop_latency_ns;
	uint8_t mtu_cap;   /* enum; 0: 4096 */
	uint16_t pkey_cap; /* entries of an adapter's P_Key table; 0: 32 */
	/* Some forwarding table, link or port state changed: what fabric_walk_* would
	 * answer may be another. Often called; from inside anything. May be null. */
	void (*routes_changed)(void *arg);
	/* Before that, and as often: what changed is rows of a multicast table, those from
	 * `first_mlid` on whose bits are set. May be null. */
	void (*multicast_changed)(void *arg, uint16_t first_mlid, uint32_t rows);
	/* What was sent to these LIDs until now, and is not counted yet, is to be told by
	 * fabric_port_carry: what is sent from now on goes other ways, or somebody asks for
	 * counters. As often, and from inside anything. May be null. */
	void (*carry)(void *arg, uint16_t first_lid, uint16_t last_lid);
	void *arg;
};

int fabric_create(const struct fabric_config *config, struct fabric **ret);
void fabric_destroy(struct fabric *f);

/* -- ports ------------------------------------------------------------------------- */

enum fabric_port_change {
	FABRIC_PORT_STATE = 1u << 0,
	FABRIC_PORT_LID = 1u << 1, /* or LMC */
	FABRIC_PORT_SM = 1u << 2,  /* LID or SL of the master SM */
	FABRIC_PORT_PKEYS = 1u << 3,
	FABRIC_PORT_GIDS = 1u << 4,       /* prefix or GUIDs */
	FABRIC_PORT_REREGISTER = 1u << 5, /* an event, no state (spec/sa-sm 2.4) */
	FABRIC_PORT_OTHER = 1u << 6,      /* MTU, timeouts, capability mask */
};

struct fabric_port_ops {
	/* A MAD that the node's firmware does not answer itself: all of QP1 but the PMA,
	 * and of QP0 what is for an SM or answers one. */
	void (*receive)(void *arg, const struct ib_packet *packet);
	void (*changed)(void *arg, unsigned int changes /* enum fabric_port_change */);
};

/* The n-th adapter port, in the order of the topology; null past the end. */
struct fabric_port *fabric_hca_port(struct fabric *f, unsigned int n);
/* Port 0 of the n-th switch: enhanced, and ACTIVE while there is power. */
struct fabric_port *fabric_switch_port(struct fabric *f, unsigned int n);
/* By node name; port 0 means the first of an adapter, or a switch's port 0. */
struct fabric_port *fabric_find_port(struct fabric *f, const char *node,
				     unsigned int port);
/* Who is behind it; `ops` null: nobody. */
void fabric_port_attach(struct fabric_port *port, const struct fabric_port_ops *ops,
			void *arg);
/* Who may be a subnet manager behind a port: ours, and programs. */
enum fabric_issm {
	FABRIC_ISSM_OURS,
	FABRIC_ISSM_PROGRAM,
};

/* IsSM is in the capability mask while one of them says so; each speaks for itself. */
void fabric_port_set_issm(struct fabric_port *port, enum fabric_issm by, bool issm);

struct fabric_port_info {
	const char *node;                        /* its name */
	uint64_t node_guid, port_guid, sys_guid; /* host order */
	unsigned int port_num;                   /* on its node */
	struct smp_port_info info;               /* as Get(PortInfo) would say */
	uint16_t pkeys[128];
	unsigned int pkey_count;
	uint64_t guids[8]; /* GUIDInfo block 0; 0: empty */
};
void fabric_port_info(const struct fabric_port *port, struct fabric_port_info *ret);

/* Send from QP0 or QP1 of the port. The packet and its payload are copied. QP0 goes while
 * the link is up, QP1 only in state ACTIVE; on what VL is filled in, and slid if it is none
 * of the port's. A directed route starts and ends here as spec/sa-sm 3.2 says. What cannot be
 * delivered vanishes and is counted. -ENETDOWN: the port sends nothing in its state; on
 * QP0, what is for the port itself needs power, and no link. */
int fabric_port_send(struct fabric_port *port, const struct ib_packet *packet);

/* -- the tables' answer, for datagrams of the data path ---------------------------- */

/* Where a packet from `port` to this unicast LID arrives, by walking the tables with all
 * checks (port states, P_Keys where enforced); null: nowhere. */
struct fabric_port *fabric_walk_unicast(const struct fabric_port *port, uint16_t dlid,
					uint16_t pkey);
/* The same for a multicast LID: calls `fn` once for every adapter port or switch port 0
 * that a copy reaches, as often as one does. The sending port's own loopback is not the
 * switches' business and not reported. Tables with a loop make copies until they have
 * been through as many switches as there are, all together at most 4 for every port of
 * the fabric; then `fn` is called more than once for the same port. */
void fabric_walk_multicast(const struct fabric_port *port, uint16_t mlid, uint16_t pkey,
			   void (*fn)(void *arg, struct fabric_port *reached), void *arg);
/* The same question from many ports, at a fraction of the price: whether a packet to
 * `dlid` arrives at `to`. What was found out for one port holds for the next one until
 * fabric_arrivals_begin is called again or anything else happens to the fabric. */
void fabric_arrivals_begin(struct fabric *f, const struct fabric_port *to, uint16_t dlid,
			   uint16_t pkey);
bool fabric_arrives(struct fabric *f, const struct fabric_port *from);
/* The number of the switch into which packets from an adapter's port come; ports with the
 * same one reach the same ports, but for themselves. -1: into none. */
int fabric_walk_entry(const struct fabric_port *port, uint16_t pkey);
/* Goes up whenever an answer may be another. */
uint64_t fabric_routes_generation(const struct fabric *f);
/* The same for unicast, and for one multicast LID, alone. */
uint64_t fabric_unicast_generation(const struct fabric *f);
uint64_t fabric_mlid_generation(const struct fabric *f, uint16_t mlid);

/* Datagrams of the data path, all alike. */
struct fabric_load {
	uint16_t dlid, pkey;
	uint64_t packets;
	uint64_t bytes; /* of all together, headers included */
};
/* An engine has sent them from an adapter's port: they walk the tables as they are now,
 * all at once, and are in the counters of every port on the way. What the port keeps to
 * itself is on no link. */
void fabric_port_carry(struct fabric_port *port, const struct fabric_load *load);
/* Some port of this one's fabric is ARMED, which data that is carried would make ACTIVE. */
bool fabric_awaits_data(const struct fabric_port *port);

/* Receivers behind the port have refused so many datagrams for their keys: counted, and the
 * SM is told, though not whose they were. */
void fabric_port_violated(struct fabric_port *port, uint64_t pkeys, uint64_t qkeys);

/* -- what an operator does --------------------------------------------------------- */

/* Both ends. -ENOENT: no such node, port or link. */
int fabric_link_set(struct fabric *f, const char *node, unsigned int port, bool up);
int fabric_power_set(struct fabric *f, const char *node, bool on);

/* Lose, or hold back, management datagrams of the whole fabric; for simulations. */
struct fabric_trouble {
	uint32_t loss;    /* millionths, a hop */
	uint32_t reorder; /* millionths: delayed by up to `delay_ns` */
	uint64_t delay_ns;
};
void fabric_trouble_set(struct fabric *f, const struct fabric_trouble *trouble);

struct fabric_counters {
	uint64_t sent, delivered, smp_answered;
	uint64_t lost; /* by fabric_trouble */
	uint64_t no_route, port_down, bad_hops, bad_pkey, bad_qkey, malformed, nobody;
};
void fabric_counters(const struct fabric *f, struct fabric_counters *ret);

/* -- listings ---------------------------------------------------------------------- */

struct fabric_node_view {
	const char *name;
	bool is_switch, powered;
	uint64_t node_guid;
	unsigned int ports;
	uint16_t lid; /* of port 0 or port 1 */
	uint8_t lmc;
};
unsigned int fabric_node_count(const struct fabric *f);
void fabric_node_view(const struct fabric *f, unsigned int n,
		      struct fabric_node_view *ret);
struct fabric_link_view {
	bool connected, up;
	unsigned int peer; /* node number */
	unsigned int peer_port;
	uint8_t state, phys_state;
};
void fabric_link_view(const struct fabric *f, unsigned int node, unsigned int port,
		      struct fabric_link_view *ret);
/* Is the port in the multicast table of the switch for that MLID? What stands there above
 * the table's top does not count. */
bool fabric_mft_has(const struct fabric *f, unsigned int node, uint16_t mlid,
		    unsigned int port);

#endif
