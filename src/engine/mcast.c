// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which queue pairs of this process are in which group. Changes take rx, under which all
 * delivery runs, so that nothing is delivered from a group after its detach returned.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_priv.h"

static struct attachment *attachment_create(struct engine *e, const uint8_t mgid[16])
{
	struct attachment *a = aligned_alloc(64, (sizeof(*a) + 63) & ~(size_t)63);

	if (!a)
		return NULL;
	memset(a, 0, sizeof(*a));
	memcpy(a->mgid, mgid, sizeof(a->mgid));
	a->serial = ++e->rx.attachment_serial;
	a->members = &a->first;
	a->capacity = 1;
	a->heard = &a->heard_first;
	a->heard_count = 1;
	return a;
}

static void attachment_free(struct attachment *a)
{
	if (a->members != &a->first)
		free(a->members);
	if (a->heard != &a->heard_first)
		free(a->heard);
	free(a);
}

/* -- by their entry: RoCE ----------------------------------------------------------- */

static struct attachment *entry_attachment(struct engine *e, uint32_t entry)
{
	struct attachment *a = e->rx.attachments[entry];

	if (a)
		return a;
	a = attachment_create(e, e->tables->groups[entry].mgid);
	if (!a)
		return NULL;
	e->rx.attachments[entry] = a;
	if (entry >= e->rx.attachments_end)
		e->rx.attachments_end = entry + 1;
	return a;
}

static void entry_put(struct engine *e, uint32_t entry)
{
	struct attachment *a = e->rx.attachments[entry];

	if (!a || a->count)
		return;
	e->rx.attachments[entry] = NULL;
	attachment_free(a);
}

/* -- by their name: InfiniBand ------------------------------------------------------ */

static uint32_t name_hash(const uint8_t mgid[16], uint16_t mlid)
{
	return hash_bytes(mlid, mgid, 16);
}

static struct attachment *named_find(const struct engine *e, const uint8_t mgid[16],
				     uint16_t mlid)
{
	uint32_t value = name_hash(mgid, mlid);

	hash_for_each_match(node, &e->rx.named, value) {
		struct attachment *a = container_of(node, struct attachment, node);

		if (a->mlid == mlid && memcmp(a->mgid, mgid, 16) == 0)
			return a;
	}
	return NULL;
}

static struct attachment *named_attachment(struct engine *e, const uint8_t mgid[16],
					   uint16_t mlid)
{
	struct attachment *a = named_find(e, mgid, mlid);

	if (a)
		return a;
	a = attachment_create(e, mgid);
	if (!a)
		return NULL;
	a->mlid = mlid;
	hash_insert(&e->rx.named, &a->node, name_hash(mgid, mlid));
	return a;
}

static void named_put(struct engine *e, struct attachment *a)
{
	if (a->count)
		return;
	hash_remove(&e->rx.named, &a->node);
	attachment_free(a);
}

/*
 * Who follows a log meets what is for others in it, too: only where the entry has our bit
 * it leads here. A process has one port of the fabric, so the name tells the rest.
 */
static struct attachment *leads_to(const struct engine *e, const struct shm_group_view *v)
{
	if (!v->member || e->tables->ports[v->ingress].link_layer != SHM_LINK_INFINIBAND)
		return NULL;
	return named_find(e, v->mgid, v->mlid);
}

struct attachment *alias_look(struct engine *e, uint32_t entry, uint64_t generation)
{
	struct alias *alias = &e->rx.aliases[entry];
	struct shm_group_view v;

	if (!shm_group_view(e->tables, entry, e->slot, &v))
		return NULL;
	*alias = (struct alias){ .attachment = leads_to(e, &v),
				 .since = v.since,
				 .until = v.generation,
				 .epoch = e->rx.epoch };
	return generation >= v.since && generation <= v.generation ? alias->attachment
								   : NULL;
}

/* -- members ------------------------------------------------------------------------ */

static void forget(struct hash_node *node)
{
	attachment_free(container_of(node, struct attachment, node));
}

