/* SPDX-License-Identifier: BSD-2-Clause */
/* A worker process: does what the board orders, with endpoints of its own. */
#ifndef BENCH_WORKER_H
#define BENCH_WORKER_H

#include "harness/board.h"
#include "harness/cell.h"
#include "harness/options.h"
#include "transport/transport.h"

struct worker_config {
	const struct cell *cell;
	const struct options *options;
	const struct transport *const *contestants;
	void *const *shared; /* of each contestant */
	uint32_t run;
	struct board *board;
	unsigned int worker;
};

/* Returns when ordered to leave. */
void worker_serve(const struct worker_config *config);

#endif
