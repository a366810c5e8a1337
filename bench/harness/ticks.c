/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness/ticks.h"

#include <time.h>

static double ns_per_tick = 1;

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#if !defined(__x86_64__) && !defined(__aarch64__)
uint64_t ticks_now(void)
{
	return monotonic_ns();
}
#endif

void ticks_calibrate(void)
{
	uint64_t ns = monotonic_ns(), ticks = ticks_now(), now;

	do
		now = monotonic_ns();
	while (now - ns < 20000000);
	ns_per_tick = (double)(now - ns) / (double)(ticks_now() - ticks);
}

double ticks_to_ns(uint64_t ticks)
{
	return (double)ticks * ns_per_tick;
}

uint64_t ticks_from_ms(double ms)
{
	return (uint64_t)(ms * 1e6 / ns_per_tick);
}
