/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/slots.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/pidfd.h"
#include "shm/doorbell.h"
#include "shm/log.h"

#define FUNERAL_MS   10000u
#define FUNERALS_MAX 64u

struct slot {
	struct list dead_link; /* in slots->dead, oldest first */
	pid_t pid;
	const char *node;
	char program[64];
	int doorbell_fd, counters_fd, log_fd; /* -1: none */
	int process_fd;                       /* LIVE; -1: the kernel has none */
	struct shm_doorbell *doorbell;
	struct shm_counters *counters;
	uint64_t buried_at_ns;
	uint64_t awaited[SHM_SLOT_WORDS]; /* DEAD: live processes that have not answered */
};

struct slots {
	struct loop *loop;
	struct shm_tables *tables;
	struct loop_timer *timer; /* the oldest funeral's end */
	struct list dead;
	unsigned int dead_count;
	uint32_t next; /* where the search for a free slot begins: reuse comes late */
	struct slot slot[SHM_SLOTS_MAX];
};

static enum shm_slot_state state_of(const struct slots *s, uint32_t slot)
{
	return atomic_load_explicit(&s->tables->slots[slot].state, memory_order_relaxed);
}

static void set_state(struct slots *s, uint32_t slot, enum shm_slot_state state)
{
	atomic_store_explicit(&s->tables->slots[slot].state, state, memory_order_release);
}

