/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_LINUX_SCHED_H
#define KAPI_LINUX_SCHED_H

#include_next <linux/sched.h>
#include <sched.h>

#include <linux/jiffies.h>

#define cond_resched() ((void)sched_yield())
#define schedule()     ((void)sched_yield())

#endif
