/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * While the SM stands by: its SA has the master's database, as far as it was told. It
 * serves nobody, so nothing of it is routed or reported.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "fabric/sa/server_priv.h"

#define TRANSFER_TIMEOUT_NS (5000 * TIMER_MS)

/* -- datagrams ----------------------------------------------------------------------- */

static uint64_t get(const uint8_t *p, unsigned int bytes)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < bytes; i++)
		value = value << 8 | p[i];
	return value;
}

static void put(uint8_t *p, uint64_t value, unsigned int bytes)
{
	for (unsigned int i = bytes; i--; value >>= 8)
		p[i] = (uint8_t)value;
}

void sa_peer_header_get(const uint8_t *message, struct sa_peer_header *ret)
{
	const uint8_t *p = message + SA_PEER_HEADER;

	mad_header_get(message, &ret->mad);
	ret->key = get(p, 8);
	ret->session = get(p + 8, 8);
	ret->position = get(p + 16, 8);
	ret->position_after = get(p + 24, 8);
	ret->in_step = get(p + 32, 4) != 0;
	ret->next_mgid = (uint32_t)get(p + 36, 4);
}

void sa_peer_header_put(uint8_t *message, const struct sa_peer_header *h)
{
	uint8_t *p = message + SA_PEER_HEADER;

	memset(message, 0, SA_PEER_DATA);
	mad_header_put(message, &h->mad);
	/* Vendor classes of this range name whose they are: nobody's, a local one. */
	put(message + 37, 0x027662, 3);
	put(p, h->key, 8);
	put(p + 8, h->session, 8);
	put(p + 16, h->position, 8);
	put(p + 24, h->position_after, 8);
	put(p + 32, h->in_step, 4);
	put(p + 36, h->next_mgid, 4);
}

void sa_peer_send(struct sa_server *s, uint16_t lid, const uint8_t mad[MAD_BYTES])
{
	const struct ib_packet packet = {
		.dlid = lid,
		.pkey = IB_PKEY_DEFAULT_FULL,
		.dest_qp = IB_QP_GSI,
		.src_qp = IB_QP_GSI,
		.qkey = IB_GSI_QKEY,
		.payload = mad,
		.length = MAD_BYTES,
	};

	sm_send_gsi(s->sm, &packet);
}

/* -- asking -------------------------------------------------------------------------- */

void sa_follow(struct sa_server *s, uint16_t master_lid)
{
	struct sa_following *f = &s->following;
	struct sa_peer_header h = {
		.mad = { .base_version = 1,
			 .mgmt_class = SM_PEER_CLASS,
			 .class_version = 1,
			 .method = MAD_METHOD_SET,
			 .tid = ++s->next_tid,
			 .attr_id = SA_PEER_FOLLOW },
		.key = s->sa_key,
		.session = f->session,
		.position = f->position,
	};
	uint8_t mad[MAD_BYTES] = { 0 };

	f->master_lid = master_lid;
	f->alive_ns = s->timers->now_ns;
	f->asked_session = f->session;
	f->asked_position = f->position;
	f->asked_tid = h.mad.tid;
	sa_peer_header_put(mad, &h);
	sa_peer_send(s, master_lid, mad);
}

static void answered(struct sa_server *s, const struct sa_peer_header *h)
{
	struct sa_following *f = &s->following;

	/* Of what was asked before the last change came it says nothing of now. */
	if (h->mad.tid != f->asked_tid || f->session != f->asked_session ||
	    f->position != f->asked_position)
		return;
	f->in_step = h->in_step && h->session == f->session;
	if (f->in_step)
		f->confirmed_ns = s->timers->now_ns;
}

/* -- what comes ---------------------------------------------------------------------- */

static int take_all(struct sa_server *s, const uint8_t *bytes, size_t length)
{
	int r = sa_server_load(s, bytes, length);

	s->following.fed = true;
	return r;
}

static int take_changes(struct sa_server *s, const struct sa_peer_header *h,
			const uint8_t *bytes, size_t length)
{
	const struct sa_following *f = &s->following;

	if (h->session != f->session || h->position != f->position)
		return -EPROTO;
	s->next_mgid = h->next_mgid;
	return sa_journal_apply(s, bytes, length);
}

static void taken(void *arg, int error, const uint8_t *message, size_t length)
{
	struct sa_server *s = arg;
	struct sa_following *f = &s->following;
	struct sa_peer_header h;

	/* The receiver stays, for segments that are repeated. */
	if (error || length < SA_PEER_DATA)
		return;
	sa_peer_header_get(message, &h);
	if (h.key != s->sa_key)
		return;
	message += SA_PEER_DATA;
	length -= SA_PEER_DATA;
	if (h.mad.attr_id == SA_PEER_DATABASE)
		error = take_all(s, message, length);
	else if (h.mad.attr_id == SA_PEER_CHANGES)
		error = take_changes(s, &h, message, length);
	else
		return;
	f->session = error ? 0 : h.session;
	f->position = error ? 0 : h.position_after;
	f->in_step = !error;
	if (error)
		log_info("sa: what the master sent does not fit: all is asked for anew");
	else
		f->confirmed_ns = s->timers->now_ns;
}

static void send_answer(void *arg, const uint8_t mad[MAD_BYTES])
{
	struct sa_server *s = arg;

	sa_peer_send(s, s->following.master_lid, mad);
}

static bool begin_transfer(struct sa_server *s, uint64_t tid)
{
	const struct rmpp_receiver_config config = {
		.timers = s->timers,
		.timeout_ns = TRANSFER_TIMEOUT_NS,
		.send = send_answer,
		.done = taken,
		.arg = s,
	};
	struct sa_following *f = &s->following;

	rmpp_receiver_destroy(f->receiver);
	f->receiver = NULL;
	f->tid = tid;
	return rmpp_receiver_create(&config, &f->receiver) == 0;
}

void sa_following_receive(struct sa_server *s, const struct ib_packet *packet)
{
	struct sa_following *f = &s->following;
	struct sa_peer_header h;

	if (!f->master_lid || packet->slid != f->master_lid)
		return;
	sa_peer_header_get(packet->payload, &h);
	if (h.mad.attr_id == SA_PEER_FOLLOW && h.mad.method == MAD_METHOD_GET_RESP) {
		answered(s, &h);
		return;
	}
	if (h.mad.method != MAD_METHOD_SEND)
		return;
	if ((!f->receiver || f->tid != h.mad.tid) && !begin_transfer(s, h.mad.tid))
		return;
	rmpp_receiver_receive(f->receiver, packet->payload);
}

/* -- the end of it ------------------------------------------------------------------- */

bool sa_server_is_in_step(const struct sa_server *s)
{
	const struct sa_following *f = &s->following;

	/* After longer without a master hosts have given up asking: who has wanted to leave
	 * believes that it has. */
	return f->in_step && f->confirmed_ns + SA_LEASE_NS >= f->alive_ns &&
	       f->alive_ns + SA_HEIR_NS >= s->timers->now_ns;
}

void sa_following_stop(struct sa_server *s)
{
	rmpp_receiver_destroy(s->following.receiver);
	s->following = (struct sa_following){ 0 };
}
