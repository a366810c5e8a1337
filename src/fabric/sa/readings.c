/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of what the SM keeps no copy of: the mapping of service levels to lanes, the
 * arbitration between lanes, GUIDs (spec/sa-sm 3.8, 4.1). They are read from the ports
 * when somebody asks, some at a time, and answered in order when all are there. What has no
 * such table has no record, and what does not answer has none in this answer, which is
 * counted and said.
 *
 * Differs: lanes and arbitration are what the ports have, whoever manages quality of service.
 *
 * All of these records begin with a LID and two numbers, and have the attribute at 8.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "fabric/sa/server_priv.h"

#define AT_ONCE          16u
#define RECORD_DATA      8u
#define SL_TO_VL_BYTES   8u
#define VL_ARB_BYTES     64u
#define GUID_INFO_BYTES  64u
#define VL_ARB_BLOCKS    4u
#define GUIDS_A_BLOCK    8u
#define RECORD_BYTES_MAX (RECORD_DATA + SMP_DATA_BYTES)

/* One record to be. */
struct place {
	uint64_t guid; /* of the end port that is asked */
	uint32_t mod;
	uint8_t head[4];
};

struct reader {
	struct sm_question question;
	struct sa_reading *reading;
	uint64_t guid; /* of whom it asks */
	bool read;
	uint8_t record[RECORD_BYTES_MAX];
};

struct sa_reading {
	struct sa_request *req;
	uint16_t attr;        /* of subnet management */
	uint32_t bytes;       /* of it in a record */
	struct place *places; /* in the order of the records */
	uint32_t count, room, next;
	int status;         /* none of the rest is wanted */
	uint32_t left_out;  /* records of which every question was lost */
	uint64_t mute;      /* the first port whose they were */
	struct timer timer; /* go on */
	unsigned int begun; /* of the readers, in this round */
	unsigned int open;  /* not yet answered */
	struct reader readers[AT_ONCE];
};

static void go_on(struct timer *timer);

static struct sa_reading *reading_create(struct sa_request *req, uint16_t attr,
					 uint32_t bytes)
{
	struct sa_server *s = req->server;
	struct sa_reading *r;

	if (s->readings >= SA_READINGS_MAX ||
	    !sa_share_take(s, req->from.port_lid, SA_SHARE_READINGS, 1))
		return NULL;
	r = calloc(1, sizeof(*r));
	if (!r) {
		sa_share_give(s, req->from.port_lid, SA_SHARE_READINGS, 1);
		return NULL;
	}
	r->req = req;
	r->attr = attr;
	r->bytes = bytes;
	timer_init(&r->timer, s->timers, go_on);
	s->readings++;
	return r;
}

void sa_reading_destroy(struct sa_reading *r)
{
	if (!r)
		return;
	r->req->server->readings--;
	sa_share_give(r->req->server, r->req->from.port_lid, SA_SHARE_READINGS, 1);
	timer_disarm(&r->timer);
	for (unsigned int i = 0; i < r->begun; i++)
		sm_question_drop(&r->readers[i].question);
	free(r->places);
	free(r);
}

/* -- asking -------------------------------------------------------------------------- */

static void leave_out(struct sa_reading *r, const struct reader *reader)
{
	if (!r->left_out++)
		r->mute = reader->guid;
	r->req->server->counters.records_left_out++;
}

static void say_left_out(const struct sa_reading *r)
{
	if (r->left_out)
		log_warning(
			"sa: an answer to attribute 0x%04x is without %u record%s that "
			"nobody answered for; the first is port %016llx's",
			r->req->mad.attr_id, r->left_out, r->left_out > 1 ? "s" : "",
			(unsigned long long)r->mute);
}

