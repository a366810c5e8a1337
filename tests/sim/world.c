// SPDX-License-Identifier: BSD-2-Clause
/*
 * The subnet: a random topology, what a run has in it, time.
 */
#include "sim.h"

#include <stdio.h>

struct sim sim;

unsigned int sim_below(unsigned int bound)
{
	return (unsigned int)random_below(&sim.random, bound);
}

bool sim_chance(unsigned int percent)
{
	return random_chance(&sim.random, percent * 10000);
}

/* -- what is printed -------------------------------------------------------------------- */

static double now_s(void)
{
	return (double)sim.timers.now_ns / 1e9;
}

void sim_trace(const char *format, ...)
{
	va_list args;

	if (!sim.trace)
		return;
	printf("%12.6f ", now_s());
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

void sim_fail(const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fflush(stdout);
	fail_msg("VERBCAST_SEED=%llu, after %.6f s: %s", (unsigned long long)sim.seed,
		 now_s(), text);
}

const char *sim_mgid(const union ib_gid *mgid)
{
	static char text[4][40];
	static unsigned int next;
	char *out = text[next++ % 4];

	for (unsigned int i = 0; i < 16; i++)
		snprintf(out + 2 * i, 3, "%02x", mgid->raw[i]);
	return out;
}

/* -- time ------------------------------------------------------------------------------- */

void sim_run(uint64_t ns)
{
	uint64_t end = sim.timers.now_ns + ns;

	while (timer_queue_next(&sim.timers) <= end)
		timer_queue_run(&sim.timers, timer_queue_next(&sim.timers));
	timer_queue_run(&sim.timers, end);
}

/* -- what can be in a run --------------------------------------------------------------- */

static unsigned int one_of(const unsigned int *choices, unsigned int count)
{
	return choices[sim_below(count)];
}

static int choose_topology(void)
{
	static const unsigned int sizes[] = { 2, 3, 4, 5, 6, 8, 8, 12, 16, 40 };
	unsigned int hosts = one_of(sizes, 10), n = 2 + sim_below(3);

	switch (sim_below(8)) {
	case 0:
	case 1:
	case 2:
		return topology_star(hosts, sim.seed, &sim.topology);
	case 3:
	case 4:
		return topology_ring(n + 1, 1 + hosts / (n + 1) / 2, sim.seed,
				     &sim.topology);
	case 5:
		return topology_fat_tree(4, sim.seed, &sim.topology);
	default:
		return topology_two_level(n, 2, 1 + hosts / n / 2, sim.seed,
					  &sim.topology);
	}
}

static void choose_profile(void)
{
	/* Millionths a hop, of which there are two to ten on the way there and back. */
	static const unsigned int losses[] = { 0, 0, 0, 1000, 5000, 20000, 50000 };
	static const unsigned int pauses_ms[] = { 1, 10, 100, 1000 };
	struct sim_profile *p = &sim.profile;

	p->managers = 1;
	p->loss = one_of(losses, 7);
	p->late = sim_chance(30) ? 1 + sim_below(200000) : 0;
	p->links = sim_chance(50);
	p->power = sim_chance(25);
	p->restarts = sim_chance(25);
	p->faults = sim_chance(25);
	p->kills = sim_chance(50);
	p->contradictions = sim_chance(30);
	p->with_ip = sim_chance(30);
	p->callbacks = sim_chance(50);
	p->actions = 20 + sim_below(sim_chance(20) ? 1000 : 150);
	p->pause_ns = one_of(pauses_ms, 4) * TIMER_MS;
}

/* Drawn after all that sim.joins has, whose seeds mean what they meant. */
static void choose_more(void)
{
	static const unsigned int managers[] = { 1, 1, 1, 2, 2, 3 };
	struct sim_profile *p = &sim.profile;

	if (sim_chance(25)) { /* calm */
		p->loss = 0;
		p->links = p->power = p->restarts = p->faults = false;
	} else {
		/* What does not fit into a table is given out while its switch is off. */
		p->power |= p->is_small && sim_chance(75);
		p->managers = one_of(managers, 6);
		p->deaf = sim_chance(20) ? 100000 + sim_below(900001) : 0;
		p->repartitions = sim_chance(50);
		sim_below(1000000); /* unused: the seeds keep what they mean */
	}
	p->twice = sim_chance(30) ? 1 + sim_below(200000) : 0;
	p->managers_on_hosts = sim_chance(50);
	sim_partitions_choose();
}

/* From a sequence of its own: the seeds keep what they mean. */
static void choose_lmc(void)
{
	struct sim_profile *p = &sim.profile;
	struct random random;

	random_seed(&random, ~sim.seed);
	if (random_chance(&random, 750000))
		return;
	p->lmc = (uint8_t)(1 + random_below(&random, 3));
	p->lmcs_differ = p->managers > 1 && random_chance(&random, 500000);
}

static void count_nodes(void)
{
	sim.profile.hosts = sim.profile.switches = 0;
	for (uint32_t i = 0; i < sim.topology->count; i++) {
		if (sim.topology->nodes[i].is_switch)
			sim.profile.switches++;
		else
			sim.profile.hosts++;
	}
	sim.host_count = sim.profile.hosts;
	assert_true(sim.host_count <= SIM_HOSTS_MAX);
}

static void trace_profile(void)
{
	const struct sim_profile *p = &sim.profile;

	if (sim.wide)
		sim_trace("%u managers%s, LMC %u%s, %u partitions%s; twice %u, deaf %u "
			  "millionths%s%s",
			  p->managers, p->managers_on_hosts ? ", some on hosts" : "",
			  p->lmc, p->lmcs_differ ? " and others" : "", p->partitions,
			  p->repartitions ? ", changing" : "", p->twice, p->deaf,
			  p->is_lame ? ", lame switches" : "",
			  p->is_small ? ", few MLIDs" : "");
	sim_trace(
		"seed %llu: %u hosts, %u switches; loss %u, late %u millionths%s%s%s%s%s"
		"%s%s%s",
		(unsigned long long)sim.seed, p->hosts, p->switches, p->loss, p->late,
		p->links ? ", links" : "", p->power ? ", power" : "",
		p->restarts ? ", restarts" : "", p->faults ? ", faults" : "",
		p->kills ? ", kills" : "", p->contradictions ? ", contradictions" : "",
		p->with_ip ? ", IP" : "", p->callbacks ? ", callbacks" : "");
}

void sim_begin(uint64_t seed)
{
	struct fabric_config config = { .timers = &sim.timers, .random = &sim.random };

	sim.seed = seed;
	sim.trace = getenv("VERBCAST_TRACE");
	sim.quiet = sim.was_split = false;
	sim.answered_ns = 0;
	sim.loss = 0;
	sim_takeover_forget();
	timer_queue_init(&sim.timers, 1000, NULL, NULL);
	random_seed(&sim.random, seed);
	memset(&sim.profile, 0, sizeof(sim.profile));
	memset(sim.managers, 0, sizeof(sim.managers));
	assert_int_equal(sim.wide && sim_chance(50)
				 ? sim_shape(2 + sim_below(15), &sim.topology)
				 : choose_topology(),
			 0);
	choose_profile();
	count_nodes();
	if (sim.wide) {
		choose_more();
		choose_lmc();
	}
	trace_profile();
	config.topology = sim.topology;
	/* Also slow ones, so that something changes while a sweep is under way. */
	config.hop_latency_ns = 100 + sim_below(sim_chance(20) ? 5000000 : 10000);
	sim.hop_ns = config.hop_latency_ns;
	assert_int_equal(fabric_create(&config, &sim.fabric), 0);
	memset(sim.hosts, 0, sizeof(sim.hosts));
	memset(sim.members, 0, sizeof(sim.members));
	memset(sim.ids, 0, sizeof(sim.ids));
	sim_find_tables();
	for (unsigned int n = 0; n < sim.host_count; n++) {
		struct sim_host *host = &sim.hosts[n];

		host->number = n;
		host->port = fabric_hca_port(sim.fabric, n);
		host->with_ip = sim.profile.with_ip && sim_chance(70);
		list_init(&host->pairs);
		sim_host_start(host);
	}
	for (unsigned int i = 0; i < sim.profile.managers; i++)
		sim_manager_start(&sim.managers[i]);
}

void sim_end(void)
{
	sim_consumers_leave(NULL);
	for (unsigned int n = 0; n < sim.host_count; n++) {
		if (sim.hosts[n].alive)
			sim_host_stop(&sim.hosts[n]);
		sim_pairs_free(&sim.hosts[n]);
	}
	for (unsigned int i = 0; i < SIM_MANAGERS_MAX; i++)
		if (sim.managers[i].sm)
			sim_manager_stop(&sim.managers[i]);
	sim_managers_forget_late();
	sim_takeover_forget();
	fabric_destroy(sim.fabric);
	topology_destroy(sim.topology);
	sim_check(timer_queue_next(&sim.timers) == UINT64_MAX,
		  "a timer outlives everything");
}

void sim_loss(uint32_t loss)
{
	if (loss || sim.loss)
		sim_disturb();
	sim.loss = loss;
	fabric_trouble_set(sim.fabric, &(struct fabric_trouble){ .loss = loss });
}

void sim_end_noise(void)
{
	sim_loss(0);
	for (unsigned int i = 0; i < SIM_MANAGERS_MAX; i++)
		if (sim.managers[i].sm)
			sa_server_set_fault(sim.managers[i].server,
					    &(struct sa_fault){ .kind = SA_FAULT_NONE });
	sim.quiet = true;
}

void sim_mend(void)
{
	sim_disturb();
	for (uint32_t i = 0; i < sim.topology->count; i++) {
		const struct topology_node *node = &sim.topology->nodes[i];

		fabric_power_set(sim.fabric, node->name, true);
		for (unsigned int p = 1; p <= node->ports; p++)
			fabric_link_set(sim.fabric, node->name, p, true);
	}
}

void sim_end_trouble(void)
{
	sim_trace("trouble ends");
	sim_mend();
	for (unsigned int n = 0; n < sim.host_count; n++)
		if (!sim.hosts[n].alive)
			sim_host_start(&sim.hosts[n]);
	for (unsigned int i = 0; i < sim.profile.managers; i++)
		if (!sim.managers[i].sm)
			sim_manager_start(&sim.managers[i]);
	sim_end_noise();
}
