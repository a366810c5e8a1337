/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a packet to a request, to its handler, to its answer (spec/sa-sm 1.1, 1.4, 1.5).
 *
 * A request that is being worked on is found by where it came from, its transaction and
 * what it asks; the same again is a repetition and not done twice. What cannot be answered
 * by the rules is dropped and counted by its cause.
 */
#include <stdlib.h>

#include "fabric/sa/server_priv.h"

#define SA_BASE_VERSION 1

/* -- what is served ------------------------------------------------------------------ */

/* spec/sa-sm 4.1 */
static const struct sa_served attributes[] = {
	{ .id = SA_MCMEMBER_RECORD,
	  .stride = 7,
	  .query = sa_mcmember_query,
	  .set = sa_mcmember_set,
	  .remove = sa_mcmember_delete },
	{ .id = SA_PATH_RECORD, .stride = 8, .query = sa_path_query },
	{ .id = SA_MULTI_PATH_RECORD, .stride = 8, .multi = sa_multi_path_query },
	{ .id = SA_SERVICE_RECORD,
	  .stride = 22,
	  .query = sa_service_query,
	  .set = sa_service_set,
	  .remove = sa_service_delete },
	{ .id = MAD_ATTR_CLASS_PORT_INFO,
	  .query = sa_class_port_info,
	  .bad_table = SA_REQ_INVALID },
	{ .id = MAD_ATTR_INFORM_INFO, .stride = 4, .set = sa_inform_set },
	{ .id = SA_INFORM_INFO_RECORD, .stride = 8, .query = sa_inform_query },
	{ .id = SA_NODE_RECORD, .stride = 14, .query = sa_node_query },
	{ .id = SA_PORT_INFO_RECORD, .stride = 9, .query = sa_port_query },
	{ .id = SA_SWITCH_INFO_RECORD, .stride = 3, .query = sa_switch_query },
	{ .id = SA_LFT_RECORD, .stride = 9, .query = sa_lft_query },
	{ .id = SA_MFT_RECORD, .stride = 9, .query = sa_mft_query },
	{ .id = SA_SM_INFO_RECORD, .stride = 4, .query = sa_sm_query },
	{ .id = SA_LINK_RECORD, .stride = 1, .query = sa_link_query },
	{ .id = SA_GUID_INFO_RECORD,
	  .stride = 9,
	  .query = sa_guid_query,
	  .set = sa_guid_set,
	  .remove = sa_guid_delete },
	{ .id = SA_PKEY_TABLE_RECORD, .stride = 9, .query = sa_pkey_query },
	{ .id = SA_SL_TO_VL_RECORD, .stride = 2, .query = sa_sl_to_vl_query },
	{ .id = SA_VL_ARB_RECORD, .stride = 9, .query = sa_vl_arb_query },
};

static const struct sa_served *attribute_find(uint16_t id)
{
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		if (attributes[i].id == id)
			return &attributes[i];
	}
	return NULL;
}

/* -- requests in work ---------------------------------------------------------------- */

static uint32_t source_hash(const struct sa_address *from, uint64_t tid)
{
	uint32_t value = hash_bytes(from->lid, &from->qp, sizeof(from->qp));

	return hash_bytes(value, &tid, sizeof(tid));
}

static struct sa_request *pending_find(struct sa_server *s, const struct sa_address *from,
				       const struct mad_header *mad, uint8_t method)
{
	hash_for_each_match(node, &s->pending, source_hash(from, mad->tid)) {
		struct sa_request *req = container_of(node, struct sa_request, by_source);

		if (req->from.lid == from->lid && req->from.qp == from->qp &&
		    req->mad.tid == mad->tid && req->mad.attr_id == mad->attr_id &&
		    req->mad.method == method)
			return req;
	}
	return NULL;
}

static void request_timer(struct timer *timer);

static struct sa_request *request_create(struct sa_server *s,
					 const struct sa_address *from,
					 const struct mad_header *mad,
					 const uint8_t *bytes)
{
	struct sa_request *req;

	if (s->pending.count >= SA_PENDING_MAX ||
	    !sa_share_take(s, from->port_lid, SA_SHARE_REQUESTS, 1))
		return NULL;
	req = calloc(1, sizeof(*req));
	if (!req) {
		sa_share_give(s, from->port_lid, SA_SHARE_REQUESTS, 1);
		return NULL;
	}
	req->server = s;
	req->from = *from;
	req->mad = *mad;
	memcpy(req->bytes, bytes, MAD_BYTES);
	sa_header_get(bytes, &req->sa);
	list_init(&req->link);
	list_init(&req->at.link);
	timer_init(&req->timer, s->timers, request_timer);
	hash_insert(&s->pending, &req->by_source, source_hash(from, mad->tid));
	return req;
}

