// SPDX-License-Identifier: BSD-2-Clause
/*
 * What happens, one thing at a time: most of it joins and leaves, and what the run's
 * profile has of trouble.
 */
#include "sim.h"

static struct sim_host *some_host(void)
{
	return &sim.hosts[sim_below(sim.host_count)];
}

static void member(void)
{
	struct sim_member *m = sim_member_free();
	struct sim_host *host = some_host();

	if (m && host->alive)
		sim_member_join(m, host, sim_below(SIM_GROUPS + 1));
}

static void leaver(void)
{
	struct sim_member *m = &sim.members[sim_below(SIM_MEMBERS_MAX)];

	/* The nearest one that is there. */
	for (unsigned int i = 0; i < SIM_MEMBERS_MAX && m->state == SIM_FREE; i++)
		m = m == sim.members ? &sim.members[SIM_MEMBERS_MAX - 1] : m - 1;
	if (m->state != SIM_FREE)
		sim_member_leave(m);
}

static void id(void)
{
	struct sim_host *host = some_host();

	if (host->alive)
		sim_id_act(host);
}

void sim_act_calmly(void)
{
	if (sim_chance(60))
		member();
	else
		leaver();
}

/* -- trouble ---------------------------------------------------------------------------- */

static const struct topology_node *some_node(void)
{
	return &sim.topology->nodes[sim_below(sim.topology->count)];
}

static void cable(void)
{
	const struct topology_node *node = some_node();
	unsigned int port = 1 + sim_below(node->ports);
	bool up = sim_chance(60);

	if (!sim.profile.links || node->links[port].node == UINT32_MAX)
		return;
	sim_disturb();
	sim_trace("cable of %s port %u: %s", node->name, port, up ? "in" : "out");
	fabric_link_set(sim.fabric, node->name, port, up);
}

/* So short that nobody needs to have seen it. */
static void flap(void)
{
	struct sim_host *host = some_host();
	struct fabric_port_info info;

	if (!sim.profile.links)
		return;
	sim_disturb();
	fabric_port_info(host->port, &info);
	sim_trace("cable of %s flaps", info.node);
	fabric_link_set(sim.fabric, info.node, 1, false);
	if (sim_chance(50))
		sim_run(sim_below(1000000));
	fabric_link_set(sim.fabric, info.node, 1, true);
}

static bool is_poor(const struct topology_node *node)
{
	return node->is_switch && node->mft_cap && node->mft_cap < SIM_TABLE_SMALL;
}

static void power_of_poor(bool on)
{
	sim_disturb();
	sim_trace("power of switches with small tables: %s", on ? "on" : "off");
	for (uint32_t i = 0; i < sim.topology->count; i++)
		if (is_poor(&sim.topology->nodes[i]) && (on || sim_chance(80)))
			fabric_power_set(sim.fabric, sim.topology->nodes[i].name, on);
}

static void join_some(void)
{
	for (unsigned int n = 2 + sim_below(8); n > 0; n--) {
		struct sim_member *m = sim_member_free();
		struct sim_host *host = some_host();

		if (m && host->alive)
			sim_member_join(m, host,
					sim_chance(50) ? 0 : 1 + sim_below(SIM_GROUPS));
	}
}

/* Switches with small tables are off for a while, in which groups are made for which they
 * have no room. Then, some time, one that these go by instead. */
static void outage(void)
{
	const struct topology_node *other = some_node();

	power_of_poor(false);
	sim_run(sim_below(3000) * TIMER_MS);
	join_some();
	sim_run(sim_below(2000) * TIMER_MS);
	power_of_poor(true);
	if (!other->is_switch || is_poor(other))
		return;
	sim_run(sim_below(3000) * TIMER_MS);
	sim_disturb();
	sim_trace("power of %s: off", other->name);
	fabric_power_set(sim.fabric, other->name, false);
}

static void power(void)
{
	const struct topology_node *node = some_node();
	bool on = sim_chance(60);

	if (!sim.profile.power)
		return;
	sim_disturb();
	sim_trace("power of %s: %s", node->name, on ? "on" : "off");
	fabric_power_set(sim.fabric, node->name, on);
}

