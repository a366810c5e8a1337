// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which queue pairs of this process are in which group. Changes take rx, under which all
 * delivery runs, so that nothing is delivered from a group after its detach returned.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_priv.h"

static struct attachment *attachment_create(struct engine *e, uint32_t entry)
{
	struct attachment *a = aligned_alloc(64, (sizeof(*a) + 63) & ~(size_t)63);

	if (!a)
		return NULL;
	memset(a, 0, sizeof(*a));
	memcpy(a->mgid, e->tables->groups[entry].mgid, sizeof(a->mgid));
	a->serial = ++e->rx.attachment_serial;
	a->members = &a->first;
	a->capacity = 1;
	a->heard = &a->heard_first;
	a->heard_count = 1;
	e->rx.attachments[entry] = a;
	if (entry >= e->rx.attachments_end)
		e->rx.attachments_end = entry + 1;
	return a;
}

static void attachment_destroy(struct engine *e, uint32_t entry)
{
	struct attachment *a = e->rx.attachments[entry];

	e->rx.attachments[entry] = NULL;
	if (a->members != &a->first)
		free(a->members);
	if (a->heard != &a->heard_first)
		free(a->heard);
	free(a);
}

void attachments_fini(struct engine *e)
{
	for (uint32_t entry = 0; entry < e->rx.attachments_end; entry++)
		if (e->rx.attachments[entry])
			attachment_destroy(e, entry);
}

static int members_grow(struct attachment *a)
{
	struct member *members;

	if (a->count < a->capacity)
		return 0;
	members = malloc(2 * a->capacity * sizeof(*members));
	if (!members)
		return -ENOMEM;
	memcpy(members, a->members, a->count * sizeof(*members));
	if (a->members != &a->first)
		free(a->members);
	a->members = members;
	a->capacity *= 2;
	return 0;
}

static struct member *member_find(const struct attachment *a, const struct engine_qp *qp)
{
	for (uint32_t i = 0; i < a->count; i++)
		if (a->members[i].qp == qp)
			return &a->members[i];
	return NULL;
}

static int attach_locked(struct engine_qp *qp, uint32_t entry, uint64_t generation,
			 uint32_t counters)
{
	struct engine *e = qp->engine;
	struct attachment *a = e->rx.attachments[entry];

	if (!a)
		a = attachment_create(e, entry);
	if (!a)
		return -ENOMEM;
	if (member_find(a, qp))
		return -EEXIST;
	if (members_grow(a) < 0)
		return -ENOMEM;
	e->rx.epoch++;
	a->members[a->count++] = (struct member){
		.qp = qp,
		.generation = generation,
		.counters = &e->counters->members[counters],
	};
	qp->attached++;
	return 0;
}

int engine_qp_attach(struct engine_qp *qp, uint32_t entry, uint64_t generation,
		     uint32_t counters)
{
	struct engine *e = qp->engine;
	int r;

	if (entry >= SHM_GROUPS_MAX || counters >= SHM_MEMBER_COUNTERS)
		return -EINVAL;
	lock_take(&e->rx_lock);
	r = attach_locked(qp, entry, generation, counters);
	lock_drop(&e->rx_lock);
	return r;
}

static int detach_locked(struct engine_qp *qp, uint32_t entry)
{
	struct engine *e = qp->engine;
	struct attachment *a = e->rx.attachments[entry];
	struct member *m = a ? member_find(a, qp) : NULL;

	if (!m)
		return -ENOENT;
	e->rx.epoch++;
	a->count--;
	/* The order of attaching is the order of delivery: keep it. */
	memmove(m, m + 1, (size_t)(a->members + a->count - m) * sizeof(*m));
	if (!a->count)
		attachment_destroy(e, entry);
	qp->attached--;
	return 0;
}

int engine_qp_detach(struct engine_qp *qp, uint32_t entry)
{
	struct engine *e = qp->engine;
	int r;

	if (entry >= SHM_GROUPS_MAX)
		return -EINVAL;
	lock_take(&e->rx_lock);
	r = detach_locked(qp, entry);
	lock_drop(&e->rx_lock);
	return r;
}

void attachments_drop_qp(struct engine_qp *qp)
{
	for (uint32_t entry = 0; qp->attached && entry < qp->engine->rx.attachments_end;
	     entry++)
		detach_locked(qp, entry);
}

static struct heard *heard_grow(struct attachment *a, uint32_t count)
{
	struct heard *heard = calloc(count, sizeof(*heard));

	if (!heard)
		return NULL;
	memcpy(heard, a->heard, a->heard_count * sizeof(*heard));
	if (a->heard != &a->heard_first)
		free(a->heard);
	a->heard = heard;
	a->heard_count = count;
	return heard;
}

/* The first datagram of a slot at all, or its first to this group. */
struct heard *attachment_heard_slow(struct engine *e, struct attachment *a,
				    struct sender *s)
{
	uint16_t *index = &e->rx.index_of_slot[s->slot];

	if (!*index)
		*index = (uint16_t)++e->rx.indices;
	s->index = *index - 1u;
	if (s->index >= a->heard_count && !heard_grow(a, s->index + 1))
		return NULL;
	e->rx.epoch++;
	return &a->heard[s->index];
}
