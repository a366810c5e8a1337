/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_LINUX_BITS_H
#define KAPI_LINUX_BITS_H

#include <linux/types.h>

#define BIT(n)        (1UL << (n))
#define BIT_ULL(n)    (1ULL << (n))
#define GENMASK(h, l) ((~0UL >> (BITS_PER_LONG - 1 - (h))) & (~0UL << (l)))
#ifndef BITS_PER_LONG
#define BITS_PER_LONG (8 * (int)sizeof(long))
#endif
#define BITS_PER_BYTE              8
#define BITS_TO_LONGS(n)           (((n) + BITS_PER_LONG - 1) / BITS_PER_LONG)
#define DECLARE_BITMAP(name, bits) unsigned long name[BITS_TO_LONGS(bits)]

#endif
