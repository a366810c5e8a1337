/* SPDX-License-Identifier: BSD-2-Clause */
/* More than one SM: who is master, who takes over, what is left of the former. */
// uses: fabric_net
#include "fabric/sm/sm_priv.h"
#include "world.h"

static struct topology *two_level(void)
{
	struct topology *t = NULL;

	assert_int_equal(topology_two_level(3, 2, 3, 1, &t), 0);
	return t;
}

static unsigned int masters(struct world *w)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < WORLD_SMS; i++)
		count += w->sms[i].sm && sm_state(w->sms[i].sm) == SM_MASTER;
	return count;
}

static bool is_settled(struct world *w, unsigned int master)
{
	return world_is_up(w, master) && sm_state(w->sms[1 - master].sm) == SM_STANDBY;
}

/* Whatever an earlier SM has left in the tables has no effect. */
static void expect_nobody(struct world *w, const struct world_group *g)
{
	for (unsigned int from = 0; from < w->host_count; from++) {
		world_walk(w, from, g->mlid);
		for (unsigned int i = 0; i < w->host_count; i++)
			assert_int_equal(w->reached[i], 0);
	}
}

/* The one that is there first is lesser: it hands over. */
static void the_greater_priority_takes_over(void **state)
{
	struct world *w = world_up(two_level(), 1);
	struct sm_config config = { .priority = 5 };
	uint64_t began;

	world_sm_start(w, 1, 4, &config);
	began = w->timers.now_ns;
	world_until(w, is_settled(w, 1), 5 * SECOND);
	assert_true(w->timers.now_ns - began < SECOND);
	assert_int_equal(w->sms[0].downs, 1);
	assert_int_equal(w->sms[1].ups, 1);
	world_run(w, 30 * SECOND);
	assert_true(is_settled(w, 1));
	world_expect_pairs(w);
	for (unsigned int i = 0; i < w->host_count; i++) {
		struct fabric_port_info info;

		fabric_port_info(w->hosts[i], &info);
		assert_int_equal(info.info.sm_lid, world_lid(w, 4));
	}
	world_destroy(w);
}

static void the_lesser_priority_stands_by(void **state)
{
	struct world *w = world_create(two_level(), 1);
	struct sm_config config = { .priority = 5 };

	world_sm_start(w, 0, 0, &config);
	world_until(w, world_is_up(w, 0), SECOND);
	world_sm_start(w, 1, 4, NULL);
	world_until(w, sm_state(w->sms[1].sm) == SM_STANDBY, SECOND);
	world_run(w, 30 * SECOND);
	assert_true(is_settled(w, 0));
	assert_int_equal(w->sms[0].downs, 0);
	assert_int_equal(w->sms[1].ups, 0);
	world_destroy(w);
}

/* Both begin at once, with equal priorities: the lower GUID, wherever it is. */
static void two_that_begin_at_once_agree(void **state)
{
	for (unsigned int swap = 0; swap < 2; swap++) {
		for (unsigned int far = 1; far < 9; far++) {
			struct world *w = world_create(two_level(), far);
			unsigned int lower;

			world_sm_start(w, swap, 0, NULL);
			world_sm_start(w, !swap, far, NULL);
			lower = world_guid(w, 0) < world_guid(w, far) ? swap : !swap;
			world_until(w, is_settled(w, lower), 10 * SECOND);
			world_run(w, 30 * SECOND);
			assert_true(is_settled(w, lower));
			world_expect_pairs(w);
			world_destroy(w);
		}
	}
}

/* Within a second, and everybody registers anew (spec/sa-sm 2.4, 6.8). */
static void a_standby_takes_over_from_the_dead(void **state)
{
	struct world *w = world_create(two_level(), 1);
	struct sm_config config = { .priority = 5 };
	struct world_group g = { .mlid = 0xc002 };
	unsigned int before;
	uint64_t killed;

	world_sm_start(w, 0, 0, &config);
	world_until(w, world_is_up(w, 0), SECOND);
	world_sm_start(w, 1, 4, NULL);
	world_until(w, is_settled(w, 0), SECOND);
	memset(g.members, 'r', w->host_count);
	assert_int_equal(world_route_now(w, &g), 0);
	world_expect_group(w, &g);
	before = w->reregisters[7];
	world_sm_kill(w, 0);
	killed = w->timers.now_ns;
	world_until(w, world_is_up(w, 1), 5 * SECOND);
	assert_true(w->timers.now_ns - killed < SECOND);
	assert_int_equal(w->reregisters[7], before + 1);
	world_expect_pairs(w);
	/* Nobody has joined with this one. */
	expect_nobody(w, &g);
	world_route(w, 1, &g);
	before = w->done;
	world_until(w, w->done == before + 1, SECOND);
	assert_int_equal(w->error, 0);
	world_expect_group(w, &g);
	world_destroy(w);
}

static void a_new_sm_after_the_dead_clears_tables(void **state)
{
	struct world *w = world_up(two_level(), 1);
	struct world_group g = { .mlid = 0xc042 };

	memset(g.members, 'r', w->host_count);
	assert_int_equal(world_route_now(w, &g), 0);
	world_sm_kill(w, 0);
	world_expect_group(w, &g);
	world_sm_start(w, 1, 5, NULL);
	world_until(w, world_is_up(w, 1), 5 * SECOND);
	expect_nobody(w, &g);
	world_expect_pairs(w);
	world_destroy(w);
}

