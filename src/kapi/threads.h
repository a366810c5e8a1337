/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads of ours: named, and deaf to signals, which are the program's.
 */
#ifndef KAPI_THREADS_H
#define KAPI_THREADS_H

#include <pthread.h>

/* 0 or negative errno. */
int kapi_thread_start(pthread_t *ret, const char *name, void *(*fn)(void *), void *arg);

/* With the site: the thread of timers, and the work queue of everybody. What consumers
 * arm afterwards starts them again. */
void kapi_timers_end(void);
void kapi_works_end(void);

#endif
