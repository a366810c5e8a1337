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

#include "engine/faults.h"
#include "engine/log_writer.h"

#define BATCH 64u /* datagrams until a longer list is published in parts */
/* One of so many posts tries again to reach a process whose memory could not be had. */
#define SKIPS 64u

/* -- completions and states ---------------------------------------------------------- */

static void write_send(struct ibv_wc *wc, const struct engine_qp *qp, uint64_t wr_id,
		       enum ibv_wc_status status, uint32_t bytes)
{
	*wc = (struct ibv_wc){
		.wr_id = wr_id,
		.status = status,
		.opcode = IBV_WC_SEND,
		.byte_len = bytes,
		.qp_num = qp->config.qpn,
	};
}

/* Under tx, and the lock of the send CQ. */
static __attribute__((noinline)) void delay_send(struct engine_qp *qp,
						 const struct ibv_send_wr *wr)
{
	bool with_imm = wr->opcode == IBV_WR_SEND_WITH_IMM;
	struct fault_side *side = &qp->engine->faults.tx;
	uint32_t ms;

	faults_look(qp->engine, side);
	ms = faults_completion_ms(qp, side, fault_opcode(with_imm));
	if (ms)
		cq_stall(qp->config.send_cq, ms);
}

void complete_send(struct engine_qp *qp, const struct ibv_send_wr *wr,
		   enum ibv_wc_status status, uint32_t bytes)
{
	struct cq_entry *entry;

	if (status == IBV_WC_SUCCESS && !qp->config.sq_sig_all &&
	    !(wr->send_flags & IBV_SEND_SIGNALED))
		return;
	entry = cq_begin(qp->config.send_cq);
	if (unlikely(!entry))
		return;
	if (status == IBV_WC_SUCCESS && faults_stir(qp->engine))
		delay_send(qp, wr);
	write_send(&entry->wc, qp, wr->wr_id, status, bytes);
	entry->qp = qp;
	entry->is_send = 1;
	sq_used_add(qp, 1);
	cq_end(qp->config.send_cq, status != IBV_WC_SUCCESS);
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

static bool is_flushed_in(int state)
{
	return state == IBV_QPS_SQE || state == IBV_QPS_ERR;
}

/* What the call itself refuses. What is flushed needs no address. */
static int check_request(const struct engine_qp *qp, const struct ibv_send_wr *wr,
			 int state)
{
	const struct ibv_qp_cap *cap = &qp->config.cap;

	if (wr->opcode != IBV_WR_SEND && wr->opcode != IBV_WR_SEND_WITH_IMM)
		return EINVAL;
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > cap->max_send_sge ||
	    (!wr->wr.ud.ah && !is_flushed_in(state)))
		return EINVAL;
	if ((wr->send_flags & IBV_SEND_INLINE) && sges_bytes(wr) > cap->max_inline_data)
		return EINVAL;
	if (!sq_has_room(qp))
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

static inline uint32_t port_mtu(const struct engine_qp *qp)
{
	uint32_t mtu = atomic_load_explicit(&qp->port->active_mtu, memory_order_relaxed);

	return likely(mtu - IBV_MTU_256 <= IBV_MTU_4096 - IBV_MTU_256) ? 128u << mtu
								       : ENGINE_MTU_MAX;
}

/* What must be for a datagram to leave the port. */
static enum drop_reason check_port(const struct engine *e, const struct engine_ah *ah)
{
	const struct shm_port *port = &e->tables->ports[ah->port_index];

