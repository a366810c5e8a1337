/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SubnAdmSet and SubnAdmDelete of MCMemberRecord: join, create and leave. The order of the
 * checks is the specification's, since the status of the first that fails is what clients
 * and tools compare (spec/sa-sm 1.6, 1.11).
 */
#include <errno.h>

#include "fabric/sa/server_priv.h"

#define JOIN_MASK (SA_MCM_MGID | SA_MCM_PORT_GID | SA_MCM_JOIN_STATE)
#define CREATE_MASK                                                          \
	(JOIN_MASK | SA_MCM_QKEY | SA_MCM_TCLASS | SA_MCM_PKEY | SA_MCM_SL | \
	 SA_MCM_FLOW_LABEL)
#define CREATOR_BITS (SA_JOIN_FULL | SA_JOIN_SEND_ONLY_FULL)

#define BASE(pkey) ((pkey)&0x7fffu)

/* Where ProxyJoin lies in the record: echoed as it came (spec/sa-sm 1.3). */
#define PROXY_BYTE 49u

/* A join or leave between its checks. */
struct change {
	struct sa_server *s;
	struct sa_mcmember rec;
	uint64_t mask;
	const struct subnet_port *requester, *port;
	uint64_t guid; /* one of the port's that is to be a member */
	bool proxy;
	struct sa_group *group;
};

static bool has(uint64_t mask, uint64_t components)
{
	return (mask & components) == components;
}

/* Steps 1 to 3, which Delete shares. */
static int change_begin(struct change *c, struct sa_request *req)
{
	c->s = req->server;
	c->mask = req->sa.comp_mask;
	sa_mcmember_get(sa_request_data(req), &c->rec);
	c->guid = sa_gid_guid(&c->rec.port_gid);
	if (!has(c->mask, JOIN_MASK))
		return SA_INSUFFICIENT_COMPONENTS;
	if (has(c->mask, SA_MCM_RATE | SA_MCM_RATE_SELECTOR) &&
	    !sa_rate_is_valid(c->rec.rate))
		return SA_REQ_INVALID;
	if (has(c->mask, SA_MCM_MTU | SA_MCM_MTU_SELECTOR) &&
	    !sa_mtu_is_valid(c->rec.mtu))
		return SA_REQ_INVALID;
	if (!sa_gid_is_here(c->s, &c->rec.port_gid))
		return SA_REQ_INVALID_GID;
	return 0;
}

/* -- comparing ----------------------------------------------------------------------- */

/* The bases are equal, and not both are limited: step 9'. */
static bool pkeys_agree(uint16_t group, uint16_t asked)
{
	return BASE(group) == BASE(asked) && ((group | asked) & IB_PKEY_FULL_MEMBER);
}

bool sa_mcmember_agrees(const struct sa_mcmember *group, const struct sa_mcmember *rec,
			uint64_t mask)
{
	if ((mask & SA_MCM_QKEY) && rec->qkey != group->qkey)
		return false;
	if ((mask & SA_MCM_PKEY) && !pkeys_agree(group->pkey, rec->pkey))
		return false;
	if ((mask & SA_MCM_TCLASS) && rec->tclass != group->tclass)
		return false;
	if ((mask & SA_MCM_SL) && rec->sl != group->sl)
		return false;
	if ((mask & SA_MCM_FLOW_LABEL) && rec->flow_label != group->flow_label)
		return false;
	return !(mask & SA_MCM_HOP_LIMIT) || rec->hop_limit == group->hop_limit;
}

/* Step 15: the selector's component alone is enough. */
static bool selectors_agree(const struct change *c)
{
	const struct sa_mcmember *group = &c->group->rec, *rec = &c->rec;

	if ((c->mask & SA_MCM_MTU_SELECTOR) &&
	    !sa_mtu_is_selected(group->mtu, rec->mtu_selector, rec->mtu))
		return false;
	return !(c->mask & SA_MCM_RATE_SELECTOR) ||
	       sa_rate_is_selected(group->rate, rec->rate_selector, rec->rate);
}

