// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 300
/*
 * What attach and detach cost in the core, without a socket, is said for each number of
 * groups. The goal is 300,000 pairs a second, as many with 100,000 groups attached as with
 * one. Rates are this process's own time, the best of several rounds; a machine's mood is in
 * them nevertheless, so they fail by a search along all groups alone. Instructions are
 * counted, too, and these do not depend on the machine.
 */
#include <stdio.h>
#include <time.h>

#include "unit/engine/steps.h"
#include "world.h"

#define GROUPS_MAX 100000u
#define ROUNDS     9u
#define PAIRS      10000u
#define STEPPED    3u   /* pairs whose instructions are counted */
#define STEPS_MAX  1.5  /* of those with one group; chains vary a little */
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

static struct world w;
static struct world_process process;

static struct ib_qp *begin(void)
{
	struct ib_qp *qp;

	world_prepare(&w);
	w.config.ops = NULL;
	w.config.limits.max_mcast_grp = GROUPS_MAX + 1;
	w.config.limits.max_total_mcast_qp_attach = GROUPS_MAX + 1;
	world_boot(&w);
	process_begin(&w, 1, &process);
	qp = process_qp(&process);
	assert_int_equal(join(qp, 0), 0);
	return qp;
}

static void join_up_to(struct ib_qp *qp, uint32_t from, uint32_t to)
{
	for (uint32_t n = from; n < to; n++)
		assert_int_equal(join(qp, n), 0);
}

static void end(struct ib_qp *qp, uint32_t groups)
{
	while (groups)
		assert_int_equal(leave(qp, --groups), 0);
	assert_int_equal(ib_destroy_qp(qp), 0);
	process_end(&process);
	world_end(&w);
}

static void the_number_of_groups_does_not_matter(void **state)
{
	struct ib_qp *qp = begin();
	double one = measure(qp, 1);
	uint32_t groups = 1;

	for (; groups < GROUPS_MAX; groups *= 10) {
		join_up_to(qp, groups, 10 * groups);
		assert_true(measure(qp, 10 * groups) * TIMES_ONE >= one);
	}
	end(qp, groups);
}

/* -- the same in instructions ------------------------------------------------------------- */

static void random_ones(struct ib_qp *qp, uint32_t groups)
{
	for (unsigned int i = 0; i < STEPPED; i++)
		random_one(qp, groups);
}

/* In a process of its own, for what is in shared memory is not inherited. */
static unsigned int steps_of_pairs(uint32_t groups)
{
	unsigned int steps = 0;
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		struct ib_qp *qp = begin();

		join_up_to(qp, 1, groups);
		steps_begin();
		random_ones(qp, groups);
		steps_end();
	}
	steps_await(pid);
	while (steps_next(pid))
		steps++;
	/* To the end, and not to an accident. */
	assert_int_equal(ptrace(PTRACE_CONT, pid, NULL, NULL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return steps;
}

static void nor_does_it_to_the_instructions(void **state)
{
	unsigned int one, many;

	if (harness_sanitized())
		return; /* its allocator's would be counted */
	one = steps_of_pairs(1);
	for (uint32_t groups = 10; groups <= GROUPS_MAX; groups *= 100) {
		many = steps_of_pairs(groups);
		printf("%u groups: %u instructions a pair, %u with one group\n", groups,
		       many / STEPPED, one / STEPPED);
		assert_true(many <= STEPS_MAX * one);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_number_of_groups_does_not_matter),
		cmocka_unit_test(nor_does_it_to_the_instructions),
	};

	return harness_run(tests);
}