/* It is not in the table of requests any more. */
static void request_destroy(struct hash_node *node)
{
	struct sa_request *req = container_of(node, struct sa_request, by_source);
	struct sa_server *s = req->server;
	uint16_t lid = req->from.port_lid;

	if (req->sender) {
		rmpp_sender_destroy(req->sender);
		s->transfers--;
		sa_share_give(s, lid, SA_SHARE_TRANSFERS, 1);
	}
	sa_reading_destroy(req->reading);
	sa_guid_change_destroy(req->guid_change);
	timer_disarm(&req->timer);
	list_remove(&req->link);
	list_remove(&req->at.link);
	s->transfer_bytes -= req->table_room;
	sa_share_give(s, lid, SA_SHARE_TRANSFER_BYTES, req->table_room);
	sa_share_give(s, lid, SA_SHARE_REQUESTS, 1);
	free(req->table);
	free(req);
}

void sa_request_free(struct sa_request *req)
{
	hash_remove(&req->server->pending, &req->by_source);
	request_destroy(&req->by_source);
}

static void request_lost(struct hash_node *node)
{
	struct sa_request *req = container_of(node, struct sa_request, by_source);

	/* What is being transferred has been counted as an answer. */
	req->server->counters.dropped_lost += !req->sender;
	request_destroy(node);
}

void sa_requests_forget(struct sa_server *s)
{
	hash_drain(&s->pending, request_lost);
}

const struct subnet_port *sa_request_port(const struct sa_request *req)
{
	const struct subnet_port *port = sa_port_by_lid(req->server, req->from.lid);

	if (!port)
		req->server->counters.dropped_stranger++;
	return port;
}

/* -- steps of a query ---------------------------------------------------------------- */

bool sa_request_worked(struct sa_request *req, unsigned int work)
{
	req->work += work;
	req->server->counters.looked_at += work;
	return req->work >= SA_STEP_WORK;
}

struct list *sa_walk_begin(struct sa_request *req, struct list *list)
{
	struct list *next = req->at.next ? req->at.next : list->next;

	list_remove(&req->at.link);
	list_init(&req->at.link);
	req->at.next = NULL;
	return next;
}

void sa_walk_pause(struct sa_request *req, struct list *next)
{
	req->at.next = next;
	list_append(&req->server->walks, &req->at.link);
}

void sa_walks_skip(struct sa_server *s, const struct list *gone)
{
	list_for_each(l, &s->walks) {
		struct sa_cursor *at = container_of(l, struct sa_cursor, link);

		if (at->next == gone)
			at->next = gone->next;
	}
}

/* -- the answer ---------------------------------------------------------------------- */

void sa_request_answer(struct sa_request *req, const uint8_t *record, uint32_t bytes)
{
	memcpy(req->answer, record, bytes);
	req->answer_bytes = bytes;
	req->records = 1;
}

static bool table_grow(struct sa_request *req, size_t room)
{
	struct sa_server *s = req->server;
	size_t more = room - req->table_room;
	uint8_t *table;

	if (room > RMPP_MESSAGE_MAX || s->transfer_bytes + more > SA_TRANSFER_BYTES_MAX ||
	    !sa_share_take(s, req->from.port_lid, SA_SHARE_TRANSFER_BYTES, more))
		return false;
	table = realloc(req->table, room);
	if (!table) {
		sa_share_give(s, req->from.port_lid, SA_SHARE_TRANSFER_BYTES, more);
		return false;
	}
	s->transfer_bytes += more;
	req->table = table;
	req->table_room = room;
	return true;
}

/* Room for the headers and the records so far and one more. */
static bool table_make_room(struct sa_request *req, size_t stride)
{
	size_t need = (req->table_bytes ? req->table_bytes : SA_DATA) + stride;
	size_t room = req->table_room ? req->table_room : 1024;

	while (room < need)
		room *= 2;
	if (room == req->table_room)
		return true;
	if (!table_grow(req, room))
		return false;
	if (!req->table_bytes)
		req->table_bytes = SA_DATA;
	return true;
}

