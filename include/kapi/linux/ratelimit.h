/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_LINUX_RATELIMIT_H
#define KAPI_LINUX_RATELIMIT_H

#include <linux/printk.h>

#endif
