/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the kernel would warn, there is a line in the log; where it would stop, the
 * program stops. */
#ifndef KAPI_LINUX_BUG_H
#define KAPI_LINUX_BUG_H

#include <linux/printk.h>
#include <linux/types.h>

#define WARN(cond, fmt, ...)                                                   \
	({                                                                     \
		bool warn_on = !!(cond);                                       \
		if (unlikely(warn_on))                                         \
			printk(KERN_WARNING "%s:%d: " fmt, __FILE__, __LINE__, \
			       ##__VA_ARGS__);                                 \
		unlikely(warn_on);                                             \
	})
#define WARN_ON(cond)             WARN(cond, "%s\n", #cond)
#define WARN_ONCE(cond, fmt, ...) WARN(cond, fmt, ##__VA_ARGS__)
#define WARN_ON_ONCE(cond)        WARN_ON(cond)
#define BUG()                     __builtin_trap()
#define BUG_ON(cond)               \
	do {                       \
		if (WARN_ON(cond)) \
			BUG();     \
	} while (0)

#endif
