/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs, shared receive queues and work requests. */
#ifndef KAPI_RDMA_VERBS_QP_H
#define KAPI_RDMA_VERBS_QP_H

#include <linux/container_of.h>
#include <rdma/verbs/ah.h>
#include <rdma/verbs/cq.h>
#include <rdma/verbs/mr.h>
#include <rdma/verbs/port.h>

struct ib_event;

/* -- shared receive queues ---------------------------------------------------------- */

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
	u32 max_wr;
	u32 max_sge;
	u32 srq_limit;
};

struct ib_srq_init_attr {
	void (*event_handler)(struct ib_event *event, void *srq_context);
	void *srq_context;
	struct ib_srq_attr attr;
	enum ib_srq_type srq_type;
};

struct ib_srq {
	struct ib_device *device;
	struct ib_pd *pd;
	void *uobject;
	void (*event_handler)(struct ib_event *event, void *srq_context);
	void *srq_context;
	enum ib_srq_type srq_type;
	atomic_t usecnt;
};

struct ib_recv_wr;

struct ib_srq *ib_create_srq_user(struct ib_pd *pd,
				  struct ib_srq_init_attr *srq_init_attr, void *uobject,
				  struct ib_udata *udata) KAPI(ib_create_srq_user);

static inline struct ib_srq *ib_create_srq(struct ib_pd *pd,
					   struct ib_srq_init_attr *srq_init_attr)
{
	return ib_create_srq_user(pd, srq_init_attr, NULL, NULL);
}

int ib_modify_srq(struct ib_srq *srq, struct ib_srq_attr *srq_attr,
		  enum ib_srq_attr_mask srq_attr_mask) KAPI(ib_modify_srq);
int ib_query_srq(struct ib_srq *srq, struct ib_srq_attr *srq_attr) KAPI(ib_query_srq);
/* -EBUSY: a queue pair takes from it. */
int ib_destroy_srq_user(struct ib_srq *srq, struct ib_udata *udata)
	KAPI(ib_destroy_srq_user);

static inline void ib_destroy_srq(struct ib_srq *srq)
{
	int ret = ib_destroy_srq_user(srq, NULL);

	WARN_ONCE(ret, "destroying a shared receive queue failed: %d\n", ret);
}

/* -- queue pairs -------------------------------------------------------------------- */

struct ib_qp_cap {
	u32 max_send_wr;
	u32 max_recv_wr;
	u32 max_send_sge;
	u32 max_recv_sge;
	u32 max_inline_data;
	u32 max_rdma_ctxs;
};

enum ib_sig_type {
	IB_SIGNAL_ALL_WR,
	IB_SIGNAL_REQ_WR
};

enum ib_qp_type {
	IB_QPT_SMI = 0,
	IB_QPT_GSI,
	IB_QPT_RC = 2,
	IB_QPT_UC = 3,
	IB_QPT_UD = 4,
	IB_QPT_RAW_IPV6,
	IB_QPT_RAW_ETHERTYPE,
	IB_QPT_RAW_PACKET = 8,
	IB_QPT_XRC_INI = 9,
	IB_QPT_XRC_TGT = 10,
	IB_QPT_MAX,
	IB_QPT_DRIVER = 0xFF,
};

enum ib_qp_create_flags {
	IB_QP_CREATE_IPOIB_UD_LSO = 1 << 0,
	IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK = 1 << 1,
	IB_QP_CREATE_MANAGED_SEND = 1 << 3,
	IB_QP_CREATE_MANAGED_RECV = 1 << 4,
	IB_QP_CREATE_NETIF_QP = 1 << 5,
	IB_QP_CREATE_INTEGRITY_EN = 1 << 6,
};

struct ib_xrcd;
struct ib_rwq_ind_table;

struct ib_qp_init_attr {
	void (*event_handler)(struct ib_event *event, void *qp_context);
	void *qp_context;
	struct ib_cq *send_cq;
	struct ib_cq *recv_cq;
	struct ib_srq *srq;
	struct ib_xrcd *xrcd;
	struct ib_qp_cap cap;
	enum ib_sig_type sq_sig_type;
	enum ib_qp_type qp_type;
	u32 create_flags;
	u32 port_num;
	struct ib_rwq_ind_table *rwq_ind_tbl;
	u32 source_qpn;
};

struct ib_qp_open_attr {
	void (*event_handler)(struct ib_event *event, void *qp_context);
	void *qp_context;
	u32 qp_num;
	enum ib_qp_type qp_type;
};

