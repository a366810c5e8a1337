// SPDX-License-Identifier: BSD-2-Clause
/*
 * Fork support. Hardware writes to the pages that were there at registration, and a fork
 * may take them away from under it. Here the process itself writes, through its own
 * addresses, so nothing is needed and nothing can be too late; what happens in the child
 * is in process.c.
 */
#include <infiniband/verbs.h>

#include "shim/export.h"

VC_EXPORT int ibv_fork_init(void)
{
	return 0;
}

VC_EXPORT enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

/* For provider libraries; not declared by <infiniband/verbs.h>. */
int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);

VC_EXPORT int ibv_dontfork_range(void *base, size_t size)
{
	return 0;
}

VC_EXPORT int ibv_dofork_range(void *base, size_t size)
{
	return 0;
}
