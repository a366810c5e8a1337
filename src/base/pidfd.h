/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Process descriptors: whose they are, and how to get one. A process number alone may
 * name somebody else a moment later; a descriptor cannot.
 */
#ifndef BASE_PIDFD_H
#define BASE_PIDFD_H

#include <sys/types.h>

/* A descriptor (close-on-exec by nature), or negative errno; -ENOSYS before Linux 5.3. */
int pidfd_open_process(pid_t pid);

/* Whose `fd` is: its number as we see it, and as it sees itself (differs across process
 * number spaces). -EBADF: not a process descriptor. -ESRCH: it is gone, or not visible
 * from here. */
int pidfd_owner(int fd, pid_t *ret_pid, pid_t *ret_inner);

/* 0: its process has ended within `timeout_ms` (-1: wait for ever); -ETIMEDOUT. */
int pidfd_wait(int fd, int timeout_ms);

#endif
