/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The MAD layer of one node: agents on the QP0 and QP1 of its ports, transaction ids,
 * timeouts and retries, who owns which class and method, RMPP below the agents
 * (spec/kernel 2.11, spec/userland 4, spec/sa-sm 5.3). The same serves kernel-style
 * consumers, the SA client and libibumad.
 *
 * An agent is a tag in the upper half of the transaction ids of its requests, so answers
 * find it whatever else is under way. Answers, timeouts and unasked MADs come from the
 * node's timers or the device, never from inside a call of the agent. One thread.
 *
 * Differs: the layer is the node's, not the host's; a send takes its address
 * as attributes instead of an address handle; message buffers are flat.
 */
#ifndef CORE_MAD_IB_MAD_H
#define CORE_MAD_IB_MAD_H

#include "base/random.h"
#include "base/timer.h"
#include "core/verbs/ib_verbs.h"
#include "wire/ib_packet.h"
#include "wire/mad.h"

struct ib_mad; /* a node's layer */
struct ib_mad_agent;

struct ib_mad_config {
	struct ib_node *node;
	struct timer_queue *timers;
	struct random *random; /* where transaction ids start */
};

/* Serves all devices of the node that have QP0 and QP1 (ops.post_mad), those that come
 * later too. Must be created before the node's other clients that send MADs, and
 * destroyed after them, when no agent is left. */
int ib_mad_create(const struct ib_mad_config *config, struct ib_mad **ret);
void ib_mad_destroy(struct ib_mad *mad);
/* The layer that serves the device; null: none does. */
struct ib_mad *ib_device_mad(const struct ib_device *device);

/* Where to and where from. Host order. */
struct ib_mad_addr {
	u16 lid;          /* remote */
	u8 sl, path_bits; /* these say which of our LIDs */
	u16 pkey_index;
	u32 qpn, qkey; /* remote */
	bool has_grh;
	struct ib_global_route grh; /* dgid, and sgid_index of ours */
};

enum ib_wc_status_mad {
	IB_MAD_SEND_OK = 0,
	/* as in enum ib_wc_status: */
	IB_MAD_SEND_FLUSHED = 5,
	IB_MAD_SEND_FAILED =
		9, /* could not be sent (an injected error on QP1, no port) */
	IB_MAD_SEND_TIMEOUT = 13, /* no answer after all retries (RESP_TIMEOUT_ERR) */
};

struct ib_mad_send {
	struct ib_mad_addr to;
	/* Flat: header, and with RMPP all data. 256 bytes without RMPP. */
	const u8 *message;
	size_t length;
	u32 timeout_ms; /* of one try; 0: no answer is expected */
	u32 retries;
	bool rmpp; /* send as RMPP (a table response, say) */
	void *context;
};

struct ib_mad_recv {
	struct ib_mad_addr from; /* lid, qpn: the other side's; pkey_index: ours */
	const u8 *message;       /* flat; valid during the call */
	size_t length;
	void *context; /* of the send that this answers; null: unasked */
};

struct ib_mad_agent_ops {
	/* A send is over: it was sent and no answer is expected, it was answered (then
	 * `recv` came right before), or it failed. */
	void (*send_done)(struct ib_mad_agent *agent, void *context,
			  enum ib_wc_status_mad status, const u8 *message, size_t length);
	/* An answer to a send of ours, or an unasked MAD of a class and method that the
	 * agent has registered for. */
	void (*recv)(struct ib_mad_agent *agent, const struct ib_mad_recv *recv);
};

/* Unasked MADs that an agent wants: class, version, and a bit a method (1 << 1: Get ...).
 * No methods: none. */
struct ib_mad_reg_req {
	u8 mgmt_class, mgmt_class_version;
	u8 oui[3]; /* vendor classes 0x30 .. 0x4f */
	u64 method_mask[2];
};

/*
 * -EINVAL: no such port or QP; -EBUSY: one of the methods is another agent's; -ENODEV:
 * the device has no management queue pairs. `reg` may be null. `rmpp_version` 1: messages
 * of the class are put together and cut for the agent; 0: it sees single MADs.
 */
struct ib_mad_agent *
ib_register_mad_agent(struct ib_device *device, u32 port_num, u32 qpn /* 0 or 1 */,
		      const struct ib_mad_reg_req *reg, u8 rmpp_version,
		      const struct ib_mad_agent_ops *ops, void *context);
/* What is under way ends with FLUSHED before this returns; nothing comes afterwards. From
 * the agent's own functions too. When the device goes before that, what is under way ends
 * with FLUSHED from the timers. */
void ib_unregister_mad_agent(struct ib_mad_agent *agent);
void *ib_mad_agent_context(const struct ib_mad_agent *agent);
u32 ib_mad_agent_tag(const struct ib_mad_agent *agent);
/* Null: it is gone. */
struct ib_device *ib_mad_agent_device(const struct ib_mad_agent *agent, u32 *ret_port);

/* The upper half of the transaction id of a request is replaced by the agent's tag.
 * `*ret_id` (may be null) names the send for cancel. -EINVAL: malformed; -ENOMEM;
 * -ENODEV: the device is gone. What goes wrong later comes by send_done. */
int ib_post_send_mad(struct ib_mad_agent *agent, const struct ib_mad_send *send,
		     u64 *ret_id);
/* It ends with FLUSHED, from the timers. Harmless when it is over. */
void ib_cancel_mad(struct ib_mad_agent *agent, u64 id);
/* The next transaction id's lower half for requests of whoever has none of his own. */
u32 ib_mad_next_tid(struct ib_mad *mad);

struct ib_mad_counters {
	u64 sent, received, retries, timeouts, unmatched, malformed, no_owner;
};
void ib_mad_counters(const struct ib_mad *mad, struct ib_mad_counters *ret);

#endif
