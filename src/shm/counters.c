// SPDX-License-Identifier: BSD-2-Clause
#include "shm/counters.h"

#include <errno.h>
#include <unistd.h>

#include "shm/memfile.h"
#include "shm/tables.h"

static int counters_init(int fd, uint32_t slot)
{
	struct shm_counters *c;
	void *p;
	int r;

	/* The header only: the rest of the file stays sparse. */
	r = shm_memfile_map(fd, offsetof(struct shm_counters, qps), true, &p);
	if (r < 0)
		return r;
	c = p;
	c->magic = SHM_COUNTERS_MAGIC;
	c->layout_version = SHM_LAYOUT_VERSION;
	c->slot = slot;
	shm_memfile_unmap(p, offsetof(struct shm_counters, qps));
	return shm_memfile_seal(fd, SHM_SEALS_SIZE);
}

int shm_counters_create(uint32_t slot, int *ret_fd)
{
	int fd, r;

	r = shm_memfile_create("verbcast-counters", sizeof(struct shm_counters), &fd);
	if (r < 0)
		return r;
	r = counters_init(fd, slot);
	if (r < 0) {
		close(fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

int shm_counters_map(int fd, int writable, struct shm_counters **ret)
{
	struct shm_counters *c;
	void *p;
	int r;

	r = shm_memfile_verify(fd, sizeof(*c), SHM_SEALS_SIZE);
	if (r < 0)
		return r;
	r = shm_memfile_map(fd, sizeof(*c), writable, &p);
	if (r < 0)
		return r;
	c = p;
	if (c->magic != SHM_COUNTERS_MAGIC || c->layout_version != SHM_LAYOUT_VERSION) {
		shm_counters_unmap(c);
		return -EPROTO;
	}
	*ret = c;
	return 0;
}

void shm_counters_unmap(struct shm_counters *c)
{
	shm_memfile_unmap(c, sizeof(*c));
}
