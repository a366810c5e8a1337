/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of those who join (spec/kernel 2.4, 2.8, 2.10), and members.
 */
#include <stdlib.h>

#include "base/log.h"
#include "core/sa/sa_priv.h"

/* -- members ------------------------------------------------------------------------ */

void ib_sa_member_count(struct sa_member *member, int change)
{
	for (u32 bit = 0; bit < SA_JOIN_KINDS; bit++)
		if (member->join_state & 1u << bit)
			member->group->counts[bit] += (u32)change;
}

/* What its bits were counted for is given up by the worker, if nobody else has them. */
void ib_sa_member_free(struct sa_member *member)
{
	struct sa_group *group = member->group;
	struct ib_sa_client *client = member->client;

	if (member->state == SA_MEMBER_JOINED)
		ib_sa_member_count(member, -1);
	list_remove(&member->link);
	if (group->last_join == member)
		group->last_join = NULL;
	group->members--;
	free(member);
	ib_sa_group_wake(group);
	ib_sa_client_put(client);
}

void ib_sa_member_call(struct sa_member *member, int status)
{
	bool over;

	member->in_callback = true;
	over = member->multicast.callback(status, &member->multicast);
	member->in_callback = false;
	if (over || member->freed_in_callback)
		ib_sa_member_free(member);
}

/* -- calls -------------------------------------------------------------------------- */

/* Spec/kernel 2.4: of the record nothing is checked. */
struct ib_sa_multicast *
ib_sa_join_multicast(struct ib_sa_client *client, struct ib_device *device, u32 port_num,
		     const struct ib_sa_mcmember_rec *rec, ib_sa_comp_mask comp_mask,
		     int (*callback)(int status, struct ib_sa_multicast *multicast),
		     void *context)
{
	struct sa_member *member;
	struct sa_port *port;
	int r;

	port = ib_sa_port_find(device, port_num, &r);
	if (!port)
		return ERR_PTR(r);
	member = calloc(1, sizeof(*member));
	if (!member)
		return ERR_PTR(-ENOMEM);
	member->group = ib_sa_group_get(port, &rec->mgid);
	if (!member->group) {
		free(member);
		return ERR_PTR(-ENOMEM);
	}
	member->multicast = (struct ib_sa_multicast){ .rec = *rec,
						      .comp_mask = comp_mask,
						      .callback = callback,
						      .context = context };
	member->join_state = rec->join_state;
	member->client = client;
	ib_sa_client_get(client);
	list_append(&member->group->pending, &member->link);
	member->group->members++;
	ib_sa_group_wake(member->group);
	return &member->multicast;
}

/* Differs: a member freed in its own callback goes when that returns; Linux waits for it,
 * and for ever. */
void ib_sa_free_multicast(struct ib_sa_multicast *multicast)
{
	struct sa_member *member = container_of(multicast, struct sa_member, multicast);

	if (!member->in_callback) {
		ib_sa_member_free(member);
		return;
	}
	log_error("a multicast member is freed in its own callback, instead of by what "
		  "that returns");
	member->freed_in_callback = true;
}

int ib_sa_get_mcmember_rec(struct ib_device *device, u32 port_num,
			   const union ib_gid *mgid, struct ib_sa_mcmember_rec *rec)
{
	const struct sa_group *group;
	struct sa_port *port;
	int r;

	port = ib_sa_port_find(device, port_num, &r);
	if (!port)
		return r;
	group = ib_sa_group_find(port, mgid);
	if (!group || !group->rec.join_state)
		return -EADDRNOTAVAIL;
	*rec = group->rec;
	return 0;
}

void ib_sa_each_group(struct ib_device *device,
		      void (*fn)(void *arg, const struct ib_sa_group_view *group),
		      void *arg)
{
	struct sa_device *sa = device->sa;

	for (u32 p = 0; sa && p < sa->port_count; p++) {
		list_for_each_safe(l, &sa->ports[p].groups) {
			const struct sa_group *group =
				container_of(l, struct sa_group, link);
			struct ib_sa_group_view view = { .port_num = p,
							 .rec = group->rec };

			for (u32 bit = 0; bit < SA_JOIN_KINDS; bit++)
				view.members[bit] = group->counts[bit];
			fn(arg, &view);
		}
	}
}
