/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One request to the SA and what comes back (spec/kernel 2.11), and the queries that users
 * may cancel.
 *
 * Every answer ends a request, also one whose status says BUSY: it is refused with -EINVAL
 * like any other that is not zero. Linux does the same, and whoever has asked backs off and
 * asks again (spec/kernel 2.13); what is lost on the way is asked again by the MAD layer.
 *
 * Nothing here asks for the SA's ClassPortInfo: in Linux that told whether the SA knows
 * send-only full members, and nobody looks any more; such a join is sent, and refused by an
 * SA that does not know it.
 */
#include <stdlib.h>
#include <string.h>

#include "core/sa/sa_priv.h"

#define SA_CLASS_VERSION 2

static void build(u8 mad[MAD_BYTES], struct sa_port *port,
		  const struct sa_request *request)
{
	struct mad_header header = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_SUBN_ADM,
		.class_version = SA_CLASS_VERSION,
		.method = request->method,
		.tid = ib_mad_next_tid(port->device->sa->config.mad),
		.attr_id = request->attribute,
	};
	struct sa_header sa = {
		.comp_mask = ib_sa_comp_mask_to_host(request->comp_mask),
	};

	memset(mad, 0, MAD_BYTES);
	mad_header_put(mad, &header);
	sa_header_put(mad, &sa);
	memcpy(mad + SA_DATA, request->record, request->record_bytes);
}

/* A tenth of the time for each try, and ten tries after the first. */
static void divide(u32 total_ms, struct ib_mad_send *send)
{
	send->timeout_ms = total_ms / SA_RETRIES;
	send->retries = SA_RETRIES;
	if (send->timeout_ms == 0) {
		send->timeout_ms = 1;
		send->retries = total_ms;
	}
}

int ib_sa_query_start(struct sa_query *query, struct sa_port *port,
		      const struct sa_request *request, sa_query_fn done)
{
	struct ib_mad_send send = { .context = query };
	u8 mad[MAD_BYTES];
	int r;

	if (!port->device->ib || !port->agent)
		return -ENODEV;
	if (!port->sm_known)
		ib_sa_port_refresh(port);
	if (!port->sm_known)
		return -EAGAIN;
	build(mad, port, request);
	send.to = port->sm;
	send.message = mad;
	send.length = MAD_BYTES;
	divide(request->timeout_ms, &send);
	query->port = port;
	query->done = done;
	r = ib_post_send_mad(port->agent, &send, &query->send_id);
	if (r < 0)
		query->done = NULL;
	return r;
}

void ib_sa_query_cancel(struct sa_query *query)
{
	if (query->done && query->port->agent)
		ib_cancel_mad(query->port->agent, query->send_id);
}

static void nobody_cares(struct sa_query *query, int status, const u8 *mad, size_t length)
{
	(void)query, (void)status, (void)mad, (void)length;
}

void ib_sa_query_forget(struct sa_query *query)
{
	if (query->done)
		query->done = nobody_cares;
}

static void finish(struct sa_query *query, int status, const u8 *mad, size_t length)
{
	sa_query_fn done = query->done;

	query->done = NULL;
	done(query, status, mad, length);
}

/* Spec/kernel 2.11: whatever the status says, it is -EINVAL. */
static void answered(struct ib_mad_agent *agent, const struct ib_mad_recv *recv)
{
	struct mad_header header;

	(void)agent;
	mad_header_get(recv->message, &header);
	finish(recv->context, header.status ? -EINVAL : 0, recv->message, recv->length);
}

static void sent(struct ib_mad_agent *agent, void *context, enum ib_wc_status_mad status,
		 const u8 *message, size_t length)
{
	(void)agent, (void)message, (void)length;
	if (status == IB_MAD_SEND_OK)
		return; /* it was answered, and its owner may be gone */
	finish(context,
	       status == IB_MAD_SEND_TIMEOUT   ? -ETIMEDOUT
	       : status == IB_MAD_SEND_FLUSHED ? -EINTR
					       : -EIO,
	       NULL, 0);
}

const struct ib_mad_agent_ops ib_sa_agent_ops = { .send_done = sent, .recv = answered };

/* -- of users ----------------------------------------------------------------------- */

static struct sa_user_query *find_query(const struct ib_sa *sa, int id)
{
	hash_for_each_match(node, &sa->queries, (u32)id)
		return container_of(node, struct sa_user_query, node);
	return NULL;
}

static int free_id(struct ib_sa *sa)
{
	do {
		sa->last_id = sa->last_id == INT32_MAX ? 0 : sa->last_id + 1;
	} while (find_query(sa, sa->last_id));
	return sa->last_id;
}

static void user_query_done(struct sa_query *query, int status, const u8 *mad,
			    size_t length)
{
	struct sa_user_query *q = container_of(query, struct sa_user_query, query);
	struct sa_device *device = query->port->device;

	/* From here on it cannot be cancelled, not even from its callback. */
	hash_remove(&q->sa->queries, &q->node);
	q->tell(q, status, mad, length);
	ib_sa_client_put(q->client);
	free(q);
	ib_sa_device_put(device);
}

int ib_sa_user_query(const struct sa_ask *ask, const struct sa_user_query *model)
{
	struct sa_user_query *q;
	struct sa_port *port;
	int r;

	port = ib_sa_port_find(ask->device, ask->port_num, &r);
	if (!port)
		return r;
	q = malloc(sizeof(*q));
	if (!q)
		return -ENOMEM;
	*q = *model;
	q->sa = port->device->sa;
	q->client = ask->client;
	r = ib_sa_query_start(&q->query, port, &ask->request, user_query_done);
	if (r < 0) {
		free(q);
		return r;
	}
	q->id = free_id(q->sa);
	hash_insert(&q->sa->queries, &q->node, (u32)q->id);
	ib_sa_client_get(q->client);
	port->device->users++;
	/* A name that outlives the query: its number is looked up where it points to. */
	if (ask->ret_query)
		*ask->ret_query = (struct ib_sa_query *)q->sa;
	return q->id;
}

void ib_sa_cancel_query(int id, struct ib_sa_query *query)
{
	struct sa_user_query *q = query ? find_query((struct ib_sa *)query, id) : NULL;

	if (q)
		ib_sa_query_cancel(&q->query);
}
