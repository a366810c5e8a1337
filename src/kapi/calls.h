/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The boundary of threads: core, MAD, SA, CM and the HCA belong to one loop; who calls the
 * kernel API from another thread has the loop do it and waits.
 *
 * KAPI_ON_LOOPn(type, fn, types...) makes `on_loop_fn`, which does fn there.
 */
#ifndef KAPI_CALLS_H
#define KAPI_CALLS_H

#include <stdbool.h>

struct loop;

/* From the thread that runs `loop`, or before anybody runs it. */
int kapi_calls_begin(struct loop *loop);
/* Nobody turns the loop any more; from its thread. What waits is done, and who calls later
 * does it himself, one at a time: the loop's thread is to touch nothing meanwhile but wait
 * for them. */
void kapi_calls_stop(void);
/* After the last call; from the loop's thread, or when nobody runs it. */
void kapi_calls_end(void);
/* The calling thread is the loop's from now on. */
void kapi_calls_claim(void);
bool kapi_on_loop(void);
/* Do it on the loop and wait, or do it at once if this is the loop. */
void kapi_call(void (*fn)(void *arg), void *arg);
/* The consumer has done what would hang in Linux: one line in the log. */
void kapi_report(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* How many there were, for tests. */
unsigned int kapi_reports(void) __attribute__((visibility("default")));

#define KAPI_ON_LOOP1(type, fn, t1)                \
	struct fn##_call {                         \
		t1 a1;                             \
		type r;                            \
	};                                         \
	static void fn##_do(void *arg)             \
	{                                          \
		struct fn##_call *x = arg;         \
		x->r = fn(x->a1);                  \
	}                                          \
	static type on_loop_##fn(t1 a1)            \
	{                                          \
		struct fn##_call x = { .a1 = a1 }; \
		kapi_call(fn##_do, &x);            \
		return x.r;                        \
	}

#define KAPI_ON_LOOP2(type, fn, t1, t2)                      \
	struct fn##_call {                                   \
		t1 a1;                                       \
		t2 a2;                                       \
		type r;                                      \
	};                                                   \
	static void fn##_do(void *arg)                       \
	{                                                    \
		struct fn##_call *x = arg;                   \
		x->r = fn(x->a1, x->a2);                     \
	}                                                    \
	static type on_loop_##fn(t1 a1, t2 a2)               \
	{                                                    \
		struct fn##_call x = { .a1 = a1, .a2 = a2 }; \
		kapi_call(fn##_do, &x);                      \
		return x.r;                                  \
	}

#define KAPI_ON_LOOP3(type, fn, t1, t2, t3)                            \
	struct fn##_call {                                             \
		t1 a1;                                                 \
		t2 a2;                                                 \
		t3 a3;                                                 \
		type r;                                                \
	};                                                             \
	static void fn##_do(void *arg)                                 \
	{                                                              \
		struct fn##_call *x = arg;                             \
		x->r = fn(x->a1, x->a2, x->a3);                        \
	}                                                              \
	static type on_loop_##fn(t1 a1, t2 a2, t3 a3)                  \
	{                                                              \
		struct fn##_call x = { .a1 = a1, .a2 = a2, .a3 = a3 }; \
		kapi_call(fn##_do, &x);                                \
		return x.r;                                            \
	}

#define KAPI_ON_LOOP4(type, fn, t1, t2, t3, t4)                                  \
	struct fn##_call {                                                       \
		t1 a1;                                                           \
		t2 a2;                                                           \
		t3 a3;                                                           \
		t4 a4;                                                           \
		type r;                                                          \
	};                                                                       \
	static void fn##_do(void *arg)                                           \
	{                                                                        \
		struct fn##_call *x = arg;                                       \
		x->r = fn(x->a1, x->a2, x->a3, x->a4);                           \
	}                                                                        \
	static type on_loop_##fn(t1 a1, t2 a2, t3 a3, t4 a4)                     \
	{                                                                        \
		struct fn##_call x = { .a1 = a1, .a2 = a2, .a3 = a3, .a4 = a4 }; \
		kapi_call(fn##_do, &x);                                          \
		return x.r;                                                      \
	}

#endif
