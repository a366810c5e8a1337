// SPDX-License-Identifier: BSD-2-Clause
/*
 * One datagram into one queue pair: the checks of spec/kernel 4.5 (8 to 10) and 4.6, the
 * copy, the completion. Every failure has its reason and is this queue pair's alone.
 */
#include "engine/copy.h"
#include "engine/engine_priv.h"

/* Its own datagram, and it was created not to hear those (spec/kernel 4.7: number and
 * source are compared, for numbers repeat on other devices). */
static bool is_blocked_own(const struct engine_qp *qp, const struct rx_datagram *d)
{
	return d->own && qp->config.block_self_multicast &&
	       !(d->flags & SHM_LOG_UNICAST) && d->src_qpn == qp->config.qpn &&
	       d->src_device == qp->config.device;
}

/* Equal but for the membership bit, and not both limited (spec/kernel 4.5, 9). */
static bool pkeys_match(uint16_t a, uint16_t b)
{
	return ((a ^ b) & 0x7fff) == 0 && ((a | b) & 0x8000) && (a & 0x7fff);
}

static enum drop_reason check(const struct engine_qp *qp, const struct rx_datagram *d)
{
	int state = qp_state(qp);

	if (unlikely(is_blocked_own(qp, d)))
		return DROP_SELF_LOOPBACK;
	if (unlikely(state < IBV_QPS_RTR || state > IBV_QPS_SQE))
		return DROP_QP_STATE;
	if (unlikely(!pkeys_match(qp_pkey(qp), d->pkey)))
		return DROP_PKEY;
	if (unlikely(d->qkey != qp->attr.qkey))
		return DROP_QKEY;
	return DROP_NONE;
}

static void complete(struct engine_qp *qp, uint64_t wr_id, const struct rx_datagram *d,
		     struct ibv_wc *wc)
{
	/* In the order of the struct, whole: written wide, read wide. */
	*wc = (struct ibv_wc){
		.wr_id = wr_id,
		.status = IBV_WC_SUCCESS,
		.opcode = IBV_WC_RECV,
		.byte_len = GRH_BYTES + d->length,
		.imm_data = d->imm,
		.qp_num = qp->config.qpn,
		.src_qp = d->src_qpn,
		.wc_flags =
			IBV_WC_GRH | (d->flags & SHM_LOG_WITH_IMM ? IBV_WC_WITH_IMM : 0),
	};
}

/* The receive that was peeked at is used up. */
static void take(struct engine_qp *qp)
{
	rq_pop(qp->receives);
	if (qp->config.srq)
		srq_taken(qp->config.srq);
}

static enum drop_reason complete_receive(struct engine_qp *qp, uint64_t wr_id,
					 const struct rx_datagram *d)
{
	struct engine_cq *cq = qp->config.recv_cq;
	bool solicited = d->flags & SHM_LOG_SOLICITED;
	struct ibv_wc wc;

	take(qp);
	if (likely(cq->direct_left)) {
		cq->direct_left--;
		complete(qp, wr_id, d, cq->direct++);
		cq_notify(cq, solicited);
	} else {
		complete(qp, wr_id, d, &wc);
		if (unlikely(!cq_push(cq, &wc, qp, false, solicited)))
			return DROP_CQ_FULL;
	}
	count_add(&qp->counters->received, 1);
	count_add(&qp->counters->received_bytes, d->length);
	return DROP_NONE;
}

static void complete_error(struct engine_qp *qp, uint64_t wr_id,
			   enum ibv_wc_status status)
{
	struct ibv_wc wc = {
		.wr_id = wr_id,
		.status = status,
		.opcode = IBV_WC_RECV,
		.qp_num = qp->config.qpn,
	};

	take(qp);
	cq_push(qp->config.recv_cq, &wc, qp, false, true);
}

/* The receive names memory it may not: an error completion, and the queue pair is broken. */
static enum drop_reason complete_prot_error(struct engine_qp *qp, uint64_t wr_id)
{
	complete_error(qp, wr_id, IBV_WC_LOC_PROT_ERR);
	qp_fail(qp);
	return DROP_RECV_PROT;
}

