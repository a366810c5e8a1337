// SPDX-License-Identifier: BSD-2-Clause
/*
 * The logs that this process follows: from the first ring of a sender's bit in our
 * doorbell to the end of its log after its death.
 *
 * A followed log is active, visited in every turn, or silent: nothing came for some
 * hundred turns, its bit is clear, and its sender will ring before anything else comes.
 * Bits of active logs may be set or clear; nobody looks at them.
 *
 * Everything here runs under rx, except senders_map_wanted, which asks the daemon.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/engine_priv.h"

#define DEAD_LOOKS   64u   /* empty looks between two looks at the slot's state */
#define SILENT_LOOKS 1024u /* empty looks until a log falls silent */
#define RETRY_NS     20000000u
#define SUMMARY_MASK ((1ull << SHM_SLOT_WORDS) - 1)

int senders_init(struct engine *e)
{
	e->rx.senders = calloc(SHM_SLOTS_MAX, sizeof(*e->rx.senders));
	e->rx.aliases = calloc(SHM_GROUPS_MAX, sizeof(*e->rx.aliases));
	if (!e->rx.senders || !e->rx.aliases || attachments_init(e) < 0)
		return -ENOMEM;
	return hash_init(&e->rx.named);
}

static void sender_free(struct sender *s)
{
	/* Our own log is the sending side's to unmap. */
	if (!s->own)
		shm_log_unmap(s->log);
	free(s);
}

void senders_fini(struct engine *e)
{
	for (uint32_t i = 0; e->rx.senders && i < SHM_SLOTS_MAX; i++)
		if (e->rx.senders[i])
			sender_free(e->rx.senders[i]);
	while (e->rx.retired) {
		struct sender *s = e->rx.retired;

		e->rx.retired = s->next_retired;
		sender_free(s);
	}
	free(e->rx.senders);
	attachments_unmap(e);
	free(e->rx.aliases);
	hash_fini(&e->rx.named);
}

bool sender_has_news(const struct sender *s)
{
	const uint64_t p = s->position;
	uint64_t sequence = atomic_load_explicit(
		&s->log->slots[(p - 1) % SHM_LOG_SLOTS].sequence, memory_order_acquire);

	if (sequence <= 2 * p)
		return sequence == 2 * p;
	return atomic_load_explicit(&s->log->h.head, memory_order_acquire) > p;
}

/* A silent log that nobody rang for. Our own is full of what is for others alone. */
static bool is_overlooked(const struct engine *e, const struct sender *s)
{
	if (s->own &&
	    atomic_load_explicit(&e->for_us, memory_order_relaxed) <= s->position)
		return false;
	return sender_has_news(s);
}

static void activate(struct engine *e, struct sender *s)
{
	struct rx *rx = &e->rx;

	if (s->active)
		return;
	s->active = true;
	s->idle_looks = 0;
	rx->active[rx->active_count++] = s;
	rx->active_bits[s->slot / 64] |= 1ull << (s->slot % 64);
}

static void deactivate(struct engine *e, struct sender *s)
{
	struct rx *rx = &e->rx;
	uint32_t i = 0;

	while (rx->active[i] != s)
		i++;
	rx->active[i] = rx->active[--rx->active_count];
	rx->active_bits[s->slot / 64] &= ~(1ull << (s->slot % 64));
	s->active = false;
}

static void bit_clear(struct engine *e, uint32_t slot)
{
	atomic_fetch_and_explicit(&e->doorbell->words[slot / 64], ~(1ull << (slot % 64)),
				  memory_order_seq_cst);
}

