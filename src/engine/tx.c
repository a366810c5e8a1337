// SPDX-License-Identifier: BSD-2-Clause
/*
 * The writer of this process's log, and whom it tells (spec/dataplane 6, "Publish").
 *
 * W1  a slot's busy mark, then a release fence, then the slot and its payload: a follower
 *     that saw any of the new bytes sees the mark when it looks again (R2).
 * W2  the sequence word that publishes, stored with release (R1). The first slot of a
 *     batch is published last: a follower that waits there sees the batch or nothing.
 * W3  the dead mark of an older slot, before the bytes of its payload are used again; the
 *     fence of W1 is behind it too.
 * D1  a full barrier between publishing and looking at doorbell bits (shm/doorbell.c).
 *
 * A process that dies between any two of these leaves a busy slot at most, which looks
 * to everybody like "nothing new".
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/copy.h"
#include "engine/engine_priv.h"

int tx_init(struct engine *e)
{
	struct tx *tx = &e->tx;

	tx->fd = -1;
	tx->head = tx->first = tx->tail = 1;
	tx->ordinals = calloc(SHM_GROUPS_MAX, sizeof(*tx->ordinals));
	return tx->ordinals ? 0 : -ENOMEM;
}

void tx_fini(struct engine *e)
{
	struct tx *tx = &e->tx;

	if (tx->log)
		shm_log_unmap(tx->log);
	if (tx->fd >= 0)
		close(tx->fd);
	free(tx->places);
	free(tx->ordinals);
}

static int log_install(struct engine *e, int fd, struct shm_log *log,
		       struct tx_place *places)
{
	int r;

	lock_take(&e->rx_lock);
	r = senders_add_own(e, log);
	lock_drop(&e->rx_lock);
	if (r < 0)
		return r;
	lock_take(&e->tx_lock);
	e->tx.fd = fd;
	e->tx.places = places;
	e->tx.log = log;
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
	if (r < 0)
		goto unmap;
	r = log_install(e, fd, log, places);
	if (r < 0)
		goto unmap;
	return 0;

unmap:
	shm_log_unmap(log);
	close(fd);
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

/* -- one datagram -------------------------------------------------------------------- */

#define SLOT_WRITE(slot, field, value) \
	atomic_store_explicit(&(slot)->field, value, memory_order_relaxed)

/* Older datagrams whose payload bytes are about to be used again. */
static void mark_dead(struct tx *tx, uint64_t end)
{
	uint64_t oldest = tx->head >= SHM_LOG_SLOTS ? tx->head - SHM_LOG_SLOTS + 1 : 1;

	if (tx->tail < oldest)
		tx->tail = oldest;
	while (tx->tail < tx->head) {
		uint32_t i = (uint32_t)((tx->tail - 1) % SHM_LOG_SLOTS);

		if (tx->places[i].at + SHM_LOG_PAYLOAD >= end)
			break;
		if (tx->places[i].rest)
			SLOT_WRITE(&tx->log->slots[i], sequence,
				   2 * tx->tail + 1); /* W3 */
		tx->tail++;
	}
}

static void write_header(struct shm_log_slot *slot, const struct tx_datagram *d,
			 uint64_t at)
{
	SLOT_WRITE(slot, generation, d->ah->generation);
	SLOT_WRITE(slot, payload_at, at);
	SLOT_WRITE(slot, entry, d->entry);
	SLOT_WRITE(slot, ordinal, d->ordinal);
	SLOT_WRITE(slot, dst_qpn, d->dst_qpn);
	SLOT_WRITE(slot, src_qpn, d->qp->config.qpn);
	SLOT_WRITE(slot, qkey, d->qkey);
	SLOT_WRITE(slot, imm, d->wr->imm_data);
	SLOT_WRITE(slot, src_gid, d->ah->src_gid);
	SLOT_WRITE(slot, dst_gid, d->dst_gid);
	SLOT_WRITE(slot, length, (uint16_t)d->length);
	SLOT_WRITE(slot, pkey, d->pkey);
	SLOT_WRITE(slot, flags, d->flags);
	SLOT_WRITE(slot, hop_limit, d->ah->hop_limit);
	SLOT_WRITE(slot, traffic_class, d->ah->traffic_class);
	SLOT_WRITE(slot, sl, d->ah->sl);
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
static void gather(const struct tx_datagram *d, uint8_t *slot_payload, uint8_t *ring)
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

void tx_write(struct engine *e, const struct tx_datagram *d)
{
	struct tx *tx = &e->tx;
	const uint64_t p = tx->head;
	const uint32_t i = (uint32_t)((p - 1) % SHM_LOG_SLOTS);
	struct shm_log_slot *slot = &tx->log->slots[i];
	uint32_t rest = tx_rest_of(d->length);
	uint64_t at = tx_rest_at(tx, rest);

	if (rest)
		mark_dead(tx, at + rest);
	SLOT_WRITE(slot, sequence, 2 * p + 1);
	atomic_thread_fence(memory_order_release); /* W1, W3 */
	write_header(slot, d, at);
	gather(d, slot->payload, tx->log->payload + at % SHM_LOG_PAYLOAD);
	if (p != tx->first)
		atomic_store_explicit(&slot->sequence, 2 * p,
				      memory_order_release); /* W2 */
	tx->places[i] = (struct tx_place){ .at = at, .rest = rest };
	/* A whole line apart, so that two datagrams never share one. */
	tx->bytes = (at + rest + SHM_CACHE_LINE - 1) & ~(uint64_t)(SHM_CACHE_LINE - 1);
	tx->head = p + 1;
}

/* -- the batch ----------------------------------------------------------------------- */

static void ring_one(struct engine *e, struct receiver *r)
{
	struct tx *tx = &e->tx;

	if (r->clear) {
		r->clear = false;
		r->first = tx->first;
	}
	r->last_for = tx->head;
	shm_doorbell_ring(r->doorbell, e->slot);
}

static void ring_all(struct engine *e)
{
	struct tx *tx = &e->tx;

	for (uint32_t words = tx->ring_words; words; words &= words - 1) {
		uint32_t w = (uint32_t)__builtin_ctz(words);

		for (uint64_t bits = tx->ring[w]; bits; bits &= bits - 1)
			ring_one(e,
				 tx->receivers[w * 64 + (uint32_t)__builtin_ctzll(bits)]);
		tx->ring[w] = 0;
	}
	tx->ring_words = 0;
}

void tx_publish(struct engine *e)
{
	struct tx *tx = &e->tx;

	tx->last_ah = NULL;
	if (tx->first == tx->head)
		return;
	atomic_store_explicit(&tx->log->slots[(tx->first - 1) % SHM_LOG_SLOTS].sequence,
			      2 * tx->first, memory_order_release); /* W2 */
	atomic_store_explicit(&tx->log->h.head, tx->head, memory_order_release);
	atomic_thread_fence(memory_order_seq_cst); /* D1 */
	ring_all(e);
	tx->first = tx->head;
}
