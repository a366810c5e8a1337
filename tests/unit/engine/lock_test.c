// SPDX-License-Identifier: BSD-2-Clause
// ctest: LABELS threads
/*
 * The engine's locks: they exclude, and debug builds end whoever takes them out of order.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/lock.h"
#include "harness/harness.h"

static struct lock lock;
static unsigned long count; /* guarded by lock */

static void *add(void *arg)
{
	for (int i = 0; i < 100000; i++) {
		lock_take(&lock);
		count++;
		lock_drop(&lock);
	}
	return NULL;
}

static void holders_exclude_each_other(void **state)
{
	pthread_t threads[4];

	lock_init(&lock, LOCK_RX);
	count = 0;
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, add, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(count, 400000);
}

static void a_lock_that_is_held_is_not_had_by_trying(void **state)
{
	lock_init(&lock, LOCK_TX);
	assert_true(lock_try(&lock));
	assert_false(lock_try(&lock));
	lock_drop(&lock);
	assert_true(lock_try(&lock));
	lock_drop(&lock);
}

static int status_of(void (*does)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		const struct rlimit none = { 0, 0 };

		setrlimit(RLIMIT_CORE, &none);
		signal(SIGABRT, SIG_DFL);
		does();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void take_in_order(void)
{
	struct lock tx, rx, cq;

	lock_init(&tx, LOCK_TX);
	lock_init(&rx, LOCK_RX);
	lock_init(&cq, LOCK_CQ);
	lock_take(&tx);
	lock_take(&rx);
	lock_take(&cq);
	lock_drop(&rx);
	lock_drop(&cq);
	lock_drop(&tx);
	lock_take(&rx);
}

static void take_out_of_order(void)
{
	struct lock rx, cq;

	lock_init(&rx, LOCK_RX);
	lock_init(&cq, LOCK_CQ);
	lock_take(&cq);
	lock_take(&rx);
}

static void take_two_of_a_rank(void)
{
	struct lock a, b;

	lock_init(&a, LOCK_CQ);
	lock_init(&b, LOCK_CQ);
	lock_take(&a);
	lock_take(&b);
}

static void drop_what_is_not_held(void)
{
	struct lock a;

	lock_init(&a, LOCK_CQ);
	lock_drop(&a);
}

static void the_wrong_order_ends_a_debug_build(void **state)
{
	assert_int_equal(status_of(take_in_order), 0);
#ifdef NDEBUG
	print_message("not checked in this build\n");
	(void)take_out_of_order;
	(void)take_two_of_a_rank;
	(void)drop_what_is_not_held;
#else
	assert_true(WIFSIGNALED(status_of(take_out_of_order)));
	assert_true(WIFSIGNALED(status_of(take_two_of_a_rank)));
	assert_true(WIFSIGNALED(status_of(drop_what_is_not_held)));
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holders_exclude_each_other),
		cmocka_unit_test(a_lock_that_is_held_is_not_had_by_trying),
		cmocka_unit_test(the_wrong_order_ends_a_debug_build),
	};

	return harness_run(tests);
}
