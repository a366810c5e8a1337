/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PathRecord: from port to port, and from a port to a group (spec/sa-sm 4.3);
 * MultiPathRecord, which asks for the former between several ports at once. Ports are
 * named by any of their GUIDs, and a path between ports that no GID names is one between
 * each of theirs, as of OpenSM.
 */
#include <limits.h>

#include "fabric/sa/server_priv.h"

#define MULTICAST_HOP_LIMIT 255 /* of groups that are not link-local */
#define LINK_LOCAL          2
#define HOPS_MAX            64

struct query {
	struct sa_request *req;
	const struct subnet_port *requester;
	struct sa_path rec; /* what is asked for */
	uint64_t mask;
};

static bool named(const struct query *q, uint64_t components)
{
	return (q->mask & components) == components;
}

static bool add(const struct query *q, const struct sa_path *path)
{
	uint8_t data[SA_PATH_BYTES];

	sa_path_put(data, path);
	return sa_request_add(q->req, data, sizeof(data));
}

/* -- between ports ------------------------------------------------------------------- */

/* Full membership of the default partition first, as long as both have it. */
static uint16_t shared_pkey(const struct subnet_port *a, const struct subnet_port *b)
{
	for (unsigned int i = 0; i < a->pkey_count; i++) {
		for (unsigned int k = 0; k < b->pkey_count; k++) {
			if (ib_pkeys_match(a->pkeys[i], b->pkeys[k]))
				return a->pkeys[i] & b->pkeys[k];
		}
	}
	return 0;
}

static bool choose_pkey(const struct query *q, const struct subnet_port *from,
			const struct subnet_port *to, struct sa_path *path)
{
	if (!(q->mask & SA_PR_PKEY)) {
		path->pkey = shared_pkey(from, to);
		return path->pkey;
	}
	path->pkey = q->rec.pkey;
	return subnet_port_has_pkey(from, path->pkey) &&
	       subnet_port_has_pkey(to, path->pkey) && subnet_ports_share_pkey(from, to);
}

static void narrow(const struct subnet_port *port, uint8_t *mtu, uint8_t *rate)
{
	if (sa_port_mtu(port) < *mtu)
		*mtu = sa_port_mtu(port);
	if (sa_rate_compare(sa_port_rate(port), *rate) < 0)
		*rate = sa_port_rate(port);
}

/* The switch's port towards a LID; null: it is the switch's own, or goes nowhere. */
static const struct subnet_port *way_out(const struct subnet_node *node, uint16_t lid)
{
	const uint8_t *block = sm_lft_block(node, lid / SM_LFT_BLOCK_LIDS);
	uint8_t out = block ? block[lid % SM_LFT_BLOCK_LIDS] : 0;

	return out && out <= node->info.num_ports ? &node->ports[out] : NULL;
}

/* The links that packets will take, as the switches' tables say. */
static void narrow_by_links(const struct subnet_port *from, const struct subnet_port *to,
			    uint8_t *mtu, uint8_t *rate)
{
	uint16_t lid = subnet_port_lid(to);
	const struct subnet_port *port = from->num ? from : way_out(from->node, lid);

	for (unsigned int hops = 0; port && port->peer && hops < HOPS_MAX; hops++) {
		narrow(port, mtu, rate);
		if (port->peer->node == to->node)
			return;
		port = way_out(port->peer->node, lid);
	}
}

/* What ends and links can do, brought to what is asked for. */
static bool choose_mtu_and_rate(const struct query *q, const struct subnet_port *from,
				const struct subnet_port *to, struct sa_path *path)
{
	uint8_t mtu = sa_port_mtu(from), rate = sa_port_rate(from);

	narrow(to, &mtu, &rate);
	if (from != to)
		narrow_by_links(from, to, &mtu, &rate);
	path->mtu = mtu;
	path->rate = rate;
	if (named(q, SA_PR_MTU | SA_PR_MTU_SELECTOR))
		path->mtu = sa_mtu_realise(mtu, q->rec.mtu_selector, q->rec.mtu);
	if (named(q, SA_PR_RATE | SA_PR_RATE_SELECTOR))
		path->rate = sa_rate_realise(rate, q->rec.rate_selector, q->rec.rate);
	return path->mtu && path->mtu <= mtu && smp_rate_speed(path->rate) &&
	       sa_rate_compare(path->rate, rate) <= 0;
}

