/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The site's fabric put together: its topology, the subnet as hardware, the path of its
 * ports, and, unless somebody else is to be that, subnet managers and administrators
 * (daemon/managers.h), the first of them behind port 0 of the first switch. Which nodes of
 * the site are behind its adapters is not its business (daemon/nodes.h).
 */
#ifndef DAEMON_SITE_FABRIC_H
#define DAEMON_SITE_FABRIC_H

#include "admin/admin.h"
#include "base/random.h"
#include "base/timer.h"
#include "fabric/net/fabric.h"
#include "daemon/managers.h"
#include "path/fabric/fabric_path.h"

struct site_fabric;

struct site_fabric_config {
	struct timer_queue *timers;
	struct random *random;
	const struct admin_shape *shape;
	const char *topology; /* the text of the shape's file, if it is one */
	size_t topology_bytes;
	const char *partitions; /* the text of the shape's file of them, if there is one */
	size_t partitions_bytes;
	const char *only_name; /* of the only adapter of the default shape */
	uint64_t guid_seed;
	/* As path_fabric_config's. */
	bool (*follow)(void *arg);
	uint32_t (*follow_mlid)(void *arg, uint16_t mlid);
	/* As fabric_config's. May be null. */
	void (*carry)(void *arg, uint16_t first_lid, uint16_t last_lid);
	void *arg;
};

/* What is wrong is said in the log. */
int site_fabric_create(const struct site_fabric_config *config, struct site_fabric **ret);
/* After the devices on it. Null is fine. */
void site_fabric_destroy(struct site_fabric *f);

struct fabric *site_fabric_net(struct site_fabric *f);
struct path_fabric *site_fabric_path(struct site_fabric *f);
/* The n-th adapter's first port; null past the end. */
struct fabric_port *site_fabric_host(struct site_fabric *f, unsigned int n);

/* The master's, or that of one that is to be: null: none runs. */
struct sm *site_fabric_sm(struct site_fabric *f);
struct sa_server *site_fabric_sa(struct site_fabric *f);
/* The first one, and those that were started since. False past the end. */
bool site_fabric_sm_nth(const struct site_fabric *f, unsigned int n,
			struct manager_view *ret);
/* As managers_start and managers_stop; `node` null: the first one's; `lmc` may be
 * ADMIN_LMC_DEFAULT. -ENODEV: the fabric is to have none of ours; -ERANGE: it has more
 * ports than there are LIDs for. */
int site_fabric_start_sm(struct site_fabric *f, const char *node, uint8_t priority,
			 uint8_t lmc);
int site_fabric_stop_sm(struct site_fabric *f, const char *node);
/* There is no SM of ours to wait for, or it has brought all up. */
bool site_fabric_is_up(const struct site_fabric *f);

#endif
