/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The database as bytes, for a standby that takes over (spec/sa-sm 2.5). Numbers are
 * big-endian, records as on the wire:
 *
 *	magic 4, version 4, next assigned MGID 4,
 *	aliases 4, of each: port GUID 8, place among its GUIDs 2, GUID 8,
 *	groups 4, of each: MCMemberRecord 52, well-known 1, members 4,
 *	          of each: port GUID 8, JoinState 1, proxy 1,
 *	subscriptions 4, of each: port GUID 8, LID 2, P_Key 2, QP 4, SL 1, has GRH 1,
 *	          GID 16, InformInfo 36,
 *	services 4, of each: ServiceRecord 176, the lease what is left of it
 *
 * Loading reads twice: first all is checked, then all is taken, so that bad bytes leave the
 * database as it was.
 */
#include <errno.h>
#include <stdlib.h>

#include "fabric/sa/server_priv.h"

#define MAGIC   0x76627361u /* "vbsa" */
#define VERSION 2u

#define ALIAS_BYTES        (8u + 2u + 8u)
#define GROUP_BYTES        (SA_MCMEMBER_BYTES + 1u + 4u)
#define MEMBER_BYTES       10u
#define SUBSCRIPTION_BYTES (8u + 2u + 2u + 4u + 1u + 1u + 16u + SA_INFORM_BYTES)

/* -- writing ------------------------------------------------------------------------- */

struct writer {
	uint8_t *bytes;
	size_t length;
};

static void put(struct writer *w, uint64_t value, unsigned int bytes)
{
	for (unsigned int i = bytes; i--; value >>= 8)
		w->bytes[w->length + i] = (uint8_t)value;
	w->length += bytes;
}

static void put_bytes(struct writer *w, const void *bytes, size_t length)
{
	memcpy(w->bytes + w->length, bytes, length);
	w->length += length;
}

static size_t saved_bytes(const struct sa_server *s)
{
	return 7 * 4 + (size_t)s->aliases.count * ALIAS_BYTES +
	       (size_t)s->groups.count * GROUP_BYTES +
	       (size_t)s->members.count * MEMBER_BYTES +
	       (size_t)s->subscriptions.count * SUBSCRIPTION_BYTES +
	       (size_t)s->services.count * SA_SERVICE_BYTES;
}

static uint32_t count_confirmed(const struct sa_group *group)
{
	uint32_t count = 0;

	for (unsigned int i = 0; i < group->count; i++)
		count += sa_member_confirmed(group->members[i]) != 0;
	return count;
}

/* Who was not told so is no member: its join may come to nothing. */
static bool is_saved(const struct sa_group *group)
{
	return group->well_known || count_confirmed(group);
}

static void put_group(struct writer *w, const struct sa_group *group)
{
	sa_mcmember_put(w->bytes + w->length, &group->rec);
	w->length += SA_MCMEMBER_BYTES;
	put(w, group->well_known, 1);
	put(w, count_confirmed(group), 4);
	for (unsigned int i = 0; i < group->count; i++) {
		const struct sa_member *m = group->members[i];

		if (!sa_member_confirmed(m))
			continue;
		put(w, m->guid, 8);
		put(w, sa_member_confirmed(m), 1);
		put(w, m->proxy, 1);
	}
}

static void put_aliases(struct writer *w, const struct sa_server *s)
{
	put(w, s->aliases.count, 4);
	list_for_each(l, &s->alias_list) {
		const struct sa_alias *a = container_of(l, struct sa_alias, link);

		put(w, a->port_guid, 8);
		put(w, a->place, 2);
		put(w, a->guid, 8);
	}
}

static void put_groups(struct writer *w, const struct sa_server *s)
{
	uint32_t count = 0;

	sa_for_each_group(group, s)
		count += is_saved(group);
	put(w, count, 4);
	sa_for_each_group(group, s) {
		if (is_saved(group))
			put_group(w, group);
	}
}

static void put_subscription(struct writer *w, const struct sa_subscription *sub)
{
	put(w, sub->port_guid, 8);
	put(w, sub->to.lid, 2);
	put(w, sub->to.pkey, 2);
	put(w, sub->to.qp, 4);
	put(w, sub->to.sl, 1);
	put(w, sub->to.has_grh, 1);
	put_bytes(w, sub->to.gid.raw, sizeof(sub->to.gid.raw));
	sa_inform_info_put(w->bytes + w->length, &sub->info);
	w->length += SA_INFORM_BYTES;
}

