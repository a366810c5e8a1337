/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_ASM_UNALIGNED_H
#define KAPI_ASM_UNALIGNED_H

#include <linux/unaligned.h>

#endif
