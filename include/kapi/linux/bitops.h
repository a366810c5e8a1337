/* SPDX-License-Identifier: BSD-2-Clause */
/* Bits of arrays of long, changed as one. */
#ifndef KAPI_LINUX_BITOPS_H
#define KAPI_LINUX_BITOPS_H

#include <linux/bits.h>

static inline unsigned long bit_of(unsigned long nr)
{
	return 1UL << nr % BITS_PER_LONG;
}

static inline void set_bit(unsigned long nr, unsigned long *addr)
{
	__atomic_fetch_or(&addr[nr / BITS_PER_LONG], bit_of(nr), __ATOMIC_SEQ_CST);
}

static inline void clear_bit(unsigned long nr, unsigned long *addr)
{
	__atomic_fetch_and(&addr[nr / BITS_PER_LONG], ~bit_of(nr), __ATOMIC_SEQ_CST);
}

static inline void change_bit(unsigned long nr, unsigned long *addr)
{
	__atomic_fetch_xor(&addr[nr / BITS_PER_LONG], bit_of(nr), __ATOMIC_SEQ_CST);
}

static inline bool test_bit(unsigned long nr, const unsigned long *addr)
{
	return __atomic_load_n(&addr[nr / BITS_PER_LONG], __ATOMIC_SEQ_CST) & bit_of(nr);
}

static inline bool test_and_set_bit(unsigned long nr, unsigned long *addr)
{
	return __atomic_fetch_or(&addr[nr / BITS_PER_LONG], bit_of(nr),
				 __ATOMIC_SEQ_CST) &
	       bit_of(nr);
}

static inline bool test_and_clear_bit(unsigned long nr, unsigned long *addr)
{
	return __atomic_fetch_and(&addr[nr / BITS_PER_LONG], ~bit_of(nr),
				  __ATOMIC_SEQ_CST) &
	       bit_of(nr);
}

#define __set_bit(nr, addr)   set_bit(nr, addr)
#define __clear_bit(nr, addr) clear_bit(nr, addr)

static inline unsigned long find_next_bit_value(const unsigned long *addr,
						unsigned long size, unsigned long from,
						bool value)
{
	while (from < size && test_bit(from, addr) != value)
		from++;
	return from;
}

#define find_next_bit(addr, size, from)      find_next_bit_value(addr, size, from, true)
#define find_first_bit(addr, size)           find_next_bit_value(addr, size, 0, true)
#define find_next_zero_bit(addr, size, from) find_next_bit_value(addr, size, from, false)
#define find_first_zero_bit(addr, size)      find_next_bit_value(addr, size, 0, false)
#define for_each_set_bit(bit, addr, size)                        \
	for ((bit) = find_first_bit(addr, size); (bit) < (size); \
	     (bit) = find_next_bit(addr, size, (bit) + 1))

static inline int fls(unsigned int x)
{
	return x ? 32 - __builtin_clz(x) : 0;
}

static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline unsigned long __ffs(unsigned long x)
{
	return __builtin_ctzl(x);
}

#define hweight8(x)  __builtin_popcount((u8)(x))
#define hweight32(x) __builtin_popcount(x)
#define hweight64(x) __builtin_popcountll(x)

#endif
