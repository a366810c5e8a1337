/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A site in this process: its tables, nodes, devices and fabric, put together without a
 * daemon. One process is in it, this one, with slot 0.
 *
 * Everything is the loop's; before somebody runs that, the creator's.
 */
#ifndef KAPI_SITE_OWN_SITE_H
#define KAPI_SITE_OWN_SITE_H

#include <stdint.h>

struct cma;
struct ib_node;
struct loop;
struct own_site;
struct shm_counters;
struct shm_doorbell;
struct shm_tables;

#define OWN_SITE_SLOT 0u

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
struct shm_doorbell *own_site_doorbell(const struct own_site *s);
struct shm_counters *own_site_counters(const struct own_site *s);
uint32_t own_site_incarnation(const struct own_site *s);
/* Null past the last node. */
struct ib_node *own_site_node(const struct own_site *s, unsigned int n);
struct cma *own_site_cma(const struct own_site *s, unsigned int n);
/* Read the machine's addresses again. */
void own_site_rescan(struct own_site *s);

#endif
