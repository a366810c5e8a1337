// SPDX-License-Identifier: BSD-2-Clause
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>

#include "real.h"

static const char *const names[] = {
#define REAL_NAME(name) #name,
	INTERPOSED(REAL_NAME)
#undef REAL_NAME
};

/* Whoever looks up a name finds the same address, so the order of stores is nothing. */
static _Atomic(void *) addresses[REAL_COUNT];

void *real_address(enum real_index index)
{
	void *address = atomic_load_explicit(&addresses[index], memory_order_relaxed);
	int saved = errno;

	if (!address) {
		address = dlsym(RTLD_NEXT, names[index]);
		atomic_store_explicit(&addresses[index], address, memory_order_relaxed);
		errno = saved;
	}
	return address;
}

__attribute__((constructor)) static void find_all(void)
{
	int i;

	for (i = 0; i < REAL_COUNT; i++)
		real_address(i);
}
