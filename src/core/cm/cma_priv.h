/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside rdma_cm: the objects, and what one file does for another.
 *
 *   id.c         life of ids, options, bind, queue pair attributes, where an id stands
 *   ports.c      port spaces
 *   device.c     which device and port an address means
 *   resolve.c    destinations and routes
 *   multicast.c  memberships, and those of RoCE
 *   ib_join.c    those of InfiniBand, through the subnet administrator
 *   work.c       the queue of events
 *   removal.c    devices that go
 *   address.c    addresses that go
 */
#ifndef CORE_CM_CMA_PRIV_H
#define CORE_CM_CMA_PRIV_H

#include "base/list.h"
#include "core/addr/sockaddr.h"
#include "core/cm/cma.h"

#define CMA_PORT_SPACES       4
#define CMA_PORT_BUCKETS      256
#define CMA_ROCE_V2_HOP_LIMIT 64

/* Something to be delivered. Linked in the cma's queue while it waits. */
struct cma_work {
	struct list link;
	void (*fn)(struct cma_work *work);
};

struct cma_port_space_table {
	struct list buckets[CMA_PORT_BUCKETS]; /* struct cma_id.port_link, by port */
	u16 next; /* where the search for a free port goes on */
};

struct cma {
	struct cma_config config;
	struct ib_client client; /* of the node, to hear of devices that go */
	struct ib_sa_client sa_client;
	struct list ids;   /* struct cma_id.link */
	struct list queue; /* struct cma_work, oldest first */
	struct cma_port_space_table ports[CMA_PORT_SPACES];
};

/*
 * An id: created and destroyed by its owner. Holds its port from bind on and its
 * memberships until they leave or it is destroyed.
 */
struct cma_id {
	struct cma *cma;
	struct list link; /* in cma->ids */
	struct cma_id_config config;
	enum cma_state state;
	struct sockaddr_storage src, dst;
	struct ib_device *device; /* null: bound to none */
	u32 port_num;
	struct ib_gid_attr sgid; /* counts when device is set */
	union ib_gid dgid;
	u8 broadcast[IPOIB_HWADDR_BYTES]; /* of its interface; InfiniBand alone */
	u32 qkey;                         /* 0: not yet defaulted (spec/kernel 3.4) */
	bool reuseaddr, afonly;
	u8 tos, ack_timeout;
	bool ack_timeout_set;
	struct list port_link;             /* in its port's bucket */
	struct list multicasts;            /* struct cma_multicast, newest first */
	struct cma_work work;              /* the resolution under way */
	struct cma_path_query *path_query; /* of that; null: none is under way */
	int route_status;
	struct sa_path_rec path; /* InfiniBand, once the route is resolved */
	bool source_lost;        /* its port has sgid no longer */
	struct cma_work change_work;
};

/* A question for a path; outlives its id where it was cancelled, until the SA client has
 * done with it. */
struct cma_path_query {
	struct cma_id *id; /* null: nobody waits any more */
	struct ib_sa_query *query;
	int query_id;
};

/* A membership: created by join, freed by leave or with its id. */
struct cma_multicast {
	struct cma_id *id;
	struct list link; /* in id->multicasts */
	struct sockaddr_storage addr;
	u8 join_state;
	struct cma_event event; /* what is delivered when its turn comes */
	struct cma_work work;
	struct ib_sa_multicast *sa; /* InfiniBand; null: RoCE */
	struct cma_work reset_work; /* the membership was lost */
};

/* Families of struct sockaddr_storage fields as the sockaddr that they hold. */
static inline const struct sockaddr *cma_sockaddr(const struct sockaddr_storage *addr)
{
	return (const struct sockaddr *)addr;
}

/* work.c */
void cma_work_init(struct cma_work *work, void (*fn)(struct cma_work *work));
void cma_work_queue(struct cma *cma, struct cma_work *work);
/* It does not run any more. Harmless if it does not wait. */
void cma_work_cancel(struct cma_work *work);

/* ports.c */
void cma_ports_init(struct cma *cma);
/* Give the id the port of its source address, or a free one for port 0. */
int cma_port_take(struct cma_id *id);
void cma_port_release(struct cma_id *id);

/* device.c */
struct cma_source {
	struct ib_device *device;
	u32 port_num;
	struct ib_gid_attr sgid;
	struct sockaddr_storage addr;     /* where a wildcard source is to become it */
	u8 broadcast[IPOIB_HWADDR_BYTES]; /* InfiniBand alone */
};

/* A port's default type of GID: v2 where there is one (spec/kernel 3.5). */
enum ib_gid_type cma_default_gid_type(struct ib_device *device, u32 port_num);
/* The port that has the address among its GIDs. -EADDRNOTAVAIL: the host does not have
 * it. -ENODEV: it does, on an interface without a device. */
int cma_find_source(struct cma *cma, const struct sockaddr *addr, struct cma_source *ret);
/* The port from which a destination is reached. */
int cma_find_source_for(struct cma *cma, const struct sockaddr *dst,
			struct cma_source *ret);
/* PS_IPOIB wants InfiniBand: -EINVAL (spec/kernel 3.10). */
int cma_check_port_space(const struct cma_id *id, const struct cma_source *source);
void cma_id_set_source(struct cma_id *id, const struct cma_source *source);
bool cma_is_infiniband(const struct cma_id *id);
/* The P_Key of an id that is bound to a device: of its InfiniBand interface, or RoCE's. */
u16 cma_id_pkey(const struct cma_id *id);
int cma_port_rate(struct ib_device *device, u32 port_num);
/* -ENODEV: there is no such interface; -ENOMEM: it could not be asked for. */
int cma_link_mtu(struct cma *cma, u32 ifindex, u32 *ret_mtu);

/* id.c */
int cma_default_qkey(struct cma_id *id);

/* ib_join.c */
/* The membership begins; what comes of it is queued. */
int cma_ib_join(struct cma_multicast *mc);
void cma_ib_leave(struct cma_multicast *mc);
/* -EADDRNOTAVAIL: the id's port is not in its broadcast group. */
int cma_broadcast_rec(const struct cma_id *id, struct ib_sa_mcmember_rec *ret);

/* resolve.c */
/* Give up the resolution under way, if there is one. */
void cma_resolve_cancel(struct cma_id *id);

/* multicast.c */
void cma_multicast_leave_all(struct cma_id *id);
/* Their events never come. */
void cma_multicast_silence_all(struct cma_id *id);

/* address.c: an ib_client's function. */
void cma_device_event(struct ib_client *client, const struct ib_event *event);
void cma_id_init_change(struct cma_id *id);

/* removal.c: an ib_client's function. */
void cma_remove_device(struct ib_client *client, struct ib_device *device);

#endif
