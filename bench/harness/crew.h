/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The crew of a cell: its worker processes, forked before any of them has opened
 * anything, and the orders given to all of them at once.
 */
#ifndef BENCH_CREW_H
#define BENCH_CREW_H

#include <sys/types.h>

#include "harness/worker.h"

struct crew {
	struct board *board;
	unsigned int workers;
	pid_t pids[WORKERS_MAX];
	void *shared[TRANSPORTS_MAX];
	size_t shared_bytes[TRANSPORTS_MAX];
	bool traced;
	int broken; /* negative errno once somebody died or hung */
	uint32_t run;
};

/* 0 or negative errno. `contestants` is null-terminated. */
int crew_start(struct crew *c, const struct cell *cell, const struct options *options,
	       const struct transport *const *contestants);

/* Give an order and wait for all reports. 0, or the first worker's status that is not,
 * -ETIMEDOUT when somebody hangs, -ECHILD when somebody died. */
int crew_order(struct crew *c, enum order order, unsigned int contestant);

/* Send them home; whoever does not go is killed. */
void crew_stop(struct crew *c);

#endif
