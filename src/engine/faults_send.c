// SPDX-License-Identifier: BSD-2-Clause
/*
 * Faults of the sending side: what they strike is lost, broken or late for all receivers.
 * Under tx. What is held has left its queue pair: its completion has come, its memory may
 * be used again, its address handle may be gone.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/faults.h"
#include "engine/log_writer.h"

struct held_send {
	struct held held;
	struct tx_datagram datagram; /* without a request: `from` is the payload below */
	bool multicast;
	uint32_t psn;
	uint32_t to;         /* group entry, or receiving slot */
	uint32_t words_used; /* of a group, whom to ring, as in the address handle */
	uint64_t words[SHM_SLOT_WORDS];
	uint8_t payload[];
};

static struct held_send *hold_copy(struct engine_qp *qp, const struct tx_datagram *d,
				   const struct engine_ah *ah, uint32_t to, uint32_t psn)
{
	struct held_send *h = malloc(sizeof(*h) + d->length + SHM_LOG_INLINE);

	if (!h)
		return NULL;
	h->held.qp = qp;
	h->datagram = *d;
	if (d->from)
		copy_payload(h->payload, d->from, d->length);
	else
		tx_gather(d, h->payload, h->payload + SHM_LOG_INLINE);
	h->datagram.from = h->payload;
	h->datagram.qp = NULL;
	h->datagram.wr = NULL;
	h->multicast = ah->multicast;
	h->psn = psn;
	h->to = to;
	h->words_used = ah->words_used;
	memcpy(h->words, ah->words, sizeof(h->words));
	return h;
}

static uint64_t told(uint32_t psn)
{
	return (uint64_t)psn << SHM_LOG_PSN_SHIFT | SHM_LOG_PSN_TOLD;
}

static void write_multicast(struct tx *tx, struct tx_datagram *d, uint32_t entry,
			    uint32_t psn)
{
	d->route = shm_log_pair(entry, ordinal_of_entry(tx, entry));
	tx_write_told(tx, d, told(psn));
}

static void write_unicast(struct tx *tx, struct tx_datagram *d, uint32_t slot,
			  uint32_t psn)
{
	tx->ring[slot / 64] |= 1ull << (slot % 64);
	tx->ring_words |= 1u << (slot / 64);
	d->route = shm_log_pair(slot, ++tx->receivers[slot]->ordinal);
	tx_write_told(tx, d, told(psn));
}

static void write_now(struct engine *e, struct tx_datagram *d, const struct engine_ah *ah,
		      uint32_t to, uint32_t psn)
{
	if (!ah->multicast) {
		write_unicast(&e->tx, d, to, psn);
		return;
	}
	tx_ring_also(&e->tx, ah);
	write_multicast(&e->tx, d, to, psn);
}

/* The group's entry may be another's by now: who reads it is told so by the generation
 * that it was stamped with. */
static void write_held_multicast(struct tx *tx, struct held_send *h)
{
	for (uint32_t words = h->words_used; words; words &= words - 1) {
		uint32_t w = (uint32_t)__builtin_ctz(words);

		tx->ring[w] |= h->words[w];
	}
	tx->ring_words |= h->words_used;
	write_multicast(tx, &h->datagram, h->to, h->psn);
}

/* It is ours alone, whoever comes while tx is dropped. */
static void write_one_unlocked(struct engine *e, struct held_send *h)
{
	const uint32_t rest = tx_rest_of(h->datagram.length);

	if (tx_at_gate(&e->tx, rest))
		tx_gate_unlocked(e, rest);
	if (h->multicast)
		write_held_multicast(&e->tx, h);
	else if (receiver_known(e, h->to))
		write_unicast(&e->tx, &h->datagram, h->to, h->psn);
	else
		engine_drop(e, DROP_PEER_GONE, 1);
	free(h);
}

void faults_write_unlocked(struct engine *e, struct list *ready)
{
	struct held *h;

	while ((h = held_first(ready))) {
		list_remove(&h->link);
		write_one_unlocked(e, (struct held_send *)h);
	}
}

/* Null: what is to become of it cannot. */
static struct held_send *hold(struct engine_qp *qp, struct fault_state *s,
			      const struct tx_datagram *d, const struct engine_ah *ah,
			      uint32_t to, uint32_t psn)
{
	const uint32_t kind = s->rule->kind;
	struct held_send *h;

	if (kind == SHM_FAULT_CORRUPT && !d->length)
		return NULL;
	h = hold_copy(qp, d, ah, to, psn);
	if (!h || kind == SHM_FAULT_CORRUPT || kind == SHM_FAULT_DUP ||
	    faults_hold(qp->engine, &qp->engine->faults.tx, s, &h->held))
		return h;
	free(h);
	return NULL;
}

/* A datagram that is struck, and not lost. */
static void suffer_unlocked(struct engine_qp *qp, struct fault_state *s,
			    struct tx_datagram *d, const struct engine_ah *ah,
			    uint32_t to, uint32_t psn)
{
	struct held_send *h = hold(qp, s, d, ah, to, psn);
	const uint32_t kind = s->rule->kind;
	struct engine *e = qp->engine;

	if (!h || kind == SHM_FAULT_DUP)
		write_now(e, d, ah, to, psn);
	if (!h) {
		fault_skipped(s);
		return;
	}
	fault_applied(s);
	if (kind == SHM_FAULT_CORRUPT)
		fault_corrupt(s, h->payload, d->length);
	if (kind == SHM_FAULT_CORRUPT || kind == SHM_FAULT_DUP)
		write_one_unlocked(e, h);
}

void faults_send_unlocked(struct engine_qp *qp, struct tx_datagram *d,
			  const struct engine_ah *ah, uint32_t to)
{
	const uint32_t psn =
		(qp->psn_base + (uint32_t)read_word(&qp->counters->sent)) & 0xffffff;
	const bool with_imm = d->shape >> SHM_LOG_FLAGS_SHIFT & SHM_LOG_WITH_IMM;
	struct engine *e = qp->engine;
	struct list ready = LIST_INIT(ready);
	struct fault_state *s;

	faults_look(e, &e->faults.tx);
	faults_overtake(e, &e->faults.tx, qp, &ready);
	s = faults_strike(qp, &e->faults.tx, fault_opcode(with_imm), psn);
	if (!s) {
		write_now(e, d, ah, to, psn);
	} else if (s->rule->kind == SHM_FAULT_DROP) {
		fault_applied(s);
		count_add(&qp->counters->drops[DROP_FAULT], 1);
	} else {
		suffer_unlocked(qp, s, d, ah, to, psn);
	}
	faults_write_unlocked(e, &ready);
}

void faults_forget_sends(struct engine_qp *qp)
{
	struct fault_side *side = &qp->engine->faults.tx;

	list_for_each_safe(pos, &side->held) {
		struct held *h = container_of(pos, struct held, link);

		if (h->qp != qp)
			continue;
		faults_let_go(qp->engine, side, h);
		free(h);
		count_add(&qp->counters->drops[DROP_FAULT], 1);
	}
}
