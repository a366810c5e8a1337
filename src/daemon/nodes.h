/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The nodes of a site: virtual hosts, one an adapter of the fabric, each with a core of its
 * own: MAD layer, SA client, IPoIB interface, and its device vib0. The first is the
 * machine itself and has the RoCE devices, too (daemon/devices.h); it answers to "local"
 * as well. Without a fabric it is the only one, and has no vib0.
 */
#ifndef DAEMON_NODES_H
#define DAEMON_NODES_H

#include "base/list.h"
#include "core/ipoib/ipoib.h"
#include "core/mad/ib_mad.h"
#include "core/sa/ib_sa.h"
#include "daemon/site_fabric.h"
#include "hca/hca.h"

#define NODES_FIRST_NAME "local"

struct nodes;

/* Created and destroyed with the nodes. Null, but `ib`, without a fabric. */
struct node {
	struct nodes *nodes;
	unsigned int index;
	struct ib_node *ib;
	struct hca_device *vib;
	struct ib_mad *mad;
	struct ib_sa *sa;
	struct ipoib *ipoib;
	struct fabric_port *port;
	bool in_tree;    /* somebody has asked for the node: it has a synthetic tree */
	bool tree_stale; /* which is of yesterday */
	uint32_t tree_shape; /* which files are in it */
};

struct nodes_config {
	struct timer_queue *timers;
	struct random *random;
	struct hca_site *hca;
	struct site_fabric *fabric; /* null: none */
	const struct hca_limits *limits;
	const struct hca_device_ops *ops; /* of all devices */
	/* What is told of the node's vib0 is about to be another for programs. From inside
	 * the fabric: not to be acted on in there. */
	void (*changed)(void *arg, struct node *node);
	void *arg;
};

/* First the nodes, then what is on them: the first one's RoCE devices come in between. */
int nodes_create(const struct nodes_config *config, struct nodes **ret);
int nodes_start(struct nodes *n);
/* Whoever waits for a subnet administrator does so no longer (ib_sa_silence). */
void nodes_silence(struct nodes *n);
/* After all clients. nodes_stop leaves the nodes; both take null. */
void nodes_stop(struct nodes *n);
void nodes_destroy(struct nodes *n);

/* Every vib0 is in its broadcast group. */
bool nodes_are_up(struct nodes *n);

/* Null past the end. */
struct node *nodes_nth(const struct nodes *n, unsigned int index);
/* "": the first. Null: none is called so. */
struct node *nodes_find(const struct nodes *n, const char *name);
struct node *nodes_find_ib(const struct nodes *n, const struct ib_node *ib);
/* By the GUID of its port. */
struct node *nodes_find_guid(const struct nodes *n, uint64_t port_guid);

#endif
