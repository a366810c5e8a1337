/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbcast run --netns: a network namespace for a node of the site.
 *
 *	 node's namespace             the hub
 *	 lo, ib0 198.18.0.1/15 ── h1 ┐
 *	 lo, ib0 198.18.0.2/15 ── h2 ┴ ib (bridge)
 *
 * The first run of a node makes its namespace, the first of all the hub, in a user
 * namespace of its own, so that no privilege is needed; verbcastd keeps them until the
 * site ends. Nothing leads out of them.
 */
#ifndef TOOLS_NETNS_H
#define TOOLS_NETNS_H

#include "site/paths.h"

/* This process, which has one thread, moves there. `node`: "" for the site's first. 0, or
 * a negative errno, said in the log. */
int netns_enter(const struct site_paths *p, const char *node);

#endif
