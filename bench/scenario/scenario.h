/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A scenario: what the workers do with the transports, and what is read off it.
 *
 * `lead` runs in worker 0, `follow` in all others, between the common start and the end of
 * one repetition of one contestant. `value` makes the figure of the repetition.
 */
#ifndef BENCH_SCENARIO_H
#define BENCH_SCENARIO_H

#include "harness/board.h"
#include "harness/cell.h"
#include "harness/histogram.h"
#include "transport/transport.h"

/* Which lists of the options its cells are made from. */
enum scenario_uses {
	USES_RECEIVERS = 1u << 0,
	USES_SIZES = 1u << 1,
	USES_BATCHES = 1u << 2,
	USES_GROUPS = 1u << 3,
	USES_RANDOM = 1u << 4, /* each cell twice: one group, random groups */
};

enum placement {
	PLACE_AUTOMATIC, /* a CPU each where there are enough, else free */
	PLACE_ONE_CPU,
	PLACE_SENDER_ALONE,
	PLACE_FREE,
};

/* What a worker has in hand during a repetition. */
struct duty {
	const struct cell *cell;
	struct board *board;
	struct endpoint *endpoint;
	unsigned int worker;
	bool yields; /* more processes than CPUs: give way when idle */
	struct inbox inbox;
	struct outcome *outcome; /* this worker's, zeroed */
	struct histogram *histogram;
};

struct scenario {
	const char *name;
	const char *what;
	const char *unit;
	bool more_is_better;
	bool has_p99;
	bool sleeps;
	unsigned int uses;
	enum placement placement;
	const struct transport *const *contestants;
	void (*lead)(struct duty *d);
	void (*follow)(struct duty *d);
	double (*value)(const struct board *b, unsigned int receivers);
};

/* Null-terminated. */
extern const struct scenario *const scenarios[];
extern const struct scenario scenario_pingpong, scenario_wait, scenario_wait_far;
extern const struct scenario scenario_stream, scenario_cost, scenario_groups,
	scenario_groups_cost, scenario_attach;

/* Nothing to receive or no room to send: spin, yield or sleep as the cell asks. */
void duty_idle(struct duty *d);
/* Ticks without progress after which the rest counts as lost. */
uint64_t duty_patience(void);

void pingpong_lead(struct duty *d);
void pingpong_follow(struct duty *d);
double pingpong_value(const struct board *b, unsigned int receivers);
void stream_follow(struct duty *d);

#endif
