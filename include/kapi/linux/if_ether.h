/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_LINUX_IF_ETHER_H
#define KAPI_LINUX_IF_ETHER_H

#include_next <linux/if_ether.h>

#endif