/* A bit that is set, of a slot whose log is not active. */
static void collect(struct engine *e, uint32_t slot)
{
	const struct shm_slot *now = &e->tables->slots[slot];
	struct sender *s = e->rx.senders[slot];

	if (s) {
		activate(e, s);
		return;
	}
	/* Cleared before the daemon is asked: a ring from now on is not overlooked. */
	bit_clear(e, slot);
	if (atomic_load_explicit(&now->state, memory_order_acquire) == SHM_SLOT_FREE ||
	    atomic_load_explicit(&now->incarnation, memory_order_acquire) ==
		    e->rx.finished[slot])
		return;
	e->rx.wanted[slot / 64] |= 1ull << (slot % 64);
	e->rx.any_wanted = true;
	e->rx.errands = true;
}

static void collect_word(struct engine *e, uint32_t w, uint64_t bits)
{
	for (; bits; bits &= bits - 1)
		collect(e, w * 64 + (uint32_t)__builtin_ctzll(bits));
}

void senders_collect(struct engine *e)
{
	uint64_t summary =
		atomic_load_explicit(&e->doorbell->summary, memory_order_relaxed);

	for (summary &= SUMMARY_MASK; summary; summary &= summary - 1) {
		uint32_t w = (uint32_t)__builtin_ctzll(summary);
		uint64_t bits = atomic_load_explicit(&e->doorbell->words[w],
						     memory_order_acquire);

		bits &= ~e->rx.active_bits[w];
		if (unlikely(bits))
			collect_word(e, w, bits);
	}
}

/* The bit of a log that is silent, or not followed yet, set between our clearing of it and
 * the flag: its sender saw nobody asleep, and the active logs do not show it. */
static bool any_rang_meanwhile(const struct engine *e)
{
	for (uint32_t w = 0; w < SHM_SLOT_WORDS; w++)
		if (atomic_load_explicit(&e->doorbell->words[w], memory_order_relaxed) &
		    ~e->rx.active_bits[w])
			return true;
	return false;
}

/* Every word, whatever the one above says: its ringer may have died in between. */
bool engine_sleep_prepare(struct engine *e, uint32_t sleeper)
{
	struct rx *rx = &e->rx;

	for (uint32_t w = 0; w < SHM_SLOT_WORDS; w++) {
		uint64_t bits = 0;

		if (atomic_load_explicit(&e->doorbell->words[w], memory_order_relaxed))
			bits = atomic_exchange_explicit(&e->doorbell->words[w], 0,
							memory_order_seq_cst);
		collect_word(e, w, bits & ~rx->active_bits[w]);
	}
	atomic_store_explicit(&e->doorbell->sleeping, sleeper, memory_order_seq_cst);
	atomic_thread_fence(memory_order_seq_cst); /* D2 */
	for (uint32_t i = 0; i < rx->active_count; i++)
		if (sender_has_news(rx->active[i]))
			return true;
	return rx->any_wanted || rx->any_retry || rx->retired || any_rang_meanwhile(e);
}

/* D2 for one log: clear the bit, full barrier, look once more. */
static bool fall_silent(struct engine *e, struct sender *s)
{
	bit_clear(e, s->slot);
	atomic_thread_fence(memory_order_seq_cst);
	s->idle_looks = 0;
	if (sender_has_news(s))
		return false;
	deactivate(e, s);
	return true;
}

/* Its process is gone and nothing is left to read. What follows needs no lock. */
static bool retire_if_dead(struct engine *e, struct sender *s)
{
	struct rx *rx = &e->rx;

	if (s->own || slot_lives(e->tables, s->slot, s->incarnation) ||
	    sender_has_news(s))
		return false;
	if (s->active)
		deactivate(e, s);
	rx->senders[s->slot] = NULL;
	rx->finished[s->slot] = s->incarnation;
	rx->followed--;
	s->next_retired = rx->retired;
	rx->retired = s;
	rx->errands = true;
	return true;
}

bool sender_idle(struct engine *e, struct sender *s)
{
	s->losing = false;
	s->idle_looks++;
	/* The first empty look, and then one of many; but whoever does not poll may not come
	 * back before something happens. */
	if (likely(e->rx.sink) && s->idle_looks % DEAD_LOOKS != 1)
		return false;
	if (retire_if_dead(e, s))
		return true;
	return s->idle_looks >= SILENT_LOOKS && fall_silent(e, s);
}

