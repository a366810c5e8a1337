/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbcast: run programs on a site, look at it, end it.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "tools/command.h"

static const struct command *const commands[] = {
	&run_command,   &status_command, &fabric_command,  &sa_command,
	&group_command, &fault_command,  &insmod_command,  &rmmod_command,
	&lsmod_command, &stop_command,   &version_command,
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static void print_overview(FILE *out)
{
	fprintf(out, "usage: verbcast COMMAND ...\n\n"
		     "RDMA multicast in userspace: unmodified RDMA programs on any Linux "
		     "machine.\n\n");
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-9s%s\n", commands[i]->name, commands[i]->summary);
	fprintf(out, "  %-9s%s\n", "help",
		"show this, or a command's options: help COMMAND");
	fprintf(out, "\nThe manual is verbcast(1).\n");
}

static void print_command(const struct command *c, FILE *out)
{
	fprintf(out, "usage: verbcast %s%s%s\n\n%s.\n", c->name, *c->synopsis ? " " : "",
		c->synopsis, c->summary);
	if (c->help) {
		c->help(out);
	} else if (c->options->name) {
		fprintf(out, "\n");
		options_print(c->options, out);
	}
}

static int help(const char *name)
{
	const struct command *c = name ? find_command(name) : NULL;

	if (name && !c) {
		fprintf(stderr, "verbcast: there is no command '%s'; see verbcast help\n",
			name);
		return EXIT_USAGE;
	}
	if (c)
		print_command(c, stdout);
	else
		print_overview(stdout);
	return 0;
}

int command_misuse(const struct command *c, const char *format, ...)
{
	va_list ap;

	fprintf(stderr, "verbcast %s: ", c->name);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fprintf(stderr, "\nusage: verbcast %s%s%s\n", c->name, *c->synopsis ? " " : "",
		c->synopsis);
	return c->usage_status;
}

int command_parse(const struct command *c, int argc, char **argv, int *ret_status)
{
	char error[OPTIONS_ERROR_MAX];
	int at = options_parse(c->options, argc, argv, error);

	if (at < 0) {
		*ret_status = command_misuse(c, "%s", error);
		return -1;
	}
	return at;
}

/* Help is asked for before "--" or a program's name, whose own --help it would be. */
static bool asks_for_help(int argc, char **argv)
{
	return argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"));
}

/* Our descriptors must not become 0, 1 or 2 where a caller has closed these. They stay
 * closed for a program that we become. */
static void fill_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	const struct command *c;

	fill_standard_descriptors();
	log_open("verbcast", LOG_LEVEL_WARNING);
	if (argc < 2) {
		fprintf(stderr, "verbcast: which command?\n");
		print_overview(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version"))
		return version_command.main(1, argv);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return help(NULL);
	if (!strcmp(argv[1], "help"))
		return help(argv[2]);
	c = find_command(argv[1]);
	if (!c) {
		fprintf(stderr, "verbcast: there is no %s '%s'; see verbcast help\n",
			argv[1][0] == '-' ? "option" : "command", argv[1]);
		return EXIT_USAGE;
	}
	if (asks_for_help(argc - 1, argv + 1))
		return help(c->name);
	return c->main(argc - 1, argv + 1);
}
