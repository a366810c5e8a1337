/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who is reached from where: the question that the fabric and the network answer, each
 * in its own way, and that the HCA compiles into the tables of the site; and the way of
 * management datagrams out of a port.
 *
 * Ports are numbers in the site's table of ports. An answer holds as long as `generation`
 * says the same; whoever has compiled one asks anew then.
 */
#ifndef PATH_REACH_REACH_H
#define PATH_REACH_REACH_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/gid.h"
#include "wire/ib_packet.h"

#define PATH_PKEYS_MAX 32u
#define PATH_GIDS_MAX  8u

struct path_ops {
	/*
	 * The ports from which a datagram to `mgid`, with the multicast LID `mlid` (0 where
	 * LIDs mean nothing), reaches a member behind `port`. That port is always the first
	 * of them: its own loopback needs no network. Returns how many there are, of which
	 * `ret` has room for `room`, or a negative errno.
	 */
	int (*ingress_ports)(void *arg, uint32_t port, const uint8_t mgid[16],
			     uint16_t mlid, uint32_t *ret, unsigned int room);
	/* From which ports does a unicast datagram to `lid` arrive at `port`, which has that
	 * LID? A bit a port is set in `ret`, which has `words` and is all 0. Null: there are
	 * no LIDs here. */
	void (*senders)(void *arg, uint32_t port, uint16_t lid, uint64_t *ret,
			unsigned int words);
	/* Goes up whenever an answer may be another. Null: never. */
	uint64_t (*generation)(void *arg);
	/* The same of those of `senders`. There with it. */
	uint64_t (*senders_generation)(void *arg);
	/* The same of those of `ingress_ports` for one multicast LID. Null: as `generation`. */
	uint64_t (*mlid_generation)(void *arg, uint16_t mlid);
	/* Of QP0 or QP1; the packet lives as long as the call. -ENETDOWN: the port sends
	 * nothing in its state. Null: nothing carries them here. */
	int (*send_mad)(void *arg, uint32_t port, const struct ib_packet *packet);
};

struct path {
	const struct path_ops *ops;
	void *arg;
};

/* What an InfiniBand port is, as its subnet manager has made it. Host order, values as
 * verbs have them. */
struct path_ib_port {
	uint8_t state;      /* enum ib_port_state */
	uint8_t phys_state; /* 5: LinkUp */
	uint16_t lid;
	uint8_t lmc;
	uint16_t sm_lid;
	uint8_t sm_sl;
	uint8_t subnet_timeout;
	uint8_t init_type_reply;
	uint8_t max_mtu, active_mtu; /* enum */
	uint8_t max_vl_num;          /* enum: 1 is VL0, 4 VL0 .. VL7 */
	uint8_t active_width;        /* enum: 2 is 4X */
	uint16_t active_speed;       /* enum: 32 is EDR */
	uint32_t cap_mask;
	uint16_t pkey_violations, qkey_violations;
	unsigned int pkey_count; /* length of the table */
	uint16_t pkeys[PATH_PKEYS_MAX];
	unsigned int gid_count; /* length of the table; an entry of all zeros is empty */
	union ib_gid gids[PATH_GIDS_MAX];
};

#endif
