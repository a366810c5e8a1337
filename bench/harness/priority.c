/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness/priority.h"

#include <stdio.h>
#include <sys/resource.h>

#define HIGHEST (-20)

/*
 * Where the scheduler groups tasks by session, the niceness of a process counts inside
 * its session alone; that of the session is set here.
 */
#define AUTOGROUP "/proc/self/autogroup"

static int session_before;
static bool session_raised;

static bool write_session(int nice)
{
	FILE *f = fopen(AUTOGROUP, "we");
	bool good;

	if (!f)
		return false;
	good = fprintf(f, "%d\n", nice) > 0;
	return fclose(f) == 0 && good;
}

static bool raise_session(void)
{
	FILE *f = fopen(AUTOGROUP, "re");
	int n;

	if (!f)
		return true; /* no such grouping */
	n = fscanf(f, "%*s nice %d", &session_before);
	fclose(f);
	session_raised = n == 1 && write_session(HIGHEST);
	return session_raised;
}

bool priority_raise(void)
{
	return !setpriority(PRIO_PROCESS, 0, HIGHEST) && raise_session();
}

void priority_restore(void)
{
	if (session_raised)
		write_session(session_before);
}
