/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness/machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "harness/place.h"

#ifndef BENCH_BUILD
#define BENCH_BUILD "unknown build"
#endif

static void read_cpu(char cpu[96])
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256];

	snprintf(cpu, 96, "unknown CPU");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "model name : %95[^\n]", cpu) == 1)
			break;
	}
	if (f)
		fclose(f);
}

static void read_load(char load[32])
{
	FILE *f = fopen("/proc/loadavg", "re");

	if (!f || fscanf(f, "%31s", load) != 1)
		snprintf(load, 32, "?");
	if (f)
		fclose(f);
}

void machine_look(struct machine *m)
{
	time_t now = time(NULL);
	struct utsname u;
	struct tm tm;

	read_cpu(m->cpu);
	read_load(m->load);
	m->cpus = place_cpus();
	m->build = BENCH_BUILD;
	snprintf(m->kernel, sizeof(m->kernel), "unknown kernel");
	if (!uname(&u))
		snprintf(m->kernel, sizeof(m->kernel), "%.40s %.40s", u.sysname,
			 u.release);
	strftime(m->date, sizeof(m->date), "%Y-%m-%d %H:%M UTC", gmtime_r(&now, &tm));
}
