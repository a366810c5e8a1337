/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *log_program = "verbcast";
static _Atomic int log_level = -1; /* not yet asked of the environment */
static int log_default = LOG_LEVEL_NONE;
static bool log_waits = true;
static _Atomic unsigned int log_lost; /* lines since one was written */

/* -1: it is not set, or set to what is no level. */
static int level_named(const char *value)
{
	static const char *const names[] = { "none", "error", "warning", "info",
					     "debug" };

	for (int i = 0; value && i < (int)(sizeof(names) / sizeof(names[0])); i++)
		if (!strcmp(value, names[i]))
			return i;
	return -1;
}

static int level_from_environment(void)
{
	int level = level_named(getenv("VERBCAST_LOG"));

	return level < 0 ? log_default : level;
}

void log_open(const char *program, enum log_level level)
{
	const char *value = getenv("VERBCAST_LOG");

	log_program = program;
	log_default = level;
	atomic_store_explicit(&log_level, -1, memory_order_relaxed);
	if (value && *value && level_named(value) < 0)
		log_warning("VERBCAST_LOG: '%.80s' is not one of none, error, warning, "
			    "info and debug",
			    value);
}

enum log_level log_level_get(void)
{
	int level = atomic_load_explicit(&log_level, memory_order_relaxed);

	if (level < 0) {
		level = level_from_environment();
		atomic_store_explicit(&log_level, level, memory_order_relaxed);
	}
	return (enum log_level)level;
}

void log_never_wait(void)
{
	log_waits = false;
}

/* A pipe that is writable has room for PIPE_BUF bytes, and so for any line. */
static bool has_room(void)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };

	return log_waits || poll(&p, 1, 0) != 0;
}

static void write_line(const char *line, size_t bytes)
{
	/* One write, so that lines of several processes do not mix. */
	ssize_t n = write(STDERR_FILENO, line, bytes);

	(void)n; /* there is nobody to tell */
}

static void tell_lost(unsigned int lost)
{
	char line[128];
	int n = snprintf(line, sizeof(line),
			 "%s: warning: %u lines are missing here: nobody read them\n",
			 log_program, lost);

	write_line(line, (size_t)n);
}

static bool may_write(void)
{
	unsigned int lost;

	if (!has_room())
		return false;
	lost = atomic_exchange_explicit(&log_lost, 0, memory_order_relaxed);
	if (!lost)
		return true;
	tell_lost(lost);
	return has_room();
}

void log_print(enum log_level level, const char *format, ...)
{
	static const char *const tags[] = { "", "error: ", "warning: ", "", "debug: " };
	int saved = errno;
	char line[1024];
	va_list ap;
	int n, m;

	n = snprintf(line, sizeof(line), "%s: %s", log_program, tags[level]);
	va_start(ap, format);
	m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, ap);
	va_end(ap);
	n += m < 0 ? 0 : m;
	if (n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	line[n++] = '\n';
	if (may_write())
		write_line(line, (size_t)n);
	else
		atomic_fetch_add_explicit(&log_lost, 1, memory_order_relaxed);
	errno = saved;
}
