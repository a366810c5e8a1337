// SPDX-License-Identifier: BSD-2-Clause
/*
 * Pacing: polite, then ruthless (spec/dataplane 5, and its traps 1 to 4).
 *
 * The writer looks at the cursors of its receivers only when it reaches its gate, three
 * quarters of a lap from the slowest of them, in slots or in bytes. There it kicks those
 * that have not moved since it last looked. When the log is full it waits: for a receiver
 * that does not move GRACE_NS, and then on while the kernel says that it would run if it
 * had a CPU, LIMIT_NS at most; after that the receiver is lagging, and is not waited for
 * until it has caught up, each time a little later, nor as long.
 *
 * The gate is also where the log's memory is had, step by step, while it is used for the
 * first time.
 *
 * Only receivers count that have something to lose: a datagram for them, not yet read.
 *
 * G2  the cursor, loaded with acquire, pairs with G1 (rx.c). It is advice: whatever it
 *     says, followers check what they copied.
 */
#include <sched.h>
#include <time.h>

#include "base/clock.h"
#include "base/process_state.h"
#include "engine/log_writer.h"

#define GATE_SLOTS   (SHM_LOG_SLOTS / 4 * 3)
#define GATE_BYTES   (SHM_LOG_PAYLOAD / 4 * 3)
#define STEP_SLOTS   (SHM_LOG_SLOTS / 16) /* between looks past the gate */
#define STEP_BYTES   (SHM_LOG_PAYLOAD / 16)
#define GRACE_NS     10000000u   /* of time that we ran or slept by our own wish */
#define BUSY_NS      60000000u   /* the same, with what others ran on our CPU */
#define PATIENCE_NS  200000000u  /* with progress, but never enough of it */
#define LIMIT_NS     1000000000u /* of all waiting for one that merely has no CPU */
#define FIRST_TIMES  10u     /* as long, for one that must ask verbcastd for our log */
#define TICK_NS      250000u /* longer between two looks: the CPU went to others */
#define QUICK_NS     20000u  /* a yield of less found nobody */
#define YIELDS       16u     /* looks that merely yield */
#define NAP_NS       100000  /* behind them, a yield that finds nobody is a nap */
#define DISTRUST_MAX 64u

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Where the payload of position `p`, or what follows it, begins. */
static uint64_t place_of(const struct tx *tx, uint64_t p)
{
	if (p >= tx->head)
		return tx->bytes;
	if (tx->head - p > SHM_LOG_SLOTS)
		return tx->bytes > SHM_LOG_PAYLOAD ? tx->bytes - SHM_LOG_PAYLOAD : 0;
	return tx->places[(p - 1) % SHM_LOG_SLOTS].at;
}

/* How far the receiver has read, as far as we may believe it. */
static uint64_t position_of(const struct engine *e, struct receiver *r)
{
	uint64_t p = r->first;

	if (atomic_load_explicit(&r->cursor->incarnation, memory_order_acquire) ==
	    e->incarnation) {
		uint64_t c =
			atomic_load_explicit(&r->cursor->position, memory_order_acquire);

		r->follows = true;
		if (c > p) /* G2 */
			p = c;
	}
	return p < e->tx.head ? p : e->tx.head;
}

struct need {
	uint64_t end;               /* payload byte behind the datagram to be written */
	uint64_t now_ns, passed_ns; /* clock, and since the look before */
	uint32_t waits;
};

/* Would the datagram overwrite what a receiver at `p` has not read? */
static bool is_full(const struct tx *tx, uint64_t p, const struct need *need)
{
	return tx->head - p >= SHM_LOG_SLOTS ||
	       need->end - place_of(tx, p) > SHM_LOG_PAYLOAD;
}

static bool is_behind(const struct tx *tx, uint64_t p, const struct need *need)
{
	return tx->head - p >= GATE_SLOTS || need->end - place_of(tx, p) >= GATE_BYTES;
}

/* A lagging receiver is waited for again when it was near the head in some looks. */
static void regain_trust(struct receiver *r, uint64_t head, uint64_t p)
{
	if (head - p > SHM_LOG_SLOTS / 4) {
		r->good_looks = 0;
		return;
	}
	if (r->good_looks++ < r->distrust)
		return;
	r->lagging = false;
	r->first = p;
}

static void not_waited(struct receiver *r)
{
	r->stalled_ns = r->stalled_busy_ns = r->waited_ns = r->spared_ns = 0;
	r->slept = false;
}

static void condemn(struct receiver *r)
{
	r->lagging = true;
	r->good_looks = 0;
	r->distrust = r->distrust ? 2 * r->distrust : 1;
	if (r->distrust > DISTRUST_MAX)
		r->distrust = DISTRUST_MAX;
	not_waited(r);
}

static bool grace_is_over(const struct receiver *r)
{
	const uint64_t times = r->follows ? 1 : FIRST_TIMES;

	return r->stalled_ns >= GRACE_NS * times ||
	       r->stalled_busy_ns >= BUSY_NS * times ||
	       r->waited_ns - r->spared_ns >= PATIENCE_NS * times;
}

/*
 * No clock tells one that does not want from one that does not get a CPU; the kernel does.
 * One that sleeps though it was kicked is asked about twice, for its helper takes short
 * sleeps before it believes that nobody polls (helper.c). Of one that was condemned before
 * we believe less each time, or whoever spins and does not read would hold us up for good.
 */
