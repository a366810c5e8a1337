// SPDX-License-Identifier: BSD-2-Clause
#include "shm/log.h"

#include <errno.h>
#include <unistd.h>

#include "shm/memfile.h"
#include "shm/tables.h"

int shm_log_create(uint32_t slot, uint32_t incarnation, int *ret_fd, struct shm_log **ret)
{
	struct shm_log *log;
	void *p;
	int r;

	r = shm_memfile_create_mapped("verbcast-log", sizeof(*log), ret_fd, &p);
	if (r < 0)
		return r;
	log = p;
	shm_memfile_prefault(log, offsetof(struct shm_log, payload) + SHM_LOG_STEP, true);
	log->h.magic = SHM_LOG_MAGIC;
	log->h.layout_version = SHM_LAYOUT_VERSION;
	log->h.slot = slot;
	log->h.incarnation = incarnation;
	atomic_store_explicit(&log->h.head, 1, memory_order_release);
	*ret = log;
	return 0;
}

void shm_log_prefault(struct shm_log *log, uint64_t from)
{
	if (from < SHM_LOG_PAYLOAD)
		shm_memfile_prefault(log->payload + from, SHM_LOG_STEP, true);
}

int shm_log_verify(int fd)
{
	return shm_memfile_verify(fd, sizeof(struct shm_log), SHM_SEALS_READ_ONLY);
}

int shm_log_map(int fd, uint32_t slot, uint32_t incarnation, const struct shm_log **ret)
{
	const struct shm_log *log;
	void *p;
	int r;

	r = shm_log_verify(fd);
	if (r < 0)
		return r;
	r = shm_memfile_map(fd, sizeof(*log), false, &p);
	if (r < 0)
		return r;
	log = p;
	if (log->h.magic != SHM_LOG_MAGIC ||
	    log->h.layout_version != SHM_LAYOUT_VERSION || log->h.slot != slot ||
	    log->h.incarnation != incarnation) {
		shm_log_unmap(log);
		return -EPROTO;
	}
	shm_memfile_prefault(log, offsetof(struct shm_log, payload) + SHM_LOG_STEP,
			     false);
	*ret = log;
	return 0;
}

void shm_log_unmap(const struct shm_log *log)
{
	shm_memfile_unmap(log, sizeof(*log));
}
