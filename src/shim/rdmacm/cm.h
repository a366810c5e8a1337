/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside librdmacm: what a program's ids, channels and events are to us, and what one
 * file does for another. The other half of each lives in verbcastd (core/cm).
 *
 *   state.c      the lock, fork, ids by number, what verbcastd says unasked
 *   channel.c    event channels: queue, descriptor, get and acknowledge
 *   event.c      what an event does to its id when it is fetched; names
 *   id.c         life of ids, bind, options, migration
 *   resolve.c    destinations and routes
 *   multicast.c  join and leave
 *   qp.c         queue pairs and their automatic completion queues
 *   srq.c        shared receive queues
 *   device.c     contexts and default protection domains
 *   endpoint.c   rdma_create_ep and rdma_destroy_ep
 *   addrinfo.c   rdma_getaddrinfo
 *
 * Counting (spec/userland 3.3, 3.4). An event is queued when verbcastd reports it,
 * fetched when the program gets it, gone when it is acknowledged. Leave, destroy and
 * migrate take back what is queued and wait for what is fetched; so whoever holds a
 * fetched event may follow its pointers without the lock.
 *
 * Two lifetimes end under an object: that of the connection to verbcastd (its
 * `generation`, see shim/verbs/process.h) and, in a forked child, that of the process
 * (its `era`). What is of an older one answers -ENODEV and can only be destroyed.
 */
#ifndef SHIM_RDMACM_CM_H
#define SHIM_RDMACM_CM_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <rdma/rdma_cma.h>

#include "base/list.h"
#include "shim/export.h"
#include "shim/verbs/process.h"

/*
 * A channel. Held by the program, by its ids and by threads that wait in it; freed with
 * the last of them, so destroying one in which a thread waits is safe.
 */
struct cm_channel {
	struct rdma_event_channel channel; /* first: this is what the program has */
	struct list events; /* struct cm_event, oldest first; guarded by cm_lock */
	uint32_t posted;    /* futex: number of events so far; changed under cm_lock */
	unsigned int refs;  /* guarded by cm_lock */
	unsigned int era;   /* fixed */
	bool closed;        /* by the program; guarded by cm_lock */
};

/* An opened device: one for each of a generation, kept to the end of the process. */
struct cm_device {
	struct list link;
	unsigned int generation;
	unsigned int index;
	struct ibv_context *verbs;
	struct ibv_pd *pd;  /* the default one; guarded by the device lock */
	unsigned int users; /* ids on it; guarded by the device lock */
};

/* What verbcastd still owes an id: how the program hears when it dies. */
enum cm_pending {
	CM_PENDING_NONE,
	CM_PENDING_ADDR,
	CM_PENDING_ROUTE,
};

/*
 * An id. Created and destroyed by the program; found by its uid and by its address from
 * before verbcastd knows it until destroy has begun. Whoever comes with an address that
 * is not found comes too late, and is told so (spec/userland 3.2: ENOENT).
 */
struct cm_id {
	struct rdma_cm_id id;     /* first: this is what the program has */
	struct list link;         /* by uid; guarded by cm_lock */
	struct list address_link; /* by address; guarded by cm_lock */
	uint64_t uid;             /* fixed */
	unsigned int generation;  /* fixed */
	unsigned int era;         /* fixed */
	uint32_t handle;          /* verbcastd's; fixed */
	bool sync;                /* made without a channel: calls wait for their event */
	enum cm_pending pending;  /* guarded by cm_lock */
	bool removed;             /* DEVICE_REMOVAL was queued; guarded by cm_lock */
	unsigned int fetched;     /* events not yet acknowledged; guarded by cm_lock */
	unsigned int calls;       /* that destroy waits for; guarded by cm_lock */
	struct list joins;        /* struct cm_join, newest first; guarded by cm_lock */
	struct cm_device *device; /* null: bound to none */
	struct ibv_ece local_ece, remote_ece;
};

