// SPDX-License-Identifier: BSD-2-Clause
/*
 * Rules: the copies that the two sides have of them, whom and what they match, and when
 * they strike. Every rule counts all that matches it, whatever others do to it; of those
 * that strike, the one that was there first is carried out.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "engine/faults.h"

#define MS 1000000ull

/* -- the copy ------------------------------------------------------------------------ */

static void side_init(struct fault_side *side, enum shm_fault_direction direction)
{
	side->direction = (uint32_t)direction;
	list_init(&side->held);
}

void faults_init(struct engine *e)
{
	struct faults *f = &e->faults;

	side_init(&f->tx, SHM_FAULT_SEND);
	side_init(&f->rx, SHM_FAULT_RECEIVE);
	lock_init(&f->lock, LOCK_FAULTS);
	list_init(&f->stalled);
	atomic_init(&f->next_ns, FAULTS_NEVER_NS);
}

static void side_fini(struct fault_side *side)
{
	list_for_each_safe(pos, &side->held)
		free(container_of(pos, struct held, link));
	free(side->rules);
}

void faults_fini(struct engine *e)
{
	side_fini(&e->faults.tx);
	side_fini(&e->faults.rx);
}

void faults_qp_fini(struct engine_qp *qp)
{
	free(qp->faults_tx.states);
	free(qp->faults_rx.states);
}

static struct shm_fault_counters *counters_of(struct engine *e, uint32_t place)
{
	return &e->counters->faults[place];
}

/* A place that another rule had before. */
static void counters_begin(struct shm_fault_counters *c, uint32_t id)
{
	if (atomic_load_explicit(&c->rule, memory_order_relaxed) == id)
		return;
	atomic_store_explicit(&c->rule, 0, memory_order_relaxed);
	atomic_store_explicit(&c->matched, 0, memory_order_relaxed);
	atomic_store_explicit(&c->applied, 0, memory_order_relaxed);
	atomic_store_explicit(&c->skipped, 0, memory_order_relaxed);
	atomic_store_explicit(&c->rule, id, memory_order_release);
}

static bool is_mine(const struct engine *e, const struct fault_side *side,
		    const struct shm_fault *rule)
{
	return rule->id && rule->direction == side->direction &&
	       (rule->node == SHM_NONE || rule->node == e->tables->slots[e->slot].node);
}

/* In their places; those of others are empty here. */
static void keep_mine(struct engine *e, struct fault_side *side)
{
	side->on = side->completions = false;
	for (uint32_t i = 0; i < SHM_FAULTS_MAX; i++) {
		struct shm_fault *rule = &side->rules[i];

		if (!is_mine(e, side, rule)) {
			rule->id = 0;
			continue;
		}
		counters_begin(counters_of(e, i), rule->id);
		side->on = true;
		side->completions |= rule->kind == SHM_FAULT_COMPLETION;
	}
}

void faults_look(struct engine *e, struct fault_side *side)
{
	uint32_t now = atomic_load_explicit(&e->tables->h.faults, memory_order_acquire);
	struct shm_fault *rules;

	if (now == side->generation)
		return;
	rules = malloc(SHM_FAULTS_MAX * sizeof(*rules));
	if (!rules || !shm_faults_read(e->tables, rules, &now)) {
		free(rules); /* the next look, then */
		return;
	}
	free(side->rules);
	side->rules = rules;
	side->generation = now;
	side->looks++;
	keep_mine(e, side);
}

/* -- whose they are ------------------------------------------------------------------ */

static bool is_about(const struct shm_fault *rule, const struct engine_qp *qp)
{
	return rule->id &&
	       (rule->device == SHM_NONE || rule->device == qp->config.device) &&
	       (!rule->link_layer || rule->link_layer == qp->port->link_layer) &&
	       (!(rule->match & SHM_FAULT_MATCH_QP) || rule->qpn == qp->config.qpn);
}

/* Node and place among the process's queue pairs are the same when the program runs again;
 * numbers are not. */
static void state_begin(struct fault_state *s, const struct engine_qp *qp)
{
	const struct engine *e = qp->engine;
	uint64_t who = (uint64_t)e->tables->slots[e->slot].node << 32 | qp->ordinal;

	s->seen = 0;
	random_seed(&s->random, s->rule->seed + (who + 1) * 0xd6e8feb86659fd93ull);
}

static const struct fault_state *state_of(const struct qp_faults *f, uint32_t id)
{
	for (uint32_t i = 0; i < f->count; i++)
		if (f->states[i].id == id)
			return &f->states[i];
	return NULL;
}

static void state_make(struct fault_state *s, const struct engine_qp *qp,
		       const struct qp_faults *before, const struct shm_fault *rule,
		       struct shm_fault_counters *counters)
{
	const struct fault_state *same = state_of(before, rule->id);

	if (same)
		*s = *same;
	s->rule = rule;
	s->counters = counters;
	s->id = rule->id;
	if (!same)
		state_begin(s, qp);
}

static int states_make(struct engine_qp *qp, const struct fault_side *side,
		       struct qp_faults *f)
{
	struct qp_faults next = { .looks = side->looks };

