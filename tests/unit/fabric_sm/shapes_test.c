/* SPDX-License-Identifier: BSD-2-Clause */
/* Any shape of subnet: everybody is reached, and no packets can wait in a circle. */
// uses: fabric_net
#include <stdio.h>

#include "fabric/sm/sm_priv.h"
#include "world.h"

static struct topology *parse(const char *text)
{
	struct topology *t = NULL;
	char error[200] = "";

	if (topology_parse(text, strlen(text), &t, error, sizeof(error)) < 0)
		fail_msg("%s in\n%s", error, text);
	return t;
}

/* -- circles --------------------------------------------------------------------------- */

/* A channel is a link in one direction, from switch to switch; one waits for another if a
 * packet to some host comes through the one and goes on through the other. */
struct channels {
	const struct sm *sm;
	uint32_t first[64]; /* channel of a switch's first edge */
	uint32_t count;
	bool *waits; /* [from * count + to] */
	uint8_t *mark;
};

static int edge_at(const struct sm_switch *sw, uint8_t port)
{
	for (uint32_t e = 0; e < sw->edge_count; e++)
		if (sw->edges[e].port == port)
			return (int)e;
	return -1;
}

static void follow(struct channels *c, uint32_t at, uint16_t lid)
{
	int before = -1;

	for (unsigned int hops = 0; hops < 64; hops++) {
		const struct sm_switch *sw = c->sm->switches[at];
		int e = edge_at(sw, sw->lft_have[lid]), now;

		if (e < 0)
			return; /* at the host's switch */
		now = (int)c->first[at] + e;
		if (before >= 0)
			c->waits[(uint32_t)before * c->count + (uint32_t)now] = true;
		before = now;
		at = sw->edges[e].to;
	}
	fail_msg("LID %u is never reached", lid);
}

static void expect_no_circle_from(struct channels *c, uint32_t channel)
{
	if (c->mark[channel] == 2)
		return;
	if (c->mark[channel] == 1)
		fail_msg("channels wait for each other in a circle");
	c->mark[channel] = 1;
	for (uint32_t to = 0; to < c->count; to++)
		if (c->waits[channel * c->count + to])
			expect_no_circle_from(c, to);
	c->mark[channel] = 2;
}

static void expect_no_circles(struct world *w)
{
	struct channels c = { .sm = w->sms[0].sm };

	assert_true(c.sm->switch_count <= 64);
	for (uint32_t i = 0; i < c.sm->switch_count; i++) {
		c.first[i] = c.count;
		c.count += c.sm->switches[i]->edge_count;
	}
	c.waits = calloc((size_t)c.count * c.count + 1, sizeof(*c.waits));
	c.mark = calloc(c.count + 1, sizeof(*c.mark));
	for (unsigned int host = 0; host < w->host_count; host++)
		for (uint32_t i = 0; i < c.sm->switch_count; i++)
			for (unsigned int k = 0; k < world_lids(w, host); k++)
				if (c.sm->switches[i]->has_hosts)
					follow(&c, i, (uint16_t)(world_lid(w, host) + k));
	for (uint32_t i = 0; i < c.count; i++)
		expect_no_circle_from(&c, i);
	free(c.waits);
	free(c.mark);
}

static void expect_all(struct world *w)
{
	struct world_group g = { .mlid = 0xc000 };

	world_expect_pairs(w);
	expect_no_circles(w);
	for (unsigned int i = 0; i < 5; i++) {
		g.mlid = (uint16_t)(0xc000 + i);
		for (unsigned int h = 0; h < w->host_count; h++)
			g.members[h] = "rrs\0"[random_below(&w->random, 4)];
		g.members[0] = 'r';
		assert_int_equal(world_route_now(w, &g), 0);
		world_expect_group(w, &g);
	}
}

static void works(struct topology *t, uint8_t lmc)
{
	const struct sm_config config = { .lmc = lmc };
	struct world *w = world_up_with(t, 11, &config);

	expect_all(w);
	world_destroy(w);
}

static void known_shapes_have_no_circles(void **state)
{
	for (uint8_t lmc = 0; lmc <= 3; lmc++) {
		struct topology *t = NULL;

		assert_int_equal(topology_ring(7, 2, 1, &t), 0);
		works(t, lmc);
		assert_int_equal(topology_two_level(5, 4, 4, 1, &t), 0);
		works(t, lmc);
		assert_int_equal(topology_fat_tree(6, 1, &t), 0);
		works(t, lmc);
	}
}

/* -- random shapes --------------------------------------------------------------------- */

#define SWITCHES_MAX 16u
#define PORTS        24u

struct shape {
	char text[32768];
	size_t length;
	unsigned int used[SWITCHES_MAX]; /* ports */
	char lines[SWITCHES_MAX][4096];
};

