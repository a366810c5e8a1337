/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/pidfd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

int pidfd_open_process(pid_t pid)
{
	long fd = syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : (int)fd;
}

/* The rest of the line that begins with `key`, or null. */
static const char *line_of(const char *text, const char *key)
{
	size_t n = strlen(key);

	while (text && strncmp(text, key, n)) {
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	return text ? text + n : NULL;
}

/* The last number of a line: of "NSpid:\t4711\t12" the innermost space's. */
static long last_number(const char *s)
{
	long value = -1;
	char *end;

	for (;; s = end) {
		while (*s == ' ' || *s == '\t')
			s++;
		if (*s < '0' || *s > '9')
			return value;
		value = strtol(s, &end, 10);
	}
}

int pidfd_owner(int fd, pid_t *ret_pid, pid_t *ret_inner)
{
	char path[64], text[1024];
	const char *pid, *inner;
	ssize_t n;
	int info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = open(path, O_RDONLY | O_CLOEXEC);
	if (info < 0)
		return -errno;
	n = read(info, text, sizeof(text) - 1);
	close(info);
	if (n < 0)
		return -EIO;
	text[n] = '\0';
	pid = line_of(text, "Pid:");
	if (!pid)
		return -EBADF;
	inner = line_of(text, "NSpid:");
	if (last_number(pid) <= 0)
		return -ESRCH;
	*ret_pid = (pid_t)last_number(pid);
	*ret_inner =
		inner && last_number(inner) > 0 ? (pid_t)last_number(inner) : *ret_pid;
	return 0;
}

int pidfd_wait(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int r;

	do
		r = poll(&p, 1, timeout_ms);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	return r ? 0 : -ETIMEDOUT;
}
