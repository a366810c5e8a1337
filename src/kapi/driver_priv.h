/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver's own objects. Each embeds the API's as its first member, holds the one that
 * the core has of it, and what the engine runs of it.
 *
 * Context: operations come from any thread. What is core's is touched on the loop alone;
 * posting and polling go to the engine at once.
 */
#ifndef KAPI_DRIVER_PRIV_H
#define KAPI_DRIVER_PRIV_H

#include "core_view/core/verbs/ib_verbs.h"
#include "engine/engine.h"
#include "kapi/calls.h"
#include "kapi/driver.h"
#include "kapi/host.h"

/*
 * A device. Created on the loop when the core has one, registered and unregistered on
 * kapi-events, freed on the loop when the core's is gone and all clients have let go.
 */
struct drv_device {
	struct ib_device ib;
	struct core_ib_device *core;
	struct core_ib_ucontext *context; /* this process, as one that has opened it */
	struct engine *engine;            /* the node's; null: not used yet */
	uint32_t site_device, first_port;
	unsigned int node;
	bool removed;                          /* by the loop */
	struct list_head link;                 /* in the list of devices; the loop's */
	struct work_struct arrival, departure; /* on kapi-events */
	struct list_head qps;                  /* struct drv_qp, guarded by qps_lock */
	struct mutex qps_lock;                 /* nothing is called under it */
};

struct drv_pd {
	struct ib_pd ib;
	struct core_ib_pd *core;
	u32 number; /* what the engine calls it */
};

struct drv_mr {
	struct ib_mr ib;
	struct core_ib_mr *core;
};

struct drv_ah {
	struct ib_ah ib;
	struct engine_verbs_ah ah; /* what a request points at */
	struct rdma_ah_attr attr;  /* without a reference */
};

struct drv_cq {
	struct ib_cq ib;
	struct core_ib_cq *core;
	struct engine_cq *engine;
	struct mutex held_lock; /* guards what follows */
	bool has_held;          /* a completion that arming found */
	struct ib_wc held;
};

struct drv_srq {
	struct ib_srq ib;
	struct core_ib_srq *core;
	struct engine_srq *engine;
};

/* What a queue pair is attached to, as the engine knows it: the core forgets entries when
 * their device goes. From attach to detach; the loop's. */
struct drv_attachment {
	struct list_head link; /* in drv_qp.attachments */
	union ib_gid gid;
	u16 lid;
	u32 entry; /* SHM_NONE: InfiniBand, where it has a name and no entry of its own */
};

struct drv_qp {
	struct ib_qp ib;
	struct core_ib_qp *core;
	struct engine_qp *engine;
	struct list_head link; /* in drv_device.qps */
	struct list_head attachments;
	struct ib_qp_cap cap;
	enum ib_sig_type sig_type;
	u32 create_flags;
	u32 counters; /* its block */
};

/* Before the first object of a device is made, on the loop: its node has a place among the
 * processes, and an engine. */
int driver_use(struct drv_device *d);

static inline struct drv_device *to_device(struct ib_device *ib)
{
	return container_of(ib, struct drv_device, ib);
}

static inline struct drv_pd *to_pd(struct ib_pd *ib)
{
	return container_of(ib, struct drv_pd, ib);
}

static inline struct drv_cq *to_cq(struct ib_cq *ib)
{
	return container_of(ib, struct drv_cq, ib);
}

static inline struct drv_srq *to_srq(struct ib_srq *ib)
{
	return container_of(ib, struct drv_srq, ib);
}

static inline struct drv_qp *to_qp(struct ib_qp *ib)
{
	return container_of(ib, struct drv_qp, ib);
}

/* driver_ports.c */
extern const struct ib_device_ops driver_port_ops;
int driver_query_gid(struct ib_device *device, u32 port_num, int index,
		     struct ib_gid_attr *attr, u32 *ifindex);
void driver_ah_attr_to_core(const struct rdma_ah_attr *from,
			    struct core_rdma_ah_attr *to);
void driver_ah_attr_from_core(const struct core_rdma_ah_attr *from,
			      enum rdma_ah_attr_type type, struct rdma_ah_attr *to);
/* driver_objects.c, driver_qp.c, driver_post.c, driver_stats.c */
extern const struct ib_device_ops driver_object_ops;
extern const struct ib_device_ops driver_qp_ops;
extern const struct ib_device_ops driver_post_ops;
extern const struct ib_device_ops driver_stat_ops;

#endif