/* -- create -------------------------------------------------------------------------- */

/* spec/sa-sm 1.7 */
static int choose_mtu_and_rate(const struct change *c, struct sa_mcmember *rec)
{
	rec->mtu = sa_port_mtu(c->port);
	rec->rate = sa_port_rate(c->port);
	if (has(c->mask, SA_MCM_MTU | SA_MCM_MTU_SELECTOR))
		rec->mtu = sa_mtu_realise(rec->mtu, c->rec.mtu_selector, c->rec.mtu);
	if (has(c->mask, SA_MCM_RATE | SA_MCM_RATE_SELECTOR))
		rec->rate = sa_rate_realise(rec->rate, c->rec.rate_selector, c->rec.rate);
	return rec->mtu && rec->rate ? 0 : SA_REQ_INVALID;
}

static uint8_t assigned_scope(const struct change *c)
{
	return c->mask & SA_MCM_SCOPE ? c->rec.scope : 2;
}

/* What the mask does not name is no part of the group (step 14), but for the scope, which
 * answers repeat (step 20). MLIDs are a wish with or without their component: 1.9. */
static void template_of(const struct change *c, struct sa_mcmember *rec)
{
	*rec = c->rec;
	if (!(c->mask & SA_MCM_LIFETIME))
		rec->lifetime = 0;
	if (!(c->mask & SA_MCM_HOP_LIMIT))
		rec->hop_limit = 0;
}

static int create(struct change *c)
{
	struct sa_mcmember rec;
	int status, r;

	/* Steps 9 and 10. */
	if (!(c->rec.join_state & CREATOR_BITS))
		return SA_REQ_INVALID;
	if (!has(c->mask, CREATE_MASK))
		return SA_INSUFFICIENT_COMPONENTS;
	template_of(c, &rec);
	if (gid_is_zero(rec.mgid.raw)) {
		if (!sa_mgid_assign(c->s, assigned_scope(c), &rec.mgid))
			return SA_NO_RESOURCES;
	} else {
		status = sa_mgid_check(c->s, &rec, c->mask);
		if (status)
			return status;
	}
	status = choose_mtu_and_rate(c, &rec);
	if (status)
		return status;
	r = sa_group_create(c->s, &rec, &c->group);
	return r < 0 ? SA_NO_RESOURCES : 0;
}

/* -- join ---------------------------------------------------------------------------- */

/* Steps 4 to 7. */
static int check_ports(struct change *c, struct sa_request *req)
{
	c->port = sa_port_of_guid(c->s, c->guid);
	if (!c->port)
		return SA_REQ_INVALID;
	c->requester = sa_request_port(req);
	if (!c->requester)
		return SA_SILENT;
	c->proxy = c->requester != c->port;
	if (c->proxy && !subnet_ports_share_pkey(c->requester, c->port))
		return SA_REQ_INVALID;
	if ((c->mask & SA_MCM_PKEY) && !BASE(c->rec.pkey))
		return SA_REQ_INVALID;
	return 0;
}

/* Step 19: who may change what is there. */
static bool may_change(const struct change *c, const struct sa_member *m)
{
	if (m->proxy)
		return sa_port_has_base(c->requester, c->group->rec.pkey);
	return subnet_port_guid(c->requester) == m->port->guid;
}

/* Steps 15 to 19. */
static int check_join(const struct change *c)
{
	const struct sa_mcmember *group = &c->group->rec;
	const struct sa_member *m;

	if (!selectors_agree(c))
		return SA_REQ_INVALID;
	if (sa_port_mtu(c->port) < group->mtu ||
	    sa_rate_compare(sa_port_rate(c->port), group->rate) < 0)
		return SA_REQ_INVALID;
	if (!c->rec.join_state)
		return SA_REQ_INVALID;
	if (!sa_port_has_base(c->port, group->pkey))
		return SA_REQ_INVALID;
	m = sa_member_find(c->s, c->group, c->guid);
	return !m || may_change(c, m) ? 0 : SA_REQ_INVALID;
}