static void put_service(struct writer *w, const struct sa_service_entry *entry)
{
	struct sa_service rec = entry->rec;

	rec.lease = sa_service_lease_left(entry);
	sa_service_put(w->bytes + w->length, &rec);
	w->length += SA_SERVICE_BYTES;
}

int sa_server_save(const struct sa_server *s, uint8_t **ret, size_t *ret_length)
{
	struct writer w = { .bytes = malloc(saved_bytes(s)) };

	if (!w.bytes)
		return -ENOMEM;
	put(&w, MAGIC, 4);
	put(&w, VERSION, 4);
	put(&w, s->next_mgid, 4);
	put_aliases(&w, s);
	put_groups(&w, s);
	put(&w, s->subscriptions.count, 4);
	list_for_each(l, &s->subscription_list)
		put_subscription(&w, container_of(l, struct sa_subscription, link));
	put(&w, s->services.count, 4);
	list_for_each(l, &s->service_list)
		put_service(&w, container_of(l, struct sa_service_entry, link));
	*ret = w.bytes;
	*ret_length = w.length;
	return 0;
}

/* -- reading ------------------------------------------------------------------------- */

/* A reader that has met bad bytes gives zeroes and stays bad. */
struct reader {
	struct sa_server *s;
	const uint8_t *bytes;
	size_t left;
	int error;
	bool apply;            /* the second time */
	struct sa_mlids mlids; /* of the groups so far */
};

static const uint8_t *take(struct reader *r, size_t length)
{
	static const uint8_t zeroes[SA_SERVICE_BYTES];
	const uint8_t *bytes = r->bytes;

	if (r->error || length > r->left) {
		if (!r->error)
			r->error = -EPROTO;
		return zeroes;
	}
	r->bytes += length;
	r->left -= length;
	return bytes;
}

static uint64_t get(struct reader *r, unsigned int bytes)
{
	const uint8_t *p = take(r, bytes);
	uint64_t value = 0;

	for (unsigned int i = 0; i < bytes; i++)
		value = value << 8 | p[i];
	return value;
}

static void check(struct reader *r, bool good)
{
	if (!good && !r->error)
		r->error = -EPROTO;
}

static void get_alias(struct reader *r)
{
	uint64_t port_guid = get(r, 8);
	unsigned int place = (unsigned int)get(r, 2);
	uint64_t guid = get(r, 8);

	check(r, port_guid && guid && place && place < SA_GUID_PLACES);
	if (r->apply && !r->error)
		r->error = sa_alias_keep(r->s, port_guid, place, guid);
}

static void get_member(struct reader *r, struct sa_group *group)
{
	uint64_t guid = get(r, 8);
	uint8_t state = (uint8_t)get(r, 1), joined;
	bool proxy = get(r, 1);

	check(r, guid && state && state <= 0xf);
	if (r->apply && !r->error)
		r->error = sa_group_join(r->s, group, guid, state, proxy, &joined);
}

/* An MGID may stand there twice only if somebody wrote it so; then the second is not
 * taken, but its members. */
static struct sa_group *keep_group(struct reader *r, const struct sa_mcmember *rec,
				   bool well_known)
{
	struct sa_group *group = sa_group_by_mgid(r->s, &rec->mgid);

	if (!group)
		r->error = sa_group_create(r->s, rec, &group);
	if (r->error)
		return NULL;
	group->well_known = group->well_known || well_known;
	return group;
}

bool sa_mcmember_is_sane(const struct sa_mcmember *rec)
{
	return rec->mgid.raw[0] == 0xff && ib_lid_is_multicast(rec->mlid) &&
	       sa_mtu_is_valid(rec->mtu) && smp_rate_speed(rec->rate);
}

