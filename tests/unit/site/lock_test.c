/* SPDX-License-Identifier: BSD-2-Clause */
/* Lock files: one holder, whatever is removed or killed meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/harness.h"
#include "site/lock.h"

static char dir[64], path[96];

static int set_up(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/verbcast-lock.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/lock", dir);
	return 0;
}

static int tear_down(void **state)
{
	unlink(path);
	return rmdir(dir);
}

static void one_holds_it_at_a_time(void **state)
{
	int first, second;

	assert_int_equal(site_lock_take(path, true, &first), 0);
	assert_int_equal(site_lock_take(path, true, &second), -EWOULDBLOCK);
	assert_int_equal(site_lock_wait(path, true, 20, &second), -ETIMEDOUT);
	assert_true(site_lock_is_held(path));
	close(first);
	assert_false(site_lock_is_held(path));
	assert_int_equal(site_lock_take(path, true, &second), 0);
	close(second);
}

static void without_create_there_must_be_a_file(void **state)
{
	int fd;

	assert_int_equal(site_lock_take(path, false, &fd), -ENOENT);
	assert_false(site_lock_is_held(path));
	assert_int_equal(access(path, F_OK), -1);
}

static void the_number_of_the_holder_can_be_read(void **state)
{
	int fd;

	assert_int_equal(site_lock_read_pid(path), 0);
	assert_int_equal(site_lock_take(path, true, &fd), 0);
	assert_int_equal(site_lock_read_pid(path), 0);
	assert_int_equal(site_lock_write_pid(fd, 123456), 0);
	assert_int_equal(site_lock_write_pid(fd, 42), 0);
	assert_int_equal(site_lock_read_pid(path), 42);
	close(fd);
}

static void a_removed_lock_file_locks_nobody(void **state)
{
	int old, new, third;

	assert_int_equal(site_lock_take(path, true, &old), 0);
	unlink(path);
	assert_int_equal(site_lock_take(path, true, &new), 0);
	assert_int_equal(site_lock_take(path, true, &third), -EWOULDBLOCK);
	close(old);
	assert_int_equal(site_lock_take(path, true, &third), -EWOULDBLOCK);
	close(new);
}

static void a_killed_holder_gives_it_back(void **state)
{
	int ready[2], fd;
	pid_t child;
	char c;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (!child) {
		if (site_lock_take(path, true, &fd) || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(site_lock_take(path, true, &fd), -EWOULDBLOCK);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(site_lock_take(path, true, &fd), 0);
	close(fd);
	close(ready[0]);
	close(ready[1]);
}

/* Each takes the lock, finds itself alone, removes the file and goes. */
static void contend(int alone_fd, unsigned int rounds)
{
	for (unsigned int i = 0; i < rounds; i++) {
		char c = 'x';
		int fd;

		if (site_lock_wait(path, true, 20000, &fd))
			_exit(1);
		/* A pipe of one token, which nobody else may have taken now. */
		if (read(alone_fd, &c, 1) != 1)
			_exit(2);
		if (write(alone_fd + 1, &c, 1) != 1)
			_exit(3);
		unlink(path);
		close(fd);
	}
	_exit(0);
}

static void many_who_remove_the_file_still_exclude_each_other(void **state)
{
	unsigned int rounds = harness_count(200, 5000);
	int token[2], status, flags_failed = 0;
	pid_t children[4];

	assert_int_equal(pipe2(token, O_NONBLOCK), 0);
	assert_int_equal(token[1], token[0] + 1);
	assert_int_equal(write(token[1], "x", 1), 1);
	for (int i = 0; i < 4; i++) {
		children[i] = fork();
		if (!children[i])
			contend(token[0], rounds);
	}
	for (int i = 0; i < 4; i++) {
		waitpid(children[i], &status, 0);
		flags_failed |= status;
	}
	assert_int_equal(flags_failed, 0);
	close(token[0]);
	close(token[1]);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(one_holds_it_at_a_time),
		T(without_create_there_must_be_a_file),
		T(the_number_of_the_holder_can_be_read),
		T(a_removed_lock_file_locks_nobody),
		T(a_killed_holder_gives_it_back),
		T(many_who_remove_the_file_still_exclude_each_other),
	};

	return harness_run(tests);
}
