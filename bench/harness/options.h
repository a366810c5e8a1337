/* SPDX-License-Identifier: BSD-2-Clause */
/* What the command line asks for. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct scenario;
struct transport;

#define LIST_MAX 16u

struct number_list {
	unsigned long values[LIST_MAX];
	unsigned int count;
};

enum report_form {
	REPORT_MARKDOWN,
	REPORT_CSV,
	REPORT_JSON,
};

struct options {
	const struct scenario *scenarios[LIST_MAX]; /* null-terminated */
	const char *transports;                     /* comma-separated names, null: all */
	const char *against; /* the same: whom ratios are taken to */
	struct number_list sizes, receivers, batches, groups;
	unsigned int repetitions;
	double ms;           /* of one transport in one repetition */
	unsigned int window; /* messages under way to the slowest receiver */
	unsigned int depth;  /* receive buffers, 0: as many as 256 KiB hold */
	const char *device;
	bool ip_join;
	bool thorough;    /* compare every byte */
	bool count_calls; /* under ptrace: system calls instead of times */
	double max_calls; /* a message; more is a failure. Negative: no limit */
	bool keep_all;    /* drop no repetition for a changed line time */
	bool niced;
	enum report_form form;
};

/* 0: go on. Otherwise the exit status plus one. */
int options_parse(struct options *o, int argc, char **argv);

#endif
