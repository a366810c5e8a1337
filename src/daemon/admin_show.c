/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "daemon/admin_priv.h"
#include "daemon/json.h"
#include "daemon/shown_group.h"

static const char *state_name(unsigned int state)
{
	static const char *const names[] = { "NOP", "DOWN", "INIT", "ARMED", "ACTIVE" };

	return state < 5 ? names[state] : "?";
}

static const char *sm_state_name(enum sm_state state)
{
	static const char *const names[] = {
		[SM_DISCOVERING] = "discovering",
		[SM_STANDBY] = "standby",
		[SM_MASTER] = "master",
		[SM_STOPPED] = "stopped",
	};

	return names[state];
}

static const char *manager_state(const struct manager_view *m)
{
	return m->sm ? sm_state_name(sm_state(m->sm)) : "stopped";
}

/* Datagrams of the group go by the port's link, there or back. */
static bool is_in_tree(const struct shown_group *g, unsigned int node, unsigned int port,
		       const struct fabric_link_view *link)
{
	return g && link->connected &&
	       (shown_group_leaves(g, node, port) ||
		shown_group_leaves(g, link->peer, link->peer_port));
}

/* -- for people ---------------------------------------------------------------------- */

/* Of a switch, its port 0. */
static void print_membership(const struct shown_group *g, const char *node,
			     unsigned int port, FILE *out)
{
	uint8_t state = g ? shown_group_join_state(g, node, port) : 0;
	char text[ADMIN_JOIN_STATE_ROOM];

	if (!state)
		return;
	admin_join_state_text(state, text);
	fprintf(out, ", member (%s)", text);
}

static void print_port(struct fabric *net, unsigned int node, unsigned int port,
		       const struct shown_group *g, FILE *out)
{
	struct fabric_link_view link;
	struct fabric_node_view here, peer;

	fabric_link_view(net, node, port, &link);
	fprintf(out, "  port %-3u %-7s", port, state_name(link.state));
	if (!link.connected) {
		fprintf(out, "no cable\n");
		return;
	}
	fabric_node_view(net, link.peer, &peer);
	fprintf(out, "to %s port %u%s%s", peer.name, link.peer_port,
		link.up ? "" : ", link down",
		is_in_tree(g, node, port, &link) ? ", in the tree" : "");
	fabric_node_view(net, node, &here);
	if (!here.is_switch)
		print_membership(g, here.name, port, out);
	fputc('\n', out);
}

static void print_node(struct fabric *net, unsigned int n, const struct shown_group *g,
		       FILE *out)
{
	struct fabric_node_view node;

	fabric_node_view(net, n, &node);
	fprintf(out, "\n%s %s guid 0x%016llx lid %u",
		node.is_switch ? "switch" : "adapter", node.name,
		(unsigned long long)node.node_guid, node.lid);
	if (node.lmc)
		fprintf(out, " lmc %u", node.lmc);
	fprintf(out, "%s", node.powered ? "" : ", switched off");
	if (node.is_switch)
		print_membership(g, node.name, 0, out);
	fputc('\n', out);
	for (unsigned int port = 1; port <= node.ports; port++)
		print_port(net, n, port, g, out);
}

static bool is_in_step(const struct manager_view *m)
{
	return m->sm && sm_state(m->sm) == SM_STANDBY && sa_server_is_in_step(m->sa);
}

/* Of answers of its administrator. */
static uint64_t records_left_out(const struct manager_view *m)
{
	struct sa_counters c = { 0 };

	if (m->sm)
		sa_server_counters(m->sa, &c);
	return c.records_left_out;
}

static void print_manager(const struct manager_view *m, FILE *out)
{
	uint64_t left_out = records_left_out(m);
	struct sm_counters c = { 0 };

	fprintf(out, "subnet manager %s, behind %s%s%s\n", manager_state(m), m->node,
		m->sm && sm_is_up(m->sm) ? ", all is up" : "",
		is_in_step(m) ? ", has the master's groups" : "");
	if (m->sm)
		sm_counters(m->sm, &c);
	if (c.members_cut_off)
		fprintf(out,
			"  members cut off from their groups by switches whose multicast "
			"tables have no room: %llu\n",
			(unsigned long long)c.members_cut_off);
	if (left_out)
		fprintf(out,
			"  records left out of answers, since ports were asked for them "
			"in vain: %llu\n",
			(unsigned long long)left_out);
}