bool sa_request_add(struct sa_request *req, const uint8_t *record, uint32_t bytes)
{
	size_t stride = req->attribute->stride * 8u;

	sa_request_worked(req, 1);
	if (req->mad.method == MAD_METHOD_GET) {
		if (!req->records)
			sa_request_answer(req, record, bytes);
		else if (memcmp(req->answer, record, bytes) != 0) /* not met again */
			req->records++;
		return req->records < 2;
	}
	if (!table_make_room(req, stride)) {
		req->status = SA_NO_RESOURCES;
		return false;
	}
	memcpy(req->table + req->table_bytes, record, bytes);
	memset(req->table + req->table_bytes + bytes, 0, stride - bytes);
	req->table_bytes += stride;
	req->records++;
	return true;
}

static uint8_t answering_method(uint8_t method)
{
	return method == MAD_METHOD_SET ? MAD_METHOD_GET_RESP
					: method | MAD_METHOD_RESPONSE;
}

/* The request's headers become the answer's: TID, modifier and mask are echoed, the key
 * never is. */
static void write_headers(struct sa_request *req)
{
	struct mad_header mad = req->mad;
	struct sa_header sa = req->sa;

	mad.method = answering_method(mad.method);
	mad.status = req->status;
	if (mad.attr_id == SA_MULTI_PATH_RECORD)
		mad.attr_id = SA_PATH_RECORD; /* spec/sa-sm 1.1 */
	sa.sm_key = 0;
	sa.attr_offset = req->status || !req->records ? 0 : req->attribute->stride;
	mad_header_put(req->bytes, &mad);
	sa_header_put(req->bytes, &sa);
}

static void send_segment(void *arg, const uint8_t mad[MAD_BYTES])
{
	struct sa_request *req = arg;

	sa_send(req->server, &req->from, mad);
}

static void transfer_done(void *arg, int error, uint8_t status)
{
	struct sa_request *req = arg;

	(void)error;
	(void)status;
	sa_request_free(req);
}

#define ACK_TIMEOUT_NS (500 * TIMER_MS)
#define ACK_RETRIES    4

static bool transfer_start(struct sa_request *req)
{
	struct sa_server *s = req->server;
	struct rmpp_sender_config config = {
		.timers = s->timers,
		.timeout_ns = ACK_TIMEOUT_NS,
		.retries = ACK_RETRIES,
		.send = send_segment,
		.done = transfer_done,
		.arg = req,
	};

	if (s->transfers >= SA_TRANSFERS_MAX || !table_make_room(req, 0) ||
	    !sa_share_take(s, req->from.port_lid, SA_SHARE_TRANSFERS, 1))
		return false;
	memcpy(req->table, req->bytes, SA_DATA);
	if (rmpp_sender_adopt(&config, req->table, req->table_bytes, &req->sender) < 0) {
		sa_share_give(s, req->from.port_lid, SA_SHARE_TRANSFERS, 1);
		return false;
	}
	s->transfers++;
	s->counters.rmpp_transfers++;
	req->table = NULL; /* the sender's, and still counted */
	rmpp_sender_start(req->sender);
	return true;
}

/* Its answer is a transfer, whatever is in it. */
static bool is_for_table(const struct sa_request *req)
{
	return req->mad.method == MAD_METHOD_GET_TABLE ||
	       req->mad.method == MAD_METHOD_GET_MULTI;
}

/* It changes something, or might. */
static bool is_change(const struct sa_request *req)
{
	return !req->status && (req->mad.method == MAD_METHOD_SET ||
				req->mad.method == MAD_METHOD_DELETE);
}

static void request_send(struct sa_request *req)
{
	if (!is_change(req) || !sa_followers_hold(req))
		sa_request_release(req);
}

void sa_request_release(struct sa_request *req)
{
	struct sa_server *s = req->server;

	if (req->status)
		s->counters.refused++;
	else
		s->counters.answers++;
	write_headers(req);
	if (!req->status && is_for_table(req)) {
		if (transfer_start(req))
			return; /* transfer_done frees it */
		/* Asking again is all that helps, as OpenSM's clients know. */
		s->counters.answers--;
		s->counters.dropped_full++;
	} else {
		if (!req->status)
			memcpy(req->bytes + SA_DATA, req->answer, req->answer_bytes);
		sa_send(s, &req->from, req->bytes);
	}
	sa_request_free(req);
}

void sa_request_end(struct sa_request *req, uint16_t status)
{
	req->status = status;
	if (req->delay_ns)
		timer_arm(&req->timer, req->delay_ns);
	else
		request_send(req);
}

/* -- dispatch ------------------------------------------------------------------------ */

/* spec/sa-sm 1.4 */
static int status_of_records(const struct sa_request *req)
{
	if (req->status)
		return req->status;
	if (is_for_table(req) || req->records == 1)
		return 0;
	return req->records ? SA_TOO_MANY_RECORDS : SA_NO_RECORDS;
}

