/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbcast group: memberships that the daemon holds for whoever has no program for it. A
 * client of the node's SA client like any other (spec/kernel 2.4); what is lost with its
 * port or its subnet manager is joined again, as IPoIB does.
 */
#include <arpa/inet.h>
#include <cjson/cJSON.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "daemon/admin_priv.h"

#define REJOIN_NS (1000 * TIMER_MS)
/* Of a group that may have to be created again (spec/sa-sm 1.6). */
#define REJOIN_COMPONENTS                                                  \
	(SA_MCM_MGID | SA_MCM_PORT_GID | SA_MCM_JOIN_STATE | SA_MCM_QKEY | \
	 SA_MCM_TCLASS | SA_MCM_PKEY | SA_MCM_SL | SA_MCM_FLOW_LABEL |     \
	 SA_MCM_MTU_SELECTOR | SA_MCM_MTU | SA_MCM_RATE_SELECTOR | SA_MCM_RATE)

/* From the command that asks for it until that of leave, or until it is refused. */
struct join {
	struct list link; /* in admin_site.joins */
	struct site *site;
	struct node *node;
	u32 port;
	struct uapi_admin_call *call; /* null: answered */
	bool json;
	struct ib_sa_mcmember_rec rec; /* what is asked for, then what it is */
	u64 components;
	u8 join_state;
	struct ib_sa_multicast *multicast; /* null: lost, until `again` */
	struct timer again;
};

static int joined(int status, struct ib_sa_multicast *multicast);

/* -- answers ------------------------------------------------------------------------- */

static void mgid_text(const union ib_gid *mgid, char text[INET6_ADDRSTRLEN])
{
	inet_ntop(AF_INET6, mgid->raw, text, INET6_ADDRSTRLEN);
}

static cJSON *group_json(const struct sa_mcmember *g)
{
	char mgid[INET6_ADDRSTRLEN];
	cJSON *o = cJSON_CreateObject();

	mgid_text(&g->mgid, mgid);
	cJSON_AddStringToObject(o, "mgid", mgid);
	cJSON_AddNumberToObject(o, "mlid", g->mlid);
	cJSON_AddNumberToObject(o, "pkey", g->pkey);
	cJSON_AddNumberToObject(o, "qkey", g->qkey);
	cJSON_AddNumberToObject(o, "mtu", 128 << g->mtu);
	cJSON_AddStringToObject(o, "rate", admin_rate_name(g->rate));
	cJSON_AddNumberToObject(o, "sl", g->sl);
	cJSON_AddNumberToObject(o, "tclass", g->tclass);
	cJSON_AddNumberToObject(o, "flow_label", g->flow_label);
	cJSON_AddNumberToObject(o, "hop_limit", g->hop_limit);
	cJSON_AddNumberToObject(o, "scope", g->scope);
	return o;
}

static void group_text(const struct sa_mcmember *g, FILE *out)
{
	char mgid[INET6_ADDRSTRLEN];

	mgid_text(&g->mgid, mgid);
	fprintf(out, "%s mlid 0x%04x pkey 0x%04x qkey 0x%08x mtu %u rate %s sl %u\n",
		mgid, g->mlid, g->pkey, g->qkey, 128u << g->mtu, admin_rate_name(g->rate),
		g->sl);
}

static void host_order(const struct ib_sa_mcmember_rec *rec, struct sa_mcmember *g)
{
	uint8_t data[SA_MCMEMBER_STRIDE] = { 0 };

	ib_sa_pack_mcmember(rec, data);
	sa_mcmember_get(data, g);
}

static void answer_joined(struct join *j)
{
	struct uapi_admin_call *call = j->call;
	struct sa_mcmember g;
	struct admin_text t;

	j->call = NULL;
	host_order(&j->rec, &g);
	if (j->json) {
		cJSON *o = group_json(&g);

		cJSON_AddStringToObject(o, "node", ib_node_name(j->node->ib));
		cJSON_AddNumberToObject(o, "port", j->port);
		admin_json_answer(call, o);
	} else if (admin_text_begin(&t, call)) {
		group_text(&g, t.out);
		admin_text_answer(&t, call);
	}
}

static void answer_failed(struct join *j, int status)
{
	static const struct {
		int status;
		const char *text;
	} reasons[] = {
		{ -ETIMEDOUT, "the subnet administrator does not answer" },
		{ -EINVAL,
		  "the subnet administrator refuses (verbcast group list shows which "
		  "groups there are, and what they are like)" },
		{ -EAGAIN, "the port knows no subnet manager" },
		{ -ENETRESET, "the port was reset" },
		{ -ENODEV, "the port has no subnet administrator" },
		{ -EIO, "the request cannot be sent, or the answer is broken" },
	};
	const char *text = strerror(-status);

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].status == status)
			text = reasons[i].text;
	admin_refuse(j->call, "node %s cannot join: %s", ib_node_name(j->node->ib), text);
	j->call = NULL;
}

