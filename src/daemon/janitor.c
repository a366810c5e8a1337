/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/janitor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/process.h"
#include "daemon/sysfs_tree.h"
#include "site/lock.h"

#define WORD_CLEAN      'c'
#define DEATH_WITHIN_MS 60000u
#define RETRY_MS        2

/* Somebody may be about to start the site anew; then the file is his. */
static void remove_if_free(const char *path)
{
	int lock;

	if (site_lock_take(path, false, &lock) < 0)
		return;
	unlink(path);
	close(lock);
}

void janitor_clean(const struct site_paths *p, bool keep_socket)
{
	if (!keep_socket)
		unlink(p->socket);
	sysfs_tree_remove(p->sys);
	remove_if_free(p->start);
	remove_if_free(p->up);
	unlink(p->lock);
}

/* 'c' was said before the end: nothing is left to do. */
static bool wait_for_end(int fd)
{
	bool clean = false;
	char c;
	ssize_t n;

	while ((n = read(fd, &c, 1)) != 0)
		clean |= n == 1 && c == WORD_CLEAN;
	return clean;
}

/* The dying close their descriptors one by one: ours may be gone before the lock is. */
static int take_lock_from(pid_t daemon, const char *path, int *ret_fd)
{
	uint64_t deadline = clock_now_ns() + DEATH_WITHIN_MS * 1000000ull;
	int r;

	for (;;) {
		r = site_lock_take(path, false, ret_fd);
		if (r != -EWOULDBLOCK || site_lock_read_pid(path) != daemon ||
		    clock_now_ns() >= deadline)
			return r;
		poll(NULL, 0, RETRY_MS);
	}
}

static void clean_up_after(pid_t daemon, const struct site_paths *p, bool keep_socket)
{
	int lock;

	/* Not there: somebody has cleaned up. Held: another verbcastd has the site. */
	if (take_lock_from(daemon, p->lock, &lock) < 0)
		return;
	janitor_clean(p, keep_socket);
	close(lock);
}

static void live(pid_t daemon, const struct site_paths *p, bool keep_socket, int fd)
{
	sigset_t all;

	/* A signal to the group, a terminal's or systemd's, is not for us. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "verbcastd-janitor");
	process_close_inherited(fd, 0);
	process_drop_stdio(false);
	if (chdir("/") < 0)
		log_debug("the working directory is kept busy");
	if (!wait_for_end(fd))
		clean_up_after(daemon, p, keep_socket);
	_exit(0);
}

int janitor_start(struct janitor *j, const struct site_paths *p, bool keep_socket)
{
	pid_t daemon = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	j->pid = fork();
	if (j->pid < 0) {
		int r = -errno;

		close(ends[0]);
		close(ends[1]);
		return r;
	}
	if (!j->pid) {
		close(ends[1]);
		live(daemon, p, keep_socket, ends[0]);
	}
	close(ends[0]);
	j->fd = ends[1];
	return 0;
}

void janitor_dismiss(struct janitor *j)
{
	char c = WORD_CLEAN;

	if (write(j->fd, &c, 1) < 0)
		log_debug("the janitor was killed");
	close(j->fd);
	while (waitpid(j->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
