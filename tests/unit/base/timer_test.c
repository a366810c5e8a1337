/* SPDX-License-Identifier: BSD-2-Clause */
/* Timers: their order against a sorted model, and what is armed while they run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/list.h"
#include "base/random.h"
#include "base/timer.h"

#define COUNT 300

struct item {
	struct timer timer;
	unsigned int ran;
};

struct world {
	struct timer_queue queue;
	struct item items[COUNT];
	uint64_t last_when, last_serial;
	unsigned int earlier;
};

static struct world *world;

static void earlier(void *arg)
{
	((struct world *)arg)->earlier++;
}

static void in_order(struct timer *t)
{
	struct item *item = container_of(t, struct item, timer);

	assert_true(t->when_ns <= world->queue.now_ns);
	assert_true(t->when_ns > world->last_when ||
		    (t->when_ns == world->last_when && t->serial > world->last_serial));
	world->last_when = t->when_ns;
	world->last_serial = t->serial;
	item->ran++;
}

static int set_up(void **state)
{
	world = calloc(1, sizeof(*world));
	timer_queue_init(&world->queue, 1000, earlier, world);
	for (int i = 0; i < COUNT; i++)
		timer_init(&world->items[i].timer, &world->queue, in_order);
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static void any_order_of_arming_runs_by_time(void **state)
{
	struct world *w = *state;
	unsigned int armed[COUNT] = { 0 };
	struct random r;

	random_seed(&r, 7);
	for (int round = 0; round < 200; round++) {
		for (int n = 0; n < 50; n++) {
			uint64_t i = random_below(&r, COUNT);

			if (random_chance(&r, 300000)) {
				armed[i] -= w->items[i].timer.armed;
				timer_disarm(&w->items[i].timer);
			} else {
				armed[i] += !w->items[i].timer.armed;
				timer_arm(&w->items[i].timer, random_below(&r, 40));
			}
		}
		timer_queue_run(&w->queue, w->queue.now_ns + random_below(&r, 30));
		assert_true(timer_queue_next(&w->queue) > w->queue.now_ns);
	}
	timer_queue_run(&w->queue, w->queue.now_ns + 1000);
	assert_true(timer_queue_next(&w->queue) == UINT64_MAX);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(w->items[i].ran, armed[i]);
}

static void again(struct timer *t)
{
	container_of(t, struct item, timer)->ran++;
	timer_arm(t, 0);
}

static void what_is_armed_meanwhile_waits_for_the_next_run(void **state)
{
	struct world *w = *state;

	timer_init(&w->items[0].timer, &w->queue, again);
	timer_arm(&w->items[0].timer, 0);
	for (unsigned int i = 1; i < 4; i++) {
		timer_queue_run(&w->queue, w->queue.now_ns);
		assert_int_equal(w->items[0].ran, i);
	}
	assert_true(timer_queue_next(&w->queue) == w->queue.now_ns);
}

static void the_driver_hears_of_an_earlier_timer_only(void **state)
{
	struct world *w = *state;

	timer_arm(&w->items[0].timer, 10);
	timer_arm(&w->items[1].timer, 20);
	assert_int_equal(w->earlier, 1);
	timer_arm(&w->items[2].timer, 5);
	assert_int_equal(w->earlier, 2);
}

static void a_bounded_run_goes_on_where_it_stopped(void **state)
{
	struct world *w = *state;

	for (uint64_t i = 0; i < 10; i++)
		timer_arm(&w->items[i].timer, i);
	assert_true(timer_queue_run_some(&w->queue, 2000, 4));
	assert_int_equal(w->items[3].ran + w->items[4].ran, 1);
	assert_true(timer_queue_run_some(&w->queue, 2000, 5));
	assert_false(timer_queue_run_some(&w->queue, 2000, 1));
	assert_int_equal(w->items[9].ran, 1);
}

static void delays_count_from_an_advanced_now(void **state)
{
	struct world *w = *state;

	timer_queue_advance(&w->queue, 5000);
	timer_queue_advance(&w->queue, 4000);
	timer_arm(&w->items[0].timer, 10);
	assert_int_equal(timer_queue_next(&w->queue), 5010);
}

static void a_seed_repeats_and_bounds_hold(void **state)
{
	struct random a, b;
	unsigned int seen[10] = { 0 };

	random_seed(&a, 1);
	random_seed(&b, 1);
	for (int i = 0; i < 10000; i++) {
		uint64_t x = random_below(&a, 10);

		assert_true(x == random_below(&b, 10));
		assert_true(x < 10);
		seen[x]++;
	}
	for (int i = 0; i < 10; i++)
		assert_in_range(seen[i], 850, 1150);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(any_order_of_arming_runs_by_time),
		T(what_is_armed_meanwhile_waits_for_the_next_run),
		T(the_driver_hears_of_an_earlier_timer_only),
		T(a_bounded_run_goes_on_where_it_stopped),
		T(delays_count_from_an_advanced_now),
		T(a_seed_repeats_and_bounds_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
