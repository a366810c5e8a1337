// SPDX-License-Identifier: BSD-2-Clause
/*
 * What each host was told by the SA: seen from the MADs on their way, so neither side is
 * asked. A request that is out makes its bits uncertain; an answer that is heard settles
 * all bits of its group; one that nobody heard leaves them as they may be.
 */
#include "sim.h"

struct sim_pair *sim_pair(struct sim_host *host, const union ib_gid *mgid)
{
	struct sim_pair *pair;

	list_for_each(l, &host->pairs) {
		pair = container_of(l, struct sim_pair, link);
		if (gid_equal(pair->mgid.raw, mgid->raw))
			return pair;
	}
	pair = calloc(1, sizeof(*pair));
	assert_non_null(pair);
	pair->mgid = *mgid;
	list_append(&host->pairs, &pair->link);
	return pair;
}

void sim_pairs_free(struct sim_host *host)
{
	list_for_each_safe(l, &host->pairs)
		free(container_of(l, struct sim_pair, link));
	list_init(&host->pairs);
}

/* What the SA may hold that was not left. Answers that are held back on demand overtake
 * each other, and do not say then how it stands. */
static uint8_t may_be_held(const struct sim_pair *pair)
{
	uint8_t bits = pair->held;

	for (unsigned int i = 0; i < SIM_OPEN_MAX; i++)
		if (pair->open[i].tid)
			bits |= pair->open[i].bits;
	return sim.profile.faults ? 0xf : bits;
}

void sim_ledger_struck(struct sim_host *host, bool sa_too)
{
	list_for_each(l, &host->pairs) {
		struct sim_pair *pair = container_of(l, struct sim_pair, link);

		if (!sa_too)
			pair->ghost |= may_be_held(pair);
		pair->struck = pair->live_tid;
	}
}

void sim_ledger_port_out(struct sim_host *host)
{
	sim_model_port_out(host);
	list_for_each(l, &host->pairs) {
		struct sim_pair *pair = container_of(l, struct sim_pair, link);

		if (!pair->live_tid)
			pair->ghost = 0;
	}
}

void sim_ledger_host_stopped(struct sim_host *host)
{
	sim_ledger_struck(host, false);
	list_for_each(l, &host->pairs) {
		struct sim_pair *pair = container_of(l, struct sim_pair, link);

		pair->live_tid = 0;
		pair->struck = false;
	}
}

void sim_ledger_sa_is_silent(void)
{
	sim_model_silent();
	for (unsigned int n = 0; n < sim.host_count; n++) {
		list_for_each(l, &sim.hosts[n].pairs) {
			struct sim_pair *pair = container_of(l, struct sim_pair, link);

			if (gid_is_zero(pair->mgid.raw))
				sim.hosts[n].has_nameless = true;
		}
	}
}

void sim_ledger_sa_is_new(void)
{
	sim_model_forget();
	for (unsigned int n = 0; n < sim.host_count; n++) {
		list_for_each(l, &sim.hosts[n].pairs) {
			struct sim_pair *pair = container_of(l, struct sim_pair, link);

			if (!pair->live_tid)
				pair->ghost = 0;
		}
	}
}

/* -- MADs ------------------------------------------------------------------------------- */

struct change {
	struct mad_header header;
	struct sa_mcmember rec;
};

/* A Set or Delete of a membership, or an answer to one. */
static bool look(const uint8_t *mad, struct change *ret)
{
	mad_header_get(mad, &ret->header);
	if (ret->header.mgmt_class != MAD_CLASS_SUBN_ADM ||
	    ret->header.attr_id != SA_MCMEMBER_RECORD)
		return false;
	sa_mcmember_get(mad + SA_DATA, &ret->rec);
	return true;
}

/* The pair under which the request runs; null: none does. */
static struct sim_pair *pair_of_request(struct sim_host *host, uint64_t tid)
{
	list_for_each(l, &host->pairs) {
		struct sim_pair *pair = container_of(l, struct sim_pair, link);

		if (pair->live_tid == tid)
			return pair;
	}
	return NULL;
}

/* Groups that have no name yet may be asked for at the same time. */
static struct sim_pair *pair_to_ask(struct sim_host *host, const struct change *c)
{
	struct sim_pair *pair = pair_of_request(host, c->header.tid);

	if (pair)
		return pair;
	if (!gid_is_zero(c->rec.mgid.raw))
		return sim_pair(host, &c->rec.mgid);
	pair = calloc(1, sizeof(*pair));
	assert_non_null(pair);
	list_append(&host->pairs, &pair->link);
	return pair;
}

