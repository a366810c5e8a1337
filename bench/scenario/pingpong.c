/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ping-pong: worker 0 sends, the others answer, worker 0 sends the next when all have.
 * Half of a round trip is the figure. Polling (pingpong), or asleep between messages on
 * one CPU (wait), which shows the cost of software, or on two (wait-far), which shows
 * the cost of waking a halted CPU.
 */
#include "harness/ticks.h"
#include "scenario/scenario.h"

/* Take messages until `until` have come in all; false when nothing comes any more. */
static bool receive_until(struct duty *d, uint64_t until)
{
	const struct transport *t = d->endpoint->transport;
	uint64_t waiting_since = 0;
	unsigned int idle = 0;

	while (d->inbox.received + d->inbox.lost < until) {
		if (t->receive(d->endpoint, &d->inbox))
			continue;
		if (d->cell->scenario->sleeps) {
			t->wait(d->endpoint);
			continue;
		}
		duty_idle(d);
		if (++idle % 1024)
			continue;
		if (!waiting_since)
			waiting_since = ticks_now();
		else if (ticks_now() - waiting_since > duty_patience())
			return false;
	}
	return true;
}

static void finish(struct duty *d, uint64_t expected)
{
	d->outcome->messages = expected;
	d->outcome->wrong = d->inbox.wrong;
	d->outcome->lost =
		expected > d->inbox.received ? expected - d->inbox.received : 0;
}

void pingpong_lead(struct duty *d)
{
	uint64_t number = d->board->base, answers = 0, now = ticks_now(), then;
	uint64_t deadline = now + d->board->duration;
	bool last = false;

	histogram_clear(d->histogram);
	do {
		if (now >= deadline) {
			/* Told before it is sent, so that nobody waits for more. */
			atomic_store(&d->board->end, number + 1);
			last = true;
		}
		d->endpoint->transport->send(d->endpoint, message_word(0, number++));
		answers += d->cell->receivers;
		if (!receive_until(d, answers))
			break;
		then = now;
		now = ticks_now();
		histogram_add(d->histogram, now - then);
	} while (!last);
	atomic_store(&d->board->end, number);
	d->outcome->p50 = histogram_quantile(d->histogram, 0.50);
	d->outcome->p99 = histogram_quantile(d->histogram, 0.99);
	finish(d, answers);
}

void pingpong_follow(struct duty *d)
{
	uint64_t number = d->board->base;

	do {
		if (!receive_until(d, number - d->board->base + 1))
			break;
		d->endpoint->transport->send(d->endpoint,
					     message_word(d->worker, number++));
	} while (number != atomic_load(&d->board->end));
	finish(d, number - d->board->base);
}

double pingpong_value(const struct board *b, unsigned int receivers)
{
	return ticks_to_ns(b->workers[0].outcome.p50) / 2;
}

const struct scenario scenario_pingpong = {
	.name = "pingpong",
	.what = "one-way latency, both sides poll",
	.unit = "ns",
	.has_p99 = true,
	.uses = USES_SIZES,
	.contestants = transports,
	.lead = pingpong_lead,
	.follow = pingpong_follow,
	.value = pingpong_value,
};

const struct scenario scenario_wait = {
	.name = "wait",
	.what = "the same asleep between messages, both on one CPU",
	.unit = "ns",
	.has_p99 = true,
	.sleeps = true,
	.uses = USES_SIZES,
	.placement = PLACE_ONE_CPU,
	.contestants = transports,
	.lead = pingpong_lead,
	.follow = pingpong_follow,
	.value = pingpong_value,
};

const struct scenario scenario_wait_far = {
	.name = "wait-far",
	.what = "the same asleep between messages, a CPU each",
	.unit = "ns",
	.has_p99 = true,
	.sleeps = true,
	.uses = USES_SIZES,
	.contestants = transports,
	.lead = pingpong_lead,
	.follow = pingpong_follow,
	.value = pingpong_value,
};
