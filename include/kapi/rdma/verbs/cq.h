/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions and their queues. */
#ifndef KAPI_RDMA_VERBS_CQ_H
#define KAPI_RDMA_VERBS_CQ_H

#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/list.h>
#include <linux/workqueue.h>
#include <rdma/verbs/gid.h>

enum ib_wc_status {
	IB_WC_SUCCESS,
	IB_WC_LOC_LEN_ERR,
	IB_WC_LOC_QP_OP_ERR,
	IB_WC_LOC_EEC_OP_ERR,
	IB_WC_LOC_PROT_ERR,
	IB_WC_WR_FLUSH_ERR,
	IB_WC_MW_BIND_ERR,
	IB_WC_BAD_RESP_ERR,
	IB_WC_LOC_ACCESS_ERR,
	IB_WC_REM_INV_REQ_ERR,
	IB_WC_REM_ACCESS_ERR,
	IB_WC_REM_OP_ERR,
	IB_WC_RETRY_EXC_ERR,
	IB_WC_RNR_RETRY_EXC_ERR,
	IB_WC_LOC_RDD_VIOL_ERR,
	IB_WC_REM_INV_RD_REQ_ERR,
	IB_WC_REM_ABORT_ERR,
	IB_WC_INV_EECN_ERR,
	IB_WC_INV_EEC_STATE_ERR,
	IB_WC_FATAL_ERR,
	IB_WC_RESP_TIMEOUT_ERR,
	IB_WC_GENERAL_ERR
};

const char *ib_wc_status_msg(enum ib_wc_status status) KAPI(ib_wc_status_msg);

enum ib_wc_opcode {
	IB_WC_SEND = 0,
	IB_WC_RDMA_WRITE = 1,
	IB_WC_RDMA_READ = 2,
	IB_WC_COMP_SWAP = 3,
	IB_WC_FETCH_ADD = 4,
	IB_WC_BIND_MW = 5,
	IB_WC_LOCAL_INV = 6,
	IB_WC_LSO = 7,
	IB_WC_ATOMIC_WRITE = 9,
	IB_WC_REG_MR = 10,
	IB_WC_RECV = 1 << 7,
	IB_WC_RECV_RDMA_WITH_IMM
};

enum ib_wc_flags {
	IB_WC_GRH = 1,
	IB_WC_WITH_IMM = 1 << 1,
	IB_WC_WITH_INVALIDATE = 1 << 2,
	IB_WC_IP_CSUM_OK = 1 << 3,
	IB_WC_WITH_SMAC = 1 << 4,
	IB_WC_WITH_VLAN = 1 << 5,
	IB_WC_WITH_NETWORK_HDR_TYPE = 1 << 6,
};

struct ib_cq;
struct ib_qp;
struct ib_udata;
struct ib_ucq_object;
struct ib_wc;

/* What a work request of a queue of ib_alloc_cq carries instead of a number. */
struct ib_cqe {
	void (*done)(struct ib_cq *cq, struct ib_wc *wc);
};

struct ib_wc {
	union {
		u64 wr_id;
		struct ib_cqe *wr_cqe;
	};
	enum ib_wc_status status;
	enum ib_wc_opcode opcode;
	u32 vendor_err;
	u32 byte_len;
	struct ib_qp *qp;
	union {
		__be32 imm_data;
		u32 invalidate_rkey;
	} ex;
	u32 src_qp;
	u32 slid;
	int wc_flags;
	u16 pkey_index;
	u8 sl;
	u8 dlid_path_bits;
	u32 port_num;
	u8 smac[ETH_ALEN];
	u16 vlan_id;
	u8 network_hdr_type;
};

enum ib_cq_notify_flags {
	IB_CQ_SOLICITED = 1 << 0,
	IB_CQ_NEXT_COMP = 1 << 1,
	IB_CQ_SOLICITED_MASK = IB_CQ_SOLICITED | IB_CQ_NEXT_COMP,
	IB_CQ_REPORT_MISSED_EVENTS = 1 << 2,
};

