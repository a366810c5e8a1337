// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reading attribute files for programs (ibv_devinfo asks for board_id, UCX and OpenMPI
 * for the place of the device). The tree is the synthetic one when `verbcast run` gave us
 * one; SYSFS_PATH overrides, as it does for the stock library.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/export.h"
#include "sysfs.h"

static char sysfs_path[256]; /* fixed after the first call */

/* `root` with `below`, if there is a root and both fit. */
static bool take_path(const char *root, const char *below)
{
	int n = root ? strlen(root) : 0;

	while (n > 1 && root[n - 1] == '/')
		n--;
	if (!n || n + strlen(below) >= sizeof(sysfs_path))
		return false;
	snprintf(sysfs_path, sizeof(sysfs_path), "%.*s%s", n, root, below);
	return true;
}

static void find_path(void)
{
	if (!take_path(secure_getenv("SYSFS_PATH"), "") &&
	    !take_path(secure_getenv("VERBCAST_SYSFS"), "/sys"))
		take_path("/sys", "");
}

VC_EXPORT const char *ibv_get_sysfs_path(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_path);
	return sysfs_path;
}

/* The length without a newline at the end; the text ends in a zero where there is room. */
VC_EXPORT int ibv_read_sysfs_file(const char *dir, const char *file, char *buf,
				  size_t size)
{
	char path[PATH_MAX];
	ssize_t n;
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, buf, size);
	close(fd);
	if (n < 0)
		return -1;
	if (n > 0 && buf[n - 1] == '\n')
		n--;
	if ((size_t)n < size)
		buf[n] = '\0';
	return n;
}
