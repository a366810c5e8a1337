/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/traffic.h"

#include <errno.h>
#include <stdlib.h>

#include "base/list.h"

/* LRH, BTH, DETH and ICRC. A multicast datagram has a GRH; the others do not tell, so of
 * those it is not counted. */
#define HEADER_BYTES 32u
#define GRH_BYTES    40u

#define WORD_LIDS 64u
#define WORDS     (SHM_LIDS_MAX / WORD_LIDS)
/* Of a process: all LIDs with two P_Keys each. Nobody has as many; what somebody writes
 * over his counters beyond that is not looked at. */
#define PAGES_MAX (2 * WORDS)

struct told {
	uint64_t sent, sent_bytes;
};

/* What was carried of the flows to the LIDs of a word, by P_Key index; null: of none. */
struct told_word {
	struct told *pages[SHM_PKEYS_MAX]; /* [WORD_LIDS] each */
};

#define LOOK_NS (1000 * TIMER_MS) /* at keys that did not fit */

/* A process of a node with a port, from its beginning to its end. */
struct sender {
	struct list link; /* in traffic.senders */
	const struct shm_counters *counters;
	struct fabric_port *port;
	uint64_t pkeys, qkeys; /* violations that were told */
	unsigned int pages;
	struct told_word *told[WORDS];
};

struct traffic {
	struct timer timer; /* armed while there are senders */
	struct list senders;
	struct sender *by_slot[SHM_SLOTS_MAX];
};

/* -- what was carried ---------------------------------------------------------------- */

/* Null: there is no memory, or too many flows. */
static struct told *told_of(struct sender *s, uint32_t lid, unsigned int pkey_index)
{
	struct told_word **word = &s->told[lid / WORD_LIDS];
	struct told **page;

	if (!*word)
		*word = calloc(1, sizeof(**word));
	if (!*word)
		return NULL;
	page = &(*word)->pages[pkey_index];
	if (!*page && s->pages < PAGES_MAX) {
		*page = calloc(WORD_LIDS, sizeof(**page));
		s->pages += *page != NULL;
	}
	return *page ? *page + lid % WORD_LIDS : NULL;
}

static void forget(struct sender *s)
{
	for (unsigned int w = 0; w < WORDS; w++) {
		for (unsigned int i = 0; s->told[w] && i < SHM_PKEYS_MAX; i++)
			free(s->told[w]->pages[i]);
		free(s->told[w]);
	}
	free(s);
}

/* -- carrying ------------------------------------------------------------------------ */

/* What a program wrote over its counters may be less than it was. */
static uint64_t since(const _Atomic uint64_t *counter, uint64_t *told)
{
	uint64_t now = shm_count(counter);
	uint64_t before = *told;

	*told = now;
	return now > before ? now - before : 0;
}

static void carry_flow(struct sender *s, uint32_t lid, unsigned int pkey_index,
		       uint16_t pkey)
{
	const struct shm_flow_counters *flow = &s->counters->flows[pkey_index][lid];
	struct told *told = told_of(s, lid, pkey_index);
	struct fabric_load load = { .dlid = (uint16_t)lid, .pkey = pkey };

	if (!told)
		return;
	load.packets = since(&flow->sent, &told->sent);
	load.bytes = since(&flow->sent_bytes, &told->sent_bytes) +
		     load.packets * (HEADER_BYTES +
				     (ib_lid_is_multicast(load.dlid) ? GRH_BYTES : 0));
	if (load.packets)
		fabric_port_carry(s->port, &load);
}

static void carry_lid(struct sender *s, uint32_t lid, const struct fabric_port_info *info)
{
	uint32_t indices =
		atomic_load_explicit(&s->counters->flow_pkeys[lid], memory_order_relaxed);

	for (; indices; indices &= indices - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(indices);

		carry_flow(s, lid, i, info->pkeys[i]);
	}
}

/* The bits of a word for LIDs in the range; 0, which is RoCE's, is none. */
static uint64_t in_range(unsigned int word, uint16_t first, uint16_t last)
{
	uint64_t bits = word ? UINT64_MAX : ~1ull;

	if (word == first / WORD_LIDS)
		bits &= UINT64_MAX << first % WORD_LIDS;
	if (word == last / WORD_LIDS)
		bits &= UINT64_MAX >> (WORD_LIDS - 1 - last % WORD_LIDS);
	return bits;
}

static void carry(struct sender *s, uint16_t first, uint16_t last)
{
	struct fabric_port_info info;
	bool asked = false;

	for (unsigned int w = first / WORD_LIDS; w <= last / WORD_LIDS; w++) {
		uint64_t lids = atomic_load_explicit(&s->counters->flow_lids[w],
						     memory_order_relaxed) &
				in_range(w, first, last);

		if (lids && !asked)
			fabric_port_info(s->port, &info);
		asked |= lids != 0;
		for (; lids; lids &= lids - 1)
			carry_lid(s, w * WORD_LIDS + (uint32_t)__builtin_ctzll(lids),
				  &info);
	}
}

void traffic_carry(struct traffic *t, uint16_t first_lid, uint16_t last_lid)
{
	list_for_each(l, &t->senders)
		carry(container_of(l, struct sender, link), first_lid, last_lid);
}

/* -- keys that did not fit ----------------------------------------------------------- */

static void tell_violations(struct sender *s)
{
	uint64_t pkeys = since(&s->counters->pkey_violations, &s->pkeys);
	uint64_t qkeys = since(&s->counters->qkey_violations, &s->qkeys);

	if (pkeys || qkeys)
		fabric_port_violated(s->port, pkeys, qkeys);
}

static void look(struct timer *timer)
{
	struct traffic *t = container_of(timer, struct traffic, timer);
	const struct sender *first;

	if (list_empty(&t->senders))
		return;
	list_for_each(l, &t->senders)
		tell_violations(container_of(l, struct sender, link));
	first = container_of(t->senders.next, struct sender, link);
	if (fabric_awaits_data(first->port))
		traffic_carry(t, 0, UINT16_MAX);
	timer_arm(&t->timer, LOOK_NS);
}

/* -- life ---------------------------------------------------------------------------- */

int traffic_process_began(struct traffic *t, uint32_t slot,
			  const struct shm_counters *counters, struct fabric_port *port)
{
	struct sender *s;

	if (!port)
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->counters = counters;
	s->port = port;
	list_append(&t->senders, &s->link);
	t->by_slot[slot] = s;
	if (!t->timer.armed)
		timer_arm(&t->timer, LOOK_NS);
	return 0;
}

void traffic_process_ended(struct traffic *t, uint32_t slot)
{
	struct sender *s = t->by_slot[slot];

	if (!s)
		return;
	carry(s, 0, UINT16_MAX);
	tell_violations(s);
	t->by_slot[slot] = NULL;
	list_remove(&s->link);
	forget(s);
}

int traffic_create(struct timer_queue *timers, struct traffic **ret)
{
	struct traffic *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	list_init(&t->senders);
	timer_init(&t->timer, timers, look);
	*ret = t;
	return 0;
}

void traffic_destroy(struct traffic *t)
{
	if (!t)
		return;
	timer_disarm(&t->timer);
	list_for_each_safe(l, &t->senders)
		forget(container_of(l, struct sender, link));
	free(t);
}
