/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Devices as the kernel API keeps them: ours (driver.c) and those that consumers register.
 */
#ifndef KAPI_DEVICE_H
#define KAPI_DEVICE_H

#include <rdma/ib_verbs.h>

/* What the API keeps of a device. Created by its allocation, freed with it; found by
 * clients from registration to unregistration. */
struct kapi_device {
	struct ib_device *ib;
	unsigned int node;
	struct list_head link;     /* in the list of devices, guarded by devices_lock */
	struct list_head data;     /* struct client_data, guarded by devices_lock */
	struct list_head handlers; /* struct ib_event_handler, guarded by devices_lock */
	struct ib_port_immutable *ports; /* by number; fixed while registered */
	bool registered;                 /* guarded by devices_lock */
	unsigned int refs;               /* ib_device_try_get; guarded by devices_lock */
	struct completion unused;        /* refs is 0, after unregistration began */

	/* Ours alone, else null: all of a GID's entry, where query_gid tells the GID. */
	int (*query_gid)(struct ib_device *device, u32 port_num, int index,
			 struct ib_gid_attr *attr, u32 *ifindex);
	void *core; /* struct core_ib_device, for calls that leave the verbs */
};

/* One of ours is found by clients of the node from now on. */
int device_register(struct ib_device *device, unsigned int node);
/* The device in core's terms; null: a consumer's own, which SA, MADs and CM do not know. */
void *device_core(const struct ib_device *device);
/* The device that stands for one of core's, null: none. Until the calling callback ends. */
struct ib_device *device_of_core(const void *core);
/* No client is left. */
bool device_no_clients(void);

/* gids.c: a reference to a new entry, which rdma_put_gid_attr lets go of. */
const struct ib_gid_attr *gid_attr_new(const struct ib_gid_attr *attr, u32 ifindex);
/* The entry without a reference, whose ndev is null. */
int gid_entry(struct ib_device *device, u32 port_num, int index, struct ib_gid_attr *attr,
	      u32 *ifindex);

#endif
