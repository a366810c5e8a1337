/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a command that only talks to a site begins: its command line has options and no
 * words, and the site must be there already.
 */
#ifndef TOOLS_RUNNING_SITE_H
#define TOOLS_RUNNING_SITE_H

#include <stdbool.h>

#include "site/link.h"
#include "tools/command.h"

/* True: the site was asked; *ret_error is 0 and *l is open, or the negative errno that it
 * answered with. False: it was said why not, and *ret_status is the exit status. `site`
 * points at what the options set. */
bool running_site_open(const struct command *command, int argc, char **argv,
		       const char *const *site, struct site_paths *p, struct site_link *l,
		       int *ret_error, int *ret_status);

#endif
