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

#include "engine/deliver.h"
#include "engine/engine_priv.h"
#include "engine/flow.h"
#include "engine/run.h"

#define BUDGET        64u /* datagrams of one log in one turn that somebody polls */
#define BUDGET_HELPER 256u
#define BUSY_LOOKS    8u
#define SILENT_TURNS  64u /* turns between two visits of a silent log */

void engine_drop(struct engine *e, enum drop_reason reason, uint64_t n)
{
	atomic_fetch_add_explicit(&e->counters->drops[reason], n, memory_order_relaxed);
}

/* Who manages the subnet hears of keys that do not fit (daemon/traffic.h). */
static void count_violation(const struct engine_qp *qp, enum drop_reason reason)
{
	struct shm_counters *c = qp->engine->counters;

	if (qp->port->link_layer != SHM_LINK_INFINIBAND)
		return;
	if (reason == DROP_PKEY)
		count_add(&c->pkey_violations, 1);
	else if (reason == DROP_QKEY)
		count_add(&c->qkey_violations, 1);
}

static void qp_drop(struct engine_qp *qp, enum drop_reason reason)
{
	count_add(&qp->counters->drops[reason], 1);
	count_violation(qp, reason);
}

static void member_drop(struct engine *e, const struct member *m, enum drop_reason reason,
			uint32_t n)
{
	_Atomic uint32_t *counter = &e->counters->members[m->counters].drops[reason];
	uint32_t value = atomic_load_explicit(counter, memory_order_relaxed);

	value = value > UINT32_MAX - n ? UINT32_MAX : value + n;
	atomic_store_explicit(counter, value, memory_order_relaxed);
	count_violation(m->qp, reason);
}

/* -- one datagram -------------------------------------------------------------------- */

/* All but who receives it, which the caller knows. False: the header is nonsense. */
static inline bool read_header(struct engine *e, struct sender *s, struct rx_datagram *d,
			       uint64_t shape, struct flow_key *key)
{
	uint64_t at = read_word(&d->slot->payload_at) % SHM_LOG_PAYLOAD;
	uint64_t numbers = read_word(&d->slot->numbers);
	uint64_t keys = read_word(&d->slot->keys);

	d->length = (uint16_t)shape;
	key->gids = read_word(&d->slot->gids);
	key->hops = shape >> SHM_LOG_HOPS_SHIFT;
	key->epoch = e->rx.epoch;
	if (unlikely(d->length > ENGINE_MTU_MAX ||
		     at + tx_rest_of(d->length) > SHM_LOG_PAYLOAD))
		return false;
	if (unlikely(!flow_is(s, key)) && !flow_make(e, s, key))
		return false;
	flow_fit(s, ud_wire_bytes(d->length, d->flags & SHM_LOG_WITH_IMM));
	d->header = s->flow_header;
	d->rest = s->log->payload + at;
	d->qkey = shm_log_low(keys);
	d->imm = shm_log_high(keys);
	d->src_qpn = shm_log_high(numbers) & 0xffffff;
	d->src_device = s->flow_device;
	d->pkey = (uint16_t)(shape >> SHM_LOG_PKEY_SHIFT);
	d->own = s->own;
	d->address = s->flow_address;
	return true;
}

/* Datagrams to the group that we never saw: the log overtook us. `overtaken` bounds what
 * a sender can make us believe. */
static void count_lost(struct engine *e, struct sender *s, struct attachment *a,
		       const struct heard *h, uint32_t gap)
{
	const struct member *members = attachment_members(a);

	if (gap > INT32_MAX || !s->overtaken)
		return;
	if (gap > s->overtaken)
		gap = (uint32_t)s->overtaken;
	s->losing = true;
	for (uint32_t i = 0; i < a->count; i++)
		if (members[i].generation <= h->generation)
			member_drop(e, &members[i], DROP_LAGGED, gap);
}

/* Ordinals count what the sender sent to an entry: with another one they begin anew. */
static inline struct heard *hear(struct engine *e, struct sender *s, struct attachment *a,
				 uint64_t generation, uint64_t route)
{
	const uint32_t entry = shm_log_low(route), ordinal = shm_log_high(route);
	struct heard *h = likely(s->index < a->heard_count)
				  ? &attachment_heard(a)[s->index]
				  : attachment_heard_slow(e, a, s);

	if (unlikely(!h))
		return NULL;
	if (unlikely(ordinal != h->ordinal + 1) && h->serial == s->serial &&
	    h->entry == entry)
		count_lost(e, s, a, h, ordinal - h->ordinal - 1);
	h->generation = generation;
	h->ordinal = ordinal;
	h->serial = s->serial;
	h->entry = entry;
	return h;
}

