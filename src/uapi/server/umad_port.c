/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An open port: up to 32 agents, which are agents of the node's MAD layer, and their sends
 * (spec/userland 4.2, 4.3). The layer does transaction ids, retries and RMPP.
 *
 * Everything comes from the loop. What an agent hears goes to the program by the port's
 * queue and touches nothing else, so none of it can come back into the layer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "uapi/server/server_priv.h"
#include "uapi/server/umad_priv.h"
#include "wire/mad.h"

#define SENDS_MAX      4096u
#define SEND_BYTES_MAX (32u << 20)

struct umad_agent {
	struct umad_port *port;
	uint32_t id;
	struct ib_mad_agent *mad;
	bool rmpp;
	bool closing; /* what ends now is not told */
};

/* From UMAD_SEND until the layer says that it is over. */
struct umad_send {
	struct list link; /* in port->sends */
	struct umad_agent *agent;
	struct uapi_umad_message to; /* its address, and what the program said of it */
	bool is_request;
	uint8_t mgmt_class;
	uint32_t tid; /* lower half */
};

/* -- what comes in ------------------------------------------------------------------ */

static void fill_from(struct uapi_umad_message *m, const struct ib_mad_addr *from)
{
	m->qpn = from->qpn;
	m->qkey = from->qkey;
	m->lid = from->lid;
	m->pkey_index = from->pkey_index;
	m->sl = from->sl;
	m->path_bits = from->path_bits;
	m->has_grh = from->has_grh;
	if (!from->has_grh)
		return;
	m->gid_index = from->grh.sgid_index;
	m->hop_limit = from->grh.hop_limit;
	m->traffic_class = from->grh.traffic_class;
	m->flow_label = from->grh.flow_label;
	memcpy(m->gid, from->grh.dgid.raw, sizeof(m->gid));
}

static void hear(struct ib_mad_agent *mad, const struct ib_mad_recv *recv)
{
	struct umad_agent *agent = ib_mad_agent_context(mad);
	struct uapi_umad_message m = { .agent = agent->id };

	if (agent->closing || recv->length > UAPI_UMAD_BYTES_MAX)
		return;
	m.length = (uint32_t)recv->length;
	fill_from(&m, &recv->from);
	umad_queue_put(&agent->port->queue, &m, recv->message);
}

static int error_of(enum ib_wc_status_mad status)
{
	switch (status) {
	case IB_MAD_SEND_OK:
		return 0;
	case IB_MAD_SEND_TIMEOUT:
		return ETIMEDOUT;
	case IB_MAD_SEND_FLUSHED:
		return ECANCELED;
	default:
		return EIO;
	}
}

/* A request that came to nothing goes back to the program, its header alone
 * (spec/userland 4.3). */
static void give_back(struct umad_send *send, int error, const u8 *message)
{
	struct uapi_umad_message m = send->to;

	m.status = error;
	m.length = MAD_HEADER_BYTES;
	umad_queue_put(&send->agent->port->queue, &m, message);
}

static void send_done(struct ib_mad_agent *mad, void *context,
		      enum ib_wc_status_mad status, const u8 *message, size_t length)
{
	struct umad_send *send = context;
	struct umad_port *port = send->agent->port;
	int error = error_of(status);

	if (error && send->to.timeout_ms && !send->agent->closing)
		give_back(send, error, message);
	list_remove(&send->link);
	port->send_count--;
	port->send_bytes -= send->to.length;
	free(send);
}

static const struct ib_mad_agent_ops agent_ops = { .send_done = send_done, .recv = hear };

/* -- agents ------------------------------------------------------------------------- */

static int free_id(const struct umad_port *port)
{
	for (int i = 0; i < (int)UAPI_UMAD_AGENTS_MAX; i++)
		if (!port->agents[i])
			return i;
	return -ENOMEM;
}

