/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness/place.h"

static cpu_set_t allowed;

void place_look(void)
{
	sched_getaffinity(0, sizeof(allowed), &allowed);
}

unsigned int place_cpus(void)
{
	return (unsigned int)CPU_COUNT(&allowed);
}

void place_pin(unsigned int n)
{
	cpu_set_t one;

	n %= place_cpus();
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed) || n--)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		return;
	}
}

void place_free(void)
{
	sched_setaffinity(0, sizeof(allowed), &allowed);
}

void place_worker(const struct cell *cell, unsigned int worker)
{
	switch (cell->scenario->placement) {
	case PLACE_ONE_CPU:
		place_pin(0);
		return;
	case PLACE_SENDER_ALONE:
		place_pin(worker ? 1 : 0);
		return;
	case PLACE_AUTOMATIC:
		if (cell->receivers < place_cpus()) {
			place_pin(worker);
			return;
		}
		break;
	case PLACE_FREE:
		break;
	}
	place_free();
}

bool place_crowded(const struct cell *cell)
{
	return cell->receivers >= place_cpus() ||
	       (cell->scenario->placement == PLACE_SENDER_ALONE && cell->receivers > 1);
}
