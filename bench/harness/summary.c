/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness/summary.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(const double *sorted, size_t count, double part)
{
	double at = part * (double)(count - 1);
	size_t below = (size_t)at;
	double rest = at - (double)below;

	if (below + 1 >= count)
		return sorted[count - 1];
	return sorted[below] * (1 - rest) + sorted[below + 1] * rest;
}

struct summary summary_of(double *values, size_t count)
{
	struct summary s = { .count = count };

	if (!count)
		return s;
	qsort(values, count, sizeof(*values), by_value);
	s.least = values[0];
	s.low = quantile(values, count, 0.25);
	s.median = quantile(values, count, 0.5);
	s.high = quantile(values, count, 0.75);
	s.most = values[count - 1];
	return s;
}
