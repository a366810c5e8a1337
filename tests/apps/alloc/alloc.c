// SPDX-License-Identifier: BSD-2-Clause
#include "alloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EARLY_BYTES 65536

struct alloc_control alloc_here;

static struct alloc_control *control = &alloc_here;
static bool told_by_file;
static __thread int countdown;
/* dlsym allocates before it has found the allocator. */
static _Alignas(16) char early[EARLY_BYTES];
static size_t early_used;

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*memalign)(size_t, size_t);
	void (*free)(void *);
} real;

static void find_real(void)
{
	static bool looking;

	if (real.free || looking)
		return;
	looking = true;
	*(void **)&real.malloc = dlsym(RTLD_NEXT, "malloc");
	*(void **)&real.calloc = dlsym(RTLD_NEXT, "calloc");
	*(void **)&real.realloc = dlsym(RTLD_NEXT, "realloc");
	*(void **)&real.memalign = dlsym(RTLD_NEXT, "memalign");
	*(void **)&real.free = dlsym(RTLD_NEXT, "free");
}

static __attribute__((constructor)) void map_control(void)
{
	const char *path = getenv("VERBCAST_TEST_ALLOC");
	void *p;
	int fd;

	if (!path)
		return;
	fd = open(path, O_RDWR | O_CLOEXEC);
	p = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return;
	control = p;
	told_by_file = true;
}

void alloc_fail_at(int n)
{
	countdown = n;
	control->failed = 0;
}

static bool file_says_no(void)
{
	int n = control->countdown;

	while (n > 0)
		if (atomic_compare_exchange_weak(&control->countdown, &n, n - 1))
			return n == 1;
	return false;
}

static bool must_fail(void)
{
	bool fail;

	find_real();
	fail = told_by_file ? file_says_no() : countdown && --countdown == 0;
	if (!fail)
		return false;
	control->failed++;
	errno = ENOMEM;
	return true;
}

static void *count(void *p)
{
	if (p)
		control->live++;
	return p;
}

static bool is_early(const void *p)
{
	return (uintptr_t)p - (uintptr_t)early < EARLY_BYTES;
}

static void *take_early(size_t bytes)
{
	size_t at = early_used;

	early_used += (bytes + 15) & ~(size_t)15;
	return early_used <= EARLY_BYTES ? early + at : NULL;
}

void *malloc(size_t bytes)
{
	if (must_fail())
		return NULL;
	return real.malloc ? count(real.malloc(bytes)) : take_early(bytes);
}

void *calloc(size_t n, size_t bytes)
{
	if (must_fail())
		return NULL;
	return real.calloc ? count(real.calloc(n, bytes)) : take_early(n * bytes);
}

void *realloc(void *old, size_t bytes)
{
	void *p;

	if (must_fail())
		return NULL;
	if (is_early(old)) {
		p = malloc(bytes);
		if (p)
			memcpy(p, old, bytes);
		return p;
	}
	p = real.realloc(old, bytes);
	return old ? p : count(p);
}

void *memalign(size_t alignment, size_t bytes)
{
	return must_fail() ? NULL : count(real.memalign(alignment, bytes));
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	return memalign(alignment, bytes);
}

int posix_memalign(void **ret, size_t alignment, size_t bytes)
{
	void *p = memalign(alignment, bytes);

	if (!p)
		return ENOMEM;
	*ret = p;
	return 0;
}

void free(void *p)
{
	if (!p || is_early(p))
		return;
	find_real();
	control->live--;
	real.free(p);
}