void sa_request_end_query(struct sa_request *req, int status)
{
	sa_request_end(req, (uint16_t)(status ? status : status_of_records(req)));
}

static int query(struct sa_request *req)
{
	const struct sa_served *attribute = req->attribute;
	int status;

	if (!attribute->query)
		return MAD_STATUS_BAD_ATTRIBUTE;
	if (req->mad.method == MAD_METHOD_GET_TABLE && attribute->bad_table)
		return attribute->bad_table;
	status = attribute->query(req);
	return status ? status : status_of_records(req);
}

static int multi(struct sa_request *req)
{
	int status;

	if (!req->attribute->multi)
		return MAD_STATUS_BAD_ATTRIBUTE;
	status = req->attribute->multi(req);
	return status ? status : req->status;
}

static int not_served(struct sa_request *req)
{
	req->server->counters.dropped_unknown++;
	return SA_SILENT;
}

static int dispatch(struct sa_request *req)
{
	const struct sa_served *attribute = req->attribute;

	switch (req->mad.method) {
	case MAD_METHOD_GET:
	case MAD_METHOD_GET_TABLE:
		return query(req);
	case MAD_METHOD_SET:
		return attribute->set ? attribute->set(req) : not_served(req);
	case MAD_METHOD_DELETE:
		return attribute->remove ? attribute->remove(req) : not_served(req);
	case MAD_METHOD_GET_MULTI:
		return multi(req);
	default:
		return not_served(req);
	}
}

/* -- faults on demand ---------------------------------------------------------------- */

static bool fault_applies(struct sa_server *s, const struct mad_header *mad)
{
	const struct sa_fault *fault = &s->fault;

	if (fault->kind == SA_FAULT_NONE ||
	    (fault->attribute && fault->attribute != mad->attr_id))
		return false;
	if (fault->count && !s->faults_left)
		return false;
	if (fault->rate && !random_chance(s->random, fault->rate))
		return false;
	if (fault->count)
		s->faults_left--;
	return true;
}

/* What the fault does to a request: a status as of a handler, or 0 to go on. */
static int fault_meet(struct sa_request *req)
{
	const struct sa_fault *fault = &req->server->fault;

	if (!fault_applies(req->server, &req->mad))
		return 0;
	switch (fault->kind) {
	case SA_FAULT_DROP:
		req->server->counters.dropped_fault++;
		return SA_SILENT;
	case SA_FAULT_DELAY:
		req->delay_ns = fault->delay_ns;
		return 0;
	case SA_FAULT_BUSY:
		return MAD_STATUS_BUSY;
	case SA_FAULT_ERROR:
		return fault->status;
	case SA_FAULT_NONE:
		break;
	}
	return 0;
}

/* -- receiving ----------------------------------------------------------------------- */

static void request_became(struct sa_request *req, int status)
{
	req->goes_on = status == SA_GOES_ON;
	if (status == SA_SILENT)
		sa_request_free(req);
	else if (status == SA_GOES_ON)
		timer_arm(&req->timer, 0);
	else if (status != SA_WAITS)
		sa_request_end(req, (uint16_t)status);
}

static void request_timer(struct timer *timer)
{
	struct sa_request *req = container_of(timer, struct sa_request, timer);

	req->work = 0;
	if (req->goes_on)
		request_became(req, dispatch(req));
	else
		request_send(req);
}

static void request_run(struct sa_request *req)
{
	int status = fault_meet(req);

	request_became(req, status ? status : dispatch(req));
}

/* Spec/sa-sm 1.5: no key, the right one, or no answer. */
static bool key_is_good(const struct sa_server *s, uint64_t key)
{
	return !key || key == s->sa_key;
}

/* A request for many paths may be a transfer itself, of one segment, and so it is
 * acknowledged, each time that it comes. */
static void acknowledge(struct sa_server *s, const struct sa_address *from,
			const struct mad_header *mad, const uint8_t *bytes)
{
	struct rmpp_header rmpp;
	uint8_t ack[MAD_BYTES];

	rmpp_header_get(bytes, &rmpp);
	if (mad->method != MAD_METHOD_GET_MULTI || !(rmpp.flags & RMPP_ACTIVE))
		return;
	rmpp_acknowledge(bytes, ack);
	sa_send(s, from, ack);
}

