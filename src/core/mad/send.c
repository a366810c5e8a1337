/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What agents send: each send has a timer, which is its timeout while it waits for an
 * answer, and brings its outcome when that is known at once. So an agent never hears of a
 * send from inside the call that made it.
 */
#include <stdlib.h>
#include <string.h>

#include "core/mad/mad_priv.h"

/* -- one MAD ------------------------------------------------------------------------ */

static int fill_grh(const struct mad_port *port, const struct ib_mad_addr *to,
		    struct ib_packet *packet)
{
	struct ib_gid_attr sgid;
	int r;

	r = rdma_query_gid(port->device->ib, port->num, to->grh.sgid_index, &sgid);
	if (r < 0)
		return r;
	packet->has_grh = true;
	packet->sgid = sgid.gid;
	packet->dgid = to->grh.dgid;
	packet->flow_label = to->grh.flow_label;
	packet->traffic_class = to->grh.traffic_class;
	packet->hop_limit = to->grh.hop_limit;
	return 0;
}

/* Subnet management has no partitions, and a virtual lane of its own. */
static int fill_pkey(const struct mad_port *port, const struct ib_mad_addr *to,
		     struct ib_packet *packet)
{
	packet->pkey = IB_PKEY_DEFAULT_FULL;
	packet->vl = IB_VL_MANAGEMENT;
	if (packet->src_qp == IB_QP_SMI)
		return 0;
	packet->vl = 0;
	return ib_query_pkey(port->device->ib, port->num, to->pkey_index, &packet->pkey);
}

/* With LMC a port has several LIDs, and the answer comes to the one that asked. */
static u16 source_lid(const struct mad_port *port, const struct ib_mad_addr *to)
{
	struct ib_port_attr attr = { 0 };

	ib_query_port(port->device->ib, port->num, &attr);
	return (u16)(attr.lid | (to->path_bits & ((1u << attr.lmc) - 1)));
}

int mad_post_from(const struct mad_port *port, u32 qpn, const struct ib_mad_addr *to,
		  const u8 mad[MAD_BYTES])
{
	struct ib_packet packet = {
		.dlid = to->lid,
		.sl = to->sl,
		.dest_qp = to->qpn,
		.src_qp = qpn,
		.qkey = to->qkey,
		.payload = mad,
		.length = MAD_BYTES,
	};
	struct ib_device *ib;
	int r;

	if (!port)
		return -ENODEV;
	ib = port->device->ib;
	packet.slid = source_lid(port, to);
	r = fill_pkey(port, to, &packet);
	if (r == 0 && to->has_grh)
		r = fill_grh(port, to, &packet);
	if (r == 0)
		r = ib->ops.post_mad(ib, port->num, &packet);
	if (r == 0)
		port->device->mad->counters.sent++;
	return r;
}

int mad_post(const struct ib_mad_agent *agent, const struct ib_mad_addr *to,
	     const u8 mad[MAD_BYTES])
{
	return mad_post_from(agent->port, agent->qpn, to, mad);
}

/* -- a send's life ------------------------------------------------------------------ */

static bool is_hashed(const struct hash_node *node)
{
	return !list_empty(&node->link);
}

static void unhash(struct hash *table, struct hash_node *node)
{
	if (is_hashed(node))
		hash_remove(table, node);
}

/* Nothing finds it, and nothing happens to it any more. */
static void detach(struct mad_send *send)
{
	struct ib_mad *mad = send->agent->mad;

	timer_disarm(&send->timer);
	mad_segments_stop(send);
	if (send->answer) {
		send->answer->send = NULL;
		send->answer = NULL;
	}
	unhash(&mad->waiting, &send->tid_node);
	unhash(&mad->sends, &send->id_node);
}

/*
 * An agent that goes while it is in recv hears of that send at once; whoever has called
 * recv then finds a send without agent, and frees it.
 */
void mad_send_end(struct mad_send *send, enum ib_wc_status_mad status)
{
	struct ib_mad_agent *agent = send->agent;
	bool keep = send->state == MAD_SEND_DELIVERED && agent->closing;

	detach(send);
	list_remove(&send->link);
	send->agent = NULL;
	send->state = MAD_SEND_OVER;
	if (status == IB_MAD_SEND_TIMEOUT)
		agent->mad->counters.timeouts++;
	agent->ops.send_done(agent, send->context, status, send->message, send->length);
	if (!keep)
		free(send);
}

void mad_send_over(struct mad_send *send, enum ib_wc_status_mad status)
{
	detach(send);
	send->state = MAD_SEND_OVER;
	send->status = status;
	timer_arm(&send->timer, 0);
}

void mad_send_wait(struct mad_send *send)
{
	send->state = MAD_SEND_WAITS;
	timer_arm(&send->timer, send->timeout_ms * TIMER_MS);
}

