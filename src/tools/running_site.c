/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/running_site.h"

#include <errno.h>

#include "base/log.h"

bool running_site_open(const struct command *command, int argc, char **argv,
		       const char *const *site, struct site_paths *p, struct site_link *l,
		       int *ret_error, int *ret_status)
{
	int at = command_parse(command, argc, argv, ret_status);
	int r;

	if (at < 0)
		return false;
	if (at < argc) {
		*ret_status =
			command_misuse(command, "'%s' is one word too many", argv[at]);
		return false;
	}
	r = site_paths_init(p, *site, false);
	if (r < 0 && r != -ENOENT) {
		*ret_status = EXIT_USAGE;
		return false;
	}
	if (!r)
		r = site_link_open(l, p, "");
	if (site_link_nobody(r)) {
		log_error("no verbcastd runs on site %s", *site);
		*ret_status = EXIT_NO_SITE;
		return false;
	}
	*ret_error = r;
	return true;
}