static void get_group(struct reader *r)
{
	struct sa_group *group = NULL;
	struct sa_mcmember rec;
	bool well_known;
	uint64_t members;

	sa_mcmember_get(take(r, SA_MCMEMBER_BYTES), &rec);
	well_known = get(r, 1);
	members = get(r, 4);
	check(r, sa_mcmember_is_sane(&rec));
	check(r, members <= r->left / MEMBER_BYTES);
	/* Each has an MLID of its own. */
	if (!r->error)
		check(r, sa_mlid_take(&r->mlids, SA_MLIDS_MAX, rec.mlid) == rec.mlid);
	if (r->apply && !r->error)
		group = keep_group(r, &rec, well_known);
	for (uint64_t i = 0; i < members && !r->error; i++)
		get_member(r, group);
}

static void get_subscription(struct reader *r)
{
	struct sa_address to = { 0 };
	struct sa_inform_info info;
	uint64_t guid = get(r, 8);

	to.lid = (uint16_t)get(r, 2);
	to.port_lid = sa_first_lid(r->s, to.lid);
	to.pkey = (uint16_t)get(r, 2);
	to.qp = (uint32_t)get(r, 4);
	to.sl = (uint8_t)get(r, 1);
	to.has_grh = get(r, 1);
	memcpy(to.gid.raw, take(r, sizeof(to.gid.raw)), sizeof(to.gid.raw));
	sa_inform_info_get(take(r, SA_INFORM_BYTES), &info);
	check(r, guid && to.lid && !ib_lid_is_multicast(to.lid));
	if (r->apply && !r->error)
		r->error = sa_subscription_keep(r->s, &to, guid, &info);
}

static void get_service(struct reader *r)
{
	struct sa_service rec;

	sa_service_get(take(r, SA_SERVICE_BYTES), &rec);
	if (r->apply && !r->error)
		r->error = sa_service_keep(r->s, &rec, 0);
}

static void get_all(struct reader *r)
{
	uint32_t next_mgid;
	uint64_t count;

	check(r, get(r, 4) == MAGIC);
	check(r, get(r, 4) == VERSION);
	next_mgid = (uint32_t)get(r, 4);
	if (r->apply)
		r->s->next_mgid = next_mgid;
	count = get(r, 4);
	for (uint64_t i = 0; i < count && !r->error; i++)
		get_alias(r);
	count = get(r, 4);
	for (uint64_t i = 0; i < count && !r->error; i++)
		get_group(r);
	count = get(r, 4);
	for (uint64_t i = 0; i < count && !r->error; i++)
		get_subscription(r);
	count = get(r, 4);
	for (uint64_t i = 0; i < count && !r->error; i++)
		get_service(r);
	check(r, r->left == 0);
}

/* The well-known groups of our partitions, to be there whatever is loaded. */
struct own_groups {
	struct sa_mcmember *recs;
	uint32_t count;
};

static int own_groups_take(const struct sa_server *s, struct own_groups *own)
{
	own->count = 0;
	own->recs = malloc((s->groups.count + 1) * sizeof(*own->recs));
	if (!own->recs)
		return -ENOMEM;
	sa_for_each_group(group, s) {
		if (group->well_known)
			own->recs[own->count++] = group->rec;
	}
	return 0;
}

static int own_groups_give(struct sa_server *s, const struct own_groups *own)
{
	int r = 0;

	for (uint32_t i = 0; i < own->count && r == 0; i++) {
		struct sa_group *group = sa_group_by_mgid(s, &own->recs[i].mgid);

		if (!group)
			r = sa_group_create(s, &own->recs[i], &group);
		if (r == 0)
			group->well_known = true;
	}
	return r;
}

int sa_server_load(struct sa_server *s, const uint8_t *bytes, size_t length)
{
	struct reader r = { .s = s, .bytes = bytes, .left = length };
	struct own_groups own;
	bool up = s->up;
	int error;

	get_all(&r);
	if (r.error)
		return r.error;
	error = own_groups_take(s, &own);
	if (error < 0)
		return error;
	/* Nothing is routed or reported before all of it is there. */
	s->up = false;
	s->was_up = false;
	s->following.fed = s->following.in_step = false;
	sa_groups_destroy(s);
	sa_aliases_forget(s);
	sa_subscriptions_forget(s);
	sa_services_forget(s);
	r = (struct reader){ .s = s, .bytes = bytes, .left = length, .apply = true };
	get_all(&r);
	error = own_groups_give(s, &own);
	free(own.recs);
	if (up)
		sa_server_sm_ops.up(s);
	sa_journal_renew(s);
	return r.error ? r.error : error;
}
