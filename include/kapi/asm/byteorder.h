/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_ASM_BYTEORDER_H
#define KAPI_ASM_BYTEORDER_H

#include_next <asm/byteorder.h>
#include <linux/types.h>

#define cpu_to_be16(x) __cpu_to_be16(x)
#define cpu_to_be32(x) __cpu_to_be32(x)
#define cpu_to_be64(x) __cpu_to_be64(x)
#define be16_to_cpu(x) __be16_to_cpu(x)
#define be32_to_cpu(x) __be32_to_cpu(x)
#define be64_to_cpu(x) __be64_to_cpu(x)
#define cpu_to_le16(x) __cpu_to_le16(x)
#define cpu_to_le32(x) __cpu_to_le32(x)
#define cpu_to_le64(x) __cpu_to_le64(x)
#define le16_to_cpu(x) __le16_to_cpu(x)
#define le32_to_cpu(x) __le32_to_cpu(x)
#define le64_to_cpu(x) __le64_to_cpu(x)

static inline u16 be16_to_cpup(const __be16 *p)
{
	return be16_to_cpu(*p);
}

static inline u32 be32_to_cpup(const __be32 *p)
{
	return be32_to_cpu(*p);
}

static inline u64 be64_to_cpup(const __be64 *p)
{
	return be64_to_cpu(*p);
}

static inline void be16_add_cpu(__be16 *p, u16 v)
{
	*p = cpu_to_be16(be16_to_cpu(*p) + v);
}

static inline void be32_add_cpu(__be32 *p, u32 v)
{
	*p = cpu_to_be32(be32_to_cpu(*p) + v);
}

#endif