static void transmit(struct mad_send *send)
{
	int r;

	if (send->rmpp) {
		send->state = MAD_SEND_SEGMENTS;
		r = mad_segments_start(send);
	} else {
		send->state = MAD_SEND_WAITS;
		r = mad_post(send->agent, &send->to, send->message);
	}
	if (r < 0)
		mad_send_over(send, IB_MAD_SEND_FAILED);
	else if (send->state == MAD_SEND_WAITS && send->timeout_ms)
		mad_send_wait(send);
	else if (send->state == MAD_SEND_WAITS)
		mad_send_over(send, IB_MAD_SEND_OK);
}

void mad_send_missed(struct mad_send *send)
{
	if (send->retries == 0) {
		mad_send_end(send, IB_MAD_SEND_TIMEOUT);
		return;
	}
	send->retries--;
	/* A message in segments was acknowledged; it is there, and only takes its time. */
	if (send->rmpp) {
		mad_send_wait(send);
		return;
	}
	send->agent->mad->counters.retries++;
	transmit(send);
}

static void timer_is_due(struct timer *timer)
{
	struct mad_send *send = container_of(timer, struct mad_send, timer);

	if (send->state == MAD_SEND_OVER)
		mad_send_end(send, send->status);
	else
		mad_send_missed(send);
}

/* -- answers ------------------------------------------------------------------------ */

/* The responder may answer from another of its LIDs, so the LID is not compared. */
struct mad_send *mad_send_find(struct ib_mad_agent *agent,
			       const struct mad_arrival *arrival)
{
	hash_for_each_match(node, &agent->mad->waiting,
			    mad_tid_hash(arrival->header.tid)) {
		struct mad_send *send = container_of(node, struct mad_send, tid_node);

		if (send->tid == arrival->header.tid && send->agent == agent &&
		    send->mgmt_class == arrival->header.mgmt_class)
			return send;
	}
	return NULL;
}

void mad_send_answer(struct mad_send *send, const struct ib_mad_recv *recv)
{
	struct ib_mad_agent *agent = send->agent;
	struct ib_mad_recv answer = *recv;

	detach(send);
	send->state = MAD_SEND_DELIVERED;
	answer.context = send->context;
	agent->ops.recv(agent, &answer);
	if (send->agent)
		mad_send_end(send, IB_MAD_SEND_OK);
	else
		free(send);
}

/* -- the agent's calls -------------------------------------------------------------- */

static int check_send(const struct ib_mad_send *post)
{
	if (post->length < MAD_HEADER_BYTES)
		return -EINVAL;
	if (!post->rmpp)
		return post->length > MAD_BYTES ? -EINVAL : 0;
	if (rmpp_data_offset(post->message[1]) == 0 ||
	    post->length < rmpp_data_offset(post->message[1]))
		return -EINVAL;
	return 0;
}

/* A response keeps its transaction id; a request gets our tag. */
static void tag(struct mad_send *send)
{
	struct mad_header header;

	mad_header_get(send->message, &header);
	send->is_response = mad_is_response(&header);
	if (!send->is_response) {
		header.tid = (u64)send->agent->tag << 32 | (u32)header.tid;
		mad_header_put(send->message, &header);
	}
	send->tid = header.tid;
	send->mgmt_class = header.mgmt_class;
}

static struct mad_send *make_send(struct ib_mad_agent *agent,
				  const struct ib_mad_send *post)
{
	size_t room = post->length < MAD_BYTES ? MAD_BYTES : post->length;
	struct mad_send *send = malloc(sizeof(*send) + room);

	if (!send)
		return NULL;
	*send = (struct mad_send){
		.agent = agent,
		.to = post->to,
		.rmpp = post->rmpp,
		.timeout_ms = post->timeout_ms,
		.retries = post->retries,
		.context = post->context,
		.length = post->length,
	};
	memcpy(send->message, post->message, post->length);
	memset(send->message + post->length, 0, room - post->length);
	list_init(&send->tid_node.link);
	list_init(&send->segment_node.link);
	timer_init(&send->timer, agent->mad->config.timers, timer_is_due);
	tag(send);
	return send;
}

int ib_post_send_mad(struct ib_mad_agent *agent, const struct ib_mad_send *post,
		     u64 *ret_id)
{
	struct ib_mad *mad = agent->mad;
	struct mad_send *send;
	int r;

	if (agent->closing || !agent->port)
		return -ENODEV;
	r = check_send(post);
	if (r < 0)
		return r;
	send = make_send(agent, post);
	if (!send)
		return -ENOMEM;
	send->id = ++mad->last_id;
	hash_insert(&mad->sends, &send->id_node, mad_tid_hash(send->id));
	if (send->timeout_ms)
		hash_insert(&mad->waiting, &send->tid_node, mad_tid_hash(send->tid));
	list_append(&agent->sends, &send->link);
	if (ret_id)
		*ret_id = send->id;
	transmit(send);
	return 0;
}

void ib_cancel_mad(struct ib_mad_agent *agent, u64 id)
{
	hash_for_each_match(node, &agent->mad->sends, mad_tid_hash(id)) {
		struct mad_send *send = container_of(node, struct mad_send, id_node);

		if (send->id != id || send->agent != agent)
			continue;
		mad_send_over(send, IB_MAD_SEND_FLUSHED);
		return;
	}
}
