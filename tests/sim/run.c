// SPDX-License-Identifier: BSD-2-Clause
/* Runs: trouble, quiet, a verdict; a seed each. */
#include "sim.h"

#include <stdio.h>

/* A join takes 3.3 s to be given up, a leave four times that, and an interface waits for 16 s
 * at most before it tries again. */
#define QUIET (90 * SECOND)

static void trouble(void)
{
	/* At first all come up undisturbed, mostly. */
	if (sim_chance(80))
		sim_run(2 * SECOND);
	sim_loss(sim.profile.loss);
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

/* So soon after each other that answers are under way. */
static void act_calmly(uint64_t ns)
{
	uint64_t end = sim.timers.now_ns + ns;

	for (unsigned int n = sim_below(20); n > 0; n--) {
		sim_act_calmly();
		if (sim.timers.now_ns < end)
			sim_run(random_below(&sim.random, (end - sim.timers.now_ns) / n));
	}
}

/* In peace, so that it is judged, but for those who join and leave. */
static void lose_master(void)
{
	struct sim_manager *m = sim_master();

	act_calmly(5 * TIMER_MS);
	sim_manager_stop(m);
	act_calmly(2 * SECOND);
	sim_run(2 * SECOND);
	sim_manager_start(m);
	sim_run(QUIET);
	sim_verdict();
}

static void run_seed(uint64_t seed)
{
	sim_begin(seed);
	trouble();
	if (sim.wide && (sim.profile.is_small || sim.profile.is_lame))
		sim_rest();
	sim_end_trouble();
	sim_run(QUIET);
	sim_verdict();
	if (sim.profile.managers > 1)
		lose_master();
	sim_consumers_leave(NULL);
	sim_run(QUIET / 2);
	sim_verdict();
	if (sim_chance(20) && !sim_master()->host)
		go_home();
	sim_end();
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

void sim_run_these(bool wide, const uint64_t *seeds, size_t count)
{
	sim.wide = wide;
	for (size_t i = 0; i < count && !getenv("VERBCAST_SEED"); i++)
		run_seed(seeds[i]);
}

void sim_run_seeds(bool wide, uint64_t count)
{
	bool one = getenv("VERBCAST_SEED");
	uint64_t first = number_of("VERBCAST_SEED", 1);

	sim.wide = wide;
	count = number_of("VERBCAST_SEEDS", one ? 1 : count);
	for (uint64_t i = 0; i < count; i++)
		run_seed(first + i);
	print_message("%llu runs: %llu joins, %llu refused, %llu resets, %llu rejoins, "
		      "%llu SM restarts, %llu excused ghosts, %llu deliveries, "
		      "%llu MGIDs chosen and told again\n",
		      (unsigned long long)count, (unsigned long long)sim.joined,
		      (unsigned long long)sim.failed, (unsigned long long)sim.resets,
		      (unsigned long long)sim.rejoins, (unsigned long long)sim.restarts,
		      (unsigned long long)sim.ghosts, (unsigned long long)sim.deliveries,
		      (unsigned long long)sim.repeated_choices);
	if (wide)
		print_message(
			"%llu datagrams during trouble, %llu SMs have inherited; "
			"%llu groups at rest, %llu members cut off; %llu times an "
			"MLID beyond a table; %llu takeovers within a second\n",
			(unsigned long long)sim.showers,
			(unsigned long long)sim.inherited, (unsigned long long)sim.rested,
			(unsigned long long)sim.cut_off, (unsigned long long)sim.beyond,
			(unsigned long long)sim.takeovers);
	if (!one)
		assert_true(sim.joined > 0 && sim.failed > 0 && sim.resets > 0 &&
			    sim.rejoins > 0 && sim.restarts > 0 && sim.deliveries > 0 &&
			    sim.repeated_choices > 0 &&
			    (!wide || (sim.showers > 0 && sim.takeovers > 0)));
	/* Rare: not in the few runs of a sanitizer's build. */
	if (!one && wide && count >= 1000)
		assert_true(sim.beyond > 0 && sim.cut_off > 0);
}
