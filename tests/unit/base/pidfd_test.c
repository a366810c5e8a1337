/* SPDX-License-Identifier: BSD-2-Clause */
/* Process descriptors tell whose they are. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/pidfd.h"
#include "harness/harness.h"

static int open_own(void)
{
	int fd = pidfd_open_process(getpid());

	if (fd == -ENOSYS)
		harness_skip("this kernel has no process descriptors");
	assert_true(fd >= 0);
	return fd;
}

static void a_descriptor_tells_its_process(void **state)
{
	pid_t pid = 0, inner = 0;
	int fd = open_own();

	assert_int_equal(pidfd_owner(fd, &pid, &inner), 0);
	assert_int_equal(pid, getpid());
	assert_int_equal(inner, getpid());
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
}

static void other_descriptors_are_told_apart(void **state)
{
	pid_t pid = 77, inner = 78;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), ends[2];

	assert_int_equal(pidfd_owner(fd, &pid, &inner), -EBADF);
	close(fd);
	assert_true(pidfd_owner(fd, &pid, &inner) < 0);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(pidfd_owner(ends[0], &pid, &inner), -EBADF);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(pid, 77);
	assert_int_equal(inner, 78);
}

static void a_dead_process_has_no_number(void **state)
{
	pid_t pid, inner, child = fork();
	int fd;

	if (!child)
		for (;;)
			pause();
	fd = pidfd_open_process(child);
	assert_true(fd >= 0);
	assert_int_equal(pidfd_wait(fd, 0), -ETIMEDOUT);
	kill(child, SIGKILL);
	assert_int_equal(pidfd_wait(fd, 10000), 0);
	waitpid(child, NULL, 0);
	assert_int_equal(pidfd_owner(fd, &pid, &inner), -ESRCH);
	close(fd);
	assert_int_equal(pidfd_open_process(child), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_descriptor_tells_its_process),
		cmocka_unit_test(other_descriptors_are_told_apart),
		cmocka_unit_test(a_dead_process_has_no_number),
	};

	return harness_run(tests);
}