/* The numeric order matters. */
enum ib_qp_state {
	IB_QPS_RESET,
	IB_QPS_INIT,
	IB_QPS_RTR,
	IB_QPS_RTS,
	IB_QPS_SQD,
	IB_QPS_SQE,
	IB_QPS_ERR
};

enum ib_mig_state {
	IB_MIG_MIGRATED,
	IB_MIG_REARM,
	IB_MIG_ARMED
};

enum ib_qp_attr_mask {
	IB_QP_STATE = 1,
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

struct ib_qp_attr {
	enum ib_qp_state qp_state;
	enum ib_qp_state cur_qp_state;
	enum ib_mtu path_mtu;
	enum ib_mig_state path_mig_state;
	u32 qkey;
	u32 rq_psn;
	u32 sq_psn;
	u32 dest_qp_num;
	int qp_access_flags;
	struct ib_qp_cap cap;
	struct rdma_ah_attr ah_attr;
	struct rdma_ah_attr alt_ah_attr;
	u16 pkey_index;
	u16 alt_pkey_index;
	u8 en_sqd_async_notify;
	u8 sq_draining;
	u8 max_rd_atomic;
	u8 max_dest_rd_atomic;
	u8 min_rnr_timer;
	u32 port_num;
	u8 timeout;
	u8 retry_cnt;
	u8 rnr_retry;
	u32 alt_port_num;
	u8 alt_timeout;
	u32 rate_limit;
	struct net_device *xmit_slave;
};

struct ib_qp {
	struct ib_device *device;
	struct ib_pd *pd;
	struct ib_cq *send_cq;
	struct ib_cq *recv_cq;
	struct ib_srq *srq;
	struct ib_xrcd *xrcd;
	atomic_t usecnt; /* groups that it is attached to */
	struct ib_qp *real_qp;
	void *uobject;
	void (*event_handler)(struct ib_event *event, void *qp_context);
	void (*registered_event_handler)(struct ib_event *event, void *qp_context);
	void *qp_context;
	const struct ib_gid_attr *av_sgid_attr;
	const struct ib_gid_attr *alt_path_sgid_attr;
	u32 qp_num;
	u32 max_write_sge;
	u32 max_read_sge;
	enum ib_qp_type qp_type;
	u32 port;
	struct list_head mcast_list; /* the core's: the groups */
};

struct ib_qp *ib_create_qp_kernel(struct ib_pd *pd, struct ib_qp_init_attr *qp_init_attr,
				  const char *caller) KAPI(ib_create_qp_kernel);

static inline struct ib_qp *ib_create_qp(struct ib_pd *pd,
					 struct ib_qp_init_attr *init_attr)
{
	return ib_create_qp_kernel(pd, init_attr, "verbcast");
}

int ib_modify_qp_with_udata(struct ib_qp *qp, struct ib_qp_attr *attr, int attr_mask,
			    struct ib_udata *udata) KAPI(ib_modify_qp_with_udata);
int ib_modify_qp(struct ib_qp *qp, struct ib_qp_attr *qp_attr, int qp_attr_mask)
	KAPI(ib_modify_qp);
int ib_query_qp(struct ib_qp *qp, struct ib_qp_attr *qp_attr, int qp_attr_mask,
		struct ib_qp_init_attr *qp_init_attr) KAPI(ib_query_qp);
/* -EBUSY: it is attached to a group. */
int ib_destroy_qp_user(struct ib_qp *qp, struct ib_udata *udata) KAPI(ib_destroy_qp_user);

static inline int ib_destroy_qp(struct ib_qp *qp)
{
	return ib_destroy_qp_user(qp, NULL);
}

/* Shared handles exist for XRC alone, which no device here has: -EINVAL for another type,
 * -EOPNOTSUPP for that. */
struct ib_qp *ib_open_qp(struct ib_xrcd *xrcd, struct ib_qp_open_attr *qp_open_attr)
	KAPI(ib_open_qp);
/* -EINVAL: no queue pair here is a shared handle. */
int ib_close_qp(struct ib_qp *qp) KAPI(ib_close_qp);
/* For drivers (spec/kernel 5.3). */
bool ib_modify_qp_is_ok(enum ib_qp_state cur_state, enum ib_qp_state next_state,
			enum ib_qp_type type, enum ib_qp_attr_mask mask)
	KAPI(ib_modify_qp_is_ok);

/* Spec/kernel 1. `lid` is in host byte order, and counts on InfiniBand ports alone. */
int ib_attach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid) KAPI(ib_attach_mcast);
int ib_detach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid) KAPI(ib_detach_mcast);

/* -- work requests ------------------------------------------------------------------ */

