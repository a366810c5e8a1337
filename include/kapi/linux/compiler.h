/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel's sources mark for its checkers and compilers. */
#ifndef KAPI_LINUX_COMPILER_H
#define KAPI_LINUX_COMPILER_H

#define __user
#define __iomem
#define __rcu
#define __percpu
#define __force
#define __bitwise
#define __acquires(x)
#define __releases(x)
#define __must_hold(x)
#define __must_check    __attribute__((warn_unused_result))
#define __maybe_unused  __attribute__((unused))
#define __always_unused __attribute__((unused))
#define __packed        __attribute__((packed))
#define __aligned(x)    __attribute__((aligned(x)))
#define __printf(a, b)  __attribute__((format(printf, a, b)))
#define __cold          __attribute__((cold))
#define __read_mostly
#define ____cacheline_aligned_in_smp
#undef __always_inline
#define __always_inline         inline __attribute__((always_inline))
#define noinline                __attribute__((noinline))
#define fallthrough             __attribute__((fallthrough))
#define likely(x)               __builtin_expect(!!(x), 1)
#define unlikely(x)             __builtin_expect(!!(x), 0)
#define barrier()               __asm__ __volatile__("" : : : "memory")
#define READ_ONCE(x)            __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)        __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#define smp_mb()                __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_rmb()               __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_wmb()               __atomic_thread_fence(__ATOMIC_RELEASE)
#define smp_load_acquire(p)     __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define smp_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define BUILD_BUG_ON(cond)      _Static_assert(!(cond), "BUILD_BUG_ON: " #cond)

#endif
