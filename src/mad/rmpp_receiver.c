/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The side of a transfer that wants the data. It takes what is inside its window in any
 * order, and acknowledges at the window's end, at the message's, and whatever comes again.
 * The message grows with what has arrived, never with what was announced.
 */
#include "mad/rmpp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "mad/rmpp_priv.h"

#define RMPP_DATA_BYTES ((uint32_t)(MAD_BYTES - RMPP_HEADER_BYTES))
#define WINDOW          64u /* bits of `ahead` */
#define HEADER_MAX      64u

struct rmpp_receiver {
	struct rmpp_receiver_config config;
	struct timer timer;         /* for a segment; at the end, to say so */
	uint8_t header[HEADER_MAX]; /* of the first segment, for our answers */
	size_t offset, room;        /* of the data in a segment; 0: nothing came yet */
	uint32_t segments;          /* 0: not known yet */
	uint32_t last_payload;      /* what the first one says of the last; 0: nothing */
	uint32_t acked, window_last;
	uint32_t highest; /* that has arrived */
	uint64_t ahead;   /* bit n: acked + 1 + n is here */
	uint8_t *message;
	size_t capacity, length;
	bool ended;
	int error;
	uint8_t end_type, end_status; /* how we ended it: RMPP_NONE if we did not */
};

static void answer(struct rmpp_receiver *r, uint8_t type, uint8_t status)
{
	const bool ack = type == RMPP_ACK;
	const struct rmpp_answer a = { .header = r->header,
				       .header_bytes = r->offset,
				       .to_the_sender = true,
				       .type = type,
				       .status = status,
				       .segment = ack ? r->acked : 0,
				       .window_last = ack ? r->window_last : 0 };
	uint8_t mad[MAD_BYTES];

	rmpp_answer_write(mad, &a);
	r->config.send(r->config.arg, mad);
}

static void end(struct rmpp_receiver *r, int error, uint8_t type, uint8_t status)
{
	r->ended = true;
	r->error = error;
	r->end_type = type;
	r->end_status = status;
	timer_arm(&r->timer, 0);
	if (type != RMPP_NONE)
		answer(r, type, status);
}

static void on_timer(struct timer *timer)
{
	struct rmpp_receiver *r = container_of(timer, struct rmpp_receiver, timer);

	if (r->ended)
		r->config.done(r->config.arg, r->error, r->error ? NULL : r->message,
			       r->error ? 0 : r->length);
	else if (r->offset == 0) /* nobody is there to be told */
		end(r, -ETIMEDOUT, RMPP_NONE, 0);
	else
		end(r, -ETIMEDOUT, RMPP_ABORT, RMPP_STATUS_T2L);
}

int rmpp_receiver_create(const struct rmpp_receiver_config *config,
			 struct rmpp_receiver **ret)
{
	struct rmpp_receiver *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->config = *config;
	if (r->config.max_bytes == 0 || r->config.max_bytes > RMPP_MESSAGE_MAX)
		r->config.max_bytes = RMPP_MESSAGE_MAX;
	r->window_last = 1; /* spec/sa-sm 1.2 */
	timer_init(&r->timer, config->timers, on_timer);
	timer_arm(&r->timer, config->timeout_ns);
	*ret = r;
	return 0;
}

/* Why a transfer ends; a status of 0: it does not. */
struct verdict {
	int error;
	uint8_t type, status;
};

static struct verdict reject(uint8_t status)
{
	return (struct verdict){ -EPROTO, RMPP_ABORT, status };
}

static struct verdict refuse(int error)
{
	return (struct verdict){ error, RMPP_STOP, RMPP_STATUS_RESX };
}

static const struct verdict go_on;

/* What the first of several segments says of all: PayloadLength is 220 a segment, less
 * what is unused in the last (spec/sa-sm 1.2). 0 says nothing. */
static struct verdict take_announcement(struct rmpp_receiver *r, uint32_t payload)
{
	uint64_t segments, pad;

	if (payload == 0)
		return go_on;
	segments = ((uint64_t)payload + RMPP_DATA_BYTES - 1) / RMPP_DATA_BYTES;
	pad = segments * RMPP_DATA_BYTES - payload;
	if (segments < 2 || pad >= r->room)
		return reject(RMPP_STATUS_BAD_LENGTH);
	if (r->offset + segments * r->room - pad > r->config.max_bytes)
		return refuse(-EMSGSIZE);
	r->segments = (uint32_t)segments;
	r->last_payload = RMPP_DATA_BYTES - (uint32_t)pad;
	return go_on;
}

/* `ret_bytes` of data are in the last segment. */
static struct verdict take_last(struct rmpp_receiver *r, const struct rmpp_header *rmpp,
				size_t *ret_bytes)
{
	size_t class_header = r->offset - RMPP_HEADER_BYTES;
	uint32_t payload = rmpp->payload_length;

	if (r->segments == 0 && rmpp->segment < r->highest)
		return reject(RMPP_STATUS_BAD_SEGMENT);
	if (payload < class_header || payload > RMPP_DATA_BYTES ||
	    (payload == class_header && rmpp->segment != 1) ||
	    (r->last_payload && payload != r->last_payload))
		return reject(RMPP_STATUS_BAD_LENGTH);
	*ret_bytes = payload - class_header;
	r->segments = rmpp->segment;
	r->length = r->offset + r->room * (rmpp->segment - 1) + *ret_bytes;
	return go_on;
}

