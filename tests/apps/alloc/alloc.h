/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An allocator that fails when it is told to: the n-th allocation from now on, once. It
 * stands before libc's (or a sanitizer's) and counts what is allocated and not yet freed.
 *
 * Linked into a program by "links: apps_alloc", it fails allocations of the thread that
 * asks for it. Preloaded into another one as apps_alloc_preload, it is told by the file
 * that VERBCAST_TEST_ALLOC names, which is mapped by both: any thread's allocation then.
 */
#ifndef APPS_ALLOC_H
#define APPS_ALLOC_H

#include <stdatomic.h>

struct alloc_control {
	atomic_int countdown; /* 1: the next one fails; 0: none does */
	atomic_int failed;    /* how many did */
	atomic_long live;     /* allocated, not freed */
};

/* This process's. */
extern struct alloc_control alloc_here;
/* The calling thread's n-th allocation fails; 0: none. */
void alloc_fail_at(int n);

#endif
