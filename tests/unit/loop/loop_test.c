/* SPDX-License-Identifier: BSD-2-Clause */
/* The event loop: order of deferred calls, timers, descriptors, signals. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "loop/loop.h"

struct world {
	struct loop *loop;
	struct loop_timer *timers[4];
	struct loop_timer *guard; /* ends a test that would hang */
	struct loop_io *io;
	struct loop_signal *signal;
	int pair[2];
	char trace[64];
	bool timed_out;
};

static void note(struct world *w, char c)
{
	size_t n = strlen(w->trace);

	assert_true(n + 1 < sizeof(w->trace));
	w->trace[n] = c;
}

static void give_up(void *arg)
{
	struct world *w = arg;

	w->timed_out = true;
	loop_stop(w->loop);
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_int_equal(loop_create(&w->loop), 0);
	assert_int_equal(loop_timer_create(w->loop, give_up, w, &w->guard), 0);
	loop_timer_arm(w->guard, 10000);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, w->pair),
			 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 4; i++)
		loop_timer_destroy(w->timers[i]);
	loop_timer_destroy(w->guard);
	loop_io_destroy(w->io);
	loop_signal_destroy(w->signal);
	loop_destroy(w->loop);
	close(w->pair[0]);
	close(w->pair[1]);
	free(w);
	return 0;
}

static void run(struct world *w)
{
	assert_int_equal(loop_run(w->loop), 0);
	assert_false(w->timed_out);
}

static void a(void *arg)
{
	note(arg, 'a');
}

static void b(void *arg)
{
	note(arg, 'b');
}

static void stop(void *arg)
{
	struct world *w = arg;

	note(w, '.');
	loop_stop(w->loop);
}

static void deferred_calls_run_in_the_order_of_arming(void **state)
{
	struct world *w = *state;

	loop_timer_create(w->loop, a, w, &w->timers[0]);
	loop_timer_create(w->loop, b, w, &w->timers[1]);
	loop_timer_create(w->loop, stop, w, &w->timers[2]);
	loop_timer_arm(w->timers[0], 0);
	loop_timer_arm(w->timers[1], 0);
	loop_timer_arm(w->timers[2], 0);
	loop_timer_arm(w->timers[0], 0); /* again: moves behind `stop` */
	loop_timer_arm(w->timers[2], 0); /* and `stop` behind that */
	run(w);
	assert_string_equal(w->trace, "ba.");
}

static void again(void *arg)
{
	struct world *w = arg;

	note(w, 'x');
	if (strlen(w->trace) < 5)
		loop_timer_arm(w->timers[0], 0);
	else
		loop_stop(w->loop);
}

static void a_deferred_call_may_arm_itself(void **state)
{
	struct world *w = *state;

	loop_timer_create(w->loop, again, w, &w->timers[0]);
	loop_timer_arm(w->timers[0], 0);
	run(w);
	assert_string_equal(w->trace, "xxxxx");
}

static void destroy_both(void *arg)
{
	struct world *w = arg;

	note(w, 'd');
	loop_timer_destroy(w->timers[0]);
	loop_timer_destroy(w->timers[1]);
	w->timers[0] = NULL;
	w->timers[1] = NULL;
}

static void a_callback_may_destroy_itself_and_others(void **state)
{
	struct world *w = *state;

	loop_timer_create(w->loop, destroy_both, w, &w->timers[0]);
	loop_timer_create(w->loop, b, w, &w->timers[1]);
	loop_timer_create(w->loop, stop, w, &w->timers[2]);
	for (int i = 0; i < 3; i++)
		loop_timer_arm(w->timers[i], 0);
	run(w);
	assert_string_equal(w->trace, "d.");
}

static void a_disarmed_timer_does_not_run(void **state)
{
	struct world *w = *state;

	loop_timer_create(w->loop, a, w, &w->timers[0]);
	loop_timer_create(w->loop, b, w, &w->timers[1]);
	loop_timer_create(w->loop, stop, w, &w->timers[2]);
	loop_timer_arm(w->timers[0], 0);
	loop_timer_arm(w->timers[1], 1);
	loop_timer_arm(w->timers[2], 20);
	loop_timer_disarm(w->timers[0]);
	loop_timer_disarm(w->timers[1]);
	run(w);
	assert_string_equal(w->trace, ".");
}

static void timers_run_by_time_and_not_early(void **state)
{
	struct world *w = *state;
	uint64_t start;

	loop_timer_create(w->loop, a, w, &w->timers[0]);
	loop_timer_create(w->loop, b, w, &w->timers[1]);
	loop_timer_create(w->loop, stop, w, &w->timers[2]);
	/* Their order holds while arming takes less than lies between two of them. */
	do {
		start = loop_now_ns(w->loop);
		loop_timer_arm(w->timers[2], 30);
		loop_timer_arm(w->timers[1], 15);
		loop_timer_arm(w->timers[0], 5);
	} while (loop_now_ns(w->loop) - start >= 5u * 1000000u);
	run(w);
	assert_string_equal(w->trace, "ab.");
	assert_true(loop_now_ns(w->loop) - start >= 30u * 1000000u);
}

