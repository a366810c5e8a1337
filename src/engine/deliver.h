/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One datagram into one queue pair, under rx: the checks of spec/kernel 4.5 (8 to 10) and
 * 4.6, the copy, the completion. Every failure has its reason and is this queue pair's
 * alone. Here is the way that nearly all take; deliver.c has the rest.
 */
#ifndef ENGINE_DELIVER_H
#define ENGINE_DELIVER_H

#include "engine/copy.h"
#include "engine/engine_priv.h"

/* Its own datagram, and it was created not to hear those (spec/kernel 4.7: number and
 * source are compared, for numbers repeat on other devices). */
static inline bool is_blocked_own(const struct engine_qp *qp, const struct rx_datagram *d)
{
	return d->own && qp->config.block_self_multicast &&
	       !(d->flags & SHM_LOG_UNICAST) && d->src_qpn == qp->config.qpn &&
	       d->src_device == qp->config.device;
}

/* Equal but for the membership bit, and not both limited (spec/kernel 4.5, 9). */
static inline bool pkeys_match(uint16_t a, uint16_t b)
{
	return ((a ^ b) & 0x7fff) == 0 && ((a | b) & 0x8000) && (a & 0x7fff);
}

static inline enum drop_reason check_qp(const struct engine_qp *qp,
					const struct rx_datagram *d)
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

static inline uint8_t *receive_memory(const struct engine_qp *qp,
				      const struct ibv_sge *sge, uint64_t bytes)
{
	return mr_translate(qp->engine, qp->receives_pd, sge->lkey, sge->addr, bytes,
			    IBV_ACCESS_LOCAL_WRITE);
}

/* The receive that was peeked at is used up. */
static inline void take_receive(struct engine_qp *qp)
{
	rq_pop(qp->receives);
	if (qp->config.srq)
		srq_taken(qp->config.srq);
}

static inline void copy_out(uint8_t *to, const struct rx_datagram *d)
{
	memcpy(to, d->header, GRH_BYTES);
	if (d->length <= SHM_LOG_INLINE) {
		copy_payload(to + GRH_BYTES, d->slot->payload, d->length);
		return;
	}
	copy_payload(to + GRH_BYTES, d->slot->payload, SHM_LOG_INLINE);
	copy_payload(to + GRH_BYTES + SHM_LOG_INLINE, d->rest,
		     d->length - SHM_LOG_INLINE);
}

static inline void write_completion(struct ibv_wc *wc, const struct engine_qp *qp,
				    uint64_t wr_id, const struct rx_datagram *d)
{
	*wc = (struct ibv_wc){
		.wr_id = wr_id,
		.status = IBV_WC_SUCCESS,
		.opcode = IBV_WC_RECV,
		.byte_len = GRH_BYTES + d->length,
		.imm_data = d->imm,
		.qp_num = qp->config.qpn,
		.src_qp = d->src_qpn,
		.wc_flags = d->address.wc_flags |
			    (d->flags & SHM_LOG_WITH_IMM ? IBV_WC_WITH_IMM : 0),
		.pkey_index = qp->attr.pkey_index,
		.slid = d->address.slid,
		.sl = d->address.sl,
		.dlid_path_bits = d->address.dlid_path_bits,
	};
}

/* deliver.c: between cq_begin and cq_end, if a rule wants it so. */
void delay_receive(struct engine_qp *qp, const struct rx_datagram *d);

static inline enum drop_reason complete_receive(struct engine_qp *qp, uint64_t wr_id,
						const struct rx_datagram *d)
{
	struct engine_cq *cq = qp->config.recv_cq;
	bool solicited = d->flags & SHM_LOG_SOLICITED;

	take_receive(qp);
	if (likely(cq->direct_left)) {
		cq->direct_left--;
		write_completion(cq->direct++, qp, wr_id, d);
		cq_notify(cq, solicited);
	} else {
		struct cq_entry *entry = cq_begin(cq);

		if (unlikely(!entry))
			return DROP_CQ_FULL;
		write_completion(&entry->wc, qp, wr_id, d);
		entry->qp = qp;
		entry->is_send = 0;
		if (unlikely(qp->engine->faults.rx.completions))
			delay_receive(qp, d);
		cq_end(cq, solicited);
	}
	count_add(&qp->counters->received, 1);
	count_add(&qp->counters->received_bytes, d->length);
	return DROP_NONE;
}

static inline enum drop_reason deliver(struct engine_qp *qp, const struct rx_datagram *d)
{
	const uint32_t bytes = GRH_BYTES + d->length;
	enum drop_reason reason = check_qp(qp, d);
	const struct recv_entry *entry;
	uint8_t *to = NULL;

	if (unlikely(reason != DROP_NONE))
		return reason;
	entry = rq_peek(qp->receives);
	if (unlikely(!entry))
		return DROP_NO_RECV_WQE;
	if (likely(entry->num_sge == 1 && entry->sge[0].length >= bytes))
		to = receive_memory(qp, &entry->sge[0], bytes);
	if (unlikely(!to))
		return deliver_slow(qp, d, entry);
	copy_out(to, d);
	/* Overwritten while we copied: rubbish lies in the buffer, which verbs permit before
	 * a completion, and the receive stays. */
	if (unlikely(!rx_still_there(d)))
		return DROP_LAGGED;
	return complete_receive(qp, entry->wr_id, d);
}

#endif
