/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbcast status: the state of a site, for people (status_text.c) or as verbcastd's own
 * JSON. Never starts a site.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "site/link.h"
#include "site/start.h"
#include "tools/command.h"
#include "tools/running_site.h"
#include "tools/status_text.h"

static const char *site = "default";
static bool json;

static const struct option_spec options[] = {
	{ "site", OPTION_STRING, "NAME", "the site to look at (default: default)", &site,
	  NULL },
	{ "json", OPTION_FLAG, NULL, "print JSON", &json, NULL },
	{ .name = NULL },
};

static int print_text(const char *text)
{
	cJSON *status = cJSON_Parse(text);

	if (!status) {
		log_error("the status of site %s is no JSON", site);
		return EXIT_NO_SITE;
	}
	status_text_print(status, stdout);
	cJSON_Delete(status);
	return 0;
}

static int print_status(struct site_link *l)
{
	char *text;
	int r;

	r = site_link_status(l, &text);
	if (r < 0) {
		log_error("site %s: %s", site, strerror(-r));
		return EXIT_NO_SITE;
	}
	if (json)
		r = printf("%s\n", text) < 0 ? EXIT_NO_SITE : 0;
	else
		r = print_text(text);
	free(text);
	return fflush(stdout) ? EXIT_NO_SITE : r;
}

static int status_main(int argc, char **argv)
{
	struct site_paths p;
	struct site_link l;
	int status, r;

	if (!running_site_open(&status_command, argc, argv, &site, &p, &l, &r, &status))
		return status;
	if (r < 0) {
		site_link_explain(&l, &p, "", r);
		return EXIT_NO_SITE;
	}
	status = print_status(&l);
	site_link_close(&l);
	return status;
}

const struct command status_command = {
	.name = "status",
	.synopsis = "[--site NAME] [--json]",
	.summary = "Show devices, processes, groups and members of a site, with counters",
	.options = options,
	.usage_status = EXIT_USAGE,
	.main = status_main,
};
