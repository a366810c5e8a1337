/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel verbs API, as the core implements it: the calls a consumer makes (ib_*),
 * the objects it holds, and the table of operations a driver fills (ib_device_ops).
 *
 * The core knows no shared memory and no software device: what a call does on the device
 * it asks of the driver by ops, as Linux does. Everything runs on one loop, single
 * threaded; no call blocks, callbacks come from the loop (docs/locking.md).
 *
 * Names, signatures and errno follow spec/kernel 1, 2 and 5: negative errno, pointers
 * with ERR_PTR. `lid` arguments are in host byte order.
 */
#ifndef CORE_VERBS_IB_VERBS_H
#define CORE_VERBS_IB_VERBS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/list.h"
#include "wire/gid.h"
#include "wire/ib_packet.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

/* Pointer or negative errno, as in the kernel API. */
static inline void *ERR_PTR(long error)
{
	return (void *)error;
}
static inline long PTR_ERR(const void *ptr)
{
	return (long)ptr;
}
static inline bool IS_ERR(const void *ptr)
{
	return (unsigned long)ptr >= (unsigned long)-4095;
}

struct ib_device;
struct ib_event;
struct ib_mad;
struct ib_node;
struct sa_device;

/* -- what rdma_cm and the server ask of devices ------------------------------------- */

enum ib_port_state {
	IB_PORT_NOP = 0,
	IB_PORT_DOWN = 1,
	IB_PORT_INIT = 2,
	IB_PORT_ARMED = 3,
	IB_PORT_ACTIVE = 4,
	IB_PORT_ACTIVE_DEFER = 5,
};

enum rdma_link_layer {
	IB_LINK_LAYER_UNSPECIFIED = 0,
	IB_LINK_LAYER_INFINIBAND = 1,
	IB_LINK_LAYER_ETHERNET = 2,
};

enum rdma_node_type {
	RDMA_NODE_IB_CA = 1,
	RDMA_NODE_IB_SWITCH = 2,
};

enum ib_gid_type {
	IB_GID_TYPE_IB = 0,
	IB_GID_TYPE_ROCE = 1,
	IB_GID_TYPE_ROCE_UDP_ENCAP = 2,
};

struct ib_port_attr {
	enum ib_port_state state;
	int max_mtu, active_mtu; /* MTU enum: 1 = 256 .. 5 = 4096 */
	int gid_tbl_len;
	u32 port_cap_flags, max_msg_sz, bad_pkey_cntr, qkey_viol_cntr;
	u16 pkey_tbl_len;
	u16 lid, sm_lid;
	u8 lmc, max_vl_num, sm_sl, subnet_timeout, init_type_reply;
	u8 active_width, phys_state;
	u16 active_speed;
};

struct ib_gid_attr {
	union ib_gid gid;
	enum ib_gid_type gid_type;
	u16 index;
	u32 port_num;
	u32 ifindex; /* network interface behind the GID, 0: none */
};

/* Devices of a node, in the order of the device list. A node is a virtual host of the
 * site; the core keeps everything per node and has no global per host. */
struct ib_node *ib_node_create(const char *name, u32 index);
/* Its devices must be unregistered before. Null is fine. */
void ib_node_destroy(struct ib_node *node);
const char *ib_node_name(const struct ib_node *node);
u32 ib_node_index(const struct ib_node *node);
/* The n-th device of a node, null past the end. The list changes while the site runs. */
struct ib_device *ib_node_device(struct ib_node *node, u32 n);
/* By the number that tells a device from all others the node ever had; null: gone. */
struct ib_device *ib_node_find_device(struct ib_node *node, u32 id);
u32 ib_device_id(const struct ib_device *device);
const char *ib_device_name(const struct ib_device *device);
u32 rdma_start_port(const struct ib_device *device);
u32 rdma_end_port(const struct ib_device *device);
bool rdma_is_port_valid(const struct ib_device *device, u32 port_num);
enum rdma_link_layer rdma_port_get_link_layer(struct ib_device *device, u32 port_num);
/* Spec/kernel 5.1: InfiniBand ports have an SA, and multicast through it; RoCE ports have
 * neither. MADs take a device that carries them. */