static void print_managers(const struct site *s, FILE *out)
{
	struct manager_view m;
	unsigned int n;

	for (n = 0; site_fabric_sm_nth(s->fabric, n, &m); n++)
		print_manager(&m, out);
	if (!n)
		fprintf(out, "subnet manager none\n");
}

void admin_show_text(const struct site *s, const struct shown_group *g, FILE *out)
{
	struct fabric *net = site_fabric_net(s->fabric);
	unsigned int adapters = 0, count = fabric_node_count(net);
	struct fabric_node_view node;
	char shape[256];

	for (unsigned int n = 0; n < count; n++) {
		fabric_node_view(net, n, &node);
		adapters += !node.is_switch;
	}
	admin_shape_print(&s->options->shape, shape, sizeof(shape));
	fprintf(out, "fabric %s: switches %u, adapters %u\n", shape, count - adapters,
		adapters);
	print_managers(s, out);
	if (g)
		fprintf(out, "group %s mlid 0x%04x\n",
			g->mgid[0] ? g->mgid : "of another administrator", g->mlid);
	for (unsigned int n = 0; n < count; n++)
		print_node(net, n, g, out);
}

/* -- JSON ---------------------------------------------------------------------------- */

static void add_membership(cJSON *o, const struct shown_group *g, const char *node,
			   unsigned int port)
{
	uint8_t state = g ? shown_group_join_state(g, node, port) : 0;
	char text[ADMIN_JOIN_STATE_ROOM];

	if (!state)
		return;
	admin_join_state_text(state, text);
	cJSON_AddStringToObject(o, "join_state", text);
}

static void add_port(cJSON *ports, struct fabric *net, unsigned int node,
		     unsigned int port, const struct shown_group *g)
{
	cJSON *o = cJSON_CreateObject();
	struct fabric_link_view link;
	struct fabric_node_view here, peer;

	fabric_link_view(net, node, port, &link);
	fabric_node_view(net, node, &here);
	cJSON_AddNumberToObject(o, "port", port);
	cJSON_AddStringToObject(o, "state", state_name(link.state));
	cJSON_AddNumberToObject(o, "phys_state", link.phys_state);
	cJSON_AddBoolToObject(o, "up", link.up);
	if (link.connected) {
		fabric_node_view(net, link.peer, &peer);
		cJSON_AddStringToObject(o, "peer", peer.name);
		cJSON_AddNumberToObject(o, "peer_port", link.peer_port);
	}
	if (g)
		cJSON_AddBoolToObject(o, "in_tree", is_in_tree(g, node, port, &link));
	if (!here.is_switch)
		add_membership(o, g, here.name, port);
	cJSON_AddItemToArray(ports, o);
}

/* What the MAD layers of a node made of what came. */
static void add_mads(cJSON *o, const struct node *node)
{
	struct ib_mad_counters c;
	cJSON *mads;

	if (!node || !node->mad)
		return;
	ib_mad_counters(node->mad, &c);
	mads = cJSON_AddObjectToObject(o, "mads");
	json_add_count(mads, "sent", c.sent);
	json_add_count(mads, "received", c.received);
	json_add_count(mads, "retries", c.retries);
	json_add_count(mads, "timeouts", c.timeouts);
	json_add_count(mads, "unmatched", c.unmatched);
	json_add_count(mads, "malformed", c.malformed);
	json_add_count(mads, "no_owner", c.no_owner);
}

static void add_node(cJSON *nodes, const struct site *s, const struct shown_group *g,
		     struct fabric *net, unsigned int n)
{
	cJSON *o = cJSON_CreateObject(), *ports;
	struct fabric_node_view node;
	char guid[24];

	fabric_node_view(net, n, &node);
	snprintf(guid, sizeof(guid), "0x%016llx", (unsigned long long)node.node_guid);
	cJSON_AddStringToObject(o, "name", node.name);
	cJSON_AddStringToObject(o, "type", node.is_switch ? "switch" : "adapter");
	cJSON_AddStringToObject(o, "guid", guid);
	cJSON_AddNumberToObject(o, "lid", node.lid);
	cJSON_AddNumberToObject(o, "lmc", node.lmc);
	cJSON_AddBoolToObject(o, "powered", node.powered);
	ports = cJSON_AddArrayToObject(o, "ports");
	for (unsigned int port = 1; port <= node.ports; port++)
		add_port(ports, net, n, port, g);
	if (node.is_switch)
		add_membership(o, g, node.name, 0);
	else
		add_mads(o, nodes_find(s->nodes, node.name));
	cJSON_AddItemToArray(nodes, o);
}

