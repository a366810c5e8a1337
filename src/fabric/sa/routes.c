/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the database to the switches, and back to those who wait for it.
 *
 * Differs: a join is answered when the tables are set, and undone when they cannot be;
 * OpenSM answers first and sets them then, or not (spec/sa-sm 6.5).
 *
 * While an order is under way changes of its MLID collect for the next, so a thousand
 * joins that arrive together cost a few orders, each of them with all members.
 */
#include <errno.h>
#include <stdlib.h>

#include "fabric/sa/server_priv.h"

static struct sa_route *route_get(struct sa_server *s, uint16_t mlid)
{
	struct sa_route **slot = &s->routes[sa_mlid_index(mlid)], *route = *slot;

	if (route)
		return route;
	route = calloc(1, sizeof(*route));
	if (!route)
		return NULL;
	route->server = s;
	route->mlid = mlid;
	list_init(&route->now);
	list_init(&route->next);
	list_append(&s->route_list, &route->link);
	*slot = route;
	return route;
}

static void route_done(void *arg, int error);

static void route_order(struct sa_route *route)
{
	struct sa_server *s = route->server;
	const struct sa_group *group = s->by_mlid[sa_mlid_index(route->mlid)];

	route->under_way = true;
	sm_route_group(s->sm, route->mlid, group ? group->ports : NULL,
		       group ? group->count : 0, route_done, route);
}

void sa_route_changed(struct sa_server *s, uint16_t mlid)
{
	struct sa_route *route;

	if (!s->up)
		return; /* sa_server's up orders everything */
	route = route_get(s, mlid);
	if (!route)
		return; /* a sweep will route it */
	if (route->under_way)
		route->changed = true;
	else
		route_order(route);
}

bool sa_route_wait(struct sa_request *req, uint16_t mlid)
{
	struct sa_route *route = req->server->routes[sa_mlid_index(mlid)];

	if (!route || !route->under_way)
		return false;
	list_append(route->changed ? &route->next : &route->now, &req->link);
	return true;
}

/* The membership that the request made, if it is there: of a group that has begun anew as
 * another MLID it made none. */
static struct sa_member *request_member(const struct sa_request *req, uint16_t mlid)
{
	struct sa_group *group = sa_group_by_mgid(req->server, &req->mgid);
	struct sa_member *m =
		group ? sa_member_find(req->server, group, req->guid) : NULL;

	return m && group->rec.mlid == mlid && (m->join_state & req->joined) ? m : NULL;
}

static uint8_t bits_asked(const struct sa_request *req)
{
	struct sa_mcmember rec;

	sa_mcmember_get(sa_request_data(req), &rec);
	return rec.join_state;
}

static bool is_join_of(const struct sa_request *req, const struct sa_member *m)
{
	return req->mad.method == MAD_METHOD_SET && req->guid == m->guid &&
	       gid_equal(req->mgid.raw, m->group->rec.mgid.raw);
}

/* Of a member's bits: those of waiting joins that stay true; and those that others have
 * added that do not. */
struct fate {
	uint8_t stays, goes;
};

static void look_at_joins(const struct list *waiting, const struct sa_member *m,
			  uint8_t left, struct fate *fate)
{
	list_for_each(l, waiting) {
		const struct sa_request *req = container_of(l, struct sa_request, link);

		if (!is_join_of(req, m))
			continue;
		if (bits_asked(req) & ~left)
			fate->goes |= req->joined;
		else
			fate->stays |= bits_asked(req);
	}
}

uint8_t sa_route_void(const struct sa_server *s, const struct sa_member *m, uint8_t bits)
{
	const struct sa_route *route = s->routes[sa_mlid_index(m->group->rec.mlid)];
	uint8_t left = m->join_state & (uint8_t)~bits;
	struct fate fate = { 0 };

	if (!route || !(left & m->unconfirmed))
		return 0;
	look_at_joins(&route->now, m, left, &fate);
	look_at_joins(&route->next, m, left, &fate);
	return left & m->unconfirmed & fate.goes & (uint8_t)~fate.stays;
}

static void confirm(struct sa_request *req, uint16_t mlid)
{
	struct sa_member *m = req->joined ? request_member(req, mlid) : NULL;

	if (m)
		sa_member_confirm(req->server, m, req->joined);
}