void sim_ledger_asked(struct sim_host *host, const uint8_t *mad)
{
	struct sim_pair *pair;
	struct change c;

	/* A host also refuses what others ask it by mistake. */
	if (!look(mad, &c) || c.header.method & MAD_METHOD_RESPONSE)
		return;
	pair = pair_to_ask(host, &c);
	if (pair->live_tid != c.header.tid)
		sim_trace("host %u asks to %s %s, states %x", host->number,
			  c.header.method == MAD_METHOD_SET ? "join" : "leave",
			  sim_mgid(&c.rec.mgid), c.rec.join_state);
	pair->ghost |= c.rec.join_state;
	if (pair->live_tid != c.header.tid)
		pair->struck = false;
	pair->live_tid = c.header.tid;
}

/* What the request that arrived last changed, should the SA not look at it. */
static struct {
	struct sim_pair *pair;
	struct sim_pair before;
} drop;

void sim_ledger_dropped(void)
{
	if (!drop.pair)
		return;
	drop.pair->last_arrived = drop.before.last_arrived;
	drop.pair->ghost = drop.before.ghost;
	drop.pair->missing = drop.before.missing;
	memcpy(drop.pair->open, drop.before.open, sizeof(drop.before.open));
}

/* -- MGIDs of the SA's choice -------------------------------------------------------------- */

static struct sim_choice *choice_of(struct sim_host *host, uint64_t tid)
{
	for (unsigned int i = 0; i < SIM_CHOICES; i++)
		if (host->choices[i].tid == tid)
			return &host->choices[i];
	return NULL;
}

void sim_ledger_choices_are_over(void)
{
	for (unsigned int n = 0; n < sim.host_count; n++)
		memset(sim.hosts[n].choices, 0, sizeof(sim.hosts[n].choices));
}

static void note_choice_asked(struct sim_host *host, uint64_t tid)
{
	if (choice_of(host, tid))
		return;
	host->choices[host->next_choice++ % SIM_CHOICES] =
		(struct sim_choice){ .tid = tid };
}

struct holding {
	const struct sim_host *host;
	const union ib_gid *mgid;
	bool is_held;
};

static void look_for_holding(void *arg, const struct sa_group_view *group,
			     const struct sa_member_view *member)
{
	struct holding *h = arg;

	h->is_held |= gid_equal(group->rec.mgid.raw, h->mgid->raw) &&
		      sim_host_by_gid(&member->port_gid) == h->host;
}

/* The group that was made at first may have gone since; else it is still the answer. */
static void note_choice(struct sim_host *host, const struct change *c,
			const struct sa_server *by)
{
	struct sim_choice *choice = choice_of(host, c->header.tid);
	struct holding h = { .host = host };

	if (!choice || c->header.method != MAD_METHOD_GET_RESP)
		return;
	h.mgid = &choice->mgid;
	if (choice->by == by && !gid_equal(choice->mgid.raw, c->rec.mgid.raw)) {
		sa_server_each_group(by, NULL, look_for_holding, &h);
		sim_check(!h.is_held, "host %u: one request made both %s and %s",
			  host->number, sim_mgid(&choice->mgid), sim_mgid(&c->rec.mgid));
	}
	sim.repeated_choices +=
		choice->by == by && gid_equal(choice->mgid.raw, c->rec.mgid.raw);
	choice->by = by;
	choice->mgid = c->rec.mgid;
}

/* -- at the SA ----------------------------------------------------------------------------- */

void sim_ledger_arrived(const uint8_t *mad)
{
	struct sim_host *host;
	struct sim_pair *pair;
	struct change c;

	drop.pair = NULL;
	if (!look(mad, &c))
		return;
	host = sim_host_by_gid(&c.rec.port_gid);
	if (!host)
		return;
	if (gid_is_zero(c.rec.mgid.raw)) {
		note_choice_asked(host, c.header.tid);
		return;
	}
	pair = sim_pair(host, &c.rec.mgid);
	drop.pair = pair;
	drop.before = *pair;
	sim_model_arrived(pair, c.header.tid, c.header.method == MAD_METHOD_DELETE,
			  c.rec.join_state);
	if (pair->last_arrived != c.header.tid)
		pair->arrived_before = pair->last_arrived;
	pair->last_arrived = c.header.tid;
	if (pair->live_tid == c.header.tid)
		return;
	/* A copy of what has been answered, or given up. */
	sim_trace("a late copy from host %u: %s, states %x", host->number,
		  sim_mgid(&c.rec.mgid), c.rec.join_state);
	if (c.header.method == MAD_METHOD_SET)
		pair->ghost |= c.rec.join_state;
	else
		pair->missing |= c.rec.join_state;
}

