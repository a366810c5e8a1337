/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The subnet administrator from inside: the request on its way, the group database, the
 * subscriptions and services. Everything runs in the thread that runs the timers.
 *
 * Pointers into struct subnet are good within one call: a sweep may come between two. So
 * what is kept names ports by GUID and LID.
 */
#ifndef FABRIC_SA_SERVER_PRIV_H
#define FABRIC_SA_SERVER_PRIV_H

#include "fabric/sa/replica_priv.h"
#include "fabric/sa/sa_server.h"
#include "fabric/sm/subnet.h"
#include "mad/rmpp.h"
#include "wire/bytes.h"

/* -- bounds on what others can make us keep: of all, and of one port in shares.c ------ */

#define SA_PENDING_MAX         65536u
#define SA_TRANSFERS_MAX       1024u
#define SA_TRANSFER_BYTES_MAX  (256u << 20) /* of all transfers */
#define SA_SUBSCRIPTIONS_MAX   65536u
#define SA_SERVICES_MAX        65536u
#define SA_REPORTS_MAX         65536u
#define SA_READINGS_MAX        64u
#define SA_GUID_CHANGES_MAX    1024u
/* Of them, as many as all of a port's first block. */
#define SA_GUID_CHANGES_A_PORT 8u
#define SA_GUID_AGAIN_NS       (1000 * TIMER_MS)
#define SA_ALIASES_MAX         16384u
/* Records of one reading: every pair of ports of some hundred switches. */
#define SA_PLACES_MAX          (1u << 18)
#define SA_ASSIGNED_MAX        16384u /* remembered; the oldest give way */
/* Between all and all, in one answer. */
#define SA_PATHS_MAX           65536u

/* What a query looks at before it lets others run: below 0.1 ms. What is left follows from
 * the timers, so an answer may be of more than one moment. */
#define SA_STEP_WORK 512u

#define SA_MLIDS_MAX (IB_LID_PERMISSIVE - IB_LID_MULTICAST_BASE)

#define SA_LIFE_TIME 18u /* of paths and partitions' groups: spec/sa-sm 1.9, 4.3 */

/* -- a request ----------------------------------------------------------------------- */

/* Where a request came from and its answer goes to. */
struct sa_address {
	uint16_t lid, pkey;
	uint16_t port_lid; /* the first one of the port that has `lid`: shares.c */
	uint16_t at;       /* which of ours it has spoken to; 0: the first */
	uint32_t qp;
	uint8_t sl;
	bool has_grh;
	union ib_gid gid;
};

/* What a handler says: a status for the answer, 0 or enum sa_status, or one of these. */
#define SA_WAITS   (-1) /* the answer comes later */
#define SA_SILENT  (-2) /* there is none */
#define SA_GOES_ON (-3) /* a query: there is more to look at, call again */

struct sa_served;

/* Where a query goes on, in its own terms; all 0 at first. What lies in a list of ours that
 * others shorten is looked at in its order, by `next` (sa_walk_begin). */
struct sa_cursor {
	uint64_t place, within;
	uint32_t nth, found;
	struct list link; /* in server.walks, while `next` is set */
	struct list *next;
};

/*
 * A request until its answer is sent: kept while its group's tables are being set, while an
 * answer is held back on demand, and while a table is being transferred. Created by
 * sa_request_receive, found by source and transaction so that a repetition is not done
 * again, freed by sa_request_free when the answer is out or the SM goes down.
 */
struct sa_request {
	struct sa_server *server;
	const struct sa_served *attribute;
	struct hash_node by_source;
	struct list
		link; /* in its route's now or next, or in server.held, while it waits */
	uint64_t held_until; /* followers have the journal up to there */
	struct timer timer;
	uint64_t delay_ns; /* of the answer */
	struct sa_cursor at;
	unsigned int work; /* done in this step */
	bool goes_on;      /* the timer is for the next one */
	struct sa_address from;
	struct mad_header mad;
	struct sa_header sa;
	bool trusted; /* it knows the key: spec/sa-sm 1.5 */
	uint16_t status;
	/* A join that waits, for its undoing. */
	union ib_gid mgid;
	uint64_t guid;  /* of the port, as the join names it */
	uint8_t joined; /* the bits that are new by it */
	/* Records of the answer: one in `answer`, those of a GetTable in `table`, behind
	 * room for the headers. */
	uint32_t records;
	uint32_t answer_bytes;
	uint8_t *table;
	size_t table_bytes, table_room;
	struct rmpp_sender *sender;
	struct sa_reading *reading;         /* of its records from ports; null: none */
	struct sa_guid_change *guid_change; /* that it asks for; null: none */
	uint8_t bytes[MAD_BYTES];
	uint8_t answer[SA_DATA_BYTES];
};

