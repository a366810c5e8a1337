/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside the SA client: the objects, and what one file does for another.
 *
 *   sa.c         the layer, its devices that come and go, who uses it
 *   port.c       a port's agent, and where its SA is
 *   query.c      one request and what comes back
 *   path.c, service.c, mcmember.c   the records, and questions about them
 *   multicast.c  the calls of those who join
 *   group.c      a port's groups: found by MGID, created, freed
 *   worker.c     what a group does, one step after the other (spec/kernel 2.6)
 *   compare.c    does a group's record do for a member? (spec/kernel 2.7)
 *   events.c     what happens to ports and devices, and then to groups (spec/kernel 2.9)
 *   ah.c         an address handle for a group
 *
 * A member's callback may do anything but free its own member: join, leave, remove the
 * device. So the worker calls it last in a step, and looks at its group anew in the next;
 * a group that is not IDLE is not freed.
 */
#ifndef CORE_SA_SA_PRIV_H
#define CORE_SA_SA_PRIV_H

#include "base/hash.h"
#include "base/list.h"
#include "core/sa/ib_sa.h"
#include "wire/sa.h"

/* Spec/kernel 2.11: of every request of ours; of it a tenth is a try's, and ten more. */
#define SA_TIMEOUT_MS 3000u
#define SA_RETRIES    10u

struct ib_sa {
	struct ib_sa_config config;
	struct ib_client client;
	struct list devices; /* struct sa_device; removed ones while groups are left */
	struct hash queries; /* struct sa_user_query, by id */
	int last_id;
};

/* -- ports -------------------------------------------------------------------------- */

struct sa_port {
	struct sa_device *device;
	u32 num;
	struct ib_mad_agent *agent; /* null: the port has no SA, or it all ends */
	bool sm_known;
	struct ib_mad_addr sm; /* counts when it is known */
	struct list groups;    /* struct sa_group, oldest first */
	struct hash by_mgid;   /* those that have an MGID */
};

/*
 * The layer's part of a device. Created with the device if one of its ports has an SA,
 * freed when the device was removed and what stands on it has ended; until then it has no
 * device any more.
 */
struct sa_device {
	struct ib_sa *sa;
	struct ib_device *ib; /* null: it was removed */
	struct list link;     /* in sa->devices */
	u32 users;            /* groups and queries, and one for the device itself */
	struct timer end; /* none of them is left: an agent's function may still run */
	u32 port_count;
	struct sa_port ports[];
};

/* sa.c */
void ib_sa_device_put(struct sa_device *device);
/* The port of that number, if it has an SA; else null and why: -ENODEV, -EINVAL. */
struct sa_port *ib_sa_port_find(struct ib_device *ib, u32 port_num, int *ret_error);
void ib_sa_client_get(struct ib_sa_client *client);
void ib_sa_client_put(struct ib_sa_client *client);

/* port.c */
int ib_sa_port_init(struct sa_port *port, struct sa_device *device, u32 num);
/* Its agent goes: no request is under way any more. */
void ib_sa_port_silence(struct sa_port *port);
void ib_sa_port_fini(struct sa_port *port);
/* Look up anew where the SA is. */
void ib_sa_port_refresh(struct sa_port *port);

/* -- requests ----------------------------------------------------------------------- */

/* An answer, or its absence: `mad` is null without one. Status as in spec/kernel 2.11. The
 * query is its owner's again before this is called. */
struct sa_query;
typedef void (*sa_query_fn)(struct sa_query *query, int status, const u8 *mad,
			    size_t length);

/* A request under way: embedded in who asks, who may ask again from `done` on. */
struct sa_query {
	struct sa_port *port;
	sa_query_fn done; /* null: nobody wants to know any more */
	u64 send_id;
};

struct sa_request {
	u8 method;
	u16 attribute;
	ib_sa_comp_mask comp_mask;
	const u8 *record;
	size_t record_bytes;
	u32 timeout_ms;
};

/* -EAGAIN: where the SA is is not known; -ENODEV: the port is gone; -ENOMEM. */
int ib_sa_query_start(struct sa_query *query, struct sa_port *port,
		      const struct sa_request *request, sa_query_fn done);
void ib_sa_query_cancel(struct sa_query *query);
/* Its owner goes before it has ended. The agent must go next. */
void ib_sa_query_forget(struct sa_query *query);
extern const struct ib_mad_agent_ops ib_sa_agent_ops;

