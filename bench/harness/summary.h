/* SPDX-License-Identifier: BSD-2-Clause */
/* Order statistics over repetitions; no mean anywhere (spec/performance 5.3). */
#ifndef BENCH_SUMMARY_H
#define BENCH_SUMMARY_H

#include <stddef.h>

struct summary {
	double low; /* first quartile */
	double median;
	double high; /* third quartile */
	double least;
	double most;
	size_t count;
};

/* Sorts `values`. All zero when there are none. */
struct summary summary_of(double *values, size_t count);

#endif
