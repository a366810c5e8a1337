/* SPDX-License-Identifier: BSD-2-Clause */
/* A cell of the table: one scenario with one set of parameters. */
#ifndef BENCH_CELL_H
#define BENCH_CELL_H

#include <stdbool.h>
#include <stddef.h>

struct scenario;

struct cell {
	const struct scenario *scenario;
	unsigned int receivers;
	size_t size;
	unsigned int batch;
	unsigned int groups;
	bool random_group;
};

#endif
