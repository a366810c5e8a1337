/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/shown_group.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* -- who is in it -------------------------------------------------------------------- */

struct search {
	struct shown_group *g;
	const union ib_gid *mgid;
	bool here, found;
	int error;
};

static void look_at_group(void *arg, const struct sa_group_view *view)
{
	struct search *s = arg;
	struct shown_group *g = s->g;

	s->here = !s->found && (s->mgid ? !memcmp(&view->rec.mgid, s->mgid, 16)
					: view->rec.mlid == g->mlid);
	if (!s->here)
		return;
	s->found = true;
	g->mlid = view->rec.mlid;
	inet_ntop(AF_INET6, view->rec.mgid.raw, g->mgid, sizeof(g->mgid));
	g->members = calloc(view->members + 1u, sizeof(*g->members));
	if (!g->members)
		s->error = -ENOMEM;
}

static void look_at_member(void *arg, const struct sa_group_view *view,
			   const struct sa_member_view *member)
{
	struct search *s = arg;

	if (s->here && s->g->members)
		s->g->members[s->g->count++] = (struct shown_member){
			.port_guid = member->port_guid,
			.join_state = member->join_state,
		};
}

static int by_guid(const void *a, const void *b)
{
	const struct shown_member *x = a, *y = b;

	return x->port_guid < y->port_guid ? -1 : x->port_guid > y->port_guid;
}

int shown_group_init(struct shown_group *g, const struct site *s,
		     const union ib_gid *mgid, uint16_t mlid)
{
	struct search search = { .g = g, .mgid = mgid };
	struct sa_server *sa = site_fabric_sa(s->fabric);

	*g = (struct shown_group){ .net = site_fabric_net(s->fabric), .mlid = mlid };
	if (sa)
		sa_server_each_group(sa, look_at_group, look_at_member, &search);
	if (g->count)
		qsort(g->members, g->count, sizeof(*g->members), by_guid);
	return search.found ? search.error : -ENOENT;
}

void shown_group_fini(struct shown_group *g)
{
	free(g->members);
	g->members = NULL;
	g->count = 0;
}

/* Where the first one of the port stands, or would. */
static unsigned int place_of(const struct shown_group *g, uint64_t port_guid)
{
	unsigned int first = 0, end = g->count;

	while (first < end) {
		unsigned int middle = first + (end - first) / 2;

		if (g->members[middle].port_guid < port_guid)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

uint8_t shown_group_join_state(const struct shown_group *g, const char *node,
			       unsigned int port)
{
	const struct fabric_port *p = fabric_find_port(g->net, node, port);
	struct fabric_port_info info;
	uint8_t states = 0;

	if (!p)
		return 0;
	fabric_port_info(p, &info);
	for (unsigned int i = place_of(g, info.port_guid);
	     i < g->count && g->members[i].port_guid == info.port_guid; i++)
		states |= g->members[i].join_state;
	return states;
}

/* -- by which links ------------------------------------------------------------------ */

static bool has_entry(const struct shown_group *g, unsigned int node)
{
	struct fabric_node_view view;

	fabric_node_view(g->net, node, &view);
	for (unsigned int port = 0; port <= view.ports; port++)
		if (fabric_mft_has(g->net, node, g->mlid, port))
			return true;
	return false;
}

bool shown_group_leaves(const struct shown_group *g, unsigned int node, unsigned int port)
{
	struct fabric_link_view link;
	struct fabric_node_view view;

	fabric_link_view(g->net, node, port, &link);
	fabric_node_view(g->net, node, &view);
	if (!link.connected || !link.up)
		return false;
	if (view.is_switch)
		return fabric_mft_has(g->net, node, g->mlid, port);
	return shown_group_join_state(g, view.name, port) && has_entry(g, link.peer);
}
