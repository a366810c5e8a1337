/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the kernel API runs: on a site of its own in this process (site.c), or inside
 * verbcastd on that one's. The pointers to core's objects are bare here, since the kernel's
 * headers give other meanings to their names (core_view.sh).
 */
#ifndef KAPI_HOST_H
#define KAPI_HOST_H

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct engine_peer;
struct loop;
struct shm_counters;
struct shm_doorbell;
struct shm_tables;

/* A node's place among the processes of the site: each has an engine of its own, since to
 * others a process is its node. */
struct kapi_process {
	struct shm_doorbell *doorbell;
	struct shm_counters *counters;
	uint32_t slot, incarnation;
};

struct kapi_host {
	struct loop *loop;
	const struct shm_tables *tables;
	bool logs; /* consumers speak to this process's log, not to standard error */
	/* Clients hear of the devices of all nodes, unless their thread has chosen one. */
	bool clients_see_all;
	/* Nobody looks for devices before kapi_host_watch: so many take their time. */
	bool watch_later;

	unsigned int nodes;
	/* On the loop, as all that follow. struct ib_node; struct cma, or null; the node's
	 * place is asked for once, when something of it is first used. */
	void *(*node)(void *arg, unsigned int n);
	void *(*cma)(void *arg, unsigned int n);
	int (*process)(void *arg, unsigned int n, struct kapi_process *ret);
	/* As in struct engine_ops, asked by the n-th node's engine. */
	int (*map_peer)(void *arg, unsigned int n, uint32_t slot,
			struct engine_peer *ret);
	int (*publish_log)(void *arg, unsigned int n, int fd);
	void (*drained)(void *arg, unsigned int n, uint32_t slot, uint32_t incarnation);
	/* Take the device (struct ib_device) away; may be null. */
	int (*unplug)(void *arg, unsigned int n, void *device);
	/* Look at the machine's addresses again; may be null. */
	void (*rescan)(void *arg);
	void *arg;
};

/* `host` is copied; what it points at stays until the end. On the loop, or before it runs.
 * From here on the kernel API works. -EBUSY: it does already. */
int kapi_host_begin(const struct kapi_host *host);
/* Find the devices, a node a step of the loop; from another thread. Returns when clients
 * would find them, and at once if that is done. */
void kapi_host_watch(void);
/* In two steps: clients and objects must be gone (-EBUSY: they are not, and nothing was
 * done), then from the loop, or when nobody runs it any more. */
int kapi_host_may_end(void);
void kapi_host_end(void);

/* -- for the rest of kapi --------------------------------------------------------------- */

/* Opens a site if there is none. 0 or negative errno. */
int kapi_host_need(void);
const struct kapi_host *kapi_host(void); /* null: none */
bool kapi_host_logs(void);
/* The node that this thread works on; for its clients, perhaps KAPI_ALL_NODES. */
unsigned int kapi_this_node(void);
unsigned int kapi_clients_node(void);
/* On the loop: the node has a place and an engine from now on. 0 or negative errno. */
int kapi_host_use(unsigned int n);
/* Of the host, also while it begins and ends; null, zero before the node is used. */
const struct kapi_process *kapi_host_process(unsigned int n);
struct engine *kapi_host_engine(unsigned int n);
unsigned int kapi_host_nodes(void);
void *kapi_host_node(unsigned int n);

#define KAPI_NODES_MAX 4096u
#define KAPI_ALL_NODES UINT32_MAX

#endif
