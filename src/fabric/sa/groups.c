/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The group database: groups by MGID and MLID, members by group and GUID, and what a
 * membership's coming and going means to its group (spec/sa-sm 1.9 to 1.12). Nothing here
 * is searched: what one change costs does not grow with what there is.
 *
 * Differs: a port that holds FullMember and SendOnlyFullMember is one full member until it
 * has left both; in OpenSM the MLID of such a group is never free again.
 */
#include <errno.h>
#include <stdlib.h>

#include "fabric/sa/server_priv.h"

#define FULL_BITS    (SA_JOIN_FULL | SA_JOIN_SEND_ONLY_FULL)
#define RECEIVE_BITS (SA_JOIN_FULL | SA_JOIN_NON)

static uint32_t group_hash(const union ib_gid *mgid)
{
	return hash_bytes(0, mgid->raw, sizeof(mgid->raw));
}

static uint32_t guid_hash(uint64_t guid)
{
	return hash_bytes(0, &guid, sizeof(guid));
}

static uint32_t member_hash(const struct sa_group *group, uint64_t guid)
{
	return hash_bytes(group->by_mgid.value, &guid, sizeof(guid));
}

struct sa_group *sa_group_by_mgid(const struct sa_server *s, const union ib_gid *mgid)
{
	hash_for_each_match(node, &s->groups, group_hash(mgid)) {
		struct sa_group *group = container_of(node, struct sa_group, by_mgid);

		if (gid_equal(group->rec.mgid.raw, mgid->raw))
			return group;
	}
	return NULL;
}

struct sa_member *sa_member_find(const struct sa_server *s, const struct sa_group *group,
				 uint64_t guid)
{
	hash_for_each_match(node, &s->members, member_hash(group, guid)) {
		struct sa_member *m = container_of(node, struct sa_member, by_port);

		if (m->group == group && m->guid == guid)
			return m;
	}
	return NULL;
}

/* -- ports that have memberships ----------------------------------------------------- */

static struct sa_member_port *port_find(const struct sa_server *s, uint64_t guid)
{
	hash_for_each_match(node, &s->member_ports, guid_hash(guid)) {
		struct sa_member_port *port =
			container_of(node, struct sa_member_port, by_guid);

		if (port->guid == guid)
			return port;
	}
	return NULL;
}

static struct sa_member_port *port_get(struct sa_server *s, uint64_t guid)
{
	struct sa_member_port *port = port_find(s, guid);

	if (port)
		return port;
	port = calloc(1, sizeof(*port));
	if (!port)
		return NULL;
	port->guid = guid;
	list_init(&port->members);
	hash_insert(&s->member_ports, &port->by_guid, guid_hash(guid));
	return port;
}

static void port_put(struct sa_server *s, struct sa_member_port *port)
{
	if (!list_empty(&port->members))
		return;
	hash_remove(&s->member_ports, &port->by_guid);
	free(port);
}

/* -- members ------------------------------------------------------------------------- */

static int group_make_room(struct sa_group *group)
{
	unsigned int room = group->room ? group->room * 2 : 4;
	void *members, *ports;

	if (group->count < group->room)
		return 0;
	members = realloc(group->members, room * sizeof(*group->members));
	if (!members)
		return -ENOMEM;
	group->members = members;
	ports = realloc(group->ports, room * sizeof(*group->ports));
	if (!ports)
		return -ENOMEM;
	group->ports = ports;
	group->room = room;
	return 0;
}

static int member_create(struct sa_server *s, struct sa_group *group, uint64_t guid,
			 bool proxy, struct sa_member **ret)
{
	struct sa_member_port *port;
	struct sa_member *m;

	if (group_make_room(group) < 0)
		return -ENOMEM;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	port = port_get(s, sa_port_guid_of(s, guid));
	if (!port) {
		free(m);
		return -ENOMEM;
	}
	m->group = group;
	m->port = port;
	m->guid = guid;
	m->proxy = proxy;
	m->place = group->count;
	group->members[group->count] = m;
	group->ports[group->count] = (struct sm_mc_member){ .port_guid = port->guid };
	group->count++;
	list_append(&port->members, &m->link);
	hash_insert(&s->members, &m->by_port, member_hash(group, guid));
	*ret = m;
	return 0;
}

