/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The janitor: a child forked before anything else, which waits for verbcastd's death,
 * however it came, and removes the site's files, unless another verbcastd has the site
 * by then. After an orderly end verbcastd has removed them itself and says so.
 */
#ifndef DAEMON_JANITOR_H
#define DAEMON_JANITOR_H

#include <stdbool.h>
#include <sys/types.h>

#include "site/paths.h"

struct janitor {
	pid_t pid;
	int fd; /* held open by verbcastd alone; its end is seen by the janitor */
};

/* `keep_socket`: it is somebody else's (systemd). */
int janitor_start(struct janitor *j, const struct site_paths *p, bool keep_socket);
/* All is clean: let it go, and wait until it has gone. */
void janitor_dismiss(struct janitor *j);

/* Remove the files of the site; the caller holds its lock. The lock file goes last. */
void janitor_clean(const struct site_paths *p, bool keep_socket);

#endif
