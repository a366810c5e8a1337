/* SPDX-License-Identifier: BSD-2-Clause */
/* Which CPU a worker runs on. Only the calling thread is moved: helper threads of the
 * libraries stay free, except where all is to run on one CPU. */
#ifndef BENCH_PLACE_H
#define BENCH_PLACE_H

#include <sched.h>
#include <stdbool.h>

#include "scenario/scenario.h"

/* Of the CPUs this process may use; before the fork. */
void place_look(void);
unsigned int place_cpus(void);

/* On the n-th CPU, modulo their number. */
void place_pin(unsigned int n);
void place_free(void);

void place_worker(const struct cell *cell, unsigned int worker);
/* More runnable workers than CPUs for them: idle ones must give way. */
bool place_crowded(const struct cell *cell);

#endif
