// SPDX-License-Identifier: BSD-2-Clause
/*
 * The receiving side: follow the logs, find out whom a datagram is for (spec/kernel 4.5).
 * Everything runs under rx.
 *
 * R1  the sequence word, loaded with acquire, pairs with W2, the sender's release store
 *     that publishes: all of the slot and its payload is there.
 * R2  rx_still_there (engine_priv.h): nothing of it was overwritten while we copied.
 * G1  our cursor, stored with release after the copies; the sender's gate loads it (G2).
 *
 * A log is another process's memory: each field is read once and checked before use.
 */
#include <string.h>

#include "engine/engine_priv.h"
#include "wire/gid.h"

#define BUDGET        64u /* datagrams of one log in one turn that somebody polls */
#define BUDGET_HELPER 256u
#define SILENT_TURNS  64u /* turns between two visits of a silent log */

void engine_drop(struct engine *e, enum drop_reason reason, uint64_t n)
{
	atomic_fetch_add_explicit(&e->counters->drops[reason], n, memory_order_relaxed);
}

static void member_drop(struct member *m, enum drop_reason reason, uint32_t n)
{
	_Atomic uint32_t *counter = &m->counters->drops[reason];
	uint32_t value = atomic_load_explicit(counter, memory_order_relaxed);

	value = value > UINT32_MAX - n ? UINT32_MAX : value + n;
	atomic_store_explicit(counter, value, memory_order_relaxed);
}

#define SLOT_READ(slot, field) atomic_load_explicit(&(slot)->field, memory_order_relaxed)

/* -- the 40 bytes in front ----------------------------------------------------------- */

/* A GID of the site's tables, if it is there. Returns its serial number, or 0. */
static uint32_t gid_read(const struct shm_tables *t, uint32_t ref, uint8_t gid[16],
			 uint32_t *ret_type)
{
	const struct shm_gid_entry *entry;
	uint32_t serial;

	if (ref >> 8 >= SHM_PORTS_MAX || (ref & 0xff) >= SHM_GIDS_MAX)
		return 0;
	entry = &t->ports[ref >> 8].gids[ref & 0xff];
	serial = atomic_load_explicit(&entry->valid, memory_order_acquire);
	memcpy(gid, entry->gid, 16);
	*ret_type = entry->type;
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&entry->valid, memory_order_relaxed) != serial)
		return 0;
	return serial;
}

struct flow_key {
	uint64_t dst; /* attachment serial, or 1 << 63 | dst_gid */
	uint32_t src_gid;
	uint8_t hop_limit, traffic_class;
};

#define FLOW_UNICAST (1ull << 63)

static bool flow_is(const struct engine *e, const struct sender *s,
		    const struct flow_key *key)
{
	return s->flow_valid && s->flow_src_gid == key->src_gid &&
	       s->flow_dst == key->dst && s->flow_hop_limit == key->hop_limit &&
	       s->flow_traffic_class == key->traffic_class &&
	       gid_serial(e->tables, key->src_gid) == s->flow_src_serial &&
	       (!(key->dst & FLOW_UNICAST) ||
		gid_serial(e->tables, (uint32_t)key->dst) == s->flow_dst_serial);
}

/* The source must be a GID of the sender's own node (spec/dataplane 8: it cannot speak
 * for another host). */
static bool flow_make(const struct engine *e, struct sender *s,
		      const struct flow_key *key, const uint8_t *mgid)
{
	const struct shm_tables *t = e->tables;
	uint8_t sgid[16], dgid[16];
	uint32_t type, ignored;
	enum grh_kind kind;

	s->flow_valid = false;
	s->flow_src_serial = gid_read(t, key->src_gid, sgid, &type);
	if (!s->flow_src_serial ||
	    t->ports[key->src_gid >> 8].node != t->slots[s->slot].node)
		return false;
	if (mgid) {
		memcpy(dgid, mgid, 16);
	} else {
		s->flow_dst_serial = gid_read(t, (uint32_t)key->dst, dgid, &ignored);
		if (!s->flow_dst_serial)
			return false;
	}
	kind = type == SHM_GID_ROCE_V2 ? grh_kind_of_roce_v2(sgid, dgid) : GRH_IB;
	grh_flow_init(&s->flow, kind, sgid, dgid, key->traffic_class, key->hop_limit);
	s->flow_src_gid = key->src_gid;
	s->flow_dst = key->dst;
	s->flow_hop_limit = key->hop_limit;
	s->flow_traffic_class = key->traffic_class;
	s->flow_valid = true;
	return true;
}

/* -- one datagram -------------------------------------------------------------------- */

