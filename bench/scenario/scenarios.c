/* SPDX-License-Identifier: BSD-2-Clause */
#include "scenario/scenario.h"

#include <sched.h>

#include "harness/ticks.h"

const struct scenario *const scenarios[] = {
	&scenario_pingpong,    &scenario_wait,   &scenario_wait_far,
	&scenario_stream,      &scenario_cost,   &scenario_groups,
	&scenario_groups_cost, &scenario_attach, NULL,
};

void duty_idle(struct duty *d)
{
	if (d->yields)
		sched_yield();
}

/* Long, because the machine may be busy with other things: a loss is a wrong result. */
uint64_t duty_patience(void)
{
	return ticks_from_ms(3000);
}
