/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes of the database, in the order they were made, for those who follow. Each is a
 * record: what it is, 1, and then, big-endian,
 *
 *	member:	the group's MCMemberRecord 52, well-known 1, port GUID 8, JoinState 1,
 *		proxy 1
 *	group's end:	MGID 16
 *	choice:	of a request with MGID 0 (assigned.c): LID 2, queue pair 4, TID 8,
 *		component mask 8, record 52, the MGID that was chosen 16
 *	alias:	port GUID 8, place among the port's GUIDs 2, GUID 8, whether it is there 1
 *	nothing
 *
 * A member's record has all that makes the group, so it may be the group's first. An alias
 * is there before who joins by it, and until he has left.
 * Subscriptions and services change rarely: then all is sent anew.
 */
#include <errno.h>
#include <stdlib.h>

#include "fabric/sa/server_priv.h"

enum kind {
	NOTHING = 0,
	MEMBER = 1,
	GROUP_END = 2,
	CHOICE = 3,
	ALIAS = 4,
};
#define MEMBER_BYTES    (1u + SA_MCMEMBER_BYTES + 1u + 8u + 1u + 1u)
#define GROUP_END_BYTES (1u + 16u)
#define ALIAS_BYTES     (1u + 8u + 2u + 8u + 1u)
#define CHOICE_BYTES    (1u + 2u + 4u + 8u + 8u + SA_MCMEMBER_BYTES + 16u)

/* -- writing ------------------------------------------------------------------------- */

static bool make_room(struct sa_journal *j, size_t bytes)
{
	size_t have = (size_t)(j->end - j->start), room = j->room ? j->room : 4096;
	uint8_t *grown;

	while (room < have + bytes)
		room *= 2;
	if (room == j->room)
		return true;
	if (room > SA_JOURNAL_MAX)
		return false;
	grown = realloc(j->bytes, room);
	if (!grown)
		return false;
	j->bytes = grown;
	j->room = room;
	return true;
}

static void renew_all(struct sa_server *s)
{
	for (unsigned int i = 0; i < SA_FOLLOWERS_MAX; i++)
		s->followers[i].fresh = true;
	s->journal.start = s->journal.end;
}

static void put(struct sa_server *s, const uint8_t *record, size_t bytes)
{
	struct sa_journal *j = &s->journal;

	if (!sa_followers_any(s))
		return;
	if (make_room(j, bytes)) {
		memcpy(j->bytes + (j->end - j->start), record, bytes);
		j->end += bytes;
	} else {
		j->end += bytes;
		renew_all(s);
	}
	sa_followers_wake(s);
}

static void put64(uint8_t *p, uint64_t value)
{
	for (unsigned int i = 8; i--; value >>= 8)
		p[i] = (uint8_t)value;
}

void sa_journal_member(struct sa_server *s, const struct sa_group *group,
		       uint64_t port_guid, uint8_t join_state, bool proxy)
{
	uint8_t record[MEMBER_BYTES] = { MEMBER }, *p = record + 1;

	sa_mcmember_put(p, &group->rec);
	p += SA_MCMEMBER_BYTES;
	*p++ = group->well_known;
	put64(p, port_guid);
	p[8] = join_state;
	p[9] = proxy;
	put(s, record, sizeof(record));
}

void sa_journal_group_end(struct sa_server *s, const struct sa_group *group)
{
	uint8_t record[GROUP_END_BYTES] = { GROUP_END };

	memcpy(record + 1, group->rec.mgid.raw, 16);
	put(s, record, sizeof(record));
}

void sa_journal_choice(struct sa_server *s, const struct sa_assigned *a)
{
	uint8_t record[CHOICE_BYTES] = { CHOICE }, *p = record + 1;

	/* Of six bytes, the LID and the queue pair. */
	put64(p, (uint64_t)a->lid << 48 | (uint64_t)a->qp << 16);
	put64(p + 6, a->tid);
	put64(p + 14, a->mask);
	memcpy(p + 22, a->record, sizeof(a->record));
	memcpy(p + 22 + sizeof(a->record), a->mgid.raw, 16);
	put(s, record, sizeof(record));
}

void sa_journal_alias(struct sa_server *s, const struct sa_alias *a, bool there)
{
	uint8_t record[ALIAS_BYTES] = { ALIAS }, *p = record + 1;

	put64(p, a->port_guid);
	p[8] = (uint8_t)(a->place >> 8);
	p[9] = (uint8_t)a->place;
	put64(p + 10, a->guid);
	p[18] = there;
	put(s, record, sizeof(record));
}

