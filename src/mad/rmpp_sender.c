/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The side of a transfer that has the data. Segments go out up to the window's end, which
 * the receiver moves with its ACKs; what is not acknowledged in time goes out again, from
 * the first such segment on. Only progress renews the number of tries. A wide window is
 * filled a burst a run of the timers.
 */
#include "mad/rmpp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "mad/rmpp_priv.h"

#define RMPP_DATA_BYTES (MAD_BYTES - RMPP_HEADER_BYTES) /* as PayloadLength counts */

struct rmpp_sender {
	struct rmpp_sender_config config;
	struct timer timer;  /* for an ACK, or the next burst; at the end, to say so */
	size_t offset, room; /* of the data in a segment */
	uint32_t segments;
	uint32_t pad;         /* bytes of the last one that are no data */
	uint32_t acked;       /* all up to this one have arrived */
	uint32_t window_last; /* all up to this one may be sent */
	uint32_t next;        /* to be sent; behind the window: all have been */
	unsigned int tries;   /* since the last progress */
	bool started, ended;
	int error;
	uint8_t status;
	uint8_t *message;
};

static void end(struct rmpp_sender *s, int error, uint8_t status)
{
	s->ended = true;
	s->error = error;
	s->status = status;
	timer_arm(&s->timer, 0);
}

static void abort_transfer(struct rmpp_sender *s, int error, uint8_t status)
{
	const struct rmpp_answer last_word = { .header = s->message,
					       .header_bytes = s->offset,
					       .type = RMPP_ABORT,
					       .status = status };
	uint8_t mad[MAD_BYTES];

	rmpp_answer_write(mad, &last_word);
	end(s, error, status);
	s->config.send(s->config.arg, mad);
}

/* spec/sa-sm 1.2: the first segment tells of the whole message, the last of itself, and
 * both count the class header of each segment as data. */
static uint32_t payload_length(const struct rmpp_sender *s, uint32_t segment)
{
	if (segment == 1)
		return (uint32_t)RMPP_DATA_BYTES * s->segments - s->pad;
	if (segment == s->segments)
		return (uint32_t)RMPP_DATA_BYTES - s->pad;
	return 0;
}

static void send_segment(struct rmpp_sender *s, uint32_t segment)
{
	const struct rmpp_header rmpp = {
		.version = RMPP_VERSION,
		.type = RMPP_DATA,
		.resp_time = RMPP_RESP_TIME_NONE,
		.flags = (uint8_t)(RMPP_ACTIVE | (segment == 1 ? RMPP_FIRST : 0) |
				   (segment == s->segments ? RMPP_LAST : 0)),
		.segment = segment,
		.payload_length = payload_length(s, segment),
	};
	size_t bytes = segment == s->segments ? s->room - s->pad : s->room;
	uint8_t mad[MAD_BYTES];

	memcpy(mad, s->message, s->offset);
	memcpy(mad + s->offset, s->message + s->offset + s->room * (segment - 1), bytes);
	memset(mad + s->offset + bytes, 0, s->room - bytes);
	rmpp_header_put(mad, &rmpp);
	s->config.send(s->config.arg, mad);
}

static bool is_sending(const struct rmpp_sender *s)
{
	return s->next <= s->window_last;
}

static void wait(struct rmpp_sender *s)
{
	timer_arm(&s->timer, is_sending(s) ? 0 : s->config.timeout_ns);
}

static void send_burst(struct rmpp_sender *s)
{
	for (unsigned int i = 0; i < RMPP_BURST && is_sending(s); i++)
		send_segment(s, s->next++);
	wait(s);
}

static void send_from(struct rmpp_sender *s, uint32_t segment)
{
	s->next = segment;
	send_burst(s);
}

static void on_timer(struct timer *timer)
{
	struct rmpp_sender *s = container_of(timer, struct rmpp_sender, timer);

	if (s->ended) {
		s->config.done(s->config.arg, s->error, s->status);
		return;
	}
	if (is_sending(s)) {
		send_burst(s);
		return;
	}
	if (s->tries++ >= s->config.retries) {
		abort_transfer(s, -ETIMEDOUT, RMPP_STATUS_TOO_MANY_RETRIES);
		return;
	}
	/* A closed window: a segment that is known to have arrived asks for its state. */
	send_from(s, s->acked < s->window_last ? s->acked + 1 : s->window_last);
}