	if (unlikely(atomic_load_explicit(&port->state, memory_order_relaxed) !=
		     IBV_PORT_ACTIVE))
		return DROP_PORT_DOWN;
	if (unlikely(!(ah->hops & SHM_LOG_NO_GRH) &&
		     gid_serial(e->tables, shm_log_low(ah->gids)) != ah->src_serial))
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

/* Where a datagram goes, in the words of the log. */
struct target {
	uint64_t generation; /* unicast: the flow label */
	uint32_t entry;      /* group entry, or receiving slot */
	uint32_t dst_end;    /* unicast */
	uint8_t flags;
};

/* Nobody is reached by that MLID: by another one? */
static enum drop_reason no_entry(const struct engine *e, const struct engine_ah *ah)
{
	if (ah->infiniband && shm_group_exists(e->tables, ah->port_index, ah->dgid))
		return DROP_MLID;
	return nobody(e, ah, DROP_NO_GROUP);
}

/* The reason not to send, or DROP_NONE. */
static enum drop_reason route_multicast(struct engine *e, const struct engine_ah *ah,
					struct target *to)
{
	if (unlikely(ah->entry == SHM_NONE))
		return no_entry(e, ah);
	if (unlikely(!ah->members))
		return nobody(e, ah, DROP_NO_MEMBER);
	*to = (struct target){ .generation = ah->generation, .entry = ah->entry };
	return DROP_NONE;
}

static enum drop_reason route_unicast(struct engine *e, const struct engine_ah *ah,
				      uint32_t qpn, struct target *to)
{
	uint32_t slot;

	if (ah->dst_end == SHM_NONE)
		return nobody(e, ah, DROP_NO_ROUTE);
	if (qpn == MULTICAST_QPN)
		return DROP_NO_QP;
	slot = shm_qp_find(e->tables, ah->dst_device, qpn);
	if (slot == SHM_NONE)
		return DROP_NO_QP;
	*to = (struct target){ .generation = ah->flow_label,
			       .entry = slot,
			       .dst_end = ah->dst_end,
			       .flags = SHM_LOG_UNICAST };
	return DROP_NONE;
}

/* Have the receiver of a unicast datagram at hand. */
static int reach_unicast(struct engine *e, uint32_t slot)
{
	int r;

	if (likely(receiver_known(e, slot)))
		return 0;
	tx_publish(e);
	r = receiver_map_unlocked(e, slot);
	return r < 0 ? r : SEND_AGAIN;
}

/* -- one request --------------------------------------------------------------------- */

static inline void describe(struct tx_datagram *d, const struct engine_qp *qp,
			    const struct ibv_send_wr *wr, const struct engine_ah *ah,
			    const struct target *to)
{
	uint32_t qkey = wr->wr.ud.remote_qkey;
	uint64_t flags = to->flags;

	/* Bit 31: the sender's own (spec/kernel 4.2). */
	if (qkey & 0x80000000u)
		qkey = qp->attr.qkey;
	if (wr->opcode == IBV_WR_SEND_WITH_IMM)
		flags |= SHM_LOG_WITH_IMM;
	if (wr->send_flags & IBV_SEND_SOLICITED)
		flags |= SHM_LOG_SOLICITED;
	d->generation = to->generation;
	d->numbers = shm_log_pair(wr->wr.ud.remote_qpn & 0xffffff, qp->config.qpn);
	d->keys = shm_log_pair(qkey, wr->imm_data);
	d->gids = ah->gids | (uint64_t)to->dst_end << 32;
	d->shape = d->length | (uint64_t)qp_pkey(qp) << SHM_LOG_PKEY_SHIFT |
		   flags << SHM_LOG_FLAGS_SHIFT |
		   (uint64_t)ah->hops << SHM_LOG_HOPS_SHIFT;
}

static void begin_flow(struct shm_counters *c, uint32_t pkey_index, uint16_t dlid)
{
	atomic_fetch_or_explicit(&c->flow_pkeys[dlid], 1u << pkey_index,
				 memory_order_relaxed);
	atomic_fetch_or_explicit(&c->flow_lids[dlid / 64], 1ull << dlid % 64,
				 memory_order_relaxed);
}

/* For the counters of the switches on the way. */
static inline void count_flow(const struct engine_qp *qp, uint16_t dlid, uint32_t bytes)
{
	struct shm_counters *c = qp->engine->counters;
	uint32_t pkey_index = qp->attr.pkey_index % SHM_PKEYS_MAX;
	struct shm_flow_counters *flow = &c->flows[pkey_index][dlid];

	if (unlikely(!atomic_load_explicit(&flow->sent, memory_order_relaxed)))
		begin_flow(c, pkey_index, dlid);
	count_add(&flow->sent, 1);
	count_add(&flow->sent_bytes, bytes);
}

static inline void sent(struct engine_qp *qp, const struct ibv_send_wr *wr,
			const struct engine_ah *ah, uint32_t bytes)
{
	if (ah->infiniband)
		count_flow(qp, ah->dlid, bytes);
	count_add(&qp->counters->sent, 1);
	count_add(&qp->counters->sent_bytes, bytes);
	if (unlikely(qp->config.sq_sig_all || wr->send_flags & IBV_SEND_SIGNALED))
		complete_send(qp, wr, IBV_WC_SUCCESS, bytes);
}

/* Write to a group: the batch is for the handle's peers too. */
static inline void write_multicast(struct engine *e, struct tx_datagram *d,
				   struct engine_ah *ah)
{
	struct tx *tx = &e->tx;

