/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a group does, one step after the other (spec/kernel 2.6): tell its members that it
 * is lost, decide or ask for whoever comes first, give up what nobody needs. One request
 * is under way at most; while it is, the worker rests. A run does a few steps, so that a
 * group of many members leaves the others their turn.
 */
#include <endian.h>

#include "core/sa/sa_priv.h"

#define STEPS_A_RUN 32

void ib_sa_group_wake(struct sa_group *group)
{
	if (group->state != SA_GROUP_IDLE)
		return;
	group->state = SA_GROUP_BUSY;
	timer_arm(&group->worker, 0);
}

static struct sa_member *first(const struct list *members)
{
	return list_empty(members) ? NULL
				   : container_of(members->next, struct sa_member, link);
}

static void fail(struct sa_member *member, int status)
{
	list_remove(&member->link);
	member->state = SA_MEMBER_ERROR;
	ib_sa_member_call(member, status);
}

/* -- asking the SA ------------------------------------------------------------------ */

static int ask(struct sa_group *group, u8 method, const struct ib_sa_mcmember_rec *rec,
	       ib_sa_comp_mask comp_mask, sa_query_fn done)
{
	u8 record[SA_MCMEMBER_BYTES];
	struct sa_request request = {
		.method = method,
		.attribute = SA_MCMEMBER_RECORD,
		.comp_mask = comp_mask,
		.record = record,
		.record_bytes = sizeof(record),
		.timeout_ms = SA_TIMEOUT_MS,
	};

	ib_sa_pack_mcmember(rec, record);
	return ib_sa_query_start(&group->query, group->port, &request, done);
}

static u16 pkey_place(const struct sa_group *group, be16 pkey)
{
	struct ib_device *ib = group->port->device->ib;
	u16 index;

	if (!ib || ib_find_pkey(ib, group->port->num, be16toh(pkey), &index) < 0)
		return SA_PKEY_UNKNOWN;
	return index;
}

bool ib_sa_group_is_lost(struct sa_group *group)
{
	u16 index = pkey_place(group, group->rec.pkey);

	return index == SA_PKEY_UNKNOWN || index != group->pkey_index;
}

/*
 * The SA has chosen an MGID that another group of this port has: it has forgotten that
 * one, or somebody has joined it by its name (spec/kernel 7.1). The other group takes over
 * what the SA now knows of it, and gives up what nobody there needs; ours asks again, for
 * another. Differs: Linux loses one of the two.
 */
static void collide(struct sa_group *group, struct sa_group *other,
		    const struct ib_sa_mcmember_rec *rec)
{
	u8 join_state = other->rec.join_state | rec->join_state;

	other->rec = *rec;
	other->rec.join_state = join_state;
	other->regained |= rec->join_state;
	ib_sa_group_wake(other);
	group->is_answered = group->is_named || group->name_retries == 0;
	if (group->name_retries)
		group->name_retries--;
}

/* The group is as the SA says, whatever was asked for. */
static void take_record(struct sa_group *group, const u8 *mad)
{
	struct ib_sa_mcmember_rec rec = { 0 };
	struct sa_group *other = NULL;

	ib_sa_unpack_mcmember(mad + SA_DATA, &rec);
	if (!gid_equal(rec.mgid.raw, group->key.raw))
		other = ib_sa_group_find(group->port, &rec.mgid);
	if (other) {
		collide(group, other, &rec);
		return;
	}
	if (group->state == SA_GROUP_BUSY && group->pkey_index == SA_PKEY_UNKNOWN)
		group->pkey_index = pkey_place(group, rec.pkey);
	group->rec = rec;
	group->is_answered = true;
	if (!gid_equal(rec.mgid.raw, group->key.raw))
		ib_sa_group_rename(group, &rec.mgid);
}

static void join_is_answered(struct sa_query *query, int status, const u8 *mad,
			     size_t length)
{
	struct sa_group *group = container_of(query, struct sa_group, query);
	struct sa_member *member = group->last_join;

	(void)length;
	if (status == 0)
		take_record(group, mad);
	else if (member && member == first(&group->pending))
		fail(member, status);
	ib_sa_worker_run(&group->worker);
}

