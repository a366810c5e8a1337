/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Command line options from a table, which also makes the help text.
 *
 * Options are long: --name, --name VALUE or --name=VALUE. They end at the first word
 * that does not begin with '-', or after "--". A VALUE is never empty.
 */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <stddef.h>
#include <stdio.h>

enum option_kind {
	OPTION_FLAG,   /* target: bool, set to true */
	OPTION_STRING, /* target: const char *, points into argv */
	OPTION_NUMBER, /* target: unsigned int */
	OPTION_CALL,   /* target: unused; set() is called with the value */
};

#define OPTIONS_ERROR_MAX 256

struct option_spec {
	const char *name; /* without the dashes; null ends a table */
	enum option_kind kind;
	const char *value; /* what the help calls the value; null: a flag */
	const char *help;
	void *target;
	/* 0, or -EINVAL with a sentence in `error`. */
	int (*set)(const char *value, char error[OPTIONS_ERROR_MAX]);
};

/* Index of the first word after the options (argv[0] is skipped), or -EINVAL with a
 * sentence in `error`. */
int options_parse(const struct option_spec *specs, int argc, char **argv,
		  char error[OPTIONS_ERROR_MAX]);
void options_print(const struct option_spec *specs, FILE *out);
/* 0 or -EINVAL: `text` is no decimal number up to `max`. */
int options_number(const char *text, unsigned long max, unsigned long *ret);

#endif
