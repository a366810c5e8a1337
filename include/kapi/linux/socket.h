/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_LINUX_SOCKET_H
#define KAPI_LINUX_SOCKET_H

#include <sys/socket.h>
#include_next <linux/socket.h>

#ifndef AF_IB
#define AF_IB 27
#endif

#endif
