// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 1800 COST 30
/*
 * Whatever happens to a subnet, clients and SA agree when it is over: a seed a run.
 *
 *	VERBCAST_SEED=n     this run alone, or the first of VERBCAST_SEEDS=count
 *	VERBCAST_TRACE=1    with all that happens
 */
#include "sim.h"

static void clients_and_the_sa_agree_when_all_is_quiet(void **state)
{
	sim_run_seeds(false, harness_count(harness_sanitized() ? 200 : 1000, 1000000));
}

/* Beyond those of the check: each of them has found something, if only in the judges. */
static void seeds_that_failed_once_pass(void **state)
{
	static const uint64_t seeds[] = { 1447,   4526,   7144,   252854, 268106,
					  348140, 502909, 508687, 589858, 677271 };

	sim_run_these(false, seeds, sizeof(seeds) / sizeof(seeds[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seeds_that_failed_once_pass),
		cmocka_unit_test(clients_and_the_sa_agree_when_all_is_quiet),
	};

	return harness_run(tests);
}
