/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RMPP both ways: one transfer, one state machine (spec/sa-sm 1.2). Used by whoever speaks
 * management datagrams on either side of the subnet; it knows segments, windows and
 * timeouts, and nothing of ports or agents.
 *
 * A message is flat: the class's header (rmpp_data_offset bytes, RMPP fields of which are
 * ours to fill) and all data behind it, as libibumad has it. One that was received has the
 * header of its first segment.
 *
 * `done` is called once, from the timer queue: never from inside a call of these.
 */
#ifndef MAD_RMPP_H
#define MAD_RMPP_H

#include "base/timer.h"
#include "wire/mad.h"

#define RMPP_MESSAGE_MAX (16u << 20) /* bytes */

/* Sends one MAD of 256 bytes to the other side. */
typedef void (*rmpp_send_fn)(void *arg, const uint8_t mad[MAD_BYTES]);

struct rmpp_sender;

struct rmpp_sender_config {
	struct timer_queue *timers;
	uint64_t timeout_ns; /* for an ACK, each try */
	unsigned int retries;
	rmpp_send_fn send;
	/* 0: all is acknowledged. -ETIMEDOUT; -ECONNABORTED: the other side stopped or
	 * aborted, and `status` says why (enum rmpp_status); -EPROTO: its answer made no
	 * sense, and was told so with `status`. The sender may be destroyed in it. */
	void (*done)(void *arg, int error, uint8_t status);
	void *arg;
};

/* However wide the receiver opens its window, no call sends more; the rest follows from the
 * timer queue. */
#define RMPP_BURST 64u

/* `message` is copied. -EINVAL: shorter than its header, longer than RMPP_MESSAGE_MAX, or
 * of a class without RMPP. */
int rmpp_sender_create(const struct rmpp_sender_config *config, const uint8_t *message,
		       size_t length, struct rmpp_sender **ret);
/* The same, but a message from malloc becomes the sender's if this succeeds: copying the
 * longest takes milliseconds. */
int rmpp_sender_adopt(const struct rmpp_sender_config *config, uint8_t *message,
		      size_t length, struct rmpp_sender **ret);
void rmpp_sender_start(struct rmpp_sender *s);
/* The receiver has taken some, and still does: nothing was missed since its last word. */
bool rmpp_sender_is_heard(const struct rmpp_sender *s);
/* An RMPP MAD of the transfer's transaction that is not DATA: ACK, STOP or ABORT. */
void rmpp_sender_receive(struct rmpp_sender *s, const uint8_t mad[MAD_BYTES]);
/* No call comes any more. Null is fine. */
void rmpp_sender_destroy(struct rmpp_sender *s);

struct rmpp_receiver;

struct rmpp_receiver_config {
	struct timer_queue *timers;
	uint64_t timeout_ns; /* without a new segment; then the transfer is given up */
	size_t max_bytes;    /* of the message; 0: RMPP_MESSAGE_MAX */
	rmpp_send_fn send;   /* ACKs and ABORTs */
	/* 0 and the message (the receiver's, until it is destroyed), or -ETIMEDOUT,
	 * -EPROTO, -EMSGSIZE, -ENOMEM, -ECONNABORTED. The receiver may be destroyed in
	 * it; while it is kept it answers repeated segments. */
	void (*done)(void *arg, int error, const uint8_t *message, size_t length);
	void *arg;
};

int rmpp_receiver_create(const struct rmpp_receiver_config *config,
			 struct rmpp_receiver **ret);
/* DATA, or the other side's ABORT or STOP. */
void rmpp_receiver_receive(struct rmpp_receiver *r, const uint8_t mad[MAD_BYTES]);
void rmpp_receiver_destroy(struct rmpp_receiver *r);

/* A message that is one segment has arrived: the ACK that its sender waits for. For those
 * who take no longer ones, and keep no receiver. */
void rmpp_acknowledge(const uint8_t segment[MAD_BYTES], uint8_t ret[MAD_BYTES]);

#endif
