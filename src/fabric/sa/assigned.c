/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Groups whose MGID was of our choice (spec/sa-sm 1.8), for as long as who asked for one
 * may ask again because the answer was lost. A zero MGID always creates, so only the
 * transaction tells a repetition from a wish for one more group.
 *
 * Nothing else is remembered: the same join of a group that has a name is served again, by
 * what holds then. An old answer could claim a membership that was lost in between.
 */
#include <stdlib.h>

#include "fabric/sa/server_priv.h"

/* Linux asks for 3.3 s (spec/kernel 2.11); who does so by himself may be slower. */
#define REMEMBERED_NS (10000 * TIMER_MS)

static uint32_t source_hash(uint16_t lid, uint32_t qp, uint64_t tid)
{
	return hash_bytes(hash_bytes(lid, &qp, sizeof(qp)), &tid, sizeof(tid));
}

static bool is_same(const struct sa_assigned *a, const struct sa_assigned *b)
{
	return a->lid == b->lid && a->qp == b->qp && a->tid == b->tid &&
	       a->mask == b->mask && memcmp(a->record, b->record, sizeof(a->record)) == 0;
}

/* By which it is found. */
static void key_of(const struct sa_request *req, struct sa_assigned *ret)
{
	*ret = (struct sa_assigned){ .lid = req->from.lid,
				     .qp = req->from.qp,
				     .tid = req->mad.tid,
				     .mask = req->sa.comp_mask };
	memcpy(ret->record, sa_request_data(req), sizeof(ret->record));
}

static void assigned_destroy(struct sa_server *s, struct sa_assigned *a)
{
	hash_remove(&s->assigned, &a->by_source);
	list_remove(&a->link);
	free(a);
}

static struct sa_assigned *oldest(const struct sa_server *s)
{
	return list_empty(&s->assigned_list)
		       ? NULL
		       : container_of(s->assigned_list.next, struct sa_assigned, link);
}

static struct sa_assigned *find(const struct sa_server *s, const struct sa_assigned *key)
{
	uint32_t value = source_hash(key->lid, key->qp, key->tid);

	hash_for_each_match(node, &s->assigned, value) {
		struct sa_assigned *a = container_of(node, struct sa_assigned, by_source);

		if (is_same(a, key))
			return a;
	}
	return NULL;
}

struct sa_group *sa_assigned_group(const struct sa_request *req)
{
	const struct sa_server *s = req->server;
	const struct sa_assigned *a;
	struct sa_assigned key;

	key_of(req, &key);
	a = find(s, &key);
	return a && a->until_ns > s->timers->now_ns ? sa_group_by_mgid(s, &a->mgid)
						    : NULL;
}

void sa_assigned_put(struct sa_server *s, const struct sa_assigned *from)
{
	struct sa_assigned *a;

	while ((a = oldest(s)) &&
	       (a->until_ns <= s->timers->now_ns || s->assigned.count >= SA_ASSIGNED_MAX))
		assigned_destroy(s, a);
	a = find(s, from);
	if (a)
		assigned_destroy(s, a); /* its group has gone */
	a = calloc(1, sizeof(*a));
	if (!a)
		return; /* a repetition makes another group then, as before */
	*a = *from;
	a->until_ns = s->timers->now_ns + REMEMBERED_NS;
	list_init(&a->link);
	list_append(&s->assigned_list, &a->link);
	hash_insert(&s->assigned, &a->by_source, source_hash(a->lid, a->qp, a->tid));
}

void sa_assigned_keep(struct sa_request *req, const union ib_gid *mgid)
{
	struct sa_assigned a;

	key_of(req, &a);
	a.mgid = *mgid;
	sa_assigned_put(req->server, &a);
	sa_journal_choice(req->server, &a);
}

void sa_assigned_forget(struct sa_server *s)
{
	struct sa_assigned *a;

	while ((a = oldest(s)))
		assigned_destroy(s, a);
}