	for (uint32_t i = 0; i < SHM_FAULTS_MAX; i++)
		next.count += is_about(&side->rules[i], qp);
	next.states = calloc(next.count + 1, sizeof(*next.states));
	if (!next.states)
		return -ENOMEM;
	next.count = 0;
	for (uint32_t i = 0; i < SHM_FAULTS_MAX; i++)
		if (is_about(&side->rules[i], qp))
			state_make(&next.states[next.count++], qp, f, &side->rules[i],
				   counters_of(qp->engine, i));
	free(f->states);
	*f = next;
	return 0;
}

/* Null: there are none, or no memory for them. */
static struct qp_faults *states_of(struct engine_qp *qp, const struct fault_side *side)
{
	struct qp_faults *f =
		side->direction == SHM_FAULT_SEND ? &qp->faults_tx : &qp->faults_rx;

	if (!side->on)
		return NULL;
	if (f->looks != side->looks && states_make(qp, side, f) < 0)
		return NULL;
	return f->count ? f : NULL;
}

/* -- when they strike ---------------------------------------------------------------- */

static bool matches(const struct shm_fault *rule, uint32_t opcode, uint32_t psn)
{
	if (rule->match & SHM_FAULT_MATCH_OPCODE && rule->opcode != opcode)
		return false;
	if (!(rule->match & SHM_FAULT_MATCH_PSN))
		return true;
	return psn != FAULT_PSN_UNKNOWN &&
	       ((psn - rule->psn) & 0xffffff) <=
		       ((rule->psn_last - rule->psn) & 0xffffff);
}

static bool strikes(struct fault_state *s)
{
	s->seen++;
	count_add(&s->counters->matched, 1);
	if (s->rule->rate)
		return random_chance(&s->random, s->rule->rate);
	return s->seen >= s->rule->first && s->seen <= s->rule->last;
}

/* The oldest rule has the lowest id. */
static struct fault_state *older(struct fault_state *a, struct fault_state *b)
{
	return !a || b->id < a->id ? b : a;
}

struct fault_state *faults_strike(struct engine_qp *qp, struct fault_side *side,
				  uint32_t opcode, uint32_t psn)
{
	struct qp_faults *f = states_of(qp, side);
	struct fault_state *chosen = NULL;

	for (uint32_t i = 0; f && i < f->count; i++) {
		struct fault_state *s = &f->states[i];

		if (s->rule->kind != SHM_FAULT_COMPLETION &&
		    matches(s->rule, opcode, psn) && strikes(s))
			chosen = older(chosen, s);
	}
	return chosen;
}

uint32_t faults_completion_ms(struct engine_qp *qp, struct fault_side *side,
			      uint32_t opcode)
{
	struct qp_faults *f = states_of(qp, side);
	struct fault_state *chosen = NULL;

	for (uint32_t i = 0; f && i < f->count; i++) {
		struct fault_state *s = &f->states[i];

		if (s->rule->kind == SHM_FAULT_COMPLETION &&
		    matches(s->rule, opcode, s->rule->psn) && strikes(s))
			chosen = older(chosen, s);
	}
	if (!chosen)
		return 0;
	fault_applied(chosen);
	return chosen->rule->by < SHM_FAULT_MS_MAX ? chosen->rule->by : SHM_FAULT_MS_MAX;
}

void fault_corrupt(struct fault_state *s, uint8_t *payload, uint32_t bytes)
{
	uint64_t bit = random_below(&s->random, 8ull * bytes);

	payload[bit / 8] ^= (uint8_t)(1u << (bit % 8));
}

/* -- what is held -------------------------------------------------------------------- */

static void held_insert(struct list *list, struct held *h)
{
	struct list *before = list->prev;

	while (before != list &&
	       container_of(before, struct held, link)->due_ns > h->due_ns)
		before = before->prev;
	list_insert_before(&h->link, before->next);
}

bool faults_hold(struct engine *e, struct fault_side *side, struct fault_state *s,
		 struct held *h)
{
	const struct shm_fault *rule = s->rule;
	bool reorder = rule->kind == SHM_FAULT_REORDER;
	uint32_t ms = reorder ? FAULTS_REORDER_MS : rule->by;

	if (side->held_count == FAULTS_HELD_MAX)
		return false;
	if (ms > SHM_FAULT_MS_MAX)
		ms = SHM_FAULT_MS_MAX;
	h->behind = reorder ? rule->by : 0;
	h->due_ns = clock_now_ns() + ms * MS;
	held_insert(&side->held, h);
	side->held_count++;
	faults_pend(e, h->due_ns);
	return true;
}

void faults_let_go(struct engine *e, struct fault_side *side, struct held *h)
{
	list_remove(&h->link);
	side->held_count--;
	faults_settle(e);
}

static void make_ready(struct engine *e, struct fault_side *side, struct held *h,
		       struct list *ready)
{
	faults_let_go(e, side, h);
	list_append(ready, &h->link);
}

void faults_overtake(struct engine *e, struct fault_side *side, struct engine_qp *qp,
		     struct list *ready)
{
	list_for_each_safe(pos, &side->held) {
		struct held *h = container_of(pos, struct held, link);

		if (h->qp == qp && h->behind && !--h->behind)
			make_ready(e, side, h, ready);
	}
}

uint64_t faults_due(struct engine *e, struct fault_side *side, uint64_t now_ns,
		    struct list *ready)
{
	struct held *h;

	while ((h = held_first(&side->held)) && h->due_ns <= now_ns)
		make_ready(e, side, h, ready);
	return h ? h->due_ns : FAULTS_NEVER_NS;
}
