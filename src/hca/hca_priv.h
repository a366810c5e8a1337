/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver's own objects. Each embeds the core's as its first member; the core creates
 * and frees them (core/verbs/ib_verbs.h).
 */
#ifndef HCA_HCA_PRIV_H
#define HCA_HCA_PRIV_H

#include <stdatomic.h>

#include "hca/hca.h"
#include "hca/ids_priv.h"

/* The counter blocks of one process; exists while any is in use. */
struct hca_process {
	struct hca_ids qps, members;
};

struct hca_site {
	struct shm_tables *tables;
	struct hca_ids keys; /* upper 24 bits of memory keys */
	uint32_t key_serial;
	uint32_t gid_serial; /* shm_gid_entry.valid of the youngest entry */
	struct hca_process *processes[SHM_SLOTS_MAX];
	struct list devices; /* struct hca_device.site_link, from creation to destruction */
	struct hash entries; /* struct hca_entry by (ingress port, MGID, MLID) */
	struct hash mlids;   /* struct hca_group.mlid_node by MLID; of InfiniBand alone */
	struct list stale;   /* struct hca_group.compile_link: to be compiled anew */
	struct list unreached; /* struct hca_device.reach_link: the same of its senders */
	/* +1 when devices or their LIDs change: what is known of senders is true no more. */
	uint64_t senders_serial;
};

#define HCA_SENDER_WORDS (SHM_PORTS_MAX / 64u)

struct hca_device {
	struct ib_device ib;
	struct hca_site *site;
	const struct path *path;
	const struct hca_device_ops *ops;
	void *arg;
	struct hca_limits limits;
	uint32_t site_device, port_index;
	bool infiniband;
	bool has_default_gid;
	char netdev[16];
	struct list site_link;
	uint64_t routes;      /* generation of the path that `compiled` is up to */
	struct list compiled; /* struct hca_group.compile_link, those not in site.stale */
	uint64_t senders_routes; /* the same of `senders` */
	struct list reach_link;  /* in site.unreached while they are to be asked for */
	/* From which ports its first LID is reached, a bit a port, as the tables have it. */
	uint64_t senders_serial; /* site.senders_serial of then */
	uint16_t senders_lid;
	uint64_t senders[HCA_SENDER_WORDS];
	struct hca_ids qpns;
	struct hca_use use;
	struct hash groups;     /* struct hca_group by (port, MGID) */
	struct list group_list; /* the same, in order of creation */
	struct hash members;    /* struct hca_member by (queue pair, MGID) */
};

struct hca_qp {
	struct ib_qp ib;
	uint32_t slot;
	uint32_t counters;
	struct ib_qp_attr attr; /* as set so far; qp_state is the state */
	struct ib_qp_init_attr init;
	struct list members; /* struct hca_member.qp_link */
	uint32_t attached;
};

struct hca_srq {
	struct ib_srq ib;
	struct ib_srq_attr attr; /* srq_limit: as set last, reached or not */
};

static inline struct hca_device *to_hca_device(const struct ib_device *device)
{
	return container_of(device, struct hca_device, ib);
}

static inline struct hca_qp *to_hca_qp(const struct ib_qp *qp)
{
	return container_of(qp, struct hca_qp, ib);
}

/* Place of a port of the device in the site's table. */
static inline uint32_t hca_port_index(const struct hca_device *dev, uint32_t port_num)
{
	return dev->port_index + port_num - 1;
}

static inline struct shm_port *hca_port(const struct hca_device *dev, uint32_t port_num)
{
	return &dev->site->tables->ports[hca_port_index(dev, port_num)];
}

/* keys.c */
int hca_key_alloc(struct hca_site *site, uint32_t *ret_key);
void hca_key_free(struct hca_site *site, uint32_t key);

/* counters.c: blocks in the counter file of a process. -ENOMEM: all are in use. */
int hca_qp_counters_alloc(struct hca_site *site, uint32_t slot, uint32_t *ret);
void hca_qp_counters_free(struct hca_site *site, uint32_t slot, uint32_t index);
int hca_member_counters_alloc(struct hca_site *site, uint32_t slot, uint32_t *ret);
void hca_member_counters_free(struct hca_site *site, uint32_t slot, uint32_t index);

/* objects.c */
int hca_alloc_ucontext(struct ib_ucontext *context);
int hca_alloc_pd(struct ib_pd *pd);
int hca_dealloc_pd(struct ib_pd *pd);
int hca_reg_user_mr(struct ib_mr *mr);
int hca_rereg_user_mr(struct ib_mr *mr, int flags, struct ib_mr *to);
int hca_dereg_mr(struct ib_mr *mr);
int hca_create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr);
int hca_resize_cq(struct ib_cq *cq, u32 cqe);
int hca_destroy_cq(struct ib_cq *cq);

/* srq.c */
int hca_create_srq(struct ib_srq *srq, struct ib_srq_init_attr *attr);
int hca_modify_srq(struct ib_srq *srq, struct ib_srq_attr *attr,
		   enum ib_srq_attr_mask attr_mask);
int hca_query_srq(struct ib_srq *srq, struct ib_srq_attr *attr);
int hca_destroy_srq(struct ib_srq *srq);

/* qp.c */
int hca_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr);
int hca_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int attr_mask);
int hca_query_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int attr_mask,
		 struct ib_qp_init_attr *init_attr);
int hca_destroy_qp(struct ib_qp *qp);
int hca_describe_qp(struct ib_qp *qp, struct ib_qp_info *info);

/* groups.c */
int hca_attach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid);
int hca_detach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid);
int hca_describe_mcast(struct ib_qp *qp, const union ib_gid *gid,
		       struct ib_mcast_info *info);

/* The port is gone: nothing leads to the groups any more, whose members stay. */
void hca_groups_unreach(struct hca_device *dev);

/* port.c */
/* What hca_port_follow has changed. */
enum hca_port_change {
	HCA_PORT_STATE = 1u << 0,
	HCA_PORT_GIDS = 1u << 1,
	HCA_PORT_OTHER = 1u << 2, /* MTU and the like, of which no event tells */
	HCA_PORT_LID = 1u << 3,
	HCA_PORT_SM = 1u << 4,
	HCA_PORT_PKEYS = 1u << 5,
};

void hca_port_publish(struct hca_device *dev, const struct ib_node *node,
		      const struct hca_device_config *config);
unsigned int hca_port_follow(struct hca_device *dev, const struct hca_port_link *link);
void hca_port_unpublish(struct hca_device *dev);
/* Something else that is told by the port's generation has changed. */
void hca_port_changed(struct hca_device *dev);
enum rdma_link_layer hca_get_link_layer(struct ib_device *device, u32 port_num);
int hca_query_port(struct ib_device *device, u32 port_num, struct ib_port_attr *attr);
int hca_query_gid(struct ib_device *device, u32 port_num, int index,
		  struct ib_gid_attr *attr);
int hca_query_pkey(struct ib_device *device, u32 port_num, u16 index, u16 *pkey);

#endif
