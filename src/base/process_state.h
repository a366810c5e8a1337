/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a process is about, as the kernel tells those of the same user in /proc. A look
 * takes some system calls for each thread, no memory, and leaves errno alone.
 */
#ifndef BASE_PROCESS_STATE_H
#define BASE_PROCESS_STATE_H

#include <sys/types.h>

enum process_state {
	PROCESS_UNKNOWN,  /* /proc does not tell: hidden, not there, too many threads */
	PROCESS_RUNNABLE, /* a thread runs, or would if it had a CPU */
	PROCESS_ASLEEP,   /* all threads wait for something else than a CPU */
	PROCESS_STOPPED,  /* by a signal or a debugger */
	PROCESS_ENDED,    /* and its parent has not heard of it yet */
};

/* `pid` as this process sees numbers; 0 or less: UNKNOWN. Of the caller's own process the
 * calling thread does not count. */
enum process_state process_state_of(pid_t pid);

#endif
