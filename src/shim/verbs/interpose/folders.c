// SPDX-License-Identifier: BSD-2-Clause
/*
 * Folders, links and where they lead (redirect.h tells why). What these return as a path
 * is the place in the tree: it exists, and works like the one that was asked for.
 */
#undef _FORTIFY_SOURCE
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "shim/export.h"
#include "real.h"
#include "redirect.h"

VC_EXPORT ssize_t __readlink_chk(const char *path, char *buf, size_t size, size_t room);
VC_EXPORT ssize_t __readlinkat_chk(int dir, const char *path, char *buf, size_t size,
				   size_t room);
VC_EXPORT char *__realpath_chk(const char *path, char *resolved, size_t room);

VC_EXPORT DIR *opendir(const char *path)
{
	struct redirect to;

	return REAL(opendir)(redirect(path, &to));
}

VC_EXPORT int scandir(const char *path, struct dirent ***list,
		      int (*filter)(const struct dirent *),
		      int (*compare)(const struct dirent **, const struct dirent **))
{
	struct redirect to;

	return REAL(scandir)(redirect(path, &to), list, filter, compare);
}

VC_EXPORT int scandir64(const char *path, struct dirent64 ***list,
			int (*filter)(const struct dirent64 *),
			int (*compare)(const struct dirent64 **,
				       const struct dirent64 **))
{
	struct redirect to;

	return REAL(scandir64)(redirect(path, &to), list, filter, compare);
}

VC_EXPORT int chdir(const char *path)
{
	struct redirect to;

	return REAL(chdir)(redirect(path, &to));
}

VC_EXPORT ssize_t readlink(const char *path, char *buf, size_t size)
{
	struct redirect to;

	return REAL(readlink)(redirect(path, &to), buf, size);
}

VC_EXPORT ssize_t readlinkat(int dir, const char *path, char *buf, size_t size)
{
	struct redirect to;

	return REAL(readlinkat)(dir, redirect(path, &to), buf, size);
}

VC_EXPORT ssize_t __readlink_chk(const char *path, char *buf, size_t size, size_t room)
{
	struct redirect to;

	return REAL(__readlink_chk)(redirect(path, &to), buf, size, room);
}

VC_EXPORT ssize_t __readlinkat_chk(int dir, const char *path, char *buf, size_t size,
				   size_t room)
{
	struct redirect to;

	return REAL(__readlinkat_chk)(dir, redirect(path, &to), buf, size, room);
}

VC_EXPORT char *realpath(const char *path, char *resolved)
{
	struct redirect to;

	return REAL(realpath)(redirect(path, &to), resolved);
}

VC_EXPORT char *__realpath_chk(const char *path, char *resolved, size_t room)
{
	struct redirect to;

	return REAL(__realpath_chk)(redirect(path, &to), resolved, room);
}

VC_EXPORT char *canonicalize_file_name(const char *path)
{
	struct redirect to;

	return REAL(canonicalize_file_name)(redirect(path, &to));
}
