// SPDX-License-Identifier: BSD-2-Clause
/*
 * Posting and polling: requests and completions in the engine's form, which is that of
 * users (the numbers are the same), some at a time, on the stack. No loop, no allocation.
 */
#include "kapi/driver_priv.h"

#define BATCH 16

static_assert(sizeof(struct ib_sge) == sizeof(struct ibv_sge), "one layout");
static_assert(offsetof(struct ib_sge, lkey) == offsetof(struct ibv_sge, lkey),
	      "one layout");
static_assert((int)IB_WR_SEND_WITH_IMM == IBV_WR_SEND_WITH_IMM &&
		      (int)IB_WC_RECV == IBV_WC_RECV &&
		      (int)IB_WC_WR_FLUSH_ERR == IBV_WC_WR_FLUSH_ERR &&
		      (int)IB_WC_GENERAL_ERR == IBV_WC_GENERAL_ERR,
	      "one numbering");

/* -- posting ------------------------------------------------------------------------ */

static void translate_send(const struct ib_qp *qp, const struct ib_send_wr *wr,
			   struct ibv_send_wr *to)
{
	memset(to, 0, sizeof(*to));
	to->wr_id = wr->wr_id;
	to->sg_list = (struct ibv_sge *)wr->sg_list;
	to->num_sge = wr->num_sge;
	to->opcode = (enum ibv_wr_opcode)wr->opcode;
	to->send_flags = wr->send_flags;
	to->imm_data = wr->ex.imm_data;
	if (qp->qp_type == IB_QPT_UD) {
		const struct ib_ud_wr *ud = ud_wr(wr);

		if (ud->ah)
			to->wr.ud.ah =
				&container_of(ud->ah, struct drv_ah, ib)->ah.ibv_ah;
		to->wr.ud.remote_qpn = ud->remote_qpn;
		to->wr.ud.remote_qkey = ud->remote_qkey;
		return;
	}
	if (wr->opcode == IB_WR_RDMA_WRITE || wr->opcode == IB_WR_RDMA_WRITE_WITH_IMM ||
	    wr->opcode == IB_WR_RDMA_READ) {
		to->wr.rdma.remote_addr = rdma_wr(wr)->remote_addr;
		to->wr.rdma.rkey = rdma_wr(wr)->rkey;
	} else if (wr->opcode == IB_WR_ATOMIC_CMP_AND_SWP ||
		   wr->opcode == IB_WR_ATOMIC_FETCH_AND_ADD) {
		to->wr.atomic.remote_addr = atomic_wr(wr)->remote_addr;
		to->wr.atomic.compare_add = atomic_wr(wr)->compare_add;
		to->wr.atomic.swap = atomic_wr(wr)->swap;
		to->wr.atomic.rkey = atomic_wr(wr)->rkey;
	}
}

/* The first of them that the engine refused, by its place among the translated ones. */
static int post_some(struct drv_qp *qp, const struct ib_send_wr **wr)
{
	const struct ib_send_wr *from[BATCH];
	struct ibv_send_wr wrs[BATCH], *bad = NULL;
	unsigned int n = 0;
	int r;

	for (; *wr && n < BATCH; *wr = (*wr)->next, n++) {
		from[n] = *wr;
		translate_send(&qp->ib, *wr, &wrs[n]);
		if (n)
			wrs[n - 1].next = &wrs[n];
	}
	r = engine_qp_post_send(qp->engine, wrs, &bad);
	if (r)
		*wr = from[bad ? bad - wrs : 0];
	return -r;
}

static int post_send(struct ib_qp *ib, const struct ib_send_wr *wr,
		     const struct ib_send_wr **bad)
{
	int r = 0;

	while (wr && r == 0)
		r = post_some(to_qp(ib), &wr);
	if (r < 0)
		*bad = wr;
	return r;
}

static int post_some_recv(struct drv_qp *qp, struct drv_srq *srq,
			  const struct ib_recv_wr **wr)
{
	const struct ib_recv_wr *from[BATCH];
	struct ibv_recv_wr wrs[BATCH], *bad = NULL;
	unsigned int n = 0;
	int r;

	for (; *wr && n < BATCH; *wr = (*wr)->next, n++) {
		from[n] = *wr;
		wrs[n] = (struct ibv_recv_wr){
			.wr_id = (*wr)->wr_id,
			.sg_list = (struct ibv_sge *)(*wr)->sg_list,
			.num_sge = (*wr)->num_sge,
		};
		if (n)
			wrs[n - 1].next = &wrs[n];
	}
	r = qp ? engine_qp_post_recv(qp->engine, wrs, &bad)
	       : engine_srq_post_recv(srq->engine, wrs, &bad);
	if (r)
		*wr = from[bad ? bad - wrs : 0];
	return -r;
}