bool rdma_cap_ib_sa(const struct ib_device *device, u32 port_num);
bool rdma_cap_ib_mcast(const struct ib_device *device, u32 port_num);
bool rdma_cap_ib_mad(const struct ib_device *device, u32 port_num);
/* QP0 too. */
bool rdma_cap_ib_smi(const struct ib_device *device, u32 port_num);
int ib_query_port(struct ib_device *device, u32 port_num, struct ib_port_attr *attr);
/* Place of a P_Key (host order) in the table: a full member's entry before a limited one's,
 * as Linux finds it; -ENOENT. */
int ib_find_pkey(struct ib_device *device, u32 port_num, u16 pkey, u16 *ret_index);
/* -EINVAL: no such port or index; -ENODATA: empty. */
int rdma_query_gid(struct ib_device *device, u32 port_num, int index,
		   struct ib_gid_attr *attr);
/* The entry equal to `gid`, of `type`; -ENOENT. */
int rdma_find_gid_by_port(struct ib_device *device, const union ib_gid *gid,
			  enum ib_gid_type type, u32 port_num, struct ib_gid_attr *ret);
int ib_query_pkey(struct ib_device *device, u32 port_num, u16 index, u16 *ret_pkey);
/* Interface index behind a port (0: none), for routes and IGMP. */
u32 ib_device_ifindex(struct ib_device *device, u32 port_num);

/* -- device attributes -------------------------------------------------------------- */

/* The kernel's bits; users see the same ones. */
enum ib_device_cap_flags {
	IB_DEVICE_CURR_QP_STATE_MOD = 1 << 7,
	IB_DEVICE_SYS_IMAGE_GUID = 1 << 11,
	IB_DEVICE_SRQ_RESIZE = 1 << 13,
};

struct ib_device_attr {
	char fw_ver[64];
	u64 sys_image_guid; /* network order */
	u64 max_mr_size;
	u64 page_size_cap;
	u32 vendor_id, vendor_part_id, hw_ver;
	u32 max_qp, max_qp_wr;
	u32 device_cap_flags;
	u32 max_send_sge, max_recv_sge;
	u32 max_cq, max_cqe, max_mr, max_pd, max_ah;
	u32 max_mcast_grp, max_mcast_qp_attach, max_total_mcast_qp_attach;
	u32 max_srq, max_srq_wr, max_srq_sge;
	u32 max_inline_data;
	u32 num_comp_vectors;
	u16 max_pkeys;
	u8 local_ca_ack_delay;
};

/*
 * What a user's library must know of a device to run its data path by itself. In Linux
 * a driver tells its library in private parts of the replies; here the server passes
 * these structs on without knowing what the numbers mean.
 */
struct ib_device_info {
	u32 site_device; /* number of the device among all of the site */
	u32 first_port;  /* number of port 1 among all ports of the site */
	char netdev[16]; /* interface behind it; empty: none */
};

struct ib_qp_info {
	u32 counters; /* its block of counters */
};

struct ib_mcast_info {
	u32 entry;      /* the group's entry, as a sender sees it */
	u32 counters;   /* the attachment's block of counters */
	u64 generation; /* of the entry when the attach was done */
};

/* -- objects ------------------------------------------------------------------------ */

/*
 * Core allocates objects (with the driver's own part: ops.size_*), calls the driver, and
 * frees them; `usecnt` is the number of objects that stand on one. An object is destroyed
 * by whoever created it, after everything that stands on it. A driver embeds the struct
 * as the first member of its own.
 */

/* A process that opened the device; kernel consumers have none. */
struct ib_ucontext {
	struct ib_device *device;
	u32 process; /* slot of the process */
	u32 usecnt;
};

struct ib_pd {
	struct ib_device *device;
	struct ib_ucontext *context; /* null: a kernel consumer's */
	u32 usecnt;
};