enum ib_wr_opcode {
	IB_WR_RDMA_WRITE = 0,
	IB_WR_RDMA_WRITE_WITH_IMM = 1,
	IB_WR_SEND = 2,
	IB_WR_SEND_WITH_IMM = 3,
	IB_WR_RDMA_READ = 4,
	IB_WR_ATOMIC_CMP_AND_SWP = 5,
	IB_WR_ATOMIC_FETCH_AND_ADD = 6,
	IB_WR_BIND_MW = 8,
	IB_WR_LSO = 10,
	IB_WR_SEND_WITH_INV = 9,
	IB_WR_RDMA_READ_WITH_INV = 11,
	IB_WR_LOCAL_INV = 7,
	IB_WR_REG_MR = 0x20,
};

enum ib_send_flags {
	IB_SEND_FENCE = 1,
	IB_SEND_SIGNALED = 1 << 1,
	IB_SEND_SOLICITED = 1 << 2,
	IB_SEND_INLINE = 1 << 3,
	IB_SEND_IP_CSUM = 1 << 4,
};

struct ib_sge {
	u64 addr;
	u32 length;
	u32 lkey;
};

struct ib_send_wr {
	struct ib_send_wr *next;
	union {
		u64 wr_id;
		struct ib_cqe *wr_cqe;
	};
	struct ib_sge *sg_list;
	int num_sge;
	enum ib_wr_opcode opcode;
	int send_flags;
	union {
		__be32 imm_data;
		u32 invalidate_rkey;
	} ex;
};

struct ib_rdma_wr {
	struct ib_send_wr wr;
	u64 remote_addr;
	u32 rkey;
};

struct ib_atomic_wr {
	struct ib_send_wr wr;
	u64 remote_addr;
	u64 compare_add;
	u64 swap;
	u64 compare_add_mask;
	u64 swap_mask;
	u32 rkey;
};

struct ib_ud_wr {
	struct ib_send_wr wr;
	struct ib_ah *ah;
	void *header;
	int hlen;
	int mss;
	u32 remote_qpn;
	u32 remote_qkey;
	u16 pkey_index;
	u32 port_num;
};

struct ib_recv_wr {
	struct ib_recv_wr *next;
	union {
		u64 wr_id;
		struct ib_cqe *wr_cqe;
	};
	struct ib_sge *sg_list;
	int num_sge;
};

static inline const struct ib_rdma_wr *rdma_wr(const struct ib_send_wr *wr)
{
	return container_of(wr, struct ib_rdma_wr, wr);
}

static inline const struct ib_atomic_wr *atomic_wr(const struct ib_send_wr *wr)
{
	return container_of(wr, struct ib_atomic_wr, wr);
}

static inline const struct ib_ud_wr *ud_wr(const struct ib_send_wr *wr)
{
	return container_of(wr, struct ib_ud_wr, wr);
}

/* `bad_..._wr` may be null; what stands in front of the bad one has been posted. */
int ib_post_send(struct ib_qp *qp, const struct ib_send_wr *send_wr,
		 const struct ib_send_wr **bad_send_wr) KAPI(ib_post_send);
int ib_post_recv(struct ib_qp *qp, const struct ib_recv_wr *recv_wr,
		 const struct ib_recv_wr **bad_recv_wr) KAPI(ib_post_recv);
int ib_post_srq_recv(struct ib_srq *srq, const struct ib_recv_wr *recv_wr,
		     const struct ib_recv_wr **bad_recv_wr) KAPI(ib_post_srq_recv);

/* -- draining ----------------------------------------------------------------------- */

/*
 * Before a queue pair is destroyed: it goes to ERR, and when the call returns the `done` of
 * all that was posted before has returned. ib_drain_qp drains the send queue, then the
 * receive queue, or of a shared one what this queue pair has taken from it; the rest stays
 * there for others.
 *
 * The completion queues are of ib_alloc_cq (those with IB_POLL_DIRECT are processed here)
 * and have room for one completion more, as the send or receive queue has for one request
 * more. The queue pair has left RESET, and nobody posts meanwhile but functions of its
 * completions: what those post is flushed, perhaps after the call has returned. What cannot
 * be drained is warned of, or reported where a callback on the loop or on kapi-comp would
 * wait for itself, and the call returns.
 */
void ib_drain_sq(struct ib_qp *qp) KAPI(ib_drain_sq);
void ib_drain_rq(struct ib_qp *qp) KAPI(ib_drain_rq);
void ib_drain_qp(struct ib_qp *qp) KAPI(ib_drain_qp);

#endif
