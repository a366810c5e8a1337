/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A site in this process: its tables, nodes, devices and fabric, put together without a
 * daemon. To the site this process is as many as there are nodes, the n-th in slot n.
 *
 * Everything is the loop's; before somebody runs that, the creator's.
 */
#ifndef KAPI_SITE_OWN_SITE_H
#define KAPI_SITE_OWN_SITE_H

#include <stdint.h>

#include "engine/engine.h"
#include "kapi/host.h"

struct cma;
struct ib_node;
struct ib_device;
struct loop;
struct own_site;

struct own_site_config {
	unsigned int nodes; /* 1 .. OWN_SITE_NODES_MAX */
	uint64_t seed;
};

/* A switch's ports. */
#define OWN_SITE_NODES_MAX 254u

/* -EINVAL: too many nodes, or none. */
int own_site_create(const struct own_site_config *config, struct own_site **ret);
/* After all users of its devices. Null is fine. */
void own_site_destroy(struct own_site *s);

struct loop *own_site_loop(const struct own_site *s);
const struct shm_tables *own_site_tables(const struct own_site *s);
/* For struct kapi_host. */
int own_site_process(const struct own_site *s, unsigned int n, struct kapi_process *ret);
int own_site_map_peer(const struct own_site *s, uint32_t slot, struct engine_peer *ret);
int own_site_publish_log(struct own_site *s, unsigned int n, int fd);
/* Null past the last node. */
struct ib_node *own_site_node(const struct own_site *s, unsigned int n);
struct cma *own_site_cma(const struct own_site *s, unsigned int n);
/* The device of the node goes: -ENODEV if it is none of ours. */
int own_site_unplug(struct own_site *s, unsigned int n, const struct ib_device *device);
/* Read the machine's addresses again. */
void own_site_rescan(struct own_site *s);

#endif