/* A membership. Linked before verbcastd is asked, since its event may outrun the reply. */
struct cm_join {
	struct list link; /* in id->joins; guarded by cm_lock */
	struct cm_id *id;
	uint64_t uid;
	uint32_t handle; /* verbcastd's; valid from CM_JOINED on */
	struct sockaddr_storage addr;
	void *context;
	bool send_only;
	bool pending; /* its event has not come; guarded by cm_lock */
	/* Guarded by cm_lock. */
	enum {
		CM_JOINING,
		CM_JOINED,
		CM_LEAVING
	} stage;
	unsigned int fetched; /* guarded by cm_lock */
	/* Written when the event is fetched. */
	bool known; /* mgid and mlid count */
	union ibv_gid mgid;
	uint16_t mlid;
};

struct cm_event {
	struct rdma_cm_event event; /* first: this is what the program has */
	struct list link;           /* in channel->events while queued */
	struct cm_id *id;
	struct cm_join *join; /* multicast events; else null */
	struct uapi_cm_event said;
};

static inline struct cm_id *cm_id_of(struct rdma_cm_id *id)
{
	return container_of(id, struct cm_id, id);
}

/* rdma_cm's way to fail: -1 and errno, from 0 or a negative errno. */
static inline int cm_result(int r)
{
	if (r >= 0)
		return 0;
	errno = -r;
	return -1;
}

/* state.c */
void cm_lock(void);
void cm_unlock(void);
/* Give up the lock until an event has been acknowledged. */
void cm_wait_ack_locked(void);
void cm_acked_locked(void);
/* First use: a connection to verbcastd and a device. 0 or -ENODEV. */
int cm_open(void);
unsigned int cm_era(void);
/* A request about an object of `generation`. No cancellation point. */
int cm_rpc(unsigned int generation, unsigned int op, const void *request, size_t length,
	   void *reply, size_t reply_length);
uint64_t cm_new_uid_locked(void);
void cm_publish_locked(struct cm_id *id);
/* False: it was not published any more; nothing behind the pointer was looked at. */
bool cm_unpublish_locked(struct cm_id *id);
/* An id that stays until cm_id_exit; null: it is destroyed, or being so. */
struct cm_id *cm_id_enter(struct rdma_cm_id *id);
void cm_id_exit(struct cm_id *id);

/* channel.c */
int cm_channel_create(struct cm_channel **ret);
struct cm_channel *cm_channel_of(struct rdma_event_channel *channel);
struct cm_channel *cm_channel_ref_locked(struct cm_channel *channel);
void cm_channel_put_locked(struct cm_channel *channel);
/* Takes the event over; it is dropped if the program has closed the channel. */
void cm_channel_post_locked(struct cm_channel *channel, struct cm_event *event);
/* Drop what is queued of an id; of one membership if `join` is set. */
void cm_channel_purge_locked(struct cm_channel *channel, const struct cm_id *id,
			     const struct cm_join *join);
void cm_channel_move_locked(struct cm_channel *from, struct cm_channel *to,
			    const struct cm_id *id);

/* event.c */
/* Of a synchronous id: wait for the operation's event and make its status the result. */
int cm_complete(struct cm_id *id);
/* An event on its way to the program: no lock held. */
void cm_event_arrive(struct cm_event *e);

/* id.c */
int cm_id_create(struct rdma_event_channel *channel, struct rdma_cm_id **id,
		 void *context, enum rdma_port_space ps, enum ibv_qp_type qp_type);
void cm_id_ack_held(struct cm_id *id);
int cm_id_apply_route(struct cm_id *id, const struct uapi_cm_route *route);
/* Bytes of an address; 0: none, or of a family that rdma_cm does not know. */
size_t cm_addr_size(const struct sockaddr *addr);

/* resolve.c */
int cm_id_apply_path(struct cm_id *id, const struct uapi_cm_route *route);

/* multicast.c */
void cm_joins_free(struct cm_id *id);
/* Detach the queue pair from the groups of all joins. */
void cm_joins_detach(struct cm_id *id);

/* device.c */
int cm_device_get(unsigned int generation, unsigned int index, struct cm_device **ret);
void cm_device_put(struct cm_device *device);
void cm_device_lock(void);
void cm_device_unlock(void);

#endif