static void reader_answered(struct sm_question *q, int error, const uint8_t *data)
{
	struct reader *reader = container_of(q, struct reader, question);
	struct sa_reading *r = reader->reading;

	if (!error) {
		memcpy(reader->record + RECORD_DATA, data, r->bytes);
		reader->read = true;
	} else if (error == -ETIMEDOUT) {
		leave_out(r, reader);
	}
	if (--r->open == 0)
		timer_arm(&r->timer, 0);
}

static void ask(struct sa_reading *r, struct reader *reader, const struct place *place)
{
	struct sa_server *s = r->req->server;
	const struct subnet_port *port = sa_port_by_guid(s, place->guid);

	*reader = (struct reader){ .question.answered = reader_answered,
				   .reading = r,
				   .guid = place->guid };
	memcpy(reader->record, place->head, sizeof(place->head));
	if (!port) /* it has gone since */
		return;
	if (sm_ask(s->sm, &reader->question, port, r->attr, place->mod, NULL) == 0)
		r->open++;
	else
		r->status = SA_NO_RESOURCES;
}

static void take_answers(struct sa_reading *r)
{
	for (unsigned int i = 0; i < r->begun && !r->status; i++) {
		const struct reader *reader = &r->readers[i];

		if (reader->read &&
		    !sa_request_add(r->req, reader->record, RECORD_DATA + r->bytes))
			r->next = r->count;
	}
	r->begun = 0;
}

static void go_on(struct timer *timer)
{
	struct sa_reading *r = container_of(timer, struct sa_reading, timer);

	take_answers(r);
	while (!r->status && r->begun < AT_ONCE && r->next < r->count)
		ask(r, &r->readers[r->begun++], &r->places[r->next++]);
	if (r->open)
		return;
	if (!r->status && r->next < r->count) {
		timer_arm(&r->timer, 0);
		return;
	}
	say_left_out(r);
	sa_request_end_query(r->req, r->status);
}

/* -- which there are ------------------------------------------------------------------ */

struct plan {
	struct sa_reading *reading;
	const struct subnet_port *requester, *end;
	uint64_t ports;   /* the components that are port numbers */
	uint8_t asked[4]; /* with the first of the LIDs of the port that is named */
};

#define COMPONENT_A (1u << 1)
#define COMPONENT_B (1u << 2)

static const struct sa_component components[] = {
	{ 0, 0, 16 }, /* LID */
	{ 1, 16, 8 }, /* input port, or port, or block */
	{ 2, 24, 8 }, /* output port, or block */
};
#define COMPONENTS (sizeof(components) / sizeof(components[0]))

/* The LID of an adapter's port says which port it is: no other number does. */
static uint64_t mask_of(const struct plan *p)
{
	uint64_t mask = p->reading->req->sa.comp_mask;

	return p->end->node->info.node_type == SMP_NODE_SWITCH ? mask : mask & ~p->ports;
}

/* False: no more. */
static bool plan_add(const struct plan *p, uint8_t a, uint8_t b, uint32_t mod)
{
	struct sa_reading *r = p->reading;
	uint16_t lid = subnet_port_lid(p->end);
	uint8_t head[4] = { (uint8_t)(lid >> 8), (uint8_t)lid, a, b };

	if (!sa_components_match(components, COMPONENTS, mask_of(p), p->asked, head))
		return true;
	if (r->count == r->room) {
		uint32_t room = r->room ? 2 * r->room : 64;
		struct place *places = NULL;

		if (room <= SA_PLACES_MAX)
			places = realloc(r->places, room * sizeof(*places));
		if (!places) {
			r->status = SA_NO_RESOURCES;
			return false;
		}
		r->places = places;
		r->room = room;
	}
	r->places[r->count] = (struct place){ subnet_port_guid(p->end), mod, { 0 } };
	memcpy(r->places[r->count++].head, head, sizeof(head));
	return true;
}

/* A switch's own port counts as one of its ports. */
static bool is_there(const struct subnet_port *port)
{
	return port->seen || port->num == 0;
}

