// SPDX-License-Identifier: BSD-2-Clause
/*
 * Faults at the receiving queue pair: what they strike is lost, broken or late for that
 * one alone. Under rx. Only what the queue pair would take is counted, by its state and
 * keys; whether it has a receive is seen when the datagram comes, late or not.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/deliver.h"
#include "engine/faults.h"

struct held_receive {
	struct held held;
	struct attachment *attachment; /* null: unicast */
	struct rx_datagram datagram;   /* of what is copied here */
	struct shm_log_slot slot;
	uint8_t header[GRH_BYTES];
	uint8_t rest[];
};

/* What was posted before there was any rule does not tell it. */
static uint32_t psn_of(const struct rx_datagram *d)
{
	uint64_t word = read_word(&d->slot->payload_at);

	return word & SHM_LOG_PSN_TOLD ? (uint32_t)(word >> SHM_LOG_PSN_SHIFT)
				       : FAULT_PSN_UNKNOWN;
}

/* A copy is always still there. */
static void copy_slot(struct held_receive *h, const struct rx_datagram *d)
{
	const uint32_t rest = tx_rest_of(d->length);

	atomic_init(&h->slot.sequence, 2 * d->position);
	copy_payload(h->slot.payload, d->slot->payload, d->length - rest);
	copy_payload(h->rest, d->rest, rest);
	memcpy(h->header, d->header, GRH_BYTES);
	h->datagram = *d;
	h->datagram.slot = &h->slot;
	h->datagram.rest = h->rest;
	h->datagram.header = h->header;
}

static struct held_receive *hold_copy(struct engine_qp *qp, struct attachment *a,
				      const struct rx_datagram *d)
{
	struct held_receive *h = malloc(sizeof(*h) + tx_rest_of(d->length));

	if (!h)
		return NULL;
	h->held.qp = qp;
	h->attachment = a;
	copy_slot(h, d);
	return h;
}

static void corrupt(struct fault_state *s, struct held_receive *h)
{
	uint8_t payload[ENGINE_MTU_MAX];
	const uint32_t length = h->datagram.length, rest = tx_rest_of(length);

	memcpy(payload, h->slot.payload, length - rest);
	memcpy(payload + length - rest, h->rest, rest);
	fault_corrupt(s, payload, length);
	memcpy(h->slot.payload, payload, length - rest);
	memcpy(h->rest, payload + length - rest, rest);
}

static void deliver_and_tell(struct engine_qp *qp, struct attachment *a,
			     const struct rx_datagram *d)
{
	rx_tell(qp, a, deliver(qp, d));
}

/* True: it is ours to deliver, in its place; false: it is not there, or not yet. */
static bool suffer(struct engine *e, struct fault_state *s, struct engine_qp *qp,
		   struct attachment *a, const struct rx_datagram *d)
{
	const uint32_t kind = s->rule->kind;
	struct held_receive *h;

	if (kind == SHM_FAULT_DROP) {
		fault_applied(s);
		rx_tell(qp, a, DROP_FAULT);
		return false;
	}
	if (kind == SHM_FAULT_DUP) {
		fault_applied(s);
		deliver_and_tell(qp, a, d);
		return true;
	}
	h = kind == SHM_FAULT_CORRUPT && !d->length ? NULL : hold_copy(qp, a, d);
	if (h && !rx_still_there(d)) {
		rx_tell(qp, a, DROP_LAGGED);
	} else if (h && kind == SHM_FAULT_CORRUPT) {
		fault_applied(s);
		corrupt(s, h);
		deliver_and_tell(qp, a, &h->datagram);
	} else if (h && faults_hold(e, &e->faults.rx, s, &h->held)) {
		fault_applied(s);
		return false;
	} else {
		free(h);
		fault_skipped(s);
		return true;
	}
	free(h);
	return false;
}

void faults_receive(struct engine *e, struct engine_qp *qp, struct attachment *a,
		    const struct rx_datagram *d)
{
	const uint32_t opcode = fault_opcode(d->flags & SHM_LOG_WITH_IMM);
	enum drop_reason reason = check_qp(qp, d);
	struct list ready = LIST_INIT(ready);
	const uint32_t psn = psn_of(d);
	struct fault_state *s;

	if (reason == DROP_NONE && !rx_still_there(d))
		reason = DROP_LAGGED;
	if (reason != DROP_NONE) {
		rx_tell(qp, a, reason);
		return;
	}
	faults_overtake(e, &e->faults.rx, qp, &ready);
	s = faults_strike(qp, &e->faults.rx, opcode, psn);
	if (!s || suffer(e, s, qp, a, d))
		deliver_and_tell(qp, a, d);
	faults_deliver(e, &ready);
}

void faults_deliver(struct engine *e, struct list *ready)
{
	struct held *l;

	while ((l = held_first(ready))) {
		struct held_receive *h = (struct held_receive *)l;

		list_remove(&l->link);
		deliver_and_tell(l->qp, h->attachment, &h->datagram);
		free(h);
	}
}

void faults_forget_receives(struct engine_qp *qp, const struct attachment *a)
{
	struct fault_side *side = &qp->engine->faults.rx;

	list_for_each_safe(pos, &side->held) {
		struct held *l = container_of(pos, struct held, link);
		struct held_receive *h = (struct held_receive *)l;

		if (l->qp != qp || h->attachment != a)
			continue;
		faults_let_go(qp->engine, side, l);
		rx_tell(qp, h->attachment, DROP_FAULT);
		free(h);
	}
}
