/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside the MAD layer: the objects, and what one file does for another.
 *
 *   mad.c      the layer, its devices that come and go
 *   agent.c    agents, and who owns which class and method
 *   send.c     what is under way: posting, timeouts, retries, cancelling
 *   receive.c  where what arrives belongs
 *   rmpp.c     what arrives and leaves in segments
 *
 * Whatever calls an agent may come back to find the agent, its sends and its device gone;
 * so a call to an agent is the last thing that a function does, or it says how it knows.
 */
#ifndef CORE_MAD_MAD_PRIV_H
#define CORE_MAD_MAD_PRIV_H

#include "base/hash.h"
#include "core/mad/ib_mad.h"
#include "mad/rmpp.h"

#define MAD_METHODS 128u

struct ib_mad {
	struct ib_mad_config config;
	struct ib_client client;
	struct list devices;   /* struct mad_device */
	struct hash agents;    /* struct ib_mad_agent, by tag */
	struct hash waiting;   /* struct mad_send that want an answer, by tid */
	struct hash sends;     /* struct mad_send, by id */
	struct hash segmented; /* struct mad_send with an RMPP sender, by tid */
	struct hash transfers; /* struct mad_transfer, by tid */
	u32 last_tag, last_tid;
	u64 last_id;
	struct ib_mad_counters counters;
};

/* Who has registered for a class and version on a queue pair. Made by the first agent
 * that wants a method of it, freed with its device. */
struct mad_class_owners {
	struct list link; /* in its queue pair's classes */
	u8 mgmt_class, version;
	u8 oui[3]; /* of a vendor's class, else 0 */
	struct ib_mad_agent *owners[MAD_METHODS];
};

struct mad_port {
	struct mad_device *device;
	u32 num;
	struct list classes[2]; /* struct mad_class_owners, of QP0 and QP1 */
};

/* The layer's part of a device: there from the device's registration until its removal. */
struct mad_device {
	struct ib_mad *mad;
	struct ib_device *ib;
	struct list link;   /* in mad->devices */
	struct list agents; /* struct ib_mad_agent */
	u32 port_count;
	struct mad_port ports[];
};

/* Created and destroyed by its user; it outlives its device. */
struct ib_mad_agent {
	struct ib_mad *mad;
	struct mad_port *port; /* null: the device is gone */
	u32 qpn, tag;
	u8 rmpp_version;
	struct ib_mad_agent_ops ops;
	void *context;
	struct list link; /* in its device's agents */
	struct hash_node tag_node;
	struct list sends;     /* struct mad_send, oldest first */
	struct list transfers; /* struct mad_transfer */
	bool closing;          /* in ib_unregister_mad_agent */
};

enum mad_send_state {
	MAD_SEND_SEGMENTS,  /* the RMPP sender has it */
	MAD_SEND_WAITS,     /* for an answer */
	MAD_SEND_ANSWERED,  /* by RMPP: the answer is being put together */
	MAD_SEND_OVER,      /* `status` will be told from the timers */
	MAD_SEND_DELIVERED, /* its agent is in recv, with the answer */
};

/* Created by ib_post_send_mad, freed when the agent has heard its outcome. */
struct mad_send {
	struct ib_mad_agent *agent; /* null: flushed while it was in DELIVERED */
	struct list link;           /* in agent->sends */
	struct hash_node id_node, tid_node, segment_node;
	struct timer timer;
	enum mad_send_state state;
	enum ib_wc_status_mad status;
	struct ib_mad_addr to;
	u64 id, tid;
	u8 mgmt_class;
	bool is_response, rmpp;
	u32 timeout_ms, retries;
	void *context;
	struct rmpp_sender *sender;
	struct mad_transfer *answer;
	size_t length;
	u8 message[]; /* `length`, and at least a MAD */
};

/* What arrives in segments: created by the first, freed some time after the last, since
 * until then segments may be repeated. */
struct mad_transfer {
	struct ib_mad_agent *agent;
	struct list link; /* in agent->transfers */
	struct hash_node node;
	struct timer linger;
	struct ib_mad_addr from;
	u64 tid;
	u8 mgmt_class;
	bool is_response;
	struct mad_send *send; /* that it answers; null: none, or that has ended */
	struct rmpp_receiver *receiver;
};

/* A MAD that has arrived, as far as it is understood. */
struct mad_arrival {
	struct mad_port *port;
	const struct ib_packet *packet;
	const u8 *mad;
	struct mad_header header;
	struct rmpp_header rmpp;
	bool is_rmpp, is_response;
	struct ib_mad_addr from;
};

static inline u32 mad_tid_hash(u64 tid)
{
	return hash_bytes(0, &tid, sizeof(tid));
}

/* agent.c */
void mad_agent_orphan(struct ib_mad_agent *agent);
/* Who wants this unasked MAD; null: nobody. */
struct ib_mad_agent *mad_owner(const struct mad_arrival *arrival);
/* Whose request this answers; null: nobody's on that queue pair. */
struct ib_mad_agent *mad_asker(const struct mad_arrival *arrival);
/* Of the classes in which vendors are told apart, and which may have segments. */
bool mad_is_vendor(u8 mgmt_class);
void mad_classes_free(struct mad_port *port);

/* send.c */
/* -ENODEV: the port is null. */
int mad_post_from(const struct mad_port *port, u32 qpn, const struct ib_mad_addr *to,
		  const u8 mad[MAD_BYTES]);
int mad_post(const struct ib_mad_agent *agent, const struct ib_mad_addr *to,
	     const u8 mad[MAD_BYTES]);
/* The agent's send that waits for this; null: none. */
struct mad_send *mad_send_find(struct ib_mad_agent *agent,
			       const struct mad_arrival *arrival);
/* Tell the agent of the answer, and that the send is over. */
void mad_send_answer(struct mad_send *send, const struct ib_mad_recv *recv);
/* A try has had no answer in time: once more, or that was it. */
void mad_send_missed(struct mad_send *send);
/* What it waits for now, for as long as a try may take. */
void mad_send_wait(struct mad_send *send);
/* Tell the agent, and free it. */
void mad_send_end(struct mad_send *send, enum ib_wc_status_mad status);
/* The same from the timers. */
void mad_send_over(struct mad_send *send, enum ib_wc_status_mad status);

/* receive.c: an ib_device's function. */
void mad_receive(struct ib_device *device, u32 port_num, const struct ib_packet *packet);

/* rmpp.c */
/* -ENOMEM, -EINVAL */
int mad_segments_start(struct mad_send *send);
void mad_segments_stop(struct mad_send *send);
/* ACK, STOP, ABORT. False: of no transfer under way. */
bool mad_rmpp_control(struct ib_mad *mad, const struct mad_arrival *arrival);
void mad_rmpp_data(struct ib_mad_agent *agent, const struct mad_arrival *arrival);
void mad_transfer_free(struct mad_transfer *transfer);

#endif