/* What an attribute's records can be asked for. Null: not served (spec/sa-sm 1.4, 4.1). */
struct sa_served {
	uint16_t id;
	uint8_t stride; /* AttributeOffset of answers */
	/* Get and GetTable: sa_request_add for each record that matches, as many as one
	 * step is to look at. */
	int (*query)(struct sa_request *req);
	int (*set)(struct sa_request *req);
	int (*remove)(struct sa_request *req);
	int (*multi)(struct sa_request *req); /* GetMulti: a table of PathRecords */
	uint16_t bad_table;                   /* GetTable is refused so: 0 for most */
};

void sa_request_receive(struct sa_server *s, const struct ib_packet *packet);
/* The port that asks, by its LID: null if no such port is known. */
const struct subnet_port *sa_request_port(const struct sa_request *req);
/* The record of the request. */
static inline const uint8_t *sa_request_data(const struct sa_request *req)
{
	return req->bytes + SA_DATA;
}
/* A record of the answer. False: no more are wanted, or there is no room (which the
 * answer will say). */
bool sa_request_add(struct sa_request *req, const uint8_t *record, uint32_t bytes);
/* So much was looked at (records that are added count by themselves). True: it is enough
 * for one step. */
bool sa_request_worked(struct sa_request *req, unsigned int work);
/* The next of the list, of this step's or of all. */
struct list *sa_walk_begin(struct sa_request *req, struct list *list);
/* The next step is to begin there. */
void sa_walk_pause(struct sa_request *req, struct list *next);
/* Before it is removed from its list. */
void sa_walks_skip(struct sa_server *s, const struct list *gone);
/* The answer of a Set or Delete: the request's record, overwritten by this. */
void sa_request_answer(struct sa_request *req, const uint8_t *record, uint32_t bytes);
/* Send the answer, now or when a fault on demand says so; the request is freed in time. */
void sa_request_end(struct sa_request *req, uint16_t status);
/* The records of a query that waited are all there, or there is a status. */
void sa_request_end_query(struct sa_request *req, int status);
/* It was held for the followers, which have what they are to have. */
void sa_request_release(struct sa_request *req);
void sa_request_free(struct sa_request *req);
void sa_reading_destroy(struct sa_reading *r);
/* Whatever became of it; the next one of the port's follows. Null: nothing. */
void sa_guid_change_destroy(struct sa_guid_change *c);
/* In that place the port has what is another's: it is told, when it answers. */
void sa_guid_take(struct sa_server *s, uint64_t port_guid, unsigned int place);
/* What nobody has asked for; requests have gone before. */
void sa_guids_forget(struct sa_server *s);
void sa_requests_forget(struct sa_server *s);
int sa_send(struct sa_server *s, const struct sa_address *to,
	    const uint8_t mad[MAD_BYTES]);

/* -- groups: spec/sa-sm 1 ------------------------------------------------------------ */

/*
 * A group. Created by the first join or from a partition, found by MGID and by MLID,
 * destroyed when its last full member is gone unless it is well-known.
 */
struct sa_group {
	struct hash_node by_mgid;
	struct sa_mcmember rec; /* join_state and scope are the creating request's */
	bool well_known;
	unsigned int full_members; /* ports with FullMember or SendOnlyFullMember */
	/* Members, and what the SM is to know of each, in the same order. */
	struct sa_member **members;
	struct sm_mc_member *ports;
	unsigned int count, room;
};

