/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbcast-bench-sweep: the CPU time in which the SM brings subnets up, sweeps them again,
 * and routes groups. One process, virtual time, the fabric model included: it answers every
 * request. `--short` stops after the first shape; `--longest` also finds the longest single
 * call from the timers, which costs time itself. `--netlist FILE`: that fabric alone, and a
 * line of NAME=VALUE, for scripts/bench-subnet.
 *
 * Memory is what malloc has handed out: of the fabric model a node, of the manager a node
 * once the subnet is up, and of both a group.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "fabric/net/fabric.h"
#include "fabric/net/topology.h"
#include "fabric/sm/sm.h"

#define SEED       1u
#define LIMIT_NS   (600000 * TIMER_MS)
#define GROUPS     100u
#define GROUP_SIZE 64u

struct shape {
	const char *name;
	unsigned int k;      /* of a fat tree; 0: two levels */
	const char *netlist; /* not null: its file, instead */
};
static const struct shape shapes[] = {
	{ "two levels, 36 x 18", 0, NULL }, { "fat tree, k=16", 16, NULL },
	{ "fat tree, k=24", 24, NULL },     { "fat tree, k=34", 34, NULL },
	{ "fat tree, k=36", 36, NULL },
};

struct bench {
	struct timer_queue timers;
	struct random random;
	struct topology *topology;
	struct fabric *fabric;
	struct fabric_port *port;
	struct sm *sm;
	unsigned int hosts, routed;
	bool measuring;
	double longest_s;
	double topology_bytes; /* which a fabric does not need any more */
};

static double cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static double wall_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double allocated_bytes(void)
{
	struct mallinfo2 m = mallinfo2();

	return (double)m.uordblks + (double)m.hblkhd;
}

static double thread_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int port_send(void *arg, const struct ib_packet *packet)
{
	return fabric_port_send(((struct bench *)arg)->port, packet);
}

static void port_receive(void *arg, const struct ib_packet *packet)
{
	struct bench *b = arg;

	if (b->sm)
		sm_receive(b->sm, packet);
}

static void port_changed(void *arg, unsigned int changes)
{
}

static const struct sm_port_ops sm_ops = { .send = port_send };
static const struct fabric_port_ops port_ops = {
	.receive = port_receive,
	.changed = port_changed,
};

static int read_netlist(const char *path, struct topology **ret)
{
	char *text = NULL, error[256] = "";
	FILE *file = fopen(path, "r");
	size_t room = 0;
	ssize_t length = file ? getdelim(&text, &room, '\0', file) : -1;
	int r = -1;

	if (length >= 0)
		r = topology_parse(text, (size_t)length, ret, error, sizeof(error));
	if (r < 0)
		fprintf(stderr, "%s: cannot be used: %s\n", path, error);
	if (file)
		fclose(file);
	free(text);
	return r;
}

static int make_topology(const struct shape *shape, struct topology **ret)
{
	if (shape->netlist)
		return read_netlist(shape->netlist, ret);
	return shape->k ? topology_fat_tree(shape->k, SEED, ret)
			: topology_two_level(36, 18, 18, SEED, ret);
}

static int make(struct bench *b, const struct shape *shape)
{
	struct fabric_config config = { .timers = &b->timers, .random = &b->random };
	double before = allocated_bytes();
	int r = make_topology(shape, &b->topology);

	if (r < 0)
		return r;
	b->topology_bytes = allocated_bytes() - before;
	config.topology = b->topology;
	timer_queue_init(&b->timers, 0, NULL, NULL);
	random_seed(&b->random, SEED);
	r = fabric_create(&config, &b->fabric);
	if (r < 0)
		return r;
	while (fabric_hca_port(b->fabric, b->hosts))
		b->hosts++;
	b->port = fabric_hca_port(b->fabric, 0);
	fabric_port_attach(b->port, &port_ops, b);
	return 0;
}

static int start(struct bench *b)
{
	struct sm_config config = {
		.timers = &b->timers,
		.random = &b->random,
		.port = &sm_ops,
		.port_arg = b,
		.port_guid = 1,
		.light_sweep_ns = LIMIT_NS,
	};

	return sm_create(&config, &b->sm);
}

static uint64_t sweeps(const struct bench *b)
{
	struct sm_counters c;

	sm_counters(b->sm, &c);
	return c.sweeps;
}