/* The last of the group takes its place. */
static void member_destroy(struct sa_server *s, struct sa_member *m)
{
	struct sa_group *group = m->group;
	struct sa_member *last = group->members[--group->count];

	group->members[m->place] = last;
	group->ports[m->place] = group->ports[group->count];
	last->place = m->place;
	hash_remove(&s->members, &m->by_port);
	list_remove(&m->link);
	port_put(s, m->port);
	free(m);
}

/* What bits mean to the SM, and whether the group's full members are more or fewer. True:
 * the SM has to be told. */
static bool member_set_state(struct sa_member *m, uint8_t bits)
{
	struct sm_mc_member *port = &m->group->ports[m->place];
	bool was_full = m->join_state & FULL_BITS, full = bits & FULL_BITS;
	bool is_new = !m->join_state, receives = bits & RECEIVE_BITS;
	bool tell = is_new || !bits || receives != port->receives;

	m->group->full_members += full;
	m->group->full_members -= was_full;
	port->receives = receives;
	m->join_state = bits;
	return tell;
}

static void group_drop_members(struct sa_server *s, struct sa_group *group)
{
	while (group->count)
		member_destroy(s, group->members[group->count - 1]);
	group->full_members = 0;
}

/* -- groups -------------------------------------------------------------------------- */

static uint32_t mlid_capacity(const struct sa_server *s)
{
	/* Before the first sweep only the partitions' groups are made. */
	return s->up ? sm_mlid_capacity(s->sm) : SA_MLIDS_MAX;
}

int sa_group_create(struct sa_server *s, const struct sa_mcmember *rec,
		    struct sa_group **ret)
{
	struct sa_group *group;
	uint16_t mlid = sa_mlid_take(&s->mlids, mlid_capacity(s), rec->mlid);

	if (!mlid)
		return -ENOSPC;
	group = calloc(1, sizeof(*group));
	if (!group) {
		sa_mlid_give(&s->mlids, mlid);
		return -ENOMEM;
	}
	group->rec = *rec;
	group->rec.mlid = mlid;
	group->rec.mtu_selector = SA_SELECT_EQ;
	group->rec.rate_selector = SA_SELECT_EQ;
	group->rec.lifetime_selector = SA_SELECT_EQ;
	memset(&group->rec.port_gid, 0, sizeof(group->rec.port_gid));
	group->rec.proxy_join = 0;
	hash_insert(&s->groups, &group->by_mgid, group_hash(&rec->mgid));
	s->by_mlid[sa_mlid_index(mlid)] = group;
	*ret = group;
	return 0;
}

void sa_group_destroy(struct sa_server *s, struct sa_group *group)
{
	group_drop_members(s, group);
	hash_remove(&s->groups, &group->by_mgid);
	s->by_mlid[sa_mlid_index(group->rec.mlid)] = NULL;
	sa_mlid_give(&s->mlids, group->rec.mlid);
	free(group->members);
	free(group->ports);
	free(group);
}

void sa_group_end(struct sa_server *s, struct sa_group *group)
{
	if (group->well_known)
		group_drop_members(s, group);
	else
		sa_group_destroy(s, group);
}

/* The last full member has gone: the rest go silently, and the group unless it is
 * well-known (spec/sa-sm 1.11). */
static void group_lost_full(struct sa_server *s, struct sa_group *group)
{
	sa_report_group(s, TRAP_MGID_DELETED, group);
	sa_journal_group_end(s, group);
	sa_group_end(s, group);
}

void sa_member_confirm(struct sa_server *s, struct sa_member *m, uint8_t bits)
{
	m->unconfirmed &= (uint8_t)~bits;
	sa_journal_member(s, m->group, m->guid, sa_member_confirmed(m), m->proxy);
}

