/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_LINUX_LOG2_H
#define KAPI_LINUX_LOG2_H

#include <linux/bitops.h>

#define ilog2(n) (fls64(n) - 1)

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

static inline unsigned long roundup_pow_of_two(unsigned long n)
{
	return n <= 1 ? 1 : 1UL << fls64(n - 1);
}

#define order_base_2(n) ((n) > 1 ? ilog2((n)-1) + 1 : 0)

#endif
