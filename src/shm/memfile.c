// SPDX-License-Identifier: BSD-2-Clause
#include "shm/memfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

static int seals_of(int kind)
{
	int seals = F_SEAL_SHRINK | F_SEAL_GROW;

	if (kind == SHM_SEALS_READ_ONLY)
		seals |= F_SEAL_FUTURE_WRITE;
	return seals;
}

/* Newer kernels want to be told that the file is not to be executed, older ones refuse
 * the flag. */
static int memfile_open(const char *name)
{
	const unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, flags);
	return fd < 0 ? -errno : fd;
}

/*
 * RLIMIT_FSIZE is meant for what a program writes to disk, counts here all the same, and
 * a process that breaks it is killed by SIGXFSZ. So its soft limit is out of force for
 * the moment; and the hard one is not tried.
 */
static int set_size(int fd, size_t bytes)
{
	struct rlimit limit, lifted;
	bool in_the_way;
	int r = 0;

	if (getrlimit(RLIMIT_FSIZE, &limit) < 0)
		return -errno;
	if (limit.rlim_max < bytes)
		return -ENOMEM;
	in_the_way = limit.rlim_cur < bytes;
	lifted = (struct rlimit){ limit.rlim_max, limit.rlim_max };
	if (in_the_way && setrlimit(RLIMIT_FSIZE, &lifted) < 0)
		return -errno;
	if (ftruncate(fd, (off_t)bytes) < 0)
		r = -errno;
	if (in_the_way)
		setrlimit(RLIMIT_FSIZE, &limit);
	return r;
}

int shm_memfile_create(const char *name, size_t bytes, int *ret_fd)
{
	int fd = memfile_open(name);
	int r;

	if (fd < 0)
		return fd;
	r = set_size(fd, bytes);
	if (r < 0) {
		close(fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

int shm_memfile_seal(int fd, int kind)
{
	if (fcntl(fd, F_ADD_SEALS, seals_of(kind) | F_SEAL_SEAL) < 0)
		return -errno;
	return 0;
}

int shm_memfile_verify(int fd, size_t bytes, int kind)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || (seals & seals_of(kind)) != seals_of(kind))
		return -EPROTO;
	/* The size is looked at after the seals: it cannot change any more. */
	if (fstat(fd, &st) < 0 || st.st_size < 0 || (uint64_t)st.st_size != bytes)
		return -EPROTO;
	return 0;
}

int shm_memfile_map(int fd, size_t bytes, bool writable, void **ret)
{
	int prot = writable ? PROT_READ | PROT_WRITE : PROT_READ;
	void *p = mmap(NULL, bytes, prot, MAP_SHARED, fd, 0);
	int r;

	if (p == MAP_FAILED)
		return -errno;
	if (madvise(p, bytes, MADV_DONTFORK) < 0) {
		r = -errno;
		munmap(p, bytes);
		return r;
	}
	*ret = p;
	return 0;
}

void shm_memfile_unmap(const void *mapping, size_t bytes)
{
	if (mapping)
		munmap((void *)(uintptr_t)mapping, bytes);
}

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

void shm_memfile_prefault(const void *from, size_t bytes, bool writable)
{
	const uintptr_t page = 4096, begin = (uintptr_t)from & ~(page - 1);
	int saved = errno;

	madvise((void *)begin, (uintptr_t)from + bytes - begin,
		writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
	errno = saved;
}

int shm_memfile_create_mapped(const char *name, size_t bytes, int *ret_fd, void **ret)
{
	void *p;
	int fd, r;

	r = shm_memfile_create(name, bytes, &fd);
	if (r < 0)
		return r;
	r = shm_memfile_map(fd, bytes, true, &p);
	if (r < 0)
		goto close_fd;
	r = shm_memfile_seal(fd, SHM_SEALS_READ_ONLY);
	if (r < 0)
		goto unmap;
	*ret_fd = fd;
	*ret = p;
	return 0;

unmap:
	shm_memfile_unmap(p, bytes);
close_fd:
	close(fd);
	return r;
}