/* The position moves, so that whoever has to wait for it does. */
void sa_journal_renew(struct sa_server *s)
{
	static const uint8_t nothing[1] = { NOTHING };

	put(s, nothing, sizeof(nothing));
	renew_all(s);
}

void sa_journal_trim(struct sa_journal *j, uint64_t position)
{
	if (position <= j->start || position > j->end)
		return;
	memmove(j->bytes, j->bytes + (position - j->start), (size_t)(j->end - position));
	j->start = position;
}

void sa_journal_reset(struct sa_server *s)
{
	struct sa_journal *j = &s->journal;

	free(j->bytes);
	*j = (struct sa_journal){ 0 };
}

/* -- reading ------------------------------------------------------------------------- */

static uint64_t get64(const uint8_t *p)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < 8; i++)
		value = value << 8 | p[i];
	return value;
}

static int group_of(struct sa_server *s, const struct sa_mcmember *rec, bool well_known,
		    struct sa_group **ret)
{
	int r;

	*ret = sa_group_by_mgid(s, &rec->mgid);
	if (*ret)
		return (*ret)->rec.mlid == rec->mlid ? 0 : -EPROTO;
	r = sa_group_create(s, rec, ret);
	if (r < 0)
		return r;
	(*ret)->well_known = well_known;
	/* Some other group had it. */
	return (*ret)->rec.mlid == rec->mlid ? 0 : -EPROTO;
}

static int apply_member(struct sa_server *s, const uint8_t *p)
{
	const uint8_t *rest = p + SA_MCMEMBER_BYTES;
	struct sa_mcmember rec;
	struct sa_group *group;
	int r;

	sa_mcmember_get(p, &rec);
	if (!sa_mcmember_is_sane(&rec) || rest[9] > 0xf || !get64(rest + 1))
		return -EPROTO;
	if (!rest[9] && !sa_group_by_mgid(s, &rec.mgid))
		return 0;
	r = group_of(s, &rec, rest[0], &group);
	return r < 0 ? r : sa_member_set(s, group, get64(rest + 1), rest[9], rest[10]);
}

static int apply_group_end(struct sa_server *s, const uint8_t *p)
{
	struct sa_group *group;
	union ib_gid mgid;

	memcpy(mgid.raw, p, sizeof(mgid.raw));
	group = sa_group_by_mgid(s, &mgid);
	if (group)
		sa_group_end(s, group);
	return 0;
}

static int apply_choice(struct sa_server *s, const uint8_t *p)
{
	struct sa_assigned a = {
		.lid = (uint16_t)(get64(p) >> 48),
		.qp = (uint32_t)(get64(p) >> 16),
		.tid = get64(p + 6),
		.mask = get64(p + 14),
	};

	memcpy(a.record, p + 22, sizeof(a.record));
	memcpy(a.mgid.raw, p + 22 + sizeof(a.record), 16);
	sa_assigned_put(s, &a);
	return 0;
}

static int apply_alias(struct sa_server *s, const uint8_t *p)
{
	uint64_t port_guid = get64(p), guid = get64(p + 10);
	unsigned int place = (unsigned int)(p[8] << 8 | p[9]);

	if (!port_guid || !guid || !place || place >= SA_GUID_PLACES)
		return -EPROTO;
	if (p[18])
		return sa_alias_keep(s, port_guid, place, guid);
	sa_alias_forget(s, guid);
	return 0;
}

static int apply_nothing(struct sa_server *s, const uint8_t *p)
{
	return 0;
}

int sa_journal_apply(struct sa_server *s, const uint8_t *records, size_t length)
{
	static const struct {
		size_t bytes;
		int (*apply)(struct sa_server *s, const uint8_t *p);
	} kinds[] = {
		[NOTHING] = { 1, apply_nothing },
		[MEMBER] = { MEMBER_BYTES, apply_member },
		[GROUP_END] = { GROUP_END_BYTES, apply_group_end },
		[CHOICE] = { CHOICE_BYTES, apply_choice },
		[ALIAS] = { ALIAS_BYTES, apply_alias },
	};
	int r = 0;

	while (length && r == 0) {
		uint8_t kind = records[0];

		if (kind > ALIAS || kinds[kind].bytes > length)
			return -EPROTO;
		r = kinds[kind].apply(s, records + 1);
		records += kinds[kind].bytes;
		length -= kinds[kind].bytes;
	}
	return r;
}
