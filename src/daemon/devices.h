/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The RoCE devices of the node that is the machine, one an interface (design 1):
 *
 *   vroce0      the loopback; always there
 *   vroce1 ...  the interface of the default route, and those named by --wire
 *
 * They follow their interfaces: addresses, MTU and link at once, by what rtnetlink says.
 * A device goes with its interface. It also goes when it is no longer in use, that is,
 * neither named nor with the default route, for some seconds, since default routes are
 * often taken away to be put back; an interface that is switched off, which costs it its
 * routes, stays in use. An interface that comes back gets its device's old name.
 *
 * A removed device that has users yet is kept, out of the list, until the last has gone.
 */
#ifndef DAEMON_DEVICES_H
#define DAEMON_DEVICES_H

#include "core/addr/links.h"
#include "hca/hca.h"
#include "loop/loop.h"

#define DEVICES_MAX 64u /* names: vroce0 .. vroce63 */
#define DEVICES_PLACES \
	128u /* theirs alone, from the front of the table; removed ones keep theirs */
#define DEVICES_GRACE_MS 3000u /* out of use, until it goes */

struct devices;

struct devices_config {
	struct loop *loop;
	struct shm_tables *tables;
	struct hca_site *hca;
	struct ib_node *node;
	const struct hca_limits *limits;
	const struct hca_device_ops *ops; /* of all devices; unused: devices_sweep */
	uint64_t guid_seed;
	const char *const *wires; /* names of interfaces; outlive the devices */
	unsigned int wire_count;
	unsigned int grace_ms; /* DEVICES_GRACE_MS */
	/* addr_links_read, or what a test has in its place. */
	int (*read)(struct addr_links *ret);
	/* The list, or what is told of one of it, is about to be another for programs. */
	void (*changed)(void *arg);
	void *arg; /* of `changed` and `ops` */
};

/* With all the devices there are, of which `changed` has been told. */
int devices_create(const struct devices_config *config, struct devices **ret);
/* After all users. Null is fine. */
void devices_destroy(struct devices *d);
/* A device goes as if its interface had: -ENODEV if it is none of these. The loopback's
 * comes back when the machine is looked at. */
int devices_unplug(struct devices *d, const struct ib_device *ib);
/* Look at the machine, now. */
void devices_follow(struct devices *d);
/* Some removed device may have lost its last user: destroy it when the loop turns. */
void devices_sweep(struct devices *d);
/* In the order of the list, then removed ones; null past the end. */
struct hca_device *devices_nth(const struct devices *d, unsigned int n);

#endif