/* Bits without the one above them: their ringer died in between, or a peer scribbled. */
static void collect_unsummed(struct engine *e)
{
	uint32_t w = e->rx.silent_next / 64;
	uint64_t bits =
		atomic_load_explicit(&e->doorbell->words[w], memory_order_acquire);

	bits &= ~e->rx.active_bits[w];
	if (unlikely(bits))
		collect_word(e, w, bits);
}

void senders_visit_silent(struct engine *e)
{
	struct rx *rx = &e->rx;

	collect_unsummed(e);
	for (unsigned int i = 0; i < 16; i++) {
		struct sender *s = rx->senders[rx->silent_next];

		rx->silent_next = (rx->silent_next + 1) % SHM_SLOTS_MAX;
		if (s && !s->active) {
			if (is_overlooked(e, s))
				activate(e, s);
			return;
		}
	}
}

static bool visit_all(struct engine *e, bool active)
{
	bool found = false;

	for (uint32_t i = 0; i < SHM_SLOTS_MAX; i++) {
		struct sender *s = e->rx.senders[i];

		if (!s || retire_if_dead(e, s) || (s->active && !active) ||
		    !is_overlooked(e, s))
			continue;
		activate(e, s);
		found = true;
	}
	return found;
}

/* Where turns are run, they look at all that is active, and what is there may just have
 * come: only where none was is something found something missed. */
bool senders_recheck(struct engine *e, const uint32_t *turns)
{
	bool found, errands, quiet;

	lock_take(&e->rx_lock);
	quiet = !turns || e->rx.turns == *turns;
	found = visit_all(e, quiet);
	if (found && quiet)
		atomic_fetch_add_explicit(&e->repairs, 1, memory_order_relaxed);
	errands = e->rx.errands;
	lock_drop(&e->rx_lock);
	return found || errands;
}

/* -- the daemon's part --------------------------------------------------------------- */

/* The oldest position left, if its slot is not just being written anew: a sender that waits
 * for us may have filled all others. What is not for us is told by its generation. */
static uint64_t oldest_position(const struct shm_log *log)
{
	uint64_t head = atomic_load_explicit(&log->h.head, memory_order_acquire);

	return head > SHM_LOG_SLOTS ? head - SHM_LOG_SLOTS : 1;
}

static struct sender *sender_create(struct engine *e, const struct shm_log *log,
				    uint32_t slot, uint32_t incarnation)
{
	struct sender *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->log = log;
	s->slot = slot;
	s->incarnation = incarnation;
	s->position = oldest_position(log);
	s->cursor = &e->doorbell->cursors[slot];
	s->own = slot == e->slot;
	return s;
}

/* The sender may read the cursor at any moment: it is nobody's while it changes hands. */
static void cursor_begin(const struct sender *s)
{
	atomic_store_explicit(&s->cursor->incarnation, 0, memory_order_release);
	atomic_store_explicit(&s->cursor->position, s->position, memory_order_release);
	atomic_store_explicit(&s->cursor->incarnation, s->incarnation,
			      memory_order_release);
}

static int sender_install(struct engine *e, struct sender *s)
{
	struct rx *rx = &e->rx;

	/* Two threads asked; the other one may even have read it to its end since. */
	if (rx->finished[s->slot] == s->incarnation)
		return -ESTALE;
	if (rx->senders[s->slot])
		return -EEXIST;
	s->index = SENDER_UNHEARD;
	s->serial = ++rx->serial;
	cursor_begin(s);
	rx->senders[s->slot] = s;
	rx->followed++;
	/* Our own log is followed when we ring ourselves, as a member of a group. */
	if (!s->own)
		activate(e, s);
	return 0;
}

