/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The database on more than one SM (spec/sa-sm 2.5). The SA of each SM that stands by
 * follows the master's: it says so to the master's LID, again and again, and is sent the
 * whole database, then every change. All of it are datagrams of SM_PEER_CLASS on QP1.
 *
 *	offset 40: key 8, session 8, position 8, position afterwards 8, in step 4,
 *	           next assigned MGID 4, and then, of CHANGES, records (journal.c), of
 *	           DATABASE what save.c writes
 *
 * A session is a time as master, positions count the bytes of its journal. FOLLOW is one
 * MAD, Set and GetResp; CHANGES and DATABASE are RMPP transfers of method Send.
 *
 * The answer to a Set or Delete waits until every follower has what it has changed. So
 * what a client was told outlives the master. A follower to which nothing is sent, and of
 * which nothing is heard, for SA_LEASE_NS is given up, and one that was not confirmed to be
 * in step for that long while its master lived, or that becomes master more than SA_HEIR_NS
 * later, does not take what it has for the database.
 */
#ifndef FABRIC_SA_REPLICA_PRIV_H
#define FABRIC_SA_REPLICA_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/timer.h"
#include "mad/rmpp.h"
#include "wire/ib_packet.h"

struct sa_server;
struct sa_request;
struct sa_group;

#define SA_FOLLOWERS_MAX 8u
#define SA_JOURNAL_MAX   (4u << 20) /* bytes; who is farther behind gets all anew */
#define SA_LEASE_NS      (1000 * TIMER_MS)
#define SA_HEIR_NS       (3000 * TIMER_MS) /* since the master was last alive */

enum sa_peer_attribute {
	SA_PEER_FOLLOW = 0x10,
	SA_PEER_CHANGES = 0x11,
	SA_PEER_DATABASE = 0x12,
};

/* What is at the head of every datagram between the two. */
#define SA_PEER_HEADER 40u
#define SA_PEER_DATA   80u
struct sa_peer_header {
	struct mad_header mad;
	uint64_t key, session, position, position_after;
	bool in_step;
	uint32_t next_mgid;
};
void sa_peer_header_get(const uint8_t *message, struct sa_peer_header *ret);
void sa_peer_header_put(uint8_t *message, const struct sa_peer_header *header);
void sa_peer_send(struct sa_server *s, uint16_t lid, const uint8_t mad[MAD_BYTES]);

/* -- journal.c: what has changed ----------------------------------------------------- */

struct sa_journal {
	uint64_t session;
	uint64_t start, end; /* positions of the bytes that are kept */
	uint8_t *bytes;
	size_t room;
};

/* The port's membership is now this; 0: it has none. */
void sa_journal_member(struct sa_server *s, const struct sa_group *group,
		       uint64_t port_guid, uint8_t join_state, bool proxy);
/* The last full member has gone. */
void sa_journal_group_end(struct sa_server *s, const struct sa_group *group);
/* An MGID was chosen: for whoever asks the next master again. */
struct sa_assigned;
void sa_journal_choice(struct sa_server *s, const struct sa_assigned *a);
/* It is there now, or will not be any more. */
struct sa_alias;
void sa_journal_alias(struct sa_server *s, const struct sa_alias *a, bool there);
/* More than can be said, or something rare: all anew. */
void sa_journal_renew(struct sa_server *s);
/* Nobody needs what is before this. */
void sa_journal_trim(struct sa_journal *j, uint64_t position);
void sa_journal_reset(struct sa_server *s);
/* -EPROTO, -ENOMEM, -ENOSPC: a part was done. */
int sa_journal_apply(struct sa_server *s, const uint8_t *records, size_t length);

/* -- followers.c: the master's side -------------------------------------------------- */

struct sa_follower {
	struct sa_server *server; /* null: nobody */
	uint64_t port_guid;
	uint16_t lid;
	uint64_t position; /* of what it has */
	bool fresh;        /* it is to have all */
	bool counts;       /* answers wait for it */
	/* When something was heard of it, or sent that it may have taken: either may have told
	 * it that it is in step. */
	uint64_t heard_ns;
	uint64_t asked_tid; /* of the last FOLLOW; 0: there was none */
	/* What is on its way, if it is. */
	struct rmpp_sender *sender;
	uint64_t tid, sent_to;
	bool sending_all;
};

void sa_followers_init(struct sa_server *s);
/* No longer master. */
void sa_followers_forget(struct sa_server *s);
/* There is something for them. */
void sa_followers_wake(struct sa_server *s);
bool sa_followers_any(const struct sa_server *s);
bool sa_is_followed(const struct sa_server *s, uint64_t port_guid);
/* True: the answer has to wait, and is sent by sa_request_release. */
bool sa_followers_hold(struct sa_request *req);
void sa_followers_receive(struct sa_server *s, const struct ib_packet *packet);

/* -- following.c: the standby's side ------------------------------------------------- */

struct sa_following {
	uint64_t session, position; /* of what is in the database */
	bool fed;                   /* it is, or was, another's */
	bool in_step;
	uint16_t master_lid;
	uint64_t alive_ns, confirmed_ns; /* the master; that we are in step */
	uint64_t asked_session, asked_position, asked_tid;
	struct rmpp_receiver *receiver;
	uint64_t tid; /* of the transfer */
};

void sa_follow(struct sa_server *s, uint16_t master_lid);
void sa_following_stop(struct sa_server *s);
void sa_following_receive(struct sa_server *s, const struct ib_packet *packet);

#endif
