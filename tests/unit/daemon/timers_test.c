/* SPDX-License-Identifier: BSD-2-Clause */
/* The site's timers: their now, their order, and that they leave the loop its turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/list.h"
#include "daemon/timers.h"

#define BUSY_NS 100000u

struct world {
	struct loop *loop;
	struct timers *timers;
	struct loop_timer *guard, *other;
	struct timer timer[64];
	unsigned int ran, wanted, ran_at_io;
	uint64_t other_ns;
};

static struct world *world;

static void give_up(void *arg)
{
	fail_msg("the loop hangs");
}

static int set_up(void **state)
{
	world = calloc(1, sizeof(*world));
	assert_int_equal(loop_create(&world->loop), 0);
	assert_int_equal(timers_create(world->loop, &world->timers), 0);
	assert_int_equal(loop_timer_create(world->loop, give_up, NULL, &world->guard), 0);
	loop_timer_arm(world->guard, 20000);
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	for (size_t i = 0; i < 64; i++)
		if (world->timer[i].queue)
			timer_disarm(&world->timer[i]);
	loop_timer_destroy(world->other);
	loop_timer_destroy(world->guard);
	timers_destroy(world->timers);
	loop_destroy(world->loop);
	free(world);
	return 0;
}

static void count(struct timer *t)
{
	assert_true(t->when_ns <= loop_now_ns(world->loop));
	if (++world->ran == world->wanted)
		loop_stop(world->loop);
}

static void arm(unsigned int n, timer_fn fn, uint64_t delay_ns)
{
	timer_init(&world->timer[n], timers_queue(world->timers), fn);
	timer_arm(&world->timer[n], delay_ns);
}

static void run(unsigned int wanted)
{
	world->wanted = wanted;
	assert_int_equal(loop_run(world->loop), 0);
	assert_int_equal(world->ran, wanted);
}

static void timers_fire_when_due_and_not_before(void **state)
{
	arm(0, count, 0);
	arm(1, count, 1500);
	arm(2, count, 2 * TIMER_MS);
	arm(3, count, 2 * TIMER_MS + 250000);
	run(4);
}

static void an_earlier_one_is_seen(void **state)
{
	arm(0, count, 3600000 * TIMER_MS);
	arm(1, count, TIMER_MS);
	run(1);
	assert_true(world->timer[0].armed);
}

/* The queue would be behind by all the time that the loop slept. */
static void arm_late(void *arg)
{
	struct timer_queue *q = timers_queue(world->timers);

	assert_true(q->now_ns >= world->other_ns + 20 * TIMER_MS);
	arm(0, count, 10 * TIMER_MS);
	assert_true(world->timer[0].when_ns >= world->other_ns + 30 * TIMER_MS);
}

static void delays_count_from_the_callback_in_hand(void **state)
{
	assert_int_equal(loop_timer_create(world->loop, arm_late, NULL, &world->other),
			 0);
	world->other_ns = loop_now_ns(world->loop);
	loop_timer_arm(world->other, 20);
	run(1);
}

static void be_busy(struct timer *t)
{
	uint64_t end = clock_now_ns() + BUSY_NS;

	while (clock_now_ns() < end)
		;
	count(t);
}

static void note_turn(void *arg)
{
	world->ran_at_io = world->ran;
}

static void many_that_are_due_leave_the_loop_its_turn(void **state)
{
	assert_int_equal(loop_timer_create(world->loop, note_turn, NULL, &world->other),
			 0);
	for (unsigned int i = 0; i < 64; i++)
		arm(i, be_busy, 0);
	loop_timer_arm(world->other, 0);
	run(64);
	assert_in_range(world->ran_at_io, 1, 32);
}

static bool never(void *arg)
{
	return false;
}

static bool two(void *arg)
{
	return world->ran >= 2;
}

static void settling_does_what_is_due_and_waits_for_nothing(void **state)
{
	arm(0, count, 0);
	arm(1, count, 3600000 * TIMER_MS);
	timers_settle(world->timers, 10000 * TIMER_MS, never, NULL);
	assert_int_equal(world->ran, 1);
}

static void again(struct timer *t)
{
	world->ran++;
	timer_arm(t, 0);
}

static void settling_ends_when_it_is_enough_or_takes_too_long(void **state)
{
	arm(0, again, 0);
	timers_settle(world->timers, 10000 * TIMER_MS, two, NULL);
	assert_int_equal(world->ran, 2);
	timers_settle(world->timers, TIMER_MS, never, NULL);
	assert_true(world->ran > 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(timers_fire_when_due_and_not_before),
		TEST(an_earlier_one_is_seen),
		TEST(delays_count_from_the_callback_in_hand),
		TEST(many_that_are_due_leave_the_loop_its_turn),
		TEST(settling_does_what_is_due_and_waits_for_nothing),
		TEST(settling_ends_when_it_is_enough_or_takes_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