void attachments_fini(struct engine *e)
{
	for (uint32_t entry = 0; entry < e->rx.attachments_end; entry++)
		if (e->rx.attachments[entry])
			attachment_free(e->rx.attachments[entry]);
	hash_drain(&e->rx.named, forget);
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

/* A block is handed out anew when whoever had it before has gone (hca/counters.c). */
static void counters_begin(struct shm_member_counters *c)
{
	atomic_store_explicit(&c->delivered, 0, memory_order_relaxed);
	for (size_t i = 0; i < sizeof(c->drops) / sizeof(c->drops[0]); i++)
		atomic_store_explicit(&c->drops[i], 0, memory_order_relaxed);
}

static int member_add(struct attachment *a, struct engine_qp *qp, uint64_t generation,
		      uint32_t counters)
{
	struct engine *e = qp->engine;

	if (member_find(a, qp))
		return -EEXIST;
	if (members_grow(a) < 0)
		return -ENOMEM;
	counters_begin(&e->counters->members[counters]);
	e->rx.epoch++;
	a->members[a->count++] = (struct member){
		.qp = qp,
		.generation = generation,
		.counters = &e->counters->members[counters],
	};
	qp->attached++;
	return 0;
}

static int member_remove(struct attachment *a, struct engine_qp *qp)
{
	struct member *m = a ? member_find(a, qp) : NULL;

	if (!m)
		return -ENOENT;
	qp->engine->rx.epoch++;
	faults_forget_receives(qp, a);
	a->count--;
	/* The order of attaching is the order of delivery: keep it. */
	memmove(m, m + 1, (size_t)(a->members + a->count - m) * sizeof(*m));
	qp->attached--;
	return 0;
}

int engine_qp_attach(struct engine_qp *qp, uint32_t entry, uint64_t generation,
		     uint32_t counters)
{
	struct engine *e = qp->engine;
	struct attachment *a;
	int r = -ENOMEM;

	if (entry >= SHM_GROUPS_MAX || counters >= SHM_MEMBER_COUNTERS)
		return -EINVAL;
	lock_take(&e->rx_lock);
	a = entry_attachment(e, entry);
	if (a)
		r = member_add(a, qp, generation, counters);
	entry_put(e, entry);
	lock_drop(&e->rx_lock);
	return r;
}

int engine_qp_attach_group(struct engine_qp *qp, const uint8_t mgid[16], uint16_t mlid,
			   uint64_t generation, uint32_t counters)
{
	struct engine *e = qp->engine;
	struct attachment *a;
	int r = -ENOMEM;

	if (counters >= SHM_MEMBER_COUNTERS)
		return -EINVAL;
	lock_take(&e->rx_lock);
	a = named_attachment(e, mgid, mlid);
	if (a) {
		r = member_add(a, qp, generation, counters);
		named_put(e, a);
	}
	lock_drop(&e->rx_lock);
	return r;
}

static int detach_locked(struct engine_qp *qp, uint32_t entry)
{
	struct engine *e = qp->engine;
	int r = member_remove(e->rx.attachments[entry], qp);

	entry_put(e, entry);
	return r;
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

int engine_qp_detach_group(struct engine_qp *qp, const uint8_t mgid[16], uint16_t mlid)
{
	struct engine *e = qp->engine;
	struct attachment *a;
	int r;

	lock_take(&e->rx_lock);
	a = named_find(e, mgid, mlid);
	r = member_remove(a, qp);
	if (a)
		named_put(e, a);
	lock_drop(&e->rx_lock);
	return r;
}

static void drop_qp_in_bucket(struct engine_qp *qp, struct list *bucket)
{
	list_for_each_safe(l, bucket) {
		struct hash_node *node = container_of(l, struct hash_node, link);
		struct attachment *a = container_of(node, struct attachment, node);

		if (member_remove(a, qp) == 0)
			named_put(qp->engine, a);
	}
}

void attachments_drop_qp(struct engine_qp *qp)
{
	struct rx *rx = &qp->engine->rx;

	for (uint32_t entry = 0; qp->attached && entry < rx->attachments_end; entry++)
		detach_locked(qp, entry);
	for (uint32_t i = 0; qp->attached && i <= rx->named.mask; i++)
		drop_qp_in_bucket(qp, &rx->named.buckets[i]);
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
