// SPDX-License-Identifier: BSD-2-Clause
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "redirect.h"

static const char *const roots[] = {
	"/sys/class/infiniband",
	"/sys/class/infiniband_verbs",
	"/sys/class/infiniband_mad",
	"/dev/infiniband",
};

/*
 * The value of VERBCAST_SYSFS; NULL: not set, or not a path. Not by getenv: bash has one
 * of its own, which looks at shell variables. A set-user-id program follows nobody.
 */
static const char *tree(void)
{
	static const char name[] = "VERBCAST_SYSFS=";
	char **e;

	if (!environ || getauxval(AT_SECURE))
		return NULL;
	for (e = environ; *e; e++) {
		if (strncmp(*e, name, sizeof(name) - 1) == 0)
			return (*e)[sizeof(name) - 1] == '/' ? *e + sizeof(name) - 1
							     : NULL;
	}
	return NULL;
}

/* Nearly every path ends here: only /sys and /dev are looked at twice. */
static bool may_match(const char *path)
{
	if (!path || path[0] != '/')
		return false;
	while (*path == '/')
		path++;
	return strncmp(path, "sys", 3) == 0 || strncmp(path, "dev", 3) == 0;
}

/*
 * Write the components of `path`, each behind one slash, without "." and resolving ".."
 * by the text. A trailing slash is kept, for it means "a directory". False: no room.
 */
static bool normalise(const char *path, char *out, size_t size)
{
	size_t used = 0, len;

	for (;;) {
		while (*path == '/')
			path++;
		len = strcspn(path, "/");
		if (!len)
			break;
		if (len == 2 && path[0] == '.' && path[1] == '.') {
			while (used && out[--used] != '/')
				;
		} else if (len != 1 || path[0] != '.') {
			if (used + len + 3 > size)
				return false;
			out[used++] = '/';
			memcpy(out + used, path, len);
			used += len;
		}
		path += len;
	}
	if (path[-1] == '/')
		out[used++] = '/';
	out[used] = 0;
	return true;
}

static bool below_a_root(const char *path)
{
	size_t i, len;

	for (i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		len = strlen(roots[i]);
		if (strncmp(path, roots[i], len) == 0 &&
		    (path[len] == '/' || path[len] == 0))
			return true;
	}
	return false;
}

const char *redirect(const char *path, struct redirect *to)
{
	const char *dir;
	size_t len;

	if (!may_match(path))
		return path;
	dir = tree();
	if (!dir)
		return path;
	len = strlen(dir);
	if (len + 2 > sizeof(to->path) ||
	    !normalise(path, to->path + len, sizeof(to->path) - len) ||
	    !below_a_root(to->path + len))
		return path;
	memcpy(to->path, dir, len);
	return to->path;
}