enum ib_access_flags {
	IB_ACCESS_LOCAL_WRITE = 1 << 0,
	IB_ACCESS_REMOTE_WRITE = 1 << 1,
	IB_ACCESS_REMOTE_READ = 1 << 2,
	IB_ACCESS_REMOTE_ATOMIC = 1 << 3,
	IB_ACCESS_MW_BIND = 1 << 4,
	IB_ZERO_BASED = 1 << 5,
	IB_ACCESS_ON_DEMAND = 1 << 6,
	IB_ACCESS_HUGETLB = 1 << 7,
	IB_ACCESS_OPTIONAL = 0x3ff00000, /* hints: a device may ignore any of them */
	IB_ACCESS_SUPPORTED = 0xff | IB_ACCESS_OPTIONAL,
};

enum ib_mr_rereg_flags {
	IB_MR_REREG_TRANS = 1 << 0,
	IB_MR_REREG_PD = 1 << 1,
	IB_MR_REREG_ACCESS = 1 << 2,
	IB_MR_REREG_SUPPORTED = (1 << 3) - 1,
};

struct ib_mr {
	struct ib_device *device;
	struct ib_pd *pd;
	u32 lkey, rkey;
	u64 start; /* address in the process */
	u64 length;
	u64 iova;
	int access;
	u32 usecnt;
};

struct ib_cq_init_attr {
	u32 cqe;
	u32 comp_vector;
	u32 flags;
};

struct ib_cq {
	struct ib_device *device;
	struct ib_ucontext *context;
	void *cq_context;
	u32 cqe;
	u32 usecnt;
};

enum ib_srq_type {
	IB_SRQT_BASIC = 0,
	IB_SRQT_XRC = 1,
	IB_SRQT_TM = 2,
};

enum ib_srq_attr_mask {
	IB_SRQ_MAX_WR = 1 << 0,
	IB_SRQ_LIMIT = 1 << 1,
};

struct ib_srq_attr {
	u32 max_wr, max_sge, srq_limit;
};

struct ib_srq_init_attr {
	void *srq_context;
	struct ib_srq_attr attr; /* in: wanted; out: granted. srq_limit does not count */
	enum ib_srq_type srq_type;
};

/* Receives that many queue pairs take from. */
struct ib_srq {
	struct ib_device *device;
	struct ib_pd *pd;
	void *srq_context;
	enum ib_srq_type srq_type;
	u32 usecnt; /* queue pairs */
};

enum ib_qp_type {
	IB_QPT_SMI = 0,
	IB_QPT_GSI = 1,
	IB_QPT_RC = 2,
	IB_QPT_UC = 3,
	IB_QPT_UD = 4,
	IB_QPT_RAW_IPV6 = 5,
	IB_QPT_RAW_ETHERTYPE = 6,
	IB_QPT_RAW_PACKET = 8,
	IB_QPT_XRC_INI = 9,
	IB_QPT_XRC_TGT = 10,
	IB_QPT_DRIVER = 0xff,
};

enum ib_qp_create_flags {
	IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK = 1 << 1,
};

enum ib_sig_type {
	IB_SIGNAL_ALL_WR = 0,
	IB_SIGNAL_REQ_WR = 1,
};

/* The numeric order matters (spec/kernel 0.1). */
enum ib_qp_state {
	IB_QPS_RESET = 0,
	IB_QPS_INIT,
	IB_QPS_RTR,
	IB_QPS_RTS,
	IB_QPS_SQD,
	IB_QPS_SQE,
	IB_QPS_ERR,
	IB_QPS_COUNT,
};

enum ib_mig_state {
	IB_MIG_MIGRATED = 0,
	IB_MIG_REARM,
	IB_MIG_ARMED,
};

