/* SPDX-License-Identifier: BSD-2-Clause */
/* The table: one line a contestant and cell, in one of three forms. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "harness/rounds.h"

void report_begin(const struct options *o);
void report_cell(const struct cell_result *r, const struct options *o);
void report_end(const struct options *o);

#endif
