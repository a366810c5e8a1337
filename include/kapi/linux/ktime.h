/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_LINUX_KTIME_H
#define KAPI_LINUX_KTIME_H

#include <linux/types.h>
#include <verbcast/label.h>

typedef s64 ktime_t;

/* Nanoseconds of the monotonic clock. */
u64 ktime_get_ns(void) KAPI(ktime_get_ns);

static inline ktime_t ktime_get(void)
{
	return ktime_get_ns();
}

#define ktime_sub(a, b) ((a) - (b))
#define ktime_to_ns(t)  (t)
#define ktime_to_us(t)  ((t) / 1000)
#define ktime_to_ms(t)  ((t) / 1000000)
#define NSEC_PER_SEC    1000000000L
#define NSEC_PER_MSEC   1000000L
#define MSEC_PER_SEC    1000L
#define USEC_PER_SEC    1000000L

#endif
