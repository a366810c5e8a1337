/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness/tracer.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/board.h"
#include "harness/ticks.h"

#define SYSCALL_STOP (SIGTRAP | 0x80)

int tracer_seize(const pid_t *pids, unsigned int workers)
{
	unsigned long options =
		PTRACE_O_TRACECLONE | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL;

	for (unsigned int i = 0; i < workers; i++) {
		if (ptrace(PTRACE_SEIZE, pids[i], NULL, options) ||
		    ptrace(PTRACE_INTERRUPT, pids[i], NULL, NULL))
			return -errno;
	}
	return 0;
}

/* The process a thread belongs to: a worker, or -1. */
static int worker_of(pid_t thread, const pid_t *pids, unsigned int workers)
{
	char path[64];

	for (unsigned int i = 0; i < workers; i++)
		if (pids[i] == thread)
			return (int)i;
	for (unsigned int i = 0; i < workers; i++) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d", pids[i], thread);
		if (!access(path, F_OK))
			return (int)i;
	}
	return -1;
}

static void count_call(struct worker_cell *cell, pid_t thread)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof(info), &info) <= 0 ||
	    info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	atomic_fetch_add(&cell->calls, 1);
	if (info.entry.nr == SYS_futex &&
	    ((info.entry.args[1] & FUTEX_CMD_MASK) == FUTEX_WAKE ||
	     (info.entry.args[1] & FUTEX_CMD_MASK) == FUTEX_WAKE_BITSET))
		atomic_fetch_add(&cell->wakes, 1);
}

static void handle_stop(struct board *b, pid_t thread, int status, const pid_t *pids,
			unsigned int workers)
{
	int signal = WSTOPSIG(status), worker;

	if (signal == SYSCALL_STOP) {
		worker = worker_of(thread, pids, workers);
		if (worker >= 0 && atomic_load(&b->workers[worker].measuring))
			count_call(&b->workers[worker], thread);
		signal = 0;
	} else if (status >> 16) {
		signal = 0; /* a stop of ptrace's own: attached, cloned */
	}
	ptrace(PTRACE_SYSCALL, thread, NULL, (long)signal);
}

bool tracer_wait_done(struct board *b, const pid_t *pids, unsigned int workers,
		      int timeout_ms)
{
	uint64_t begin = ticks_now();
	int status;

	while (atomic_load(&b->done) < workers) {
		pid_t thread = waitpid(-1, &status, __WALL | WNOHANG);

		if (thread > 0 && WIFSTOPPED(status))
			handle_stop(b, thread, status, pids, workers);
		else if (thread <= 0)
			usleep(200);
		if (ticks_now() - begin > ticks_from_ms(timeout_ms))
			break;
	}
	return atomic_load(&b->done) >= workers;
}

void tracer_reap(pid_t pid)
{
	int status;

	for (;;) {
		pid_t thread = waitpid(-1, &status, __WALL);

		if (thread < 0 || (thread == pid && !WIFSTOPPED(status)))
			return;
		if (WIFSTOPPED(status))
			ptrace(PTRACE_SYSCALL, thread, NULL, NULL);
	}
}
