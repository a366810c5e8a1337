/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time inside a measurement: the processor's own counter where it has one, since a
 * clock_gettime a round trip would be a tenth of what is measured.
 */
#ifndef BENCH_TICKS_H
#define BENCH_TICKS_H

#include <stdint.h>

#if defined(__x86_64__)
#include <x86intrin.h>
static inline uint64_t ticks_now(void)
{
	return __rdtsc();
}
#elif defined(__aarch64__)
static inline uint64_t ticks_now(void)
{
	uint64_t t;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
}
#else
uint64_t ticks_now(void);
#endif

/* Compare the counter with the clock for some milliseconds; once, before any fork. */
void ticks_calibrate(void);
double ticks_to_ns(uint64_t ticks);
uint64_t ticks_from_ms(double ms);

#endif
