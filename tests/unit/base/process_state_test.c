/* SPDX-License-Identifier: BSD-2-Clause */
/* What /proc tells about a process, whichever of its threads it is that runs. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process_state.h"
#include "harness/harness.h"

static void sleep_for_ever(void)
{
	for (;;)
		pause();
}

static void spin(void)
{
	static volatile unsigned int turns;

	for (;;)
		turns++;
}

static void *spin_thread(void *arg)
{
	spin();
	return arg;
}

static void *sleep_thread(void *arg)
{
	sleep_for_ever();
	return arg;
}

static pid_t start(void (*child_main)(void))
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (nice(19) < 0)
		_exit(1);
	child_main();
	_exit(1);
}

static void expect(pid_t pid, enum process_state state)
{
	harness_until(process_state_of(pid) == state, 20000, harness_pause());
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	expect(pid, PROCESS_ENDED);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(process_state_of(pid), PROCESS_UNKNOWN);
}

static void who_waits_is_asleep_until_it_ends(void **state)
{
	pid_t pid = start(sleep_for_ever);

	expect(pid, PROCESS_ASLEEP);
	end(pid);
}

static void who_wants_a_cpu_is_runnable_unless_stopped(void **state)
{
	pid_t pid = start(spin);

	expect(pid, PROCESS_RUNNABLE);
	kill(pid, SIGSTOP);
	expect(pid, PROCESS_STOPPED);
	kill(pid, SIGCONT);
	expect(pid, PROCESS_RUNNABLE);
	end(pid);
}

/* -- threads ---------------------------------------------------------------------------- */

static void add(void *(*thread_main)(void *arg), unsigned int count)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256u << 10);
	for (unsigned int i = 0; i < count; i++)
		if (pthread_create(&thread, &attr, thread_main, NULL))
			_exit(2);
}

static void spin_in_the_last_of_many(void)
{
	add(sleep_thread, 100);
	add(spin_thread, 1);
	sleep_for_ever();
}

static void leave_a_sleeping_thread(void)
{
	add(sleep_thread, 1);
	pthread_exit(NULL);
}

static void have_too_many(void)
{
	add(sleep_thread, 300);
	sleep_for_ever();
}

static void any_thread_makes_it_runnable(void **state)
{
	pid_t pid = start(spin_in_the_last_of_many);

	expect(pid, PROCESS_RUNNABLE);
	kill(pid, SIGSTOP);
	expect(pid, PROCESS_STOPPED);
	end(pid);
}

static void it_lives_on_without_its_first_thread(void **state)
{
	pid_t pid = start(leave_a_sleeping_thread);

	expect(pid, PROCESS_ASLEEP);
	end(pid);
}

static void of_a_crowd_of_threads_nothing_is_said(void **state)
{
	pid_t pid = start(have_too_many);

	expect(pid, PROCESS_UNKNOWN);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void who_asks_about_its_own_process_does_not_count(void **state)
{
	pthread_t thread;

	expect(getpid(), PROCESS_ASLEEP);
	pthread_create(&thread, NULL, sleep_thread, NULL);
	expect(getpid(), PROCESS_ASLEEP);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}

/* -- what stands in the way --------------------------------------------------------------- */

static void have_a_name_that_lies(void)
{
	prctl(PR_SET_NAME, "a) R (b) R 1 1");
	sleep_for_ever();
}

static void a_name_is_no_state(void **state)
{
	pid_t pid = start(have_a_name_that_lies);

	expect(pid, PROCESS_ASLEEP);
	end(pid);
}

static void what_is_not_there_is_unknown(void **state)
{
	errno = EXDEV;
	assert_int_equal(process_state_of(0), PROCESS_UNKNOWN);
	assert_int_equal(process_state_of(-1), PROCESS_UNKNOWN);
	assert_int_equal(process_state_of(0x7fffffff), PROCESS_UNKNOWN);
	assert_int_equal(errno, EXDEV);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_waits_is_asleep_until_it_ends),
		cmocka_unit_test(who_wants_a_cpu_is_runnable_unless_stopped),
		cmocka_unit_test(any_thread_makes_it_runnable),
		cmocka_unit_test(it_lives_on_without_its_first_thread),
		cmocka_unit_test(of_a_crowd_of_threads_nothing_is_said),
		cmocka_unit_test(who_asks_about_its_own_process_does_not_count),
		cmocka_unit_test(a_name_is_no_state),
		cmocka_unit_test(what_is_not_there_is_unknown),
	};

	return harness_run(tests);
}