void rx_tell(struct engine_qp *qp, struct attachment *a, enum drop_reason reason)
{
	const struct member *members;

	if (!a) {
		if (reason != DROP_NONE)
			qp_drop(qp, reason);
		return;
	}
	members = attachment_members(a);
	for (uint32_t i = 0; i < a->count; i++) {
		const struct member *m = &members[i];

		if (m->qp != qp)
			continue;
		if (reason == DROP_NONE)
			count_add(&qp->engine->counters->delivered[m->counters], 1);
		else
			member_drop(qp->engine, m, reason, 1);
	}
}

static inline bool deliver_to_member(struct engine *e, struct attachment *a,
				     const struct member *m, const struct rx_datagram *d)
{
	enum drop_reason reason;

	if (unlikely(e->faults.rx.on)) {
		faults_receive(e, m->qp, a, d);
		return false;
	}
	reason = deliver(m->qp, d);
	if (likely(reason == DROP_NONE))
		count_add(&e->counters->delivered[m->counters], 1);
	else
		member_drop(e, m, reason, 1);
	return reason == DROP_NONE;
}

/* True: it has one member, who took it. */
static inline bool deliver_to_all(struct engine *e, struct attachment *a,
				  const struct rx_datagram *d, uint32_t dst_qpn)
{
	const struct member *members = attachment_members(a);
	bool taken = false;

	for (uint32_t i = 0; i < a->count; i++) {
		const struct member *m = &members[i];

		if (unlikely(d->generation < m->generation))
			continue; /* sent before it attached */
		/* A multicast GID with an ordinary number reaches that one alone
		 * (spec/kernel 4.5). */
		if (unlikely(dst_qpn != MULTICAST_QPN) && dst_qpn != m->qp->config.qpn)
			continue;
		taken = deliver_to_member(e, a, m, d);
	}
	return taken && a->count == 1;
}

