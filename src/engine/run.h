/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A run: datagrams of one log, one behind the other, that differ in ordinal, immediate
 * data, length and payload alone, to a group with one member in this process. What was
 * found out about the first holds for the others: who receives it, that its keys match,
 * its header. So each of them is a comparison of six words, a receive, a copy and a
 * completion.
 *
 * It holds until something changes in this process that it stands on (rx.epoch), the
 * daemon changes a key or a GID (looked at each time), or a datagram comes that does not
 * continue it. Whatever is out of the ordinary is left to rx_datagram, which begins the
 * next run. Everything is under rx.
 */
#ifndef ENGINE_RUN_H
#define ENGINE_RUN_H

#include "engine/deliver.h"
#include "engine/flow.h"

#define RUN_SHAPE_MASK (~0xffffull) /* all but the length */

/* `d` was the first, and taken by the group's only member. */
static inline void run_begin(struct engine *e, struct sender *s, const struct member *m,
			     struct heard *h, const struct rx_datagram *d,
			     const struct run_words *words)
{
	struct run *run = &s->run;

	if (unlikely(shm_log_low(words->numbers) != MULTICAST_QPN))
		return;
	run->delivered = &e->counters->delivered[m->counters];
	run->qp = m->qp;
	run->heard = h;
	run->words = *words;
	run->generation = d->generation;
	run->epoch = e->rx.epoch;
	run->qkey = d->qkey;
	run->own_pkey = qp_pkey(m->qp);
}

/* Store what was added up. */
static inline void run_count(struct run *run)
{
	if (!run->count)
		return;
	count_add(run->delivered, run->count);
	count_add(&run->qp->counters->received, run->count);
	count_add(&run->qp->counters->received_bytes, run->bytes);
	run->heard->ordinal = shm_log_high(run->words.route);
	run->count = 0;
	run->bytes = 0;
}

static inline void run_end(struct run *run)
{
	run_count(run);
	run->delivered = NULL;
}

/* Does all that it stands on still stand? */
static inline bool run_holds(const struct engine *e, const struct sender *s,
			     const struct run *run)
{
	return run->delivered && run->epoch == e->rx.epoch &&
	       run->own_pkey == qp_pkey(run->qp) &&
	       atomic_load_explicit(s->flow_src_valid, memory_order_relaxed) ==
		       s->flow_src_serial;
}

static inline bool run_goes_on(const struct run *run, const struct shm_log_slot *slot,
			       const struct run_words *words, uint64_t keys)
{
	/* The next ordinal, too. */
	return words->route == run->words.route + (1ull << 32) &&
	       words->numbers == run->words.numbers && words->gids == run->words.gids &&
	       !((words->shape ^ run->words.shape) & RUN_SHAPE_MASK) &&
	       shm_log_low(keys) == run->qkey &&
	       read_word(&slot->generation) == run->generation;
}

/* True: it was delivered. False: nothing was done. */
static inline bool run_take(struct engine *e, struct sender *s,
			    const struct shm_log_slot *slot, uint64_t p)
{
	struct run *run = &s->run;
	const struct run_words words = { read_word(&slot->route),
					 read_word(&slot->numbers),
					 read_word(&slot->gids),
					 read_word(&slot->shape) };
	const uint64_t keys = read_word(&slot->keys);
	const uint64_t at = read_word(&slot->payload_at) % SHM_LOG_PAYLOAD;
	struct rx_datagram d = { .slot = slot,
				 .rest = s->log->payload + at,
				 .position = p };
	struct engine_qp *qp = run->qp;
	struct engine_cq *cq = qp->config.recv_cq;
	const struct recv_entry *entry;
	uint8_t *to;

	if (unlikely(!run_goes_on(run, slot, &words, keys)))
		return false;
	d.length = (uint16_t)words.shape;
	d.flags = (uint8_t)(words.shape >> SHM_LOG_FLAGS_SHIFT);
	if (unlikely(d.length > ENGINE_MTU_MAX || !cq->direct_left ||
		     at + tx_rest_of(d.length) > SHM_LOG_PAYLOAD))
		return false;
	entry = rq_peek(qp->receives);
	if (unlikely(!entry || entry->num_sge != 1 ||
		     entry->sge[0].length < GRH_BYTES + d.length))
		return false;
	to = receive_memory(qp, &entry->sge[0], GRH_BYTES + d.length);
	if (unlikely(!to))
		return false;
	flow_fit(s, ud_wire_bytes(d.length, d.flags & SHM_LOG_WITH_IMM));
	d.header = s->flow_header;
	copy_out(to, &d);
	if (unlikely(!rx_still_there(&d)))
		return false;
	d.imm = shm_log_high(keys);
	d.src_qpn = shm_log_high(words.numbers) & 0xffffff;
	d.address = s->flow_address;
	take_receive(qp);
	cq->direct_left--;
	write_completion(cq->direct++, qp, entry->wr_id, &d);
	cq_notify(cq, d.flags & SHM_LOG_SOLICITED);
	run->words.route = words.route;
	run->count++;
	run->bytes += d.length;
	return true;
}

#endif
