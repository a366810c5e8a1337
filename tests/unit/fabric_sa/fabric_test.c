/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The subnet administrator with the real SM over switches, in virtual time: that who has
 * an answer is reached, whatever is lost on the way, and whoever dies.
 */
// uses: fabric_net
#include <time.h>

#include "stations.h"

/* -- tests --------------------------------------------------------------------------------- */

static void who_is_answered_is_reached(void **state)
{
	struct world *w = two_level(4, 5);

	(void)state;
	w->check_answers = true;
	for (unsigned int i = 1; i < w->host_count; i++)
		host_join(&w->hosts[i], 1);
	until(w, w->answers == w->host_count - 1, SECOND);
	expect_group(w, w->hosts[1].mlid);
	/* And not any more when the leave is answered. */
	for (unsigned int i = 1; i < w->host_count; i += 2)
		host_leave(&w->hosts[i], 1);
	w->answers = 0;
	until(w, w->answers == w->host_count / 2, SECOND);
	expect_group(w, w->hosts[2].mlid);
	world_destroy(w);
}

/* So little is lost that the SM, which asks four times, takes no port for gone. */
static void what_is_lost_is_asked_for_again(void **state)
{
	struct fabric_trouble trouble = { .loss = 5000,
					  .reorder = 20000,
					  .delay_ns = TIMER_MS };
	unsigned int rounds = harness_count(3, 50);
	struct world *w = two_level(4, 5);

	(void)state;
	fabric_trouble_set(w->fabric, &trouble);
	w->check_answers = true;
	for (unsigned int round = 0; round < rounds; round++) {
		unsigned int due = w->host_count - 1;

		w->answers = 0;
		for (unsigned int i = 1; i < w->host_count; i++)
			host_join(&w->hosts[i], 1);
		until(w, w->answers == due, 60 * SECOND);
		run(w, SETTLE);
		for (unsigned int i = 1; i < w->host_count; i++)
			assert_int_equal(w->hosts[i].status, 0);
		expect_group(w, w->hosts[1].mlid);
		w->answers = 0;
		for (unsigned int i = 1; i < w->host_count; i++)
			host_leave(&w->hosts[i], 1);
		/* A leave whose answer was lost is refused the next time. */
		until(w, w->answers == due, 60 * SECOND);
		run(w, SETTLE);
		assert_int_equal(count(w, 0).members, 0);
		assert_int_equal(count(w, 0).groups, 1);
	}
	world_destroy(w);
}

static void a_port_without_link_is_no_member(void **state)
{
	struct world *w = two_level(3, 3);
	struct fabric_port_info info;

	(void)state;
	host_subscribe(&w->hosts[1]);
	until(w, w->hosts[1].status == 0, SECOND);
	w->answers = 0;
	for (unsigned int i = 2; i < w->host_count; i++)
		host_join(&w->hosts[i], 1);
	until(w, w->answers == w->host_count - 2, SECOND);
	assert_int_equal(w->hosts[1].reports, 1); /* the group */
	fabric_port_info(w->hosts[5].port, &info);
	assert_int_equal(fabric_link_set(w->fabric, info.node, 1, false), 0);
	w->hosts[5].member = false;
	/* The switch's trap, and that the port is out of service. */
	until(w, w->hosts[1].reports == 3, SECOND);
	until(w, count(w, 0).members == w->host_count - 3, SECOND);
	run(w, SECOND);
	expect_group(w, w->hosts[2].mlid);
	/* It comes back as nobody's member, and may join. */
	assert_int_equal(fabric_link_set(w->fabric, info.node, 1, true), 0);
	run(w, SECOND);
	assert_int_equal(count(w, 0).members, w->host_count - 3);
	host_join(&w->hosts[5], 1);
	until(w, w->hosts[5].status == 0, SECOND);
	expect_group(w, w->hosts[2].mlid);
	world_destroy(w);
}

/* The port tells the SM, who represses that, and the SA whoever asked to hear of it. */
static void keys_that_do_not_fit_are_reported(void **state)
{
	struct world *w = two_level(3, 3);

	(void)state;
	host_subscribe(&w->hosts[1]);
	until(w, w->hosts[1].status == 0, SECOND);
	run(w, SECOND);
	w->hosts[1].reports = 0;
	fabric_port_violated(w->hosts[5].port, 7, 9);
	until(w, w->hosts[1].reports == 2, SECOND);
	run(w, 30 * SECOND);
	assert_int_equal(w->hosts[1].reports, 2);
	world_destroy(w);
}

static void who_is_given_the_groups_keeps_them_alive(void **state)
{
	struct world *w = two_level(3, 4);
	uint8_t *bytes;
	size_t length;

	(void)state;
	w->alone = true;
	station_start(w, 1, 0);
	run(w, SECOND);
	assert_int_equal(sm_state(w->stations[1].sm), SM_STANDBY);
	for (unsigned int i = 2; i < w->host_count; i++)
		host_join(&w->hosts[i], (uint8_t)(1 + i % 2));
	until(w, w->answers == w->host_count - 2, SECOND);
	assert_int_equal(sa_server_save(w->stations[0].sa, &bytes, &length), 0);
	station_kill(w, 0);
	assert_int_equal(sa_server_load(w->stations[1].sa, bytes, length), 0);
	free(bytes);
	until(w, sm_is_up(w->stations[1].sm), 5 * SECOND);
	run(w, SECOND);
	assert_int_equal(count(w, 1).members, w->host_count - 2);
	/* One group at a time. */
	for (unsigned int group = 0; group < 2; group++) {
		uint16_t mlid = w->hosts[2 + group].mlid;

		for (unsigned int i = 2; i < w->host_count; i++)
			w->hosts[i].member = i % 2 == group;
		expect_group(w, mlid);
	}
	/* And it serves. */
	w->answers = 0;
	host_leave(&w->hosts[2], 1);
	until(w, w->answers == 1, SECOND);
	assert_int_equal(w->hosts[2].status, 0);
	world_destroy(w);
}