/* The former master comes back while its successor is at work. */
static void who_comes_back_takes_its_place(void **state)
{
	struct world *w = world_create(two_level(), 1);
	struct sm_config config = { .priority = 5 };

	world_sm_start(w, 0, 0, &config);
	world_sm_start(w, 1, 4, NULL);
	world_until(w, is_settled(w, 0), 5 * SECOND);
	for (unsigned int i = 0; i < 3; i++) {
		world_sm_kill(w, 0);
		world_until(w, world_is_up(w, 1), 5 * SECOND);
		world_run(w, 3 * SECOND);
		world_sm_start(w, 0, 0, &config);
		world_until(w, is_settled(w, 0), 10 * SECOND);
		assert_int_equal(w->sms[1].downs, i + 1);
		world_expect_pairs(w);
	}
	world_destroy(w);
}

/* Two subnets that were apart, each with its master, become one. */
static void joined_subnets_have_one_master(void **state)
{
	struct topology *t = NULL;
	struct world *w;
	unsigned int lower;

	assert_int_equal(topology_parse("Hca 1 \"h1\"\n[1] \"s1\"[1]\n\n"
					"Hca 1 \"h2\"\n[1] \"s1\"[2]\n\n"
					"Hca 1 \"h3\"\n[1] \"s2\"[1]\n\n"
					"Hca 1 \"h4\"\n[1] \"s2\"[2]\n\n"
					"Switch 4 \"s1\"\n[3] \"s2\"[3]\n\n"
					"Switch 4 \"s2\"\n\n",
					strlen("Hca 1 \"h1\"\n[1] \"s1\"[1]\n\n"
					       "Hca 1 \"h2\"\n[1] \"s1\"[2]\n\n"
					       "Hca 1 \"h3\"\n[1] \"s2\"[1]\n\n"
					       "Hca 1 \"h4\"\n[1] \"s2\"[2]\n\n"
					       "Switch 4 \"s1\"\n[3] \"s2\"[3]\n\n"
					       "Switch 4 \"s2\"\n\n"),
					&t, NULL, 0),
			 0);
	w = world_create(t, 1);
	assert_int_equal(fabric_link_set(w->fabric, "s1", 3, false), 0);
	world_sm_start(w, 0, 0, NULL);
	world_sm_start(w, 1, 2, NULL);
	world_until(w, world_is_up(w, 0) && world_is_up(w, 1), 5 * SECOND);
	assert_int_equal(masters(w), 2);
	assert_int_equal(fabric_link_set(w->fabric, "s1", 3, true), 0);
	lower = world_guid(w, 0) < world_guid(w, 2) ? 0 : 1;
	world_until(w, is_settled(w, lower), 10 * SECOND);
	world_run(w, 30 * SECOND);
	assert_true(is_settled(w, lower));
	for (unsigned int i = 0; i < 4; i++)
		for (unsigned int k = 0; k < i; k++)
			assert_int_not_equal(world_lid(w, i), world_lid(w, k));
	world_expect_pairs(w);
	world_destroy(w);
}

/* A new group in the block where the former SM had others: those do not come back. */
static void what_was_cut_off_does_not_come_back(void **state)
{
	struct world *w = world_up(two_level(), 1);
	struct world_group old = { .mlid = 0xc000 }, new = { .mlid = 0xc001 };

	for (old.mlid = 0xc000; old.mlid < 0xc064; old.mlid++) {
		memset(old.members, 'r', w->host_count);
		assert_int_equal(world_route_now(w, &old), 0);
	}
	world_sm_kill(w, 0);
	world_sm_start(w, 0, 3, NULL);
	world_until(w, world_is_up(w, 0), 5 * SECOND);
	new.mlid = 0xc050;
	new.members[1] = new.members[8] = 'r';
	assert_int_equal(world_route_now(w, &new), 0);
	world_expect_group(w, &new);
	for (old.mlid = 0xc000; old.mlid < 0xc064; old.mlid++)
		if (old.mlid != new.mlid)
			expect_nobody(w, &old);
	world_destroy(w);
}

static void a_lossy_subnet_keeps_one_master(void **state)
{
	unsigned int seeds = harness_count(4, 50);

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct world *w = world_create(two_level(), seed);
		struct fabric_trouble trouble = { .loss = 45000 };
		struct sm_config config = { .priority = 5 };

		fabric_trouble_set(w->fabric, &trouble);
		world_sm_start(w, 0, 0, &config);
		world_sm_start(w, 1, 4, NULL);
		world_run(w, 60 * SECOND);
		trouble.loss = 0;
		fabric_trouble_set(w->fabric, &trouble);
		world_run(w, 30 * SECOND);
		assert_true(is_settled(w, 0));
		world_expect_pairs(w);
		world_destroy(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_greater_priority_takes_over),
		cmocka_unit_test(the_lesser_priority_stands_by),
		cmocka_unit_test(two_that_begin_at_once_agree),
		cmocka_unit_test(a_standby_takes_over_from_the_dead),
		cmocka_unit_test(a_new_sm_after_the_dead_clears_tables),
		cmocka_unit_test(who_comes_back_takes_its_place),
		cmocka_unit_test(joined_subnets_have_one_master),
		cmocka_unit_test(what_was_cut_off_does_not_come_back),
		cmocka_unit_test(a_lossy_subnet_keeps_one_master),
	};

	return harness_run(tests);
}
