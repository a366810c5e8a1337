// SPDX-License-Identifier: BSD-2-Clause
/*
 * The subnet: a random topology, the SM with its SA behind a switch's port 0, time.
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

/* -- the SM and its SA ------------------------------------------------------------------ */

static bool is_sa(const struct ib_packet *packet)
{
	struct mad_header header;

	if (packet->dest_qp != IB_QP_GSI)
		return false;
	mad_header_get(packet->payload, &header);
	return header.mgmt_class == MAD_CLASS_SUBN_ADM;
}

static void set_issm(void *arg, bool issm)
{
	fabric_port_set_issm(sim.sm_port, issm);
}

static uint64_t dropped(void)
{
	struct sa_counters c;

	sa_server_counters(sim.server, &c);
	return c.dropped_fault + c.dropped_repeated + c.dropped_full + c.dropped_down +
	       c.dropped_stranger;
}

static void hand_to_sm(const struct ib_packet *packet)
{
	uint64_t before;

	if (!sim.sm)
		return;
	if (!is_sa(packet)) {
		sm_receive(sim.sm, packet);
		return;
	}
	sim_ledger_arrived(packet->payload);
	before = dropped();
	sm_receive(sim.sm, packet);
	if (dropped() > before)
		sim_ledger_dropped();
}

/*
 * A request or answer that takes its time, past others and past its own repetition. The
 * SM's own datagrams must not: they stay in order on their way, and a table that is written
 * late would remain so.
 */
struct late {
	struct list link;
	struct timer timer;
	struct ib_packet packet;
	bool is_answer;
	uint8_t mad[MAD_BYTES];
};
static struct list all_late = LIST_INIT(all_late);

static void late_arrives(struct timer *timer)
{
	struct late *late = container_of(timer, struct late, timer);

	if (late->is_answer)
		fabric_port_send(sim.sm_port, &late->packet);
	else
		hand_to_sm(&late->packet);
	list_remove(&late->link);
	free(late);
}

static bool is_late(const struct ib_packet *packet)
{
	return sim.profile.late && !sim.quiet && is_sa(packet) &&
	       random_chance(&sim.random, sim.profile.late);
}

static void hold_back(const struct ib_packet *packet, bool is_answer)
{
	struct late *late = malloc(sizeof(*late));

	assert_non_null(late);
	late->is_answer = is_answer;
	late->packet = *packet;
	memcpy(late->mad, packet->payload, MAD_BYTES);
	late->packet.payload = late->mad;
	timer_init(&late->timer, &sim.timers, late_arrives);
	timer_arm(&late->timer, sim_below(2000) * TIMER_MS);
	list_append(&all_late, &late->link);
}

static void drop_late(void)
{
	list_for_each_safe(l, &all_late) {
		struct late *late = container_of(l, struct late, link);

		timer_disarm(&late->timer);
		free(late);
	}
	list_init(&all_late);
}

static void sm_port_receive(void *arg, const struct ib_packet *packet)
{
	if (is_late(packet))
		hold_back(packet, false);
	else
		hand_to_sm(packet);
}

static int sm_send(void *arg, const struct ib_packet *packet)
{
	if (is_sa(packet))
		sim_ledger_answered(packet->payload);
	if (!is_late(packet))
		return fabric_port_send(sim.sm_port, packet);
	hold_back(packet, true);
	return 0;
}

static void sm_port_changed(void *arg, unsigned int changes)
{
}

void sim_sm_start(void)
{
	static const struct sm_port_ops port = { .send = sm_send, .set_issm = set_issm };
	static const struct fabric_port_ops ops = { .receive = sm_port_receive,
						    .changed = sm_port_changed };
	struct sa_server_config server = { .timers = &sim.timers, .random = &sim.random };
	struct sm_config config = { .timers = &sim.timers,
				    .random = &sim.random,
				    .port = &port,
				    .client = &sa_server_sm_ops };
	struct fabric_port_info info;

	sim.sm_port = fabric_switch_port(sim.fabric, sim_below(sim.profile.switches));
	fabric_port_info(sim.sm_port, &info);
	sim_trace("an SM starts on %s", info.node);
	assert_int_equal(sa_server_create(&server, &sim.server), 0);
	config.port_guid = info.port_guid;
	config.client_arg = sim.server;
	fabric_port_attach(sim.sm_port, &ops, NULL);
	assert_int_equal(sm_create(&config, &sim.sm), 0);
	sa_server_set_sm(sim.server, sim.sm);
}

void sim_sm_stop(void)
{
	sim_trace("the SM dies");
	sm_destroy(sim.sm);
	sa_server_destroy(sim.server);
	sim.sm = NULL;
	sim.server = NULL;
	fabric_port_attach(sim.sm_port, NULL, NULL);
	fabric_port_set_issm(sim.sm_port, false);
	sim_ledger_sm_stopped();
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
	sim.quiet = false;
	timer_queue_init(&sim.timers, 1000, NULL, NULL);
	random_seed(&sim.random, seed);
	assert_int_equal(choose_topology(), 0);
	choose_profile();
	count_nodes();
	trace_profile();
	config.topology = sim.topology;
	/* Also slow ones, so that something changes while a sweep is under way. */
	config.hop_latency_ns = 100 + sim_below(sim_chance(20) ? 5000000 : 10000);
	assert_int_equal(fabric_create(&config, &sim.fabric), 0);
	memset(sim.hosts, 0, sizeof(sim.hosts));
	memset(sim.members, 0, sizeof(sim.members));
	memset(sim.ids, 0, sizeof(sim.ids));
	for (unsigned int n = 0; n < sim.host_count; n++) {
		struct sim_host *host = &sim.hosts[n];

		host->number = n;
		host->port = fabric_hca_port(sim.fabric, n);
		host->with_ip = sim.profile.with_ip && sim_chance(70);
		list_init(&host->pairs);
		sim_host_start(host);
	}
	sim_sm_start();
}

void sim_end(void)
{
	sim_consumers_leave(NULL);
	for (unsigned int n = 0; n < sim.host_count; n++) {
		if (sim.hosts[n].alive)
			sim_host_stop(&sim.hosts[n]);
		sim_pairs_free(&sim.hosts[n]);
	}
	if (sim.sm)
		sim_sm_stop();
	drop_late();
	fabric_destroy(sim.fabric);
	topology_destroy(sim.topology);
	sim_check(timer_queue_next(&sim.timers) == UINT64_MAX,
		  "a timer outlives everything");
}

void sim_end_trouble(void)
{
	sim_trace("trouble ends");
	fabric_trouble_set(sim.fabric, &(struct fabric_trouble){ 0 });
	for (uint32_t i = 0; i < sim.topology->count; i++) {
		const struct topology_node *node = &sim.topology->nodes[i];

		fabric_power_set(sim.fabric, node->name, true);
		for (unsigned int p = 1; p <= node->ports; p++)
			fabric_link_set(sim.fabric, node->name, p, true);
	}
	for (unsigned int n = 0; n < sim.host_count; n++)
		if (!sim.hosts[n].alive)
			sim_host_start(&sim.hosts[n]);
	if (!sim.sm)
		sim_sm_start();
	sa_server_set_fault(sim.server, &(struct sa_fault){ .kind = SA_FAULT_NONE });
	sim.quiet = true;
}
