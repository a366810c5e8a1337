/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The software HCA's control half: a driver like any other below the kernel API. It
 * gives out keys, numbers and counter blocks, keeps the limits, and writes the tables
 * that the engines in the processes read. The data path is not here (src/engine).
 *
 * A site has one `struct hca_site`, for what all its devices share: the tables, memory
 * keys (an engine serves all devices of its process, so a key is unique in the site),
 * and each process's counter blocks.
 *
 * All calls come from the daemon's loop.
 */
#ifndef HCA_HCA_H
#define HCA_HCA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/verbs/ib_verbs.h"
#include "path/reach/reach.h"
#include "shm/tables.h"

struct hca_site;
struct hca_device;

/* -- limits ------------------------------------------------------------------------- */

struct hca_limits {
#define LIMIT(name, value, maximum, text) uint32_t name;
#include "hca/limits.def"
#undef LIMIT
};

/* The n-th limit, for listings; `value` is the default. Null name: past the end. */
struct hca_limit_info {
	const char *name;
	const char *text;
	uint32_t value, maximum;
};

void hca_limits_init(struct hca_limits *limits);
/* -EINVAL: no such limit (hca_limit_info names them); -ERANGE: above its maximum. */
int hca_limit_set(struct hca_limits *limits, const char *name, uint64_t value);
struct hca_limit_info hca_limit_info(unsigned int n);

/* -- site --------------------------------------------------------------------------- */

/* `tables` are the daemon's, writable, and outlive the site. */
int hca_site_create(struct shm_tables *tables, struct hca_site **ret);
/* After all its devices. Null is fine. */
void hca_site_destroy(struct hca_site *site);
/*
 * The paths' answers may be others by now: compile anew what was compiled from old ones.
 * Members stay, entries come and go. One call does a slice of the work; true: there is
 * more. May be called at any time; for path_fabric_config.follow.
 */
bool hca_site_recompile(struct hca_site *site);
/*
 * The same of one multicast LID, out of turn and at once. Returns how many answers were
 * looked at. Where they are many (8,192), they are left to hca_site_recompile: a group of
 * n ports has at least n for each of them. For path_fabric_config.follow_mlid.
 */
uint32_t hca_site_recompile_mlid(struct hca_site *site, uint16_t mlid);

/* -- device ------------------------------------------------------------------------- */

struct hca_gid {
	union ib_gid gid;
	enum ib_gid_type type;
	uint32_t ifindex;
};

/* What a device tells the daemon, for the history of members that left. Called before
 * the block of counters is free for another use. Either may be null. */
struct hca_device_ops {
	void (*member_left)(void *arg, struct ib_device *device, const union ib_gid *mgid,
			    uint32_t slot, uint32_t qpn, uint32_t counters);
	void (*qp_left)(void *arg, struct ib_device *device, uint32_t slot, uint32_t qpn,
			uint32_t counters);
	/* A removed device can be destroyed now, but not from in here. */
	void (*unused)(void *arg, struct ib_device *device);
};

/* What a port is, as far as its interface, or its subnet manager, decides. */
struct hca_port_link {
	const char *netdev; /* "lo"; null: none */
	/* An InfiniBand port, and all of it; what follows does not count. Null: Ethernet. */
	const struct path_ib_port *ib;
	const struct hca_gid *gids; /* at most HCA_GIDS_MAX, each but once */
	unsigned int gid_count;
	/* The first of the GIDs is the port's default one. It has place 0, which from
	 * then on no other gets (Linux does so with the GID of the MAC address). */
	bool default_gid;
	bool down;
	int mtu; /* enum; 0 is 4096 */
};

/* A device with one port, Ethernet (RoCE) or InfiniBand as its link says, for good. A node
 * has one InfiniBand device at most: whom a datagram reaches is told by the process, which
 * is a node's, and by the kind of port. Everything is copied but what is pointed to by
 * `site`, `path` and `ops`. */
struct hca_device_config {
	struct hca_site *site;
	const struct path *path;
	const char *name;     /* "vroce0" */
	uint32_t site_device; /* its number among all devices of the site */
	uint32_t port_index;  /* the place of its port in shm_tables.ports */
	uint32_t place;       /* in the device list */
	uint64_t guid;        /* network order; see hca_guid */
	bool network;         /* the interface is not just the machine's own */
	struct hca_port_link link;
	struct hca_limits limits;
	const struct hca_device_ops *ops;
	void *arg;
};

/* One place of the GID table always stays empty (spec/userland 5.5). */
#define HCA_GIDS_MAX (SHM_GIDS_MAX - 1)

/* A locally administered EUI-64, in network order and not 0, for the n-th device of a
 * site whose seed (site_id, or a hash of its name) is given. */
uint64_t hca_guid(uint64_t site_seed, uint32_t n);

/* Creates it, writes its port into the tables, and registers it with the node. Processes
 * look for it when the tables' devices_generation has moved, which is the caller's to do.
 * -EEXIST: the node has a device of that name, or one more InfiniBand device. */
int hca_device_create(struct ib_node *node, const struct hca_device_config *config,
		      struct hca_device **ret);
/* The interface, or what the subnet manager says of it, has changed. The port's tables
 * follow; who listens is told: of the state, and of changes of LID, SM, P_Keys and GIDs.
 * -EINVAL: nothing was done. From the loop alone. */
int hca_device_follow(struct hca_device *device, const struct hca_port_link *link);
/* The subnet manager wants its clients to register anew: CLIENT_REREGISTER. */
void hca_device_reregister(struct hca_device *device);
/* A management datagram has arrived for QP0 or QP1 of the port. */
void hca_device_receive_mad(struct hca_device *device, const struct ib_packet *packet);
/* The interface is gone: ib_remove_device, and the port has no GIDs any more. */
void hca_device_remove(struct hca_device *device);
/* After all its users. -EBUSY: there are some yet, and nothing was done. */
int hca_device_destroy(struct hca_device *device);
struct ib_device *hca_device_ib(struct hca_device *device);

/* -- what is there, for status ------------------------------------------------------ */

struct hca_use {
	uint32_t pds, mrs, cqs, srqs, qps, groups, attachments;
};
void hca_device_use(const struct hca_device *device, struct hca_use *ret);

struct hca_qp_view {
	uint32_t qpn;
	uint32_t slot;     /* of its process */
	uint32_t state;    /* enum ib_qp_state, as the daemon knows it */
	uint32_t type;     /* enum ib_qp_type */
	uint32_t counters; /* index in shm_counters.qps */
	uint32_t attached; /* groups */
};

struct hca_group_view {
	union ib_gid mgid;
	uint32_t port_num;
	uint32_t entry; /* the first of its entries in the tables; SHM_NONE: it has none */
	uint32_t members;
};

struct hca_member_view {
	uint32_t qpn;
	uint32_t slot;
	uint32_t counters; /* index in shm_counters.members */
	uint64_t generation;
};

/* In order of creation; members in order of attach. The callbacks must not change the
 * device. `group` is called before each of its members; either callback may be null. */
void hca_device_each_qp(const struct hca_device *device,
			void (*fn)(void *arg, const struct hca_qp_view *qp), void *arg);
void hca_device_each_group(const struct hca_device *device,
			   void (*group)(void *arg, const struct hca_group_view *group),
			   void (*member)(void *arg, const struct hca_group_view *group,
					  const struct hca_member_view *member),
			   void *arg);

#endif
