/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's ticks: milliseconds here, from the machine's monotonic clock. */
#ifndef KAPI_LINUX_JIFFIES_H
#define KAPI_LINUX_JIFFIES_H

#include <limits.h>

#include <linux/types.h>
#include <verbcast/label.h>

#define HZ                   1000
#define MAX_SCHEDULE_TIMEOUT LONG_MAX
#define MAX_JIFFY_OFFSET     ((LONG_MAX >> 1) - 1)

unsigned long kapi_jiffies(void) KAPI(jiffies);
#define jiffies kapi_jiffies()

static inline unsigned long msecs_to_jiffies(unsigned int ms)
{
	return ms;
}

static inline unsigned int jiffies_to_msecs(unsigned long j)
{
	return j;
}

static inline unsigned long usecs_to_jiffies(unsigned int us)
{
	return (us + 999) / 1000;
}

#define time_after(a, b)     ((long)((b) - (a)) < 0)
#define time_before(a, b)    time_after(b, a)
#define time_after_eq(a, b)  ((long)((a) - (b)) >= 0)
#define time_before_eq(a, b) time_after_eq(b, a)

#endif