enum ib_qp_attr_mask {
	IB_QP_STATE = 1 << 0,
	IB_QP_CUR_STATE = 1 << 1,
	IB_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	IB_QP_ACCESS_FLAGS = 1 << 3,
	IB_QP_PKEY_INDEX = 1 << 4,
	IB_QP_PORT = 1 << 5,
	IB_QP_QKEY = 1 << 6,
	IB_QP_AV = 1 << 7,
	IB_QP_PATH_MTU = 1 << 8,
	IB_QP_TIMEOUT = 1 << 9,
	IB_QP_RETRY_CNT = 1 << 10,
	IB_QP_RNR_RETRY = 1 << 11,
	IB_QP_RQ_PSN = 1 << 12,
	IB_QP_MAX_QP_RD_ATOMIC = 1 << 13,
	IB_QP_ALT_PATH = 1 << 14,
	IB_QP_MIN_RNR_TIMER = 1 << 15,
	IB_QP_SQ_PSN = 1 << 16,
	IB_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	IB_QP_PATH_MIG_STATE = 1 << 18,
	IB_QP_CAP = 1 << 19,
	IB_QP_DEST_QPN = 1 << 20,
	IB_QP_RATE_LIMIT = 1 << 25,
	IB_QP_ATTR_STANDARD_BITS = (1 << 21) - 1,
};

struct ib_qp_cap {
	u32 max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline_data;
};

struct ib_global_route {
	union ib_gid dgid;
	u32 flow_label;
	u8 sgid_index, hop_limit, traffic_class;
};

struct rdma_ah_attr {
	struct ib_global_route grh;
	u32 port_num;
	u16 dlid;
	u8 sl, src_path_bits, static_rate;
	bool has_grh;
};

struct ib_qp_attr {
	enum ib_qp_state qp_state;
	enum ib_qp_state cur_qp_state;
	int path_mtu;
	enum ib_mig_state path_mig_state;
	u32 qkey, rq_psn, sq_psn, dest_qp_num;
	int qp_access_flags;
	struct ib_qp_cap cap;
	struct rdma_ah_attr ah_attr, alt_ah_attr;
	u16 pkey_index, alt_pkey_index;
	u8 en_sqd_async_notify, sq_draining, max_rd_atomic, max_dest_rd_atomic;
	u8 min_rnr_timer;
	u32 port_num;
	u8 timeout, retry_cnt, rnr_retry;
	u32 alt_port_num;
	u8 alt_timeout;
	u32 rate_limit;
};

struct ib_qp_init_attr {
	void *qp_context;
	struct ib_cq *send_cq, *recv_cq;
	struct ib_srq *srq;
	struct ib_qp_cap cap; /* in: wanted; out: granted */
	enum ib_sig_type sq_sig_type;
	enum ib_qp_type qp_type;
	u32 create_flags;
};

struct ib_qp {
	struct ib_device *device;
	struct ib_pd *pd;
	struct ib_cq *send_cq, *recv_cq;
	struct ib_srq *srq; /* null: it has receives of its own */
	void *qp_context;
	u32 qp_num;
	enum ib_qp_type qp_type;
	u32 usecnt;              /* distinct groups attached */
	struct list device_link; /* in device->qps */
};

struct ib_ah {
	struct ib_device *device;
	struct ib_pd *pd;
};

/* -- the driver's table ------------------------------------------------------------- */

/*
 * A missing operation makes the core's call fail with -EOPNOTSUPP. Names are the
 * kernel's; the core has checked what spec/kernel says the core checks. The last group
 * is beyond the kernel's.
 */
struct ib_device_ops {
	size_t size_ib_ucontext, size_ib_pd, size_ib_mr, size_ib_cq, size_ib_qp,
		size_ib_ah, size_ib_srq;

	int (*query_device)(struct ib_device *device, struct ib_device_attr *attr);
	int (*query_port)(struct ib_device *device, u32 port_num,
			  struct ib_port_attr *attr);
	enum rdma_link_layer (*get_link_layer)(struct ib_device *device, u32 port_num);
	/* -EINVAL: no such index; -ENODATA: empty. Fills all of `attr`. */
	int (*query_gid)(struct ib_device *device, u32 port_num, int index,
			 struct ib_gid_attr *attr);
	int (*query_pkey)(struct ib_device *device, u32 port_num, u16 index, u16 *pkey);

