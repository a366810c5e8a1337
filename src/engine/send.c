// SPDX-License-Identifier: BSD-2-Clause
/*
 * Posting sends. UD completes at once: when engine_qp_post_send returns, the datagrams
 * lie in the log and their receivers are told. All under tx, which is given up only where
 * the daemon must be asked or a receiver waited for; everything is looked at again then.
 *
 * A place in the send queue is taken by a request that makes a completion, until that
 * completion is polled; one without gives it back at once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_priv.h"

#define BATCH 64u /* datagrams until a longer list is published in parts */
/* One of so many posts tries again to reach a process whose memory could not be had. */
#define SKIPS 64u

/* -- completions and states ---------------------------------------------------------- */

void complete_send(struct engine_qp *qp, const struct ibv_send_wr *wr,
		   enum ibv_wc_status status, uint32_t bytes)
{
	const struct ibv_wc wc = {
		.wr_id = wr->wr_id,
		.status = status,
		.opcode = IBV_WC_SEND,
		.byte_len = bytes,
		.qp_num = qp->config.qpn,
	};

	if (status == IBV_WC_SUCCESS && !qp->config.sq_sig_all &&
	    !(wr->send_flags & IBV_SEND_SIGNALED))
		return;
	atomic_fetch_add_explicit(&qp->sq_used, 1, memory_order_relaxed);
	if (!cq_push(qp->config.send_cq, &wc, qp, true, false))
		atomic_fetch_sub_explicit(&qp->sq_used, 1, memory_order_relaxed);
}

/* A request failed in execution: the send queue stops, receiving goes on. */
static void send_error(struct engine_qp *qp, const struct ibv_send_wr *wr,
		       enum ibv_wc_status status)
{
	struct engine *e = qp->engine;

	complete_send(qp, wr, status, 0);
	lock_take(&e->rx_lock);
	lock_take(&qp->lock);
	if (qp_state(qp) == IBV_QPS_RTS)
		atomic_store_explicit(&qp->state, IBV_QPS_SQE, memory_order_release);
	lock_drop(&qp->lock);
	lock_drop(&e->rx_lock);
}

static int drop(struct engine_qp *qp, const struct ibv_send_wr *wr,
		enum drop_reason reason, uint32_t bytes)
{
	count_add(&qp->counters->drops[reason], 1);
	complete_send(qp, wr, IBV_WC_SUCCESS, bytes);
	return 0;
}

/* -- checks -------------------------------------------------------------------------- */

static uint64_t sges_bytes(const struct ibv_send_wr *wr)
{
	uint64_t bytes = 0;

	for (int i = 0; i < wr->num_sge; i++)
		bytes += wr->sg_list[i].length;
	return bytes;
}

/* What the call itself refuses. */
static int check_request(const struct engine_qp *qp, const struct ibv_send_wr *wr)
{
	const struct ibv_qp_cap *cap = &qp->config.cap;

	if (wr->opcode != IBV_WR_SEND && wr->opcode != IBV_WR_SEND_WITH_IMM)
		return EINVAL;
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > cap->max_send_sge || !wr->wr.ud.ah)
		return EINVAL;
	if ((wr->send_flags & IBV_SEND_INLINE) && sges_bytes(wr) > cap->max_inline_data)
		return EINVAL;
	if (atomic_load_explicit(&qp->sq_used, memory_order_relaxed) >= cap->max_send_wr)
		return ENOMEM;
	return 0;
}

static bool memory_is_ours(const struct engine_qp *qp, const struct ibv_send_wr *wr)
{
	if (wr->send_flags & IBV_SEND_INLINE)
		return true;
	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		if (sge->length && !mr_translate(qp->engine, qp->config.pd, sge->lkey,
						 sge->addr, sge->length, 0))
			return false;
	}
	return true;
}

static uint32_t port_mtu(const struct engine_qp *qp)
{
	const struct shm_port *port = &qp->engine->tables->ports[qp->attr.port_index];
	uint32_t mtu = atomic_load_explicit(&port->active_mtu, memory_order_relaxed);

	return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128u << mtu : ENGINE_MTU_MAX;
}

/* What must be for a datagram to leave the port; states other than down are not a
 * sender's business. */
