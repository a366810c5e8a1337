/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PATH_FABRIC_FABRIC_PATH_PRIV_H
#define PATH_FABRIC_FABRIC_PATH_PRIV_H

#include <assert.h>

#include "base/hash.h"
#include "path/fabric/fabric_path.h"

/* A port of the fabric at its place, from bind to unbind; found by both. */
struct bound_port {
	struct hash_node node; /* in path_fabric.ports */
	struct path_fabric *pf;
	uint32_t place;
	struct fabric_port *port;
	uint16_t pkeys[PATH_PKEYS_MAX]; /* those of its table that packets may have */
	unsigned int pkey_count;
	const struct path_fabric_port_ops *ops;
	void *arg;
	const struct path_fabric_listener *listener; /* null: nobody */
	void *listener_arg;
};

/* Where datagrams to a multicast LID come from, as long as that does not change. Made by
 * the first question for it, made anew by the first one after a change. */
struct tree {
	struct hash_node node; /* in path_fabric.trees, by MLID */
	uint16_t mlid;
	uint64_t generation; /* path_mlid_generation of then */
	uint32_t room;       /* path_fabric.room of then */
	/* By place: a bit a place from which it is reached; null: from none. */
	uint64_t *ingress[];
};

#define PATH_MLID_WORDS (0x4000u / 64u)

struct path_fabric {
	struct path_fabric_config config;
	struct path path;
	struct timer timer;              /* armed while somebody is to ask anew */
	bool following;                  /* between two slices of that */
	uint64_t began_ns, ended_ns;     /* it did so last */
	uint64_t followed;               /* path_generation of when it began */
	uint64_t changes;                /* besides those that the fabric counts */
	struct timer mlid_timer;         /* armed while there are such bits */
	uint64_t mlids[PATH_MLID_WORDS]; /* a bit a MLID: its rows are others now */
	uint32_t mlid_word;              /* whose turn it is */
	uint64_t mlids_paid_ns;          /* what was done has had its time by then */
	struct hash ports;
	struct bound_port **places; /* [room] */
	uint32_t room;
	struct sources *sources;     /* null: to be gathered anew */
	uint64_t sources_generation; /* of unicast, that they belong to */
	struct hash trees;
	uint64_t trees_generation; /* of unicast: when that changes, all do */
};

struct bound_port *bound_at(const struct path_fabric *pf, uint32_t place);
struct bound_port *bound_of(const struct path_fabric *pf, const struct fabric_port *port);

/* changes.c */
void changes_init(struct path_fabric *pf);
void changes_fini(struct path_fabric *pf);
/* Of all, by something that the fabric does not count. */
void path_answers_changed(struct path_fabric *pf);
uint64_t path_generation(void *arg);
uint64_t path_senders_generation(void *arg);
uint64_t path_mlid_generation(void *arg, uint16_t mlid);

/* senders.c */
/* Its P_Key table may be another. */
void bound_pkeys_read(struct bound_port *b);
void sources_forget(struct path_fabric *pf);
void path_senders(void *arg, uint32_t place, uint16_t lid, uint64_t *ret,
		  unsigned int words);

/* tree.c */
int path_ingress_ports(void *arg, uint32_t place, const uint8_t mgid[16], uint16_t mlid,
		       uint32_t *ret, unsigned int room);
void trees_forget(struct path_fabric *pf);

#endif