static void request_begin(struct sa_server *s, const struct sa_address *from,
			  const struct mad_header *mad, const uint8_t *bytes)
{
	const struct sa_served *attribute = attribute_find(mad->attr_id);
	struct sa_request *req;

	if (!attribute) {
		s->counters.dropped_unknown++;
		return;
	}
	acknowledge(s, from, mad, bytes);
	if (pending_find(s, from, mad, mad->method)) {
		s->counters.dropped_repeated++;
		return;
	}
	req = request_create(s, from, mad, bytes);
	if (!req) {
		s->counters.dropped_full++;
		return;
	}
	if (!key_is_good(s, req->sa.sm_key)) {
		s->counters.dropped_key++;
		sa_request_free(req);
		return;
	}
	req->attribute = attribute;
	req->trusted = req->sa.sm_key;
	request_run(req);
}

static void address_of(const struct sa_server *s, const struct ib_packet *packet,
		       struct sa_address *ret)
{
	*ret = (struct sa_address){
		.lid = packet->slid,
		.port_lid = sa_first_lid(s, packet->slid),
		.at = packet->dlid,
		.pkey = packet->pkey,
		.qp = packet->src_qp,
		.sl = packet->sl,
		.has_grh = packet->has_grh,
		.gid = packet->sgid,
	};
}

static bool is_ack(const struct ib_packet *packet)
{
	struct rmpp_header rmpp;

	rmpp_header_get(packet->payload, &rmpp);
	return rmpp.type == RMPP_ACK;
}

/* They repeat the header of what they are about: of MultiPathRecords a PathRecord's. */
static struct sa_request *transfer_find(struct sa_server *s,
					const struct sa_address *from,
					const struct mad_header *mad)
{
	struct mad_header multi = *mad;
	struct sa_request *req = pending_find(s, from, mad, MAD_METHOD_GET_TABLE);

	if (req || mad->method != MAD_METHOD_GET_MULTI)
		return req;
	multi.attr_id = SA_MULTI_PATH_RECORD;
	return pending_find(s, from, &multi, MAD_METHOD_GET_MULTI);
}

/* Not DATA of RMPP: for one of our transfers. */
static void transfer_receive(struct sa_server *s, const struct ib_packet *packet,
			     const struct mad_header *mad)
{
	struct sa_address from;
	struct sa_request *req;

	address_of(s, packet, &from);
	req = transfer_find(s, &from, mad);
	if (!req)
		return;
	if (req->sender)
		rmpp_sender_receive(req->sender, packet->payload);
	else if (!is_ack(packet))
		sa_request_free(req); /* nobody waits for what is being made */
}

/* Acknowledgements and the like; what is DATA, or claims nothing, is a request. */
static bool is_transfer_control(const struct rmpp_header *rmpp)
{
	return (rmpp->flags & RMPP_ACTIVE) &&
	       (rmpp->type == RMPP_ACK || rmpp->type == RMPP_STOP ||
		rmpp->type == RMPP_ABORT);
}

/* No record that a request carries is larger than a MAD. */
static bool is_part_of_more(const struct rmpp_header *rmpp)
{
	return (rmpp->flags & RMPP_ACTIVE) && rmpp->type == RMPP_DATA &&
	       rmpp->segment > 1;
}

/* OpenSM looks at no class version, and so do we not: spec/sa-sm 1.1. */
static bool mad_get(struct sa_server *s, const struct ib_packet *packet,
		    struct mad_header *ret)
{
	if (packet->length != MAD_BYTES) {
		s->counters.bad_length++;
		return false;
	}
	mad_header_get(packet->payload, ret);
	if (ret->base_version != SA_BASE_VERSION) {
		s->counters.bad_version++;
		return false;
	}
	if (ret->mgmt_class != MAD_CLASS_SUBN_ADM) {
		s->counters.bad_class++;
		return false;
	}
	return true;
}

void sa_request_receive(struct sa_server *s, const struct ib_packet *packet)
{
	struct sa_address from;
	struct rmpp_header rmpp;
	struct mad_header mad;

	if (!mad_get(s, packet, &mad))
		return;
	rmpp_header_get(packet->payload, &rmpp);
	if (is_transfer_control(&rmpp)) {
		transfer_receive(s, packet, &mad);
	} else if (mad.method == MAD_METHOD_REPORT_RESP) {
		sa_report_answered(s, packet, &mad);
	} else if (mad_is_response(&mad)) {
		s->counters.bad_answer++;
	} else if (is_part_of_more(&rmpp)) {
		s->counters.bad_segment++;
	} else {
		s->counters.requests++;
		address_of(s, packet, &from);
		request_begin(s, &from, &mad, packet->payload);
	}
}
