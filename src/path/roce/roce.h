/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The path of a RoCE port: the network behind its interface.
 *
 * The interface here is the loopback, which nobody else is on, so a port is reached from
 * itself only: from all processes of its node, and from no other port.
 */
#ifndef PATH_ROCE_ROCE_H
#define PATH_ROCE_ROCE_H

#include "path/reach/reach.h"

extern const struct path path_roce_loopback;

#endif
