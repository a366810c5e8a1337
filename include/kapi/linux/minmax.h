/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_LINUX_MINMAX_H
#define KAPI_LINUX_MINMAX_H

#define min(x, y)                              \
	({                                     \
		__auto_type min_x = (x);       \
		__auto_type min_y = (y);       \
		min_x < min_y ? min_x : min_y; \
	})
#define max(x, y)                              \
	({                                     \
		__auto_type max_x = (x);       \
		__auto_type max_y = (y);       \
		max_x > max_y ? max_x : max_y; \
	})
#define min_t(type, x, y)        min((type)(x), (type)(y))
#define max_t(type, x, y)        max((type)(x), (type)(y))
#define clamp(v, lo, hi)         min((typeof(v))max(v, lo), hi)
#define clamp_t(type, v, lo, hi) min_t(type, max_t(type, v, lo), hi)
#define swap(a, b)                        \
	do {                              \
		__auto_type swap_a = (a); \
		(a) = (b);                \
		(b) = swap_a;             \
	} while (0)

#endif
