/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The subnet managers of the site's fabric, each with its administrator, behind port 0 of a
 * switch or behind an adapter, beside the node that is there. They know of each other by
 * datagrams alone: who is master is their business. The first one is there from the
 * beginning, unless somebody else is to be that.
 */
#ifndef DAEMON_MANAGERS_H
#define DAEMON_MANAGERS_H

#include "base/random.h"
#include "base/timer.h"
#include "fabric/net/fabric.h"
#include "fabric/sa/sa_server.h"
#include "fabric/sm/sm.h"
#include "path/fabric/fabric_path.h"

struct managers;

struct managers_config {
	struct timer_queue *timers;
	struct random *random;
	struct fabric *net;
	struct path_fabric *path;
	/* As sm_config's; they live as long as the managers. */
	const struct sm_partition *partitions;
	unsigned int partition_count;
};

#define MANAGERS_MAX 8u

int managers_create(const struct managers_config *config, struct managers **ret);
/* Before the net. Null is fine. */
void managers_destroy(struct managers *m);

/* -EALREADY; -ENOENT: no such node; -ENOSPC: MANAGERS_MAX run, the first
 * of all being one of them though it be stopped. */
int managers_start(struct managers *m, const char *node, uint8_t priority, uint8_t lmc);
/* As by kill -9. -EALREADY; -ENOENT: none is known there. */
int managers_stop(struct managers *m, const char *node);

struct manager_view {
	const char *node;
	uint8_t priority;
	struct sm *sm; /* null: it is stopped */
	struct sa_server *sa;
};
/* Those that run, and those that ran last; false past the end. */
bool managers_nth(const struct managers *m, unsigned int n, struct manager_view *ret);
/* The one that is master, else the first that runs. False: none runs. */
bool managers_master(const struct managers *m, struct manager_view *ret);

#endif
