/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_LINUX_IN_H
#define KAPI_LINUX_IN_H

#include <arpa/inet.h>
#include <netinet/in.h>

#include <linux/socket.h>

#endif
