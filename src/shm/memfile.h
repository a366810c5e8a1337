/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory files without a name: what every kind of shared memory here is made of.
 *
 * Created at full size (sparse), sealed against shrinking and growing, so that a mapping
 * once checked can never fault; close-on-exec; mapped so that a forked child does not
 * have it, or it would write into its parent's log with its parent's head.
 */
#ifndef SHM_MEMFILE_H
#define SHM_MEMFILE_H

#include <stdbool.h>
#include <stddef.h>

/* Sealed against a change of size; written by all who have it. */
#define SHM_SEALS_SIZE      1
/* Besides, no writable mapping can be made any more; those that exist stay. */
#define SHM_SEALS_READ_ONLY 2

int shm_memfile_create(const char *name, size_t bytes, int *ret_fd);
/* `kind` is one of SHM_SEALS_*. No seal can be added afterwards. */
int shm_memfile_seal(int fd, int kind);
/* 0; -EPROTO: not a memory file of this size with these seals. */
int shm_memfile_verify(int fd, size_t bytes, int kind);

int shm_memfile_map(int fd, size_t bytes, bool writable, void **ret);
void shm_memfile_unmap(const void *mapping, size_t bytes);
/* Have the pages of a part of a mapping now, so that no later access takes a fault. Where
 * the kernel cannot (before Linux 5.14), later accesses do. */
void shm_memfile_prefault(const void *from, size_t bytes, bool writable);

/* Create, map read-write, and seal: a file that its creator alone will write. */
int shm_memfile_create_mapped(const char *name, size_t bytes, int *ret_fd, void **ret);

#endif
