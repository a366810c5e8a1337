/* SPDX-License-Identifier: BSD-2-Clause */
/* What a reader must know about the machine and the build behind a table. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

struct machine {
	char cpu[96];
	char kernel[96];
	char date[32];
	char load[32];
	unsigned int cpus;
	const char *build;
};

void machine_look(struct machine *m);

#endif
