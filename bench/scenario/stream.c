/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One sender, N receivers, as fast as they go: messages a second at the slowest receiver,
 * from the first send to the last receipt (stream); or what a message costs the sender
 * inside its send calls, alone on its CPU (cost), also with many groups joined, always to
 * the first of them or each time to another one at random (groups-cost).
 *
 * Flow control is the same for all contestants: receivers publish on the board how far
 * they are, an eighth of the window at a time or when idle, and the sender keeps within
 * the window.
 */
#include "harness/ticks.h"
#include "scenario/scenario.h"

static uint64_t slowest(const struct duty *d)
{
	uint64_t least = UINT64_MAX;

	for (unsigned int w = 1; w <= d->cell->receivers; w++) {
		uint64_t n = atomic_load_explicit(&d->board->workers[w].consumed,
						  memory_order_acquire);

		least = n < least ? n : least;
	}
	return least;
}

/* Room for one more batch; false when the receivers have stopped taking anything. */
static bool wait_for_window(struct duty *d, uint64_t next, uint64_t *acknowledged)
{
	uint64_t since = 0;

	while (next + d->cell->batch > *acknowledged + d->board->window) {
		*acknowledged = slowest(d);
		if (next + d->cell->batch <= *acknowledged + d->board->window)
			break;
		duty_idle(d);
		if (!since)
			since = ticks_now();
		else if (ticks_now() - since > duty_patience())
			return false;
	}
	return true;
}

/* A batch timed only where its cost is asked for: the clock costs as much as a message. */
static void send_batch(struct duty *d, uint64_t number, bool timed)
{
	uint64_t before = timed ? ticks_now() : 0;

	d->endpoint->transport->send(d->endpoint, message_word(0, number));
	if (timed)
		d->outcome->busy += ticks_now() - before;
}

static void stream_out(struct duty *d, bool timed)
{
	uint64_t number = d->board->base, acknowledged = number;
	uint64_t deadline = ticks_now() + d->board->duration;
	unsigned int batches = d->cell->batch < 32 ? 32 / d->cell->batch : 1;
	bool flows = true;

	d->outcome->begin = ticks_now();
	while (flows && ticks_now() < deadline) {
		for (unsigned int i = 0; flows && i < batches; i++) {
			flows = wait_for_window(d, number, &acknowledged);
			if (!flows)
				break;
			send_batch(d, number, timed);
			number += d->cell->batch;
		}
	}
	atomic_store(&d->board->end, number);
	d->outcome->messages = number - d->board->base;
}

static void stream_lead(struct duty *d)
{
	stream_out(d, false);
}

static void cost_lead(struct duty *d)
{
	stream_out(d, true);
}

static void publish(struct duty *d)
{
	atomic_store_explicit(&d->board->workers[d->worker].consumed, d->inbox.expect[0],
			      memory_order_release);
}

/* Idle: tell the sender, and see whether that was all. */
static bool at_end(struct duty *d, uint64_t *idle_since)
{
	uint64_t now = ticks_now();

	if (!*idle_since)
		*idle_since = now;
	publish(d);
	return d->inbox.expect[0] == atomic_load(&d->board->end) ||
	       now - *idle_since > duty_patience();
}

void stream_follow(struct duty *d)
{
	const struct transport *t = d->endpoint->transport;
	uint64_t published = d->board->base, step = d->board->window / 8;
	uint64_t idle_since = 0, end;

	for (;;) {
		if (t->receive(d->endpoint, &d->inbox)) {
			idle_since = 0;
			if (d->inbox.expect[0] - published >= step) {
				publish(d);
				published = d->inbox.expect[0];
			}
			continue;
		}
		if (at_end(d, &idle_since))
			break;
		published = d->inbox.expect[0];
		duty_idle(d);
	}
	end = atomic_load(&d->board->end);
	if (end == BOARD_END_UNKNOWN)
		end = d->inbox.expect[0];
	d->outcome->end = idle_since;
	d->outcome->messages = d->inbox.received;
	d->outcome->wrong = d->inbox.wrong;
	d->outcome->lost = end - d->board->base - d->inbox.received;
}

static double stream_value(const struct board *b, unsigned int receivers)
{
	uint64_t end = 0, messages = UINT64_MAX;

	for (unsigned int w = 1; w <= receivers; w++) {
		const struct outcome *o = &b->workers[w].outcome;

		end = o->end > end ? o->end : end;
		messages = o->messages < messages ? o->messages : messages;
	}
	return (double)messages * 1e9 / ticks_to_ns(end - b->workers[0].outcome.begin);
}

static double cost_value(const struct board *b, unsigned int receivers)
{
	const struct outcome *o = &b->workers[0].outcome;

	return ticks_to_ns(o->busy) / (double)o->messages;
}

const struct scenario scenario_stream = {
	.name = "stream",
	.what = "messages a second at each of N receivers",
	.unit = "msg/s",
	.more_is_better = true,
	.uses = USES_RECEIVERS | USES_SIZES | USES_BATCHES,
	.contestants = transports,
	.lead = stream_lead,
	.follow = stream_follow,
	.value = stream_value,
};

const struct scenario scenario_cost = {
	.name = "cost",
	.what = "sender's time a message in its send calls, alone on its CPU",
	.unit = "ns",
	.uses = USES_RECEIVERS | USES_SIZES | USES_BATCHES,
	.placement = PLACE_SENDER_ALONE,
	.contestants = transports,
	.lead = cost_lead,
	.follow = stream_follow,
	.value = cost_value,
};

const struct scenario scenario_groups_cost = {
	.name = "groups-cost",
	.what = "cost with many groups joined, to one or to random ones",
	.unit = "ns",
	.uses = USES_GROUPS | USES_RANDOM,
	.placement = PLACE_SENDER_ALONE,
	.contestants = transports,
	.lead = cost_lead,
	.follow = stream_follow,
	.value = cost_value,
};
