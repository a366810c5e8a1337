/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/options.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NAME_COLUMN 24

static const struct option_spec *find(const struct option_spec *specs, const char *name,
				      size_t length)
{
	for (; specs->name; specs++)
		if (strlen(specs->name) == length && !memcmp(specs->name, name, length))
			return specs;
	return NULL;
}

int options_number(const char *text, unsigned long max, unsigned long *ret)
{
	unsigned long value;
	char *end;

	/* strtoul would take blanks and signs. */
	if (text[0] < '0' || text[0] > '9')
		return -EINVAL;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (*end || errno || value > max)
		return -EINVAL;
	*ret = value;
	return 0;
}

static int set_number(const struct option_spec *spec, const char *value, char *error)
{
	unsigned long number;

	if (options_number(value, UINT_MAX, &number) < 0) {
		snprintf(error, OPTIONS_ERROR_MAX, "--%s: '%s' is not a number",
			 spec->name, value);
		return -EINVAL;
	}
	*(unsigned int *)spec->target = (unsigned int)number;
	return 0;
}

static int set(const struct option_spec *spec, const char *value, char *error)
{
	switch (spec->kind) {
	case OPTION_FLAG:
		*(bool *)spec->target = true;
		return 0;
	case OPTION_STRING:
		*(const char **)spec->target = value;
		return 0;
	case OPTION_NUMBER:
		return set_number(spec, value, error);
	case OPTION_CALL:
		return spec->set(value, error);
	}
	return -EINVAL;
}

/* What stands for the value, if anything does; none that is empty means anything. */
static int check_value(const struct option_spec *spec, const char *value, char *error)
{
	if (!spec->value || (value && *value))
		return 0;
	snprintf(error, OPTIONS_ERROR_MAX, "--%s needs a value%s: --%s %s", spec->name,
		 value ? " that is not empty" : "", spec->name, spec->value);
	return -EINVAL;
}

/* Returns how many words of argv the option took. */
static int parse_one(const struct option_spec *specs, int left, char **argv, char *error)
{
	const char *name = argv[0] + 2, *equals = strchr(name, '=');
	size_t length = equals ? (size_t)(equals - name) : strlen(name);
	const char *value = equals ? equals + 1 : left > 1 ? argv[1] : NULL;
	const struct option_spec *spec = NULL;
	int r;

	if (argv[0][1] == '-')
		spec = find(specs, name, length);
	if (!spec) {
		snprintf(error, OPTIONS_ERROR_MAX, "unknown option '%s'", argv[0]);
		return -EINVAL;
	}
	if (equals && !spec->value) {
		snprintf(error, OPTIONS_ERROR_MAX, "--%s takes no value", spec->name);
		return -EINVAL;
	}
	r = check_value(spec, value, error);
	if (!r)
		r = set(spec, value, error);
	if (r < 0)
		return r;
	return equals || !spec->value ? 1 : 2;
}

int options_parse(const struct option_spec *specs, int argc, char **argv,
		  char error[OPTIONS_ERROR_MAX])
{
	int at = 1;

	while (at < argc && argv[at][0] == '-' && argv[at][1]) {
		int taken;

		if (!strcmp(argv[at], "--"))
			return at + 1;
		taken = parse_one(specs, argc - at, argv + at, error);
		if (taken < 0)
			return taken;
		at += taken;
	}
	return at;
}

void options_print(const struct option_spec *specs, FILE *out)
{
	for (; specs->name; specs++) {
		int n = fprintf(out, "  --%s%s%s", specs->name, specs->value ? " " : "",
				specs->value ? specs->value : "");

		fprintf(out, "%*s  %s\n", n < NAME_COLUMN ? NAME_COLUMN - n : 0, "",
			specs->help);
	}
}