static int register_mad(struct umad_agent *agent, const struct uapi_umad_register *req)
{
	const struct umad_port *port = agent->port;
	struct ib_device *device =
		ib_node_find_device(port->client->node, port->device_id);
	struct ib_mad_reg_req reg = {
		.mgmt_class = req->mgmt_class,
		.mgmt_class_version = req->mgmt_class_version,
		.oui = { req->oui[0], req->oui[1], req->oui[2] },
		.method_mask = { req->method_mask[0], req->method_mask[1] },
	};
	struct ib_mad_agent *mad;

	if (!device)
		return -ENODEV;
	/* Whoever names no class only asks. */
	mad = ib_register_mad_agent(
		device, port->port_num, req->qpn, req->mgmt_class ? &reg : NULL,
		agent->rmpp ? req->rmpp_version : 0, &agent_ops, agent);
	if (IS_ERR(mad))
		return (int)PTR_ERR(mad);
	agent->mad = mad;
	return 0;
}

int umad_port_register(struct umad_port *port, const struct uapi_umad_register *req,
		       uint32_t *ret_agent)
{
	struct umad_agent *agent;
	int id, r;

	if (req->reserved || req->reserved2 || req->raw > 1 || req->qpn > IB_QP_GSI)
		return -EINVAL;
	id = free_id(port);
	if (id < 0)
		return id;
	agent = calloc(1, sizeof(*agent));
	if (!agent)
		return -ENOMEM;
	agent->port = port;
	agent->id = (uint32_t)id;
	agent->rmpp = !req->raw;
	r = register_mad(agent, req);
	if (r < 0) {
		free(agent);
		/* Spec/userland 4.2: a method of another's is no word of its own. */
		return r == -EBUSY ? -EINVAL : r;
	}
	agent->rmpp = agent->rmpp && req->rmpp_version;
	port->agents[id] = agent;
	*ret_agent = agent->id;
	return 0;
}

static void unregister(struct umad_agent *agent)
{
	agent->closing = true;
	ib_unregister_mad_agent(agent->mad);
	agent->port->agents[agent->id] = NULL;
	free(agent);
}

int umad_port_unregister(struct umad_port *port, uint32_t agent)
{
	if (agent >= UAPI_UMAD_AGENTS_MAX || !port->agents[agent])
		return -EINVAL;
	umad_queue_take(&port->queue);
	unregister(port->agents[agent]);
	return 0;
}

/* -- what goes out ------------------------------------------------------------------ */

static bool is_same_request(const struct umad_send *a, const struct umad_send *b)
{
	return a->agent == b->agent && a->tid == b->tid &&
	       a->mgmt_class == b->mgmt_class && a->to.lid == b->to.lid &&
	       memcmp(a->to.gid, b->to.gid, sizeof(a->to.gid)) == 0;
}

/* Spec/userland 4.2: a second request with the transaction of one that is under way. */
static bool is_duplicate(const struct umad_port *port, const struct umad_send *send)
{
	list_for_each(l, &port->sends) {
		const struct umad_send *old = container_of(l, struct umad_send, link);

		if (old->is_request && is_same_request(old, send))
			return true;
	}
	return false;
}

static void fill_to(struct ib_mad_addr *to, const struct uapi_umad_message *m)
{
	*to = (struct ib_mad_addr){
		.lid = m->lid,
		.sl = m->sl,
		.path_bits = m->path_bits,
		.pkey_index = m->pkey_index,
		.qpn = m->qpn,
		.qkey = m->qkey,
		.has_grh = m->has_grh,
	};
	if (!m->has_grh)
		return;
	to->grh.sgid_index = m->gid_index;
	to->grh.hop_limit = m->hop_limit;
	to->grh.traffic_class = m->traffic_class;
	to->grh.flow_label = m->flow_label;
	memcpy(to->grh.dgid.raw, m->gid, sizeof(m->gid));
}

