/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/options.h"
#include "site/lock.h"

#define PASSED_FD      3
#define BACKLOG        1024
#define LOCK_WITHIN_MS 30000u
#define RETRY_MS       10

/* -- systemd's ---------------------------------------------------------------------- */

int listen_passed(void)
{
	const char *pid_text = getenv("LISTEN_PID"), *count_text = getenv("LISTEN_FDS");
	unsigned long pid = 0, count = 0;

	if (!pid_text || !count_text || options_number(pid_text, INT32_MAX, &pid) < 0 ||
	    options_number(count_text, INT32_MAX, &count) < 0 ||
	    pid != (unsigned long)getpid())
		count = 0;
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	if (count > 1) {
		log_error("%lu sockets are passed in, one is wanted", count);
		return -EINVAL;
	}
	return (int)count;
}

static void name_of_socket(char name[SITE_NAME_MAX + 1])
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char path[sizeof(addr.sun_path) + 1] = "", *start, *end;
	socklen_t bytes = sizeof(addr);

	name[0] = '\0';
	if (getsockname(PASSED_FD, (struct sockaddr *)&addr, &bytes) < 0)
		return;
	memcpy(path, addr.sun_path, sizeof(addr.sun_path));
	start = strrchr(path, '/');
	start = start ? strchr(start, '.') : NULL;
	end = start ? strrchr(start + 1, '.') : NULL;
	if (!end || strcmp(end, ".sock") != 0)
		return;
	*end = '\0';
	if (!site_name_problem(start + 1))
		snprintf(name, SITE_NAME_MAX + 1, "%.*s", SITE_NAME_MAX, start + 1);
}

int listen_check_passed(char name[SITE_NAME_MAX + 1])
{
	int type = 0, listening = 0, domain = 0;
	socklen_t bytes = sizeof(int);

	getsockopt(PASSED_FD, SOL_SOCKET, SO_TYPE, &type, &bytes);
	getsockopt(PASSED_FD, SOL_SOCKET, SO_ACCEPTCONN, &listening, &bytes);
	getsockopt(PASSED_FD, SOL_SOCKET, SO_DOMAIN, &domain, &bytes);
	if (domain != AF_UNIX || type != SOCK_SEQPACKET || !listening) {
		log_error("what is passed in is no listening Unix socket of sequential "
			  "packets "
			  "(ListenSequentialPacket=)");
		return -ENOTSOCK;
	}
	fcntl(PASSED_FD, F_SETFD, FD_CLOEXEC);
	name_of_socket(name);
	return PASSED_FD;
}

/* -- our own ------------------------------------------------------------------------ */

static int open_socket(const struct site_paths *p, struct sockaddr_un *addr)
{
	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(addr->sun_path, sizeof(addr->sun_path), "%s", p->socket);
	return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* A full backlog counts as an answer. */
static bool somebody_listens(const struct site_paths *p)
{
	struct sockaddr_un addr;
	int fd = open_socket(p, &addr);
	bool yes;

	if (fd < 0)
		return false;
	yes = !connect(fd, (struct sockaddr *)&addr, sizeof(addr)) || errno == EAGAIN;
	close(fd);
	return yes;
}

/*
 * A held lock alone does not mean that somebody serves: its holder may be ending, or be
 * the janitor at work. Then the lock is free in a moment.
 */
int listen_lock(const struct site_paths *p, int *ret_lock_fd)
{
	uint64_t deadline = clock_now_ns() + LOCK_WITHIN_MS * 1000000ull;
	int r;

	for (;;) {
		r = site_lock_take(p->lock, true, ret_lock_fd);
		if (!r)
			r = site_lock_write_pid(*ret_lock_fd, getpid());
		if (!r)
			return 0;
		if (r != -EWOULDBLOCK) {
			log_error("%s: %s", p->lock, strerror(-r));
			return r;
		}
		if (somebody_listens(p)) {
			log_error("site %s is served already, by process %d", p->name,
				  (int)site_lock_read_pid(p->lock));
			return -EALREADY;
		}
		if (clock_now_ns() >= deadline) {
			log_error("process %d holds %s and neither serves nor ends",
				  (int)site_lock_read_pid(p->lock), p->lock);
			return -EBUSY;
		}
		poll(NULL, 0, RETRY_MS);
	}
}

int listen_open(const struct site_paths *p, gid_t gid, int *ret_fd)
{
	struct sockaddr_un addr;
	int fd, r;

	fd = open_socket(p, &addr);
	if (fd < 0)
		return -errno;
	unlink(p->socket); /* stale: we hold the lock */
	/* umask 077 is set: nobody else gets in before chmod. */
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		goto fail;
	if (gid != (gid_t)-1 &&
	    (chown(p->socket, (uid_t)-1, gid) < 0 || chmod(p->socket, 0660) < 0))
		goto fail;
	if (listen(fd, BACKLOG) < 0)
		goto fail;
	*ret_fd = fd;
	return 0;

fail:
	r = -errno;
	log_error("cannot listen on %s: %s", p->socket, strerror(-r));
	close(fd);
	return r;
}
