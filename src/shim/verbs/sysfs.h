/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the library looks for sysfs: exported, but not declared by <infiniband/verbs.h>. */
#ifndef SHIM_VERBS_SYSFS_H
#define SHIM_VERBS_SYSFS_H

#include <stddef.h>

const char *ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);

#endif