/* Below the agent, where the program has marked the message and not asked for segments. */
static bool wants_rmpp(const struct umad_agent *agent, const uint8_t *bytes)
{
	struct mad_header header;
	struct rmpp_header rmpp;

	mad_header_get(bytes, &header);
	if (!agent->rmpp || rmpp_data_offset(header.mgmt_class) == 0)
		return false;
	rmpp_header_get(bytes, &rmpp);
	return rmpp.flags & RMPP_ACTIVE;
}

static int check_message(const struct uapi_umad_message *m)
{
	if (m->agent >= UAPI_UMAD_AGENTS_MAX || m->length < RMPP_HEADER_BYTES)
		return -EINVAL;
	if (m->length > UAPI_UMAD_BYTES_MAX)
		return -EMSGSIZE;
	if (m->status || m->has_grh > 1 || m->sl > 15 || m->qpn > 0xffffff ||
	    m->flow_label > 0xfffff)
		return -EINVAL;
	return 0;
}

int umad_port_send(struct umad_port *port, const struct uapi_umad_message *m,
		   const uint8_t *bytes)
{
	struct ib_mad_send post = { .message = bytes, .length = m->length };
	struct mad_header header;
	struct umad_send *send;
	int r = check_message(m);

	if (r < 0)
		return r;
	if (!port->agents[m->agent])
		return -EIO;
	if (port->send_count >= SENDS_MAX ||
	    port->send_bytes + m->length > SEND_BYTES_MAX)
		return -ENOBUFS;
	send = calloc(1, sizeof(*send));
	if (!send)
		return -ENOMEM;
	mad_header_get(bytes, &header);
	send->agent = port->agents[m->agent];
	send->to = *m;
	send->is_request = !mad_is_response(&header);
	send->mgmt_class = header.mgmt_class;
	send->tid = (uint32_t)header.tid;
	post.timeout_ms = m->timeout_ms;
	post.retries = m->retries;
	post.rmpp = wants_rmpp(send->agent, bytes);
	post.context = send;
	fill_to(&post.to, m);
	r = send->is_request && is_duplicate(port, send) ? -EINVAL : 0;
	if (!r)
		r = ib_post_send_mad(send->agent->mad, &post, NULL);
	if (r < 0) {
		free(send);
		return r;
	}
	list_append(&port->sends, &send->link);
	port->send_count++;
	port->send_bytes += m->length;
	return 0;
}

/* Sent without waiting: what is refused comes back, where something is waited for. */
static void was_sent(void *arg, const struct uapi_umad_message *m)
{
	struct umad_port *port = arg;
	struct uapi_umad_message back = *m;
	int r = m->length > sizeof(m->mad) ? -EMSGSIZE : umad_port_send(port, m, m->mad);

	if (!r || !m->timeout_ms)
		return;
	back.status = -r;
	back.length = MAD_HEADER_BYTES;
	umad_queue_put(&port->queue, &back, m->mad);
}

/* -- life --------------------------------------------------------------------------- */

static void is_closed(void *arg)
{
	struct umad_port *port = arg;

	connection_doom(container_of(port->client, struct connection, client),
			"closed its port");
}

int umad_port_create(struct uapi_client *c, struct ib_device *device, uint32_t port_num,
		     int ret_fds[2])
{
	struct umad_port *port = calloc(1, sizeof(*port));
	int r;

	if (!port)
		return -ENOMEM;
	port->client = c;
	port->device_id = ib_device_id(device);
	port->port_num = port_num;
	list_init(&port->sends);
	port->queue.fd = -1;
	port->queue.sent = was_sent;
	port->queue.closed = is_closed;
	port->queue.arg = port;
	r = umad_queue_open(&port->queue, c->loop, ret_fds);
	if (r < 0) {
		free(port);
		return r;
	}
	c->umad = port;
	return 0;
}

void umad_port_destroy(struct umad_port *port)
{
	if (!port)
		return;
	umad_queue_take(&port->queue);
	for (unsigned int i = 0; i < UAPI_UMAD_AGENTS_MAX; i++)
		if (port->agents[i])
			unregister(port->agents[i]);
	umad_queue_close(&port->queue);
	free(port);
}
