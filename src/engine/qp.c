// SPDX-License-Identifier: BSD-2-Clause
/*
 * Queue pairs: their life and their states. What is posted lies in rq.c and send.c.
 *
 * A state is written under rx and the queue pair's own lock, so whoever holds either sees
 * it stand still. The send side reads it under tx alone: engine_qp_modify takes that too,
 * but a receive error (qp_fail) does not wait for a post that is under way.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_priv.h"

static struct list *qp_bucket(struct engine *e, uint32_t device, uint32_t qpn)
{
	return &e->qps[(qpn * 0x9e3779b1u + device) >> 8 & (ENGINE_QP_BUCKETS - 1)];
}

struct engine_qp *qp_find(struct engine *e, uint32_t device, uint32_t qpn)
{
	struct list *bucket = qp_bucket(e, device, qpn);

	list_for_each(pos, bucket) {
		struct engine_qp *qp = container_of(pos, struct engine_qp, link);

		if (qp->config.qpn == qpn && qp->config.device == device)
			return qp;
	}
	return NULL;
}

static int check_config(const struct engine_qp_config *config)
{
	if (config->type != IBV_QPT_UD)
		return -EOPNOTSUPP;
	if (!config->send_cq || !config->recv_cq || config->counters >= SHM_QP_COUNTERS)
		return -EINVAL;
	return 0;
}

/* Where its receives come from, and whose memory they may name. */
static int open_receives(struct engine_qp *qp)
{
	const struct engine_qp_config *config = &qp->config;

	qp->receives = config->srq ? &config->srq->rq : &qp->rq;
	qp->receives_pd = config->srq ? config->srq->pd : config->pd;
	if (config->srq)
		return 0;
	return rq_init(&qp->rq, config->cap.max_recv_wr, config->cap.max_recv_sge,
		       (struct ring_source){ config->memory, ENGINE_RING_QP });
}

/* A block is handed out anew when whoever had it before has gone (hca/counters.c). */
static void counters_begin(struct shm_qp_counters *c)
{
	atomic_store_explicit(&c->sent, 0, memory_order_relaxed);
	atomic_store_explicit(&c->sent_bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&c->received, 0, memory_order_relaxed);
	atomic_store_explicit(&c->received_bytes, 0, memory_order_relaxed);
	for (size_t i = 0; i < sizeof(c->drops) / sizeof(c->drops[0]); i++)
		atomic_store_explicit(&c->drops[i], 0, memory_order_relaxed);
}

int engine_qp_create(struct engine *e, const struct engine_qp_config *config,
		     struct engine_qp **ret)
{
	struct engine_qp *qp;
	int r;

	r = check_config(config);
	if (r < 0)
		return r;
	r = helper_start(e);
	if (r < 0)
		return r;
	qp = aligned_alloc(64, (sizeof(*qp) + 63) & ~(size_t)63);
	if (!qp)
		return -ENOMEM;
	memset(qp, 0, sizeof(*qp));
	qp->config = *config;
	qp->port = &e->tables->ports[0];
	r = open_receives(qp);
	if (r < 0)
		goto free_qp;
	qp->engine = e;
	qp->counters = &e->counters->qps[config->counters];
	counters_begin(qp->counters);
	lock_init(&qp->lock, LOCK_QP);
	list_init(&qp->held_sends);

	lock_take(&e->rx_lock);
	qp->ordinal = e->qps_made++;
	list_append(qp_bucket(e, config->device, config->qpn), &qp->link);
	lock_drop(&e->rx_lock);
	*ret = qp;
	return 0;

free_qp:
	free(qp);
	return r;
}

static void purge_completions(struct engine_qp *qp)
{
	cq_purge(qp->config.send_cq, qp);
	if (qp->config.recv_cq != qp->config.send_cq)
		cq_purge(qp->config.recv_cq, qp);
}

