/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters that threads share, with the kernel's order: a call that returns a value is a
 * full barrier, a set or a read is none. */
#ifndef KAPI_LINUX_ATOMIC_H
#define KAPI_LINUX_ATOMIC_H

#include <linux/types.h>

#define ATOMIC_INIT(i) \
	{              \
		(i)    \
	}
#define ATOMIC64_INIT(i) \
	{                \
		(i)      \
	}

#define KAPI_ATOMIC(prefix, type, number)                                             \
	static inline number prefix##_read(const type *v)                             \
	{                                                                             \
		return __atomic_load_n(&v->counter, __ATOMIC_RELAXED);                \
	}                                                                             \
	static inline void prefix##_set(type *v, number i)                            \
	{                                                                             \
		__atomic_store_n(&v->counter, i, __ATOMIC_RELAXED);                   \
	}                                                                             \
	static inline number prefix##_add_return(number i, type *v)                   \
	{                                                                             \
		return __atomic_add_fetch(&v->counter, i, __ATOMIC_SEQ_CST);          \
	}                                                                             \
	static inline number prefix##_sub_return(number i, type *v)                   \
	{                                                                             \
		return __atomic_sub_fetch(&v->counter, i, __ATOMIC_SEQ_CST);          \
	}                                                                             \
	static inline number(prefix##_fetch_add)(number i, type * v)                  \
	{                                                                             \
		return __atomic_fetch_add(&v->counter, i, __ATOMIC_SEQ_CST);          \
	}                                                                             \
	static inline void prefix##_add(number i, type *v)                            \
	{                                                                             \
		__atomic_fetch_add(&v->counter, i, __ATOMIC_SEQ_CST);                 \
	}                                                                             \
	static inline void prefix##_sub(number i, type *v)                            \
	{                                                                             \
		__atomic_fetch_sub(&v->counter, i, __ATOMIC_SEQ_CST);                 \
	}                                                                             \
	static inline void prefix##_inc(type *v)                                      \
	{                                                                             \
		prefix##_add(1, v);                                                   \
	}                                                                             \
	static inline void prefix##_dec(type *v)                                      \
	{                                                                             \
		prefix##_sub(1, v);                                                   \
	}                                                                             \
	static inline number prefix##_inc_return(type *v)                             \
	{                                                                             \
		return prefix##_add_return(1, v);                                     \
	}                                                                             \
	static inline number prefix##_dec_return(type *v)                             \
	{                                                                             \
		return prefix##_sub_return(1, v);                                     \
	}                                                                             \
	static inline bool prefix##_dec_and_test(type *v)                             \
	{                                                                             \
		return prefix##_dec_return(v) == 0;                                   \
	}                                                                             \
	static inline bool prefix##_inc_and_test(type *v)                             \
	{                                                                             \
		return prefix##_inc_return(v) == 0;                                   \
	}                                                                             \
	static inline number prefix##_xchg(type *v, number i)                         \
	{                                                                             \
		return __atomic_exchange_n(&v->counter, i, __ATOMIC_SEQ_CST);         \
	}                                                                             \
	static inline number prefix##_cmpxchg(type *v, number old, number new)        \
	{                                                                             \
		__atomic_compare_exchange_n(&v->counter, &old, new, false,            \
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);      \
		return old;                                                           \
	}                                                                             \
	static inline bool prefix##_add_unless(type *v, number a, number u)           \
	{                                                                             \
		number c = prefix##_read(v);                                          \
		while (c != u) {                                                      \
			if (__atomic_compare_exchange_n(&v->counter, &c, c + a, true, \
							__ATOMIC_SEQ_CST,             \
							__ATOMIC_RELAXED))            \
				return true;                                          \
		}                                                                     \
		return false;                                                         \
	}                                                                             \
	static inline bool prefix##_inc_not_zero(type *v)                             \
	{                                                                             \
		return prefix##_add_unless(v, 1, 0);                                  \
	}
KAPI_ATOMIC(atomic, atomic_t, int)
KAPI_ATOMIC(atomic64, atomic64_t, s64)
#undef KAPI_ATOMIC

#endif