	int (*alloc_ucontext)(struct ib_ucontext *context);
	void (*dealloc_ucontext)(struct ib_ucontext *context);
	int (*alloc_pd)(struct ib_pd *pd);
	int (*dealloc_pd)(struct ib_pd *pd);
	int (*create_ah)(struct ib_ah *ah, const struct rdma_ah_attr *attr);
	int (*destroy_ah)(struct ib_ah *ah);

	/* The mr's fields hold what is asked for; the driver sets lkey and rkey. */
	int (*reg_user_mr)(struct ib_mr *mr);
	/* `to` is a copy of the mr with the changes made; keys may be changed in it. */
	int (*rereg_user_mr)(struct ib_mr *mr, int flags, struct ib_mr *to);
	int (*dereg_mr)(struct ib_mr *mr);

	int (*create_cq)(struct ib_cq *cq,
			 const struct ib_cq_init_attr *attr); /* sets cqe */
	int (*resize_cq)(struct ib_cq *cq, u32 cqe);          /* sets cqe */
	int (*destroy_cq)(struct ib_cq *cq);

	int (*create_srq)(struct ib_srq *srq,
			  struct ib_srq_init_attr *attr); /* sets attr->attr */
	int (*modify_srq)(struct ib_srq *srq, struct ib_srq_attr *attr,
			  enum ib_srq_attr_mask attr_mask);
	int (*query_srq)(struct ib_srq *srq, struct ib_srq_attr *attr);
	int (*destroy_srq)(struct ib_srq *srq);

	int (*create_qp)(struct ib_qp *qp,
			 struct ib_qp_init_attr *attr); /* sets qp_num */
	int (*modify_qp)(struct ib_qp *qp, struct ib_qp_attr *attr, int attr_mask);
	int (*query_qp)(struct ib_qp *qp, struct ib_qp_attr *attr, int attr_mask,
			struct ib_qp_init_attr *init_attr);
	int (*destroy_qp)(struct ib_qp *qp);

	int (*attach_mcast)(struct ib_qp *qp, union ib_gid *gid, u16 lid);
	int (*detach_mcast)(struct ib_qp *qp, union ib_gid *gid, u16 lid);

	/* A management datagram (QP0 or QP1) leaves the port; the packet lives as long as
	 * the call, vl is the device's to fill in, and slid if it is none of the port's.
	 * What it causes comes later, never from inside. Beyond the kernel's, where the MAD
	 * layer posts to queue pairs. -ENETDOWN: the port sends none in its state; -EIO: a
	 * send error. Null: the device has no management queue pairs. */
	int (*post_mad)(struct ib_device *device, u32 port_num,
			const struct ib_packet *packet);

	/* The device was removed, and the last of its users has gone by now. Must not
	 * destroy it before the call that caused this is over. */
	void (*unused)(struct ib_device *device);
	int (*describe_device)(struct ib_device *device, struct ib_device_info *info);
	int (*describe_qp)(struct ib_qp *qp, struct ib_qp_info *info);
	/* -ENOENT: the queue pair is not attached to the group. */
	int (*describe_mcast)(struct ib_qp *qp, const union ib_gid *gid,
			      struct ib_mcast_info *info);
};

/*
 * A device. The driver embeds it, fills the first part and registers it; the core owns
 * the second. It must outlive everything that stands on it: unregister refuses before.
 */
struct ib_device {
	char name[64];
	struct ib_device_ops ops;
	enum rdma_node_type node_type;
	u64 node_guid; /* network order */
	u32 phys_port_cnt;
	u32 num_comp_vectors;
	u32 place; /* the device list goes by it; equal ones in order of registration */

	struct ib_node *node;
	u32 id;       /* of the node's devices, never used again */
	bool removed; /* by ib_remove_device */
	struct list node_link;
	struct list event_handlers; /* struct ib_event_handler */
	struct list qps;            /* struct ib_qp, in order of creation */
	struct hash attached;       /* struct ib_qp_mcast: (queue pair, group) */
	u32 usecnt;                 /* contexts, kernel PDs and CQs */

