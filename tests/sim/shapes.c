// SPDX-License-Identifier: BSD-2-Clause
/*
 * Topologies at random, in the form that files have: trees, rings, grids and what has none
 * of these names, with parallel links; some switches have small multicast tables, or none.
 */
#include "sim.h"

#include <stdio.h>

#define SWITCHES_MAX 10u
#define PORTS        40u

struct plan {
	unsigned int switches, hosts;
	unsigned int used[SWITCHES_MAX]; /* ports */
	char lines[SWITCHES_MAX][2048];
};

static void add(struct plan *p, unsigned int at, const char *peer, unsigned int port)
{
	char *lines = p->lines[at];
	size_t length = strlen(lines);

	snprintf(lines + length, sizeof(p->lines[at]) - length, "[%u] \"%s\"[%u]\n",
		 ++p->used[at], peer, port);
}

static void cable(struct plan *p, unsigned int a, unsigned int b)
{
	char name[16];

	if (a == b || p->used[a] == PORTS || p->used[b] == PORTS)
		return;
	snprintf(name, sizeof(name), "s%u", b + 1);
	add(p, a, name, p->used[b] + 1);
	snprintf(name, sizeof(name), "s%u", a + 1);
	add(p, b, name, p->used[a]);
}

static void lay_cables(struct plan *p)
{
	unsigned int shape = sim_below(4), width = 2 + sim_below(2);

	for (unsigned int i = 1; i < p->switches; i++) {
		if (shape == 0) { /* a ring */
			cable(p, i - 1, i);
		} else if (shape == 1) { /* a grid */
			if (i % width)
				cable(p, i - 1, i);
			if (i >= width)
				cable(p, i - width, i);
		} else { /* a tree */
			cable(p, sim_below(i), i);
		}
	}
	if (shape == 0 && p->switches > 2)
		cable(p, p->switches - 1, 0);
	if (shape == 3) /* with more */
		for (unsigned int n = sim_below(p->switches + 1); n > 0; n--)
			cable(p, sim_below(p->switches), sim_below(p->switches));
}

/* The table of a switch; UINT32_MAX: the usual one. */
static uint32_t table_of(bool lame, bool small)
{
	if (lame && sim_chance(30)) {
		sim.profile.is_lame = true;
		return 0;
	}
	if (!small || sim_chance(50))
		return UINT32_MAX;
	sim.profile.is_small = true;
	return 2 + sim_below(SIM_TABLE_SMALL - 2);
}

int sim_shape(unsigned int hosts, struct topology **ret)
{
	struct plan p = { .switches = 1 + sim_below(SWITCHES_MAX), .hosts = hosts };
	bool lame = sim_chance(25), small = sim_chance(25);
	static char text[SWITCHES_MAX * 2200];
	uint64_t guid = (sim.seed << 16 & 0xffffffffff0000) | 0x0200000000000000;
	char error[128];
	int length = 0, r;

	lay_cables(&p);
	for (unsigned int n = 0; n < hosts; n++) {
		char name[16];

		snprintf(name, sizeof(name), "h%u", n + 1);
		add(&p, sim_below(p.switches), name, 1);
	}
	for (unsigned int n = 0; n < hosts; n++)
		length += snprintf(text + length, sizeof(text) - (size_t)length,
				   "caguid=0x%llx\nCa 1 \"h%u\"\n\n",
				   (unsigned long long)guid + 2 * n, n + 1);
	for (unsigned int i = 0; i < p.switches; i++) {
		uint32_t cap = table_of(lame, small);

		if (cap != UINT32_MAX)
			length += snprintf(text + length, sizeof(text) - (size_t)length,
					   "mftcap=%u\n", cap);
		length += snprintf(text + length, sizeof(text) - (size_t)length,
				   "switchguid=0x%llx\nSwitch %u \"s%u\"\n%s\n",
				   (unsigned long long)guid + 0x1000 + i, PORTS, i + 1,
				   p.lines[i]);
	}
	r = topology_parse(text, (size_t)length, ret, error, sizeof(error));
	if (r < 0)
		printf("%s\n%s\n", error, text);
	return r;
}

/* -- where multicast can get to ---------------------------------------------------------- */

static unsigned int flood(const struct topology *t, uint32_t from, bool *reached)
{
	unsigned int count = 1;

	reached[from] = true;
	for (unsigned int p = 1; p <= t->nodes[from].ports; p++) {
		uint32_t to = t->nodes[from].links[p].node;

		if (to == UINT32_MAX || reached[to])
			continue;
		if (!t->nodes[to].is_switch)
			reached[to] = true;
		else if (t->nodes[to].mft_cap)
			count += flood(t, to, reached);
	}
	return count;
}

void sim_find_tables(void)
{
	const struct topology *t = sim.topology;
	unsigned int capable = 0, together = 0, host = 0;
	bool *reached = calloc(t->count, sizeof(*reached));

	assert_non_null(reached);
	for (uint32_t i = 0; i < t->count; i++)
		capable += t->nodes[i].is_switch && t->nodes[i].mft_cap;
	for (uint32_t i = 0; i < t->count && !together; i++)
		if (t->nodes[i].is_switch && t->nodes[i].mft_cap)
			together = flood(t, i, reached);
	for (uint32_t i = 0; i < t->count; i++)
		if (!t->nodes[i].is_switch)
			sim.hosts[host++].has_tables = together == capable && reached[i];
	free(reached);
}
