/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who follows this SA, which is the master's: one transfer at a time is on its way to each,
 * with all changes since the last one or with the whole database. Everything is sent from
 * the timers, so that what changes at one moment goes together.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "fabric/sa/server_priv.h"

#define CHECK_NS       (100 * TIMER_MS)
/* A transfer is given up after a lease at the earliest. */
#define ACK_TIMEOUT_NS (50 * TIMER_MS)
#define ACK_RETRIES    24u
#define LATE_TIDS      0x10000u

static bool behind(const struct sa_follower *f, uint64_t position)
{
	return f->server && f->counts && f->position < position;
}

static bool is_waited_for(const struct sa_server *s, uint64_t position)
{
	for (unsigned int i = 0; i < SA_FOLLOWERS_MAX; i++)
		if (behind(&s->followers[i], position))
			return true;
	return false;
}

static void release(struct sa_server *s)
{
	while (!list_empty(&s->held)) {
		struct sa_request *req =
			container_of(s->held.next, struct sa_request, link);

		if (is_waited_for(s, req->held_until))
			return;
		list_remove(&req->link);
		sa_request_release(req);
	}
}

bool sa_followers_hold(struct sa_request *req)
{
	struct sa_server *s = req->server;

	req->held_until = s->journal.end;
	if (!is_waited_for(s, req->held_until))
		return false;
	list_append(&s->held, &req->link);
	return true;
}

static void trim(struct sa_server *s)
{
	uint64_t least = s->journal.end;

	for (unsigned int i = 0; i < SA_FOLLOWERS_MAX; i++) {
		const struct sa_follower *f = &s->followers[i];
		uint64_t need = f->sending_all ? f->sent_to : f->position;

		if (f->server && !f->fresh && need < least)
			least = need;
	}
	sa_journal_trim(&s->journal, least);
}

static void forget(struct sa_follower *f)
{
	rmpp_sender_destroy(f->sender);
	*f = (struct sa_follower){ 0 };
}

static void drop(struct sa_follower *f)
{
	struct sa_server *s = f->server;

	log_info("sa: port %016llx does not follow any more",
		 (unsigned long long)f->port_guid);
	forget(f);
	trim(s);
	release(s);
}

/* -- sending ------------------------------------------------------------------------- */

static void send_segment(void *arg, const uint8_t mad[MAD_BYTES])
{
	const struct sa_follower *f = arg;

	sa_peer_send(f->server, f->lid, mad);
}

static void sent(void *arg, int error, uint8_t status)
{
	struct sa_follower *f = arg;
	struct sa_server *s = f->server;

	(void)status;
	if (error) {
		drop(f);
		return;
	}
	rmpp_sender_destroy(f->sender);
	f->sender = NULL;
	f->heard_ns = s->timers->now_ns;
	f->position = f->sent_to;
	f->counts = f->counts || f->sending_all;
	f->sending_all = false;
	trim(s);
	release(s);
	sa_followers_wake(s);
}

static int begin(struct sa_follower *f, const uint8_t *content, size_t length)
{
	struct sa_server *s = f->server;
	const struct rmpp_sender_config config = {
		.timers = s->timers,
		.timeout_ns = ACK_TIMEOUT_NS,
		.retries = ACK_RETRIES,
		.send = send_segment,
		.done = sent,
		.arg = f,
	};
	struct sa_peer_header h = {
		.mad = { .base_version = 1,
			 .mgmt_class = SM_PEER_CLASS,
			 .class_version = 1,
			 .method = MAD_METHOD_SEND,
			 .tid = ++s->next_tid,
			 .attr_id = f->fresh ? SA_PEER_DATABASE : SA_PEER_CHANGES },
		.key = s->sa_key,
		.session = s->journal.session,
		.position = f->position,
		.position_after = s->journal.end,
		.next_mgid = s->next_mgid,
	};
	uint8_t *message = malloc(SA_PEER_DATA + length);
	int r;

	if (!message)
		return -ENOMEM;
	sa_peer_header_put(message, &h);
	if (length)
		memcpy(message + SA_PEER_DATA, content, length);
	r = rmpp_sender_create(&config, message, SA_PEER_DATA + length, &f->sender);
	free(message);
	if (r < 0)
		return r;
	f->tid = h.mad.tid;
	f->sent_to = s->journal.end;
	f->sending_all = f->fresh;
	f->fresh = false;
	f->heard_ns = s->timers->now_ns;
	rmpp_sender_start(f->sender);
	return 0;
}

static int send_all(struct sa_follower *f)
{
	uint8_t *bytes;
	size_t length;
	int r = sa_server_save(f->server, &bytes, &length);

	if (r < 0)
		return r;
	r = begin(f, bytes, length);
	free(bytes);
	return r;
}

static int send_changes(struct sa_follower *f)
{
	const struct sa_journal *j = &f->server->journal;

	return begin(f, j->bytes + (f->position - j->start),
		     (size_t)(j->end - f->position));
}

/* -- who they are -------------------------------------------------------------------- */

static bool is_sm(const struct subnet_port *port)
{
	return port && port->info.cap_mask & SMP_CAP_SM;
}

/* One that is cut off may come back, and take what it has for ours, until its lease is
 * over; one whose port is there and no SM's has gone. */
static bool is_lost(const struct sa_follower *f)
{
	const struct sa_server *s = f->server;
	const struct subnet_port *port = sa_port_by_guid(s, f->port_guid);

	return f->heard_ns + SA_LEASE_NS < s->timers->now_ns || (port && !is_sm(port));
}

