/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_LINUX_STRING_H
#define KAPI_LINUX_STRING_H

#include <stdio.h>
#include <string.h>

#include <linux/errno.h>
#include <linux/slab.h>
#include <linux/types.h>

/* The length copied, or -E2BIG where it was cut. */
static inline ssize_t strscpy(char *to, const char *from, size_t size)
{
	size_t n = strnlen(from, size);

	if (!size)
		return -E2BIG;
	if (n == size) {
		memcpy(to, from, size - 1);
		to[size - 1] = 0;
		return -E2BIG;
	}
	memcpy(to, from, n + 1);
	return n;
}

static inline void *kmemdup(const void *from, size_t size, gfp_t flags)
{
	void *p = kmalloc(size, flags);

	return p ? memcpy(p, from, size) : NULL;
}

static inline char *kstrdup(const char *s, gfp_t flags)
{
	return s ? strdup(s) : NULL;
}

#define memzero_explicit(p, n) explicit_bzero(p, n)

#endif