static void answer(struct sa_request *req, const struct sa_mcmember *rec)
{
	uint8_t data[SA_MCMEMBER_BYTES];

	sa_mcmember_put(data, rec);
	data[PROXY_BYTE] = sa_request_data(req)[PROXY_BYTE];
	sa_request_answer(req, data, sizeof(data));
}

/* Step 20. */
static int join(struct change *c, struct sa_request *req)
{
	struct sa_mcmember rec = c->group->rec;
	struct sa_member *m;
	uint8_t joined;
	int r;

	r = sa_group_join(c->s, c->group, c->guid, c->rec.join_state, c->proxy, &joined);
	if (r < 0)
		return SA_NO_RESOURCES;
	rec.port_gid = c->rec.port_gid;
	m = sa_member_find(c->s, c->group, c->guid);
	rec.join_state = m->join_state;
	answer(req, &rec);
	req->mgid = rec.mgid;
	req->guid = c->guid;
	req->joined = joined;
	if (sa_route_wait(req, rec.mlid)) {
		m->unconfirmed |= joined;
		return SA_WAITS;
	}
	sa_member_confirm(c->s, m, joined);
	return 0;
}

int sa_mcmember_set(struct sa_request *req)
{
	struct change c = { 0 };
	bool created = false;
	int status;

	status = change_begin(&c, req);
	if (!status)
		status = check_ports(&c, req);
	if (status)
		return status;
	/* A zero MGID never joins, it always creates; but once a request. */
	if (!gid_is_zero(c.rec.mgid.raw))
		c.group = sa_group_by_mgid(c.s, &c.rec.mgid);
	else
		c.group = sa_assigned_group(req);
	if (!c.group) {
		status = create(&c);
		created = !status;
	} else if (!sa_mcmember_agrees(&c.group->rec, &c.rec, c.mask)) {
		status = SA_REQ_INVALID;
	}
	if (!status)
		status = check_join(&c);
	if (!status)
		status = join(&c, req);
	if (status > 0 && created)
		sa_group_destroy(c.s, c.group); /* step 21 */
	else if (created && gid_is_zero(c.rec.mgid.raw))
		sa_assigned_keep(req, &c.group->rec.mgid);
	return status;
}

/* -- leave --------------------------------------------------------------------------- */

static int check_leave(struct change *c, struct sa_request *req, struct sa_member **ret)
{
	uint8_t bits = c->rec.join_state;
	struct sa_member *m;

	c->group = sa_group_by_mgid(c->s, &c->rec.mgid);
	if (!c->group)
		return SA_REQ_INVALID;
	m = sa_member_find(c->s, c->group, c->guid);
	if (!m || !(bits & m->join_state) || (bits & ~m->join_state))
		return SA_REQ_INVALID;
	c->requester = sa_request_port(req);
	if (!c->requester)
		return SA_SILENT;
	if (!may_change(c, m))
		return SA_REQ_INVALID;
	*ret = m;
	return 0;
}

int sa_mcmember_delete(struct sa_request *req)
{
	struct change c = { 0 };
	struct sa_member *m;
	uint16_t mlid;
	int status;

	status = change_begin(&c, req);
	if (!status)
		status = check_leave(&c, req, &m);
	if (status)
		return status;
	mlid = c.group->rec.mlid;
	c.rec.scope = c.group->rec.scope;
	c.rec.join_state = sa_member_leave(c.s, m, c.rec.join_state);
	c.rec.mtu_selector = SA_SELECT_EQ;
	c.rec.rate_selector = SA_SELECT_EQ;
	c.rec.lifetime_selector = SA_SELECT_EQ;
	answer(req, &c.rec);
	return sa_route_wait(req, mlid) ? SA_WAITS : 0;
}