/* Numbers and flags of a new segment inside the window. */
static struct verdict check_segment(struct rmpp_receiver *r,
				    const struct rmpp_header *rmpp, size_t *ret_bytes)
{
	bool last = rmpp->flags & RMPP_LAST;
	struct verdict v = go_on;

	*ret_bytes = r->room;
	if (rmpp->segment == 1 && !last)
		v = take_announcement(r, rmpp->payload_length);
	if (v.status)
		return v;
	if (r->segments && rmpp->segment > r->segments)
		return reject(RMPP_STATUS_BAD_SEGMENT);
	if (r->segments && last != (rmpp->segment == r->segments))
		return reject(RMPP_STATUS_BAD_LENGTH);
	if (last)
		v = take_last(r, rmpp, ret_bytes);
	return v;
}

static struct verdict make_room(struct rmpp_receiver *r, size_t bytes)
{
	size_t capacity = r->capacity ? r->capacity : 1024;
	uint8_t *message;

	if (bytes > r->config.max_bytes)
		return refuse(-EMSGSIZE);
	if (bytes <= r->capacity)
		return go_on;
	while (capacity < bytes)
		capacity *= 2;
	message = realloc(r->message, capacity);
	if (!message)
		return refuse(-ENOMEM);
	r->message = message;
	r->capacity = capacity;
	return go_on;
}

static void mark_here(struct rmpp_receiver *r, uint32_t segment)
{
	if (r->highest < segment)
		r->highest = segment;
	r->ahead |= 1ull << (segment - r->acked - 1);
	while (r->ahead & 1) {
		r->ahead >>= 1;
		r->acked++;
	}
}

/* The window moves when its end is reached: one ACK a window. */
static void acknowledge(struct rmpp_receiver *r)
{
	if (r->acked == r->segments) {
		end(r, 0, RMPP_NONE, 0);
		answer(r, RMPP_ACK, 0);
	} else if (r->acked == r->window_last) {
		r->window_last += WINDOW;
		answer(r, RMPP_ACK, 0);
	}
}

static struct verdict take_segment(struct rmpp_receiver *r, const uint8_t *mad,
				   const struct rmpp_header *rmpp)
{
	size_t at = r->offset + r->room * (rmpp->segment - 1), bytes;
	struct verdict v = check_segment(r, rmpp, &bytes);

	if (v.status == 0)
		v = make_room(r, at + bytes);
	if (v.status)
		return v;
	if (rmpp->segment == 1)
		memcpy(r->message, mad, r->offset);
	memcpy(r->message + at, mad + r->offset, bytes);
	mark_here(r, rmpp->segment);
	timer_arm(&r->timer, r->config.timeout_ns);
	acknowledge(r);
	return go_on;
}

static bool is_here(const struct rmpp_receiver *r, uint32_t segment)
{
	return segment <= r->acked || r->ahead >> (segment - r->acked - 1) & 1;
}

static void on_data(struct rmpp_receiver *r, const uint8_t *mad,
		    const struct rmpp_header *rmpp)
{
	struct verdict v = go_on;

	if (rmpp->status != RMPP_STATUS_SUCCESS)
		v = reject(RMPP_STATUS_BAD_STATUS);
	else if (rmpp->segment == 0 ||
		 (rmpp->segment == 1) != !!(rmpp->flags & RMPP_FIRST))
		v = reject(RMPP_STATUS_BAD_SEGMENT);
	else if (rmpp->segment > r->window_last)
		return; /* it was not asked for, and comes again if it is needed */
	else if (is_here(r, rmpp->segment))
		answer(r, RMPP_ACK, 0);
	else
		v = take_segment(r, mad, rmpp);
	if (v.status)
		end(r, v.error, v.type, v.status);
}

static void receive(struct rmpp_receiver *r, const uint8_t *mad,
		    const struct rmpp_header *rmpp)
{
	/* The end of the transfer is not answered, whatever else it says. */
	if (rmpp->type == RMPP_STOP || rmpp->type == RMPP_ABORT)
		end(r, -ECONNABORTED, RMPP_NONE, 0);
	else if (r->room == 0)
		end(r, -EPROTO, RMPP_ABORT, RMPP_STATUS_UNSPECIFIED);
	else if (rmpp->version != RMPP_VERSION)
		end(r, -EPROTO, RMPP_ABORT, RMPP_STATUS_UNSUPPORTED_VERSION);
	else if (rmpp->type == RMPP_DATA)
		on_data(r, mad, rmpp);
	else if (rmpp->type != RMPP_ACK) /* late, of the request that we answer */
		end(r, -EPROTO, RMPP_ABORT, RMPP_STATUS_BAD_TYPE);
}

/* Our last word was lost, or was late. */
static void repeat_the_end(struct rmpp_receiver *r)
{
	if (r->error == 0)
		answer(r, RMPP_ACK, 0);
	else if (r->end_type != RMPP_NONE)
		answer(r, r->end_type, r->end_status);
}

/* The first MAD has the class, and the header that our answers repeat. */
static void learn_class(struct rmpp_receiver *r, const uint8_t *mad)
{
	size_t offset = rmpp_data_offset(mad[1]);

	r->offset = offset ? offset : RMPP_HEADER_BYTES;
	r->room = offset ? MAD_BYTES - offset : 0;
	memcpy(r->header, mad, r->offset);
}

void rmpp_receiver_receive(struct rmpp_receiver *r, const uint8_t mad[MAD_BYTES])
{
	struct rmpp_header rmpp;

	rmpp_header_get(mad, &rmpp);
	if (!(rmpp.flags & RMPP_ACTIVE))
		return;
	if (r->offset == 0)
		learn_class(r, mad);
	if (!r->ended)
		receive(r, mad, &rmpp);
	else if (rmpp.type == RMPP_DATA)
		repeat_the_end(r);
}

void rmpp_receiver_destroy(struct rmpp_receiver *r)
{
	if (!r)
		return;
	timer_disarm(&r->timer);
	free(r->message);
	free(r);
}