static void turn(struct bench *b, uint64_t now)
{
	bool more = true;

	if (!b->measuring) {
		timer_queue_run(&b->timers, now);
		return;
	}
	while (more) {
		double began = thread_s(), took;

		more = timer_queue_run_some(&b->timers, now, 1);
		took = thread_s() - began;
		if (took > b->longest_s)
			b->longest_s = took;
	}
}

static bool run_until(struct bench *b, uint64_t sweep, unsigned int routed)
{
	while (sweeps(b) < sweep || b->routed < routed) {
		uint64_t next = timer_queue_next(&b->timers);

		if (next > LIMIT_NS)
			return false;
		turn(b, next);
	}
	return sm_is_up(b->sm);
}

static void routed(void *arg, int error)
{
	((struct bench *)arg)->routed += error == 0;
}

static void route_groups(struct bench *b)
{
	struct sm_mc_member members[GROUP_SIZE];

	for (unsigned int g = 0; g < GROUPS; g++) {
		for (unsigned int i = 0; i < GROUP_SIZE; i++) {
			unsigned int host =
				(unsigned int)random_below(&b->random, b->hosts);
			struct fabric_port_info info;

			fabric_port_info(fabric_hca_port(b->fabric, host), &info);
			members[i].port_guid = info.port_guid;
			members[i].receives = true;
		}
		sm_route_group(b->sm, (uint16_t)(0xc000 + g), members, GROUP_SIZE, routed,
			       b);
	}
}

static bool run(const struct shape *shape, bool measuring)
{
	struct bench b = { .measuring = measuring };
	struct sm_counters first, second, last;
	double t[4], m[4], wall;
	bool good = false;

	m[0] = allocated_bytes();
	if (make(&b, shape) < 0)
		goto out;
	m[1] = allocated_bytes();
	if (start(&b) < 0)
		goto out;
	wall = wall_s();
	t[0] = cpu_s();
	good = run_until(&b, 1, 0);
	t[1] = cpu_s();
	wall = wall_s() - wall;
	m[2] = allocated_bytes();
	sm_counters(b.sm, &first);
	sm_sweep(b.sm);
	good &= run_until(&b, 2, 0);
	t[2] = cpu_s();
	sm_counters(b.sm, &second);
	route_groups(&b);
	good &= run_until(&b, 2, GROUPS);
	t[3] = cpu_s();
	m[3] = allocated_bytes();
	sm_counters(b.sm, &last);
	if (shape->netlist)
		printf("up_wall_s=%.4f up_cpu_s=%.4f again_cpu_s=%.4f ", wall,
		       t[1] - t[0], t[2] - t[1]);
	printf("%-20s %6u %6u %8llu %8.3f %8llu %8.3f %8llu %8.3f %8.0f %8.0f %8.0f%s\n",
	       shape->name, b.hosts, b.topology->count - b.hosts,
	       (unsigned long long)first.smps_sent, t[1] - t[0],
	       (unsigned long long)(second.smps_sent - first.smps_sent), t[2] - t[1],
	       (unsigned long long)(last.mft_blocks - second.mft_blocks), t[3] - t[2],
	       (m[1] - m[0] - b.topology_bytes) / b.topology->count,
	       (m[2] - m[1]) / b.topology->count, (m[3] - m[2]) / GROUPS,
	       good ? "" : "  NOT UP");
	if (measuring)
		printf("%-20s longest call %.3f ms\n", "", b.longest_s * 1e3);
	fflush(stdout);
out:
	sm_destroy(b.sm);
	fabric_destroy(b.fabric);
	topology_destroy(b.topology);
	return good;
}

static void print_head(void)
{
	printf("CPU seconds of SM and fabric model together, bytes; %s\n", BENCH_BUILD);
	printf("%-20s %6s %6s %8s %8s %8s %8s %8s %8s %8s %8s %8s\n", "", "hosts",
	       "switch", "SMPs", "up s", "SMPs", "again s", "blocks", "100 x 64",
	       "net/node", "SM/node", "a group");
}

int main(int argc, char **argv)
{
	struct shape given = { .name = "netlist" };
	bool shorter = false, measuring = false, good = true;

	for (int i = 1; i < argc; i++) {
		shorter |= strcmp(argv[i], "--short") == 0;
		measuring |= strcmp(argv[i], "--longest") == 0;
		if (strcmp(argv[i], "--netlist") == 0 && i + 1 < argc)
			given.netlist = argv[++i];
	}
	if (given.netlist)
		return run(&given, measuring) ? 0 : 1;
	print_head();
	for (unsigned int i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (i == 0 || !shorter)
			good &= run(&shapes[i], measuring);
	return good ? 0 : 1;
}
