// SPDX-License-Identifier: BSD-2-Clause
/*
 * This process's log: its creation at the first send, its batches, and whom they are for.
 * log_writer.h has the writing itself, and the letters W1 to W3.
 *
 * D1  a full barrier between publishing and looking at doorbell bits (shm/doorbell.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/log_writer.h"

int tx_init(struct engine *e)
{
	struct tx *tx = &e->tx;

	tx->head = tx->first = tx->tail = 1;
	tx->ordinals = calloc(SHM_GROUPS_MAX, sizeof(*tx->ordinals));
	return tx->ordinals ? 0 : -ENOMEM;
}

void tx_fini(struct engine *e)
{
	struct tx *tx = &e->tx;

	if (tx->log)
		shm_log_unmap(tx->log);
	free(tx->places);
	free(tx->ordinals);
}

static int log_install(struct engine *e, struct shm_log *log, struct tx_place *places)
{
	int r;

	lock_take(&e->rx_lock);
	r = senders_add_own(e, log);
	lock_drop(&e->rx_lock);
	if (r < 0)
		return r;
	lock_take(&e->tx_lock);
	e->tx.places = places;
	e->tx.log = log;
	e->tx.prefaulted = SHM_LOG_STEP;
	lock_drop(&e->tx_lock);
	return 0;
}

static int log_create(struct engine *e)
{
	struct tx_place *places = calloc(SHM_LOG_SLOTS, sizeof(*places));
	struct shm_log *log;
	int fd, r;

	if (!places)
		return -ENOMEM;
	r = shm_log_create(e->slot, e->incarnation, &fd, &log);
	if (r < 0)
		goto free_places;
	r = e->ops->publish_log(e->arg, fd);
	close(fd); /* the mapping is what we need of it */
	if (r < 0)
		goto unmap;
	r = log_install(e, log, places);
	if (r < 0)
		goto unmap;
	return 0;

unmap:
	shm_log_unmap(log);
free_places:
	free(places);
	return r;
}

int tx_open_unlocked(struct engine *e)
{
	bool there;
	int r = 0;

	lock_drop(&e->tx_lock);
	pthread_mutex_lock(&e->setup);
	lock_take(&e->tx_lock);
	there = e->tx.log;
	lock_drop(&e->tx_lock);
	if (!there)
		r = log_create(e);
	pthread_mutex_unlock(&e->setup);
	lock_take(&e->tx_lock);
	return r;
}

/* -- one datagram, the rarer parts ---------------------------------------------------- */

/* Older datagrams whose payload bytes are about to be used again. */
void tx_mark_dead(struct tx *tx, uint64_t end)
{
	uint64_t oldest = tx->head >= SHM_LOG_SLOTS ? tx->head - SHM_LOG_SLOTS + 1 : 1;

	if (tx->tail < oldest)
		tx->tail = oldest;
	while (tx->tail < tx->head) {
		uint32_t i = (uint32_t)((tx->tail - 1) % SHM_LOG_SLOTS);

		if (tx->places[i].at + SHM_LOG_PAYLOAD >= end)
			break;
		if (tx->places[i].rest)
			write_word(&tx->log->slots[i].sequence,
				   2 * tx->tail + 1); /* W3 */
		tx->tail++;
	}
}

static const uint8_t *sge_memory(const struct tx_datagram *d, const struct ibv_sge *sge)
{
	if (d->wr->send_flags & IBV_SEND_INLINE)
		return (const uint8_t *)(uintptr_t)sge->addr;
	return mr_translate(d->qp->engine, d->qp->config.pd, sge->lkey, sge->addr,
			    sge->length, 0);
}

/* The first SHM_LOG_INLINE bytes go to the slot, the others to the ring. The request has
 * been checked (send.c). */
void tx_gather(const struct tx_datagram *d, uint8_t *slot_payload, uint8_t *ring)
{
	uint32_t done = 0;

	for (int i = 0; i < d->wr->num_sge; i++) {
		const struct ibv_sge *sge = &d->wr->sg_list[i];
		uint32_t left = sge->length, n = 0;
		const uint8_t *from;

		if (!left)
			continue;
		from = sge_memory(d, sge);
		if (!from)
			continue;
		if (done < SHM_LOG_INLINE) {
			n = SHM_LOG_INLINE - done < left ? SHM_LOG_INLINE - done : left;
			copy_payload(slot_payload + done, from, n);
		}
		if (left > n)
			copy_payload(ring + done + n - SHM_LOG_INLINE, from + n,
				     left - n);
		done += left;
	}
}

/* -- the batch ----------------------------------------------------------------------- */

static inline void ring_one(struct engine *e, struct receiver *r)
{
	struct tx *tx = &e->tx;

	if (unlikely(r->clear)) {
		r->clear = false;
		r->first = tx->first;
	}
	r->last_for = tx->head;
	if (unlikely(r->doorbell == e->doorbell))
		atomic_store_explicit(&e->for_us, tx->head, memory_order_relaxed);
	if (unlikely(!(atomic_load_explicit(r->word, memory_order_relaxed) & r->bit)))
		shm_doorbell_ring(r->doorbell, e->slot);
}

static inline void ring_word(struct engine *e, uint32_t w, uint64_t bits)
{
	for (; bits; bits &= bits - 1)
		ring_one(e, e->tx.receivers[w * 64 + (uint32_t)__builtin_ctzll(bits)]);
}

/* Those that the batch is for besides the peers of its last address handle. */
void tx_ring_also(struct tx *tx, const struct engine_ah *ah)
{
	for (uint32_t words = ah->words_used; words; words &= words - 1) {
		uint32_t w = (uint32_t)__builtin_ctz(words);

		tx->ring[w] |= ah->words[w];
	}
	tx->ring_words |= ah->words_used;
}

static void ring_all(struct engine *e)
{
	struct tx *tx = &e->tx;

	if (tx->last_ah)
		tx_ring_also(tx, tx->last_ah);
	for (uint32_t words = tx->ring_words; words; words &= words - 1) {
		uint32_t w = (uint32_t)__builtin_ctz(words);

		ring_word(e, w, tx->ring[w]);
		tx->ring[w] = 0;
	}
	tx->ring_words = 0;
}

/* A batch to one address handle, which is nearly every one, needs no sum of peers. */
static inline void ring(struct engine *e)
{
	const struct engine_ah *ah = e->tx.last_ah;

	if (likely(ah && ah->words_used == 1 && !e->tx.ring_words))
		ring_word(e, 0, ah->words[0]);
	else
		ring_all(e);
}

void tx_publish(struct engine *e)
{
	struct tx *tx = &e->tx;

	if (likely(tx->first != tx->head)) {
		_Atomic uint64_t *first =
			&tx->log->slots[(tx->first - 1) % SHM_LOG_SLOTS].sequence;

		atomic_store_explicit(first, 2 * tx->first,
				      memory_order_release); /* W2 */
		atomic_store_explicit(&tx->log->h.head, tx->head, memory_order_release);
		atomic_thread_fence(memory_order_seq_cst); /* D1 */
		ring(e);
		tx->first = tx->head;
	}
	tx->last_ah = NULL;
}
