/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The right to serve a site, and the socket to do it on: made here, or by systemd.
 */
#ifndef DAEMON_LISTEN_H
#define DAEMON_LISTEN_H

#include <stddef.h>
#include <sys/types.h>

#include "site/paths.h"

/* How many sockets systemd has passed us from descriptor 3 on (LISTEN_PID, LISTEN_FDS,
 * which are taken out of the environment): 0 or 1; -EINVAL after logging: more. */
int listen_passed(void);
/* Make sure that descriptor 3 is a listening seqpacket socket; -ENOTSOCK after logging.
 * The site's name is read from that of the socket, NETNS.NAME.sock, if it is one. */
int listen_check_passed(char name[SITE_NAME_MAX + 1]);

/* Take the site's lock. -EALREADY: another verbcastd runs, said in the log. */
int listen_lock(const struct site_paths *p, int *ret_lock_fd);
/* With the lock held: replace a stale socket, and listen. `gid` -1: for our user only. */
int listen_open(const struct site_paths *p, gid_t gid, int *ret_fd);

#endif
