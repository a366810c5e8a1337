/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writing one datagram into this process's log, under tx (spec/dataplane 6, "Publish").
 * tx.c publishes what was written.
 *
 * W1  a slot's busy mark, then a release fence, then the slot and its payload: a follower
 *     that saw any of the new bytes sees the mark when it looks again (R2).
 * W2  the sequence word that publishes, stored with release (R1). The first slot of a
 *     batch is published last: a follower that waits there sees the batch or nothing.
 * W3  the dead mark of an older slot, before the bytes of its payload are used again; the
 *     fence of W1 is behind it too.
 *
 * A process that dies between any two of these leaves a busy slot at most, which looks
 * to everybody like "nothing new".
 */
#ifndef ENGINE_LOG_WRITER_H
#define ENGINE_LOG_WRITER_H

#include "engine/copy.h"
#include "engine/engine_priv.h"

struct tx_datagram {
	uint64_t generation, route, numbers, keys, gids, shape; /* as in the log */
	uint32_t length;
	const uint8_t *from; /* the payload in one piece; null: gather it */
	const struct engine_qp *qp;
	const struct ibv_send_wr *wr;
};

/* tx.c */
void tx_mark_dead(struct tx *tx, uint64_t end);
void tx_gather(const struct tx_datagram *d, uint8_t *slot_payload, uint8_t *ring);

/* Where the rest would begin: it does not wrap round the end of the ring. */
static inline uint64_t tx_rest_at(const struct tx *tx, uint32_t rest)
{
	uint32_t to_end = SHM_LOG_PAYLOAD - (uint32_t)(tx->bytes % SHM_LOG_PAYLOAD);

	return tx->bytes + (rest > to_end ? to_end : 0);
}

static inline bool tx_at_gate(const struct tx *tx, uint32_t rest)
{
	return tx->head >= tx->gate_head ||
	       (rest && tx_rest_at(tx, rest) + rest > tx->gate_bytes);
}

static inline void write_word(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_relaxed);
}

static inline void tx_write_payload(const struct tx_datagram *d, uint8_t *slot_payload,
				    uint8_t *ring)
{
	if (unlikely(!d->from)) {
		tx_gather(d, slot_payload, ring);
	} else if (d->length <= SHM_LOG_INLINE) {
		copy_payload(slot_payload, d->from, d->length);
	} else {
		copy_payload(slot_payload, d->from, SHM_LOG_INLINE);
		copy_payload(ring, d->from + SHM_LOG_INLINE, d->length - SHM_LOG_INLINE);
	}
}

/* Slots ahead of the one written, whose lines lie in the readers' caches still. */
#define TX_AHEAD 8u

static inline void tx_prefetch(const struct tx *tx, uint32_t i)
{
	const struct shm_log_slot *slot = &tx->log->slots[(i + TX_AHEAD) % SHM_LOG_SLOTS];

	cpu_prefetch_write(slot);
	cpu_prefetch_write(slot->payload);
}

/* `psn`: as in the log, where it is told, for who receives may match it; else 0. */
static inline __attribute__((always_inline)) void
tx_write_told(struct tx *tx, const struct tx_datagram *d, uint64_t psn)
{
	const uint64_t p = tx->head;
	const uint32_t i = (uint32_t)(p - 1) % SHM_LOG_SLOTS;
	const uint32_t rest = tx_rest_of(d->length);
	const uint64_t at = rest ? tx_rest_at(tx, rest) : tx->bytes;
	struct shm_log_slot *slot = &tx->log->slots[i];

	tx_prefetch(tx, i);
	if (rest)
		tx_mark_dead(tx, at + rest);
	write_word(&slot->sequence, 2 * p + 1);
	atomic_thread_fence(memory_order_release); /* W1, W3 */
	write_word(&slot->generation, d->generation);
	write_word(&slot->payload_at, at % SHM_LOG_PAYLOAD | psn);
	write_word(&slot->route, d->route);
	write_word(&slot->numbers, d->numbers);
	write_word(&slot->keys, d->keys);
	write_word(&slot->gids, d->gids);
	write_word(&slot->shape, d->shape);
	tx_write_payload(d, slot->payload, tx->log->payload + at % SHM_LOG_PAYLOAD);
	if (p != tx->first)
		atomic_store_explicit(&slot->sequence, 2 * p,
				      memory_order_release); /* W2 */
	tx->places[i].at = at;
	tx->places[i].rest = rest;
	/* A whole line apart, so that two datagrams never share one. */
	if (rest)
		tx->bytes = (at + rest + SHM_CACHE_LINE - 1) &
			    ~(uint64_t)(SHM_CACHE_LINE - 1);
	tx->head = p + 1;
}

static inline void tx_write(struct tx *tx, const struct tx_datagram *d)
{
	tx_write_told(tx, d, 0);
}

#endif