static bool lifetime_fits(const struct query *q, uint8_t lifetime)
{
	if (!named(q, SA_PR_LIFE | SA_PR_LIFE_SELECTOR))
		return true;
	switch (q->rec.lifetime_selector) {
	case SA_SELECT_GT:
		return lifetime > q->rec.lifetime;
	case SA_SELECT_LT:
		return lifetime < q->rec.lifetime;
	case SA_SELECT_EQ:
		return lifetime == q->rec.lifetime;
	default:
		return true;
	}
}

/* All paths have service level 0. */
static bool sl_fits(const struct query *q, uint8_t sl)
{
	return !(q->mask & SA_PR_SL) || q->rec.sl == sl;
}

/* An end of one path: a port, by one of its GUIDs. */
struct tip {
	const struct subnet_port *port;
	uint64_t guid;
};

static void gid_of(const struct query *q, const struct tip *tip, uint64_t component,
		   const union ib_gid *asked, union ib_gid *ret)
{
	/* As it was asked: the default prefix stands for the subnet's. */
	if (q->mask & component)
		*ret = *asked;
	else
		sa_gid_put(ret, sm_subnet(q->req->server->sm)->prefix, tip->guid);
}

/* False: enough. */
static bool visit(const struct query *q, const struct tip *a, const struct tip *b)
{
	const struct subnet_port *from = a->port, *to = b->port;
	struct sa_path path = {
		.dlid = named(q, SA_PR_DLID) ? q->rec.dlid : subnet_port_lid(to),
		.slid = named(q, SA_PR_SLID) ? q->rec.slid : subnet_port_lid(from),
		.reversible = 1,
		.mtu_selector = SA_SELECT_EQ,
		.rate_selector = SA_SELECT_EQ,
		.lifetime_selector = SA_SELECT_EQ,
		.lifetime = from == to ? 0 : SA_LIFE_TIME, /* no switch is on the way */
	};

	if (!subnet_ports_share_pkey(q->requester, from) ||
	    !subnet_ports_share_pkey(q->requester, to) ||
	    !choose_pkey(q, from, to, &path) ||
	    !choose_mtu_and_rate(q, from, to, &path) ||
	    !lifetime_fits(q, path.lifetime) || !sl_fits(q, path.sl))
		return true;
	gid_of(q, b, SA_PR_DGID, &q->rec.dgid, &path.dgid);
	gid_of(q, a, SA_PR_SGID, &q->rec.sgid, &path.sgid);
	return add(q, &path);
}

/* One end of the paths that are asked for: a port, all ports, or none that is known. A
 * port that no GID names is meant by each GUID that it has. */
struct end {
	const struct subnet_port *port;
	uint64_t guid; /* 0: each */
	bool all;
};

static struct end end_of(const struct query *q, uint64_t gid_component,
			 const union ib_gid *gid, uint64_t lid_component, uint16_t lid)
{
	const struct sa_server *s = q->req->server;
	struct end end = { 0 };

	if (q->mask & gid_component) {
		end.port = sa_port_of_gid(s, gid);
		end.guid = sa_gid_guid(gid);
		if ((q->mask & lid_component) && end.port &&
		    sa_port_by_lid(s, lid) != end.port)
			end.port = NULL;
	} else if (q->mask & lid_component) {
		end.port = sa_port_by_lid(s, lid);
	} else {
		end.all = true;
	}
	return end;
}

/* Over the GUIDs of every port with a LID, or of the one. */
struct walk {
	const struct sa_server *server;
	struct tip tip;                /* its port is null: there are no more */
	const struct list *all, *node; /* null: it is the one port */
	bool by_one;                   /* and the one GUID */
	unsigned int num;              /* of the node's ports, to be looked at */
	uint64_t ports;     /* that are behind us, those that are not there too */
	unsigned int place; /* of the GUID at its port */
};

static void walk_put(struct walk *w, const struct subnet_port *port)
{
	w->place = 0;
	w->tip.port = port;
	w->tip.guid = port ? subnet_port_guid(port) : 0;
}

static void walk_seek(struct walk *w)
{
	walk_put(w, NULL);
	for (; w->node != w->all; w->node = w->node->next, w->num = 0) {
		const struct subnet_node *node =
			container_of(w->node, struct subnet_node, link);
		bool is_switch = node->info.node_type == SMP_NODE_SWITCH;
		unsigned int last = is_switch ? 0 : node->info.num_ports;

		for (; w->num <= last; w->num++, w->ports++) {
			const struct subnet_port *port = &node->ports[w->num];

			if (is_switch || (w->num && port->seen)) {
				walk_put(w, port);
				return;
			}
		}
	}
}

static void walk_next_port(struct walk *w)
{
	w->ports++;
	w->num++;
	if (w->all)
		walk_seek(w);
	else
		walk_put(w, NULL);
}

