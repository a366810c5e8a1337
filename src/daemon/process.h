/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Leaving the starter's world: its descriptors, session, directory and limits
 * (docs/architecture.md, Processes).
 */
#ifndef DAEMON_PROCESS_H
#define DAEMON_PROCESS_H

#include <stdbool.h>

/* Close all but 0, 1, 2, `keep_fd` (unless -1) and the `listen_count` descriptors from 3
 * on; open /dev/null where 0, 1 or 2 are closed. */
void process_close_inherited(int keep_fd, int listen_count);

/* Go on in a child, in a session of its own. The parent waits until the child says what
 * has become of it (process_report) and exits accordingly, so this returns in the child
 * alone: 0 with the descriptor to report on, or a negative errno. */
int process_background(int *ret_report_fd);

/* Signals, umask, directory, limits. */
void process_settle(void);

/* /dev/null instead of 0, and of 1 and 2 unless `keep_output`. */
void process_drop_stdio(bool keep_output);

#endif
