// SPDX-License-Identifier: BSD-2-Clause
// links: vc_mad
/*
 * A sender and a receiver of RMPP against whatever comes and whenever: each ends exactly
 * once, never from inside a call, and a message that is said to be whole can be read.
 *
 * The first two bytes choose a class and the length of the message to send. Then come
 * events of eight bytes: what happens, and the fields of the MAD that it is about.
 */
#include <stdlib.h>
#include <string.h>

#include "mad/rmpp.h"

#define EVENT_BYTES 8u
#define EVENTS_MAX  512u
#define TIMEOUT_NS  (10 * TIMER_MS)
#define RETRIES     2u
#define MAX_BYTES   65536u
#define MADS_MAX    2000000u

enum event {
	TO_SENDER, /* a MAD of these fields */
	TO_RECEIVER,
	ACK_LANDS,  /* what the receiver said last reaches the sender */
	DATA_LANDS, /* what the sender said last reaches the receiver */
	TIME_PASSES,
	NOISE_TO_SENDER, /* what lands has a byte changed */
	NOISE_TO_RECEIVER,
	EVENTS,
};

struct side {
	unsigned int done, mads;
	uint8_t last[MAD_BYTES];
};

static struct timer_queue timers;
static struct side sender_side, receiver_side;
static unsigned int inside;
static volatile uint8_t sink;

static void on_send(void *arg, const uint8_t mad[MAD_BYTES])
{
	struct side *side = arg;

	memcpy(side->last, mad, MAD_BYTES);
	if (++side->mads > MADS_MAX)
		abort();
}

static void on_done(struct side *side)
{
	if (inside || side->done++)
		abort();
}

static void on_sent(void *arg, int error, uint8_t status)
{
	on_done(arg);
}

static void on_received(void *arg, int error, const uint8_t *message, size_t length)
{
	on_done(arg);
	if ((error == 0) != !!message || length > MAX_BYTES)
		abort();
	for (size_t i = 0; i < length; i++)
		sink = message[i];
}

static void event_mad(uint8_t mad[MAD_BYTES], uint8_t mgmt_class, const uint8_t *event)
{
	const struct rmpp_header h = {
		.version = event[1] & 0x80 ? 0 : 1,
		.type = event[1] & 7,
		.flags = event[2] & 7,
		.status = event[3],
		.segment = event[4] | (event[5] & 0x80 ? (uint32_t)event[5] << 24 : 0),
		.payload_length = (uint32_t)(event[6] | event[7] << 8),
	};

	memset(mad, 0, MAD_BYTES);
	mad[1] = event[1] & 0x40 ? event[5] : mgmt_class;
	rmpp_header_put(mad, &h);
}

static void happen(struct rmpp_sender *s, struct rmpp_receiver *r, uint8_t mgmt_class,
		   const uint8_t *event)
{
	uint8_t mad[MAD_BYTES];

	event_mad(mad, mgmt_class, event);
	switch (event[0] % EVENTS) {
	case TO_SENDER:
		rmpp_sender_receive(s, mad);
		break;
	case TO_RECEIVER:
		rmpp_receiver_receive(r, mad);
		break;
	case NOISE_TO_SENDER:
		receiver_side.last[event[1] % RMPP_HEADER_BYTES] = event[2];
		/* fall through */
	case ACK_LANDS:
		rmpp_sender_receive(s, receiver_side.last);
		break;
	case NOISE_TO_RECEIVER:
		sender_side.last[event[1] % RMPP_HEADER_BYTES] = event[2];
		/* fall through */
	case DATA_LANDS:
		rmpp_receiver_receive(r, sender_side.last);
		break;
	default:
		inside--;
		timer_queue_run(&timers, timers.now_ns + event[1] * TIMER_MS / 8);
		inside++;
		break;
	}
}

static int open_both(const uint8_t *message, size_t length, struct rmpp_sender **s,
		     struct rmpp_receiver **r)
{
	const struct rmpp_sender_config sending = { &timers, TIMEOUT_NS, RETRIES,
						    on_send, on_sent,    &sender_side };
	const struct rmpp_receiver_config receiving = { &timers,     10 * TIMEOUT_NS,
							MAX_BYTES,   on_send,
							on_received, &receiver_side };

	if (rmpp_sender_create(&sending, message, length, s) < 0)
		return -1;
	if (rmpp_receiver_create(&receiving, r) < 0)
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t message[64 + 255 * 32];
	struct rmpp_sender *s;
	struct rmpp_receiver *r;
	size_t events = size < 2 ? 0 : (size - 2) / EVENT_BYTES;

	if (size < 2)
		return 0;
	message[1] = data[0];
	timer_queue_init(&timers, 0, NULL, NULL);
	memset(&sender_side, 0, sizeof(sender_side));
	memset(&receiver_side, 0, sizeof(receiver_side));
	if (open_both(message, 64 + data[1] * 32u, &s, &r) < 0)
		return 0;
	inside++;
	rmpp_sender_start(s);
	for (size_t i = 0; i < events && i < EVENTS_MAX; i++)
		happen(s, r, data[0], data + 2 + i * EVENT_BYTES);
	inside--;
	while (timer_queue_next(&timers) != UINT64_MAX)
		timer_queue_run(&timers, timer_queue_next(&timers));
	if (sender_side.done != 1 || receiver_side.done != 1)
		abort();
	rmpp_sender_destroy(s);
	rmpp_receiver_destroy(r);
	return 0;
}