void engine_qp_destroy(struct engine_qp *qp)
{
	struct engine *e;

	if (!qp)
		return;
	e = qp->engine;
	lock_take(&e->tx_lock);
	lock_take(&e->rx_lock);
	e->rx.epoch++;
	attachments_drop_qp(qp);
	faults_forget_receives(qp, NULL);
	faults_forget_sends(qp);
	list_remove(&qp->link);
	lock_take(&qp->lock);
	send_held_drop(qp);
	lock_drop(&qp->lock);
	purge_completions(qp);
	lock_drop(&e->rx_lock);
	lock_drop(&e->tx_lock);
	rq_fini(&qp->rq);
	faults_qp_fini(qp);
	free(qp);
}

/* What is in a shared queue is for others: this one takes no more of it. */
static void leave_shared(struct engine_qp *qp)
{
	struct engine *e = qp->engine;

	e->ops->async_event(e->arg, IBV_EVENT_QP_LAST_WQE_REACHED, qp->config.qp_context);
	atomic_store_explicit(&e->wake_wanted, true, memory_order_relaxed);
}

static void flush_receives(struct engine_qp *qp)
{
	struct recv_entry *entry;

	for (entry = rq_peek(&qp->rq); entry; entry = rq_peek(&qp->rq)) {
		struct ibv_wc wc = {
			.wr_id = entry->wr_id,
			.status = IBV_WC_WR_FLUSH_ERR,
			.opcode = IBV_WC_RECV,
			.qp_num = qp->config.qpn,
		};

		rq_pop(&qp->rq);
		cq_push(qp->config.recv_cq, &wc, qp);
	}
}

void qp_fail(struct engine_qp *qp)
{
	int before = qp_state(qp);

	/* Of a shared queue it could still take: runs of other senders know no state. */
	qp->engine->rx.epoch++;
	lock_take(&qp->lock);
	atomic_store_explicit(&qp->state, IBV_QPS_ERR, memory_order_release);
	if (!qp->config.srq)
		flush_receives(qp);
	else if (before != IBV_QPS_ERR)
		leave_shared(qp);
	send_held_flush(qp);
	lock_drop(&qp->lock);
}

/* Under tx and rx: as if new, but for its number and attachments. */
static void qp_reset(struct engine_qp *qp)
{
	lock_take(&qp->lock);
	atomic_store_explicit(&qp->state, IBV_QPS_RESET, memory_order_release);
	qp->rq.known_tail = atomic_load_explicit(&qp->rq.tail, memory_order_relaxed);
	atomic_store_explicit(&qp->rq.head, qp->rq.known_tail, memory_order_release);
	send_held_drop(qp);
	lock_drop(&qp->lock);
	purge_completions(qp);
}

static void qp_set_state(struct engine_qp *qp, enum ibv_qp_state state)
{
	lock_take(&qp->lock);
	atomic_store_explicit(&qp->state, (int)state, memory_order_release);
	lock_drop(&qp->lock);
}

void engine_qp_modify(struct engine_qp *qp, const struct engine_qp_attr *attr)
{
	struct engine *e = qp->engine;

	lock_take(&e->tx_lock);
	lock_take(&e->rx_lock);
	e->rx.epoch++;
	if (qp_state(qp) == IBV_QPS_RTR)
		qp->psn_base = attr->sq_psn - (uint32_t)read_word(&qp->counters->sent);
	qp->faults_tx.looks = qp->faults_rx.looks = 0; /* another port, perhaps */
	qp->attr = *attr;
	qp->attr.port_index %= SHM_PORTS_MAX;
	qp->attr.pkey_index %= SHM_PKEYS_MAX;
	qp->port = &e->tables->ports[qp->attr.port_index];
	/* send_plain relies on it: no queue pair of a failed engine is in RTS. */
	if (attr->state == IBV_QPS_ERR ||
	    (attr->state == IBV_QPS_RTS &&
	     atomic_load_explicit(&e->failed, memory_order_relaxed)))
		qp_fail(qp);
	else if (attr->state == IBV_QPS_RESET)
		qp_reset(qp);
	else
		qp_set_state(qp, attr->state);
	lock_drop(&e->rx_lock);
	if (qp_state(qp) == IBV_QPS_RTS)
		send_held(qp);
	lock_drop(&e->tx_lock);
	engine_settle(e);
}

enum ibv_qp_state engine_qp_state(const struct engine_qp *qp)
{
	return (enum ibv_qp_state)qp_state(qp);
}
