/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies in and out of a log's payload.
 *
 * Formally they race: a sender overwrites payload that a slow follower is copying, and
 * the follower finds out afterwards, by the sequence word, and throws its copy away. The
 * thread sanitizer cannot know that, so in its builds they run in functions that it does
 * not instrument, and never through memcpy, which it intercepts.
 */
#ifndef ENGINE_COPY_H
#define ENGINE_COPY_H

#include <stdint.h>
#include <string.h>

#if defined(__SANITIZE_THREAD__)
#define COPY_UNCHECKED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COPY_UNCHECKED 1
#endif
#endif

#ifdef COPY_UNCHECKED
__attribute__((no_sanitize("thread"), noinline, unused)) static void
copy_payload(uint8_t *dst, const uint8_t *src, uint32_t n)
{
	while (n--)
		*(volatile uint8_t *)dst++ = *(const volatile uint8_t *)src++;
}
#else
typedef uint64_t copy_block __attribute__((vector_size(16), aligned(1), may_alias));

/* Up to 64 bytes by overlapping blocks, without a call: all are loaded, then stored. */
static inline void copy_short(uint8_t *dst, const uint8_t *src, uint32_t n)
{
	if (n >= 16) {
		const copy_block *from = (const copy_block *)src;
		const copy_block *end = (const copy_block *)(src + n);
		copy_block *to = (copy_block *)dst, *to_end = (copy_block *)(dst + n);
		copy_block a = from[0], b = end[-1];

		if (n > 32) {
			copy_block c = from[1], d = end[-2];

			to[1] = c;
			to_end[-2] = d;
		}
		to[0] = a;
		to_end[-1] = b;
	} else if (n >= 8) {
		uint64_t a, b;

		memcpy(&a, src, 8);
		memcpy(&b, src + n - 8, 8);
		memcpy(dst, &a, 8);
		memcpy(dst + n - 8, &b, 8);
	} else {
		while (n--)
			*dst++ = *src++;
	}
}

static inline void copy_payload(uint8_t *dst, const uint8_t *src, uint32_t n)
{
	if (n <= 64)
		copy_short(dst, src, n);
	else
		memcpy(dst, src, n);
}
#endif

#endif
