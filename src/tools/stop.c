/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbcast stop: end the site and wait until verbcastd is really gone, files and all.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/pidfd.h"
#include "site/link.h"
#include "site/lock.h"
#include "site/start.h"
#include "tools/command.h"
#include "tools/running_site.h"

#define GONE_WITHIN_MS 60000u

static const char *site = "default";

static const struct option_spec options[] = {
	{ "site", OPTION_STRING, "NAME", "the site to end (default: default)", &site,
	  NULL },
	{ .name = NULL },
};

/* Whom the lock file names: who holds it, or did last. */
struct asked {
	pid_t pid; /* 0: unknown */
	int pidfd; /* -1: unknown */
};

/* The daemon's process, if both the lock file and the socket name the same (a socket made
 * by systemd names systemd). */
static struct asked find_daemon(const struct site_paths *p, int fd)
{
	struct asked a = { .pid = site_lock_read_pid(p->lock), .pidfd = -1 };
	struct ucred who = { .pid = 0 };
	socklen_t bytes = sizeof(who);

	if (a.pid > 0 && !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes) &&
	    who.pid == a.pid)
		a.pidfd = pidfd_open_process(a.pid);
	return a;
}

/* The next site's verbcastd may hold the lock by now, and names itself in it. */
static bool holds(const struct site_paths *p, const struct asked *a)
{
	return site_lock_is_held(p->lock) &&
	       (a->pid <= 0 || site_lock_read_pid(p->lock) == a->pid);
}

/* Its lock is given back at its very end; its process, where known, is then gone too. */
static int wait_until_gone(const struct site_paths *p, const struct asked *a)
{
	uint64_t deadline = clock_now_ns() + GONE_WITHIN_MS * 1000000ull;

	if (a->pidfd >= 0 && pidfd_wait(a->pidfd, (int)GONE_WITHIN_MS) < 0)
		return -ETIMEDOUT;
	while (holds(p, a)) {
		if (clock_now_ns() >= deadline)
			return -ETIMEDOUT;
		poll(NULL, 0, 5);
	}
	return 0;
}

/* One of another version understands no STOP of ours, but a signal. */
static int stop_by_signal(const struct site_paths *p)
{
	struct asked a = { .pidfd = -1 };
	int r;

	if (site_lock_is_held(p->lock))
		a.pid = site_lock_read_pid(p->lock);
	if (a.pid > 0)
		a.pidfd = pidfd_open_process(a.pid);
	/* Held still: so the number is that of the holder, and the descriptor its own. */
	if (a.pidfd < 0 || !site_lock_is_held(p->lock) || kill(a.pid, SIGTERM) < 0)
		r = -ESRCH;
	else
		r = wait_until_gone(p, &a);
	if (a.pidfd >= 0)
		close(a.pidfd);
	return r;
}

static int stop_by_request(const struct site_paths *p, struct site_link *l)
{
	struct asked a = find_daemon(p, l->fd);
	int r = site_link_call(l, UAPI_STOP, NULL, 0, -1, NULL, 0, NULL);

	/* It may have begun to end by itself just now. */
	if (!r || site_link_nobody(r))
		r = wait_until_gone(p, &a);
	if (a.pidfd >= 0)
		close(a.pidfd);
	return r;
}

static int stop_main(int argc, char **argv)
{
	struct site_paths p;
	struct site_link l;
	int status, r;

	if (!running_site_open(&stop_command, argc, argv, &site, &p, &l, &r, &status))
		return status;
	if (r == -EPROTO) {
		r = stop_by_signal(&p);
	} else if (!r) {
		r = stop_by_request(&p, &l);
		site_link_close(&l);
	}
	if (r < 0)
		log_error("site %s does not end: %s", site, strerror(-r));
	return r < 0 ? EXIT_NO_SITE : 0;
}

const struct command stop_command = {
	.name = "stop",
	.synopsis = "[--site NAME]",
	.summary = "End a site; its programs see their devices go",
	.options = options,
	.usage_status = EXIT_USAGE,
	.main = stop_main,
};
