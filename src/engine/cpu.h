/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the C standard has no word for.
 */
#ifndef ENGINE_CPU_H
#define ENGINE_CPU_H

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Have a line, and own it, before it is written: a store that misses fills the store queue,
 * and every locked instruction waits for it. */
static inline void cpu_prefetch_write(const void *p)
{
#if defined(__x86_64__)
	/* The compiler's builtin fetches for reading unless told of the processor. */
	__asm__ volatile("prefetchw %0" ::"m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

/* In a loop that waits for another thread's store. */
static inline void cpu_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#endif
}

#endif