struct sa_member {
	struct hash_node by_port; /* by MGID and GUID */
	struct list link;         /* of its port's */
	struct sa_group *group;
	struct sa_member_port *port;
	uint64_t guid;      /* that it has joined by: the port's own or an alias */
	unsigned int place; /* in the group's arrays */
	uint8_t join_state;
	uint8_t unconfirmed; /* of these: no join of theirs is answered, nor may be */
	bool proxy; /* somebody else joined it first; fixed by that: spec/sa-sm 1.6 */
};

/* A port with memberships. */
struct sa_member_port {
	struct hash_node by_guid;
	uint64_t guid;
	struct list members;
};

/* Free MLIDs: a bit is set while its MLID is taken, and above it while its word is full. */
struct sa_mlids {
	uint64_t taken[256];
	uint64_t full[4];
};
/* The wish if it is free and below `capacity`, else the lowest free one; 0: none. */
uint16_t sa_mlid_take(struct sa_mlids *m, uint32_t capacity, uint16_t wish);
void sa_mlid_give(struct sa_mlids *m, uint16_t mlid);
/* The lowest that is taken, of this index or a greater one; SA_MLIDS_MAX: none. */
uint32_t sa_mlid_next(const struct sa_mlids *m, uint32_t index);

struct sa_group *sa_group_by_mgid(const struct sa_server *s, const union ib_gid *mgid);
static inline uint32_t sa_mlid_index(uint16_t mlid)
{
	return mlid - IB_LID_MULTICAST_BASE;
}
/* In the order of MLIDs; the body may destroy `group`. */
struct sa_group *sa_group_after(const struct sa_server *s, uint32_t index);
#define sa_for_each_group(group, s)                                                 \
	for (struct sa_group *group = sa_group_after(s, 0), *group##_next;          \
	     group &&                                                               \
	     (group##_next = sa_group_after(s, sa_mlid_index(group->rec.mlid) + 1), \
	     true);                                                                 \
	     group = group##_next)
/* The MLID is the record's wish. -ENOSPC: none is free; -ENOMEM. */
int sa_group_create(struct sa_server *s, const struct sa_mcmember *rec,
		    struct sa_group **ret);
/* With its members; nobody is told. */
void sa_group_destroy(struct sa_server *s, struct sa_group *group);
struct sa_member *sa_member_find(const struct sa_server *s, const struct sa_group *group,
				 uint64_t guid);
/* Add the bits to the membership of that GUID, which may be new; what is new of them. A
 * port's memberships by different GUIDs are different ones. */
int sa_group_join(struct sa_server *s, struct sa_group *group, uint64_t guid,
		  uint8_t bits, bool proxy, uint8_t *ret_joined);
/* The port has joined something by that GUID; it leaves all of that. */
bool sa_guid_is_joined(const struct sa_server *s, uint64_t port_guid, uint64_t guid);
void sa_guid_leave(struct sa_server *s, uint64_t port_guid, uint64_t guid);
/* Take the bits away, by the rules of spec/sa-sm 1.11, and what only joins have added that
 * asked for them and are not answered: what is left of the membership. The member, and its
 * group, may be gone afterwards. */
uint8_t sa_member_leave(struct sa_server *s, struct sa_member *member, uint8_t bits);
/* The switches have been set for these bits. */
void sa_member_confirm(struct sa_server *s, struct sa_member *member, uint8_t bits);
static inline uint8_t sa_member_confirmed(const struct sa_member *member)
{
	return member->join_state & (uint8_t)~member->unconfirmed;
}
/* As another SA says, exactly; 0: no member. Nobody is told, and the group stays. */
int sa_member_set(struct sa_server *s, struct sa_group *group, uint64_t guid,
		  uint8_t join_state, bool proxy);
/* It has no full member any more: the other members go, and the group unless it is
 * well-known. */
void sa_group_end(struct sa_server *s, struct sa_group *group);
/* What makes a group in a record that comes from elsewhere. */
bool sa_mcmember_is_sane(const struct sa_mcmember *rec);
/* As if the bits had not been added. */
void sa_member_undo(struct sa_server *s, struct sa_member *member, uint8_t bits);
/* The port has gone. */
void sa_port_forget(struct sa_server *s, uint64_t port_guid);
/* All but the well-known groups, whose members go too; nobody is told. */
void sa_groups_forget(struct sa_server *s);
void sa_groups_destroy(struct sa_server *s);
int sa_groups_from_partitions(struct sa_server *s, const struct sm_partition *partitions,
			      unsigned int count);

/* One group that was made for a request with MGID 0 (assigned.c). Created with the
 * membership, destroyed when it is too old or too many, or with the groups. */
struct sa_assigned {
	struct hash_node by_source;
	struct list link; /* the oldest first */
	uint16_t lid;
	uint32_t qp;
	uint64_t tid, mask;
	uint8_t record[SA_MCMEMBER_BYTES];
	union ib_gid mgid;
	uint64_t until_ns;
};
/* The group that the same request made before; null: none, or it has gone. */
struct sa_group *sa_assigned_group(const struct sa_request *req);
void sa_assigned_keep(struct sa_request *req, const union ib_gid *mgid);
/* What another SA has chosen; from now on, for as long. */
void sa_assigned_put(struct sa_server *s, const struct sa_assigned *from);
void sa_assigned_forget(struct sa_server *s);

/*
 * The way of an MLID to the switches: at most one order to the SM is under way, what
 * changes meanwhile makes the next one. It outlives the group, as the clearing of its
 * entries does; created by the first order, freed with the server.
 */
struct sa_route {
	struct list link; /* in server.route_list */
	struct sa_server *server;
	uint16_t mlid;
	bool under_way, changed; /* changed: another order has to follow */
	struct list now, next;   /* requests that wait for this order, for the next */
};
void sa_route_changed(struct sa_server *s, uint16_t mlid);
/* False: the tables are as the database is, nothing to wait for. */
bool sa_route_wait(struct sa_request *req, uint16_t mlid);
/*
 * The member is about to lose these bits. Its joins that wait and asked for any of them are
 * going to be refused, and who is refused has joined nothing (spec/sa-sm 1.6): what else
 * they alone have added goes as well.
 */
uint8_t sa_route_void(const struct sa_server *s, const struct sa_member *member,
		      uint8_t bits);
/* Order what the database holds, and the clearing of what was ordered before. */
void sa_routes_restore(struct sa_server *s);
/* What was ordered will not be answered any more. */
void sa_routes_stop(struct sa_server *s);
void sa_routes_destroy(struct sa_server *s);

/* -- what requests are compared with ------------------------------------------------- */

bool sa_mtu_is_valid(uint8_t mtu);
bool sa_rate_is_valid(uint8_t rate);
/* "The value is what selector and bound ask for": spec/sa-sm 1.6 step 15. */
bool sa_mtu_is_selected(uint8_t mtu, uint8_t selector, uint8_t bound);
bool sa_rate_is_selected(uint8_t rate, uint8_t selector, uint8_t bound);
/* What selector and bound leave a port that can do `most`: 1.7. 0: nothing. */
uint8_t sa_mtu_realise(uint8_t most, uint8_t selector, uint8_t bound);
uint8_t sa_rate_realise(uint8_t most, uint8_t selector, uint8_t bound);
/* -1, 0, 1 by speed. */
int sa_rate_compare(uint8_t a, uint8_t b);
uint8_t sa_port_rate(const struct subnet_port *port);
uint8_t sa_port_mtu(const struct subnet_port *port);

/* Step 9', whose components a group and a request share. */
bool sa_mcmember_agrees(const struct sa_mcmember *group, const struct sa_mcmember *rec,
			uint64_t mask);
/* 1.8: 0 or a status. */
int sa_mgid_check(const struct sa_server *s, const struct sa_mcmember *rec,
		  uint64_t mask);
bool sa_mgid_assign(struct sa_server *s, uint8_t scope, union ib_gid *ret);

uint64_t sa_gid_prefix(const union ib_gid *gid);
uint64_t sa_gid_guid(const union ib_gid *gid);
void sa_gid_put(union ib_gid *gid, uint64_t prefix, uint64_t guid);
/* The subnet's prefix, or the default one, which stands for it (spec/kernel 2.12). */
bool sa_gid_is_here(const struct sa_server *s, const union ib_gid *gid);
/* The base is in the port's table, as full or limited member; base 0 always is. */
bool sa_port_has_base(const struct subnet_port *port, uint16_t pkey);
/* By its own GUID. Null: no such port was found by the last sweep. */
const struct subnet_port *sa_port_by_guid(const struct sa_server *s, uint64_t guid);
const struct subnet_port *sa_port_by_lid(const struct sa_server *s, uint16_t lid);
/* The first LID of the port that has this one; of nobody's, itself. */
uint16_t sa_first_lid(const struct sa_server *s, uint16_t lid);

/* A component of a record, by the bits it has there. */
struct sa_component {
	uint8_t number; /* in the mask */
	uint16_t bit, bits;
};
/* The components that the mask names are equal in both records. */
bool sa_components_match(const struct sa_component *components, unsigned int count,
			 uint64_t mask, const uint8_t *asked, const uint8_t *record);

/* -- handlers ------------------------------------------------------------------------ */

int sa_mcmember_set(struct sa_request *req);
int sa_mcmember_delete(struct sa_request *req);
int sa_mcmember_query(struct sa_request *req);
int sa_class_port_info(struct sa_request *req);
int sa_node_query(struct sa_request *req);
int sa_port_query(struct sa_request *req);
int sa_switch_query(struct sa_request *req);
int sa_lft_query(struct sa_request *req);
int sa_mft_query(struct sa_request *req);
int sa_link_query(struct sa_request *req);
int sa_sm_query(struct sa_request *req);
int sa_pkey_query(struct sa_request *req);
int sa_guid_query(struct sa_request *req);
int sa_guid_set(struct sa_request *req);
int sa_guid_delete(struct sa_request *req);
int sa_sl_to_vl_query(struct sa_request *req);
int sa_vl_arb_query(struct sa_request *req);
int sa_path_query(struct sa_request *req);
int sa_multi_path_query(struct sa_request *req);
int sa_service_query(struct sa_request *req);
int sa_service_set(struct sa_request *req);
int sa_service_delete(struct sa_request *req);
int sa_inform_set(struct sa_request *req);
int sa_inform_query(struct sa_request *req);

/* -- services: spec/sa-sm 4.4 -------------------------------------------------------- */

struct sa_service_entry {
	struct hash_node by_key; /* id, GID and P_Key */
	struct list link;
	struct sa_server *server;
	struct sa_service rec;
	uint64_t until_ns; /* of a lease that ends */
	struct timer timer;
	uint16_t lid; /* of the port that offered it first; 0: another SA told us */
};
int sa_service_keep(struct sa_server *s, const struct sa_service *rec, uint16_t lid);
uint32_t sa_service_lease_left(const struct sa_service_entry *entry);
void sa_services_forget(struct sa_server *s);

/* -- GUIDs that ports have beside their own (aliases.c) ------------------------------ */

/* Where in a port's GUIDInfo, of which 0 is its own. */
#define SA_GUID_PLACES 2048u

/* Created when it is granted, destroyed when it is given back or its port goes. While a
 * port is told of its GUIDs, what comes to a place is there beside what leaves it. */
struct sa_alias {
	struct hash_node by_guid, by_port;
	struct list link; /* in the order they came */
	uint64_t guid, port_guid;
	uint16_t place;
	bool leaves; /* it is being given back: nothing new is to be made of it */
};
struct sa_alias *sa_alias_find(const struct sa_server *s, uint64_t guid);
/* The port's in that place, or the next one behind it; null: there is none. */
const struct sa_alias *sa_alias_after(const struct sa_server *s, uint64_t port_guid,
				      unsigned int place);
/* One in those places of the port that is not what is said to stand there; null: none. */
const struct sa_alias *sa_alias_astray(const struct sa_server *s, uint64_t port_guid,
				       unsigned int first, unsigned int count,
				       const uint64_t *guids);
/* -ENOSPC, -ENOMEM. It stays where it is if it is there already. */
int sa_alias_keep(struct sa_server *s, uint64_t port_guid, unsigned int place,
		  uint64_t guid);
/* If it is there. */
void sa_alias_forget(struct sa_server *s, uint64_t guid);
void sa_aliases_forget_port(struct sa_server *s, uint64_t port_guid);
void sa_aliases_forget(struct sa_server *s);
/* A port comes whose own GUID this is: who had it as an alias has it no more, nor what he
 * joined by it, and his port is told. */
void sa_alias_yield(struct sa_server *s, uint64_t port_guid);
/* Those whose ports were not found, or that are a port's own. */
void sa_aliases_forget_lost(struct sa_server *s);
/* The port's own GUID, of any that it has; one that nobody has is what it is. */
uint64_t sa_port_guid_of(const struct sa_server *s, uint64_t guid);
/* The port that has it as its own or as an alias; null: none. */
const struct subnet_port *sa_port_of_guid(const struct sa_server *s, uint64_t guid);
const struct subnet_port *sa_port_of_gid(const struct sa_server *s,
					 const union ib_gid *gid);

/* -- subscriptions and reports: spec/sa-sm 2.2 --------------------------------------- */

struct sa_subscription {
	struct hash_node by_trap;
	struct list link; /* in the order they came */
	struct sa_address to;
	uint64_t port_guid; /* the subscriber's */
	uint16_t number;
	struct sa_inform_info info;
};
int sa_subscription_keep(struct sa_server *s, const struct sa_address *to,
			 uint64_t port_guid, const struct sa_inform_info *info);
void sa_subscriptions_forget(struct sa_server *s);
void sa_subscriptions_forget_port(struct sa_server *s, uint64_t port_guid);

/* One report on its way to one subscriber, until it is answered or given up. */
struct sa_report {
	struct hash_node by_tid;
	struct sa_server *server;
	struct timer timer;
	unsigned int tries;
	uint64_t tid;
	struct sa_address to;
	uint8_t mad[MAD_BYTES];
};
void sa_report_group(struct sa_server *s, enum notice_trap trap,
		     const struct sa_group *group);
void sa_report_port(struct sa_server *s, enum notice_trap trap, uint64_t port_guid);
void sa_report_trap(struct sa_server *s, const uint8_t *notice);
void sa_report_answered(struct sa_server *s, const struct ib_packet *packet,
			const struct mad_header *mad);
void sa_reports_forget(struct sa_server *s);

/* -- shares: what one port has of what there is for all ------------------------------ */

enum sa_share {
	SA_SHARE_REQUESTS,
	SA_SHARE_TRANSFERS,
	SA_SHARE_TRANSFER_BYTES,
	SA_SHARE_READINGS,
	SA_SHARE_SERVICES,
	SA_SHARE_SUBSCRIPTIONS,
	SA_SHARE_REPORTS,
	SA_SHARES,
};
/* False: the port of that LID has its share, or there is no memory. LID 0 is nobody, who
 * may have everything. */
bool sa_share_take(struct sa_server *s, uint16_t lid, enum sa_share what, size_t amount);
/* What was taken. */
void sa_share_give(struct sa_server *s, uint16_t lid, enum sa_share what, size_t amount);

/* -- the server ---------------------------------------------------------------------- */

struct sa_server {
	struct timer_queue *timers;
	struct random *random;
	struct sm *sm;
	uint64_t sa_key;
	bool up;
	bool was_up;   /* what is in the database is of an earlier time as master */
	bool restored; /* it was loaded, and the first sweep is not over */
	bool inherits; /* or the last master's */

	struct sa_journal journal;
	struct sa_follower followers[SA_FOLLOWERS_MAX];
	struct timer followers_timer;
	struct list held; /* sa_request.link: answers that wait for followers */
	struct sa_following following;

	struct hash pending; /* requests by source */
	struct list walks;   /* cursors that point into our lists */
	uint32_t transfers, readings;
	size_t transfer_bytes;

	struct hash groups, members, member_ports;
	struct sa_group *by_mlid[SA_MLIDS_MAX];
	struct sa_route *routes[SA_MLIDS_MAX];
	struct list route_list;
	struct sa_mlids mlids;
	uint32_t next_mgid; /* the counter in assigned MGIDs */
	struct hash assigned;
	struct list assigned_list;

	struct list guid_changes; /* sa_guid_change.link */
	struct hash aliases, aliases_by_port;
	struct list alias_list;

	struct hash services;
	struct list service_list;

	struct hash subscriptions;
	struct list subscription_list;
	uint16_t next_subscription;

	struct hash reports;
	uint64_t next_tid;

	struct hash shares;

	struct sa_fault fault;
	uint64_t faults_left;
	struct sa_counters counters;
};

#endif