/*
 * Too small: that datagram is lost. A queue pair's own receive stays (spec/kernel 7.1); a
 * shared one is used up with an error (4.6), lest it stand in the way of all who share it.
 */
static enum drop_reason complete_too_small(struct engine_qp *qp, uint64_t wr_id)
{
	if (qp->config.srq)
		complete_error(qp, wr_id, IBV_WC_REM_INV_REQ_ERR);
	return DROP_RECV_TOO_SMALL;
}

static uint8_t *sge_memory(const struct engine_qp *qp, const struct ibv_sge *sge,
			   uint64_t bytes)
{
	return mr_translate(qp->engine, qp->receives_pd, sge->lkey, sge->addr, bytes,
			    IBV_ACCESS_LOCAL_WRITE);
}

static void copy_out(uint8_t *to, const struct rx_datagram *d)
{
	uint32_t rest = tx_rest_of(d->length);

	grh_write(to, d->flow, ud_wire_bytes(d->length, d->flags & SHM_LOG_WITH_IMM));
	copy_payload(to + GRH_BYTES, d->slot->payload, d->length - rest);
	if (rest)
		copy_payload(to + GRH_BYTES + SHM_LOG_INLINE, d->rest, rest);
}

static uint64_t sges_bytes(const struct recv_entry *entry)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < entry->num_sge; i++)
		bytes += entry->sge[i].length;
	return bytes;
}

/* Lay `bytes` of `from` behind what was laid before. */
struct scatter {
	const struct engine_qp *qp;
	const struct ibv_sge *sge;
	uint32_t offset; /* in *sge */
};

static void scatter_put(struct scatter *s, const uint8_t *from, uint32_t bytes)
{
	while (bytes) {
		uint32_t n = s->sge->length - s->offset;
		uint8_t *to;

		if (n > bytes)
			n = bytes;
		to = n ? sge_memory(s->qp, s->sge, s->sge->length) : NULL;
		if (to)
			copy_payload(to + s->offset, from, n);
		from += n;
		bytes -= n;
		s->offset += n;
		if (s->offset == s->sge->length) {
			s->sge++;
			s->offset = 0;
		}
	}
}

/* Several elements: all those needed are checked before the first is written. */
static bool scatter(const struct engine_qp *qp, const struct recv_entry *entry,
		    const struct rx_datagram *d)
{
	struct scatter s = { .qp = qp, .sge = entry->sge };
	uint32_t rest = tx_rest_of(d->length);
	uint64_t left = GRH_BYTES + d->length;
	uint8_t grh[GRH_BYTES];

	for (const struct ibv_sge *sge = entry->sge; left; sge++) {
		if (sge->length && !sge_memory(qp, sge, sge->length))
			return false;
		left -= sge->length < left ? sge->length : left;
	}
	grh_write(grh, d->flow, ud_wire_bytes(d->length, d->flags & SHM_LOG_WITH_IMM));
	scatter_put(&s, grh, GRH_BYTES);
	scatter_put(&s, d->slot->payload, d->length - rest);
	scatter_put(&s, d->rest, rest);
	return true;
}

enum drop_reason rx_deliver(struct engine_qp *qp, const struct rx_datagram *d)
{
	uint32_t bytes = GRH_BYTES + d->length;
	enum drop_reason reason = check(qp, d);
	struct recv_entry *entry;
	uint8_t *to;

	if (unlikely(reason != DROP_NONE))
		return reason;
	entry = rq_peek(qp->receives);
	if (unlikely(!entry))
		return DROP_NO_RECV_WQE;
	if (likely(entry->num_sge == 1 && entry->sge[0].length >= bytes)) {
		to = sge_memory(qp, &entry->sge[0], bytes);
		if (unlikely(!to))
			return complete_prot_error(qp, entry->wr_id);
		copy_out(to, d);
	} else {
		if (sges_bytes(entry) < bytes)
			return complete_too_small(qp, entry->wr_id);
		if (!scatter(qp, entry, d))
			return complete_prot_error(qp, entry->wr_id);
	}
	/* Overwritten while we copied: rubbish lies in the buffer, which verbs permit before
	 * a completion, and the receive stays. */
	if (unlikely(!rx_still_there(d)))
		return DROP_LAGGED;
	return complete_receive(qp, entry->wr_id, d);
}