static int ask_to_join(struct sa_group *group, struct sa_member *member)
{
	group->last_join = member;
	group->is_answered = false;
	return ask(group, MAD_METHOD_SET, &member->multicast.rec,
		   member->multicast.comp_mask, join_is_answered);
}

static int ask_to_leave(struct sa_group *group);

/* Lost, or refused: again, as often as the object may; then as if it had been done. */
static void leave_is_answered(struct sa_query *query, int status, const u8 *mad,
			      size_t length)
{
	struct sa_group *group = container_of(query, struct sa_group, query);

	(void)mad, (void)length;
	if (status && group->leave_retries && ask_to_leave(group) == 0)
		group->leave_retries--;
	else
		ib_sa_worker_run(&group->worker);
}

static int ask_to_leave(struct sa_group *group)
{
	struct ib_sa_mcmember_rec rec = group->rec;
	u64 mask = SA_MCM_MGID | SA_MCM_PORT_GID | SA_MCM_JOIN_STATE;

	rec.join_state = group->leave_state;
	return ask(group, MAD_METHOD_DELETE, &rec, ib_sa_comp_mask_from_host(mask),
		   leave_is_answered);
}

/* -- steps: true, if there may be another ------------------------------------------- */

static bool lose(struct sa_group *group)
{
	struct sa_member *member = first(&group->active);

	if (group->state == SA_GROUP_PKEY_EVENT) {
		if (!ib_sa_group_is_lost(group)) {
			group->state = SA_GROUP_BUSY;
			return true;
		}
		group->state = SA_GROUP_ERROR;
	}
	if (member) {
		ib_sa_member_count(member, -1);
		fail(member, -ENETRESET);
		return true;
	}
	group->rec.join_state = group->regained;
	group->pkey_index =
		SA_PKEY_UNKNOWN; /* Linux keeps the old one (spec/kernel 7.1) */
	group->is_answered = false;
	group->state = SA_GROUP_BUSY;
	return true;
}

/* Without the SA: it has been told of all that the member wants. */
static void decide(struct sa_group *group, struct sa_member *member)
{
	struct ib_sa_multicast *multicast = &member->multicast;

	if (!ib_sa_record_does(&group->rec, &multicast->rec, multicast->comp_mask)) {
		fail(member, -EINVAL);
		return;
	}
	member->state = SA_MEMBER_JOINED;
	ib_sa_member_count(member, 1);
	multicast->rec = group->rec;
	multicast->rec.join_state = member->join_state;
	list_remove(&member->link);
	list_append(&group->active, &member->link);
	ib_sa_member_call(member, 0);
}

static bool join(struct sa_group *group, struct sa_member *member)
{
	int r;

	if ((member->join_state & ~group->rec.join_state) == 0) {
		decide(group, member);
		return true;
	}
	/* The SA has said yes, and yet not to that. Differs: Linux asks for ever. */
	if (group->is_answered && group->last_join == member) {
		fail(member, -EINVAL);
		return true;
	}
	r = ask_to_join(group, member);
	if (r == 0)
		return false;
	fail(member, r);
	return true;
}

static u8 unneeded(const struct sa_group *group)
{
	u8 needed = 0;

	for (u32 bit = 0; bit < SA_JOIN_KINDS; bit++)
		if (group->counts[bit])
			needed |= (u8)(1u << bit);
	return group->rec.join_state & (u8)~needed;
}

static bool rest(struct sa_group *group)
{
	group->leave_state = unneeded(group);
	if (group->leave_state) {
		group->rec.join_state &= (u8)~group->leave_state;
		return ask_to_leave(group) < 0;
	}
	group->state = SA_GROUP_IDLE;
	ib_sa_group_put(group);
	return false;
}

static bool step(struct sa_group *group)
{
	if (group->state != SA_GROUP_BUSY)
		return lose(group);
	if (!list_empty(&group->pending))
		return join(group, first(&group->pending));
	return rest(group);
}

void ib_sa_worker_run(struct timer *timer)
{
	struct sa_group *group = container_of(timer, struct sa_group, worker);

	for (int i = 0; i < STEPS_A_RUN; i++)
		if (!step(group))
			return;
	timer_arm(&group->worker, 0);
}
