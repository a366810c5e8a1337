// SPDX-License-Identifier: BSD-2-Clause
/*
 * What attach and detach cost in the core, without a socket, is said for each number of
 * groups. The goal is 300,000 pairs a second, as many with 100,000 groups attached as with
 * one; what fails is only a cost that grows with their number, which no machine's mood
 * explains. The time is this process's own, the best of several rounds.
 */
#include <stdio.h>
#include <time.h>

#include "world.h"

#define GROUPS_MAX 100000u
#define ROUNDS     9u
#define PAIRS      10000u
#define TIMES_ONE  20.0 /* a search along all groups would cost thousands */

static uint32_t chance = 1;

static uint32_t below(uint32_t n)
{
	chance = chance * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)chance * n >> 32);
}

static double own_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* One more than there are, and away with it. */
static void one_more(struct ib_qp *qp, uint32_t groups)
{
	assert_int_equal(join(qp, groups), 0);
	assert_int_equal(leave(qp, groups), 0);
}

/* A random one goes and comes again: nothing of it is in a cache. */
static void random_one(struct ib_qp *qp, uint32_t groups)
{
	uint32_t n = below(groups);

	assert_int_equal(leave(qp, n), 0);
	assert_int_equal(join(qp, n), 0);
}

/* Pairs a second. */
static double rate(void (*pair)(struct ib_qp *qp, uint32_t groups), struct ib_qp *qp,
		   uint32_t groups)
{
	double best = 0;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		double begin = own_seconds(), r;

		for (uint32_t n = 0; n < PAIRS; n++)
			pair(qp, groups);
		r = PAIRS / (own_seconds() - begin);
		if (r > best)
			best = r;
	}
	return best;
}

/* The rate with one more than `groups`. */
static double measure(struct ib_qp *qp, uint32_t groups)
{
	double more = rate(one_more, qp, groups);
	double any = rate(random_one, qp, groups);

	printf("%u groups: %.0f pairs a second of one more, %.0f of random ones\n",
	       groups, more, any);
	return more;
}

static void the_number_of_groups_does_not_matter(void **state)
{
	static struct world w;
	struct world_process p;
	double one;
	uint32_t groups = 1;
	struct ib_qp *qp;

	world_prepare(&w);
	w.config.ops = NULL;
	w.config.limits.max_mcast_grp = GROUPS_MAX + 1;
	w.config.limits.max_total_mcast_qp_attach = GROUPS_MAX + 1;
	world_boot(&w);
	process_begin(&w, 1, &p);
	qp = process_qp(&p);
	assert_int_equal(join(qp, 0), 0);
	one = measure(qp, groups);
	while (groups < GROUPS_MAX) {
		for (uint32_t n = groups; n < 10 * groups; n++)
			assert_int_equal(join(qp, n), 0);
		groups *= 10;
		assert_true(measure(qp, groups) * TIMES_ONE >= one);
	}
	while (groups)
		assert_int_equal(leave(qp, --groups), 0);
	assert_int_equal(ib_destroy_qp(qp), 0);
	process_end(&p);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_number_of_groups_does_not_matter),
	};

	return harness_run(tests);
}