static uint32_t incarnation_of(const struct slots *s, uint32_t slot)
{
	return atomic_load_explicit(&s->tables->slots[slot].incarnation,
				    memory_order_relaxed);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* -- memory ------------------------------------------------------------------------- */

static void release_memory(struct slot *p)
{
	if (p->doorbell)
		shm_doorbell_unmap(p->doorbell);
	if (p->counters)
		shm_counters_unmap(p->counters);
	p->doorbell = NULL;
	p->counters = NULL;
	close_fd(&p->doorbell_fd);
	close_fd(&p->counters_fd);
}

static int create_memory(struct slot *p, uint32_t slot, uint32_t incarnation)
{
	int r;

	r = shm_doorbell_create(slot, incarnation, &p->doorbell_fd);
	if (!r)
		r = shm_doorbell_map(p->doorbell_fd, &p->doorbell);
	if (!r)
		r = shm_counters_create(slot, &p->counters_fd);
	if (!r)
		r = shm_counters_map(p->counters_fd, 0, &p->counters);
	if (r < 0) {
		log_warning("no memory for another process: %s", strerror(-r));
		release_memory(p);
	}
	return r;
}

/* -- funerals ----------------------------------------------------------------------- */

static void bury(struct slots *s, uint32_t slot)
{
	struct slot *p = &s->slot[slot];

	list_remove(&p->dead_link);
	s->dead_count--;
	close_fd(&p->log_fd);
	set_state(s, slot, SHM_SLOT_FREE);
}

static uint32_t oldest_dead(struct slots *s)
{
	struct slot *p = container_of(s->dead.next, struct slot, dead_link);

	return (uint32_t)(p - s->slot);
}

static void arm_timer(struct slots *s)
{
	uint64_t now = loop_now_ns(s->loop), at;

	if (list_empty(&s->dead)) {
		loop_timer_disarm(s->timer);
		return;
	}
	at = s->slot[oldest_dead(s)].buried_at_ns;
	loop_timer_arm(s->timer, at > now ? (at - now) / 1000000 + 1 : 0);
}

static void funeral_over(void *arg)
{
	struct slots *s = arg;
	uint64_t now = loop_now_ns(s->loop);

	while (!list_empty(&s->dead)) {
		uint32_t slot = oldest_dead(s);

		if (s->slot[slot].buried_at_ns > now)
			break;
		log_debug("slot %u: its log is kept no longer", slot);
		bury(s, slot);
	}
	arm_timer(s);
}

static bool anybody(const uint64_t words[SHM_SLOT_WORDS])
{
	for (unsigned int i = 0; i < SHM_SLOT_WORDS; i++)
		if (words[i])
			return true;
	return false;
}

static bool is_awaited(const struct slots *s, uint32_t asking, uint32_t slot)
{
	return s->slot[slot].awaited[asking / 64] >> asking % 64 & 1;
}

/* `asking` has nothing more to read from `slot`. */
static void answered(struct slots *s, uint32_t asking, uint32_t slot)
{
	uint64_t *awaited = s->slot[slot].awaited;

	awaited[asking / 64] &= ~(1ull << asking % 64);
	if (anybody(awaited))
		return;
	log_debug("slot %u: its log has been read by all", slot);
	bury(s, slot);
}

/* Wake all who live; those who follow the log read it to the end, those who have a first
 * datagram waiting in it ask for it now. */
static void call_the_living(struct slots *s, uint32_t dead)
{
	struct slot *p = &s->slot[dead];

	memset(p->awaited, 0, sizeof(p->awaited));
	for (uint32_t i = 0; i < SHM_SLOTS_MAX; i++) {
		if (state_of(s, i) != SHM_SLOT_LIVE)
			continue;
		p->awaited[i / 64] |= 1ull << i % 64;
		shm_doorbell_kick(s->slot[i].doorbell, dead);
	}
}

void slots_close(struct slots *s, uint32_t slot)
{
	struct slot *p = &s->slot[slot];

	set_state(s, slot, SHM_SLOT_DEAD);
	release_memory(p);
	close_fd(&p->process_fd);
	list_append(&s->dead, &p->dead_link);
	s->dead_count++;
	p->buried_at_ns = loop_now_ns(s->loop) + FUNERAL_MS * 1000000ull;
	for (struct list *l = s->dead.next, *next; l != &s->dead; l = next) {
		next = l->next;
		if (l != &p->dead_link)
			answered(s, slot,
				 (uint32_t)(container_of(l, struct slot, dead_link) -
					    s->slot));
	}
	call_the_living(s, slot);
	/* Without a log there is nothing to be read. */
	if (p->log_fd < 0 || !anybody(p->awaited))
		bury(s, slot);
	if (s->dead_count > FUNERALS_MAX)
		bury(s, oldest_dead(s));
	arm_timer(s);
}

int slots_drained(struct slots *s, uint32_t asking, uint32_t slot, uint32_t incarnation)
{
	if (slot >= SHM_SLOTS_MAX)
		return -EINVAL;
	/* Late is no mistake: the slot may be free, or another's, by now. */
	if (state_of(s, slot) == SHM_SLOT_DEAD &&
	    incarnation_of(s, slot) == incarnation) {
		answered(s, asking, slot);
		arm_timer(s);
	}
	return 0;
}

/* -- life --------------------------------------------------------------------------- */

/* A free slot, or the longest dead one. SHM_NONE: all live. */
static uint32_t find_slot(struct slots *s)
{
	for (uint32_t i = 0; i < SHM_SLOTS_MAX; i++) {
		uint32_t slot = (s->next + i) % SHM_SLOTS_MAX;

		if (state_of(s, slot) == SHM_SLOT_FREE)
			return slot;
	}
	if (list_empty(&s->dead))
		return SHM_NONE;
	bury(s, oldest_dead(s));
	return find_slot(s);
}

int slots_open(struct slots *s, struct ib_node *node, pid_t pid, const char *program,
	       struct uapi_process *ret)
{
	uint32_t slot = find_slot(s), incarnation;
	struct slot *p;
	int r;

	if (slot == SHM_NONE)
		return -EUSERS;
	p = &s->slot[slot];
	incarnation = incarnation_of(s, slot) + 1;
	incarnation += !incarnation; /* 0: never used */
	r = create_memory(p, slot, incarnation);
	if (r < 0)
		return r;
	p->pid = pid;
	p->process_fd = pidfd_open_process(pid);
	p->node = ib_node_name(node);
	snprintf(p->program, sizeof(p->program), "%s", program);
	s->tables->slots[slot].node = ib_node_index(node);
	atomic_store_explicit(&s->tables->slots[slot].incarnation, incarnation,
			      memory_order_release);
	set_state(s, slot, SHM_SLOT_LIVE);
	s->next = (slot + 1) % SHM_SLOTS_MAX;
	*ret = (struct uapi_process){
		.slot = slot,
		.incarnation = incarnation,
		.doorbell_fd = p->doorbell_fd,
		.counters_fd = p->counters_fd,
	};
	return 0;
}

int slots_map_peer(struct slots *s, uint32_t asking, uint32_t slot, struct uapi_peer *ret)
{
	if (slot >= SHM_SLOTS_MAX)
		return -EINVAL;
	if (state_of(s, slot) == SHM_SLOT_FREE)
		return -ENOENT;
	/* Whoever has read a dead one's log would read it again from its oldest datagram. */
	if (state_of(s, slot) == SHM_SLOT_DEAD && !is_awaited(s, asking, slot))
		return -ENOENT;
	*ret = (struct uapi_peer){
		.incarnation = incarnation_of(s, slot),
		.dead = state_of(s, slot) == SHM_SLOT_DEAD,
		.doorbell_fd = s->slot[slot].doorbell_fd,
		.log_fd = s->slot[slot].log_fd,
		.process_fd = s->slot[slot].process_fd,
	};
	return 0;
}

int slots_publish_log(struct slots *s, uint32_t slot, int fd)
{
	struct slot *p = &s->slot[slot];
	const struct shm_log *log;
	int r;

	if (p->log_fd >= 0)
		return -EEXIST;
	/* Seals, size, and that it says of itself whose it is. */
	r = shm_log_map(fd, slot, incarnation_of(s, slot), &log);
	if (r < 0)
		return r;
	shm_log_unmap(log);
	p->log_fd = fd;
	return 0;
}

bool slots_view(const struct slots *s, uint32_t slot, struct slot_view *ret)
{
	const struct slot *p;

	if (slot >= SHM_SLOTS_MAX || state_of(s, slot) != SHM_SLOT_LIVE)
		return false;
	p = &s->slot[slot];
	*ret = (struct slot_view){
		.slot = slot,
		.incarnation = incarnation_of(s, slot),
		.pid = p->pid,
		.program = p->program,
		.node = p->node,
		.counters = p->counters,
	};
	return true;
}

unsigned int slots_funerals(const struct slots *s)
{
	return s->dead_count;
}

int slots_create(struct loop *loop, struct shm_tables *tables, struct slots **ret)
{
	struct slots *s;
	int r;

	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->loop = loop;
	s->tables = tables;
	list_init(&s->dead);
	for (uint32_t i = 0; i < SHM_SLOTS_MAX; i++) {
		list_init(&s->slot[i].dead_link);
		s->slot[i].doorbell_fd = -1;
		s->slot[i].counters_fd = -1;
		s->slot[i].log_fd = -1;
		s->slot[i].process_fd = -1;
	}
	r = loop_timer_create(loop, funeral_over, s, &s->timer);
	if (r < 0) {
		free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void slots_destroy(struct slots *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < SHM_SLOTS_MAX; i++) {
		release_memory(&s->slot[i]);
		close_fd(&s->slot[i].log_fd);
		close_fd(&s->slot[i].process_fd);
	}
	loop_timer_destroy(s->timer);
	free(s);
}