int sa_member_set(struct sa_server *s, struct sa_group *group, uint64_t guid,
		  uint8_t join_state, bool proxy)
{
	struct sa_member *m = sa_member_find(s, group, guid);
	int r = 0;

	if (!m && join_state)
		r = member_create(s, group, guid, proxy, &m);
	if (r < 0 || !m)
		return r;
	member_set_state(m, join_state);
	if (!join_state)
		member_destroy(s, m);
	return 0;
}

int sa_group_join(struct sa_server *s, struct sa_group *group, uint64_t guid,
		  uint8_t bits, bool proxy, uint8_t *ret_joined)
{
	struct sa_member *m = sa_member_find(s, group, guid);
	unsigned int before = group->full_members;
	int r;

	if (!m) {
		r = member_create(s, group, guid, proxy, &m);
		if (r < 0)
			return r;
	}
	*ret_joined = bits & (uint8_t)~m->join_state;
	if (member_set_state(m, m->join_state | bits))
		sa_route_changed(s, group->rec.mlid);
	if (!before && group->full_members)
		sa_report_group(s, TRAP_MGID_CREATED, group);
	return 0;
}

/* spec/sa-sm 1.11: what a membership is after these bits are left. */
static uint8_t state_left(const struct sa_member *m, uint8_t bits)
{
	uint8_t left = m->join_state & (uint8_t)~bits;
	unsigned int others = m->group->full_members - !!(m->join_state & FULL_BITS);

	return (left & FULL_BITS) || others ? left : 0;
}

uint8_t sa_member_leave(struct sa_server *s, struct sa_member *m, uint8_t bits)
{
	struct sa_group *group = m->group;
	uint16_t mlid = group->rec.mlid;
	unsigned int before = group->full_members;
	uint8_t left;
	bool tell, lost;

	bits |= sa_route_void(s, m, bits);
	left = state_left(m, bits);
	tell = member_set_state(m, left);
	sa_member_confirm(s, m, bits);
	if (!left)
		member_destroy(s, m);
	lost = before && !group->full_members;
	if (lost)
		group_lost_full(s, group);
	if (tell || lost)
		sa_route_changed(s, mlid);
	return left;
}

void sa_member_undo(struct sa_server *s, struct sa_member *m, uint8_t bits)
{
	struct sa_group *group = m->group;
	uint16_t mlid = group->rec.mlid;
	unsigned int before = group->full_members;
	uint8_t left;
	bool tell, lost;

	bits |= sa_route_void(s, m, bits);
	left = m->join_state & (uint8_t)~bits;
	tell = member_set_state(m, left);
	sa_member_confirm(s, m, bits);
	if (!left)
		member_destroy(s, m);
	lost = before && !group->full_members;
	if (lost && group->well_known)
		sa_report_group(s, TRAP_MGID_DELETED, group);
	else if (lost)
		group_lost_full(s, group);
	if (tell || lost)
		sa_route_changed(s, mlid);
}

static struct sa_member *find_joined(const struct sa_server *s, uint64_t port_guid,
				     uint64_t guid)
{
	const struct sa_member_port *port = port_find(s, port_guid);

	if (!port)
		return NULL;
	list_for_each(l, &port->members) {
		struct sa_member *m = container_of(l, struct sa_member, link);

		if (m->guid == guid)
			return m;
	}
	return NULL;
}

bool sa_guid_is_joined(const struct sa_server *s, uint64_t port_guid, uint64_t guid)
{
	return find_joined(s, port_guid, guid);
}

void sa_guid_leave(struct sa_server *s, uint64_t port_guid, uint64_t guid)
{
	struct sa_member *m;

	while ((m = find_joined(s, port_guid, guid)))
		sa_member_leave(s, m, 0xf);
}

void sa_port_forget(struct sa_server *s, uint64_t port_guid)
{
	struct sa_member_port *port;

	/* Leaving frees the port with its last membership, and a group that goes takes
	 * members of others with it, never of this port twice. */
	while ((port = port_find(s, port_guid)))
		sa_member_leave(
			s, container_of(port->members.next, struct sa_member, link), 0xf);
}

