/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rdma_cm of one node: ids that bind to addresses, resolve destinations and join groups,
 * as spec/kernel 3 describes them.
 *
 * An id is a small state machine. Its calls answer at once; what they report later comes
 * as an event through the id's event function, in the order in which it was caused over
 * all ids of the node (spec/kernel 3.7), and never from inside a call: the cma says by
 * `schedule` that something waits, and whoever drives it calls cma_run from its loop.
 *
 * Everything runs on one thread. Errors are negative errno. Ids and memberships must be
 * gone before the cma is; the node outlives it. A device may go under an id: then the id
 * hears DEVICE_REMOVAL and nothing else any more (spec/kernel 3.7).
 */
#ifndef CORE_CM_CMA_H
#define CORE_CM_CMA_H

#include <sys/socket.h>

#include "core/addr/host.h"
#include "core/ipoib/ipoib.h"
#include "core/verbs/ib_verbs.h"

struct cma;
struct cma_id;
struct cma_multicast;

/* The kernel-internal errno of Linux that users see for IPv6 groups (spec/kernel 3.5). */
#define CMA_ENOTSUPP 524

#define CMA_MULTICAST_QPN 0xffffffu
#define CMA_UDP_QKEY      0x01234567u

/* Numbers are those that users see: enum rdma_port_space. */
enum cma_port_space {
	CMA_PS_IPOIB = 0x0002,
	CMA_PS_TCP = 0x0106,
	CMA_PS_UDP = 0x0111,
	CMA_PS_IB = 0x013f,
};

/* enum rdma_cm_event_type, as far as there are causes. */
enum cma_event_type {
	CMA_EVENT_ADDR_RESOLVED = 0,
	CMA_EVENT_ADDR_ERROR = 1,
	CMA_EVENT_ROUTE_RESOLVED = 2,
	CMA_EVENT_ROUTE_ERROR = 3,
	CMA_EVENT_DEVICE_REMOVAL = 11,
	CMA_EVENT_MULTICAST_JOIN = 12,
	CMA_EVENT_MULTICAST_ERROR = 13,
	CMA_EVENT_ADDR_CHANGE = 14,
};

/* Spec/kernel 3.10. */
enum cma_state {
	CMA_IDLE,
	CMA_ADDR_QUERY,
	CMA_ADDR_RESOLVED,
	CMA_ROUTE_QUERY,
	CMA_ROUTE_RESOLVED,
	CMA_ADDR_BOUND,
	CMA_DEVICE_REMOVAL, /* its device is gone: it can only be destroyed */
};

/* Join states by bit, spec/kernel 0.1. */
enum cma_join_state {
	CMA_JOIN_FULLMEMBER = 1 << 0,
	CMA_JOIN_SENDONLY_FULLMEMBER = 1 << 3,
};

struct cma_event {
	enum cma_event_type event;
	int status;                      /* 0 or negative errno */
	struct cma_multicast *multicast; /* multicast events; else null */
	void *context;                   /* that of the join; else null */
	u32 qp_num, qkey;
	struct rdma_ah_attr ah;
};

/* May destroy the id. */
typedef void (*cma_event_fn)(struct cma_id *id, const struct cma_event *event);

struct cma_config {
	struct ib_node *node;
	const struct addr_host_ops *host;
	void *host_arg;
	/* The node's InfiniBand interfaces; null: it has none. Outlives the cma. */
	const struct ipoib *ipoib;
	/* Events wait: call cma_run soon, but not from in here. */
	void (*schedule)(void *arg);
	void *arg;
	/* Accept IPv6 groups on RoCE v2, which Linux refuses (spec/kernel 7.1). */
	bool ipv6_multicast;
};

struct cma_id_config {
	enum cma_port_space ps;
	enum ib_qp_type qp_type;
	bool privileged; /* may bind to ports below unprivileged_start */
	cma_event_fn event;
	void *context;
};

int cma_create(const struct cma_config *config, struct cma **ret);
void cma_destroy(struct cma *cma);
/* Deliver what waits, and what the deliveries cause only at the next run. */
void cma_run(struct cma *cma);

int cma_id_create(struct cma *cma, const struct cma_id_config *config,
		  struct cma_id **ret);
/* Leaves all groups; no event of the id comes afterwards. Null is fine. */
void cma_id_destroy(struct cma_id *id);
void *cma_id_context(const struct cma_id *id);
enum cma_state cma_id_state(const struct cma_id *id);

int cma_bind_addr(struct cma_id *id, const struct sockaddr *addr);
/* `src` may be null. ADDR_RESOLVED or ADDR_ERROR follows. */
int cma_resolve_addr(struct cma_id *id, const struct sockaddr *src,
		     const struct sockaddr *dst, unsigned int timeout_ms);
/* ROUTE_RESOLVED or ROUTE_ERROR follows. */
int cma_resolve_route(struct cma_id *id, unsigned int timeout_ms);
/* Checked as Linux does; then -EOPNOTSUPP: no device here carries connections. */
int cma_listen(struct cma_id *id, int backlog);

/* MULTICAST_JOIN or MULTICAST_ERROR follows, with `context`; on InfiniBand a second event,
 * MULTICAST_ERROR with -ENETRESET, if the membership is lost later. -EADDRNOTAVAIL: the
 * port is not in the broadcast group that every join on InfiniBand starts from. */
int cma_join_multicast(struct cma_id *id, const struct sockaddr *addr, u8 join_state,
		       void *context, struct cma_multicast **ret);
/* A membership; its event, if it waits, never comes. */
void cma_multicast_leave(struct cma_multicast *multicast);
/* The newest membership of exactly this address; without one nothing happens. */
void cma_leave_multicast(struct cma_id *id, const struct sockaddr *addr);

/* What a queue pair of the id needs to reach `attr->qp_state`. */
int cma_init_qp_attr(struct cma_id *id, struct ib_qp_attr *attr, int *ret_mask);

void cma_set_service_type(struct cma_id *id, u8 tos);
int cma_set_reuseaddr(struct cma_id *id, bool reuse);
int cma_set_afonly(struct cma_id *id, bool afonly);
int cma_set_ack_timeout(struct cma_id *id, u8 timeout);

/* Where an id stands. Families 0: address not set. Device null: bound to none. */
struct cma_route {
	struct sockaddr_storage src, dst;
	struct ib_device *device;
	u32 port_num;
	union ib_gid sgid, dgid;
	u16 pkey;      /* host order */
	u32 num_paths; /* 0 until the route is resolved */
	int mtu;       /* MTU enum */
	int rate;      /* rate enum */
	u32 flow_label;
	u16 slid, dlid; /* host order; 0 on RoCE */
	u8 hop_limit, traffic_class, sl, packet_life_time;
};

void cma_query_route(const struct cma_id *id, struct cma_route *ret);

#endif