/* One that a user has asked, and may cancel by its number. */
struct sa_user_query {
	struct sa_query query;
	struct ib_sa *sa;
	struct ib_sa_client *client;
	struct hash_node node; /* in sa->queries */
	int id;
	void *context;
	/* Of the record that was asked for. `mad` null: no answer. */
	void (*tell)(struct sa_user_query *query, int status, const u8 *mad,
		     size_t length);
	union {
		void (*path)(int status, const struct sa_path_rec *rec, void *context);
		void (*service)(int status, const struct sa_service_rec *rec,
				void *context);
		void (*services)(int status, const struct sa_service_rec *recs,
				 unsigned int count, void *context);
		void (*mcmember)(int status, const struct ib_sa_mcmember_rec *rec,
				 void *context);
	} callback;
};

/* Who asks, and whom. */
struct sa_ask {
	struct ib_sa_client *client;
	struct ib_device *device;
	u32 port_num;
	struct sa_request request;
	struct ib_sa_query **ret_query; /* may be null */
};

/* Asks as `model` (context, tell, callback) says. The query's number or an error. */
int ib_sa_user_query(const struct sa_ask *ask, const struct sa_user_query *model);

/* -- groups ------------------------------------------------------------------------- */

enum sa_group_state {
	SA_GROUP_IDLE,
	SA_GROUP_BUSY,       /* the worker has it, or a request is under way */
	SA_GROUP_ERROR,      /* its members have lost it, and must be told */
	SA_GROUP_PKEY_EVENT, /* the P_Key table has changed */
};

#define SA_JOIN_KINDS   4u
#define SA_PKEY_UNKNOWN 0xffffu

/*
 * A group as a port sees it. Created by the first join, found by MGID in its port, freed
 * when it is IDLE and no member is left.
 */
struct sa_group {
	struct sa_port *port;
	struct list link; /* in port->groups */
	struct hash_node node;
	bool is_named;    /* in port->by_mgid; else the SA has yet to choose an MGID */
	union ib_gid key; /* under which it is there */
	struct ib_sa_mcmember_rec rec; /* join_state: what the SA has been told */
	struct list pending, active;   /* struct sa_member */
	u32 members;                   /* whatever their state */
	u32 counts[SA_JOIN_KINDS];
	enum sa_group_state state;
	u16 pkey_index;
	u8 leave_state;   /* that the leave under way gives up */
	u8 leave_retries; /* left, for all leaves of this object (spec/kernel 2.6) */
	u8 name_retries;  /* left: the SA chose an MGID that another group has */
	u8 regained; /* states that were taken over since the loss that is still to be told */
	bool is_answered; /* `last_join` has had its answer, and nothing came between */
	struct sa_member *last_join;
	struct sa_query query;
	struct timer worker;
};

enum sa_member_state {
	SA_MEMBER_JOINING,
	SA_MEMBER_JOINED, /* counted in its group */
	SA_MEMBER_ERROR,
};

/* Created by join, freed by its owner, or after a callback that returned non-zero. */
struct sa_member {
	struct ib_sa_multicast multicast;
	struct ib_sa_client *client;
	struct sa_group *group;
	struct list link; /* in its group's pending or active, or nowhere */
	enum sa_member_state state;
	u8 join_state; /* what is counted, whatever its owner does to the record */
	bool in_callback, freed_in_callback;
};

/* group.c */
/* The group of that MGID, made if need be; MGID 0: always another. Null: no memory. */
struct sa_group *ib_sa_group_get(struct sa_port *port, const union ib_gid *mgid);
struct sa_group *ib_sa_group_find(struct sa_port *port, const union ib_gid *mgid);
void ib_sa_group_rename(struct sa_group *group, const union ib_gid *mgid);
/* Free it if nobody needs it. */
void ib_sa_group_put(struct sa_group *group);
void ib_sa_group_free(struct sa_group *group);

/* multicast.c */
void ib_sa_member_free(struct sa_member *member);
/* Tell its owner; it may be gone afterwards, and much else with it. */
void ib_sa_member_call(struct sa_member *member, int status);
void ib_sa_member_count(struct sa_member *member, int change);

/* worker.c */
/* It has something to do. */
void ib_sa_group_wake(struct sa_group *group);
void ib_sa_worker_run(struct timer *timer);

/* compare.c */
bool ib_sa_record_does(const struct ib_sa_mcmember_rec *group,
		       const struct ib_sa_mcmember_rec *wanted,
		       ib_sa_comp_mask comp_mask);

/* events.c */
void ib_sa_event(struct ib_client *client, const struct ib_event *event);
void ib_sa_port_lose_groups(struct sa_port *port);
/* Something is wrong with the group: true, if its members have lost it. */
bool ib_sa_group_is_lost(struct sa_group *group);

#endif
