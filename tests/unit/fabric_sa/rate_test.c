/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What joining costs, and that it does not grow: with the groups there are, with the
 * members of all, with the members of one. Times are of the process, and the least of
 * some runs, since the machine is shared.
 */
#include <time.h>

#include "unit/fabric_sa/world.h"

#define MANY_GROUPS 16000u
#define BATCH       2000u
#define RUNS        5u
#define PROXY_GUIDS 60000u

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Requests as bytes, made before the clock runs. */
struct batch {
	uint8_t bytes[BATCH][MAD_BYTES];
};

static void fill(struct world *w, struct batch *b, const char *text, unsigned int from)
{
	struct world_ask ask;

	for (unsigned int i = 0; i < BATCH; i++) {
		world_ask_parse(w, &ask, text);
		ask.rec.mgid.raw[8] = (uint8_t)(from + i);
		ask.rec.mgid.raw[9] = (uint8_t)((from + i) >> 8);
		world_ask_put(&ask, b->bytes[i]);
	}
}

/* Nanoseconds a request. All of them succeed. */
static uint64_t run(struct world *w, const struct batch *b, unsigned int host)
{
	struct sa_counters before, after;
	uint64_t began;

	w->mute = true;
	sa_server_counters(w->server, &before);
	began = cpu_ns();
	for (unsigned int i = 0; i < BATCH; i++) {
		world_deliver(w, host, b->bytes[i]);
		timer_queue_run(&w->timers, w->timers.now_ns);
	}
	began = cpu_ns() - began;
	world_run(w, 0);
	sa_server_counters(w->server, &after);
	assert_int_equal(after.answers - before.answers, BATCH);
	return began / BATCH;
}

/* Create and leave BATCH groups. */
static uint64_t churn(struct world *w, struct batch *b)
{
	uint64_t best = UINT64_MAX;

	for (unsigned int i = 0; i < RUNS; i++) {
		uint64_t ns;

		fill(w, b, "H2 set create js=1 mgid=ff12::1", 0xf000);
		ns = run(w, b, 2);
		if (ns < best)
			best = ns;
		fill(w, b, "H2 delete join js=1 mgid=ff12::1", 0xf000);
		run(w, b, 2);
	}
	return best;
}

static void creating_costs_the_same_among_many_groups(void **state)
{
	struct world *w = world_create(8);
	struct batch *b = malloc(sizeof(*b));
	uint64_t alone, crowded;

	(void)state;
	w->sm.capacity = 0x3fff;
	alone = churn(w, b);
	for (unsigned int i = 0; i + BATCH <= MANY_GROUPS - BATCH; i += BATCH) {
		fill(w, b, "H3 set create js=1 mgid=ff12::1", i);
		run(w, b, 3);
	}
	crowded = churn(w, b);
	printf("create: %llu ns alone, %llu ns among %u groups\n",
	       (unsigned long long)alone, (unsigned long long)crowded,
	       MANY_GROUPS - BATCH);
	if (!harness_sanitized())
		assert_true(crowded < 4 * alone + 2000);
	free(b);
	world_destroy(w);
}

/* Many members of one group, each a port of its own. */
static void joining_costs_the_same_among_many_members(void **state)
{
	struct world *w = world_create(2);
	unsigned int hosts = harness_sanitized() ? 10000 : PROXY_GUIDS;
	struct subnet_node *nodes = calloc(hosts, sizeof(*nodes));
	struct subnet_port *ports = calloc(hosts, 2 * sizeof(*ports));
	uint64_t first = 0, last = 0;
	struct world_ask ask;
	uint8_t bytes[MAD_BYTES];

	(void)state;
	world_assert(w, "H1 set create js=1 mgid=ff12::1", 0);
	for (unsigned int i = 0; i < hosts; i++) {
		small_add_node(&w->sm, &nodes[i], SMP_NODE_CA, 0x500000 + 2 * i,
			       &ports[2 * i], "many");
		ports[2 * i + 1] = (struct subnet_port){ .node = &nodes[i], .num = 1 };
		small_link(&ports[2 * i + 1], (uint16_t)(1000 + i % 40000));
		small_add_port(&w->sm, &ports[2 * i + 1]);
	}
	w->mute = true;
	for (unsigned int i = 0; i < hosts; i++) {
		uint64_t began;

		world_ask_parse(w, &ask, "H2 set join js=1 mgid=ff12::1");
		small_gid(&ask.rec.port_gid, SMALL_PREFIX, 0x500001 + 2 * i);
		world_ask_put(&ask, bytes);
		began = cpu_ns();
		world_deliver(w, 2, bytes);
		timer_queue_run(&w->timers, w->timers.now_ns);
		began = cpu_ns() - began;
		if (i < hosts / 10)
			first += began;
		else if (i >= hosts - hosts / 10)
			last += began;
	}
	world_run(w, 0);
	printf("join: %llu ns for the first, %llu ns for the last of %u members\n",
	       (unsigned long long)(first / (hosts / 10)),
	       (unsigned long long)(last / (hosts / 10)), hosts);
	if (!harness_sanitized())
		assert_true(last < 4 * first);
	/* All paths between as many are refused before one is looked at. */
	w->mute = false;
	world_assert(w, "H2 table attr=35", SA_NO_RESOURCES);
	world_destroy(w);
	free(ports);
	free(nodes);
}

static void a_hundred_thousand_joins_a_second(void **state)
{
	struct world *w = world_create(8);
	struct batch *b = malloc(sizeof(*b));
	uint64_t best = UINT64_MAX;

	(void)state;
	w->sm.capacity = 0x3fff;
	fill(w, b, "H2 set create js=1 mgid=ff12::1", 0);
	run(w, b, 2);
	for (unsigned int i = 0; i < RUNS; i++) {
		uint64_t ns;

		fill(w, b, "H3 set create js=1 mtu==4 rate==3 mgid=ff12::1", 0);
		ns = run(w, b, 3);
		if (ns < best)
			best = ns;
		fill(w, b, "H3 delete join js=1 mgid=ff12::1", 0);
		run(w, b, 3);
	}
	printf("join: %llu ns\n", (unsigned long long)best);
	if (!harness_sanitized())
		assert_true(best < 10000);
	free(b);
	world_destroy(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hundred_thousand_joins_a_second),
		cmocka_unit_test(creating_costs_the_same_among_many_groups),
		cmocka_unit_test(joining_costs_the_same_among_many_members),
	};

	return harness_run(tests);
}
