/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verbcast command is a table of commands (main.c), one file a command. The help is
 * made from the table and the option tables it points to.
 */
#ifndef TOOLS_COMMAND_H
#define TOOLS_COMMAND_H

#include <stdio.h>

#include "base/options.h"

enum exit_status {
	EXIT_NO_SITE = 1, /* all but run: nobody runs on this site, or it refuses */
	EXIT_USAGE = 2,
	EXIT_RUN_FAILED = 125,     /* run: our own failure, as env(1) and nice(1) do */
	EXIT_NOT_EXECUTABLE = 126, /* run: as a shell */
	EXIT_NOT_FOUND = 127,
};

struct command {
	const char *name;
	const char *synopsis; /* what stands behind the name */
	const char *summary;
	const struct option_spec *options;
	int usage_status; /* exit status for wrong use */
	int (*main)(int argc, char **argv);
	void (*help)(FILE *out); /* in place of what the options make; may be null */
};

extern const struct command fabric_command, sa_command, group_command, fault_command;
extern const struct command insmod_command, rmmod_command, lsmod_command;
extern const struct command run_command, status_command, stop_command, version_command;

/* For commands that are words for verbcastd (src/admin). --site NAME may stand anywhere and
 * is taken out; the rest goes to `words`, with a null behind. How many, or -EINVAL with a
 * sentence. */
#define ADMIN_WORDS_MAX 64
int admin_take_site(int argc, char **argv, char **words, char *error);
/* Ask the verbcastd of that site, print what it answers; what to exit with. */
int admin_ask(int argc, char **argv);

/* Parse argv by the command's table. Index of the first operand; -1: `ret_status` is
 * what to exit with (wrong use, said on stderr). */
int command_parse(const struct command *c, int argc, char **argv, int *ret_status);
/* Say what was wrong, and how it is used; returns the status to exit with. */
int command_misuse(const struct command *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