static void readable(void *arg, unsigned int events)
{
	struct world *w = arg;
	char c;

	assert_true(events & LOOP_READ);
	if (recv(w->pair[0], &c, 1, MSG_DONTWAIT) == 1)
		note(w, c);
	else
		loop_stop(w->loop);
}

static void a_descriptor_is_level_triggered_and_tells_its_end(void **state)
{
	struct world *w = *state;

	assert_int_equal(
		loop_io_create(w->loop, w->pair[0], LOOP_READ, readable, w, &w->io), 0);
	assert_int_equal(send(w->pair[1], "1", 1, 0), 1);
	assert_int_equal(send(w->pair[1], "2", 1, 0), 1);
	shutdown(w->pair[1], SHUT_RDWR);
	run(w);
	assert_string_equal(w->trace, "12");
}

static void writable(void *arg, unsigned int events)
{
	struct world *w = arg;

	if (events & LOOP_WRITE) {
		note(w, 'w');
		assert_int_equal(loop_io_modify(w->io, 0), 0);
		loop_timer_arm(w->timers[0], 5);
	}
}

static void a_descriptor_without_events_is_left_alone(void **state)
{
	struct world *w = *state;

	loop_timer_create(w->loop, stop, w, &w->timers[0]);
	assert_int_equal(loop_io_create(w->loop, w->pair[0], 0, writable, w, &w->io), 0);
	assert_int_equal(loop_io_modify(w->io, LOOP_WRITE), 0);
	run(w);
	assert_string_equal(w->trace, "w.");
}

static void a_signal_arrives_in_the_loop(void **state)
{
	struct world *w = *state;

	assert_int_equal(loop_signal_create(w->loop, SIGUSR1, stop, w, &w->signal), 0);
	raise(SIGUSR1);
	run(w);
	assert_string_equal(w->trace, ".");
}

static void due(void *arg, unsigned int events)
{
	struct world *w = arg;

	note(w, 'i');
	loop_io_destroy(w->io);
	w->io = NULL;
}

static void what_is_already_due_runs_before_deferred_calls(void **state)
{
	struct world *w = *state;

	loop_timer_create(w->loop, stop, w, &w->timers[0]);
	loop_timer_arm(w->timers[0], 0);
	assert_int_equal(send(w->pair[1], "1", 1, 0), 1);
	assert_int_equal(loop_io_create(w->loop, w->pair[0], LOOP_READ, due, w, &w->io),
			 0);
	run(w);
	assert_string_equal(w->trace, "i.");
}

static void before(void *arg)
{
	note(arg, 'b');
}

static void every_callback_is_announced(void **state)
{
	struct world *w = *state;

	loop_before_each(w->loop, before, w);
	loop_timer_create(w->loop, a, w, &w->timers[0]);
	loop_timer_create(w->loop, stop, w, &w->timers[1]);
	loop_timer_arm(w->timers[0], 0);
	loop_timer_arm_ns(w->timers[1], 1);
	assert_int_equal(send(w->pair[1], "1", 1, 0), 1);
	assert_int_equal(loop_io_create(w->loop, w->pair[0], LOOP_READ, due, w, &w->io),
			 0);
	run(w);
	loop_before_each(w->loop, NULL, NULL);
	for (const char *c = w->trace; *c; c += 2)
		assert_true(c[0] == 'b' && c[1] && c[1] != 'b');
}

static void take_long(void *arg)
{
	uint64_t end = clock_now_ns() + 20000000;

	while (clock_now_ns() < end)
		;
}

static void the_longest_turn_is_kept(void **state)
{
	struct world *w = *state;

	loop_timer_create(w->loop, take_long, w, &w->timers[0]);
	loop_timer_create(w->loop, stop, w, &w->timers[1]);
	assert_int_equal(loop_longest_turn_ns(w->loop), 0);
	loop_timer_arm(w->timers[0], 0);
	loop_timer_arm(w->timers[1], 1);
	run(w);
	assert_true(loop_longest_turn_ns(w->loop) >= 20000000);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(deferred_calls_run_in_the_order_of_arming),
		T(a_deferred_call_may_arm_itself),
		T(a_callback_may_destroy_itself_and_others),
		T(a_disarmed_timer_does_not_run),
		T(timers_run_by_time_and_not_early),
		T(a_descriptor_is_level_triggered_and_tells_its_end),
		T(a_descriptor_without_events_is_left_alone),
		T(a_signal_arrives_in_the_loop),
		T(what_is_already_due_runs_before_deferred_calls),
		T(every_callback_is_announced),
		T(the_longest_turn_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