static cJSON *manager(const struct manager_view *m)
{
	cJSON *o = cJSON_CreateObject();
	struct sm_counters c;

	cJSON_AddStringToObject(o, "state", manager_state(m));
	cJSON_AddStringToObject(o, "node", m->node);
	cJSON_AddNumberToObject(o, "priority", m->priority);
	if (!m->sm)
		return o;
	sm_counters(m->sm, &c);
	cJSON_AddBoolToObject(o, "up", sm_is_up(m->sm));
	cJSON_AddBoolToObject(o, "in_step", is_in_step(m));
	json_add_count(o, "sweeps", c.sweeps);
	json_add_count(o, "last_sweep_ns", c.last_sweep_ns);
	json_add_count(o, "smps_sent", c.smps_sent);
	json_add_count(o, "smp_timeouts", c.smp_timeouts);
	json_add_count(o, "traps", c.traps);
	json_add_count(o, "members_cut_off", c.members_cut_off);
	json_add_count(o, "ports_without_lid", c.lidless);
	json_add_count(o, "records_left_out", records_left_out(m));
	return o;
}

/* "sm" is the first one, "sms" are all. */
static void add_managers(cJSON *root, const struct site *s)
{
	struct manager_view m;
	cJSON *all;

	if (site_fabric_sm_nth(s->fabric, 0, &m))
		cJSON_AddItemToObject(root, "sm", manager(&m));
	else
		cJSON_AddStringToObject(cJSON_AddObjectToObject(root, "sm"), "state",
					"none");
	all = cJSON_AddArrayToObject(root, "sms");
	for (unsigned int n = 0; site_fabric_sm_nth(s->fabric, n, &m); n++)
		cJSON_AddItemToArray(all, manager(&m));
}

static void add_sa(cJSON *root, const struct site *s)
{
	struct sa_server *sa = site_fabric_sa(s->fabric);
	struct sa_counters c;
	cJSON *o;

	if (!sa)
		return;
	sa_server_counters(sa, &c);
	o = cJSON_AddObjectToObject(root, "sa");
	json_add_count(o, "requests", c.requests);
	json_add_count(o, "answers", c.answers);
	json_add_count(o, "refused", c.refused);
	json_add_count(o, "dropped", c.dropped_fault);
}

/* What became of management datagrams on their way. */
static void add_ways(cJSON *root, struct fabric *net)
{
	cJSON *o = cJSON_AddObjectToObject(root, "mads");
	struct fabric_counters c;

	fabric_counters(net, &c);
	json_add_count(o, "sent", c.sent);
	json_add_count(o, "delivered", c.delivered);
	json_add_count(o, "smp_answered", c.smp_answered);
	json_add_count(o, "lost", c.lost);
	json_add_count(o, "no_route", c.no_route);
	json_add_count(o, "port_down", c.port_down);
	json_add_count(o, "bad_hops", c.bad_hops);
	json_add_count(o, "bad_pkey", c.bad_pkey);
	json_add_count(o, "bad_qkey", c.bad_qkey);
	json_add_count(o, "malformed", c.malformed);
	json_add_count(o, "nobody", c.nobody);
}

static void add_group(cJSON *root, const struct shown_group *g)
{
	cJSON *o = cJSON_AddObjectToObject(root, "group");

	if (g->mgid[0])
		cJSON_AddStringToObject(o, "mgid", g->mgid);
	cJSON_AddNumberToObject(o, "mlid", g->mlid);
}

struct cJSON *admin_show_json(const struct site *s, const struct shown_group *g)
{
	struct fabric *net = site_fabric_net(s->fabric);
	cJSON *root = cJSON_CreateObject(), *nodes;
	char shape[256];

	admin_shape_print(&s->options->shape, shape, sizeof(shape));
	cJSON_AddStringToObject(root, "shape", shape);
	add_managers(root, s);
	add_sa(root, s);
	add_ways(root, net);
	if (g)
		add_group(root, g);
	nodes = cJSON_AddArrayToObject(root, "nodes");
	for (unsigned int n = 0; n < fabric_node_count(net); n++)
		add_node(nodes, s, g, net, n);
	return root;
}
