// SPDX-License-Identifier: BSD-2-Clause
/*
 * Looking at files: stat, access, extended attributes (redirect.h tells why; `ls -l`
 * asks for attributes).
 *
 * Programs built before glibc 2.33 call __xstat and its kin, which have a number for the
 * layout of struct stat. A 64-bit machine has had one layout only.
 */
#undef _FORTIFY_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "shim/export.h"
#include "real.h"
#include "redirect.h"

VC_EXPORT int __xstat(int layout, const char *path, struct stat *st);
VC_EXPORT int __xstat64(int layout, const char *path, struct stat64 *st);
VC_EXPORT int __lxstat(int layout, const char *path, struct stat *st);
VC_EXPORT int __lxstat64(int layout, const char *path, struct stat64 *st);
VC_EXPORT int __fxstatat(int layout, int dir, const char *path, struct stat *st,
			 int flags);
VC_EXPORT int __fxstatat64(int layout, int dir, const char *path, struct stat64 *st,
			   int flags);

VC_EXPORT int stat(const char *path, struct stat *st)
{
	struct redirect to;

	return REAL(stat)(redirect(path, &to), st);
}

VC_EXPORT int stat64(const char *path, struct stat64 *st)
{
	struct redirect to;

	return REAL(stat64)(redirect(path, &to), st);
}

VC_EXPORT int lstat(const char *path, struct stat *st)
{
	struct redirect to;

	return REAL(lstat)(redirect(path, &to), st);
}

VC_EXPORT int lstat64(const char *path, struct stat64 *st)
{
	struct redirect to;

	return REAL(lstat64)(redirect(path, &to), st);
}

VC_EXPORT int fstatat(int dir, const char *path, struct stat *st, int flags)
{
	struct redirect to;

	return REAL(fstatat)(dir, redirect(path, &to), st, flags);
}

VC_EXPORT int fstatat64(int dir, const char *path, struct stat64 *st, int flags)
{
	struct redirect to;

	return REAL(fstatat64)(dir, redirect(path, &to), st, flags);
}

VC_EXPORT int __xstat(int layout, const char *path, struct stat *st)
{
	return stat(path, st);
}

VC_EXPORT int __xstat64(int layout, const char *path, struct stat64 *st)
{
	return stat64(path, st);
}

VC_EXPORT int __lxstat(int layout, const char *path, struct stat *st)
{
	return lstat(path, st);
}

VC_EXPORT int __lxstat64(int layout, const char *path, struct stat64 *st)
{
	return lstat64(path, st);
}

VC_EXPORT int __fxstatat(int layout, int dir, const char *path, struct stat *st,
			 int flags)
{
	return fstatat(dir, path, st, flags);
}

VC_EXPORT int __fxstatat64(int layout, int dir, const char *path, struct stat64 *st,
			   int flags)
{
	return fstatat64(dir, path, st, flags);
}

VC_EXPORT int statx(int dir, const char *path, int flags, unsigned int mask,
		    struct statx *st)
{
	struct redirect to;

	return REAL(statx)(dir, redirect(path, &to), flags, mask, st);
}

VC_EXPORT int access(const char *path, int mode)
{
	struct redirect to;

	return REAL(access)(redirect(path, &to), mode);
}

VC_EXPORT int faccessat(int dir, const char *path, int mode, int flags)
{
	struct redirect to;

	return REAL(faccessat)(dir, redirect(path, &to), mode, flags);
}

VC_EXPORT int eaccess(const char *path, int mode)
{
	struct redirect to;

	return REAL(eaccess)(redirect(path, &to), mode);
}

VC_EXPORT int euidaccess(const char *path, int mode)
{
	struct redirect to;

	return REAL(euidaccess)(redirect(path, &to), mode);
}

VC_EXPORT ssize_t getxattr(const char *path, const char *name, void *value, size_t size)
{
	struct redirect to;

	return REAL(getxattr)(redirect(path, &to), name, value, size);
}

VC_EXPORT ssize_t lgetxattr(const char *path, const char *name, void *value, size_t size)
{
	struct redirect to;

	return REAL(lgetxattr)(redirect(path, &to), name, value, size);
}

VC_EXPORT ssize_t listxattr(const char *path, char *list, size_t size)
{
	struct redirect to;

	return REAL(listxattr)(redirect(path, &to), list, size);
}

VC_EXPORT ssize_t llistxattr(const char *path, char *list, size_t size)
{
	struct redirect to;

	return REAL(llistxattr)(redirect(path, &to), list, size);
}
