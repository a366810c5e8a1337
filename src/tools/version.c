/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "shm/tables.h"
#include "tools/command.h"
#include "uapi/protocol/protocol.h"

static const struct option_spec options[] = { { .name = NULL } };

static int version_main(int argc, char **argv)
{
	int status, at = command_parse(&version_command, argc, argv, &status);

	if (at < 0)
		return status;
	if (at < argc)
		return command_misuse(&version_command, "'%s' is one word too many",
				      argv[at]);
	printf("verbcast %s (protocol %u, layout %u)\n", VERBCAST_VERSION, UAPI_VERSION,
	       SHM_LAYOUT_VERSION);
	return 0;
}

const struct command version_command = {
	.name = "version",
	.synopsis = "",
	.summary = "Show the release, and the versions of protocol and memory layout",
	.options = options,
	.usage_status = EXIT_USAGE,
	.main = version_main,
};
