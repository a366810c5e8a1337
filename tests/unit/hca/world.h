/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A site with one device on the loopback path, and processes that are no more than a
 * slot: enough to create queue pairs through the core and look at the tables.
 */
#ifndef HCA_WORLD_H
#define HCA_WORLD_H

#include <string.h>

#include "hca/hca.h"
#include "harness/harness.h"

#define WORLD_DEVICE 5u
#define WORLD_PORT   9u
#define WORLD_LEFT   64u

/* What the device told of a member or queue pair that left. */
struct world_left {
	union ib_gid mgid;
	uint32_t slot, qpn, counters;
};

struct world {
	int tables_fd;
	struct shm_tables *tables;
	struct hca_site *site;
	struct ib_node *node;
	struct hca_device_config config;
	struct hca_device *device;
	struct ib_device *ib;
	struct world_left members_left[WORLD_LEFT], qps_left[WORLD_LEFT];
	unsigned int member_count_left, qp_count_left;
	unsigned int unused; /* how often the device said so */
};

/* A process: its context, and what its queue pairs stand on. */
struct world_process {
	struct ib_ucontext *context;
	struct ib_pd *pd;
	struct ib_cq *cq;
};

static inline int world_ingress_ports(void *arg, uint32_t port, const uint8_t mgid[16],
				      uint16_t mlid, uint32_t *ret, unsigned int room)
{
	if (room)
		ret[0] = port;
	return arg ? *(int *)arg : 1;
}

static const struct path_ops world_path_ops = { .ingress_ports = world_ingress_ports };
static const struct path world_path = { .ops = &world_path_ops };

static inline void world_member_left(void *arg, struct ib_device *device,
				     const union ib_gid *mgid, uint32_t slot,
				     uint32_t qpn, uint32_t counters)
{
	struct world *w = arg;

	w->members_left[w->member_count_left++ % WORLD_LEFT] =
		(struct world_left){ *mgid, slot, qpn, counters };
}

static inline void world_qp_left(void *arg, struct ib_device *device, uint32_t slot,
				 uint32_t qpn, uint32_t counters)
{
	struct world *w = arg;

	w->qps_left[w->qp_count_left++ % WORLD_LEFT] =
		(struct world_left){ .slot = slot, .qpn = qpn, .counters = counters };
}

static inline void world_unused(void *arg, struct ib_device *device)
{
	((struct world *)arg)->unused++;
}

static const struct hca_device_ops world_device_ops = { world_member_left, world_qp_left,
							world_unused };

static const struct hca_gid world_gids[] = {
	{ { .raw = { [10] = 0xff, 0xff, 127, 0, 0, 1 } }, IB_GID_TYPE_ROCE_UDP_ENCAP, 1 },
	{ { .raw = { [15] = 1 } }, IB_GID_TYPE_ROCE_UDP_ENCAP, 1 },
};

static inline void world_boot(struct world *w)
{
	assert_int_equal(hca_device_create(w->node, &w->config, &w->device), 0);
	w->ib = hca_device_ib(w->device);
}

/* Everything but the device, whose configuration can be changed before world_boot. */
static inline void world_prepare(struct world *w)
{
	memset(w, 0, sizeof(*w));
	assert_int_equal(shm_tables_create(&w->tables_fd, &w->tables), 0);
	assert_int_equal(hca_site_create(w->tables, &w->site), 0);
	w->node = ib_node_create("here", 2);
	w->config = (struct hca_device_config){
		.site = w->site,
		.path = &world_path,
		.name = "vroce0",
		.site_device = WORLD_DEVICE,
		.port_index = WORLD_PORT,
		.guid = hca_guid(1, 0),
		.link = { .netdev = "lo", .gids = world_gids, .gid_count = 2 },
		.ops = &world_device_ops,
		.arg = w,
	};
	hca_limits_init(&w->config.limits);
}

static inline void world_end(struct world *w)
{
	assert_int_equal(hca_device_destroy(w->device), 0);
	ib_node_destroy(w->node);
	hca_site_destroy(w->site);
	shm_tables_destroy(w->tables_fd, w->tables);
}

static inline void process_begin(struct world *w, uint32_t slot, struct world_process *p)
{
	struct ib_cq_init_attr attr = { .cqe = 16 };

	p->context = ib_alloc_ucontext(w->ib, slot);
	assert_false(IS_ERR(p->context));
	p->pd = ib_alloc_user_pd(p->context);
	p->cq = ib_create_user_cq(p->context, NULL, &attr);
	assert_false(IS_ERR(p->cq));
}

static inline void process_end(struct world_process *p)
{
	assert_int_equal(ib_destroy_cq_user(p->cq), 0);
	assert_int_equal(ib_dealloc_pd_user(p->pd), 0);
	assert_int_equal(ib_dealloc_ucontext(p->context), 0);
}

static inline struct ib_qp *process_try_qp(struct world_process *p,
					   struct ib_qp_init_attr attr)
{
	attr.send_cq = attr.recv_cq = p->cq;
	return ib_create_qp(p->pd, &attr);
}

static inline struct ib_qp *process_qp(struct world_process *p)
{
	struct ib_qp *qp =
		process_try_qp(p, (struct ib_qp_init_attr){ .qp_type = IB_QPT_UD });

	assert_false(IS_ERR(qp));
	return qp;
}

static inline union ib_gid group_gid(unsigned int n)
{
	return (union ib_gid){ .raw = { 0xff, 0x0e, [13] = n >> 16 & 0xff,
					[14] = n >> 8 & 0xff, [15] = n & 0xff } };
}

static inline int join(struct ib_qp *qp, unsigned int n)
{
	union ib_gid gid = group_gid(n);

	return ib_attach_mcast(qp, &gid, 0);
}

static inline int leave(struct ib_qp *qp, unsigned int n)
{
	union ib_gid gid = group_gid(n);

	return ib_detach_mcast(qp, &gid, 0);
}

#endif
