/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_LINUX_BYTEORDER_H
#define KAPI_LINUX_BYTEORDER_H

#include <asm/byteorder.h>

#endif
