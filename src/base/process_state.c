/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /proc/PID/stat tells of the first thread alone, so threads are looked at one by one, the
 * first one first: it is the one that most often runs, and one that is stopped stands for
 * all, since signals stop a process as a whole.
 */
#include "base/process_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS_MAX 256u

/* The letter in /proc/PID/task/TID/stat; 0: the thread is gone, or hidden. */
static char letter_of(int tasks, const char *tid)
{
	char path[32], text[256];
	const char *name_end;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%.16s/stat", tid);
	fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	/* "TID (name) R ...": a name may have brackets, too; what follows has none. */
	name_end = strrchr(text, ')');
	return name_end && name_end[1] == ' ' ? name_end[2] : 0;
}

static enum process_state state_of_letter(char letter)
{
	switch (letter) {
	case 'R':
		return PROCESS_RUNNABLE;
	case 'T':
	case 't':
		return PROCESS_STOPPED;
	case 'Z':
	case 'X':
		return PROCESS_ENDED;
	case 0:
		return PROCESS_UNKNOWN;
	default:
		return PROCESS_ASLEEP;
	}
}

/* Not what thread `self` does; it is there, no more. */
static enum process_state state_of_threads(int tasks, pid_t self)
{
	_Alignas(struct dirent64) char entries[2048];
	enum process_state state = PROCESS_ENDED;
	unsigned int threads = 0;
	long n;

	while ((n = syscall(SYS_getdents64, tasks, entries, sizeof(entries))) > 0) {
		const struct dirent64 *d;

		for (long at = 0; at < n; at += d->d_reclen) {
			enum process_state s;

			d = (const void *)(entries + at);
			if (d->d_name[0] == '.')
				continue;
			if (atoi(d->d_name) == self) {
				state = PROCESS_ASLEEP;
				continue;
			}
			if (threads++ == THREADS_MAX)
				return PROCESS_UNKNOWN;
			s = state_of_letter(letter_of(tasks, d->d_name));
			if (s == PROCESS_RUNNABLE)
				return s;
			if (s != PROCESS_ENDED && s != PROCESS_UNKNOWN)
				state = PROCESS_ASLEEP;
		}
	}
	return n < 0 ? PROCESS_UNKNOWN : state;
}

static enum process_state look(int tasks, pid_t pid, pid_t self)
{
	enum process_state first;
	char tid[16];

	snprintf(tid, sizeof(tid), "%d", (int)pid);
	first = state_of_letter(letter_of(tasks, tid));
	if (first == PROCESS_STOPPED || (first == PROCESS_RUNNABLE && pid != self))
		return first;
	return state_of_threads(tasks, self);
}

enum process_state process_state_of(pid_t pid)
{
	enum process_state state = PROCESS_UNKNOWN;
	int saved = errno, tasks;
	char path[32];

	if (pid <= 0)
		return PROCESS_UNKNOWN;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (tasks >= 0) {
		state = look(tasks, pid, (pid_t)syscall(SYS_gettid));
		close(tasks);
	}
	errno = saved;
	return state;
}
