/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A sender and a receiver in virtual time, and a channel between them that loses, doubles
 * and delays by a seed.
 */
#ifndef TESTS_MAD_WORLD_H
#define TESTS_MAD_WORLD_H

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/random.h"
#include "base/timer.h"
#include "harness/harness.h"
#include "mad/rmpp.h"

#define TIMEOUT_NS (100 * TIMER_MS)
#define DELAY_NS   TIMER_MS

struct outcome {
	unsigned int calls;
	int error;
	uint8_t status;
	const uint8_t *message;
	size_t length;
};

struct world {
	struct timer_queue *timers; /* usually its own */
	struct timer_queue queue;
	struct random random;
	uint32_t loss, doubling; /* in millionths */
	uint64_t jitter_ns;      /* 0: in order */
	struct list flying;
	struct rmpp_sender *sender;
	struct rmpp_receiver *receiver;
	struct outcome sent, received;
	unsigned int to_receiver, to_sender; /* MADs */
	uint8_t last_to_receiver[MAD_BYTES], last_to_sender[MAD_BYTES];
	unsigned int inside; /* calls of the code under test */
};

struct flight {
	struct timer timer;
	struct list link;
	struct world *world;
	bool to_receiver;
	uint8_t mad[MAD_BYTES];
};

static inline void world_to_receiver(struct world *w, const uint8_t *mad)
{
	w->inside++;
	if (w->receiver)
		rmpp_receiver_receive(w->receiver, mad);
	w->inside--;
}

static inline void world_to_sender(struct world *w, const uint8_t *mad)
{
	w->inside++;
	if (w->sender)
		rmpp_sender_receive(w->sender, mad);
	w->inside--;
}

static inline void world_land(struct timer *timer)
{
	struct flight *f = container_of(timer, struct flight, timer);

	list_remove(&f->link);
	if (f->to_receiver)
		world_to_receiver(f->world, f->mad);
	else
		world_to_sender(f->world, f->mad);
	free(f);
}

static inline void world_fly(struct world *w, bool to_receiver, const uint8_t *mad)
{
	struct flight *f;
	uint64_t delay = DELAY_NS;

	if (random_chance(&w->random, w->loss))
		return;
	if (w->jitter_ns)
		delay += random_below(&w->random, w->jitter_ns);
	f = calloc(1, sizeof(*f));
	f->world = w;
	f->to_receiver = to_receiver;
	memcpy(f->mad, mad, MAD_BYTES);
	list_append(&w->flying, &f->link);
	timer_init(&f->timer, w->timers, world_land);
	timer_arm(&f->timer, delay);
	if (random_chance(&w->random, w->doubling))
		world_fly(w, to_receiver, mad);
}

static inline void world_sender_sends(void *arg, const uint8_t *mad)
{
	struct world *w = arg;

	w->to_receiver++;
	memcpy(w->last_to_receiver, mad, MAD_BYTES);
	world_fly(w, true, mad);
}

static inline void world_receiver_sends(void *arg, const uint8_t *mad)
{
	struct world *w = arg;

	w->to_sender++;
	memcpy(w->last_to_sender, mad, MAD_BYTES);
	world_fly(w, false, mad);
}

static inline void world_sender_done(void *arg, int error, uint8_t status)
{
	struct world *w = arg;

	assert_int_equal(w->inside, 0);
	w->sent.calls++;
	w->sent.error = error;
	w->sent.status = status;
}

static inline void world_receiver_done(void *arg, int error, const uint8_t *message,
				       size_t length)
{
	struct world *w = arg;

	assert_int_equal(w->inside, 0);
	w->received.calls++;
	w->received.error = error;
	w->received.message = message;
	w->received.length = length;
}

static inline void world_open(struct world *w, uint64_t seed)
{
	memset(w, 0, sizeof(*w));
	timer_queue_init(&w->queue, 1000, NULL, NULL);
	w->timers = &w->queue;
	random_seed(&w->random, seed);
	list_init(&w->flying);
}

static inline void world_send(struct world *w, const uint8_t *message, size_t length,
			      unsigned int retries)
{
	const struct rmpp_sender_config config = { .timers = w->timers,
						   .timeout_ns = TIMEOUT_NS,
						   .retries = retries,
						   .send = world_sender_sends,
						   .done = world_sender_done,
						   .arg = w };

	assert_int_equal(rmpp_sender_create(&config, message, length, &w->sender), 0);
	w->inside++;
	rmpp_sender_start(w->sender);
	w->inside--;
}

static inline void world_receive(struct world *w, uint64_t timeout_ns, size_t max_bytes)
{
	const struct rmpp_receiver_config config = { .timers = w->timers,
						     .timeout_ns = timeout_ns,
						     .max_bytes = max_bytes,
						     .send = world_receiver_sends,
						     .done = world_receiver_done,
						     .arg = w };

	assert_int_equal(rmpp_receiver_create(&config, &w->receiver), 0);
}

/* Until `condition`, or nothing is due any more. */
#define world_run_until(w, condition)                                  \
	do {                                                           \
		while (!(condition)) {                                 \
			uint64_t when = timer_queue_next((w)->timers); \
			if (when == UINT64_MAX)                        \
				break;                                 \
			timer_queue_run((w)->timers, when);            \
		}                                                      \
	} while (0)

static inline void world_run(struct world *w)
{
	world_run_until(w, false);
}

static inline void world_close(struct world *w)
{
	rmpp_sender_destroy(w->sender);
	rmpp_receiver_destroy(w->receiver);
	list_for_each_safe(pos, &w->flying) {
		struct flight *f = container_of(pos, struct flight, link);

		timer_disarm(&f->timer);
		list_remove(pos);
		free(f);
	}
	assert_true(timer_queue_next(w->timers) == UINT64_MAX);
}

/* A flat message of a class, with this much data behind its header. */
static inline uint8_t *world_message(uint8_t mgmt_class, size_t data, size_t *ret_length)
{
	const struct mad_header h = { .base_version = 1,
				      .mgmt_class = mgmt_class,
				      .class_version = 2,
				      .method = MAD_METHOD_GET_TABLE_RESP,
				      .tid = 0x1122334455667788ull,
				      .attr_id = 0x38 };
	size_t length = rmpp_data_offset(mgmt_class) + data;
	uint8_t *message = malloc(length);

	for (size_t i = 0; i < length; i++)
		message[i] = (uint8_t)(i * 7 + i / 251);
	mad_header_put(message, &h);
	*ret_length = length;
	return message;
}

/* All but the RMPP header, which is not the message's. */
static inline void world_assert_received(const struct world *w, const uint8_t *message,
					 size_t length)
{
	assert_int_equal(w->sent.calls, 1);
	assert_int_equal(w->sent.error, 0);
	assert_int_equal(w->received.calls, 1);
	assert_int_equal(w->received.error, 0);
	assert_int_equal(w->received.length, length);
	assert_memory_equal(w->received.message, message, MAD_HEADER_BYTES);
	assert_memory_equal(w->received.message + RMPP_HEADER_BYTES,
			    message + RMPP_HEADER_BYTES, length - RMPP_HEADER_BYTES);
}

#endif
