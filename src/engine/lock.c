// SPDX-License-Identifier: BSD-2-Clause
#include "engine/lock.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "engine/cpu.h"

#define SPINS  64u
#define YIELDS 16u

void lock_wait(struct lock *l)
{
	static const struct timespec nap = { .tv_nsec = 50000 };

	for (unsigned int i = 0; !lock_try(l); i++) {
		if (i < SPINS)
			cpu_relax();
		else if (i < SPINS + YIELDS)
			sched_yield();
		else
			/* The holder may have a lower priority than we: let it run. */
			nanosleep(&nap, NULL);
	}
}

#ifndef NDEBUG
/* A bit a rank: what this thread holds. Locks of one rank are never held together. */
static _Thread_local unsigned int held_ranks;

void lock_note_take(const struct lock *l)
{
	if (held_ranks >> l->rank)
		abort(); /* out of order: a deadlock in waiting */
	held_ranks |= 1u << l->rank;
}

void lock_note_drop(const struct lock *l)
{
	if (!(held_ranks & 1u << l->rank))
		abort(); /* not held */
	held_ranks &= ~(1u << l->rank);
}
#endif