	if (unlikely(ah != tx->last_ah)) {
		if (tx->last_ah)
			tx_ring_also(tx, tx->last_ah);
		tx->last_ah = ah;
	}
	d->route = shm_log_pair(ah->entry, ordinal_next(tx, ah));
	tx_write(tx, d);
}

static void write_unicast(struct engine *e, struct tx_datagram *d, uint32_t slot)
{
	struct tx *tx = &e->tx;

	tx->ring[slot / 64] |= 1ull << (slot % 64);
	tx->ring_words |= 1u << (slot / 64);
	d->route = shm_log_pair(slot, ++tx->receivers[slot]->ordinal);
	tx_write(tx, d);
}

/* `bytes` fit and are ours to send. 0, SEND_AGAIN, or an error of the call. */
static int send_datagram(struct engine_qp *qp, const struct ibv_send_wr *wr,
			 struct engine_ah *ah, uint32_t bytes)
{
	struct tx_datagram d = { .length = bytes, .qp = qp, .wr = wr };
	struct engine *e = qp->engine;
	enum drop_reason reason;
	struct target to;
	int r;

	if (unlikely(!e->tx.log)) {
		r = tx_open_unlocked(e);
		return r < 0 ? -r : SEND_AGAIN;
	}
	if (unlikely(!resolve(e, ah)))
		return SEND_AGAIN;
	reason = ah->multicast
			 ? route_multicast(e, ah, &to)
			 : route_unicast(e, ah, wr->wr.ud.remote_qpn & 0xffffff, &to);
	if (unlikely(reason != DROP_NONE))
		return drop(qp, wr, reason, bytes);
	r = ah->multicast ? 0 : reach_unicast(e, to.entry);
	if (unlikely(r))
		return r == SEND_AGAIN ? SEND_AGAIN : drop(qp, wr, DROP_PEER_GONE, bytes);
	if (unlikely(tx_at_gate(&e->tx, tx_rest_of(bytes))) &&
	    tx_gate_unlocked(e, tx_rest_of(bytes)))
		return SEND_AGAIN;
	describe(&d, qp, wr, ah, &to);
	if (faults_stir(e))
		faults_send_unlocked(qp, &d, ah, to.entry);
	else if (ah->multicast)
		write_multicast(e, &d, ah);
	else
		write_unicast(e, &d, to.entry);
	sent(qp, wr, ah, bytes);
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

/* -- the common request -------------------------------------------------------------- */

/* A handle to a group that is as it was when last looked up, through a port that is up. */
static inline bool is_plain_group(const struct engine *e, struct engine_ah *ah)
{
	return ah->multicast && ah->entry != SHM_NONE && ah->members && !ah->incomplete &&
	       ah_is_true(e, ah) && check_port(e, ah) == DROP_NONE;
}

/*
 * What nearly every request is: one piece of registered memory, to a group that has not
 * changed, with room in the log. False: nothing was done, and send_execute decides.
 */
static inline bool send_plain(struct engine_qp *qp, const struct ibv_send_wr *wr)
{
	struct engine *e = qp->engine;
	const struct ibv_sge *sge = wr->sg_list;
	struct tx_datagram d = { .qp = qp, .wr = wr };
	struct engine_ah *ah;

	if (unlikely(!wr->wr.ud.ah || wr->num_sge != 1 ||
		     (wr->send_flags & IBV_SEND_INLINE) ||
		     (wr->opcode != IBV_WR_SEND && wr->opcode != IBV_WR_SEND_WITH_IMM)))
		return false;
	ah = ((struct engine_verbs_ah *)wr->wr.ud.ah)->engine;
	if (unlikely(ah->pd != qp->config.pd))
		return false;
	if (ah != e->tx.last_ah && unlikely(!e->tx.log || !is_plain_group(e, ah)))
		return false;
	if (unlikely(!ah->multicast || sge->length > port_mtu(qp) ||
		     tx_at_gate(&e->tx, tx_rest_of(sge->length)) || !sq_has_room(qp)))
		return false;
	d.length = sge->length;
	d.from = mr_translate_near(e, &e->tx.region, qp->config.pd, sge, sge->length, 0);
	if (unlikely(!d.from))
		return false;
	describe(&d, qp, wr, ah, &(struct target){ .generation = ah->generation });
	write_multicast(e, &d, ah);
	sent(qp, wr, ah, d.length);
	return true;
}

static int post_other(struct engine_qp *qp, const struct ibv_send_wr *wr)
{
	int r;

	do {
		int state = qp_state(qp);

		if (unlikely(state < IBV_QPS_RTS))
			return EINVAL;
		if (unlikely(atomic_load_explicit(&qp->engine->failed,
						  memory_order_relaxed)))
			return ENODEV;
		r = check_request(qp, wr, state);
		if (unlikely(r))
			return r;
		if (unlikely(state == IBV_QPS_SQD))
			return send_hold(qp, wr);
		if (unlikely(is_flushed_in(state))) {
			complete_send(qp, wr, IBV_WC_WR_FLUSH_ERR, 0);
			return 0;
		}
		r = send_execute(qp, wr);
	} while (unlikely(r == SEND_AGAIN));
	return r;
}

/* A queue pair in RTS has an engine that did not fail: that goes through ERR. */
static inline int post_one(struct engine_qp *qp, const struct ibv_send_wr *wr)
{
	struct tx *tx = &qp->engine->tx;
	int r = 0;

	if (unlikely(qp_state(qp) != IBV_QPS_RTS || !send_plain(qp, wr)))
		r = post_other(qp, wr);
	if (tx->head - tx->first >= BATCH)
		tx_publish(qp->engine);
	return r;
}

/* The handle, and the engine's part where it lies behind it (engine_ah_init). */
static inline void foresee(const struct ibv_send_wr *wr)
{
	const char *ah = (const char *)wr->wr.ud.ah;

	__builtin_prefetch(ah);
	__builtin_prefetch(ah + 64, 1);
}

/* While faults are made: none goes the plain way. */
static __attribute__((noinline)) int post_list_faulty(struct engine_qp *qp,
						      struct ibv_send_wr *wr,
						      struct ibv_send_wr **bad_wr)
{
	struct tx *tx = &qp->engine->tx;
	int r = 0;

	for (; wr; wr = wr->next) {
		r = post_other(qp, wr);
		if (r) {
			*bad_wr = wr;
			break;
		}
		if (tx->head - tx->first >= BATCH)
			tx_publish(qp->engine);
	}
	return r;
}

static inline int post_list(struct engine_qp *qp, struct ibv_send_wr *wr,
			    struct ibv_send_wr **bad_wr)
{
	int r = 0;

	for (; wr; wr = wr->next) {
		if (wr->next)
			foresee(wr->next);
		r = post_one(qp, wr);
		if (unlikely(r)) {
			*bad_wr = wr;
			break;
		}
	}
	return r;
}

int engine_qp_post_send(struct engine_qp *qp, struct ibv_send_wr *wr,
			struct ibv_send_wr **bad_wr)
{
	struct engine *e = qp->engine;
	bool held = helper_hold(e);
	int r;

	if (likely(wr))
		foresee(wr);
	lock_take(&e->tx_lock);
	if (faults_stir(e))
		r = post_list_faulty(qp, wr, bad_wr);
	else
		r = post_list(qp, wr, bad_wr);
	tx_publish(e);
	lock_drop(&e->tx_lock);
	engine_settle(e);
	if (unlikely(held))
		helper_watch(e);
	return r;
}
