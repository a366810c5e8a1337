/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The site that a program with kernel-style code brings along, and what it needs beyond
 * the kernel's own calls. Includable from user-space code too.
 *
 * A site is a fabric in this process: nodes with an InfiniBand port each (vib0), joined by
 * a switch with a subnet manager and administrator, and the first with vroce0, the RoCE
 * device of the loopback. Without kapi_site_open the first call opens one of one node.
 * Inside verbcastd (`verbcast insmod`) the site is the daemon's, and opening is -EBUSY. There
 * a client hears of the devices of all nodes, unless its thread has entered one.
 *
 * Threads: one, "kapi-loop", owns the control plane. Calls from other threads wait for it;
 * callbacks of joins, queries, MADs and rdma_cm come from it, with no lock held and never
 * from inside the call that caused them. Completions, device and queue pair events come
 * from "kapi-events". Posting and polling go straight to the data path. On the loop
 * nothing may be waited for: what would hang is reported in the log instead.
 */
#ifndef VERBCAST_KAPI_H
#define VERBCAST_KAPI_H

#include <stdint.h>

#include <verbcast/label.h>

#ifdef __cplusplus
extern "C" {
#endif

struct kapi_site_config {
	unsigned int nodes; /* 0: one */
	uint64_t seed;      /* of GUIDs and transaction ids; 0: a fixed one */
};

/* `config` may be null. -EBUSY: there is a site already. */
int kapi_site_open(const struct kapi_site_config *config) KAPI(site_open);
/* -EBUSY: something of it is still in use, and nothing was done. */
int kapi_site_close(void) KAPI(site_close);
unsigned int kapi_site_nodes(void) KAPI(site_nodes);
/* The node that the calling thread's ib_register_client and ib_register_device are of. 0
 * at first. -EINVAL: no such node. */
int kapi_node_enter(unsigned int node) KAPI(node_enter);
struct net;
/* For rdma_create_id; null: no such node. */
struct net *kapi_node_net(unsigned int node) KAPI(node_net);
struct ib_device;
/*
 * Take one of the site's own devices away, as if it were unplugged: clients hear of it from
 * "kapi-events" (kapi_device_unplug does not wait for them), members, queries and ids of
 * rdma_cm as of any device that goes. A node's vib0 does not come back, and its port is
 * without power; vroce0 does when the machine's addresses are read again
 * (rdma_roce_rescan_device, or by themselves). -ENODEV: it has gone already; -EOPNOTSUPP: it
 * is a consumer's own, or the site is verbcastd's.
 */
int kapi_device_unplug(struct ib_device *device) KAPI(device_unplug);
/* Devices of two nodes may have one name. */
unsigned int kapi_device_node(const struct ib_device *device) KAPI(device_node);

/*
 * A consumer as a shared object (linux/module.h). `parameters` are NAME=VALUE strings,
 * null at the end; may be null. -ENOENT: no such file; -ENOEXEC: not such an object, or
 * with symbols that nobody has; -EINVAL: no init, or a bad parameter; -EEXIST: there is
 * one of that name; else what its init returned. `why` (may be null) takes a sentence.
 */
int kapi_module_load(const char *path, const char *const *parameters, char *why,
		     unsigned int room) KAPI(module_load);
/* -ENOENT; -EBUSY: it has no exit, or is still starting. */
int kapi_module_unload(const char *name) KAPI(module_unload);
/* Names, a line each, in the order of loading; the length, as snprintf. */
int kapi_module_list(char *out, unsigned int room) KAPI(module_list);

struct rdma_hw_stats;
/* The counters of a port, freed by rdma_free_hw_stats_struct. ERR_PTR: -EOPNOTSUPP (the
 * driver has none), -EINVAL (no such port), -ENOMEM. */
struct rdma_hw_stats *rdma_get_hw_stats(struct ib_device *device, uint32_t port_num)
	KAPI(rdma_get_hw_stats);
/* Read again what is older than its lifespan. */
int rdma_update_hw_stats(struct ib_device *device, uint32_t port_num,
			 struct rdma_hw_stats *stats) KAPI(rdma_update_hw_stats);

#ifdef __cplusplus
}
#endif

#endif
