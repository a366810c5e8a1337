/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults: what `verbcast fault` wants broken of this process's datagrams and completions.
 *
 * The rules are verbcastd's (shm/faults.h). Each side of the data path has a copy of those
 * of its direction, under its own lock, taken anew when their number in the tables moves.
 * Each queue pair has a count and a random sequence of its own for each rule, so what a
 * rule does to it follows from the datagrams of that queue pair and the rule's seed alone.
 *
 *   faults.c          rules, and what they strike
 *   faults_send.c     datagrams on their way out, under tx
 *   faults_receive.c  datagrams at the receiving queue pair, under rx
 *   faults_due.c      what is held, when its time has come: no lock. Whoever runs the
 *                     engine does it; the helper sleeps no longer than until then
 *   cq.c              completions that come late stand in their queue, and are not shown
 *
 * While there is neither a rule nor anything held, a post and a turn compare one word of
 * the tables with `quiet`, and that is all.
 */
#ifndef ENGINE_FAULTS_H
#define ENGINE_FAULTS_H

#include "engine/engine_priv.h"
#include "shm/faults.h"

struct tx_datagram;

/* Of each direction; beyond, a datagram is not held. */
#define FAULTS_HELD_MAX   1024u
/* A datagram that nothing overtakes goes on after so long. */
#define FAULTS_REORDER_MS 1000u
#define FAULTS_NEVER_NS   UINT64_MAX

/* A datagram that is held; first in what holds it. In fault_side.held, the first that is
 * due in front. */
struct held {
	struct list link;
	struct engine_qp *qp;
	uint64_t due_ns;
	uint32_t behind; /* REORDER: so many are to overtake it; 0: time alone counts */
};

/* Of one rule for one queue pair. */
struct fault_state {
	const struct shm_fault *rule;
	struct shm_fault_counters *counters;
	uint32_t id;
	uint64_t seen; /* datagrams, or completions, that matched */
	struct random random;
};

/* faults.c, under the side's lock. */

/* Have the rules as they are now. */
void faults_look(struct engine *e, struct fault_side *side);
/* What the datagram is to suffer; null: nothing. A PSN that is unknown matches none. */
#define FAULT_PSN_UNKNOWN UINT32_MAX
struct fault_state *faults_strike(struct engine_qp *qp, struct fault_side *side,
				  uint32_t opcode, uint32_t psn);
static inline void fault_applied(struct fault_state *s)
{
	count_add(&s->counters->applied, 1);
}
static inline void fault_skipped(struct fault_state *s)
{
	count_add(&s->counters->skipped, 1);
}
/* A bit of `payload` turns over. */
void fault_corrupt(struct fault_state *s, uint8_t *payload, uint32_t bytes);
static inline uint32_t fault_opcode(bool with_imm)
{
	return with_imm ? 0x65 : 0x64; /* UD SEND only, with immediate data or without */
}

/* False: as many are held as may be. Who it is for says `h->qp`. */
bool faults_hold(struct engine *e, struct fault_side *side, struct fault_state *s,
		 struct held *h);
/* Take it out; the caller's from then on. */
void faults_let_go(struct engine *e, struct fault_side *side, struct held *h);
/* Move what the queue pair's next datagram overtakes, and need wait no more, to `ready`. */
void faults_overtake(struct engine *e, struct fault_side *side, struct engine_qp *qp,
		     struct list *ready);
/* The same of what is due. Returns when the next one is. */
uint64_t faults_due(struct engine *e, struct fault_side *side, uint64_t now_ns,
		    struct list *ready);
static inline struct held *held_first(struct list *l)
{
	return list_empty(l) ? NULL : container_of(l->next, struct held, link);
}

/* faults_send.c: write the ready ones. Under tx, dropped at the gate. */
void faults_write_unlocked(struct engine *e, struct list *ready);
/* faults_receive.c: deliver them. Under rx. */
void faults_deliver(struct engine *e, struct list *ready);

#endif
