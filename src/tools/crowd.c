/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/crowd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "tools/command.h"

#define LINE_MAX_BYTES 4096u /* of output without an end that are held back */

/* What one copy writes to one of its two outputs. */
struct stream {
	const char *node;
	int fd; /* -1: ended */
	FILE *to;
	char line[LINE_MAX_BYTES];
	size_t length;
};

struct crowd {
	unsigned int count;
	volatile pid_t pids[CROWD_MAX]; /* 0: has ended */
	struct stream *streams;         /* two a copy */
	struct pollfd *polls;
};

/* -- names --------------------------------------------------------------------------- */

static int add_name(char *names[CROWD_MAX], unsigned int *count, char *name)
{
	if (*count == CROWD_MAX || !name || !*name) {
		free(name);
		return -EINVAL;
	}
	names[(*count)++] = name;
	return 0;
}

/* "h1-h4", "h1-4": the same letters, numbers that rise. */
static int add_range(const char *word, size_t length, char *names[CROWD_MAX],
		     unsigned int *count)
{
	const char *dash = memchr(word, '-', length);
	size_t letters = strcspn(word, "0123456789");
	unsigned long from, to;
	const char *second;
	char *end, *name;

	if (!dash || letters >= (size_t)(dash - word))
		return -EINVAL;
	from = strtoul(word + letters, &end, 10);
	if (end != dash)
		return -EINVAL;
	second = dash + 1;
	if (!strncmp(second, word, letters))
		second += letters;
	if (*second < '0' || *second > '9')
		return -EINVAL;
	to = strtoul(second, &end, 10);
	if (end != word + length || from > to || to - from >= CROWD_MAX)
		return -EINVAL;
	for (; from <= to; from++) {
		if (asprintf(&name, "%.*s%lu", (int)letters, word, from) < 0)
			return -ENOMEM;
		if (add_name(names, count, name) < 0)
			return -EINVAL;
	}
	return 0;
}

int crowd_expand(const char *list, char *names[CROWD_MAX], unsigned int *ret_count)
{
	*ret_count = 0;
	for (;;) {
		size_t length = strcspn(list, ",");
		int r = add_range(list, length, names, ret_count);

		/* A name may have a dash in it. */
		if (r == -EINVAL)
			r = add_name(names, ret_count, strndup(list, length));
		if (r < 0)
			return r;
		if (!list[length])
			return 0;
		list += length + 1;
	}
}

/* -- output -------------------------------------------------------------------------- */

static void write_line(struct stream *s, size_t length)
{
	fprintf(s->to, "%s: %.*s\n", s->node, (int)length, s->line);
	fflush(s->to);
}

static void write_lines(struct stream *s)
{
	char *end;

	while ((end = memchr(s->line, '\n', s->length))) {
		size_t length = (size_t)(end - s->line);

		write_line(s, length);
		s->length -= length + 1;
		memmove(s->line, end + 1, s->length);
	}
	if (s->length == sizeof(s->line)) {
		write_line(s, s->length);
		s->length = 0;
	}
}

static void read_stream(struct stream *s)
{
	ssize_t n = read(s->fd, s->line + s->length, sizeof(s->line) - s->length);

	if (n > 0) {
		s->length += (size_t)n;
		write_lines(s);
	} else if (!n || errno != EINTR) {
		if (s->length)
			write_line(s, s->length);
		close(s->fd);
		s->fd = -1;
	}
}

static bool wait_for_output(struct crowd *c)
{
	bool any = false;

	for (unsigned int i = 0; i < 2 * c->count; i++) {
		c->polls[i] = (struct pollfd){ c->streams[i].fd, POLLIN, 0 };
		any |= c->streams[i].fd >= 0;
	}
	if (any && poll(c->polls, 2 * c->count, -1) > 0)
		for (unsigned int i = 0; i < 2 * c->count; i++)
			if (c->polls[i].revents)
				read_stream(&c->streams[i]);
	return any;
}

/* -- the copies ---------------------------------------------------------------------- */

/* A copy ends with who has started it, by whatever that dies. */
static void become_copy(const char *node, pid_t starter, const int out[2],
			crowd_fn become, char **argv)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != starter)
		_exit(EXIT_RUN_FAILED);
	if (null < 0 || dup2(null, 0) < 0 || dup2(out[0], 1) < 0 || dup2(out[1], 2) < 0)
		_exit(EXIT_RUN_FAILED);
	_exit(become(node, argv));
}

static int start_copy(struct crowd *c, unsigned int n, const char *node, crowd_fn become,
		      char **argv)
{
	pid_t starter = getpid();
	int out[2], err[2];

	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
		return -errno;
	c->pids[n] = fork();
	if (c->pids[n] < 0)
		return -errno;
	if (!c->pids[n])
		become_copy(node, starter, (const int[2]){ out[1], err[1] }, become,
			    argv);
	close(out[1]);
	close(err[1]);
	c->streams[2 * n] = (struct stream){ .node = node, .fd = out[0], .to = stdout };
	c->streams[2 * n + 1] =
		(struct stream){ .node = node, .fd = err[0], .to = stderr };
	c->count++;
	return 0;
}

/* Signals are passed on to whom we still have to wait for: its number is nobody else's. */
static int exit_status(volatile pid_t *at)
{
	pid_t pid = *at;
	siginfo_t ended;
	int status;

	while (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT) < 0)
		if (errno != EINTR)
			return EXIT_RUN_FAILED;
	*at = 0;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_RUN_FAILED;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Whoever ends us by a signal means all of us. */
static volatile pid_t *to_end;
static volatile sig_atomic_t to_end_count;

static void pass_on(int signum)
{
	for (int i = 0; i < to_end_count; i++)
		if (to_end[i])
			kill(to_end[i], signum);
}

static void pass_signals_on(struct crowd *c)
{
	static const int signums[] = { SIGTERM, SIGINT, SIGHUP };
	struct sigaction sa = { .sa_handler = pass_on };

	to_end = c->pids;
	to_end_count = (sig_atomic_t)c->count;
	for (int i = 0; i < 3; i++)
		sigaction(signums[i], &sa, NULL);
}

int crowd_run(char *const *names, unsigned int count, crowd_fn become, char **argv)
{
	struct crowd c = { .streams = calloc(2 * count, sizeof(struct stream)),
			   .polls = calloc(2 * count, sizeof(struct pollfd)) };
	int r = c.streams && c.polls ? 0 : -ENOMEM, status = 0;

	for (unsigned int n = 0; n < count && !r; n++)
		r = start_copy(&c, n, names[n], become, argv);
	pass_signals_on(&c);
	if (r < 0) {
		log_error("cannot start one copy a node: %s", strerror(-r));
		pass_on(SIGTERM);
		status = EXIT_RUN_FAILED;
	}
	while (wait_for_output(&c))
		;
	for (unsigned int n = 0; n < c.count; n++) {
		int one = exit_status(&c.pids[n]);

		status = status ? status : one;
	}
	to_end_count = 0;
	free(c.streams);
	free(c.polls);
	return status;
}
