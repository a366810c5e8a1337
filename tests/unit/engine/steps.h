/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Single steps of a process, for tests of death at every instruction: between two of them
 * the shared memory is what SIGKILL would leave.
 *
 * The victim calls steps_begin before, and steps_end behind what it is stepped through.
 */
#ifndef ENGINE_STEPS_H
#define ENGINE_STEPS_H

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/harness.h"

/* Victim. Ends it with HARNESS_SKIP where nobody may be traced. */
static inline void steps_begin(void)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		_exit(HARNESS_SKIP);
	raise(SIGSTOP);
}

static inline void steps_end(void)
{
	raise(SIGSTOP);
	_exit(0);
}

/* Wait until the victim has begun; without leave to trace, this test is skipped. */
static inline void steps_await(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	if (WIFSTOPPED(status))
		return;
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == HARNESS_SKIP);
	harness_skip("ptrace is not permitted");
}

/* One instruction. False: it was the last one. */
static inline bool steps_next(pid_t pid)
{
	int status;

	assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	return WSTOPSIG(status) == SIGTRAP;
}

#endif