static enum drop_reason check_port(const struct engine *e, const struct engine_ah *ah)
{
	const struct shm_port *port = &e->tables->ports[ah->port_index];

	if (unlikely(atomic_load_explicit(&port->state, memory_order_relaxed) ==
		     IBV_PORT_DOWN))
		return DROP_PORT_DOWN;
	if (unlikely(gid_serial(e->tables, ah->src_gid) != ah->src_serial))
		return DROP_NO_SOURCE;
	return DROP_NONE;
}

/* -- where it goes ------------------------------------------------------------------- */

static bool resolve(struct engine *e, struct engine_ah *ah)
{
	if (ah == e->tx.last_ah)
		return true;
	if (likely(ah_is_true(e, ah) && !ah->incomplete))
		return true;
	if (ah->incomplete && ah_is_true(e, ah) && ++ah->skips % SKIPS)
		return true;
	return ah_resolve_slow(e, ah);
}

/* Why nobody gets it: who is not on this machine may be behind the port's network. */
static enum drop_reason nobody(const struct engine *e, const struct engine_ah *ah,
			       enum drop_reason reason)
{
	const struct shm_port *port = &e->tables->ports[ah->port_index];
	uint32_t flags = atomic_load_explicit(&port->flags, memory_order_relaxed);

	return flags & SHM_PORT_NETWORK ? DROP_WIRE_OFF : reason;
}

/* The reason not to send, or DROP_NONE. */
static enum drop_reason route_multicast(struct engine *e, struct tx_datagram *d)
{
	if (unlikely(d->ah->entry == SHM_NONE))
		return nobody(e, d->ah, DROP_NO_GROUP);
	if (unlikely(!d->ah->members))
		return nobody(e, d->ah, DROP_NO_MEMBER);
	d->entry = d->ah->entry;
	return DROP_NONE;
}

static enum drop_reason route_unicast(struct engine *e, struct tx_datagram *d)
{
	if (d->ah->dst_gid == SHM_NONE)
		return nobody(e, d->ah, DROP_NO_ROUTE);
	if (d->dst_qpn == MULTICAST_QPN)
		return DROP_NO_QP;
	d->entry = shm_qp_find(e->tables, d->ah->dst_device, d->dst_qpn);
	if (d->entry == SHM_NONE)
		return DROP_NO_QP;
	d->dst_gid = d->ah->dst_gid;
	d->flags |= SHM_LOG_UNICAST;
	return DROP_NONE;
}

/* Have the receiver of a unicast datagram at hand. */
static int reach_unicast(struct engine *e, const struct tx_datagram *d)
{
	int r;

	if (likely(receiver_known(e, d->entry)))
		return 0;
	tx_publish(e);
	r = receiver_map_unlocked(e, d->entry);
	return r < 0 ? r : SEND_AGAIN;
}

static void tell(struct tx *tx, struct tx_datagram *d)
{
	if (unlikely(d->flags & SHM_LOG_UNICAST)) {
		d->ordinal = ++tx->receivers[d->entry]->ordinal;
		tx->ring[d->entry / 64] |= 1ull << (d->entry % 64);
		tx->ring_words |= 1u << (d->entry / 64);
		return;
	}
	d->ordinal = ++tx->ordinals[d->entry];
	if (d->ah == tx->last_ah)
		return;
	for (uint32_t words = d->ah->words_used; words; words &= words - 1) {
		uint32_t w = (uint32_t)__builtin_ctz(words);

		tx->ring[w] |= d->ah->words[w];
	}
	tx->ring_words |= d->ah->words_used;
}

/* -- one request --------------------------------------------------------------------- */

/* `bytes` fit and are ours to send. 0, SEND_AGAIN, or an error of the call. */
static int send_datagram(struct engine_qp *qp, const struct ibv_send_wr *wr,
			 struct engine_ah *ah, uint32_t bytes)
{
	struct engine *e = qp->engine;
	struct tx *tx = &e->tx;
	struct tx_datagram d = {
		.qp = qp,
		.wr = wr,
		.ah = ah,
		.length = bytes,
		.dst_qpn = wr->wr.ud.remote_qpn & 0xffffff,
		/* Bit 31: the sender's own (spec/kernel 4.2). */
		.qkey = wr->wr.ud.remote_qkey & 0x80000000u ? qp->attr.qkey
							    : wr->wr.ud.remote_qkey,
		.pkey = qp_pkey(qp),
		.flags = (wr->opcode == IBV_WR_SEND_WITH_IMM ? SHM_LOG_WITH_IMM : 0) |
			 (wr->send_flags & IBV_SEND_SOLICITED ? SHM_LOG_SOLICITED : 0),
	};
	enum drop_reason reason;
	int r;

