/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ping-pong while many groups are joined: always to the first of them, or each time to
 * another one at random. Transports that know no groups show the noise.
 */
#include "scenario/scenario.h"

const struct scenario scenario_groups = {
	.name = "groups",
	.what = "one-way latency with many groups joined, to one or to random ones",
	.unit = "ns",
	.has_p99 = true,
	.uses = USES_GROUPS | USES_RANDOM,
	.contestants = transports,
	.lead = pingpong_lead,
	.follow = pingpong_follow,
	.value = pingpong_value,
};
