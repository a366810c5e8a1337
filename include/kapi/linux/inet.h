/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_LINUX_INET_H
#define KAPI_LINUX_INET_H

#include <linux/in.h>

#define in_aton(s) ((__be32)inet_addr(s))

#endif
