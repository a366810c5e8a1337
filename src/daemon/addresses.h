/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The addresses of the machine's loopback interface, as the GID table of its RoCE device.
 */
#ifndef DAEMON_ADDRESSES_H
#define DAEMON_ADDRESSES_H

#include "hca/hca.h"

struct addresses {
	char netdev[16];
	struct hca_gid gids[HCA_GIDS_MAX];
	unsigned int count;
};

/* Never empty: where the interface has no address (a fresh network namespace), the
 * usual ones stand in, since the site's traffic does not pass the interface. */
void addresses_of_loopback(struct addresses *a);

#endif