/* -- joining ------------------------------------------------------------------------- */

static void forget(struct join *j)
{
	timer_disarm(&j->again);
	if (j->multicast)
		ib_sa_free_multicast(j->multicast);
	list_remove(&j->link);
	free(j);
}

static int ask(struct join *j)
{
	struct ib_sa_multicast *m;

	m = ib_sa_join_multicast(&j->site->admin.sa_client, hca_device_ib(j->node->vib),
				 j->port, &j->rec,
				 ib_sa_comp_mask_from_host(j->components), joined, j);
	if (IS_ERR(m))
		return (int)PTR_ERR(m);
	j->multicast = m;
	return 0;
}

static void ask_again(struct timer *timer)
{
	struct join *j = container_of(timer, struct join, again);

	if (ask(j) < 0)
		timer_arm(timer, REJOIN_NS);
}

static void lost(struct join *j, int status)
{
	log_info("node %s is out of a group: %s", ib_node_name(j->node->ib),
		 strerror(-status));
	j->multicast = NULL;
	j->components = REJOIN_COMPONENTS;
	j->rec.mtu_selector = j->rec.rate_selector = SA_SELECT_EQ;
	j->rec.join_state = j->join_state;
	timer_arm(&j->again, REJOIN_NS);
}

/* What is not 0 has the core free the member. */
static int joined(int status, struct ib_sa_multicast *multicast)
{
	struct join *j = multicast->context;

	if (!status) {
		j->rec = multicast->rec;
		if (j->call)
			answer_joined(j);
		return 0;
	}
	if (j->call) {
		answer_failed(j, status);
		j->multicast = NULL;
		forget(j);
	} else {
		lost(j, status);
	}
	return status;
}

static struct join *find(const struct admin_site *a, const struct node *node, u32 port,
			 const union ib_gid *mgid)
{
	list_for_each(pos, &a->joins) {
		struct join *j = container_of(pos, struct join, link);

		if (j->node == node && j->port == port &&
		    gid_equal(j->rec.mgid.raw, mgid->raw))
			return j;
	}
	return NULL;
}

static int create_join(struct site *s, struct node *node, struct uapi_admin_call *call,
		       const struct admin_request *r, struct join **ret)
{
	uint8_t data[SA_MCMEMBER_STRIDE] = { 0 };
	struct ib_gid_attr gid;
	struct join *j;
	int error;

	error = rdma_query_gid(hca_device_ib(node->vib), r->port, 0, &gid);
	if (error < 0)
		return error;
	j = calloc(1, sizeof(*j));
	if (!j)
		return -ENOMEM;
	j->site = s;
	j->node = node;
	j->port = r->port;
	j->call = call;
	j->json = r->json;
	j->join_state = r->group.join_state;
	j->components = r->components | SA_MCM_PORT_GID;
	sa_mcmember_put(data, &r->group);
	ib_sa_unpack_mcmember(data, &j->rec);
	j->rec.port_gid = gid.gid;
	timer_init(&j->again, timers_queue(s->timers), ask_again);
	list_append(&s->admin.joins, &j->link);
	*ret = j;
	return 0;
}

static struct node *find_node(struct site *s, struct uapi_admin_call *call,
			      const struct admin_request *r)
{
	struct node *node = admin_find_node(s, call, r->node);

	if (!node || rdma_is_port_valid(hca_device_ib(node->vib), r->port))
		return node;
	admin_refuse(call, "vib0 of node %s has no port %u", ib_node_name(node->ib),
		     r->port);
	return NULL;
}

static bool is_given(const struct admin_request *r)
{
	static const union ib_gid none;

	return !gid_equal(r->group.mgid.raw, none.raw);
}

void admin_group_join(struct site *s, struct uapi_admin_call *call,
		      const struct admin_request *r)
{
	struct node *node = find_node(s, call, r);
	struct join *j;
	int error;

	if (!node)
		return;
	if (is_given(r) && find(&s->admin, node, r->port, &r->group.mgid)) {
		admin_refuse(call,
			     "node %s has been told to join that group: verbcast group "
			     "leave first",
			     ib_node_name(node->ib));
		return;
	}
	error = create_join(s, node, call, r, &j);
	if (error < 0) {
		admin_refuse(call, "node %s cannot join: %s", ib_node_name(node->ib),
			     strerror(-error));
		return;
	}
	error = ask(j);
	if (error < 0) {
		answer_failed(j, error);
		forget(j);
	}
}

void admin_group_leave(struct site *s, struct uapi_admin_call *call,
		       const struct admin_request *r)
{
	struct node *node = find_node(s, call, r);
	struct join *j;

	if (!node)
		return;
	j = find(&s->admin, node, r->port, &r->group.mgid);
	if (!j || j->call) {
		admin_refuse(call, "node %s has not been told to join that group",
			     ib_node_name(node->ib));
		return;
	}
	forget(j);
	admin_done(call);
}

