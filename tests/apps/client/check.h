/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How client programs of tests/apps say that something is not so: on standard output, and
 * that is their end.
 */
#ifndef APPS_CHECK_H
#define APPS_CHECK_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                             \
	do {                                                                         \
		if (!(condition)) {                                                  \
			printf("%s:%d: not so: %s (errno %d)\n", __FILE__, __LINE__, \
			       #condition, errno);                                   \
			exit(1);                                                     \
		}                                                                    \
	} while (0)

/* Of the calls that answer -1 and errno. */
#define CHECK_FAILS(call, with)                         \
	do {                                            \
		errno = 0;                              \
		CHECK((call) == -1 && errno == (with)); \
	} while (0)

/* Of the calls that answer null and errno. */
#define CHECK_NULL(call, with)                     \
	do {                                       \
		errno = 0;                         \
		CHECK(!(call) && errno == (with)); \
	} while (0)

#endif
