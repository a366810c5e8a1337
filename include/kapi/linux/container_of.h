/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_LINUX_CONTAINER_OF_H
#define KAPI_LINUX_CONTAINER_OF_H

#include <stddef.h>

#undef container_of
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#define typeof_member(t, m)             typeof(((t *)0)->m)

#endif
