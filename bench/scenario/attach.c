/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attach and detach pairs a second while many groups are attached, beside what asking
 * another process costs at the least: two bare round trips.
 */
#include "harness/ticks.h"
#include "scenario/scenario.h"

static void attach_lead(struct duty *d)
{
	uint64_t now = ticks_now(), deadline = now + d->board->duration;

	d->outcome->begin = now;
	while (now < deadline) {
		d->endpoint->transport->send(d->endpoint, 0);
		d->outcome->messages++;
		now = ticks_now();
	}
	d->outcome->end = now;
}

static void attach_follow(struct duty *d)
{
}

static double attach_value(const struct board *b, unsigned int receivers)
{
	const struct outcome *o = &b->workers[0].outcome;

	return (double)o->messages * 1e9 / ticks_to_ns(o->end - o->begin);
}

const struct scenario scenario_attach = {
	.name = "attach",
	.what = "attach and detach pairs a second with many groups attached",
	.unit = "pairs/s",
	.more_is_better = true,
	.uses = USES_GROUPS,
	.placement = PLACE_FREE,
	.contestants = transports_attach,
	.lead = attach_lead,
	.follow = attach_follow,
	.value = attach_value,
};
