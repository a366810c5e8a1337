/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The embedded subnet manager. It sits behind one port and knows the subnet by management
 * datagrams alone: it sweeps by directed routes, gives LIDs, programs forwarding tables,
 * brings ports up, and repeats what traps and timers tell it to (spec/sa-sm 2, 3, 7). The
 * subnet administrator (fabric/sa) works on what it found, struct subnet.
 *
 * Every step is sliced: calls work for some hundred microseconds in a subnet of thousands
 * of ports, two milliseconds in one of ten thousand. One thread, no clock of its own.
 */
#ifndef FABRIC_SM_SM_H
#define FABRIC_SM_SM_H

#include "base/random.h"
#include "base/timer.h"
#include "wire/ib_packet.h"
#include "wire/smp.h"

struct sm;
struct subnet;
struct subnet_node;
struct subnet_port;
struct sm_smp;

/* The port that it speaks from. */
struct sm_port_ops {
	int (*send)(void *arg, const struct ib_packet *packet);
	void (*set_issm)(void *arg, bool issm);
};

#define SM_LMC_MAX 7u

struct sm_config {
	struct timer_queue *timers;
	struct random *random;
	const struct sm_port_ops *port;
	void *port_arg;
	uint64_t port_guid; /* of that port, host order: its identity in an election */
	uint64_t subnet_prefix; /* host order; 0: fe80:: */
	uint8_t priority;
	/* Adapters' ports get 2^lmc LIDs each, 0 .. SM_LMC_MAX; port 0 of a switch gets
	 * one, since a base port 0 may have no more. */
	uint8_t lmc;
	/* Shown to other SMs, which believe none with another one (spec/sa-sm 2.6); 0: 1,
	 * as OpenSM's is unless it is told otherwise. */
	uint64_t sm_key;
	uint64_t smp_timeout_ns;   /* 0: 200 ms */
	unsigned int smp_retries;  /* 0: 3 */
	unsigned int smps_on_wire; /* 0: 32 */
	uint64_t light_sweep_ns;   /* 0: 10 s */
	uint64_t standby_poll_ns;  /* 0: 100 ms; a master that misses 3 is dead */
	/* Partitions, which live as long as the SM; null: Default=0xffff, all ports full
	 * members, IPv4 broadcast group. */
	const struct sm_partition *partitions;
	unsigned int partition_count;
	/* For the subnet administrator, which is created on the SM's subnet. */
	const struct sm_client_ops *client;
	void *client_arg;
};

enum sm_member_kind {
	SM_MEMBER_PORT, /* by its GUID; 0: all */
	SM_MEMBER_ADAPTERS,
	SM_MEMBER_SWITCHES, /* their port 0 */
	SM_MEMBER_ROUTERS,
	SM_MEMBER_SELF, /* the SM's port */
};
struct sm_partition_member {
	uint64_t port_guid;
	bool full;
	enum sm_member_kind kind;
};
/* Another group that is there without members; 0 is as sm_partition's. */
struct sm_partition_group {
	uint8_t mgid[16];
	uint8_t mtu, rate, sl, tclass;
	uint32_t qkey, flow_label;
};
struct sm_partition {
	char name[32];
	uint16_t pkey;     /* base */
	bool ipoib;        /* has a broadcast group of each scope */
	uint8_t mtu, rate; /* of these groups; enums, 0: 2048 (4), 10 Gb/s (3) */
	uint8_t sl;
	uint16_t scopes; /* bits; 0: link-local alone */
	const struct sm_partition_member *members;
	unsigned int member_count;
	const struct sm_partition_group *groups;
	unsigned int group_count;
};
#define SM_IPOIB_QKEY 0x0b1bu /* of groups of IP, by default */

/* What the SM tells the SA. */
struct sm_client_ops {
	/* The first sweep as master is done: serve. */
	void (*up)(void *arg);
	/* No longer master, or stopping. */
	void (*down)(void *arg);
	/* Found by a sweep that is done; for traps 64, 65 and memberships. */
	void (*port_in)(void *arg, uint64_t port_guid);
	void (*port_out)(void *arg, uint64_t port_guid);
	/* It is told to register anew, or has gone before it was announced: what it may
	 * have joined is over. */
	void (*port_anew)(void *arg, uint64_t port_guid);
	/* A QP1 packet of class SA that arrived at the port. */
	void (*receive)(void *arg, const struct ib_packet *packet);
	/* A trap that it was told by the SMP layer, to be forwarded to subscribers. */
	void (*trap)(void *arg, const uint8_t *notice /* NOTICE_TRAP_BYTES */);

	/* -- more than one SM; each may be null ---------------------------------------- */