enum ib_poll_context {
	IB_POLL_SOFTIRQ,
	IB_POLL_WORKQUEUE,
	IB_POLL_UNBOUND_WORKQUEUE,
	IB_POLL_LAST_POOL_TYPE = IB_POLL_UNBOUND_WORKQUEUE,
	IB_POLL_DIRECT,
};

typedef void (*ib_comp_handler)(struct ib_cq *cq, void *cq_context);

struct ib_event;

struct ib_cq_init_attr {
	unsigned int cqe;
	u32 comp_vector;
	u32 flags;
};

struct ib_cq {
	struct ib_device *device;
	struct ib_ucq_object *uobject;
	ib_comp_handler comp_handler;
	void (*event_handler)(struct ib_event *event, void *cq_context);
	void *cq_context;
	int cqe;
	unsigned int cqe_used;
	atomic_t usecnt;
	enum ib_poll_context poll_ctx;
	struct ib_wc *wc;
	struct work_struct work;
	u8 shared : 1;
	unsigned int comp_vector;
};

struct ib_cq *__ib_create_cq(struct ib_device *device, ib_comp_handler comp_handler,
			     void (*event_handler)(struct ib_event *, void *),
			     void *cq_context, const struct ib_cq_init_attr *cq_attr,
			     const char *caller) KAPI(__ib_create_cq);
#define ib_create_cq(device, cmp_hndlr, evt_hndlr, cq_ctxt, cq_attr)             \
	__ib_create_cq((device), (cmp_hndlr), (evt_hndlr), (cq_ctxt), (cq_attr), \
		       "verbcast")
int ib_resize_cq(struct ib_cq *cq, int cqe) KAPI(ib_resize_cq);
/* No device here paces its completions: -EOPNOTSUPP, but for a driver that does. */
int rdma_set_cq_moderation(struct ib_cq *cq, u16 cq_count, u16 cq_period)
	KAPI(rdma_set_cq_moderation);
int ib_destroy_cq_user(struct ib_cq *cq, struct ib_udata *udata) KAPI(ib_destroy_cq_user);

static inline void ib_destroy_cq(struct ib_cq *cq)
{
	int ret = ib_destroy_cq_user(cq, NULL);

	WARN_ONCE(ret, "destroying a completion queue failed: %d\n", ret);
}

/* Up to `num_entries`; fewer: it was empty. Negative: an error. */
int ib_poll_cq(struct ib_cq *cq, int num_entries, struct ib_wc *wc) KAPI(ib_poll_cq);
/* One shot. Above 0, with REPORT_MISSED_EVENTS: there may be some already. */
int ib_req_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags)
	KAPI(ib_req_notify_cq);

/* Queues that call the `done` of what has completed: DIRECT in ib_process_cq_direct, the
 * others on a thread. */
struct ib_cq *__ib_alloc_cq(struct ib_device *dev, void *private, int nr_cqe,
			    int comp_vector, enum ib_poll_context poll_ctx,
			    const char *caller) KAPI(__ib_alloc_cq);
struct ib_cq *__ib_alloc_cq_any(struct ib_device *dev, void *private, int nr_cqe,
				enum ib_poll_context poll_ctx, const char *caller)
	KAPI(__ib_alloc_cq_any);

static inline struct ib_cq *ib_alloc_cq(struct ib_device *dev, void *private, int nr_cqe,
					int comp_vector, enum ib_poll_context poll_ctx)
{
	return __ib_alloc_cq(dev, private, nr_cqe, comp_vector, poll_ctx, "verbcast");
}

static inline struct ib_cq *ib_alloc_cq_any(struct ib_device *dev, void *private,
					    int nr_cqe, enum ib_poll_context poll_ctx)
{
	return __ib_alloc_cq_any(dev, private, nr_cqe, poll_ctx, "verbcast");
}

void ib_free_cq(struct ib_cq *cq) KAPI(ib_free_cq);
int ib_process_cq_direct(struct ib_cq *cq, int budget) KAPI(ib_process_cq_direct);

#endif
