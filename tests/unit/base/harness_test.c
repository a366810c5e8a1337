// SPDX-License-Identifier: BSD-2-Clause
/* The guard of the harness: what it lets pass means nothing unless it can fail. */
#include "harness/harness.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* What is left here does not end by itself. */
static void expect_noticed(void)
{
	unsigned int patience_ms = harness_guard_patience_ms;

	harness_guard_patience_ms = 1;
	assert_int_equal(harness_guard_end(NULL), -1);
	harness_guard_patience_ms = patience_ms;
}

static void a_descriptor_left_open_is_noticed(void **state)
{
	int fd;

	assert_int_equal(harness_guard_begin(NULL), 0);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	expect_noticed();
	close(fd);
	assert_int_equal(harness_guard_end(NULL), 0);
}

static void a_child_left_running_is_noticed(void **state)
{
	pid_t child;

	assert_int_equal(harness_guard_begin(NULL), 0);
	child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	expect_noticed();
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(harness_guard_end(NULL), 0);
}

static void a_memfd_left_mapped_is_noticed(void **state)
{
	int fd = memfd_create("harness", MFD_CLOEXEC);
	void *map;

	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(harness_guard_begin(NULL), 0);
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	expect_noticed();
	munmap(map, 4096);
	assert_int_equal(harness_guard_end(NULL), 0);
	close(fd);
}

static void *wait_for_byte(void *arg)
{
	char byte;

	return read(*(int *)arg, &byte, 1) == 1 ? arg : NULL;
}

static void a_thread_left_running_is_noticed(void **state)
{
	pthread_t thread;
	int pipes[2];

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(harness_guard_begin(NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_byte, &pipes[0]), 0);
	expect_noticed();
	assert_int_equal(write(pipes[1], "", 1), 1);
	pthread_join(thread, NULL);
	assert_int_equal(harness_guard_end(NULL), 0);
	close(pipes[0]);
	close(pipes[1]);
}

static void counts_follow_the_scale(void **state)
{
	setenv("VERBCAST_SCALE", "soak", 1);
	assert_int_equal(harness_count(3, 100), harness_sanitized() ? 10 : 100);
	setenv("VERBCAST_SCALE", "check", 1);
	assert_int_equal(harness_count(3, 100), 3);
	unsetenv("VERBCAST_SCALE");
	assert_int_equal(harness_count(3, 100), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_descriptor_left_open_is_noticed),
		cmocka_unit_test(a_child_left_running_is_noticed),
		cmocka_unit_test(a_memfd_left_mapped_is_noticed),
		cmocka_unit_test(a_thread_left_running_is_noticed),
		cmocka_unit_test(counts_follow_the_scale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
