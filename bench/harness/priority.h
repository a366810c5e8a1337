/* SPDX-License-Identifier: BSD-2-Clause */
/* Precedence over what else runs on the machine, where we may have it. */
#ifndef BENCH_PRIORITY_H
#define BENCH_PRIORITY_H

#include <stdbool.h>

/* True when it was to be had. */
bool priority_raise(void);
/* The session's part of it outlives us otherwise. */
void priority_restore(void);

#endif
