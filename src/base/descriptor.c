/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int descriptor_behind_standard(int fd)
{
	int moved, saved;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	saved = errno;
	close(fd);
	errno = saved;
	return moved;
}

void descriptor_hold(struct descriptor *d, int fd)
{
	struct stat st = { .st_ino = 0 };

	fd = descriptor_behind_standard(fd);
	if (fd >= 0 && fstat(fd, &st) < 0)
		fd = -1;
	*d = (struct descriptor){ .fd = fd, .device = st.st_dev, .inode = st.st_ino };
}

bool descriptor_is_ours(const struct descriptor *d)
{
	struct stat st;

	return d->fd >= 0 && !fstat(d->fd, &st) && st.st_dev == d->device &&
	       st.st_ino == d->inode;
}

void descriptor_close(struct descriptor *d)
{
	if (descriptor_is_ours(d))
		close(d->fd);
	d->fd = -1;
}
