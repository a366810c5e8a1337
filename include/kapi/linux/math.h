/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_LINUX_MATH_H
#define KAPI_LINUX_MATH_H

#include <linux/types.h>

#define DIV_ROUND_UP(n, d) (((n) + (d)-1) / (d))
#define roundup(x, y)      (DIV_ROUND_UP(x, y) * (y))
#define rounddown(x, y)    ((x) - ((x) % (y)))
#define ALIGN(x, a)        (((x) + ((typeof(x))(a)-1)) & ~((typeof(x))(a)-1))
#define ALIGN_DOWN(x, a)   ((x) & ~((typeof(x))(a)-1))
#define IS_ALIGNED(x, a)   (((x) & ((typeof(x))(a)-1)) == 0)

static inline u64 div_u64(u64 dividend, u32 divisor)
{
	return dividend / divisor;
}

#endif