/* False: the header was overwritten while we read it. */
static inline bool rx_multicast(struct engine *e, struct sender *s, struct rx_datagram *d,
				uint64_t shape)
{
	uint64_t route = read_word(&d->slot->route);
	uint64_t numbers = read_word(&d->slot->numbers);
	struct flow_key key;
	struct attachment *a;
	struct heard *h;
	bool sound;

	if (unlikely(shm_log_low(route) >= SHM_GROUPS_MAX))
		return true;
	d->generation = read_word(&d->slot->generation);
	a = attachment_at(e, shm_log_low(route));
	if (unlikely(!a))
		a = alias_find(e, shm_log_low(route), d->generation);
	if (!a)
		return true; /* not for us */
	cpu_prefetch_write(&e->counters->delivered[a->first.counters]);
	key.dst = (uintptr_t)a;
	key.mgid = a->mgid;
	sound = read_header(e, s, d, shape, &key);
	if (unlikely(!rx_still_there(d)))
		return false;
	h = hear(e, s, a, d->generation, route);
	if (unlikely(!sound))
		engine_drop(e, DROP_BAD_HEADER, 1);
	else if (deliver_to_all(e, a, d, shm_log_low(numbers)) && h)
		run_begin(e, s, attachment_members(a), h, d,
			  &(struct run_words){ route, numbers, key.gids, shape });
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

static void deliver_unicast(struct engine *e, const struct rx_datagram *d, uint32_t end,
			    uint32_t dst_qpn)
{
	uint32_t device = e->tables->ports[shm_log_end_port(end)].device;
	struct engine_qp *qp = qp_find(e, device, dst_qpn);
	enum drop_reason reason;

	if (!qp) {
		engine_drop(e, DROP_NO_QP, 1);
		return;
	}
	if (unlikely(e->faults.rx.on)) {
		faults_receive(e, qp, NULL, d);
		return;
	}
	reason = deliver(qp, d);
	if (unlikely(reason != DROP_NONE))
		qp_drop(qp, reason);
}

/* As rx_multicast. */
static __attribute__((noinline)) bool rx_unicast(struct engine *e, struct sender *s,
						 struct rx_datagram *d, uint64_t shape)
{
	uint64_t route = read_word(&d->slot->route);
	uint32_t dst_qpn = shm_log_low(read_word(&d->slot->numbers));
	uint32_t end = shm_log_high(read_word(&d->slot->gids));
	uint64_t label = read_word(&d->slot->generation);
	struct flow_key key = { .dst = flow_unicast(end, label) };
	bool sound;

	if (shm_log_low(route) != e->slot)
		return true; /* not for us */
	sound = read_header(e, s, d, shape, &key);
	if (unlikely(!rx_still_there(d)))
		return false;
	hear_unicast(e, s, shm_log_high(route));
	if (sound)
		deliver_unicast(e, d, end, dst_qpn);
	else
		engine_drop(e, DROP_BAD_HEADER, 1);
	return true;
}

static bool rx_datagram(struct engine *e, struct sender *s,
			const struct shm_log_slot *slot, uint64_t position)
{
	uint64_t shape = read_word(&slot->shape);
	struct rx_datagram d = {
		.slot = slot,
		.position = position,
		.flags = (uint8_t)(shape >> SHM_LOG_FLAGS_SHIFT),
	};

	if (likely(!(d.flags & SHM_LOG_UNICAST)))
		return rx_multicast(e, s, &d, shape);
	return rx_unicast(e, s, &d, shape);
}

/* -- one log ------------------------------------------------------------------------- */

/*
 * The word at our position is above the one that publishes it. False: nothing new yet.
 * True: s->position was moved, or is to be looked at again.
 *
 * The head is read before the word is judged: if it lies behind us, the position was
 * published, so a busy mark that stands there now means that its payload is gone.
 */
static bool step_over(struct sender *s, const struct shm_log_slot *slot)
{
	const uint64_t p = s->position;
	uint64_t sequence, to = p + 1;

	s->known_head = atomic_load_explicit(&s->log->h.head, memory_order_acquire);
	sequence = atomic_load_explicit(&slot->sequence, memory_order_acquire);
	if (sequence == 2 * p)
		return true;
	/* Being written; or a word that its sender's own head denies, which silences that
	 * log and nothing else. */
	if (sequence < 2 * p || s->known_head <= p)
		return false;
	if (sequence > 2 * p + 1) {
		/* Lapped: to the oldest position left. A receiver that its sender waits for
		 * loses nothing by that. One that already lost is not waited for, and would
		 * be overtaken again at once: it gets half a log's start. */
		uint64_t back = s->losing ? SHM_LOG_SLOTS / 2 : SHM_LOG_SLOTS - 1;

		if (s->known_head > back && s->known_head - back > to)
			to = s->known_head - back;
	}
	s->overtaken += to - p;
	s->position = to;
	return true;
}

/*
 * Not published. Mostly the word of the lap before: then nothing came. A busy mark is
 * mostly a datagram in the making, so the head, whose line the sender writes with every
 * batch, is left alone for some looks, unless we know already that it lies behind us.
 */
static inline bool wait_or_step_over(struct sender *s, const struct shm_log_slot *slot,
				     uint64_t sequence)
{
	const uint64_t p = s->position;

	if (likely(sequence < 2 * p))
		return false;
	if (sequence == 2 * p + 1 && s->known_head <= p && ++s->busy_looks % BUSY_LOOKS)
		return false;
	return step_over(s, slot);
}

static inline bool sink_full(const struct engine_cq *sink)
{
	return sink && !sink->direct_left;
}

/* One datagram that is there. False: it was overwritten meanwhile. */
static inline bool rx_one(struct engine *e, struct sender *s,
			  const struct shm_log_slot *slot, uint64_t p)
{
	if (likely(run_holds(e, s, &s->run) && run_take(e, s, slot, p)))
		return true;
	run_end(&s->run);
	return rx_datagram(e, s, slot, p);
}

static unsigned int follow(struct engine *e, struct sender *s)
{
	const struct engine_cq *sink = e->rx.sink;
	unsigned int budget = sink ? BUDGET : BUDGET_HELPER;
	unsigned int n;

	for (n = 0; n < budget; n++) {
		const uint64_t p = s->position;
		const struct shm_log_slot *slot = &s->log->slots[(p - 1) % SHM_LOG_SLOTS];
		uint64_t sequence;

		/* Both lines of the slot at once: they come from another CPU. */
		__builtin_prefetch(slot->payload);
		sequence = atomic_load_explicit(&slot->sequence, memory_order_acquire);
		if (likely(sequence == 2 * p)) { /* R1 */
			if (unlikely(!rx_one(e, s, slot, p)))
				continue;
			s->position = p + 1;
			if (sink_full(sink)) {
				n++;
				break;
			}
		} else if (likely(!wait_or_step_over(s, slot, sequence))) {
			break;
		}
	}
	if (n) {
		run_count(&s->run);
		s->idle_looks = 0;
		/* Again: a peer may have written there, and its sender would never more
		 * believe the position. */
		atomic_store_explicit(&s->cursor->incarnation, s->incarnation,
				      memory_order_relaxed);
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

	if (faults_stir(e))
		faults_look_rx(e);
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
		if (sink_full(rx->sink))
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
	*ret_wanted = e->rx.errands;
	lock_drop(&e->rx_lock);
	engine_settle(e);
	return looked;
}

unsigned int engine_turn_and_map(struct engine *e)
{
	unsigned int looked;
	bool wanted;

	faults_run(e);
	looked = turn(e, &wanted);
	if (unlikely(wanted)) {
		senders_map_wanted(e);
		looked += turn(e, &wanted);
		/* A dead one's that was empty is done with: nobody else may come to say so. */
		if (wanted)
			senders_map_wanted(e);
	}
	return looked;
}

unsigned int engine_turn(struct engine *e)
{
	return engine_turn_and_map(e);
}
