/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lock files: held by flock(2), so that the kernel gives them back whatever happens to
 * the holder. A lock file may be removed by its holder; whoever then locks the old file
 * finds out and takes the new one.
 */
#ifndef SITE_LOCK_H
#define SITE_LOCK_H

#include <stdbool.h>
#include <sys/types.h>

/* -EWOULDBLOCK: somebody holds it. -ENOENT: no such file (and not `create`). The lock
 * goes when the descriptor (close-on-exec) is closed. */
int site_lock_take(const char *path, bool create, int *ret_fd);
/* The same, waiting up to `timeout_ms`; -ETIMEDOUT. */
int site_lock_wait(const char *path, bool create, unsigned int timeout_ms, int *ret_fd);
/* Is it held by anybody? */
bool site_lock_is_held(const char *path);

/* The process number kept in the file, for people and for `verbcast stop`; 0: none. */
int site_lock_write_pid(int fd, pid_t pid);
pid_t site_lock_read_pid(const char *path);

#endif
