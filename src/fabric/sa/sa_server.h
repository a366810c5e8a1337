/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The subnet administrator: answers SA MADs on what the SM found, and keeps the groups,
 * services and subscriptions (spec/sa-sm 1, 2.2, 4). A client of the SM; it and whoever
 * asks agree through bytes alone.
 *
 * A join is answered when the switches' tables are set for it, so that what its port
 * sends and is sent flows from then on (OpenSM answers before).
 *
 * There may be several in a subnet, each with an SM of its own at a port of its own; who
 * makes them has nothing else to do. The SMs elect a master. The SAs of the others ask the
 * master's for its database and for all changes, by datagrams on QP1 (SM_PEER_CLASS). A
 * Set or Delete is answered when they have what it changed. So when the master dies, a
 * standby goes on with the same groups, MLIDs, subscriptions and services within a second,
 * and nobody has to register anew.
 */
#ifndef FABRIC_SA_SA_SERVER_H
#define FABRIC_SA_SA_SERVER_H

#include "fabric/sm/sm.h"
#include "wire/sa.h"

struct sa_server;

struct sa_server_config {
	struct timer_queue *timers;
	struct random *random;
	/* Partitions with `ipoib` have their broadcast group from the start. */
	const struct sm_partition *partitions; /* as sm_config's */
	unsigned int partition_count;
	uint64_t sa_key; /* 0: 1 (spec/sa-sm 1.5) */
};

/* Created before the SM, whose client it is: sm_config.client = &sa_server_sm_ops, and
 * client_arg the server; then sa_server_set_sm. */
int sa_server_create(const struct sa_server_config *config, struct sa_server **ret);
void sa_server_destroy(struct sa_server *s);
extern const struct sm_client_ops sa_server_sm_ops;
void sa_server_set_sm(struct sa_server *s, struct sm *sm);

/* -- faults on demand ---------------------------------------------------------------- */

enum sa_fault_kind {
	SA_FAULT_NONE = 0,
	SA_FAULT_DROP,  /* requests vanish */
	SA_FAULT_DELAY, /* answers come `delay_ns` later */
	SA_FAULT_BUSY,  /* answered with MAD_STATUS_BUSY */
	SA_FAULT_ERROR, /* answered with `status` */
};
struct sa_fault {
	enum sa_fault_kind kind;
	uint64_t count; /* so many requests; 0: until changed */
	uint32_t rate;  /* of them this many, in millionths; 0: all */
	uint64_t delay_ns;
	uint16_t status;
	uint16_t attribute; /* requests of this attribute alone; 0: all */
};
void sa_server_set_fault(struct sa_server *s, const struct sa_fault *fault);

/* -- what is there ------------------------------------------------------------------- */

struct sa_group_view {
	struct sa_mcmember rec; /* mgid, mlid, qkey ...; port_gid and join_state 0 */
	bool well_known;
	unsigned int members;
};
struct sa_member_view {
	union ib_gid port_gid;
	uint64_t port_guid; /* whose that was when it joined, be it an alias */
	uint8_t join_state;
	bool proxy_join;
};
/* In the order of MLIDs; `member` after its group's call. Either may be null. */
void sa_server_each_group(const struct sa_server *s,
			  void (*group)(void *arg, const struct sa_group_view *group),
			  void (*member)(void *arg, const struct sa_group_view *group,
					 const struct sa_member_view *member),
			  void *arg);

struct sa_counters {
	uint64_t requests;         /* what is one, the dropped included */
	uint64_t answers;          /* of status 0 */
	uint64_t refused;          /* of another status */
	uint64_t dropped_fault;    /* on demand */
	uint64_t dropped_key;      /* neither 0 nor the key */
	uint64_t dropped_unknown;  /* an attribute or method that is not served */
	uint64_t dropped_stranger; /* from a LID that no port has */
	uint64_t dropped_repeated; /* the same is being worked on */
	uint64_t dropped_full;     /* too many or too much at once */
	uint64_t dropped_lost;     /* under way when the SM ceased to be master */
	uint64_t dropped_down;     /* anything, while the SM is not master */
	uint64_t bad_length;       /* not a MAD */
	uint64_t bad_version;      /* of the base */
	uint64_t bad_class;
	uint64_t bad_segment; /* of a request that claims to be longer than a MAD */
	uint64_t bad_answer;  /* to nothing that is waiting for one */
	uint64_t reports, reports_answered, reports_lost;
	uint64_t rmpp_transfers;
	/* Of tables that are read from the ports for an answer (GUIDs, lanes, arbitration):
	 * there was none from the port, however often it was asked. */
	uint64_t records_left_out;
	uint64_t looked_at; /* by queries: a measure of their work */
};
void sa_server_counters(const struct sa_server *s, struct sa_counters *ret);

/* While the SM stands by: whether it has all that the master's SA has told anybody, so
 * that it would go on with that as master. */
bool sa_server_is_in_step(const struct sa_server *s);

/* The database, for a standby that takes over: ports' alias GUIDs, groups and members,
 * subscriptions, services.
 * Loading replaces what is there; -EPROTO: what is there stays; -ENOMEM, -ENOSPC: a part of
 * it was taken. Before the SM comes up nothing is routed or reported; then, members are
 * dropped whose ports were not found. */
int sa_server_save(const struct sa_server *s, uint8_t **ret, size_t *ret_length);
int sa_server_load(struct sa_server *s, const uint8_t *bytes, size_t length);

#endif
