// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 1800 COST 12
/*
 * As sim.joins, with all that a subnet may have: partitions that change, several managers,
 * odd topologies, poor switches, datagrams of the SA that come twice, traps that do not.
 * And somebody sends while it happens.
 *
 *	VERBCAST_SEED=n     this run alone, or the first of VERBCAST_SEEDS=count
 *	VERBCAST_TRACE=1    with all that happens
 */
#include "sim.h"

static void the_subnet_delivers_as_its_members_say(void **state)
{
	sim_run_seeds(true, harness_count(harness_sanitized() ? 100 : 1000, 100000));
}

/* Beyond those of the check: each of them has found something. */
static void seeds_that_failed_once_pass(void **state)
{
	static const uint64_t seeds[] = { 1440,  1730,  1774,  3142,  3600,    4884,
					  9792,  10168, 16914, 17251, 17682,   27895,
					  31818, 32648, 34340, 43491, 9102211, 800212,
					  53352, 58466, 91151, 80702 };

	sim_run_these(true, seeds, sizeof(seeds) / sizeof(seeds[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seeds_that_failed_once_pass),
		cmocka_unit_test(the_subnet_delivers_as_its_members_say),
	};

	return harness_run(tests);
}
