/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes that go from one process to another as a file of memory: more than a message has
 * room for. Memory that both go on using is another thing (shm/memfile.h).
 */
#ifndef BASE_MEMORY_FILE_H
#define BASE_MEMORY_FILE_H

#include <stddef.h>

/* With these bytes in it, and F_SEAL_* (0: none). Its descriptor, or a negative errno. */
int memory_file_create(const char *name, const void *bytes, size_t length, int seals);
/* The first `length` bytes of it. 0, -ENODATA: there are fewer, or a negative errno. */
int memory_file_read(int fd, void *to, size_t length);

#endif
