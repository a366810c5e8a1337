/* SPDX-License-Identifier: BSD-2-Clause */
#include "site/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

#define RETRY_MS 5

/* Is `fd` still the file that `path` names? Its last holder may have removed it between
 * our open and our lock. */
static bool is_current(int fd, const char *path)
{
	struct stat held, named;

	return !fstat(fd, &held) && !stat(path, &named) && held.st_ino == named.st_ino &&
	       held.st_dev == named.st_dev;
}

int site_lock_take(const char *path, bool create, int *ret_fd)
{
	int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (create ? O_CREAT : 0);

	for (;;) {
		int fd = open(path, flags, 0600);
		int r = 0;

		if (fd < 0)
			return -errno;
		if (flock(fd, LOCK_EX | LOCK_NB) < 0)
			r = -errno;
		else if (is_current(fd, path)) {
			*ret_fd = fd;
			return 0;
		}
		close(fd);
		if (r < 0 && r != -EINTR)
			return r;
	}
}

int site_lock_wait(const char *path, bool create, unsigned int timeout_ms, int *ret_fd)
{
	uint64_t deadline = clock_now_ns() + timeout_ms * 1000000ull;
	int r;

	for (;;) {
		r = site_lock_take(path, create, ret_fd);
		if (r != -EWOULDBLOCK)
			return r;
		if (clock_now_ns() >= deadline)
			return -ETIMEDOUT;
		poll(NULL, 0, RETRY_MS);
	}
}

bool site_lock_is_held(const char *path)
{
	bool held;
	int fd;

	/* Shared, so that two who ask do not take each other for the holder. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	held = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	close(fd);
	return held;
}

int site_lock_write_pid(int fd, pid_t pid)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%d\n", (int)pid);

	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)n, 0) != n)
		return -errno;
	return 0;
}

pid_t site_lock_read_pid(const char *path)
{
	char text[32];
	ssize_t n;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	return (pid_t)strtol(text, NULL, 10);
}
