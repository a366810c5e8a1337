/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reference: a bare ring of 256 KiB in shared memory. One writer, which copies in;
 * every reader copies out; a sequence word a slot. It waits for its slowest reader, by
 * the window that all contestants share. Nothing a delivery can do without is in it: no
 * headers, no completions, no groups.
 *
 * Each worker writes a ring of its own. Ring 0 is read by all others, theirs by worker 0.
 *
 * Of a batch the first slot is published last, so that a polling reader does not fight
 * for the lines of a batch that is being written (spec/performance, design hints).
 *
 * Asleep (scenario wait) it is a bare futex hand-over: one word, one wake.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/buffers.h"
#include "transport/transport.h"

#define RING_BYTES (256u << 10)

struct ring_slot {
	_Atomic uint64_t sequence; /* number of the message in it, from 1 */
	uint8_t payload[];
};

struct ring {
	_Alignas(128) _Atomic uint32_t wakes; /* futex */
	_Atomic uint32_t sleepers;
	_Alignas(128) uint8_t slots[RING_BYTES];
};

struct ring_endpoint {
	struct endpoint endpoint;
	struct buffers source, sink;
	size_t stride;
	unsigned int slots;
	uint64_t written;           /* messages, ever */
	uint64_t read[WORKERS_MAX]; /* by ring */
	unsigned int write_slot;    /* written % slots; a division a message is dear */
	unsigned int read_slot[WORKERS_MAX];
	unsigned int next_sink;
};

static size_t slot_stride(size_t size)
{
	return (sizeof(struct ring_slot) + size + 63) / 64 * 64;
}

static size_t ring_shared_bytes(const struct endpoint_config *c)
{
	return sizeof(struct ring) * (1 + c->receivers);
}

static struct ring *ring_of(const struct ring_endpoint *r, unsigned int worker)
{
	return (struct ring *)r->endpoint.config.shared + worker;
}

static struct ring_slot *slot_of(const struct ring_endpoint *r, struct ring *ring,
				 unsigned int index)
{
	return (struct ring_slot *)(ring->slots + index * r->stride);
}

static int ring_open(const struct endpoint_config *c, struct endpoint **ret)
{
	struct ring_endpoint *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->stride = slot_stride(c->size);
	r->slots = (unsigned int)(RING_BYTES / r->stride);
	r->endpoint.capacity = r->slots;
	if (buffers_init(&r->source, c->size, 0, c->batch) ||
	    buffers_init(&r->sink, c->size, 0, BUFFERS_POLL)) {
		buffers_fini(&r->source);
		free(r);
		return -ENOMEM;
	}
	for (unsigned int i = 0; i < c->batch; i++)
		message_prepare(buffers_at(&r->source, i), c->size);
	*ret = &r->endpoint;
	return 0;
}

static long futex(_Atomic uint32_t *word, int op, uint32_t value)
{
	return syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

static void wake_sleepers(struct ring *ring)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(&ring->sleepers, memory_order_relaxed))
		return;
	atomic_fetch_add(&ring->wakes, 1);
	futex(&ring->wakes, FUTEX_WAKE, INT_MAX);
}

static void ring_send(struct endpoint *e, uint64_t word)
{
	struct ring_endpoint *r = (struct ring_endpoint *)e;
	struct ring *ring = ring_of(r, e->config.worker);
	struct ring_slot *first = NULL;
	size_t size = e->config.size;

	for (unsigned int i = 0; i < e->config.batch; i++) {
		struct ring_slot *slot = slot_of(r, ring, r->write_slot);
		void *source = buffers_at(&r->source, i);

		message_fill(source, size, word + i);
		memcpy(slot->payload, source, size);
		r->written++;
		if (++r->write_slot == r->slots)
			r->write_slot = 0;
		if (!first)
			first = slot;
		else
			atomic_store_explicit(&slot->sequence, r->written,
					      memory_order_release);
	}
	atomic_store_explicit(&first->sequence, r->written - e->config.batch + 1,
			      memory_order_release);
	if (e->config.sleeps)
		wake_sleepers(ring);
}

static bool ring_ready(struct ring_endpoint *r, unsigned int from)
{
	struct ring_slot *slot = slot_of(r, ring_of(r, from), r->read_slot[from]);

	return atomic_load_explicit(&slot->sequence, memory_order_acquire) ==
	       r->read[from] + 1;
}

static unsigned int take_from(struct ring_endpoint *r, unsigned int from,
			      struct inbox *in)
{
	size_t size = r->endpoint.config.size;
	unsigned int taken = 0;

	while (taken < BUFFERS_POLL && ring_ready(r, from)) {
		void *sink = buffers_at(&r->sink, r->next_sink);

		memcpy(sink, slot_of(r, ring_of(r, from), r->read_slot[from])->payload,
		       size);
		inbox_take(in, sink, size);
		r->next_sink = (r->next_sink + 1) % BUFFERS_POLL;
		r->read[from]++;
		if (++r->read_slot[from] == r->slots)
			r->read_slot[from] = 0;
		taken++;
	}
	return taken;
}

static unsigned int ring_receive(struct endpoint *e, struct inbox *in)
{
	struct ring_endpoint *r = (struct ring_endpoint *)e;
	unsigned int taken = 0;

	if (e->config.worker)
		return take_from(r, 0, in);
	for (unsigned int w = 1; w <= e->config.receivers; w++)
		taken += take_from(r, w, in);
	return taken;
}

/* Worker 0 sleeps on ring 1 only: the scenario that sleeps has one receiver. */
static void ring_wait(struct endpoint *e)
{
	struct ring_endpoint *r = (struct ring_endpoint *)e;
	unsigned int from = e->config.worker ? 0 : 1;
	struct ring *ring = ring_of(r, from);
	uint32_t wakes = atomic_load(&ring->wakes);

	atomic_fetch_add(&ring->sleepers, 1);
	if (!ring_ready(r, from))
		futex(&ring->wakes, FUTEX_WAIT, wakes);
	atomic_fetch_sub(&ring->sleepers, 1);
}

static void ring_close(struct endpoint *e)
{
	struct ring_endpoint *r = (struct ring_endpoint *)e;

	buffers_fini(&r->source);
	buffers_fini(&r->sink);
	free(r);
}

const struct transport transport_ring = {
	.name = "ring",
	.what = "bare shared-memory ring, copy in, copy out",
	.lossless = true,
	.shared_bytes = ring_shared_bytes,
	.open = ring_open,
	.send = ring_send,
	.receive = ring_receive,
	.wait = ring_wait,
	.close = ring_close,
};