int senders_add_own(struct engine *e, const struct shm_log *log)
{
	struct sender *s = sender_create(e, log, e->slot, e->incarnation);
	int r;

	if (!s)
		return -ENOMEM;
	r = sender_install(e, s);
	if (r < 0)
		free(s);
	return r;
}

static int ask(struct engine *e, uint32_t slot, struct sender **ret)
{
	struct engine_peer peer = { .doorbell_fd = -1, .log_fd = -1 };
	const struct shm_log *log = NULL;
	int r;

	r = e->ops->map_peer(e->arg, slot, &peer);
	if (r < 0)
		return r;
	if (peer.doorbell_fd >= 0)
		close(peer.doorbell_fd);
	if (peer.log_fd < 0)
		return -ENOENT; /* it will ring again when it has one */
	r = shm_log_map(peer.log_fd, slot, peer.incarnation, &log);
	close(peer.log_fd);
	if (r < 0)
		return r;
	*ret = sender_create(e, log, slot, peer.incarnation);
	if (!*ret) {
		shm_log_unmap(log);
		return -ENOMEM;
	}
	return 0;
}

static void ask_again_later(struct engine *e, uint32_t slot)
{
	lock_take(&e->rx_lock);
	e->rx.retry[slot / 64] |= 1ull << (slot % 64);
	e->rx.retry_ns = clock_now_ns() + RETRY_NS;
	e->rx.any_retry = true;
	e->rx.errands = true;
	lock_drop(&e->rx_lock);
}

static void map_one(struct engine *e, uint32_t slot)
{
	struct sender *s = NULL;
	int r = ask(e, slot, &s);

	if (r == -ENOENT || r == -EPROTO)
		return;
	if (r < 0) {
		ask_again_later(e, slot);
		return;
	}
	lock_take(&e->rx_lock);
	r = sender_install(e, s);
	lock_drop(&e->rx_lock);
	/* The daemon counts us as a reader again, since we asked after we had told it that we
	 * are done: it would keep the log for ever. */
	if (r == -ESTALE)
		e->ops->drained(e->arg, slot, s->incarnation);
	if (r < 0)
		sender_free(s);
}

/* Under rx: take one slot out of those wanted. */
static uint32_t take_wanted(struct rx *rx)
{
	for (uint32_t w = 0; w < SHM_SLOT_WORDS; w++) {
		if (rx->wanted[w]) {
			uint32_t bit = (uint32_t)__builtin_ctzll(rx->wanted[w]);

			rx->wanted[w] &= rx->wanted[w] - 1;
			return w * 64 + bit;
		}
	}
	rx->any_wanted = false;
	return SHM_NONE;
}

static void take_retries(struct rx *rx)
{
	if (!rx->any_retry || clock_now_ns() < rx->retry_ns)
		return;
	for (uint32_t w = 0; w < SHM_SLOT_WORDS; w++) {
		rx->wanted[w] |= rx->retry[w];
		rx->retry[w] = 0;
	}
	rx->any_retry = false;
	rx->any_wanted = true;
}

static void tell_retired(struct engine *e)
{
	struct sender *s, *next;

	lock_take(&e->rx_lock);
	s = e->rx.retired;
	e->rx.retired = NULL;
	lock_drop(&e->rx_lock);
	for (; s; s = next) {
		next = s->next_retired;
		e->ops->drained(e->arg, s->slot, s->incarnation);
		sender_free(s);
	}
}

void senders_map_wanted(struct engine *e)
{
	uint32_t slot;

	faults_run(e);
	tell_retired(e);
	for (;;) {
		lock_take(&e->rx_lock);
		take_retries(&e->rx);
		slot = e->rx.any_wanted ? take_wanted(&e->rx) : SHM_NONE;
		e->rx.errands = e->rx.any_wanted || e->rx.any_retry || e->rx.retired;
		lock_drop(&e->rx_lock);
		if (slot == SHM_NONE)
			return;
		map_one(e, slot);
	}
}
