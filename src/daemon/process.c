/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/options.h"
#include "site/start.h"

#define FIRST_FD 3

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* Before Linux 5.9 there is no close_range(2). */
static void close_listed(int first, int last)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		int fd = atoi(d->d_name);

		if (fd >= first && fd <= last && fd != dirfd(dir))
			close(fd);
	}
	if (dir)
		closedir(dir);
}

static void close_between(int first, int last)
{
	if (first > last)
		return;
	if (syscall(SYS_close_range, first, last, 0) < 0)
		close_listed(first, last);
}

void process_close_inherited(int keep_fd, int listen_count)
{
	int first = FIRST_FD + listen_count, fd;

	if (keep_fd >= first) {
		close_between(first, keep_fd - 1);
		close_between(keep_fd + 1, INT32_MAX);
		fcntl(keep_fd, F_SETFD, FD_CLOEXEC);
	} else {
		close_between(first, INT32_MAX);
	}
	/* Nothing of ours may become 0, 1 or 2. */
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd < FIRST_FD);
	if (fd >= 0)
		close(fd);
}

void process_drop_stdio(bool keep_output)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return;
	dup2(fd, STDIN_FILENO);
	if (!keep_output) {
		dup2(fd, STDOUT_FILENO);
		dup2(fd, STDERR_FILENO);
	}
	close(fd);
}

/* The parent's part: the child's line (site/start.h) tells how to exit. */
static void exit_with_report(int fd)
{
	char line[16];
	ssize_t n;

	do
		n = read(fd, line, sizeof(line));
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		_exit(DAEMON_EXIT_FAILED); /* it has said why */
	_exit(n == (ssize_t)strlen(SITE_READY) && !memcmp(line, SITE_READY, (size_t)n)
		      ? 0
		      : DAEMON_EXIT_RUNNING);
}

int process_background(int *ret_report_fd)
{
	int report[2];
	pid_t child;

	if (pipe2(report, O_CLOEXEC) < 0)
		return -errno;
	child = fork();
	if (child < 0) {
		int r = -errno;

		close(report[0]);
		close(report[1]);
		return r;
	}
	if (child) {
		close(report[1]);
		exit_with_report(report[0]);
	}
	close(report[0]);
	setsid();
	process_drop_stdio(true);
	*ret_report_fd = report[1];
	return 0;
}

/* Limits meant for the starter's own work; those of memory locking stay. */
static void lift_limits(void)
{
	static const int lifted[] = { RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_CPU, RLIMIT_AS,
				      RLIMIT_DATA };
	struct rlimit limit;

	for (size_t i = 0; i < sizeof(lifted) / sizeof(lifted[0]); i++) {
		if (getrlimit(lifted[i], &limit) < 0)
			continue;
		limit.rlim_cur = limit.rlim_max;
		setrlimit(lifted[i], &limit);
	}
}

void process_settle(void)
{
	struct sigaction sa = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		sigaction(sig, &sa, NULL);
	sa.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &sa, NULL);
	sigaction(SIGXFSZ, &sa, NULL); /* the errno is enough */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	umask(077);
	if (chdir("/") < 0)
		return; /* then we keep a directory busy, no more */
	lift_limits();
}
