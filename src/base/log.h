/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The log: one line a call, to standard error, or nowhere.
 *
 * The level is taken from VERBCAST_LOG (none, error, warning, info, debug) at the first call.
 * Without it a program of ours logs warnings, and a library in somebody else's process
 * logs nothing at all: it does not speak uninvited. The first function that knows the
 * cause logs it; callers stay silent.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum log_level {
	LOG_LEVEL_NONE = 0,
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

/* Name and default level of a program of ours; libraries never call it. Warns of a
 * VERBCAST_LOG that says nothing. */
void log_open(const char *program, enum log_level level);
/* From now on a line that standard error has no room for is left out, and later ones say
 * how many were: for who must go on when nobody reads the pipe, or a terminal is held. */
void log_never_wait(void);
enum log_level log_level_get(void);
void log_print(enum log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define log_at(level, ...)                             \
	do {                                           \
		if ((level) <= log_level_get())        \
			log_print(level, __VA_ARGS__); \
	} while (0)
#define log_error(...)   log_at(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_at(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)    log_at(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)   log_at(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
