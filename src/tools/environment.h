/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a program under `verbcast run` finds in its environment (spec/userland 1.8, 1.9):
 *
 *   LD_LIBRARY_PATH   our libraries first
 *   LD_PRELOAD        our libibverbs.so.1 first, for its path interposers
 *   VERBCAST_SOCKET   the site's socket
 *   VERBCAST_SYSFS    the node's synthetic /sys and /dev
 *   VERBCAST_NODE, VERBCAST_DEVICE   where --node, --device say so
 */
#ifndef TOOLS_ENVIRONMENT_H
#define TOOLS_ENVIRONMENT_H

#include <stdint.h>

#include "site/paths.h"

/* `node`, if not null, is the one of the site with this number. 0 or a negative errno; said
 * in the log. */
int environment_set(const struct site_paths *p, const char *libraries, const char *node,
		    uint32_t node_index, const char *device);

#endif
