/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one place that asks for the time. Everything else is handed `now`, so that tests
 * and the simulator can run in virtual time.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/* Monotonic, in nanoseconds. */
uint64_t clock_now_ns(void);

#endif