static int post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr,
		     const struct ib_recv_wr **bad)
{
	int r = 0;

	while (wr && r == 0)
		r = post_some_recv(to_qp(ib), NULL, &wr);
	if (r < 0)
		*bad = wr;
	return r;
}

static int post_srq_recv(struct ib_srq *ib, const struct ib_recv_wr *wr,
			 const struct ib_recv_wr **bad)
{
	int r = 0;

	while (wr && r == 0)
		r = post_some_recv(NULL, to_srq(ib), &wr);
	if (r < 0)
		*bad = wr;
	return r;
}

/* -- polling ------------------------------------------------------------------------ */

static struct ib_qp *find_qp(struct drv_device *d, u32 qp_num)
{
	struct ib_qp *found = NULL;
	struct drv_qp *qp;

	mutex_lock(&d->qps_lock);
	list_for_each_entry(qp, &d->qps, link) {
		if (qp->ib.qp_num != qp_num)
			continue;
		found = &qp->ib;
		break;
	}
	mutex_unlock(&d->qps_lock);
	return found;
}

static_assert(RDMA_NETWORK_ROCE_V1 == 1 && RDMA_NETWORK_IPV4 == 2 &&
		      RDMA_NETWORK_IPV6 == 3,
	      "networks are counted alike");

/* Spec/kernel 4.6: of RoCE, what the 40 bytes in front of the datagram are. */
static int wc_flags_of(const struct ibv_wc *wc)
{
	int flags = wc->wc_flags & (IBV_WC_GRH | IBV_WC_WITH_IMM);

	return ENGINE_WC_NETWORK(wc->wc_flags) ? flags | IB_WC_WITH_NETWORK_HDR_TYPE
					       : flags;
}

static void translate_wc(const struct ibv_wc *from, struct ib_qp *qp, struct ib_wc *to)
{
	*to = (struct ib_wc){
		.wr_id = from->wr_id,
		.status = (enum ib_wc_status)from->status,
		.opcode = (enum ib_wc_opcode)from->opcode,
		.vendor_err = from->vendor_err,
		.byte_len = from->byte_len,
		.qp = qp,
		.ex.imm_data = from->imm_data,
		.src_qp = from->src_qp,
		.slid = from->slid,
		.wc_flags = wc_flags_of(from),
		.pkey_index = from->pkey_index,
		.sl = from->sl,
		.dlid_path_bits = from->dlid_path_bits,
		.port_num = qp ? qp->port : 0,
		.network_hdr_type = ENGINE_WC_NETWORK(from->wc_flags),
	};
}

static int take_held(struct drv_cq *cq, struct ib_wc *wc)
{
	bool had;

	mutex_lock(&cq->held_lock);
	had = cq->has_held;
	if (had)
		*wc = cq->held;
	cq->has_held = false;
	mutex_unlock(&cq->held_lock);
	return had;
}

static int poll_some(struct drv_cq *cq, int n, struct ib_wc *wc)
{
	struct drv_device *d = to_device(cq->ib.device);
	struct ibv_wc wcs[BATCH];
	struct ib_qp *qp = NULL;

	n = engine_cq_poll(cq->engine, n, wcs);
	for (int i = 0; i < n; i++) {
		if (!qp || qp->qp_num != wcs[i].qp_num)
			qp = find_qp(d, wcs[i].qp_num);
		translate_wc(&wcs[i], qp, &wc[i]);
	}
	return n;
}

static int poll_cq(struct ib_cq *ib, int num_entries, struct ib_wc *wc)
{
	struct drv_cq *cq = to_cq(ib);
	int done, want, n;

	if (num_entries <= 0)
		return 0;
	done = take_held(cq, wc);
	while (done < num_entries) {
		want = min(BATCH, num_entries - done);
		n = poll_some(cq, want, wc + done);
		if (n < 0)
			return done ? done : n;
		done += n;
		if (n < want)
			break;
	}
	return done;
}

/* What was there already, arming does not tell: one more look, and what that finds is
 * kept for the next poll. */
static int req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags flags)
{
	struct drv_cq *cq = to_cq(ib);
	int missed;

	engine_cq_arm(cq->engine, (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED);
	if (!(flags & IB_CQ_REPORT_MISSED_EVENTS))
		return 0;
	mutex_lock(&cq->held_lock);
	if (!cq->has_held)
		cq->has_held = poll_some(cq, 1, &cq->held) == 1;
	missed = cq->has_held;
	mutex_unlock(&cq->held_lock);
	return missed;
}

const struct ib_device_ops driver_post_ops = {
	.post_send = post_send,
	.post_recv = post_recv,
	.post_srq_recv = post_srq_recv,
	.poll_cq = poll_cq,
	.req_notify_cq = req_notify_cq,
};