/* The port's next alias, in that place or behind it. */
static bool walk_alias(struct walk *w, unsigned int place)
{
	const struct sa_alias *a =
		w->by_one
			? NULL
			: sa_alias_after(w->server, subnet_port_guid(w->tip.port), place);

	if (!a)
		return false;
	w->place = a->place;
	w->tip.guid = a->guid;
	return true;
}

static void walk_next(struct walk *w)
{
	if (!walk_alias(w, w->place + 1))
		walk_next_port(w);
}

/* What walk_begin goes on from. */
static uint64_t walk_at(const struct walk *w)
{
	return w->ports * SA_GUID_PLACES + w->place;
}

static struct walk walk_begin(const struct query *q, struct end end, uint64_t at)
{
	uint64_t ports = at / SA_GUID_PLACES;
	unsigned int place = at % SA_GUID_PLACES;
	struct walk w = { .server = q->req->server, .by_one = end.guid };

	if (end.all) {
		w.all = &sm_subnet(q->req->server->sm)->nodes;
		w.node = w.all->next;
		walk_seek(&w);
		while (w.tip.port && w.ports < ports)
			walk_next_port(&w);
	} else {
		walk_put(&w, ports ? NULL : end.port);
		w.ports = ports;
		if (end.guid)
			w.tip.guid = end.guid;
	}
	if (place && w.tip.port && w.ports == ports && !walk_alias(&w, place))
		walk_next_port(&w);
	return w;
}

/* A path takes the way that packets would. */
#define PATH_WORK 5u

static int between(const struct query *q, struct end from, struct end to)
{
	struct sa_cursor *at = &q->req->at;
	struct walk a = walk_begin(q, from, at->place);

	for (; a.tip.port; walk_next(&a), at->within = 0) {
		struct walk b = walk_begin(q, to, at->within);

		for (; b.tip.port; walk_next(&b)) {
			if (sa_request_worked(q->req, 0)) {
				at->place = walk_at(&a);
				at->within = walk_at(&b);
				return SA_GOES_ON;
			}
			sa_request_worked(q->req, PATH_WORK);
			if (!visit(q, &a.tip, &b.tip))
				return 0;
		}
	}
	return 0;
}

/* Which is known before any of them is looked at. */
static bool are_too_many(const struct query *q)
{
	const struct sa_server *s = q->req->server;
	uint64_t guids =
		(uint64_t)sm_subnet(s->sm)->ports_by_lid.count + s->aliases.count;

	return guids * guids > SA_PATHS_MAX;
}

static int unicast(const struct query *q)
{
	const struct sa_path *rec = &q->rec;
	struct end from = end_of(q, SA_PR_SGID, &rec->sgid, SA_PR_SLID, rec->slid);
	struct end to = end_of(q, SA_PR_DGID, &rec->dgid, SA_PR_DLID, rec->dlid);

	if (from.all && to.all && are_too_many(q))
		return SA_NO_RESOURCES;
	return between(q, from, to);
}

/* -- to a group ---------------------------------------------------------------------- */

static bool group_fits(const struct query *q, const struct sa_mcmember *group)
{
	const struct sa_path *rec = &q->rec;

	return (!named(q, SA_PR_MTU | SA_PR_MTU_SELECTOR) ||
		sa_mtu_is_selected(group->mtu, rec->mtu_selector, rec->mtu)) &&
	       (!named(q, SA_PR_RATE | SA_PR_RATE_SELECTOR) ||
		sa_rate_is_selected(group->rate, rec->rate_selector, rec->rate)) &&
	       (!(q->mask & SA_PR_PKEY) ||
		(rec->pkey & 0x7fff) == (group->pkey & 0x7fff)) &&
	       (!(q->mask & SA_PR_DLID) || rec->dlid == group->mlid) &&
	       lifetime_fits(q, group->lifetime) && sl_fits(q, group->sl);
}

/* The source, if one is named, has to be able to send there. */
static bool source_fits(const struct query *q, const struct sa_mcmember *group)
{
	struct end from = end_of(q, SA_PR_SGID, &q->rec.sgid, SA_PR_SLID, q->rec.slid);

	return from.all || (from.port && sa_port_has_base(from.port, group->pkey));
}

