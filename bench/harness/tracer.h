/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts the system calls that all threads of the workers make while they measure, by
 * ptrace. What makes none runs at full speed meanwhile; times of the rest mean nothing.
 */
#ifndef BENCH_TRACER_H
#define BENCH_TRACER_H

#include <stdbool.h>
#include <sys/types.h>

struct board;

int tracer_seize(const pid_t *pids, unsigned int workers);
/* As board_wait_done, but lets the traced threads go on and counts, into the board. */
bool tracer_wait_done(struct board *b, const pid_t *pids, unsigned int workers,
		      int timeout_ms);
/* Let it run to its end. */
void tracer_reap(pid_t pid);

#endif
