/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Consumers of the kernel's RDMA API inside verbcastd (`verbcast insmod`): shared objects
 * that use the devices of all nodes of the site, and meet the other processes there.
 *
 * The kernel API begins with the first module (kapi/host.h): verbcastd is a process of each
 * node of which a module uses a device from then on, with a slot and an engine, and shares
 * the ports of the node's rdma_cm once it has an id there. A module's init and exit may
 * wait for what the loop brings, so each is called on a thread of its own, and the loop
 * hears when it is over. A module can bring verbcastd down, as one of Linux's can the
 * kernel.
 */
#ifndef DAEMON_MODULES_H
#define DAEMON_MODULES_H

#include <stdbool.h>

struct modules;
struct site;
struct uapi_admin_call;

int modules_create(struct site *site, struct modules **ret);
/* When none is left (modules_end), or nothing can be done about it. Null is fine. */
void modules_destroy(struct modules *m);

/* Each answers its call, later. `parameters`: NAME=VALUE strings with a null behind. */
void modules_load(struct modules *m, struct uapi_admin_call *call, const char *path,
		  const char *const *parameters);
void modules_unload(struct modules *m, struct uapi_admin_call *call, const char *name);
void modules_list(struct modules *m, struct uapi_admin_call *call);
/* Whoever has asked is gone; what he asked for is done all the same. */
void modules_forget(struct modules *m, const struct uapi_admin_call *call);

/* Some are loaded, or about to be: the site has a reason to live. */
bool modules_any(const struct modules *m);
/* Unload all; the site's end timer runs out when that is done. May be called again. */
void modules_end(struct modules *m);

#endif
