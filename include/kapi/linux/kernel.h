/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_LINUX_KERNEL_H
#define KAPI_LINUX_KERNEL_H

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include <asm/byteorder.h>
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/container_of.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/types.h>

#define ARRAY_SIZE(a)        (sizeof(a) / sizeof((a)[0]))
#define sizeof_field(t, m)   sizeof(((t *)0)->m)
#define offsetofend(t, m)    (offsetof(t, m) + sizeof_field(t, m))
#define upper_32_bits(n)     ((u32)((u64)(n) >> 32))
#define lower_32_bits(n)     ((u32)(n))
#define IS_ENABLED(option)   0
#define IS_REACHABLE(option) 0
#define scnprintf(buf, size, fmt, ...)                                   \
	({                                                               \
		int scn_room = (int)(size);                              \
		int scn_n = snprintf(buf, size, fmt, ##__VA_ARGS__);     \
		scn_n<scn_room ? scn_n : scn_room> 0 ? scn_room - 1 : 0; \
	})

#endif