/* Until it is heard. The group may have a name by now that was not asked for. */
static void note_answer(struct sim_pair *pair, const struct change *c,
			const struct sim_pair *asked)
{
	if (asked && gid_is_zero(asked->mgid.raw))
		pair->last_arrived = c->header.tid;
	if (c->header.method == MAD_METHOD_GET_RESP)
		pair->ghost |= c->rec.join_state;
	else if (!asked)
		pair->missing |= 0xf & (uint8_t)~c->rec.join_state;
}

/*
 * Changed nothing: an answer to an earlier copy, which is still to be heard, tells how it
 * stood before what came between the two.
 */
static void note_refusal(struct sim_pair *pair, uint64_t tid)
{
	if (pair->last_arrived == tid)
		pair->last_arrived = pair->arrived_before;
}

void sim_ledger_answered(const uint8_t *mad, const struct sa_server *by)
{
	struct sim_host *host;
	struct change c;

	if (!look(mad, &c))
		return;
	host = sim_host_by_gid(&c.rec.port_gid);
	sim_trace("the SA answers host %d: %s, MLID %x, states %x, status %#x",
		  host ? (int)host->number : -1, sim_mgid(&c.rec.mgid), c.rec.mlid,
		  c.rec.join_state, c.header.status);
	if (!host)
		return;
	sim_model_answered(sim_pair(host, &c.rec.mgid), &c.header, &c.rec);
	if (c.header.status) {
		note_refusal(sim_pair(host, &c.rec.mgid), c.header.tid);
		return;
	}
	note_choice(host, &c, by);
	note_answer(sim_pair(host, &c.rec.mgid), &c, pair_of_request(host, c.header.tid));
}

static bool others_are_at_work(const struct sim_pair *pair, uint64_t tid)
{
	for (unsigned int i = 0; i < SIM_OPEN_MAX; i++)
		if (pair->open[i].tid && pair->open[i].tid != tid)
			return true;
	return false;
}

/*
 * Answers may be late, out of order, and not those to the last copy: what was asked last,
 * and tells how it still stands, is how it is.
 */
static void settle(struct sim_pair *pair, const struct change *c, bool struck)
{
	if (c->header.method == MAD_METHOD_GET_RESP)
		pair->lapsed =
			(pair->lapsed | pair->missing) & (uint8_t)~c->rec.join_state;
	if (pair->last_arrived != c->header.tid || pair->held != c->rec.join_state ||
	    others_are_at_work(pair, c->header.tid))
		return;
	if (c->header.method == MAD_METHOD_DELETE_RESP) {
		pair->ghost &= c->rec.join_state;
		return;
	}
	pair->ghost = struck ? c->rec.join_state : 0;
	pair->missing = 0;
}

/* What the answer changed, should nobody have waited for it. */
static struct {
	struct sim_pair *asked, *named;
	struct sim_pair asked_before, named_before;
} undo;

void sim_ledger_heard(struct sim_host *host, const uint8_t *mad)
{
	struct change c;

	undo.asked = undo.named = NULL;
	/* Requests come to a host whose SM has died. */
	if (!look(mad, &c) || !(c.header.method & MAD_METHOD_RESPONSE))
		return;
	undo.asked = pair_of_request(host, c.header.tid);
	sim_trace("host %u hears %llx%s", host->number, (unsigned long long)c.header.tid,
		  undo.asked ? "" : ", unasked");
	undo.named = sim_pair(host, &c.rec.mgid);
	undo.named_before = *undo.named;
	if (undo.asked)
		undo.asked_before = *undo.asked;
	if (!c.header.status)
		settle(undo.named, &c, undo.asked && undo.asked->struck);
	if (undo.asked) {
		undo.asked->live_tid = 0;
		undo.asked->struck = false;
	}
}

void sim_ledger_unheard(void)
{
	if (undo.named) {
		undo.named->ghost = undo.named_before.ghost;
		undo.named->missing = undo.named_before.missing;
		undo.named->lapsed = undo.named_before.lapsed;
	}
	if (undo.asked) {
		undo.asked->live_tid = undo.asked_before.live_tid;
		undo.asked->struck = undo.asked_before.struck;
	}
}
