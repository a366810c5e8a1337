/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static int write_all(int fd, const char *bytes, size_t length)
{
	while (length) {
		ssize_t n = write(fd, bytes, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		bytes += n;
		length -= (size_t)n;
	}
	return 0;
}

int memory_file_create(const char *name, const void *bytes, size_t length, int seals)
{
	int fd = memfd_create(name, MFD_CLOEXEC | (seals ? MFD_ALLOW_SEALING : 0));
	int r;

	if (fd < 0)
		return -errno;
	r = write_all(fd, bytes, length);
	if (!r && seals && fcntl(fd, F_ADD_SEALS, seals) < 0)
		r = -errno;
	if (r < 0)
		close(fd);
	return r < 0 ? r : fd;
}

int memory_file_read(int fd, void *to, size_t length)
{
	size_t at = 0;

	while (at < length) {
		ssize_t n = pread(fd, (char *)to + at, length - at, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENODATA;
		at += (size_t)n;
	}
	return 0;
}
