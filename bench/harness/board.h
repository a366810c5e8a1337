/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The board: the shared memory through which the main process orders its workers about
 * and they report, and the flow control of the streams. Mapped before the fork.
 *
 * Words that different processes write while something is measured lie on line pairs of
 * their own (the prefetcher fetches lines in pairs).
 */
#ifndef BENCH_BOARD_H
#define BENCH_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/message.h"

#define BOARD_ALIGN _Alignas(128)

enum order {
	ORDER_OPEN, /* the contestant's endpoint */
	ORDER_CONNECT,
	ORDER_PROBE, /* the line time between workers 0 and 1 */
	ORDER_RUN,   /* one repetition of the contestant */
	ORDER_LEAVE, /* close all and exit */
};

/* What one worker found in one repetition. Ticks, where it is time. */
struct outcome {
	int status;            /* 0 or negative errno */
	unsigned int capacity; /* ORDER_OPEN: of the endpoint */
	uint64_t begin, end;   /* first send; last receipt */
	uint64_t messages;
	uint64_t lost, wrong;
	uint64_t p50, p99; /* one round trip */
	uint64_t busy;     /* in the send calls */
};

struct worker_cell {
	BOARD_ALIGN _Atomic uint64_t
		consumed; /* number of the next message it waits for */
	BOARD_ALIGN struct outcome outcome;
	_Atomic bool measuring; /* between the start and the end of a run */
	_Atomic uint64_t calls; /* system calls meanwhile, by the tracer */
	_Atomic uint64_t wakes; /* futex wakes among them */
};

struct board {
	/* The order, written before `turn` grows. */
	BOARD_ALIGN _Atomic uint32_t turn; /* futex */
	enum order order;
	unsigned int contestant;
	uint64_t base;     /* number of the first message */
	uint64_t duration; /* ticks */
	unsigned int window;
	BOARD_ALIGN _Atomic uint32_t ready;
	BOARD_ALIGN _Atomic uint32_t done; /* futex */
	BOARD_ALIGN _Atomic uint64_t end;  /* number after the last message, once known */
	BOARD_ALIGN _Atomic uint64_t ping;
	BOARD_ALIGN _Atomic uint64_t pong;
	BOARD_ALIGN uint64_t line; /* ticks, one way */
	struct worker_cell workers[WORKERS_MAX];
};

#define BOARD_END_UNKNOWN UINT64_MAX

struct board *board_create(void);
void board_destroy(struct board *b);

/* Main: give an order to `workers` workers. */
void board_order(struct board *b, enum order order, unsigned int contestant);
/* Main: true when all have reported; sleeps at most `timeout_ms`. */
bool board_wait_done(struct board *b, unsigned int workers, int timeout_ms);

/* Worker: sleep until there is an order after `turn`; returns the new turn. */
uint32_t board_wait_order(struct board *b, uint32_t turn);
void board_report(struct board *b);
/* Worker: wait for all others, awake, so that all start at once. */
void board_meet(struct board *b, unsigned int workers);

#endif
