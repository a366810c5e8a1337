/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers at any address. */
#ifndef KAPI_LINUX_UNALIGNED_H
#define KAPI_LINUX_UNALIGNED_H

#include <string.h>

#include <asm/byteorder.h>

#define KAPI_UNALIGNED(bits)                                          \
	static inline u##bits get_unaligned_be##bits(const void *p)   \
	{                                                             \
		__be##bits v;                                         \
		memcpy(&v, p, sizeof(v));                             \
		return be##bits##_to_cpu(v);                          \
	}                                                             \
	static inline void put_unaligned_be##bits(u##bits n, void *p) \
	{                                                             \
		__be##bits v = cpu_to_be##bits(n);                    \
		memcpy(p, &v, sizeof(v));                             \
	}
KAPI_UNALIGNED(16)
KAPI_UNALIGNED(32)
KAPI_UNALIGNED(64)
#undef KAPI_UNALIGNED

#endif
