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
			    uint16_t lid, uint8_t *mtu, uint8_t *rate)
{
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
		narrow_by_links(from, to, path->dlid, &mtu, &rate);
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

/* The LIDs by which a port may be the end of a path. */
struct lids {
	uint16_t first;
	uint32_t count;
};

static struct lids lids_of(const struct query *q, const struct subnet_port *port,
			   uint64_t component, uint16_t asked)
{
	uint16_t first = subnet_port_lid(port);

	if (!first) /* there were none for it */
		return (struct lids){ 0 };
	if (q->mask & component)
		return (struct lids){ asked, 1 };
	return (struct lids){ first, 1u << port->info.lmc };
}

/* From port to port, by each LID of the one and of the other. */
struct pair {
	struct tip from, to;
	struct lids slids, dlids;
	uint32_t count;
};

static struct pair pair_of(const struct query *q, struct tip from, struct tip to)
{
	struct pair pair = {
		.from = from,
		.to = to,
		.slids = lids_of(q, from.port, SA_PR_SLID, q->rec.slid),
		.dlids = lids_of(q, to.port, SA_PR_DLID, q->rec.dlid),
	};

	if (subnet_ports_share_pkey(q->requester, from.port) &&
	    subnet_ports_share_pkey(q->requester, to.port))
		pair.count = pair.slids.count * pair.dlids.count;
	return pair;
}

#define PREFERENCE_OTHER 2 /* as OpenSM's */

/* First those that have nothing in common, from the nth LID to the nth; then the others. */
static void choose_lids(const struct pair *pair, uint32_t nth, struct sa_path *path)
{
	uint32_t sources = pair->slids.count, dests = pair->dlids.count;
	uint32_t straight = sources < dests ? sources : dests, from, to;

	if (nth < straight) {
		from = to = nth;
	} else if (nth - straight < straight * (dests - 1)) {
		from = (nth - straight) / (dests - 1);
		to = (nth - straight) % (dests - 1);
		to += to >= from;
	} else {
		nth -= straight * dests;
		from = straight + nth / dests;
		to = nth % dests;
	}
	path->slid = (uint16_t)(pair->slids.first + from);
	path->dlid = (uint16_t)(pair->dlids.first + to);
	path->preference = from == to ? 0 : PREFERENCE_OTHER;
}

/* So many paths of a pair are wanted (spec/sa-sm 4.3). */
static uint32_t most_of(const struct query *q)
{
	if (q->req->mad.method == MAD_METHOD_GET)
		return 1;
	return q->mask & SA_PR_NUMB_PATH ? q->rec.numb_path : UINT32_MAX;
}

enum visited {
	VISITED_NONE, /* there is no such path */
	VISITED_ONE,
	VISITED_ENOUGH, /* no more are wanted, of any pair */
};

static enum visited visit(const struct query *q, const struct pair *pair, uint32_t nth)
{
	const struct subnet_port *from = pair->from.port, *to = pair->to.port;
	struct sa_path path = {
		.reversible = 1,
		.mtu_selector = SA_SELECT_EQ,
		.rate_selector = SA_SELECT_EQ,
		.lifetime_selector = SA_SELECT_EQ,
		/* No switch is on the way to oneself. */
		.lifetime = from == to ? 0 : SA_LIFE_TIME,
	};

	choose_lids(pair, nth, &path);
	if (!choose_pkey(q, from, to, &path) ||
	    !choose_mtu_and_rate(q, from, to, &path) ||
	    !lifetime_fits(q, path.lifetime) || !sl_fits(q, path.sl))
		return VISITED_NONE;
	gid_of(q, &pair->to, SA_PR_DGID, &q->rec.dgid, &path.dgid);
	gid_of(q, &pair->from, SA_PR_SGID, &q->rec.sgid, &path.sgid);
	return add(q, &path) ? VISITED_ONE : VISITED_ENOUGH;
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

#define ENOUGH (-4) /* beside SA_GOES_ON: no more are wanted */

/* at.nth paths of the pair have been looked at, and at.found were there. */
static int of_pair(const struct query *q, const struct pair *pair)
{
	struct sa_cursor *at = &q->req->at;
	uint32_t most = most_of(q);

	for (; at->nth < pair->count && at->found < most; at->nth++) {
		enum visited visited;

		if (sa_request_worked(q->req, 0))
			return SA_GOES_ON;
		sa_request_worked(q->req, PATH_WORK);
		visited = visit(q, pair, at->nth);
		if (visited == VISITED_ENOUGH)
			return ENOUGH;
		at->found += visited == VISITED_ONE;
	}
	at->nth = at->found = 0;
	return 0;
}

static int between(const struct query *q, struct end from, struct end to)
{
	struct sa_cursor *at = &q->req->at;
	struct walk a = walk_begin(q, from, at->place);

	for (; a.tip.port; walk_next(&a), at->within = 0) {
		struct walk b = walk_begin(q, to, at->within);

		for (; b.tip.port; walk_next(&b)) {
			struct pair pair = pair_of(q, a.tip, b.tip);
			int r = sa_request_worked(q->req, 1) ? SA_GOES_ON
							     : of_pair(q, &pair);

			if (r == SA_GOES_ON) {
				at->place = walk_at(&a);
				at->within = walk_at(&b);
			}
			if (r)
				return r == SA_GOES_ON ? r : 0;
		}
	}
	return 0;
}

/* Which is known before any of them is looked at. */
static bool are_too_many(const struct query *q)
{
	const struct end all = { .all = true };
	const struct sa_server *s = q->req->server;
	uint64_t guids =
		(uint64_t)sm_subnet(s->sm)->ports_by_lid.count + s->aliases.count;
	uint64_t lids = 0;
	struct walk w;

	if (guids * guids > SA_PATHS_MAX)
		return true;
	for (w = walk_begin(q, all, 0); w.tip.port; walk_next(&w))
		lids += 1u << w.tip.port->info.lmc;
	return guids * guids * most_of(q) > SA_PATHS_MAX && lids * lids > SA_PATHS_MAX;
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

static struct tip tip_of(const struct query *q, const union ib_gid *gid)
{
	return (struct tip){ .port = sa_port_of_gid(q->req->server, gid),
			     .guid = sa_gid_guid(gid) };
}

static struct pair pair_nth(struct query *q, const struct sa_multi_path *m,
			    unsigned int nth)
{
	q->rec.sgid = m->gids[nth / m->dgid_count];
	q->rec.dgid = m->gids[m->sgid_count + nth % m->dgid_count];
	return pair_of(q, tip_of(q, &q->rec.sgid), tip_of(q, &q->rec.dgid));
}

static uint32_t most_paths(struct query *q, const struct sa_multi_path *m)
{
	uint32_t most = 0;

	for (unsigned int i = 0; i < m->sgid_count * m->dgid_count; i++) {
		struct pair pair = pair_nth(q, m, i);

		if (pair.count > most)
			most = pair.count;
	}
	return most;
}

/* One of each pair, then another one of each: they are to be as different as may be.
 * at.nth rounds are behind us, and at.within pairs of this one. */
static int between_all(struct query *q, const struct sa_multi_path *m, unsigned int most)
{
	struct sa_cursor *at = &q->req->at;
	uint32_t rounds;

	for (unsigned int i = 0; i < m->sgid_count + m->dgid_count; i++) {
		if (!tip_of(q, &m->gids[i]).port)
			return SA_REQ_INVALID_GID;
	}
	rounds = most_paths(q, m);
	for (; at->nth < rounds; at->nth++, at->within = 0) {
		for (; at->within < m->sgid_count * m->dgid_count; at->within++) {
			struct pair pair = pair_nth(q, m, at->within);

			if (q->req->records >= most)
				return 0;
			if (sa_request_worked(q->req, 0))
				return SA_GOES_ON;
			sa_request_worked(q->req, PATH_WORK);
			if (at->nth < pair.count &&
			    visit(q, &pair, at->nth) == VISITED_ENOUGH)
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
