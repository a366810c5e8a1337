/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reach the site's verbcastd, starting it where there is none: docs/architecture.md,
 * Processes. Ten at once start one.
 */
#ifndef SITE_START_H
#define SITE_START_H

#include <stdbool.h>

#include "site/link.h"
#include "site/paths.h"

#define SITE_WIRES_MAX   32u
#define SITE_OPTIONS_MAX 16u

struct site_start {
	const struct site_paths *paths;
	const char *node;
	bool is_private; /* the site is to end with this process */
	/* Interfaces that a daemon which is started here is to have devices for. */
	const char *const *wires;
	unsigned int wire_count;
	/* More options for it, ended by null; may be null. */
	const char *const *options;
};

/* Hello and lease. Errors are logged here; a started daemon says its own on stderr. */
int site_start(const struct site_start *how, struct site_link *ret);

/* What the daemon writes into --ready-fd: one line. */
#define SITE_READY   "ready\n"
#define SITE_RUNNING "running\n" /* another one runs on this site already */

/* The sentence for an error of site_link_open, into the log. */
void site_link_explain(const struct site_link *l, const struct site_paths *p,
		       const char *node, int error);

#endif