static bool plan_pairs(const struct plan *p)
{
	const struct subnet_node *node = p->end->node;

	if (node->info.node_type != SMP_NODE_SWITCH)
		return plan_add(p, 0, 0, 0);
	for (unsigned int out = 0; out <= node->info.num_ports; out++) {
		for (unsigned int in = 0; in <= node->info.num_ports; in++) {
			if (is_there(&node->ports[in]) && is_there(&node->ports[out]) &&
			    !plan_add(p, (uint8_t)in, (uint8_t)out, in << 8 | out))
				return false;
		}
	}
	return true;
}

static bool plan_blocks(const struct plan *p, const struct subnet_port *port)
{
	for (unsigned int block = 1; block <= VL_ARB_BLOCKS; block++) {
		if (!plan_add(p, port->num, (uint8_t)block, block << 16 | port->num))
			return false;
	}
	return true;
}

static bool plan_arbitration(const struct plan *p)
{
	const struct subnet_node *node = p->end->node;

	if (node->info.node_type != SMP_NODE_SWITCH)
		return plan_blocks(p, p->end);
	for (unsigned int i = 0; i <= node->info.num_ports; i++) {
		if (is_there(&node->ports[i]) && !plan_blocks(p, &node->ports[i]))
			return false;
	}
	return true;
}

static bool plan_guids(const struct plan *p)
{
	unsigned int blocks = (p->end->info.guid_cap + GUIDS_A_BLOCK - 1) / GUIDS_A_BLOCK;

	for (unsigned int block = 0; block < blocks; block++) {
		if (!plan_add(p, (uint8_t)block, 0, block))
			return false;
	}
	return true;
}

/* Of all end ports that the requester may see. */
static void plan_all(struct plan *p, bool (*plan_port)(const struct plan *p))
{
	list_for_each(l, &sm_subnet(p->reading->req->server->sm)->nodes) {
		const struct subnet_node *node =
			container_of(l, struct subnet_node, link);
		bool is_switch = node->info.node_type == SMP_NODE_SWITCH;
		unsigned int last = is_switch ? 0 : node->info.num_ports;

		for (unsigned int i = !is_switch; i <= last; i++) {
			p->end = &node->ports[i];
			if (is_there(p->end) &&
			    (p->end == p->requester ||
			     subnet_ports_share_pkey(p->requester, p->end)) &&
			    !plan_port(p))
				return;
		}
	}
}

static void take_asked(struct plan *p, const struct sa_request *req)
{
	memcpy(p->asked, sa_request_data(req), sizeof(p->asked));
	wire_put16(p->asked, sa_first_lid(req->server, wire_get16(p->asked)));
}

static int read_all(struct sa_request *req, uint16_t attr, uint32_t bytes,
		    bool (*plan_port)(const struct plan *p), uint64_t ports)
{
	struct plan p = { .requester = sa_request_port(req), .ports = ports };

	if (!p.requester)
		return SA_SILENT;
	take_asked(&p, req);
	p.reading = req->reading = reading_create(req, attr, bytes);
	if (!p.reading)
		return SA_NO_RESOURCES;
	plan_all(&p, plan_port);
	if (p.reading->status)
		return p.reading->status;
	if (req->mad.method == MAD_METHOD_GET && p.reading->count > 1)
		return SA_TOO_MANY_RECORDS;
	timer_arm(&p.reading->timer, 0);
	return SA_WAITS;
}

int sa_sl_to_vl_query(struct sa_request *req)
{
	return read_all(req, SMP_SL_TO_VL, SL_TO_VL_BYTES, plan_pairs,
			COMPONENT_A | COMPONENT_B);
}

int sa_vl_arb_query(struct sa_request *req)
{
	return read_all(req, SMP_VL_ARB, VL_ARB_BYTES, plan_arbitration, COMPONENT_A);
}

int sa_guid_query(struct sa_request *req)
{
	return read_all(req, SMP_GUID_INFO, GUID_INFO_BYTES, plan_guids, 0);
}