static void judge(struct receiver *r)
{
	enum process_state state = PROCESS_UNKNOWN;

	if (r->waited_ns < LIMIT_NS / (1 + r->distrust))
		state = process_state_of(r->pid);
	if (state != PROCESS_RUNNABLE && (state != PROCESS_ASLEEP || r->slept)) {
		condemn(r);
		return;
	}
	r->slept = state == PROCESS_ASLEEP;
	r->stalled_ns = r->stalled_busy_ns = 0;
	r->spared_ns = r->waited_ns;
}

/*
 * It holds us up. Our clock alone does not judge it (trap 3): while others have our CPU
 * it may well be the one that waits for one, so of such a time a tick counts, up to a
 * limit. And its cursor was looked at just now.
 */
static void stall(struct receiver *r, bool moved, const struct need *need)
{
	if (moved) {
		r->stalled_ns = r->stalled_busy_ns = 0;
		r->slept = false;
	}
	r->stalled_ns += smaller(need->passed_ns, TICK_NS);
	r->stalled_busy_ns += need->passed_ns;
	r->waited_ns += need->passed_ns;
	if (grace_is_over(r))
		judge(r);
}

/* One receiver. Returns the position it needs kept; head: none. */
static uint64_t look_at(struct engine *e, struct receiver *r, const struct need *need)
{
	const uint64_t head = e->tx.head;
	uint64_t p = position_of(e, r);
	bool moved = p != r->seen;

	r->seen = p;
	r->clear = r->last_for <= p || !slot_lives(e->tables, r->slot, r->incarnation);
	if (moved)
		r->kicked = false;
	if (r->lagging)
		regain_trust(r, head, p);
	if (r->clear || r->lagging) {
		not_waited(r);
		return head;
	}
	if (!moved && !r->kicked && is_behind(&e->tx, p, need)) {
		shm_doorbell_kick(r->doorbell, e->slot);
		r->kicked = true;
	}
	if (!is_full(&e->tx, p, need))
		not_waited(r);
	else if (need->waits)
		stall(r, moved, need);
	return r->lagging ? head : p;
}

static uint64_t look_at_all(struct engine *e, const struct need *need)
{
	uint64_t floor = e->tx.head;

	for (uint32_t i = 0; i < e->tx.receiver_count; i++) {
		struct receiver *r = e->tx.receivers[e->tx.receiver_slots[i]];
		uint64_t p = r->last_for ? look_at(e, r, need) : floor;

		if (p < floor)
			floor = p;
	}
	return floor;
}

/* In the first lap, the memory that the datagram is written to, and what comes behind it. */
static void prefault(struct tx *tx, const struct need *need)
{
	for (; need->end > tx->prefaulted && tx->prefaulted < SHM_LOG_PAYLOAD;
	     tx->prefaulted += SHM_LOG_STEP)
		shm_log_prefault(tx->log, tx->prefaulted);
	if (tx->prefaulted < SHM_LOG_PAYLOAD)
		tx->gate_bytes = smaller(tx->gate_bytes, tx->prefaulted);
}

/* When to look again, if `floor` is to be kept. */
static void set_gates(struct tx *tx, uint64_t floor, const struct need *need)
{
	uint64_t floor_at = place_of(tx, floor);

	tx->gate_head = floor + GATE_SLOTS;
	if (tx->head >= tx->gate_head)
		tx->gate_head = smaller(tx->head + STEP_SLOTS, floor + SHM_LOG_SLOTS);
	tx->gate_bytes = floor_at + GATE_BYTES;
	if (need->end >= tx->gate_bytes)
		tx->gate_bytes =
			smaller(need->end + STEP_BYTES, floor_at + SHM_LOG_PAYLOAD);
}

/*
 * Let others run. A yield gives the CPU to who waits for this one; a nap also to who
 * waits for another, for an idle CPU takes what is queued elsewhere.
 */
static void let_run(uint32_t waits)
{
	static const struct timespec nap = { .tv_nsec = NAP_NS };
	uint64_t before = clock_now_ns();

	sched_yield();
	if (waits > YIELDS && clock_now_ns() - before < QUICK_NS)
		nanosleep(&nap, NULL);
}

/* And run what is for us: two that wait for each other both get on. */
static void step_aside_unlocked(struct engine *e, struct need *need)
{
	uint64_t now;

	if (!need->waits++)
		need->now_ns = clock_now_ns();
	lock_drop(&e->tx_lock);
	engine_turn_and_map(e);
	let_run(need->waits);
	lock_take(&e->tx_lock);
	now = clock_now_ns();
	need->passed_ns = now - need->now_ns;
	need->now_ns = now;
}

bool tx_gate_unlocked(struct engine *e, uint32_t rest)
{
	struct tx *tx = &e->tx;
	struct need need = { .waits = 0 };
	uint64_t floor;

	tx_publish(e);
	for (;;) {
		need.end = tx_rest_at(tx, rest) + rest;
		floor = look_at_all(e, &need);
		if (!is_full(tx, floor, &need))
			break;
		step_aside_unlocked(e, &need);
	}
	set_gates(tx, floor, &need);
	prefault(tx, &need);
	return need.waits;
}