static void look_after(struct sa_follower *f)
{
	int r = 0;

	if (!f->server)
		return;
	if (is_lost(f)) {
		drop(f);
		return;
	}
	if (f->sender)
		return;
	if (f->fresh)
		r = send_all(f);
	else if (f->position < f->server->journal.end)
		r = send_changes(f);
	if (r < 0)
		drop(f);
}

static void due(struct timer *timer)
{
	struct sa_server *s = container_of(timer, struct sa_server, followers_timer);

	for (unsigned int i = 0; i < SA_FOLLOWERS_MAX; i++)
		look_after(&s->followers[i]);
	if (sa_followers_any(s) && !timer->armed)
		timer_arm(timer, CHECK_NS);
}

void sa_followers_wake(struct sa_server *s)
{
	timer_arm(&s->followers_timer, 0);
}

bool sa_followers_any(const struct sa_server *s)
{
	for (unsigned int i = 0; i < SA_FOLLOWERS_MAX; i++)
		if (s->followers[i].server)
			return true;
	return false;
}

static struct sa_follower *find(struct sa_server *s, uint64_t port_guid)
{
	for (unsigned int i = 0; i < SA_FOLLOWERS_MAX; i++)
		if (s->followers[i].server && s->followers[i].port_guid == port_guid)
			return &s->followers[i];
	return NULL;
}

static struct sa_follower *take_in(struct sa_server *s, uint64_t port_guid)
{
	for (unsigned int i = 0; i < SA_FOLLOWERS_MAX; i++) {
		struct sa_follower *f = &s->followers[i];

		if (f->server)
			continue;
		log_info("sa: port %016llx follows", (unsigned long long)port_guid);
		while (!s->journal.session)
			s->journal.session = random_u64(s->random);
		*f = (struct sa_follower){ .server = s,
					   .port_guid = port_guid,
					   .position = s->journal.end,
					   .fresh = true };
		return f;
	}
	return NULL;
}

bool sa_is_followed(const struct sa_server *s, uint64_t port_guid)
{
	const struct sa_follower *f = find((struct sa_server *)s, port_guid);

	return f && f->counts && !f->fresh && f->position == s->journal.end;
}

/* -- what they say ------------------------------------------------------------------- */

/* It has what we believe it has, or what is on its way to it. */
static bool is_in_step(const struct sa_follower *f, const struct sa_peer_header *h)
{
	return f->counts && h->session == f->server->journal.session &&
	       (h->position == f->position || (f->sender && h->position == f->sent_to));
}

/* A copy that was overtaken: what it says is of before. Ids begin anywhere. */
static bool is_late(const struct sa_follower *f, const struct sa_peer_header *h)
{
	return f->asked_tid && f->asked_tid - h->mad.tid < LATE_TIDS;
}

static void answer(struct sa_server *s, const struct sa_follower *f,
		   const struct sa_peer_header *asked)
{
	uint8_t mad[MAD_BYTES] = { 0 };
	struct sa_peer_header h = *asked;

	h.mad.method = MAD_METHOD_GET_RESP;
	h.session = s->journal.session;
	h.position_after = s->journal.end;
	h.in_step = f->counts;
	sa_peer_header_put(mad, &h);
	sa_peer_send(s, f->lid, mad);
}

static void asked(struct sa_server *s, uint16_t lid, const struct sa_peer_header *h)
{
	const struct subnet_port *port = sa_port_by_lid(s, lid);
	struct sa_follower *f;
	uint64_t guid;

	if (!is_sm(port))
		return;
	guid = subnet_port_guid(port);
	f = find(s, guid);
	if (!f)
		f = take_in(s, guid);
	if (!f || is_late(f, h))
		return;
	f->asked_tid = h->mad.tid;
	f->lid = lid;
	f->heard_ns = s->timers->now_ns;
	if (!is_in_step(f, h)) {
		f->counts = false;
		f->fresh = f->fresh || !f->sending_all;
		release(s);
	}
	answer(s, f, h);
	sa_followers_wake(s);
}

static void acknowledged(struct sa_server *s, const struct ib_packet *packet,
			 const struct mad_header *mad)
{
	for (unsigned int i = 0; i < SA_FOLLOWERS_MAX; i++) {
		struct sa_follower *f = &s->followers[i];

		if (f->server && f->sender && f->tid == mad->tid &&
		    f->lid == packet->slid)
			rmpp_sender_receive(f->sender, packet->payload);
	}
}

void sa_followers_receive(struct sa_server *s, const struct ib_packet *packet)
{
	struct sa_peer_header h;

	sa_peer_header_get(packet->payload, &h);
	if (h.mad.attr_id == SA_PEER_FOLLOW && h.mad.method == MAD_METHOD_SET) {
		if (h.key == s->sa_key)
			asked(s, packet->slid, &h);
		else
			s->counters.dropped_key++;
	} else if (h.mad.method == (MAD_METHOD_SEND | MAD_METHOD_RESPONSE)) {
		acknowledged(s, packet, &h.mad);
	}
}

void sa_followers_init(struct sa_server *s)
{
	list_init(&s->held);
	timer_init(&s->followers_timer, s->timers, due);
}

void sa_followers_forget(struct sa_server *s)
{
	timer_disarm(&s->followers_timer);
	for (unsigned int i = 0; i < SA_FOLLOWERS_MAX; i++)
		forget(&s->followers[i]);
	sa_journal_reset(s);
}
