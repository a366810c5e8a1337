/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The line probe: how long one cache line takes from one CPU to the other just now. Hosts
 * move virtual CPUs about, and then every figure of that moment belongs to another
 * machine (spec/performance 0, 5.2).
 */
#ifndef BENCH_LINE_H
#define BENCH_LINE_H

struct board;

/* Workers 0 and 1, each on a CPU of its own; leaves the result in board->line. */
void line_probe(struct board *b, unsigned int worker);

#endif
