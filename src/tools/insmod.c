/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbcast insmod, rmmod and lsmod: consumers of the kernel's RDMA API inside the site's
 * verbcastd. Words for it, as those of fabric, sa and group (tools/admin.c).
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "admin/admin.h"
#include "base/log.h"
#include "tools/command.h"

/* `verb` in front of what is left without --site. */
static int ask(const struct command *c, const char *verb, int argc, char **argv)
{
	char *words[ADMIN_WORDS_MAX + 3] = { (char *)"module", (char *)(uintptr_t)verb };
	char error[OPTIONS_ERROR_MAX], path[PATH_MAX];
	struct admin_request request;
	int n;

	n = admin_take_site(argc - 1, argv + 1, words + 2, error);
	if (n < 0 || admin_parse(n + 2, words, &request, error) < 0)
		return command_misuse(c, "%s", error);
	/* verbcastd has another working directory. */
	if (request.command == ADMIN_MODULE_LOAD) {
		if (!realpath(words[2], path)) {
			log_error("%s: %s", words[2], strerror(errno));
			return EXIT_FAILURE;
		}
		words[2] = path;
	}
	return admin_ask(n + 2, words);
}

static int insmod_main(int argc, char **argv)
{
	return ask(&insmod_command, "load", argc, argv);
}

static int rmmod_main(int argc, char **argv)
{
	return ask(&rmmod_command, "unload", argc, argv);
}

static int lsmod_main(int argc, char **argv)
{
	return ask(&lsmod_command, "list", argc, argv);
}

static const struct option_spec no_options[] = { { .name = NULL } };

const struct command insmod_command = {
	.name = "insmod",
	.synopsis = "[--site NAME] FILE [NAME=VALUE...]",
	.summary = "Run a consumer of the kernel's RDMA API inside verbcastd",
	.options = no_options,
	.usage_status = EXIT_USAGE,
	.main = insmod_main,
};

const struct command rmmod_command = {
	.name = "rmmod",
	.synopsis = "[--site NAME] MODULE",
	.summary = "End what insmod began",
	.options = no_options,
	.usage_status = EXIT_USAGE,
	.main = rmmod_main,
};

const struct command lsmod_command = {
	.name = "lsmod",
	.synopsis = "[--site NAME]",
	.summary = "Name the modules that are loaded",
	.options = no_options,
	.usage_status = EXIT_USAGE,
	.main = lsmod_main,
};
