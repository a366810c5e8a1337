// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which queue pairs of this process are in which group. Changes take rx, under which all
 * delivery runs, so that nothing is delivered from a group after its detach returned.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/engine_priv.h"

static void attachment_init(struct attachment *a, const uint8_t mgid[16])
{
	memset(a, 0, sizeof(*a));
	memcpy(a->mgid, mgid, sizeof(a->mgid));
	a->capacity = 1;
	a->heard_count = 1;
}

static void attachment_fini(struct attachment *a)
{
	free(a->members);
	free(a->heard);
}

/* -- by their entry: RoCE ----------------------------------------------------------- */

#define ATTACHMENTS_BYTES (SHM_GROUPS_MAX * sizeof(struct attachment))
#define HUGE_PAGE         (2u << 20)
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* All there may be, of which the kernel gives what is used; where huge pages begin. */
int attachments_init(struct engine *e)
{
	void *p = mmap(NULL, ATTACHMENTS_BYTES + HUGE_PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	e->rx.attachments_mapping = p;
	e->rx.attachments = (struct attachment *)(((uintptr_t)p + HUGE_PAGE - 1) &
						  ~(uintptr_t)(HUGE_PAGE - 1));
	return 0;
}

void attachments_unmap(struct engine *e)
{
	if (e->rx.attachments_mapping)
		munmap(e->rx.attachments_mapping, ATTACHMENTS_BYTES + HUGE_PAGE);
}

static struct attachment *entry_attachment(struct engine *e, uint32_t entry)
{
	struct attachment *a = attachment_at(e, entry);

	if (a)
		return a;
	a = &e->rx.attachments[entry];
	attachment_init(a, e->tables->groups[entry].mgid);
	e->rx.attached[entry / 64] |= 1ull << (entry % 64);
	e->rx.crowds[entry / ATTACHMENT_CROWD]++;
	return a;
}

static void entry_put(struct engine *e, uint32_t entry)
{
	struct attachment *a = attachment_at(e, entry);

	if (!a || a->count)
		return;
	attachment_fini(a);
	e->rx.attached[entry / 64] &= ~(1ull << (entry % 64));
	e->rx.crowds[entry / ATTACHMENT_CROWD]--;
}

/* Half of a huge page is used, for the first time. */
static bool crowd_grew(struct engine *e, uint32_t entry)
{
	uint32_t crowd = entry / ATTACHMENT_CROWD;

	if (likely(e->rx.crowds[crowd] < ATTACHMENT_CROWD / 2) ||
	    e->rx.crowded & 1u << crowd)
		return false;
	e->rx.crowded |= 1u << crowd;
	return true;
}

/*
 * Where many groups lie close together a huge page costs no more memory, and saves whoever
 * looks at one of them at random a walk through page tables. No lock held, for it takes
 * the kernel a while; it may decline.
 */
static void crowd_together(struct engine *e, uint32_t entry)
{
	struct attachment *crowd =
		&e->rx.attachments[entry & ~(uint32_t)(ATTACHMENT_CROWD - 1)];

	if (madvise(crowd, HUGE_PAGE, MADV_HUGEPAGE) == 0)
		madvise(crowd, HUGE_PAGE, MADV_COLLAPSE);
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
	a = aligned_alloc(64, sizeof(*a));
	if (!a)
		return NULL;
	attachment_init(a, mgid);
	a->mlid = mlid;
	hash_insert(&e->rx.named, &a->node, name_hash(mgid, mlid));
	return a;
}

static void named_free(struct attachment *a)
{
	attachment_fini(a);
	free(a);
}

static void named_put(struct engine *e, struct attachment *a)
{
	if (a->count)
		return;
	hash_remove(&e->rx.named, &a->node);
	named_free(a);
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
	named_free(container_of(node, struct attachment, node));
}

/* The first entry at or behind `entry` that there is an attachment of; SHM_NONE: none. */
static uint32_t next_attached(const struct engine *e, uint32_t entry)
{
	for (uint32_t w = entry / 64; w < SHM_GROUPS_MAX / 64; w++) {
		uint64_t bits = e->rx.attached[w];

		if (w == entry / 64)
			bits &= ~0ull << (entry % 64);
		if (bits)
			return w * 64 + (uint32_t)__builtin_ctzll(bits);
	}
	return SHM_NONE;
}

void attachments_fini(struct engine *e)
{
	for (uint32_t i = next_attached(e, 0); i != SHM_NONE; i = next_attached(e, i + 1))
		attachment_fini(&e->rx.attachments[i]);
	hash_drain(&e->rx.named, forget);
}

static int members_grow(struct attachment *a)
{
	struct member *members;

	if (a->count < a->capacity)
		return 0;
	if (a->capacity > UINT16_MAX / 2)
		return -ENOMEM;
	members = malloc(2u * a->capacity * sizeof(*members));
	if (!members)
		return -ENOMEM;
	memcpy(members, attachment_members(a), a->count * sizeof(*members));
	free(a->members);
	a->members = members;
	a->capacity = (uint16_t)(2 * a->capacity);
	return 0;
}

static struct member *member_find(struct attachment *a, const struct engine_qp *qp)
{
	struct member *members = attachment_members(a);

	for (uint32_t i = 0; i < a->count; i++)
		if (members[i].qp == qp)
			return &members[i];
	return NULL;
}

/* A block is handed out anew when whoever had it before has gone (hca/counters.c). */
static void counters_begin(struct shm_counters *counters, uint32_t index)
{
	struct shm_member_counters *c = &counters->members[index];

	atomic_store_explicit(&counters->delivered[index], 0, memory_order_relaxed);
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
	counters_begin(e->counters, counters);
	e->rx.epoch++;
	attachment_members(a)[a->count++] = (struct member){
		.qp = qp,
		.generation = generation,
		.counters = counters,
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
	memmove(m, m + 1, (size_t)(attachment_members(a) + a->count - m) * sizeof(*m));
	qp->attached--;
	return 0;
}

int engine_qp_attach(struct engine_qp *qp, uint32_t entry, uint64_t generation,
		     uint32_t counters)
{
	struct engine *e = qp->engine;
	bool crowded;
	int r;

	if (entry >= SHM_GROUPS_MAX || counters >= SHM_MEMBER_COUNTERS)
		return -EINVAL;
	lock_take(&e->rx_lock);
	r = member_add(entry_attachment(e, entry), qp, generation, counters);
	entry_put(e, entry);
	crowded = crowd_grew(e, entry);
	lock_drop(&e->rx_lock);
	if (unlikely(crowded))
		crowd_together(e, entry);
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
	int r = member_remove(attachment_at(e, entry), qp);

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
	uint32_t entry = next_attached(qp->engine, 0);

	for (; qp->attached && entry != SHM_NONE;
	     entry = next_attached(qp->engine, entry + 1))
		detach_locked(qp, entry);
	for (uint32_t i = 0; qp->attached && i <= rx->named.mask; i++)
		drop_qp_in_bucket(qp, &rx->named.buckets[i]);
}

static struct heard *heard_grow(struct attachment *a, uint32_t count)
{
	struct heard *heard = calloc(count, sizeof(*heard));

	if (!heard)
		return NULL;
	memcpy(heard, attachment_heard(a), a->heard_count * sizeof(*heard));
	free(a->heard);
	a->heard = heard;
	a->heard_count = (uint16_t)count;
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
	return &attachment_heard(a)[s->index];
}