/* Differs: OpenSM swaps the bytes of the flow label (spec/sa-sm 4.3). */
static void multicast(const struct query *q)
{
	const struct sa_group *found = sa_group_by_mgid(q->req->server, &q->rec.dgid);
	const struct sa_mcmember *group;
	struct sa_path path = { 0 };

	if (!found)
		return;
	group = &found->rec;
	if (!sa_port_has_base(q->requester, group->pkey) || !group_fits(q, group) ||
	    !source_fits(q, group))
		return;
	path.dgid = group->mgid;
	if (q->mask & SA_PR_SGID)
		path.sgid = q->rec.sgid;
	if (q->mask & SA_PR_SLID)
		path.slid = q->rec.slid;
	path.dlid = group->mlid;
	path.flow_label = group->flow_label;
	path.hop_limit = (group->mgid.raw[1] & 0xf) != LINK_LOCAL ? MULTICAST_HOP_LIMIT
								  : group->hop_limit;
	path.tclass = group->tclass;
	path.numb_path = 1;
	path.pkey = group->pkey;
	path.sl = group->sl;
	path.mtu_selector = path.rate_selector = path.lifetime_selector = SA_SELECT_EQ;
	path.mtu = group->mtu;
	path.rate = group->rate;
	path.lifetime = group->lifetime;
	add(q, &path);
}

int sa_path_query(struct sa_request *req)
{
	struct query q = { .req = req, .mask = req->sa.comp_mask };

	q.requester = sa_request_port(req);
	if (!q.requester)
		return SA_SILENT;
	sa_path_get(sa_request_data(req), &q.rec);
	if (!(q.mask & SA_PR_DGID) || q.rec.dgid.raw[0] != 0xff)
		return unicast(&q);
	multicast(&q);
	return 0;
}

/* -- between several ports ------------------------------------------------------------- */

/* What restricts paths, by the names that PathRecord has for it. */
static void restrict_as(struct query *q, const struct sa_multi_path *m)
{
	static const struct {
		uint64_t multi, path;
	} names[] = {
		{ SA_MPR_PKEY, SA_PR_PKEY },
		{ SA_MPR_SL, SA_PR_SL },
		{ SA_MPR_MTU_SELECTOR, SA_PR_MTU_SELECTOR },
		{ SA_MPR_MTU, SA_PR_MTU },
		{ SA_MPR_RATE_SELECTOR, SA_PR_RATE_SELECTOR },
		{ SA_MPR_RATE, SA_PR_RATE },
		{ SA_MPR_LIFE_SELECTOR, SA_PR_LIFE_SELECTOR },
		{ SA_MPR_LIFE, SA_PR_LIFE },
	};

	q->mask = SA_PR_SGID | SA_PR_DGID;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (q->req->sa.comp_mask & names[i].multi)
			q->mask |= names[i].path;
	}
	q->rec = (struct sa_path){
		.pkey = m->pkey,
		.sl = m->sl,
		.mtu_selector = m->mtu_selector,
		.mtu = m->mtu,
		.rate_selector = m->rate_selector,
		.rate = m->rate,
		.lifetime_selector = m->lifetime_selector,
		.lifetime = m->lifetime,
	};
}

/* At most SA_MULTI_PATH_GIDS in all, so this is no work to be done in steps. */
static int between_all(struct query *q, const struct sa_multi_path *m, unsigned int most)
{
	const union ib_gid *to = m->gids + m->sgid_count;
	const struct sa_server *s = q->req->server;

	for (unsigned int i = 0; i < m->sgid_count + m->dgid_count; i++) {
		if (!sa_port_of_gid(s, &m->gids[i]))
			return SA_REQ_INVALID_GID;
	}
	for (unsigned int i = 0; i < m->sgid_count; i++) {
		for (unsigned int k = 0; k < m->dgid_count; k++) {
			if (q->req->records >= most)
				return 0;
			q->rec.sgid = m->gids[i];
			q->rec.dgid = to[k];
			if (!visit(q,
				   &(struct tip){ .port = sa_port_of_gid(s, &m->gids[i]) },
				   &(struct tip){ .port = sa_port_of_gid(s, &to[k]) }))
				return 0;
		}
	}
	return 0;
}

int sa_multi_path_query(struct sa_request *req)
{
	struct query q = { .req = req, .requester = sa_request_port(req) };
	uint64_t mask = req->sa.comp_mask;
	struct sa_multi_path m;

	if (!q.requester)
		return SA_SILENT;
	sa_multi_path_get(sa_request_data(req), &m);
	if (!(mask & SA_MPR_SGID_COUNT) || !(mask & SA_MPR_DGID_COUNT) || !m.sgid_count ||
	    !m.dgid_count)
		return SA_INSUFFICIENT_COMPONENTS;
	if (m.sgid_count + m.dgid_count > SA_MULTI_PATH_GIDS)
		return SA_REQ_INVALID;
	restrict_as(&q, &m);
	return between_all(&q, &m, mask & SA_MPR_NUMB_PATH ? m.numb_path : UINT_MAX);
}
