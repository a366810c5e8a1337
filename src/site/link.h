/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tool's connection to verbcastd: blocking, one call at a time, with a time limit.
 * (Programs under `verbcast run` have the uapi client instead.)
 */
#ifndef SITE_LINK_H
#define SITE_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "site/paths.h"
#include "uapi/protocol/protocol.h"

struct site_link {
	int fd;
	uint32_t serial;
	struct uapi_hello_reply hello;
};

/* Connect and say hello as a tool. `node`: "" for the site's first.
 * -ENOENT, -ECONNREFUSED, -ECONNRESET: nobody is there, or no longer.
 * -EPROTO: of another version; `hello` tells which. -ENODEV: no such node. */
int site_link_open(struct site_link *l, const struct site_paths *p, const char *node);
void site_link_close(struct site_link *l);

/* One request. `send_fd` goes along unless -1; a descriptor that comes back is stored in
 * `ret_fd` if that is not null. The daemon's errno, or ours. */
int site_link_call(struct site_link *l, uint16_t op, const void *request,
		   size_t request_bytes, int send_fd, void *reply, size_t reply_bytes,
		   int *ret_fd);

/* The site lives as long as this process does, exec included. */
int site_link_lease(struct site_link *l, bool is_private);

/* The status as JSON text, to be freed. */
int site_link_status(struct site_link *l, char **ret_json);

/* A command in words. What it exits with, and its text, to be freed. -E2BIG: too many
 * words. Waits as long as the command takes. */
int site_link_admin(struct site_link *l, int argc, const char *const *argv,
		    int *ret_exit_status, char **ret_text);

/* Is this error of site_link_open or _call one of nobody being there? */
bool site_link_nobody(int error);

#endif