struct sa_group *sa_group_after(const struct sa_server *s, uint32_t index)
{
	index = sa_mlid_next(&s->mlids, index);
	return index < SA_MLIDS_MAX ? s->by_mlid[index] : NULL;
}

void sa_groups_forget(struct sa_server *s)
{
	sa_assigned_forget(s);
	sa_for_each_group(group, s) {
		if (group->well_known)
			group_drop_members(s, group);
		else
			sa_group_destroy(s, group);
	}
}

void sa_groups_destroy(struct sa_server *s)
{
	sa_assigned_forget(s);
	sa_for_each_group(group, s)
		sa_group_destroy(s, group);
}

/* -- of partitions: spec/sa-sm 1.10 -------------------------------------------------- */

#define DEFAULT_MTU  4u
#define DEFAULT_RATE 3u
#define LINK_LOCAL   2u

/* ff1S:401b:PPPP::ffff:ffff */
static void broadcast_mgid(uint8_t mgid[16], uint16_t pkey, unsigned int scope)
{
	memset(mgid, 0, 16);
	mgid[0] = 0xff;
	mgid[1] = (uint8_t)(0x10 | scope);
	mgid[2] = 0x40;
	mgid[3] = 0x1b;
	wire_put16(mgid + 4, pkey);
	memset(mgid + 12, 0xff, 4);
}

static int partition_group(struct sa_server *s, const struct sm_partition *partition,
			   const struct sm_partition_group *g)
{
	struct sa_mcmember rec = {
		.qkey = g->qkey,
		.mtu = g->mtu ? g->mtu : DEFAULT_MTU,
		.rate = g->rate ? g->rate : DEFAULT_RATE,
		.pkey = partition->pkey | IB_PKEY_FULL_MEMBER,
		.sl = g->sl,
		.tclass = g->tclass,
		.flow_label = g->flow_label,
		.lifetime = SA_LIFE_TIME,
		.scope = g->mgid[1] & 0xf,
		.join_state = SA_JOIN_FULL, /* as if somebody had created it */
	};
	struct sa_group *group;
	int r;

	memcpy(rec.mgid.raw, g->mgid, sizeof(rec.mgid.raw));
	if (sa_group_by_mgid(s, &rec.mgid))
		return 0;
	r = sa_group_create(s, &rec, &group);
	if (r < 0)
		return r;
	group->well_known = true;
	return 0;
}

static int broadcast_group(struct sa_server *s, const struct sm_partition *partition,
			   unsigned int scope)
{
	struct sm_partition_group g = {
		.mtu = partition->mtu,
		.rate = partition->rate,
		.sl = partition->sl,
		.qkey = SM_IPOIB_QKEY,
	};

	broadcast_mgid(g.mgid, partition->pkey | IB_PKEY_FULL_MEMBER, scope);
	return partition_group(s, partition, &g);
}

static int partition_groups(struct sa_server *s, const struct sm_partition *partition)
{
	uint16_t scopes = partition->scopes ? partition->scopes : 1u << LINK_LOCAL;
	int r = 0;

	for (unsigned int scope = 0; partition->ipoib && scope < 16 && r == 0; scope++)
		if (scopes & 1u << scope)
			r = broadcast_group(s, partition, scope);
	for (unsigned int i = 0; i < partition->group_count && r == 0; i++)
		r = partition_group(s, partition, &partition->groups[i]);
	return r;
}

int sa_groups_from_partitions(struct sa_server *s, const struct sm_partition *partitions,
			      unsigned int count)
{
	static const struct sm_partition all = { .pkey = 0x7fff, .ipoib = true };
	int r = 0;

	if (!partitions)
		return partition_groups(s, &all);
	for (unsigned int i = 0; i < count && r == 0; i++)
		r = partition_groups(s, &partitions[i]);
	return r;
}