/* All but the receiver, which the caller knows. False: the header is nonsense. */
static bool datagram_read(struct engine *e, struct sender *s,
			  const struct shm_log_slot *slot, struct rx_datagram *d,
			  uint64_t dst, const uint8_t *mgid)
{
	const struct flow_key key = {
		.dst = dst,
		.src_gid = SLOT_READ(slot, src_gid),
		.hop_limit = SLOT_READ(slot, hop_limit),
		.traffic_class = SLOT_READ(slot, traffic_class),
	};
	uint64_t at = SLOT_READ(slot, payload_at) % SHM_LOG_PAYLOAD;

	d->length = SLOT_READ(slot, length);
	if (unlikely(d->length > ENGINE_MTU_MAX ||
		     at + tx_rest_of(d->length) > SHM_LOG_PAYLOAD))
		return false;
	if (unlikely(!flow_is(e, s, &key)) && !flow_make(e, s, &key, mgid))
		return false;
	d->rest = s->log->payload + at;
	d->flow = &s->flow;
	d->qkey = SLOT_READ(slot, qkey);
	d->imm = SLOT_READ(slot, imm);
	d->src_qpn = SLOT_READ(slot, src_qpn) & 0xffffff;
	d->src_device = e->tables->ports[key.src_gid >> 8].device;
	d->pkey = SLOT_READ(slot, pkey);
	d->own = s->own;
	return true;
}

/* Datagrams to the group that we never saw: the log overtook us. `overtaken` bounds what
 * a sender can make us believe. */
static void count_lost(struct sender *s, struct attachment *a, const struct heard *h,
		       uint32_t gap)
{
	if (gap > INT32_MAX || !s->overtaken)
		return;
	if (gap > s->overtaken)
		gap = (uint32_t)s->overtaken;
	s->losing = true;
	for (uint32_t i = 0; i < a->count; i++)
		if (a->members[i].generation <= h->generation)
			member_drop(&a->members[i], DROP_LAGGED, gap);
}

static void hear(struct sender *s, struct attachment *a, uint64_t generation,
		 uint32_t ordinal)
{
	struct heard *h = likely(s->index < a->heard_count)
				  ? &a->heard[s->index]
				  : attachment_heard_slow(a, s->index);

	if (unlikely(!h))
		return;
	if (unlikely(ordinal != h->ordinal + 1) && h->serial == s->serial)
		count_lost(s, a, h, ordinal - h->ordinal - 1);
	h->generation = generation;
	h->ordinal = ordinal;
	h->serial = s->serial;
}

static void deliver_to_member(struct member *m, const struct rx_datagram *d)
{
	enum drop_reason reason = rx_deliver(m->qp, d);

	if (likely(reason == DROP_NONE))
		count_add(&m->counters->delivered, 1);
	else
		member_drop(m, reason, 1);
}

/* False: the header was overwritten while we read it. */
static bool rx_multicast(struct engine *e, struct sender *s,
			 const struct shm_log_slot *slot, struct rx_datagram *d)
{
	uint32_t entry = SLOT_READ(slot, entry);
	struct attachment *a = entry < SHM_GROUPS_MAX ? e->rx.attachments[entry] : NULL;
	uint32_t ordinal, dst_qpn;
	bool sound;

	if (!a)
		return true; /* not for us */
	d->generation = SLOT_READ(slot, generation);
	ordinal = SLOT_READ(slot, ordinal);
	dst_qpn = SLOT_READ(slot, dst_qpn);
	sound = datagram_read(e, s, slot, d, a->serial, a->mgid);
	if (unlikely(!rx_still_there(d)))
		return false;
	hear(s, a, d->generation, ordinal);
	if (unlikely(!sound)) {
		engine_drop(e, DROP_BAD_HEADER, 1);
		return true;
	}
	for (uint32_t i = 0; i < a->count; i++) {
		struct member *m = &a->members[i];

		if (unlikely(d->generation < m->generation))
			continue; /* sent before it attached */
		/* A multicast GID with an ordinary number reaches that one alone
		 * (spec/kernel 4.5). */
		if (unlikely(dst_qpn != MULTICAST_QPN) && dst_qpn != m->qp->config.qpn)
			continue;
		deliver_to_member(m, d);
	}
	return true;
}

static void hear_unicast(struct engine *e, struct sender *s, uint32_t ordinal)
{
	uint32_t gap = ordinal - s->unicast_ordinal - 1;

	s->unicast_ordinal = ordinal;
	if (unlikely(gap) && gap <= s->overtaken) {
		s->losing = true;
		engine_drop(e, DROP_LAGGED, gap);
	}
}

static void deliver_unicast(struct engine *e, const struct rx_datagram *d,
			    uint32_t dst_gid, uint32_t dst_qpn)
{
	struct engine_qp *qp = qp_find(e, e->tables->ports[dst_gid >> 8].device, dst_qpn);
	enum drop_reason reason;

	if (!qp) {
		engine_drop(e, DROP_NO_QP, 1);
		return;
	}
	reason = rx_deliver(qp, d);
	if (unlikely(reason != DROP_NONE))
		count_add(&qp->counters->drops[reason], 1);
}

