/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SubnAdmGet and SubnAdmGetTable of MCMemberRecord (spec/sa-sm 1.5). Who knows the key
 * sees members, everybody else groups; nobody sees a group outside his partitions.
 */
#include "fabric/sa/server_priv.h"

struct query {
	struct sa_request *req;
	const struct subnet_port *requester;
	struct sa_mcmember rec; /* what is asked for */
	uint64_t mask;
	bool by_port; /* PortGID is named */
	uint64_t guid;
};

static bool fields_match(const struct query *q, const struct sa_mcmember *group)
{
	const struct sa_mcmember *rec = &q->rec;
	uint64_t mask = q->mask;

	return (!(mask & SA_MCM_QKEY) || rec->qkey == group->qkey) &&
	       (!(mask & SA_MCM_MLID) || rec->mlid == group->mlid) &&
	       (!(mask & SA_MCM_TCLASS) || rec->tclass == group->tclass) &&
	       (!(mask & SA_MCM_PKEY) || ib_pkeys_match(rec->pkey, group->pkey)) &&
	       (!(mask & SA_MCM_SL) || rec->sl == group->sl) &&
	       (!(mask & SA_MCM_FLOW_LABEL) || rec->flow_label == group->flow_label) &&
	       (!(mask & SA_MCM_HOP_LIMIT) || rec->hop_limit == group->hop_limit) &&
	       (!(mask & SA_MCM_SCOPE) || rec->scope == group->scope) &&
	       (!(mask & SA_MCM_MTU_SELECTOR) ||
		sa_mtu_is_selected(group->mtu, rec->mtu_selector, rec->mtu)) &&
	       (!(mask & SA_MCM_RATE_SELECTOR) ||
		sa_rate_is_selected(group->rate, rec->rate_selector, rec->rate));
}

/* All four bits are compared. */
static bool state_matches(const struct query *q, uint8_t state)
{
	return !(q->mask & SA_MCM_JOIN_STATE) || q->rec.join_state == state;
}

static bool proxy_matches(const struct query *q, bool proxy)
{
	return !(q->mask & SA_MCM_PROXY_JOIN) || !!q->rec.proxy_join == proxy;
}

static bool add(const struct query *q, const struct sa_mcmember *rec)
{
	uint8_t data[SA_MCMEMBER_BYTES];

	sa_mcmember_put(data, rec);
	return sa_request_add(q->req, data, sizeof(data));
}

static bool add_group(const struct query *q, const struct sa_group *group)
{
	struct sa_mcmember rec = group->rec;

	rec.join_state = 0;
	return add(q, &rec);
}

static bool add_member(const struct query *q, const struct sa_member *m)
{
	struct sa_mcmember rec = m->group->rec;

	if (!q->req->trusted)
		return add_group(q, m->group);
	sa_gid_put(&rec.port_gid, sm_subnet(q->req->server->sm)->prefix, m->guid);
	rec.join_state = m->join_state;
	rec.proxy_join = m->proxy;
	return add(q, &rec);
}

static bool visit_member(const struct query *q, const struct sa_member *m)
{
	if (!m || !state_matches(q, m->join_state) || !proxy_matches(q, m->proxy))
		return true;
	return add_member(q, m);
}

enum walk {
	GO_ON,
	PAUSE,
	ENOUGH,
};

static enum walk go_on(const struct query *q, bool wanted)
{
	if (!wanted)
		return ENOUGH;
	return sa_request_worked(q->req, 1) ? PAUSE : GO_ON;
}

/* From the last to the first, since the last takes the place of who leaves: nobody is
 * missed, and who is met twice between two steps was there. at.within is the number of
 * those that are left and one more, or 0. */
static enum walk visit_members(const struct query *q, const struct sa_group *group)
{
	struct sa_cursor *at = &q->req->at;
	enum walk walk = GO_ON;

	if (!at->within || at->within > group->count + 1)
		at->within = group->count + 1;
	while (at->within > 1 && walk == GO_ON) {
		at->within--;
		walk = go_on(q, visit_member(q, group->members[at->within - 1]));
	}
	if (walk == GO_ON)
		at->within = 0;
	return walk;
}

static enum walk visit(const struct query *q, const struct sa_group *group)
{
	if (!group || !fields_match(q, &group->rec) ||
	    !sa_port_has_base(q->requester, group->rec.pkey))
		return GO_ON;
	if (q->by_port)
		return go_on(q, visit_member(q, sa_member_find(q->req->server, group,
							       q->guid)));
	if (q->req->trusted)
		return visit_members(q, group);
	return go_on(q, !state_matches(q, group->rec.join_state) ||
				!proxy_matches(q, false) || add_group(q, group));
}

/* In the order of MLIDs: at.place is the next one's. */
static enum walk visit_all(const struct query *q)
{
	struct sa_cursor *at = &q->req->at;
	const struct sa_group *group;
	enum walk walk = GO_ON;

	while (walk == GO_ON && (group = sa_group_after(q->req->server, at->place))) {
		uint32_t place = sa_mlid_index(group->rec.mlid);

		if (place != at->place)
			at->within = 0; /* that group has gone */
		at->place = place;
		walk = visit(q, group);
		if (walk == GO_ON && sa_request_worked(q->req, 1))
			walk = PAUSE;
		/* Members that are left belong to it. */
		if (!at->within)
			at->place++;
	}
	return walk;
}

static int check(struct query *q)
{
	uint64_t mtu = SA_MCM_MTU | SA_MCM_MTU_SELECTOR;
	uint64_t rate = SA_MCM_RATE | SA_MCM_RATE_SELECTOR;

	/* spec/sa-sm 1.6 step 2 */
	if ((q->mask & rate) == rate && !sa_rate_is_valid(q->rec.rate))
		return SA_REQ_INVALID;
	if ((q->mask & mtu) == mtu && !sa_mtu_is_valid(q->rec.mtu))
		return SA_REQ_INVALID;
	q->requester = sa_request_port(q->req);
	return q->requester ? 0 : SA_SILENT;
}

int sa_mcmember_query(struct sa_request *req)
{
	struct query q = { .req = req, .mask = req->sa.comp_mask };
	const struct sa_server *s = req->server;
	enum walk walk;
	int status;

	sa_mcmember_get(sa_request_data(req), &q.rec);
	status = check(&q);
	if (status)
		return status;
	if (q.mask & SA_MCM_PORT_GID) {
		q.by_port = true;
		q.guid = sa_gid_guid(&q.rec.port_gid);
		if (!sa_gid_is_here(s, &q.rec.port_gid))
			return 0; /* nobody of that name is in any group */
	}
	if (q.mask & SA_MCM_MGID)
		walk = visit(&q, sa_group_by_mgid(s, &q.rec.mgid));
	else
		walk = visit_all(&q);
	return walk == PAUSE ? SA_GOES_ON : 0;
}