static void fail(struct sa_request *req, uint16_t mlid)
{
	struct sa_member *m = req->joined ? request_member(req, mlid) : NULL;

	if (m)
		sa_member_undo(req->server, m, req->joined);
}

/* Those whose memberships went with others', and that nobody is going to fail. */
static void fail_orphans(struct list *waiting, uint16_t mlid)
{
	list_for_each_safe(l, waiting) {
		struct sa_request *req = container_of(l, struct sa_request, link);

		if (!req->joined || request_member(req, mlid))
			continue;
		list_remove(l);
		sa_request_end(req, SA_NO_RESOURCES);
	}
}

static void take_over(struct list *to, struct list *from)
{
	list_init(to);
	list_for_each_safe(l, from) {
		list_remove(l);
		list_append(to, l);
	}
}

/* What was joined is still there, and still that group: it may have ended with another's
 * leave, and begun anew, or the port may have gone. */
static bool is_true(const struct sa_request *req, uint16_t mlid)
{
	const struct sa_group *group = sa_group_by_mgid(req->server, &req->mgid);
	const struct sa_member *m =
		group ? sa_member_find(req->server, group, req->guid) : NULL;

	return m && group->rec.mlid == mlid && !(bits_asked(req) & ~m->join_state);
}

/* Where no table has room for a member, the others' are set as they should be. */
static bool concerns(const struct sa_request *req, uint16_t mlid, int error)
{
	uint64_t port_guid = sa_port_guid_of(req->server, req->guid);

	return error &&
	       (error != -ENOSPC || !sm_can_route(req->server->sm, mlid, port_guid));
}

static uint16_t outcome(const struct sa_request *req, uint16_t mlid, int error)
{
	if (req->mad.method == MAD_METHOD_DELETE)
		return 0;
	if (concerns(req, mlid, error))
		return SA_NO_RESOURCES;
	return is_true(req, mlid) ? 0 : SA_REQ_INVALID;
}

static void end_all(struct list *waiting, uint16_t mlid, int error)
{
	/* The last change first, so that each finds what it left. */
	for (struct list *l = waiting->prev; error && l != waiting; l = l->prev) {
		struct sa_request *req = container_of(l, struct sa_request, link);

		if (concerns(req, mlid, error))
			fail(req, mlid);
	}
	list_for_each_safe(l, waiting) {
		struct sa_request *req = container_of(l, struct sa_request, link);

		list_remove(l);
		if (!concerns(req, mlid, error))
			confirm(req, mlid);
		sa_request_end(req, outcome(req, mlid, error));
	}
}

/* From the SM's timers. */
static void route_done(void *arg, int error)
{
	struct sa_route *route = arg;
	struct list waited;

	if (!route->under_way)
		return; /* of an order given before the SM went down */
	take_over(&waited, &route->now);
	end_all(&waited, route->mlid, error);
	if (error)
		fail_orphans(&route->next, route->mlid);
	route->under_way = false;
	if (!route->changed)
		return;
	route->changed = false;
	take_over(&route->now, &route->next);
	route_order(route);
}

static bool has_members(const struct sa_server *s, uint16_t mlid)
{
	const struct sa_group *group = s->by_mlid[sa_mlid_index(mlid)];

	return group && group->count;
}

void sa_routes_restore(struct sa_server *s)
{
	list_for_each(l, &s->route_list) {
		struct sa_route *route = container_of(l, struct sa_route, link);

		if (!has_members(s, route->mlid))
			sa_route_changed(s, route->mlid);
	}
	sa_for_each_group(group, s) {
		if (group->count)
			sa_route_changed(s, group->rec.mlid);
	}
}

void sa_routes_stop(struct sa_server *s)
{
	list_for_each(l, &s->route_list) {
		struct sa_route *route = container_of(l, struct sa_route, link);

		route->under_way = false;
		route->changed = false;
	}
}

void sa_routes_destroy(struct sa_server *s)
{
	list_for_each_safe(l, &s->route_list) {
		struct sa_route *route = container_of(l, struct sa_route, link);

		s->routes[sa_mlid_index(route->mlid)] = NULL;
		list_remove(l);
		free(route);
	}
}
