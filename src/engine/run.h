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
	const _Atomic uint16_t *pkey_now = qp_pkey_at(m->qp);
	const uint16_t pkey = atomic_load_explicit(pkey_now, memory_order_relaxed);
	struct run *run = &s->run;

	/* The daemon may have changed the key since it was found to match. */
	if (unlikely(shm_log_low(words->numbers) != MULTICAST_QPN ||
		     !pkeys_match(pkey, d->pkey)))
		return;
	run->delivered = &e->counters->delivered[m->counters];
	run->qp = m->qp;
	run->heard = h;
	run->words = *words;
	run->generation = d->generation;
	run->epoch = e->rx.epoch;
	run->qkey = d->qkey;
	run->pkey_now = pkey_now;
	run->pkey = pkey;
	run->goes_on = false;
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
	       atomic_load_explicit(run->pkey_now, memory_order_relaxed) == run->pkey &&
	       atomic_load_explicit(s->flow_src_valid, memory_order_relaxed) ==
		       s->flow_src_serial;
}

static inline bool run_goes_on(const struct run *run, const struct shm_log_slot *slot,
			       uint64_t route, uint64_t keys)
{
	/* The next ordinal, too. */
	return route == run->words.route + (1ull << 32) &&
	       read_word(&slot->numbers) == run->words.numbers &&
	       read_word(&slot->gids) == run->words.gids &&
	       shm_log_low(keys) == run->qkey &&
	       read_word(&slot->generation) == run->generation;
}

/* Another length. False: more is another, or it is nonsense. */
static inline bool run_fit(struct run *run, struct sender *s, uint64_t shape)
{
	const uint32_t length = (uint16_t)shape;

	if ((shape ^ run->words.shape) & RUN_SHAPE_MASK || length > ENGINE_MTU_MAX)
		return false;
	run->words.shape = shape;
	flow_fit(s,
		 ud_wire_bytes(length, shape >> SHM_LOG_FLAGS_SHIFT & SHM_LOG_WITH_IMM));
	return true;
}

/* The second one: most runs have none. */
static __attribute__((noinline)) void run_prepare(struct run *run, const struct sender *s)
{
	const struct rx_datagram d = {
		.src_qpn = shm_log_high(run->words.numbers) & 0xffffff,
		.flags = (uint8_t)(run->words.shape >> SHM_LOG_FLAGS_SHIFT),
		.address = s->flow_address,
	};

	write_completion(&run->wc, run->qp, 0, &d);
	run->region = (struct mr){ 0 };
	run->goes_on = true;
}

/* Into the caller's array, in pieces as wide as they are read by most. */
static inline void run_complete(const struct run *run, uint64_t wr_id, uint32_t bytes,
				uint32_t imm)
{
	struct engine_cq *cq = run->qp->config.recv_cq;
	struct ibv_wc *wc = cq->direct++;

	cq->direct_left--;
	*wc = run->wc;
	wc->wr_id = wr_id;
	wc->byte_len = bytes;
	wc->imm_data = imm;
	cq_notify(cq, run->words.shape >> SHM_LOG_FLAGS_SHIFT & SHM_LOG_SOLICITED);
}

/* Its two parts, once it is sure that they are within the log. False: it is not there any
 * more. */
static inline bool run_copy(const struct sender *s, const struct shm_log_slot *slot,
			    uint64_t p, uint32_t length, uint8_t *to)
{
	struct rx_datagram d = { .slot = slot, .position = p, .length = length };
	uint64_t at;

	d.header = s->flow_header;
	if (length > SHM_LOG_INLINE) {
		at = read_word(&slot->payload_at) % SHM_LOG_PAYLOAD;
		if (unlikely(at + tx_rest_of(length) > SHM_LOG_PAYLOAD))
			return false;
		d.rest = s->log->payload + at;
	}
	copy_out(to, &d);
	return likely(rx_still_there(&d));
}

/* True: it was delivered. False: nothing was done. */
static inline bool run_take(struct engine *e, struct sender *s,
			    const struct shm_log_slot *slot, uint64_t p)
{
	struct run *run = &s->run;
	struct engine_qp *qp = run->qp;
	const uint64_t route = read_word(&slot->route);
	const uint64_t keys = read_word(&slot->keys);
	const uint64_t shape = read_word(&slot->shape);
	const uint32_t length = (uint16_t)shape, bytes = GRH_BYTES + length;
	const struct recv_entry *entry;
	uint8_t *to;

	if (unlikely(!run_goes_on(run, slot, route, keys)))
		return false;
	if (unlikely(shape != run->words.shape) && !run_fit(run, s, shape))
		return false;
	if (unlikely(!run->goes_on))
		run_prepare(run, s);
	entry = rq_peek(qp->receives);
	if (unlikely(!entry || entry->num_sge != 1 || entry->sge[0].length < bytes ||
		     !qp->config.recv_cq->direct_left))
		return false;
	to = mr_translate_near(e, &run->region, qp->receives_pd, &entry->sge[0], bytes,
			       IBV_ACCESS_LOCAL_WRITE);
	if (unlikely(!to || !run_copy(s, slot, p, length, to)))
		return false;
	take_receive(qp);
	run_complete(run, entry->wr_id, bytes, shm_log_high(keys));
	run->words.route = route;
	run->count++;
	run->bytes += length;
	return true;
}

#endif
