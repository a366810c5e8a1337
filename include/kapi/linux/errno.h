/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors that only the kernel itself has, beside those that programs see. */
#ifndef KAPI_LINUX_ERRNO_H
#define KAPI_LINUX_ERRNO_H

#include_next <linux/errno.h>

#define ERESTARTSYS  512
#define EPROBE_DEFER 517
#define ENOTSUPP     524

#endif