static bool reaches(struct world *w, unsigned int from, unsigned int to, uint16_t mlid)
{
	walk(w, from, mlid);
	return w->reached[to] == 1;
}

/* ib_attach_mcast(9): the queue pairs are attached all the while; what is missing is the
 * group, then the membership, then what the switches have to know of it. */
static void all_stages_are_needed_to_be_heard(void **state)
{
	struct world *w = two_level(3, 3);
	struct host *a = &w->hosts[4], *b = &w->hosts[7];
	const uint16_t mlid = 0xc001;

	/* No group. */
	assert_false(reaches(w, 4, 7, mlid));
	assert_false(reaches(w, 7, 4, mlid));
	/* A group, and the listener is no member. */
	host_join(a, 1);
	until(w, a->status == 0, SECOND);
	assert_int_equal(a->mlid, mlid);
	run(w, SECOND);
	assert_false(reaches(w, 4, 7, mlid));
	assert_false(reaches(w, 7, 4, mlid));
	/* It is a member, and the switches do not know it yet: nor is it told so. */
	w->stations[0].holds = true;
	host_join(b, 1);
	until(w, count(w, 0).members == 2, SECOND);
	run(w, SECOND / 2);
	assert_int_equal(b->status, -1);
	assert_false(reaches(w, 4, 7, mlid));
	assert_false(reaches(w, 7, 4, mlid));
	/* And complete. */
	w->stations[0].holds = false;
	w->check_answers = true;
	until(w, b->status >= 0, SECOND);
	assert_int_equal(b->status, 0);
	assert_true(reaches(w, 4, 7, mlid));
	assert_true(reaches(w, 7, 4, mlid));
	/* Without the membership it is over again. */
	host_leave(b, 1);
	until(w, b->status == 0, SECOND);
	assert_false(reaches(w, 4, 7, mlid));
	world_destroy(w);
}

/* Without a standby: everybody is told, nobody is heard who has not joined again, and then
 * all is as before, within a second. */
static void restarts_are_survived(void **state)
{
	unsigned int restarts = harness_count(6, 100);
	struct world *w = two_level(3, 4);

	w->answers = 0;
	for (unsigned int i = 1; i < w->host_count; i++)
		host_join(&w->hosts[i], (uint8_t)(1 + i % 3));
	until(w, w->answers == w->host_count - 1, SECOND);
	for (unsigned int n = 0; n < restarts; n++) {
		uint64_t began;

		station_kill(w, 0);
		run(w, random_below(&w->random, 3) * SECOND / 2);
		for (unsigned int i = 1; i < w->host_count; i++)
			w->hosts[i].noted = w->hosts[i].resets;
		station_start(w, 0, 0);
		began = w->timers.now_ns;
		for (unsigned int i = 1; i < w->host_count; i++)
			until(w, w->hosts[i].resets == w->hosts[i].noted + 1, SECOND);
		until(w, sm_is_up(w->stations[0].sm), SECOND);
		assert_int_equal(count(w, 0).members, 0);
		for (unsigned int i = 1; i < w->host_count; i++) {
			walk(w, i, w->hosts[i].mlid);
			for (unsigned int k = 0; k < w->host_count; k++)
				assert_int_equal(w->reached[k], 0);
		}
		w->answers = 0;
		for (unsigned int i = 1; i < w->host_count; i++)
			host_join(&w->hosts[i], (uint8_t)(1 + (i + n) % 3));
		until(w, w->answers == w->host_count - 1, SECOND);
		assert_true(w->timers.now_ns - began < SECOND);
		/* One group at a time. */
		for (unsigned int group = 1; group <= 3; group++) {
			uint16_t mlid = 0;

			for (unsigned int i = 1; i < w->host_count; i++) {
				struct host *h = &w->hosts[i];

				assert_int_equal(h->status, 0);
				h->member = h->group == group;
				mlid = h->member ? h->mlid : mlid;
			}
			expect_group(w, mlid);
		}
		for (unsigned int i = 1; i < w->host_count; i++)
			assert_int_equal(w->hosts[i].resets, w->hosts[i].noted + 1);
	}
	world_destroy(w);
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Everybody at once, in several groups one after another. */
static void a_storm_of_joins_is_answered(void **state)
{
	unsigned int groups = harness_sanitized() ? 1 : 8;
	struct world *w = two_level(12, 12);
	unsigned int due = w->host_count - 1;
	uint64_t began = cpu_ns();

	(void)state;
	for (unsigned int group = 1; group <= groups; group++) {
		w->answers = 0;
		for (unsigned int i = 1; i < w->host_count; i++)
			host_join(&w->hosts[i], (uint8_t)group);
		until(w, w->answers == due, SECOND);
	}
	began = cpu_ns() - began;
	printf("%u joins, %llu ns each with switches and all\n", groups * due,
	       (unsigned long long)(began / (groups * due)));
	assert_int_equal(count(w, 0).members, groups * due);
	expect_group(w, w->hosts[1].mlid);
	world_destroy(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_answered_is_reached),
		cmocka_unit_test(what_is_lost_is_asked_for_again),
		cmocka_unit_test(a_port_without_link_is_no_member),
		cmocka_unit_test(keys_that_do_not_fit_are_reported),
		cmocka_unit_test(who_is_given_the_groups_keeps_them_alive),
		cmocka_unit_test(all_stages_are_needed_to_be_heard),
		cmocka_unit_test(restarts_are_survived),
		cmocka_unit_test(a_storm_of_joins_is_answered),
	};

	return harness_run(tests);
}
