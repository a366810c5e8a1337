/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the C standard has no word for.
 */
#ifndef ENGINE_CPU_H
#define ENGINE_CPU_H

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

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
