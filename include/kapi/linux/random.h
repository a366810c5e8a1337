/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_LINUX_RANDOM_H
#define KAPI_LINUX_RANDOM_H

#include_next <linux/random.h>
#include <linux/types.h>
#include <verbcast/label.h>

void get_random_bytes(void *buf, size_t n) KAPI(get_random_bytes);

static inline u32 get_random_u32(void)
{
	u32 v;

	get_random_bytes(&v, sizeof(v));
	return v;
}

static inline u64 get_random_u64(void)
{
	u64 v;

	get_random_bytes(&v, sizeof(v));
	return v;
}

#define get_random_u32_below(n) (get_random_u32() % (n))

#endif