bool admin_group_gone(struct admin_site *a, struct uapi_admin_call *call)
{
	list_for_each_safe(pos, &a->joins) {
		struct join *j = container_of(pos, struct join, link);

		if (j->call != call)
			continue;
		forget(j);
		return true;
	}
	return false;
}

void admin_group_fini(struct admin_site *a)
{
	list_for_each_safe(pos, &a->joins)
		forget(container_of(pos, struct join, link));
}

/* -- list ---------------------------------------------------------------------------- */

struct listing {
	struct site *site;
	const struct node *only; /* null: all */
	FILE *out;               /* null: JSON */
	cJSON *groups, *members;
	const struct sa_group_view *told; /* the group whose line has been written */
};

/* "h1", or the GID of a port that is none of ours (a switch's). */
static void name_member(const struct listing *l, const struct sa_member_view *member,
			char *to, size_t room)
{
	struct node *node = nodes_find_guid(l->site->nodes, member->port_guid);

	if (node)
		snprintf(to, room, "%s", ib_node_name(node->ib));
	else
		inet_ntop(AF_INET6, member->port_gid.raw, to, (socklen_t)room);
}

void admin_join_state_text(uint8_t state, char to[ADMIN_JOIN_STATE_ROOM])
{
	size_t at = 0;

	to[0] = '\0';
	for (unsigned int bit = 1; bit < 16 && at < ADMIN_JOIN_STATE_ROOM; bit <<= 1)
		if (state & bit)
			at += (size_t)snprintf(to + at, ADMIN_JOIN_STATE_ROOM - at,
					       "%s%s", at ? "+" : "",
					       admin_join_state_name(bit));
}

/* Where the node's port is a member by another GUID than its own; else null. */
static const char *alias_text(const struct sa_member_view *member,
			      char text[INET6_ADDRSTRLEN])
{
	uint64_t guid;

	memcpy(&guid, member->port_gid.raw + 8, sizeof(guid));
	if (be64toh(guid) == member->port_guid)
		return NULL;
	return inet_ntop(AF_INET6, member->port_gid.raw, text, INET6_ADDRSTRLEN);
}

static void tell_group(struct listing *l, const struct sa_group_view *group)
{
	if (l->told == group)
		return;
	l->told = group;
	if (l->out) {
		group_text(&group->rec, l->out);
	} else {
		cJSON *o = group_json(&group->rec);

		cJSON_AddBoolToObject(o, "well_known", group->well_known);
		l->members = cJSON_AddArrayToObject(o, "members");
		cJSON_AddItemToArray(l->groups, o);
	}
}

static void list_group(void *arg, const struct sa_group_view *group)
{
	struct listing *l = arg;

	l->told = NULL;
	if (!l->only)
		tell_group(l, group);
}

static void list_member(void *arg, const struct sa_group_view *group,
			const struct sa_member_view *member)
{
	char name[INET6_ADDRSTRLEN + 32], state[ADMIN_JOIN_STATE_ROOM];
	char gid[INET6_ADDRSTRLEN];
	const char *alias = alias_text(member, gid);
	struct listing *l = arg;

	name_member(l, member, name, sizeof(name));
	if (l->only && strcmp(name, ib_node_name(l->only->ib)) != 0)
		return;
	tell_group(l, group);
	admin_join_state_text(member->join_state, state);
	if (l->out) {
		fprintf(l->out, "  %s %s%s%s\n", name, state, alias ? ", by " : "",
			alias ? alias : "");
	} else {
		cJSON *o = cJSON_CreateObject();

		cJSON_AddStringToObject(o, "node", name);
		cJSON_AddStringToObject(o, "join_state", state);
		if (alias)
			cJSON_AddStringToObject(o, "alias", alias);
		cJSON_AddItemToArray(l->members, o);
	}
}

void admin_group_list(struct site *s, struct uapi_admin_call *call,
		      const struct admin_request *r)
{
	struct sa_server *sa = site_fabric_sa(s->fabric);
	struct listing l = { .site = s };
	struct admin_text t;

	if (r->node) {
		l.only = admin_find_node(s, call, r->node);
		if (!l.only)
			return;
	}
	if (!sa) {
		admin_refuse(call, "no subnet administrator of ours runs (one of another "
				   "tells by `saquery -g`)");
	} else if (r->json) {
		l.groups = cJSON_CreateArray();
		sa_server_each_group(sa, list_group, list_member, &l);
		admin_json_answer(call, l.groups);
	} else if (admin_text_begin(&t, call)) {
		l.out = t.out;
		sa_server_each_group(sa, list_group, list_member, &l);
		admin_text_answer(&t, call);
	}
}