static void noise(void)
{
	sim_loss(sim_chance(30) ? 0 : sim.profile.loss);
}

static void fault(void)
{
	static const uint16_t statuses[] = { SA_NO_RESOURCES, SA_REQ_INVALID,
					     SA_REQ_DENIED, MAD_STATUS_BUSY };
	struct sa_fault fault = { .kind = (enum sa_fault_kind)sim_below(SA_FAULT_ERROR +
									1),
				  .count = 1 + sim_below(20),
				  .rate = sim_chance(50) ? 1 + sim_below(1000000) : 0,
				  .delay_ns = sim_below(5000) * TIMER_MS,
				  .status = statuses[sim_below(4)] };

	if (!sim.profile.faults)
		return;
	for (unsigned int i = 0; i < SIM_MANAGERS_MAX; i++) {
		if (!sim.managers[i].sm)
			continue;
		sim_trace("fault %d, %u times", fault.kind, (unsigned int)fault.count);
		sa_server_set_fault(sim.managers[i].server, &fault);
	}
}

static void restart(void)
{
	struct sim_manager *m = sim.managers;

	if (!sim.profile.restarts || sim_chance(60))
		return;
	if (sim.profile.managers > 1)
		m += sim_below(sim.profile.managers);
	if (m->sm)
		sim_manager_stop(m);
	else
		sim_manager_start(m);
	sim.restarts++;
}

/* A program is killed: all it had goes at once, and the host lives on. */
static void kill_program(void)
{
	struct sim_host *host = some_host();

	if (!sim.profile.kills || !host->alive)
		return;
	sim_trace("host %u: a program is killed", host->number);
	sim_consumers_leave(host);
}

/* A host stops, with or without its device's going first; or starts again. */
static void kill_host(void)
{
	struct sim_host *host = some_host();

	if (!sim.profile.kills)
		return;
	sim_disturb();
	if (!host->alive) {
		sim_host_start(host);
		return;
	}
	if (sim_chance(50)) {
		sim_host_remove_device(host);
		sim_run(sim_below(3) * TIMER_MS);
	}
	sim_consumers_leave(host);
	sim_run(sim_below(3) * TIMER_MS);
	/* Who acts from callbacks may have come back meanwhile. */
	sim_consumers_leave(host);
	sim_host_stop(host);
}

static void repartition(void)
{
	if (!sim.profile.repartitions)
		return;
	sim_disturb();
	sim_partitions_change();
}

/* -- one of them ------------------------------------------------------------------------ */

struct action {
	void (*fn)(void);
	unsigned int weight;
};
static const struct action joins[] = {
	{ member, 40 }, { leaver, 25 },   { id, 10 },          { cable, 6 },
	{ flap, 3 },    { power, 3 },     { noise, 5 },        { fault, 5 },
	{ restart, 4 }, { kill_host, 2 }, { kill_program, 2 }, { NULL, 0 },
};
static const struct action subnet[] = {
	{ member, 40 },     { leaver, 25 },   { id, 6 },           { cable, 6 },
	{ flap, 3 },        { power, 3 },     { noise, 4 },        { fault, 4 },
	{ restart, 5 },     { kill_host, 2 }, { kill_program, 2 }, { repartition, 4 },
	{ sim_shower, 20 }, { NULL, 0 },
};
/* With switches that have small tables, and may be off. */
static const struct action poor[] = {
	{ member, 40 },     { leaver, 20 },   { id, 6 },           { cable, 4 },
	{ flap, 3 },        { power, 6 },     { noise, 4 },        { fault, 4 },
	{ restart, 5 },     { kill_host, 2 }, { kill_program, 2 }, { repartition, 4 },
	{ sim_shower, 20 }, { outage, 8 },    { NULL, 0 },
};

static const struct action *possible(void)
{
	if (!sim.wide)
		return joins;
	return sim.profile.is_small && sim.profile.power ? poor : subnet;
}

void sim_act(void)
{
	const struct action *actions = possible(), *a;
	unsigned int sum = 0, n;

	for (a = actions; a->fn; a++)
		sum += a->weight;
	n = sim_below(sum);
	for (a = actions; n >= a->weight; a++)
		n -= a->weight;
	a->fn();
}
