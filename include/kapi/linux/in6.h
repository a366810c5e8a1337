/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_LINUX_IN6_H
#define KAPI_LINUX_IN6_H

#include <linux/in.h>

#endif
