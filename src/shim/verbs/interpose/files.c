// SPDX-License-Identifier: BSD-2-Clause
/*
 * Opening files: open and its relatives, fopen and freopen (redirect.h tells why).
 *
 * The names with __ and a 2 are what fortified programs call when the compiler can see
 * that no mode is needed.
 */
#undef _FORTIFY_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>

#include "shim/export.h"
#include "real.h"
#include "redirect.h"

VC_EXPORT int __open_2(const char *path, int flags);
VC_EXPORT int __open64_2(const char *path, int flags);
VC_EXPORT int __openat_2(int dir, const char *path, int flags);
VC_EXPORT int __openat64_2(int dir, const char *path, int flags);

/* The mode of open's variable part, there only with flags that create. */
#define MODE_OF(mode, flags)                                                 \
	do {                                                                 \
		if (((flags)&O_CREAT) || ((flags)&O_TMPFILE) == O_TMPFILE) { \
			va_list args;                                        \
                                                                             \
			va_start(args, flags);                               \
			mode = va_arg(args, mode_t);                         \
			va_end(args);                                        \
		}                                                            \
	} while (0)

VC_EXPORT int open(const char *path, int flags, ...)
{
	struct redirect to;
	mode_t mode = 0;

	MODE_OF(mode, flags);
	return REAL(open)(redirect(path, &to), flags, mode);
}

VC_EXPORT int open64(const char *path, int flags, ...)
{
	struct redirect to;
	mode_t mode = 0;

	MODE_OF(mode, flags);
	return REAL(open64)(redirect(path, &to), flags, mode);
}

VC_EXPORT int openat(int dir, const char *path, int flags, ...)
{
	struct redirect to;
	mode_t mode = 0;

	MODE_OF(mode, flags);
	return REAL(openat)(dir, redirect(path, &to), flags, mode);
}

VC_EXPORT int openat64(int dir, const char *path, int flags, ...)
{
	struct redirect to;
	mode_t mode = 0;

	MODE_OF(mode, flags);
	return REAL(openat64)(dir, redirect(path, &to), flags, mode);
}

VC_EXPORT int creat(const char *path, mode_t mode)
{
	struct redirect to;

	return REAL(creat)(redirect(path, &to), mode);
}

VC_EXPORT int creat64(const char *path, mode_t mode)
{
	struct redirect to;

	return REAL(creat64)(redirect(path, &to), mode);
}

VC_EXPORT int __open_2(const char *path, int flags)
{
	struct redirect to;

	return REAL(__open_2)(redirect(path, &to), flags);
}

VC_EXPORT int __open64_2(const char *path, int flags)
{
	struct redirect to;

	return REAL(__open64_2)(redirect(path, &to), flags);
}

VC_EXPORT int __openat_2(int dir, const char *path, int flags)
{
	struct redirect to;

	return REAL(__openat_2)(dir, redirect(path, &to), flags);
}

VC_EXPORT int __openat64_2(int dir, const char *path, int flags)
{
	struct redirect to;

	return REAL(__openat64_2)(dir, redirect(path, &to), flags);
}

VC_EXPORT FILE *fopen(const char *path, const char *mode)
{
	struct redirect to;

	return REAL(fopen)(redirect(path, &to), mode);
}

VC_EXPORT FILE *fopen64(const char *path, const char *mode)
{
	struct redirect to;

	return REAL(fopen64)(redirect(path, &to), mode);
}

VC_EXPORT FILE *freopen(const char *path, const char *mode, FILE *stream)
{
	struct redirect to;

	return REAL(freopen)(redirect(path, &to), mode, stream);
}

VC_EXPORT FILE *freopen64(const char *path, const char *mode, FILE *stream)
{
	struct redirect to;

	return REAL(freopen64)(redirect(path, &to), mode, stream);
}
