/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of more than one MAD, both ways (spec/sa-sm 1.2). The machines of mad/rmpp know
 * segments and windows; here they get their ports, and the send that they answer or are.
 *
 * A transfer is known by transaction id, class, and the other side's LID: transaction ids
 * of what we answer are the other side's, and two of those may use the same.
 */
#include <stdlib.h>

#include "core/mad/mad_priv.h"

/* Until an acknowledgement is missed; Linux waits as long. */
#define ACK_TIMEOUT_MS  2000u
/* An answer's sender has no retries of his own to give: libibumad's have 0. */
#define ACK_RETRIES_MIN 3u
/* A sender that lost an acknowledgement has tried again by then. */
#define SEGMENT_TIMEOUT (5000 * TIMER_MS)
#define LINGER          (3000 * TIMER_MS)

/* -- out ---------------------------------------------------------------------------- */

static void send_segment(void *arg, const uint8_t mad[MAD_BYTES])
{
	struct mad_send *send = arg;

	/* What cannot be sent is like what is lost: the sender tries again. */
	mad_post(send->agent, &send->to, mad);
}

static void segments_are_done(void *arg, int error, uint8_t status)
{
	struct mad_send *send = arg;

	(void)status;
	mad_segments_stop(send);
	if (error == -ETIMEDOUT)
		mad_send_end(send, IB_MAD_SEND_TIMEOUT);
	else if (error < 0)
		mad_send_end(send, IB_MAD_SEND_FAILED);
	else if (send->timeout_ms)
		mad_send_wait(send);
	else
		mad_send_end(send, IB_MAD_SEND_OK);
}

static bool are_of_one_transfer(const struct mad_send *a, const struct mad_send *b)
{
	return a->tid == b->tid && a->mgmt_class == b->mgmt_class &&
	       a->is_response == b->is_response && a->to.lid == b->to.lid &&
	       a->agent->port == b->agent->port;
}

static struct mad_send *find_other(const struct mad_send *send)
{
	hash_for_each_match(node, &send->agent->mad->segmented, mad_tid_hash(send->tid)) {
		struct mad_send *other =
			container_of(node, struct mad_send, segment_node);

		if (are_of_one_transfer(other, send))
			return other;
	}
	return NULL;
}

/* Differs: whoever is answered twice has asked twice. If he takes the first answer, he
 * needs no second one, and would give up the first for it; else he knows the first no
 * longer. In Linux two transfers of one transaction take each other's acknowledgements. */
static bool is_answered(const struct mad_send *send, const struct mad_send *other)
{
	return send->is_response && rmpp_sender_is_heard(other->sender);
}

int mad_segments_start(struct mad_send *send)
{
	u32 ms = send->timeout_ms;
	struct rmpp_sender_config config = {
		.timers = send->agent->mad->config.timers,
		.timeout_ns =
			(ms && ms < ACK_TIMEOUT_MS ? ms : ACK_TIMEOUT_MS) * TIMER_MS,
		.retries =
			send->retries > ACK_RETRIES_MIN ? send->retries : ACK_RETRIES_MIN,
		.send = send_segment,
		.done = segments_are_done,
		.arg = send,
	};
	struct mad_send *other = find_other(send);
	int r;

	if (other && is_answered(send, other)) {
		mad_send_over(send, IB_MAD_SEND_OK);
		return 0;
	}
	if (other)
		mad_send_over(other, IB_MAD_SEND_FLUSHED);
	r = rmpp_sender_create(&config, send->message, send->length, &send->sender);
	if (r < 0)
		return r;
	hash_insert(&send->agent->mad->segmented, &send->segment_node,
		    mad_tid_hash(send->tid));
	rmpp_sender_start(send->sender);
	return 0;
}

void mad_segments_stop(struct mad_send *send)
{
	if (!send->sender)
		return;
	hash_remove(&send->agent->mad->segmented, &send->segment_node);
	rmpp_sender_destroy(send->sender);
	send->sender = NULL;
}

/* -- in ----------------------------------------------------------------------------- */

void mad_transfer_free(struct mad_transfer *transfer)
{
	timer_disarm(&transfer->linger);
	rmpp_receiver_destroy(transfer->receiver);
	if (transfer->send)
		transfer->send->answer = NULL;
	hash_remove(&transfer->agent->mad->transfers, &transfer->node);
	list_remove(&transfer->link);
	free(transfer);
}

static void linger_is_over(struct timer *timer)
{
	mad_transfer_free(container_of(timer, struct mad_transfer, linger));
}

static void send_ack(void *arg, const uint8_t mad[MAD_BYTES])
{
	struct mad_transfer *transfer = arg;

	mad_post(transfer->agent, &transfer->from, mad);
}

/* It came to nothing: as if there had been no answer. */
static void transfer_has_failed(struct mad_transfer *transfer)
{
	struct mad_send *send = transfer->send;

	mad_transfer_free(transfer);
	if (send)
		mad_send_missed(send);
}