	struct list client_data; /* of whoever has set some */

	/* The MAD layer's; null where none serves the device (core/mad). */
	struct ib_mad *mad;
	void (*mad_receive)(struct ib_device *device, u32 port_num,
			    const struct ib_packet *packet);
	struct sa_device *sa; /* the SA client's (core/sa), or null */
};

/* For drivers: a management datagram has arrived. Nobody there: it is dropped. */
static inline void ib_receive_mad(struct ib_device *device, u32 port_num,
				  const struct ib_packet *packet)
{
	if (device->mad_receive)
		device->mad_receive(device, port_num, packet);
}

/* -EEXIST: the node has a device of that name. */
int ib_register_device(struct ib_device *device, struct ib_node *node);
/*
 * The hardware is gone. Who asks the node does not find the device any more, clients are
 * told to let go of it, and users hear DEVICE_FATAL. What they have made stays theirs to
 * destroy; anything else that they ask of it is -EIO, as with Linux's uverbs. Where there
 * are users, ops.unused says when the last has gone.
 *
 * Differs: ib_unregister_device of Linux does both halves, and waits in between.
 */
void ib_remove_device(struct ib_device *device);
/* -EBUSY: somebody still has objects of it, and nothing was done. */
int ib_unregister_device(struct ib_device *device);
int ib_query_device(struct ib_device *device, struct ib_device_attr *attr);
int ib_describe_device(struct ib_device *device, struct ib_device_info *info);

/* -- consumer's calls --------------------------------------------------------------- */

/* User calls differ from the kernel's in that they may fail where a kernel consumer
 * would have a bug: -EBUSY while others stand on the object. */
struct ib_ucontext *ib_alloc_ucontext(struct ib_device *device, u32 process);
int ib_dealloc_ucontext(struct ib_ucontext *context);

struct ib_pd *ib_alloc_pd(struct ib_device *device, unsigned int flags);
struct ib_pd *ib_alloc_user_pd(struct ib_ucontext *context);
int ib_dealloc_pd_user(struct ib_pd *pd);
void ib_dealloc_pd(struct ib_pd *pd);

/* -EINVAL for what the flags must not say together (spec/userland 5.5). */
int ib_check_mr_access(int access);
struct ib_mr *ib_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova,
			     int access);
/* Of the new values those count that `flags` names. Nothing changes on failure. */
int ib_rereg_user_mr(struct ib_mr *mr, int flags, u64 start, u64 length, u64 iova,
		     int access, struct ib_pd *pd);
int ib_dereg_mr(struct ib_mr *mr);

struct ib_cq *ib_create_cq(struct ib_device *device, void *cq_context,
			   const struct ib_cq_init_attr *attr);
struct ib_cq *ib_create_user_cq(struct ib_ucontext *context, void *cq_context,
				const struct ib_cq_init_attr *attr);
int ib_resize_cq(struct ib_cq *cq, u32 cqe);
int ib_destroy_cq_user(struct ib_cq *cq);
void ib_destroy_cq(struct ib_cq *cq);

/* `attr->attr` comes back as granted. */
struct ib_srq *ib_create_srq(struct ib_pd *pd, struct ib_srq_init_attr *attr);
int ib_modify_srq(struct ib_srq *srq, struct ib_srq_attr *attr,
		  enum ib_srq_attr_mask attr_mask);
int ib_query_srq(struct ib_srq *srq, struct ib_srq_attr *attr);
int ib_destroy_srq_user(struct ib_srq *srq);
void ib_destroy_srq(struct ib_srq *srq);

struct ib_ah *rdma_create_ah(struct ib_pd *pd, const struct rdma_ah_attr *attr);
int rdma_destroy_ah(struct ib_ah *ah);

struct ib_qp *ib_create_qp(struct ib_pd *pd, struct ib_qp_init_attr *attr);
int ib_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int attr_mask);
int ib_query_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int attr_mask,
		struct ib_qp_init_attr *init_attr);