	/* A QP1 packet of class SM_PEER_CLASS, whatever the state. */
	void (*receive_peer)(void *arg, const struct ib_packet *packet);
	/* The master that this SM stands by for has just shown that it lives. Its port's
	 * LID and our own, as our port has them: what is for its SA goes there. */
	void (*follow)(void *arg, uint16_t lid, uint16_t master_lid);
	/* This SM becomes master. True: the SA has the groups as the last master had them.
	 * Then ports and tables stay as they are where they are as that master left them,
	 * nobody is told to register anew, and `up` comes before tables are written. */
	bool (*inherit)(void *arg);
	/* The SA at this port has everything that ours has. A greater SM waits for that
	 * before it is handed mastership, for a while. */
	bool (*is_followed)(void *arg, uint64_t port_guid);
};

/* Between the administrators of SMs, a vendor class with RMPP. */
#define SM_PEER_CLASS 0x36

/* -EINVAL: there is no such LMC; -ENOMEM. */
int sm_create(const struct sm_config *config, struct sm **ret);
/* As a process that is killed: nothing is told to anybody. */
void sm_destroy(struct sm *sm);
/* Everything that arrives at the port. */
void sm_receive(struct sm *sm, const struct ib_packet *packet);

enum sm_state {
	SM_DISCOVERING,
	SM_STANDBY,
	SM_MASTER,
	SM_STOPPED,
};
enum sm_state sm_state(const struct sm *sm);
/* The last sweep brought all up. */
bool sm_is_up(const struct sm *sm);
/* Sweep again, as after a trap. */
void sm_sweep(struct sm *sm);
const struct subnet *sm_subnet(const struct sm *sm);

/* -- multicast: the SA says who is in, the SM routes ----------------------------------- */

/* The members of an MLID have changed; the array is copied. Send-only members are routed
 * uplink only (spec/sa-sm 7.4). `done` comes from the timers when the switches' tables are
 * set (0), or cannot be (-ENOSPC: a switch has no room or no table; -ETIMEDOUT); at most
 * once, with the latest argument if the MLID changes again meanwhile: every call gets its
 * own. No member: the MLID's entries are cleared. */
struct sm_mc_member {
	uint64_t port_guid;
	bool receives; /* false: send only */
};
void sm_route_group(struct sm *sm, uint16_t mlid, const struct sm_mc_member *members,
		    unsigned int count, void (*done)(void *arg, int error), void *arg);
/* The port can be part of the group's tree, as things stand: after -ENOSPC, which of them
 * are not is known by this; all others are. */
bool sm_can_route(const struct sm *sm, uint16_t mlid, uint64_t port_guid);
/* The largest number of MLIDs that every switch can hold (spec/sa-sm 1.9). */
uint32_t sm_mlid_capacity(const struct sm *sm);
/* Send from QP1 of the port: what the SA answers and reports. */
int sm_send_gsi(struct sm *sm, const struct ib_packet *packet);

/* -- for the SA's records --------------------------------------------------------------- */

#define SM_LFT_BLOCK_LIDS  64u
#define SM_MFT_BLOCK_MLIDS 32u

/* Blocks of a switch's tables as it has confirmed them; null: it never did. Good until
 * the SM is called or a timer runs. */
const uint8_t *sm_lft_block(const struct subnet_node *node, unsigned int block);
const uint16_t *sm_mft_block(const struct subnet_node *node, unsigned int block,
			     unsigned int position);

/*
 * An attribute of a port's node that the SM keeps no copy of is asked for, or set (`data`
 * not null): by SMPs like those of sweeps, which go first. The question is the asker's and
 * is answered once, from what arrives or from timers: 0 with SMP_DATA_BYTES of data;
 * -ETIMEDOUT; -EREMOTEIO (a status); -ECANCELED (the node has gone, and may be asked
 * nothing from in there). Not answered: when it is dropped, or the SM destroyed; either
 * side may go first.
 */
struct sm_question {
	struct sm_smp *smp; /* null: nothing is under way */
	void (*answered)(struct sm_question *q, int error, const uint8_t *data);
};
/* -ENOMEM. */
int sm_ask(struct sm *sm, struct sm_question *q, const struct subnet_port *port,
	   uint16_t attr, uint32_t mod, const uint8_t *data);
void sm_question_drop(struct sm_question *q);

/* As SMInfo shows it. */
void sm_own_info(const struct sm *sm, struct smp_sm_info *ret);

struct sm_counters {
	uint64_t sweeps, smps_sent, smps_answered, smp_timeouts, smp_retries;
	uint64_t lft_blocks, mft_blocks, traps;
	uint64_t lidless; /* ports for which the last sweep had no LIDs */
	uint64_t last_sweep_ns;
	/* Now: members of groups that are in the subnet, and get and send nothing, since
	 * the way to their group is by switches whose tables have no room for its MLID. */
	uint64_t members_cut_off;
};
void sm_counters(const struct sm *sm, struct sm_counters *ret);

#endif