static void transfer_is_done(void *arg, int error, const uint8_t *message, size_t length)
{
	struct mad_transfer *transfer = arg;
	struct ib_mad_agent *agent = transfer->agent;
	struct ib_mad_recv recv = {
		.from = transfer->from,
		.message = message,
		.length = length,
	};

	if (error < 0) {
		transfer_has_failed(transfer);
		return;
	}
	timer_arm(&transfer->linger, LINGER);
	if (transfer->send)
		mad_send_answer(transfer->send, &recv);
	else if (transfer->is_response)
		agent->mad->counters.unmatched++; /* it was cancelled meanwhile */
	else
		agent->ops.recv(agent, &recv);
}

static struct mad_transfer *make_transfer(struct ib_mad_agent *agent,
					  const struct mad_arrival *arrival)
{
	struct mad_transfer *transfer = calloc(1, sizeof(*transfer));
	struct rmpp_receiver_config config = {
		.timers = agent->mad->config.timers,
		.timeout_ns = SEGMENT_TIMEOUT,
		.send = send_ack,
		.done = transfer_is_done,
		.arg = transfer,
	};

	if (!transfer)
		return NULL;
	if (rmpp_receiver_create(&config, &transfer->receiver) < 0) {
		free(transfer);
		return NULL;
	}
	transfer->agent = agent;
	transfer->from = arrival->from;
	transfer->tid = arrival->header.tid;
	transfer->mgmt_class = arrival->header.mgmt_class;
	transfer->is_response = arrival->is_response;
	timer_init(&transfer->linger, agent->mad->config.timers, linger_is_over);
	hash_insert(&agent->mad->transfers, &transfer->node, mad_tid_hash(transfer->tid));
	list_append(&agent->transfers, &transfer->link);
	return transfer;
}

/*
 * A question and its answer have one transaction id, and where both sides are on one port
 * nothing but the response bit tells them apart. Control from a transfer's sender has the
 * bit as its data; control to the sender has it the other way.
 */
static struct mad_transfer *find_transfer(struct ib_mad *mad,
					  const struct mad_arrival *arrival)
{
	hash_for_each_match(node, &mad->transfers, mad_tid_hash(arrival->header.tid)) {
		struct mad_transfer *t = container_of(node, struct mad_transfer, node);

		if (t->tid == arrival->header.tid && t->from.lid == arrival->from.lid &&
		    t->mgmt_class == arrival->header.mgmt_class &&
		    t->is_response == arrival->is_response &&
		    t->agent->port == arrival->port)
			return t;
	}
	return NULL;
}

/* The first segment of an answer stops the clock of the send that it answers. */
static struct mad_transfer *begin_transfer(struct ib_mad_agent *agent,
					   const struct mad_arrival *arrival)
{
	struct mad_transfer *transfer;
	struct mad_send *send = NULL;

	if (arrival->is_response) {
		send = mad_send_find(agent, arrival);
		if (!send) {
			agent->mad->counters.unmatched++;
			return NULL;
		}
		if (send->answer)
			return NULL; /* from two sides at once: the first has it */
	}
	transfer = make_transfer(agent, arrival);
	if (!transfer || !send)
		return transfer;
	mad_segments_stop(send);
	timer_disarm(&send->timer);
	send->state = MAD_SEND_ANSWERED;
	send->answer = transfer;
	transfer->send = send;
	return transfer;
}

void mad_rmpp_data(struct ib_mad_agent *agent, const struct mad_arrival *arrival)
{
	struct mad_transfer *transfer = find_transfer(agent->mad, arrival);

	if (!transfer)
		transfer = begin_transfer(agent, arrival);
	if (transfer)
		rmpp_receiver_receive(transfer->receiver, arrival->mad);
}

static struct mad_send *find_segmented(struct ib_mad *mad,
				       const struct mad_arrival *arrival)
{
	hash_for_each_match(node, &mad->segmented, mad_tid_hash(arrival->header.tid)) {
		struct mad_send *send = container_of(node, struct mad_send, segment_node);

		if (send->tid == arrival->header.tid &&
		    send->to.lid == arrival->from.lid &&
		    send->mgmt_class == arrival->header.mgmt_class &&
		    send->is_response != arrival->is_response &&
		    send->agent->port == arrival->port)
			return send;
	}
	return NULL;
}

bool mad_rmpp_control(struct ib_mad *mad, const struct mad_arrival *arrival)
{
	struct mad_send *send = find_segmented(mad, arrival);
	struct mad_transfer *transfer;

	if (send) {
		rmpp_sender_receive(send->sender, arrival->mad);
		return true;
	}
	transfer = find_transfer(mad, arrival);
	if (transfer)
		rmpp_receiver_receive(transfer->receiver, arrival->mad);
	return transfer;
}
