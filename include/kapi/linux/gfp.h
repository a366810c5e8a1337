/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocation flags. Here an allocation may always sleep, and the caller may always wait. */
#ifndef KAPI_LINUX_GFP_H
#define KAPI_LINUX_GFP_H

#include <linux/types.h>

#define __GFP_ZERO    0x100u
#define __GFP_NOWARN  0x2000u
#define __GFP_NORETRY 0x10000u
#define GFP_ATOMIC    0x820u
#define GFP_KERNEL    0xcc0u
#define GFP_NOWAIT    0x800u
#define GFP_NOIO      0xc00u
#define GFP_NOFS      0xc40u
#define GFP_DMA       0x1u

#endif