static bool rx_unicast(struct engine *e, struct sender *s,
		       const struct shm_log_slot *slot, struct rx_datagram *d)
{
	uint32_t dst_gid = SLOT_READ(slot, dst_gid);
	uint32_t dst_qpn = SLOT_READ(slot, dst_qpn);
	uint32_t ordinal = SLOT_READ(slot, ordinal);
	bool sound;

	if (SLOT_READ(slot, entry) != e->slot)
		return true; /* not for us */
	sound = datagram_read(e, s, slot, d, FLOW_UNICAST | dst_gid, NULL);
	if (unlikely(!rx_still_there(d)))
		return false;
	hear_unicast(e, s, ordinal);
	if (sound)
		deliver_unicast(e, d, dst_gid, dst_qpn);
	else
		engine_drop(e, DROP_BAD_HEADER, 1);
	return true;
}

static bool rx_datagram(struct engine *e, struct sender *s,
			const struct shm_log_slot *slot, uint64_t position)
{
	struct rx_datagram d;

	d.position = position;
	d.slot = slot;
	d.flags = SLOT_READ(slot, flags);
	if (likely(!(d.flags & SHM_LOG_UNICAST)))
		return rx_multicast(e, s, slot, &d);
	return rx_unicast(e, s, slot, &d);
}

/* -- one log ------------------------------------------------------------------------- */

/*
 * The word at our position is not the one that publishes it. False: nothing new yet.
 * True: s->position was moved, or is to be looked at again.
 *
 * The head is read before the word is judged: if it lies behind us, the position was
 * published, so a busy mark that stands there now means that its payload is gone.
 */
static bool step_over(struct sender *s, const struct shm_log_slot *slot)
{
	const uint64_t p = s->position;
	uint64_t head = atomic_load_explicit(&s->log->h.head, memory_order_acquire);
	uint64_t sequence = atomic_load_explicit(&slot->sequence, memory_order_acquire);
	uint64_t to = p + 1;

	if (sequence == 2 * p)
		return true;
	/* Older, or being written; or a word that its sender's own head denies, which
	 * silences that log and nothing else. */
	if (sequence < 2 * p || head <= p)
		return false;
	if (sequence > 2 * p + 1) {
		/* Lapped: to the oldest position left. A receiver that its sender waits for
		 * loses nothing by that. One that already lost is not waited for, and would
		 * be overtaken again at once: it gets half a log's start. */
		uint64_t back = s->losing ? SHM_LOG_SLOTS / 2 : SHM_LOG_SLOTS - 1;

		if (head > back && head - back > to)
			to = head - back;
	}
	s->overtaken += to - p;
	s->position = to;
	return true;
}

static bool sink_full(const struct rx *rx)
{
	return rx->sink && !rx->sink->direct_left;
}

static unsigned int follow(struct engine *e, struct sender *s)
{
	unsigned int budget = e->rx.sink ? BUDGET : BUDGET_HELPER;
	unsigned int n;

	for (n = 0; n < budget; n++) {
		const uint64_t p = s->position;
		const struct shm_log_slot *slot = &s->log->slots[(p - 1) % SHM_LOG_SLOTS];

		if (likely(atomic_load_explicit(&slot->sequence, memory_order_acquire) ==
			   2 * p)) { /* R1 */
			if (unlikely(!rx_datagram(e, s, slot, p)))
				continue;
			s->position = p + 1;
			if (sink_full(&e->rx)) {
				n++;
				break;
			}
		} else if (likely(!step_over(s, slot))) {
			break;
		}
	}
	if (n) {
		s->idle_looks = 0;
		atomic_store_explicit(&s->cursor->position, s->position,
				      memory_order_release); /* G1 */
	}
	return n;
}

unsigned int rx_turn(struct engine *e)
{
	struct rx *rx = &e->rx;
	unsigned int looked = 0;
	uint32_t i = rx->next;

	senders_collect(e);
	for (uint32_t left = rx->active_count; left; left--) {
		struct sender *s;
		unsigned int n;

		if (i >= rx->active_count)
			i = 0;
		s = rx->active[i];
		n = follow(e, s);
		looked += n;
		if (!n && sender_idle(e, s))
			continue; /* another one is in its place now */
		i++;
		if (sink_full(rx))
			break;
	}
	rx->next = i;
	if (unlikely(++rx->turns % SILENT_TURNS == 0))
		senders_visit_silent(e);
	return looked;
}

static unsigned int turn(struct engine *e, bool *ret_wanted)
{
	unsigned int looked;

	lock_take(&e->rx_lock);
	looked = rx_turn(e);
	*ret_wanted = senders_any_wanted(e);
	lock_drop(&e->rx_lock);
	engine_settle(e);
	return looked;
}

unsigned int engine_turn_and_map(struct engine *e)
{
	unsigned int looked;
	bool wanted;

	looked = turn(e, &wanted);
	if (unlikely(wanted)) {
		senders_map_wanted(e);
		looked += turn(e, &wanted);
	}
	return looked;
}

unsigned int engine_turn(struct engine *e)
{
	return engine_turn_and_map(e);
}
