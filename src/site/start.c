/* SPDX-License-Identifier: BSD-2-Clause */
#include "site/start.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "shm/tables.h"
#include "site/install.h"
#include "site/lock.h"

#define START_WITHIN_MS 60000u
#define RETRY_MS        5

/* Names those there are, if the site says. */
static void explain_node(const struct site_paths *p, const char *node)
{
	static const char *const words[] = { "nodes" };
	struct site_link l;
	char *text = NULL;
	int status;

	if (!site_link_open(&l, p, "")) {
		if (site_link_admin(&l, 1, words, &status, &text) < 0 || status)
			text = NULL;
		site_link_close(&l);
	}
	log_error("site %s has no node '%.80s'%s%s", p->name, node,
		  text ? "; it has " : "", text ? text : "");
	free(text);
}

void site_link_explain(const struct site_link *l, const struct site_paths *p,
		       const char *node, int error)
{
	if (error == -EPROTO)
		log_error("the verbcastd of site %s is release %s (protocol %u, layout "
			  "%u), "
			  "this is %s (protocol %u, layout %u): end it with `verbcast "
			  "stop` "
			  "and try again",
			  p->name, l->hello.release, l->hello.version,
			  l->hello.layout_version, VERBCAST_VERSION, UAPI_VERSION,
			  SHM_LAYOUT_VERSION);
	else if (error == -ENODEV)
		explain_node(p, node);
	else if (error == -EACCES)
		log_error("%s: permission denied", p->socket);
	else if (error == -ETIMEDOUT)
		log_error("the verbcastd of site %s does not answer", p->name);
	else if (error == -EUSERS)
		log_error("site %s is full: its limit max_clients is reached", p->name);
	else if (site_link_nobody(error))
		log_error("the verbcastd of site %s hangs up", p->name);
	else
		log_error("site %s: %s", p->name, strerror(-error));
}

/* Hello and lease with whoever listens. */
static int reach(const struct site_start *how, struct site_link *l)
{
	int r;

	r = site_link_open(l, how->paths, how->node);
	if (r < 0)
		return r;
	/* A tool is let in whatever its layout; what we are about to become is not. */
	r = l->hello.layout_version == SHM_LAYOUT_VERSION ? 0 : -EPROTO;
	if (!r)
		r = site_link_lease(l, how->is_private);
	if (r < 0)
		site_link_close(l);
	return r;
}

/* Signals as a program expects them that was started from nowhere. */
static void reset_signals(void)
{
	struct sigaction sa = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		sigaction(sig, &sa, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void become_daemon(const struct site_start *how, const char *daemon, int ready_fd)
{
	const char *argv[9 + SITE_OPTIONS_MAX + 2 * SITE_WIRES_MAX] = {
		daemon,   "--background",   "--yield",
		"--site", how->paths->name, "--ready-fd"
	};
	char fd_text[16];
	int n = 6;

	reset_signals();
	snprintf(fd_text, sizeof(fd_text), "%d", ready_fd);
	argv[n++] = fd_text;
	if (how->is_private)
		argv[n++] = "--private";
	for (unsigned int i = 0; i < how->wire_count && i < SITE_WIRES_MAX; i++) {
		argv[n++] = "--wire";
		argv[n++] = how->wires[i];
	}
	for (unsigned int i = 0; i < SITE_OPTIONS_MAX; i++) {
		if (!how->options || !how->options[i])
			break;
		argv[n++] = how->options[i];
	}
	fcntl(ready_fd, F_SETFD, 0);
	execv(daemon, (char *const *)(uintptr_t)argv);
	log_error("cannot execute %s: %s", daemon, strerror(errno));
	_exit(127);
}

/* Its one line: 0 ready, -EALREADY another runs, -ECHILD it failed, -ETIMEDOUT. */
static int wait_until_ready(int fd, uint64_t deadline)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char line[16] = "";
	size_t at = 0;

	while (!strchr(line, '\n') && at < sizeof(line) - 1) {
		uint64_t now = clock_now_ns();
		ssize_t n;

		if (now >= deadline)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)((deadline - now) / 1000000) + 1) <= 0)
			continue;
		n = read(fd, line + at, sizeof(line) - 1 - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -ECHILD;
		at += (size_t)n;
	}
	return strcmp(line, SITE_READY) ? -EALREADY : 0;
}

static int spawn(const struct site_start *how, uint64_t deadline)
{
	char daemon[SITE_PATH_MAX * 2];
	int ready[2], r;
	pid_t child;

	r = site_install_find_daemon(daemon);
	if (r < 0)
		return r;
	log_debug("nobody serves site %s: starting %s", how->paths->name, daemon);
	if (pipe2(ready, O_CLOEXEC) < 0)
		return -errno;
	child = fork();
	if (child < 0) {
		r = -errno;
		log_error("cannot start verbcastd: %s", strerror(-r));
		close(ready[0]);
		close(ready[1]);
		return r;
	}
	if (!child)
		become_daemon(how, daemon, ready[1]);
	close(ready[1]);
	r = wait_until_ready(ready[0], deadline);
	close(ready[0]);
	if (r == -ETIMEDOUT)
		log_error("verbcastd does not get ready; it is left to itself");
	if (r == -ECHILD)
		log_error("%s did not start", daemon);
	if (r !=
	    -ETIMEDOUT) /* it is in the background, its parent has ended; or it failed */
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	return r;
}

/* Its holder removes it, so that none stays where no daemon came of it. */
static void leave_start(const struct site_paths *p, int lock)
{
	unlink(p->start);
	close(lock);
}

#define AGAIN 1 /* somebody listens by now, or has at least been there */

/* Holding .start: look again, and start it if there is still nobody. 0: reached; AGAIN;
 * or a negative errno that no repetition mends. */
static int start_once(const struct site_start *how, struct site_link *ret,
		      uint64_t deadline)
{
	int lock, r;

	r = site_lock_wait(how->paths->start, true, START_WITHIN_MS, &lock);
	if (r < 0) {
		log_error("%s: %s", how->paths->start, strerror(-r));
		return r;
	}
	r = reach(how, ret);
	if (site_link_nobody(r)) {
		r = spawn(how, deadline);
		/* Reached by the caller, so that all who wait for .start go on now. */
		leave_start(how->paths, lock);
		return !r || r == -EALREADY ? AGAIN : r;
	}
	leave_start(how->paths, lock);
	if (r < 0)
		site_link_explain(ret, how->paths, how->node, r);
	return r;
}

int site_start(const struct site_start *how, struct site_link *ret)
{
	uint64_t deadline = clock_now_ns() + START_WITHIN_MS * 1000000ull;
	int r;

	for (;;) {
		r = reach(how, ret);
		if (!r)
			return 0;
		if (!site_link_nobody(r) || clock_now_ns() >= deadline) {
			site_link_explain(ret, how->paths, how->node, r);
			return r;
		}
		/* Also when one hung up on us: it was ending as we came. */
		r = start_once(how, ret, deadline);
		if (r != AGAIN)
			return r;
		poll(NULL, 0, RETRY_MS);
	}
}