static void line(struct shape *s, unsigned int from, const char *to, unsigned int port)
{
	size_t at = strlen(s->lines[from]);

	snprintf(s->lines[from] + at, sizeof(s->lines[from]) - at, "[%u] \"%s\"[%u]\n",
		 ++s->used[from], to, port);
}

static void cable(struct shape *s, unsigned int a, unsigned int b)
{
	char name[16];

	if (a == b || s->used[a] == PORTS || s->used[b] == PORTS)
		return;
	snprintf(name, sizeof(name), "s%u", b);
	line(s, a, name, ++s->used[b]);
}

/* A tree of switches, cables more at random, some of them parallel, hosts at some. */
static struct topology *random_shape(struct random *r)
{
	struct shape *s = calloc(1, sizeof(*s));
	unsigned int count = 1 + (unsigned int)random_below(r, SWITCHES_MAX);
	unsigned int more = (unsigned int)random_below(r, 2 * count), hosts = 0;
	struct topology *t;
	char name[16];

	for (unsigned int i = 1; i < count; i++)
		cable(s, i, (unsigned int)random_below(r, i));
	for (unsigned int i = 0; i < more; i++)
		cable(s, (unsigned int)random_below(r, count),
		      (unsigned int)random_below(r, count));
	for (unsigned int i = 0; i < count; i++) {
		unsigned int n = i ? (unsigned int)random_below(r, 4) : 2;

		for (; n > 0 && s->used[i] < PORTS; n--) {
			snprintf(name, sizeof(name), "h%u", hosts++);
			s->length += (size_t)snprintf(s->text + s->length,
						      sizeof(s->text) - s->length,
						      "Hca 1 \"%s\"\n[1] \"s%u\"[%u]\n\n",
						      name, i, ++s->used[i]);
		}
	}
	for (unsigned int i = 0; i < count; i++)
		s->length += (size_t)snprintf(
			s->text + s->length, sizeof(s->text) - s->length,
			"Switch %u \"s%u\"\n%s\n", PORTS, i, s->lines[i]);
	t = parse(s->text);
	free(s);
	return t;
}

static void any_shape_works(void **state)
{
	unsigned int seeds = harness_count(40, 1000);

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct random r;

		random_seed(&r, seed);
		works(random_shape(&r), (uint8_t)(seed % 4));
	}
}

/* -- corners --------------------------------------------------------------------------- */

static void two_adapters_need_no_switch(void **state)
{
	struct world *w = world_up(parse("Hca 1 \"h1\"\n[1] \"h2\"[1]\n\n"
					 "Hca 1 \"h2\"\n\n"),
				   1);
	struct world_group g = { .mlid = 0xc000, .members = "rr" };

	world_expect_pairs(w);
	assert_int_equal(world_route_now(w, &g), 0);
	world_expect_group(w, &g);
	world_destroy(w);
}

static void both_ports_of_an_adapter_are_ports(void **state)
{
	struct world *w = world_up(parse("Hca 2 \"h1\"\n[1] \"s1\"[1]\n[2] \"s2\"[1]\n\n"
					 "Hca 2 \"h2\"\n[1] \"s1\"[2]\n[2] \"s1\"[3]\n\n"
					 "Hca 1 \"h3\"\n[1] \"s2\"[2]\n\n"
					 "Switch 4 \"s1\"\n[4] \"s2\"[4]\n\n"
					 "Switch 4 \"s2\"\n\n"),
				   1);

	assert_int_equal(w->host_count, 5);
	expect_all(w);
	assert_int_equal(fabric_link_set(w->fabric, "h1", 2, false), 0);
	world_run(w, SECOND);
	assert_int_equal(w->sms[0].outs, 1);
	assert_true(w->sms[0].last_out == world_guid(w, 1));
	assert_int_equal(fabric_link_set(w->fabric, "h1", 2, true), 0);
	world_run(w, SECOND);
	assert_true(world_is_up(w, 0));
	expect_all(w);
	world_destroy(w);
}

/* Port 0 of a switch: the SM may be there, and it may be a member. */
static void an_sm_may_sit_in_a_switch(void **state)
{
	struct topology *t = NULL;
	struct world *w;

	assert_int_equal(topology_two_level(3, 2, 2, 1, &t), 0);
	w = world_create(t, 1);
	for (unsigned int i = 0; i < 5; i++)
		w->hosts[w->host_count++] = fabric_switch_port(w->fabric, i);
	world_sm_start(w, 0, w->host_count - 1, NULL);
	world_until(w, world_is_up(w, 0), SECOND);
	expect_all(w);
	world_destroy(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_shapes_have_no_circles),
		cmocka_unit_test(any_shape_works),
		cmocka_unit_test(two_adapters_need_no_switch),
		cmocka_unit_test(both_ports_of_an_adapter_are_ports),
		cmocka_unit_test(an_sm_may_sit_in_a_switch),
	};

	return harness_run(tests);
}
