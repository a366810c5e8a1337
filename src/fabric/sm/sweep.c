/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sweeps (spec/sa-sm 2.7, 3.4). A heavy one discovers everything and sets what differs from
 * what it should be; a light one only asks whether something has changed. A phase ends when
 * it has nothing more to ask and all is answered. What stays unanswered is left out, and
 * the sweep repeated, later each time.
 */
#include "fabric/sm/sm_priv.h"

#include <errno.h>

#include "base/log.h"

#define BACKOFF_NS     (100 * TIMER_MS)
#define BACKOFF_SHIFTS 7u
#define AGAIN_NS       (1 * TIMER_MS)
/* Silent nodes after which the subnet cannot be what it was at the beginning, and sweeps
 * that end for this in a row before one is gone through with. */
#define TIMEOUTS_MAX   8u
#define ABORTED_MAX    3u

static const struct sm_phase *const heavy_phases[] = {
	&sm_phase_renew,
	&sm_phase_discover,
	&sm_phase_elect,
	&sm_phase_commit,
	&sm_phase_lids,
	&sm_phase_address,
	&sm_phase_pkeys,
	&sm_phase_enforce,
	&sm_phase_graph,
	&sm_phase_routes,
	&sm_phase_linear,
	&sm_phase_switch_info,
	&sm_phase_mcast,
	&sm_phase_arm,
	&sm_phase_activate,
	&sm_phase_announce,
	NULL,
};
#define SETTING_UP 4u /* the first phase that relies on what was found */
static const struct sm_phase *const light_phases[] = { &sm_phase_light, NULL };

static void start(struct sm *sm, enum sm_sweep_kind kind)
{
	struct sm_sweep *s = &sm->sweep;

	timer_disarm(&s->next);
	s->kind = kind;
	s->phase = kind == SM_SWEEP_HEAVY ? heavy_phases : light_phases;
	s->begun = false;
	s->failed = s->changed = false;
	s->timeouts = 0;
	s->began_ns = sm->config.timers->now_ns;
	if (kind == SM_SWEEP_HEAVY) {
		s->wanted = false;
		s->began_retries = sm->counters.smp_retries;
	}
	sm_sweep_go(sm);
}

void sm_sweep_stop(struct sm *sm, uint64_t next_ns)
{
	struct sm_sweep *s = &sm->sweep;

	s->kind = SM_SWEEP_NONE;
	timer_disarm(&s->later);
	timer_disarm(&s->next);
	sm_smp_drop(sm, SM_KIND_SWEEP);
	if (next_ns != UINT64_MAX)
		timer_arm(&s->next, next_ns);
}

static uint64_t backoff(const struct sm *sm)
{
	unsigned int n = sm->sweep.failures ? sm->sweep.failures - 1 : 0;
	uint64_t delay = BACKOFF_NS << (n < BACKOFF_SHIFTS ? n : BACKOFF_SHIFTS);

	return delay < sm->config.light_sweep_ns ? delay : sm->config.light_sweep_ns;
}

static void finish_heavy(struct sm *sm)
{
	struct sm_sweep *s = &sm->sweep;
	uint64_t next = sm->config.light_sweep_ns;

	sm->counters.sweeps++;
	sm->counters.last_sweep_ns = sm->config.timers->now_ns - s->began_ns;
	sm->up = !s->failed;
	if (sm->up)
		sm->inherited_lid = 0;
	s->aborted = 0;
	s->failures = s->failed ? s->failures + 1 : 0;
	if (sm->counters.smp_retries == s->began_retries)
		s->lossy = false;
	if (s->wanted) {
		next = AGAIN_NS;
	} else if (s->failed) {
		s->wanted = true;
		next = backoff(sm);
	}
	log_debug("sm: sweep over, %u nodes, %s", sm->subnet.node_count,
		  sm->up ? "all up" : "not all up");
	sm_sweep_stop(sm, next);
}

static void finish_light(struct sm *sm)
{
	if (sm->sweep.changed)
		sm->sweep.wanted = true;
	sm_sweep_stop(sm, sm->sweep.wanted ? 0 : sm->config.light_sweep_ns);
	sm_election_look(sm);
}

static void finish(struct sm *sm)
{
	if (sm->sweep.kind == SM_SWEEP_HEAVY)
		finish_heavy(sm);
	else
		finish_light(sm);
}

static void end_phase(struct sm *sm)
{
	struct sm_sweep *s = &sm->sweep;
	const struct sm_phase *phase = *s->phase;

	s->phase++;
	s->begun = false;
	if (phase->end)
		phase->end(sm);
}

static void begin_phase(struct sm *sm)
{
	struct sm_sweep *s = &sm->sweep;

	s->begun = true;
	s->cursor = s->cursor2 = 0;
	if ((*s->phase)->begin)
		(*s->phase)->begin(sm);
}

/* True: go on at once. */
static bool step(struct sm *sm)
{
	struct sm_sweep *s = &sm->sweep;

	if (!*s->phase) {
		finish(sm);
		return false;
	}
	if (!s->begun) {
		begin_phase(sm);
		return true;
	}
	if (!sm_smp_room(sm, SM_KIND_SWEEP))
		return false;
	switch ((*s->phase)->next(sm)) {
	case SM_STEP_SENT:
		return true;
	case SM_STEP_WORKED:
		timer_arm(&s->later, 0);
		return false;
	case SM_STEP_WAIT:
		return false;
	case SM_STEP_DONE:
		break;
	}
	if (sm->outstanding[SM_KIND_SWEEP] || s->kind == SM_SWEEP_NONE)
		return false;
	end_phase(sm);
	return true;
}