int ib_destroy_qp(struct ib_qp *qp);
int ib_describe_qp(struct ib_qp *qp, struct ib_qp_info *info);
/* For drivers: may `type` go from cur to next with this mask? (spec/kernel 5.3) */
bool ib_modify_qp_is_ok(enum ib_qp_state cur_state, enum ib_qp_state next_state,
			enum ib_qp_type type, enum ib_qp_attr_mask mask);

/* Spec/kernel 1. `lid` in host byte order; ignored but for InfiniBand ports. */
int ib_attach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid);
int ib_detach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid);
int ib_describe_mcast(struct ib_qp *qp, const union ib_gid *gid,
		      struct ib_mcast_info *info);

/* -- clients ------------------------------------------------------------------------ */

/*
 * Who wants to know of devices coming and going, and of their events. A client is the
 * node's, where Linux's are the whole host's; `event` spares it a handler a device. Any
 * of the functions may be null. They must not register or unregister a client. Who came
 * last is told first that a device goes, so that whoever stands on another client has let
 * go before that one does.
 */
struct ib_client {
	/* Found by ib_node_device from now on. */
	void (*add)(struct ib_client *client, struct ib_device *device);
	/* No longer found; the client must not use it when this has returned. */
	void (*remove)(struct ib_client *client, struct ib_device *device);
	void (*event)(struct ib_client *client, const struct ib_event *event);
	struct ib_node *node; /* from registration on */
	struct list link;
};

/* Devices that are there already are not told; nor are they at the end. */
void ib_register_client(struct ib_client *client, struct ib_node *node);
void ib_unregister_client(struct ib_client *client);

/* What a client keeps with a device: until the device was removed, or the client has gone.
 * Null, at first and again: nothing. -ENOMEM (Differs: Linux can but warn);
 * -EIO: it was removed. */
int ib_set_client_data(struct ib_device *device, struct ib_client *client, void *data);
void *ib_get_client_data(const struct ib_device *device, const struct ib_client *client);

/* -- events ------------------------------------------------------------------------- */

/* Numbers are those that users see. */
enum ib_event_type {
	IB_EVENT_CQ_ERR,
	IB_EVENT_QP_FATAL,
	IB_EVENT_QP_REQ_ERR,
	IB_EVENT_QP_ACCESS_ERR,
	IB_EVENT_COMM_EST,
	IB_EVENT_SQ_DRAINED,
	IB_EVENT_PATH_MIG,
	IB_EVENT_PATH_MIG_ERR,
	IB_EVENT_DEVICE_FATAL,
	IB_EVENT_PORT_ACTIVE,
	IB_EVENT_PORT_ERR,
	IB_EVENT_LID_CHANGE,
	IB_EVENT_PKEY_CHANGE,
	IB_EVENT_SM_CHANGE,
	IB_EVENT_SRQ_ERR,
	IB_EVENT_SRQ_LIMIT_REACHED,
	IB_EVENT_QP_LAST_WQE_REACHED,
	IB_EVENT_CLIENT_REREGISTER,
	IB_EVENT_GID_CHANGE,
};

struct ib_event {
	struct ib_device *device;
	union {
		struct ib_cq *cq;
		struct ib_qp *qp;
		u32 port_num;
	} element;
	enum ib_event_type event;
};

struct ib_event_handler {
	struct ib_device *device;
	void (*handler)(struct ib_event_handler *handler, struct ib_event *event);
	struct list link;
};

#define INIT_IB_EVENT_HANDLER(ptr, dev, fn) \
	do {                                \
		(ptr)->device = (dev);      \
		(ptr)->handler = (fn);      \
		list_init(&(ptr)->link);    \
	} while (0)

/* Handlers in order of registration, then the node's clients. A handler may unregister
 * itself, and no other. */
void ib_register_event_handler(struct ib_event_handler *handler);
void ib_unregister_event_handler(struct ib_event_handler *handler);
void ib_dispatch_event(struct ib_event *event);

#endif
