/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The repetitions of a cell: in each, every contestant runs once, in an order that
 * rotates, between two probes of the line time; one whose probes differ by more than
 * half is dropped. Ratios are taken inside a repetition.
 */
#ifndef BENCH_ROUNDS_H
#define BENCH_ROUNDS_H

#include "harness/cell.h"
#include "harness/options.h"
#include "harness/summary.h"
#include "transport/transport.h"

#define REPETITIONS_MAX 128u

/* One contestant in one cell. */
struct series {
	const struct transport *transport;
	int status; /* not 0: why it did not run */
	unsigned int window;
	double value[REPETITIONS_MAX];
	double p99[REPETITIONS_MAX];
	uint64_t messages, lost, wrong;
	uint64_t sender_calls, receiver_calls, wakes;
};

struct cell_result {
	struct cell cell;
	struct series series[TRANSPORTS_MAX];
	unsigned int contestants;
	unsigned int kept, dropped;
	double line[REPETITIONS_MAX]; /* ns, of the repetitions kept */
	int status;                   /* the crew as a whole */
};

void rounds_run(struct cell_result *result, const struct cell *cell,
		const struct options *o);

/* Of the contestant against another, repetition by repetition. */
struct summary rounds_ratio(const struct cell_result *r, unsigned int who,
			    unsigned int against);

/* Lost messages where none may be, wrong ones, workers that died or hung, or more
 * system calls than allowed. */
bool rounds_failed(const struct cell_result *r, const struct options *o);

#endif