	if (unlikely(!tx->log)) {
		r = tx_open_unlocked(e);
		return r < 0 ? -r : SEND_AGAIN;
	}
	if (unlikely(!resolve(e, ah)))
		return SEND_AGAIN;
	reason = ah->multicast ? route_multicast(e, &d) : route_unicast(e, &d);
	if (unlikely(reason != DROP_NONE))
		return drop(qp, wr, reason, bytes);
	if (d.flags & SHM_LOG_UNICAST) {
		r = reach_unicast(e, &d);
		if (r)
			return r == SEND_AGAIN ? SEND_AGAIN
					       : drop(qp, wr, DROP_PEER_GONE, bytes);
	}
	if (unlikely(tx_at_gate(tx, tx_rest_of(bytes))) &&
	    tx_gate_unlocked(e, tx_rest_of(bytes)))
		return SEND_AGAIN;
	tell(tx, &d);
	tx_write(e, &d);
	tx->last_ah = ah;
	count_add(&qp->counters->sent, 1);
	count_add(&qp->counters->sent_bytes, bytes);
	complete_send(qp, wr, IBV_WC_SUCCESS, bytes);
	return 0;
}

int send_execute(struct engine_qp *qp, const struct ibv_send_wr *wr)
{
	struct engine_ah *ah = ((struct engine_verbs_ah *)wr->wr.ud.ah)->engine;
	uint64_t bytes = sges_bytes(wr);
	enum drop_reason reason;

	if (unlikely(ah->pd != qp->config.pd)) {
		send_error(qp, wr, IBV_WC_LOC_QP_OP_ERR);
		return 0;
	}
	if (unlikely(!memory_is_ours(qp, wr))) {
		send_error(qp, wr, IBV_WC_LOC_PROT_ERR);
		return 0;
	}
	/* Nothing is sent, and that is a success (spec/kernel 4.2). */
	if (unlikely(bytes > port_mtu(qp)))
		return drop(qp, wr, DROP_TOO_LONG, (uint32_t)bytes);
	reason = check_port(qp->engine, ah);
	if (unlikely(reason != DROP_NONE))
		return drop(qp, wr, reason, (uint32_t)bytes);
	return send_datagram(qp, wr, ah, (uint32_t)bytes);
}

static int post_one(struct engine_qp *qp, const struct ibv_send_wr *wr)
{
	int r;

	do {
		int state = qp_state(qp);

		if (unlikely(state < IBV_QPS_RTS))
			return EINVAL;
		if (unlikely(atomic_load_explicit(&qp->engine->failed,
						  memory_order_relaxed)))
			return ENODEV;
		r = check_request(qp, wr);
		if (unlikely(r))
			return r;
		if (unlikely(state == IBV_QPS_SQD))
			return send_hold(qp, wr);
		if (unlikely(state != IBV_QPS_RTS)) {
			complete_send(qp, wr, IBV_WC_WR_FLUSH_ERR, 0);
			return 0;
		}
		r = send_execute(qp, wr);
	} while (unlikely(r == SEND_AGAIN));
	if (qp->engine->tx.head - qp->engine->tx.first >= BATCH)
		tx_publish(qp->engine);
	return r;
}

int engine_qp_post_send(struct engine_qp *qp, struct ibv_send_wr *wr,
			struct ibv_send_wr **bad_wr)
{
	struct engine *e = qp->engine;
	int r = 0;

	lock_take(&e->tx_lock);
	for (; wr; wr = wr->next) {
		r = post_one(qp, wr);
		if (unlikely(r)) {
			*bad_wr = wr;
			break;
		}
	}
	tx_publish(e);
	lock_drop(&e->tx_lock);
	engine_settle(e);
	return r;
}
