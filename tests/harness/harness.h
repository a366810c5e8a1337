/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the C tests share: cmocka and its prerequisites, a group runner that fails a
 * program which leaves something behind, counts that scale, and waiting with a deadline.
 *
 *	int main(void)
 *	{
 *		const struct CMUnitTest tests[] = {
 *			cmocka_unit_test(a_datagram_sent_before_the_attach_is_not_received),
 *		};
 *
 *		return harness_run(tests);
 *	}
 */
#ifndef HARNESS_HARNESS_H
#define HARNESS_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"

/* ctest counts it as skipped: "this machine cannot". */
#define HARNESS_SKIP 77

/*
 * Run a group; afterwards the process must have the descriptors, threads, children,
 * and shared mappings it had before, else the group fails and says which are new.
 */
#define harness_run(tests) \
	cmocka_run_group_tests(tests, harness_guard_begin, harness_guard_end)

/* The same as group fixtures, for groups that have fixtures of their own to call them. */
int harness_guard_begin(void **state);
int harness_guard_end(void **state);

/* How long what ends by itself may take for that, as harness_deadline has it. */
extern unsigned int harness_guard_patience_ms;

/*
 * `check` unless VERBCAST_SCALE is "soak". A sanitizer's build takes a share of `soak`, or
 * a soak would be ten times as long for it.
 */
#define HARNESS_SANITIZED_SHARE 10u
unsigned int harness_count(unsigned int check, unsigned int soak);

/* End the program as skipped, with the reason on standard output. */
void harness_skip(const char *format, ...)
	__attribute__((format(printf, 1, 2), noreturn));

/* Whether this program runs with a sanitizer, where counts have to be smaller. */
bool harness_sanitized(void);

/* Ten times `ms` from now: limits are reached by failures alone, but machines are crowded,
 * and sanitizers slow. */
uint64_t harness_deadline(unsigned int ms);

/*
 * Wait until `condition` holds, looking again every `step` (an expression that makes
 * progress, or lets others make it); fail the test when it does not hold in time.
 */
#define harness_until(condition, ms, step)                                           \
	do {                                                                         \
		uint64_t harness_end = harness_deadline(ms);                         \
		while (!(condition)) {                                               \
			if (clock_now_ns() > harness_end)                            \
				fail_msg("not within %u ms: %s", (unsigned int)(ms), \
					 #condition);                                \
			step;                                                        \
		}                                                                    \
	} while (0)

/* The usual step of somebody who waits for another thread or process. */
void harness_pause(void);

#endif
