/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The path of an InfiniBand port: the fabric's switches. Ports of the fabric are bound to
 * places in the site's table of ports; what the switches' tables say between those is the
 * answer to the HCA's questions, and changes of either are told so that it asks anew.
 *
 * A multicast LID is walked from two bound ports of a switch once, and the answer kept
 * until the routes change, however many groups and members ask.
 *
 * One thread, that of the fabric.
 */
#ifndef PATH_FABRIC_FABRIC_PATH_H
#define PATH_FABRIC_FABRIC_PATH_H

#include "base/timer.h"
#include "fabric/net/fabric.h"
#include "path/reach/reach.h"

struct path_fabric;

struct path_fabric_config {
	struct fabric *fabric;
	struct timer_queue *timers;
	/* Answers are others now, and whoever compiled old ones is to ask anew. Called from
	 * a timer, once for all that changed in between. Does a slice of the work; true:
	 * there is more, call again. Null: nobody has compiled any. */
	bool (*follow)(void *arg);
	/* The same of one multicast LID, whose rows in the switches' tables are others now;
	 * called at once, whatever `follow` has yet to do, and however long it rests. Asks
	 * anew if that is little, else leaves it to `follow`. How many answers it looked at,
	 * 0 if none. Null: nobody wants to know. */
	uint32_t (*follow_mlid)(void *arg, uint16_t mlid);
	void *arg;
};

int path_fabric_create(const struct path_fabric_config *config, struct path_fabric **ret);
/* After the devices on it. Unbinds what is bound. Null is fine. */
void path_fabric_destroy(struct path_fabric *pf);

/* What devices are created with; the same for all ports of the fabric. */
const struct path *path_fabric_path(struct path_fabric *pf);

/* For fabric_config.routes_changed, which is there before anything of this: from inside
 * anything. `arg` is the path_fabric; null is fine. */
void path_fabric_routes_changed(void *arg);
/* The same for fabric_config.multicast_changed. */
void path_fabric_multicast_changed(void *arg, uint16_t first_mlid, uint32_t rows);

/* Each may be null. Both as struct fabric_port_ops says. */
struct path_fabric_port_ops {
	void (*receive)(void *arg, const struct ib_packet *packet);
	void (*changed)(void *arg, unsigned int changes /* enum fabric_port_change */);
};

/* From now on `place` in the site's table of ports is this port of the fabric, to which
 * the path attaches itself. -EEXIST: one of them is bound already; -EINVAL: no such place;
 * -ENOMEM. */
int path_fabric_bind(struct path_fabric *pf, uint32_t place, struct fabric_port *port,
		     const struct path_fabric_port_ops *ops, void *arg);
/* A subnet manager beside the node. */
struct path_fabric_listener {
	/* True: it is his alone. */
	bool (*receive)(void *arg, const struct ib_packet *packet);
	/* May be null. */
	void (*changed)(void *arg, unsigned int changes /* enum fabric_port_change */);
};
/* What the bound port receives, and what becomes of it, is told to somebody else first.
 * Null: to nobody. -ENOENT: the port is not bound. */
int path_fabric_listen(struct path_fabric *pf, struct fabric_port *port,
		       const struct path_fabric_listener *listener, void *arg);
/* Harmless where nothing is bound. */
void path_fabric_unbind(struct path_fabric *pf, uint32_t place);
/* Null: none is bound. */
struct fabric_port *path_fabric_port(const struct path_fabric *pf, uint32_t place);
/* What the bound port is, for hca_port_link.ib. -ENOENT: none is bound. */
int path_fabric_describe(const struct path_fabric *pf, uint32_t place,
			 struct path_ib_port *ret);

#endif
