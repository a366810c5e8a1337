// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 1800
/*
 * Whatever happens to a subnet, clients and SA agree when it is over: a seed a run.
 *
 *	VERBCAST_SEED=n     this run alone, or the first of VERBCAST_SEEDS=count
 *	VERBCAST_TRACE=1    with all that happens
 */
#include "sim.h"

#include <stdio.h>

/* A join takes 3.3 s to be given up, a leave four times that, and an interface waits for 16 s
 * at most before it tries again. */
#define QUIET (90 * SECOND)

static void trouble(void)
{
	struct fabric_trouble noise = { .loss = sim.profile.loss };

	/* At first all come up undisturbed, mostly. */
	if (sim_chance(80))
		sim_run(2 * SECOND);
	fabric_trouble_set(sim.fabric, &noise);
	for (unsigned int i = 0; i < sim.profile.actions; i++) {
		sim_act();
		if (sim_chance(70))
			sim_run(random_below(&sim.random, sim.profile.pause_ns));
		else if (sim_chance(2))
			sim_run(random_below(&sim.random, 20 * SECOND));
	}
}

/* The ports go, and the SA finds out by itself. */
static void go_home(void)
{
	struct fabric_port_info info;

	for (unsigned int n = 0; n < sim.host_count; n++) {
		fabric_port_info(sim.hosts[n].port, &info);
		fabric_link_set(sim.fabric, info.node, 1, false);
	}
	sim_run(30 * SECOND);
	sim_verdict_empty();
}

static void run_seed(uint64_t seed)
{
	sim_begin(seed);
	trouble();
	sim_end_trouble();
	sim_run(QUIET);
	sim_verdict();
	sim_consumers_leave(NULL);
	sim_run(QUIET / 2);
	sim_verdict();
	if (sim_chance(20))
		go_home();
	sim_end();
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static void clients_and_the_sa_agree_when_all_is_quiet(void **state)
{
	bool one = getenv("VERBCAST_SEED");
	uint64_t first = number_of("VERBCAST_SEED", 1);
	uint64_t count = harness_count(harness_sanitized() ? 200 : 1000, 1000000);

	count = number_of("VERBCAST_SEEDS", one ? 1 : count);
	for (uint64_t i = 0; i < count; i++)
		run_seed(first + i);
	print_message("%llu runs: %llu joins, %llu refused, %llu resets, %llu rejoins, "
		      "%llu SM restarts, %llu excused ghosts, %llu deliveries\n",
		      (unsigned long long)count, (unsigned long long)sim.joined,
		      (unsigned long long)sim.failed, (unsigned long long)sim.resets,
		      (unsigned long long)sim.rejoins, (unsigned long long)sim.restarts,
		      (unsigned long long)sim.ghosts, (unsigned long long)sim.deliveries);
	if (!one)
		assert_true(sim.joined > 0 && sim.failed > 0 && sim.resets > 0 &&
			    sim.rejoins > 0 && sim.restarts > 0 && sim.deliveries > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clients_and_the_sa_agree_when_all_is_quiet),
	};

	return harness_run(tests);
}