void sm_sweep_go(struct sm *sm)
{
	while (sm->sweep.kind != SM_SWEEP_NONE && step(sm))
		;
}

static void later(struct timer *timer)
{
	sm_sweep_go(container_of(timer, struct sm, sweep.later));
}

static void next_due(struct timer *timer)
{
	struct sm *sm = container_of(timer, struct sm, sweep.next);

	if (sm->state != SM_MASTER && sm->state != SM_DISCOVERING)
		return;
	if (sm->sweep.kind == SM_SWEEP_LIGHT)
		sm_sweep_stop(sm, UINT64_MAX);
	if (sm->sweep.wanted || sm->state == SM_DISCOVERING)
		start(sm, SM_SWEEP_HEAVY);
	else
		start(sm, SM_SWEEP_LIGHT);
}

void sm_sweep_want(struct sm *sm, uint64_t delay_ns)
{
	struct sm_sweep *s = &sm->sweep;

	if (s->kind != SM_SWEEP_HEAVY &&
	    (!s->wanted || !s->next.armed ||
	     s->next.when_ns > sm->config.timers->now_ns + delay_ns))
		timer_arm(&s->next, delay_ns);
	s->wanted = true;
}

void sm_sweep_look(struct sm *sm, uint64_t delay_ns)
{
	struct sm_sweep *s = &sm->sweep;

	if (s->kind == SM_SWEEP_NONE && !s->wanted &&
	    (!s->next.armed || s->next.when_ns > sm->config.timers->now_ns + delay_ns))
		timer_arm(&s->next, delay_ns);
}

static bool is_setting_up(const struct sm *sm)
{
	return sm->sweep.kind == SM_SWEEP_HEAVY &&
	       sm->sweep.phase >= &heavy_phases[SETTING_UP];
}

/* Many nodes have gone silent since they were discovered, or one, and a switch says that
 * something has changed: begin anew instead of waiting for all that is not there. */
static void maybe_abort(struct sm *sm)
{
	struct sm_sweep *s = &sm->sweep;

	if (!is_setting_up(sm) || s->aborted >= ABORTED_MAX ||
	    (!s->wanted && s->timeouts < TIMEOUTS_MAX))
		return;
	log_debug("sm: sweep given up, the subnet has changed");
	s->aborted++;
	s->failures++;
	s->wanted = true;
	sm->up = false;
	sm_sweep_stop(sm, AGAIN_NS);
}

bool sm_sweep_failed(struct sm *sm, struct sm_smp *smp, int error)
{
	if (!error)
		return false;
	sm->sweep.failed = true;
	if (error == -ETIMEDOUT) {
		if (smp->to && !smp->beyond)
			sm_node_of(smp->to->node)->failed = true;
		sm->sweep.timeouts++;
		maybe_abort(sm);
	}
	return true;
}

struct sm_smp *sm_sweep_ask(struct sm *sm, struct subnet_port *to, uint8_t method,
			    uint16_t attr, uint32_t mod, sm_smp_fn done)
{
	struct sm_smp *smp;

	if (to && sm_node_of(to->node)->failed)
		return NULL;
	smp = sm_smp_new(sm, SM_KIND_SWEEP, to, method, attr, mod, done);
	if (!smp)
		sm->sweep.failed = true;
	return smp;
}

void sm_sweep_init(struct sm *sm)
{
	timer_init(&sm->sweep.next, sm->config.timers, next_due);
	timer_init(&sm->sweep.later, sm->config.timers, later);
}

void sm_sweep_fini(struct sm *sm)
{
	timer_disarm(&sm->sweep.next);
	timer_disarm(&sm->sweep.later);
}

/* -- the light sweep ------------------------------------------------------------------- */

static void light_switch(struct sm *sm, struct sm_smp *smp, int error,
			 const uint8_t *data)
{
	struct smp_switch_info info;

	if (!error)
		smp_switch_info_get(data, &info);
	if (error || info.state_change)
		sm->sweep.changed = true;
}

/* Nobody sends a trap for the port of the SM itself. Nor does one tell of another master,
 * who has all traps sent to him: but his LID is in our port then, instead of ours, and if it
 * is the same the port has another one of his choice. */
static void light_own(struct sm *sm, struct sm_smp *smp, int error, const uint8_t *data)
{
	uint16_t lid = subnet_port_lid(smp->to);
	struct smp_port_info info;

	if (!error)
		smp_port_info_get(data, &info);
	if (error || info.state != SMP_PORT_ACTIVE || info.lid != lid ||
	    info.sm_lid != lid)
		sm->sweep.changed = true;
}

static enum sm_step light_next(struct sm *sm)
{
	uint32_t i = sm->sweep.cursor++;
	struct subnet_port *to = sm->own;
	struct sm_smp *smp;

	if (i > sm->switch_count)
		return SM_STEP_DONE;
	if (i)
		to = &sm->switches[i - 1]->node->ports[0];
	else if (!to)
		return SM_STEP_SENT;
	smp = sm_smp_new(sm, SM_KIND_SWEEP, to, MAD_METHOD_GET,
			 i ? SMP_SWITCH_INFO : SMP_PORT_INFO, i ? 0 : to->num,
			 i ? light_switch : light_own);
	if (smp)
		sm_smp_queue(smp);
	return SM_STEP_SENT;
}

const struct sm_phase sm_phase_light = { .name = "light", .next = light_next };