/* Of the data in it; 0: it is no message. */
static size_t message_offset(const uint8_t *message, size_t length)
{
	size_t offset;

	if (length < MAD_HEADER_BYTES || length > RMPP_MESSAGE_MAX)
		return 0;
	offset = rmpp_data_offset(message[1]);
	return length < offset ? 0 : offset;
}

int rmpp_sender_adopt(const struct rmpp_sender_config *config, uint8_t *message,
		      size_t length, struct rmpp_sender **ret)
{
	struct rmpp_sender *s;
	size_t offset = message_offset(message, length), data;

	if (offset == 0)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->config = *config;
	timer_init(&s->timer, config->timers, on_timer);
	s->offset = offset;
	s->room = MAD_BYTES - offset;
	data = length - offset;
	/* No data is one segment too. */
	s->segments = data ? (uint32_t)((data + s->room - 1) / s->room) : 1;
	s->pad = (uint32_t)(s->room * s->segments - data);
	s->message = message;
	*ret = s;
	return 0;
}

int rmpp_sender_create(const struct rmpp_sender_config *config, const uint8_t *message,
		       size_t length, struct rmpp_sender **ret)
{
	uint8_t *copy;
	int r;

	if (message_offset(message, length) == 0)
		return -EINVAL;
	copy = malloc(length);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, message, length);
	r = rmpp_sender_adopt(config, copy, length, ret);
	if (r < 0)
		free(copy);
	return r;
}

void rmpp_sender_start(struct rmpp_sender *s)
{
	if (s->started)
		return;
	s->started = true;
	s->window_last = 1; /* spec/sa-sm 1.2 */
	send_from(s, 1);
}

bool rmpp_sender_is_heard(const struct rmpp_sender *s)
{
	return !s->ended && s->acked && !s->tries;
}

/* 0, or the status to abort with. */
static uint8_t ack_check(const struct rmpp_sender *s, const struct rmpp_header *ack)
{
	if (ack->status != RMPP_STATUS_SUCCESS)
		return RMPP_STATUS_BAD_STATUS;
	if (ack->payload_length < ack->segment)
		return RMPP_STATUS_NEWWINDOWLAST_SMALL;
	if (ack->segment > s->window_last)
		return RMPP_STATUS_SEGMENT_TOO_BIG;
	return 0;
}

/* One that was overtaken moves nothing back. */
static void on_ack(struct rmpp_sender *s, const struct rmpp_header *ack)
{
	uint32_t window_last = ack->payload_length;
	uint8_t status = ack_check(s, ack);

	if (status) {
		abort_transfer(s, -EPROTO, status);
		return;
	}
	if (ack->segment > s->acked) {
		s->acked = ack->segment;
		s->tries = 0;
		if (s->next <= s->acked)
			s->next = s->acked + 1;
		wait(s);
	}
	if (window_last > s->segments)
		window_last = s->segments;
	if (s->acked == s->segments) {
		end(s, 0, RMPP_STATUS_SUCCESS);
	} else if (window_last > s->window_last) {
		bool waits = !is_sending(s);

		s->window_last = window_last;
		if (waits)
			send_burst(s);
	}
}

void rmpp_sender_receive(struct rmpp_sender *s, const uint8_t mad[MAD_BYTES])
{
	struct rmpp_header rmpp;

	rmpp_header_get(mad, &rmpp);
	if (!s->started || s->ended || !(rmpp.flags & RMPP_ACTIVE))
		return;
	/* The end of the transfer is not answered, whatever else it says. */
	if (rmpp.type == RMPP_STOP || rmpp.type == RMPP_ABORT)
		end(s, -ECONNABORTED, rmpp.status);
	else if (rmpp.version != RMPP_VERSION)
		abort_transfer(s, -EPROTO, RMPP_STATUS_UNSUPPORTED_VERSION);
	else if (rmpp.type == RMPP_ACK)
		on_ack(s, &rmpp);
	else if (rmpp.type != RMPP_DATA) /* early, of the response to this message */
		abort_transfer(s, -EPROTO, RMPP_STATUS_BAD_TYPE);
}

void rmpp_sender_destroy(struct rmpp_sender *s)
{
	if (!s)
		return;
	timer_disarm(&s->timer);
	free(s->message);
	free(s);
}
