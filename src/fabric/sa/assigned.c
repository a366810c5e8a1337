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

static uint32_t request_hash(const struct sa_request *req)
{
	uint32_t value = hash_bytes(req->from.lid, &req->from.qp, sizeof(req->from.qp));

	return hash_bytes(value, &req->mad.tid, sizeof(req->mad.tid));
}

static bool is_of(const struct sa_assigned *a, const struct sa_request *req)
{
	return a->lid == req->from.lid && a->qp == req->from.qp &&
	       a->tid == req->mad.tid && a->mask == req->sa.comp_mask &&
	       memcmp(a->record, sa_request_data(req), sizeof(a->record)) == 0;
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

static struct sa_assigned *find(const struct sa_server *s, const struct sa_request *req)
{
	hash_for_each_match(node, &s->assigned, request_hash(req)) {
		struct sa_assigned *a = container_of(node, struct sa_assigned, by_source);

		if (is_of(a, req))
			return a;
	}
	return NULL;
}

struct sa_group *sa_assigned_group(const struct sa_request *req)
{
	const struct sa_server *s = req->server;
	const struct sa_assigned *a = find(s, req);

	return a && a->until_ns > s->timers->now_ns ? sa_group_by_mgid(s, &a->mgid)
						    : NULL;
}

void sa_assigned_keep(struct sa_request *req, const union ib_gid *mgid)
{
	struct sa_server *s = req->server;
	struct sa_assigned *a;

	while ((a = oldest(s)) &&
	       (a->until_ns <= s->timers->now_ns || s->assigned.count >= SA_ASSIGNED_MAX))
		assigned_destroy(s, a);
	a = find(s, req);
	if (a)
		assigned_destroy(s, a); /* its group has gone */
	a = calloc(1, sizeof(*a));
	if (!a)
		return; /* a repetition makes another group then, as before */
	a->lid = req->from.lid;
	a->qp = req->from.qp;
	a->tid = req->mad.tid;
	a->mask = req->sa.comp_mask;
	memcpy(a->record, sa_request_data(req), sizeof(a->record));
	a->mgid = *mgid;
	a->until_ns = s->timers->now_ns + REMEMBERED_NS;
	list_append(&s->assigned_list, &a->link);
	hash_insert(&s->assigned, &a->by_source, request_hash(req));
}

void sa_assigned_forget(struct sa_server *s)
{
	struct sa_assigned *a;

	while ((a = oldest(s)))
		assigned_destroy(s, a);
}
