/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The path of a RoCE port: the network behind its interface.
 *
 * A port is reached from itself only: from all processes of its node, and from no other
 * port. Nobody else is on the loopback; the ports of other interfaces are on networks of
 * their own, and whoever is there is not reached as long as there is no wire.
 */
#ifndef PATH_ROCE_ROCE_H
#define PATH_ROCE_ROCE_H

#include "path/reach/reach.h"

extern const struct path path_roce_loopback;

#endif
