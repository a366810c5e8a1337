/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fabric as a graph for Graphviz: switches are boxes, what has no power and links that
 * are down are dashed, masters have a double line. Of a group its members are filled, and
 * the links of its tree red, with heads where datagrams go.
 */
#include "daemon/admin_priv.h"
#include "daemon/shown_group.h"

static void quote(const char *text, FILE *out)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static bool is_member(const struct shown_group *g, const struct fabric_node_view *node)
{
	/* Of a switch only port 0 may be one. */
	unsigned int last = node->is_switch ? 0 : node->ports;

	for (unsigned int port = !node->is_switch; port <= last; port++)
		if (shown_group_join_state(g, node->name, port))
			return true;
	return false;
}

static void print_node(const struct fabric_node_view *node, const struct shown_group *g,
		       FILE *out)
{
	fputc('\t', out);
	quote(node->name, out);
	fprintf(out, " [shape=%s", node->is_switch ? "box" : "ellipse");
	if (!node->powered)
		fprintf(out, ", style=dashed");
	else if (g && is_member(g, node))
		fprintf(out, ", style=filled, fillcolor=mistyrose");
	fprintf(out, ", tooltip=\"lid %u\"];\n", node->lid);
}

static void print_masters(const struct site *s, FILE *out)
{
	struct manager_view m;

	for (unsigned int n = 0; site_fabric_sm_nth(s->fabric, n, &m); n++) {
		if (!m.sm || sm_state(m.sm) != SM_MASTER)
			continue;
		fputc('\t', out);
		quote(m.node, out);
		fprintf(out, " [peripheries=2];\n");
	}
}

static const char *direction(bool there, bool back)
{
	if (there && back)
		return "both";
	return there ? "forward" : "back";
}

static void print_link(struct fabric *net, unsigned int node, unsigned int port,
		       const struct shown_group *g, FILE *out)
{
	struct fabric_node_view here, peer;
	struct fabric_link_view link;
	bool there, back;

	fabric_link_view(net, node, port, &link);
	/* Each from one of its ends. */
	if (!link.connected || link.peer < node ||
	    (link.peer == node && link.peer_port < port))
		return;
	fabric_node_view(net, node, &here);
	fabric_node_view(net, link.peer, &peer);
	there = g && shown_group_leaves(g, node, port);
	back = g && shown_group_leaves(g, link.peer, link.peer_port);
	fputc('\t', out);
	quote(here.name, out);
	fprintf(out, " -> ");
	quote(peer.name, out);
	fprintf(out, " [taillabel=%u, headlabel=%u, ", port, link.peer_port);
	if (there || back)
		fprintf(out, "dir=%s, color=red, penwidth=3];\n", direction(there, back));
	else
		fprintf(out, "dir=none%s];\n", link.up ? "" : ", style=dashed");
}

static void print_title(const struct site *s, const struct shown_group *g, FILE *out)
{
	char shape[256], title[512];

	admin_shape_print(&s->options->shape, shape, sizeof(shape));
	if (g)
		snprintf(title, sizeof(title), "%s group %s mlid 0x%04x", shape,
			 g->mgid[0] ? g->mgid : "?", g->mlid);
	else
		snprintf(title, sizeof(title), "%s", shape);
	fprintf(out, "digraph ");
	quote(title, out);
	fprintf(out, " {\n");
}

void admin_show_graph(const struct site *s, const struct shown_group *g, FILE *out)
{
	struct fabric *net = site_fabric_net(s->fabric);
	struct fabric_node_view node;

	print_title(s, g, out);
	for (unsigned int n = 0; n < fabric_node_count(net); n++) {
		fabric_node_view(net, n, &node);
		print_node(&node, g, out);
	}
	print_masters(s, out);
	for (unsigned int n = 0; n < fabric_node_count(net); n++) {
		fabric_node_view(net, n, &node);
		for (unsigned int port = 1; port <= node.ports; port++)
			print_link(net, n, port, g, out);
	}
	fprintf(out, "}\n");
}
