/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters come from memory that the processes write: they are shown, never relied on,
 * and an index into them was given out by us.
 */
#include "daemon/status.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory_file.h"
#include "daemon/json.h"
#include "daemon/site.h"

static cJSON *add_array(cJSON *to, const char *key)
{
	return cJSON_AddArrayToObject(to, key);
}

/* cJSON wants to be told that an item could not be made; a hole is shown instead. */
static cJSON *append_object(cJSON *array)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddItemToArray(array, o);
	return o;
}

static void add_gid(cJSON *to, const char *key, const uint8_t gid[16])
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, gid, text, sizeof(text));
	if (key)
		cJSON_AddStringToObject(to, key, text);
	else
		cJSON_AddItemToArray(to, cJSON_CreateString(text));
}

/* Only reasons that occurred. */
static void add_drops(cJSON *to, const uint64_t *drops, int count)
{
	cJSON *o = cJSON_AddObjectToObject(to, "drops");

	for (int i = 0; i < count; i++)
		if (drops[i])
			json_add_count(o, drop_reason_name(i), drops[i]);
}

/* -- nodes and devices -------------------------------------------------------------- */

static const char *state_name(enum ib_port_state state)
{
	static const char *const names[] = { "NOP",   "DOWN",   "INIT",
					     "ARMED", "ACTIVE", "ACTIVE_DEFER" };

	return (unsigned int)state < 6 ? names[state] : "?";
}

/* The IPoIB interface: whether rdma_cm has the record that joins start from, and the
 * addresses by which it finds the port. */
static void add_interface(cJSON *port, const struct node *node, struct ib_device *device,
			  uint32_t port_num)
{
	struct ipoib_interface i;
	char text[INET6_ADDRSTRLEN];
	cJSON *addresses;

	if (ipoib_find_by_port(node->ipoib, device, port_num, &i) < 0)
		return;
	cJSON_AddBoolToObject(port, "joined", i.up);
	addresses = add_array(port, "addresses");
	if (i.addresses.ip4.sin_family) {
		inet_ntop(AF_INET, &i.addresses.ip4.sin_addr, text, sizeof(text));
		cJSON_AddItemToArray(addresses, cJSON_CreateString(text));
	}
	if (i.addresses.ip6.sin6_family)
		add_gid(addresses, NULL, i.addresses.ip6.sin6_addr.s6_addr);
}

static void add_port(cJSON *ports, const struct node *node, struct ib_device *device,
		     uint32_t port_num)
{
	cJSON *port = append_object(ports), *gids;
	struct ib_port_attr attr = { 0 };
	struct ib_gid_attr gid;

	ib_query_port(device, port_num, &attr);
	cJSON_AddNumberToObject(port, "port", port_num);
	cJSON_AddStringToObject(port, "state", state_name(attr.state));
	cJSON_AddNumberToObject(port, "mtu", 128 << attr.active_mtu);
	if (rdma_cap_ib_sa(device, port_num)) {
		cJSON_AddNumberToObject(port, "lid", attr.lid);
		cJSON_AddNumberToObject(port, "sm_lid", attr.sm_lid);
		add_interface(port, node, device, port_num);
	}
	gids = add_array(port, "gids");
	for (int i = 0; i < attr.gid_tbl_len; i++)
		if (!rdma_query_gid(device, port_num, i, &gid))
			add_gid(gids, NULL, gid.gid.raw);
}

static void add_device(cJSON *devices, const struct node *node, struct ib_device *device)
{
	uint32_t first = rdma_start_port(device);
	cJSON *d = append_object(devices), *ports;
	struct ib_device_info info = { 0 };

	ib_describe_device(device, &info);
	cJSON_AddStringToObject(d, "name", ib_device_name(device));
	cJSON_AddStringToObject(d, "netdev", info.netdev);
	cJSON_AddStringToObject(d, "link_layer",
				rdma_port_get_link_layer(device, first) ==
						IB_LINK_LAYER_ETHERNET
					? "Ethernet"
					: "InfiniBand");
	ports = add_array(d, "ports");
	for (uint32_t p = first; p <= rdma_end_port(device); p++)
		add_port(ports, node, device, p);
}

static void add_node(cJSON *nodes, const struct node *node)
{
	cJSON *n = append_object(nodes), *devices;
	struct ib_device *device;

	cJSON_AddStringToObject(n, "name", ib_node_name(node->ib));
	devices = add_array(n, "devices");
	for (uint32_t i = 0; (device = ib_node_device(node->ib, i)); i++)
		add_device(devices, node, device);
}

/* -- processes ---------------------------------------------------------------------- */

struct processes {
	const struct site *site;
	struct ib_device *device;
	cJSON *qps[SHM_SLOTS_MAX]; /* the array of a live process */
};

static void append_qp(cJSON *qps, const struct history_qp *q, const char *device)
{
	cJSON *o = append_object(qps);

	cJSON_AddNumberToObject(o, "qpn", q->qpn);
	cJSON_AddStringToObject(o, "device", device);
	json_add_count(o, "sent", q->sent);
	json_add_count(o, "sent_bytes", q->sent_bytes);
	json_add_count(o, "received", q->received);
	json_add_count(o, "received_bytes", q->received_bytes);
	add_drops(o, q->drops, DROP_REASONS);
}

static void add_live_qp(void *arg, const struct hca_qp_view *view)
{
	struct processes *all = arg;
	struct history_qp q = { .qpn = view->qpn };
	struct slot_view p;

	if (view->slot >= SHM_SLOTS_MAX || !all->qps[view->slot] ||
	    !slots_view(all->site->slots, view->slot, &p))
		return;
	if (view->counters < SHM_QP_COUNTERS)
		history_qp_read(&q, &p.counters->qps[view->counters]);
	append_qp(all->qps[view->slot], &q, ib_device_name(all->device));
}

static void add_live_qps(void *arg, struct hca_device *device)
{
	struct processes *all = arg;

	all->device = hca_device_ib(device);
	hca_device_each_qp(device, add_live_qp, all);
}

static cJSON *append_process(cJSON *processes, uint32_t slot, pid_t pid,
			     const char *program, const char *node,
			     const uint64_t drops[DROP_REASONS])
{
	cJSON *o = append_object(processes), *qps;

	cJSON_AddNumberToObject(o, "slot", slot);
	cJSON_AddNumberToObject(o, "pid", pid);
	cJSON_AddStringToObject(o, "program", program);
	cJSON_AddStringToObject(o, "node", node);
	qps = add_array(o, "qps");
	add_drops(o, drops, DROP_REASONS);
	return qps;
}

static void add_processes(cJSON *root, const struct site *s)
{
	struct processes all = { .site = s };
	cJSON *processes = add_array(root, "processes");

	for (uint32_t slot = 0; slot < SHM_SLOTS_MAX; slot++) {
		uint64_t drops[DROP_REASONS];
		struct slot_view p;

		if (!slots_view(s->slots, slot, &p))
			continue;
		for (int i = 0; i < DROP_REASONS; i++)
			drops[i] = shm_count(&p.counters->drops[i]);
		all.qps[slot] =
			append_process(processes, slot, p.pid, p.program, p.node, drops);
	}
	site_each_device(s, add_live_qps, &all);
}

static void add_ended(cJSON *root, const struct site *s)
{
	cJSON *ended = add_array(root, "ended");

	list_for_each(pos, &s->history.ended) {
		const struct history_process *e =
			container_of(pos, struct history_process, link);
		cJSON *qps = append_process(ended, e->slot, e->pid, e->program, e->node,
					    e->drops);

		for (uint32_t i = 0; i < e->qp_count; i++)
			append_qp(qps, &e->qps[i], e->qps[i].device);
	}
}

/* -- groups ------------------------------------------------------------------------- */

struct groups {
	const struct site *site;
	struct ib_device *device;
	cJSON *array;
	cJSON *members; /* of the group in hand */
};

static void append_member(cJSON *members, pid_t pid, const char *program, uint32_t qpn,
			  const char *state, uint64_t delivered, const uint64_t *drops)
{
	cJSON *o = append_object(members);

	cJSON_AddNumberToObject(o, "pid", pid);
	cJSON_AddStringToObject(o, "program", program);
	cJSON_AddNumberToObject(o, "qpn", qpn);
	cJSON_AddStringToObject(o, "state", state);
	json_add_count(o, "delivered", delivered);
	add_drops(o, drops, DROP_MEMBER_REASONS);
}

static cJSON *append_group(cJSON *groups, const char *node, const char *device,
			   const struct history_group_key *key)
{
	cJSON *o = append_object(groups);

	add_gid(o, "mgid", key->mgid);
	cJSON_AddStringToObject(o, "node", node);
	cJSON_AddStringToObject(o, "device", device);
	cJSON_AddNumberToObject(o, "port", key->port_num);
	return add_array(o, "members");
}

/* Those who left this group and have not been shown yet. */
static void append_left(cJSON *members, const struct history *h,
			const struct history_group_key *key)
{
	hash_for_each_match(node, &h->members, history_group_hash(key)) {
		struct history_member *m =
			container_of(node, struct history_member, node);

		if (m->shown || !history_group_equal(&m->group, key))
			continue;
		append_member(members, m->pid, m->program, m->qpn, "left", m->delivered,
			      m->drops);
		m->shown = true;
	}
}

static void add_live_group(void *arg, const struct hca_group_view *group)
{
	struct groups *all = arg;
	struct history_group_key key;

	history_group_key(&key, all->device, group->port_num, group->mgid.raw);
	all->members = append_group(all->array, ib_node_name(all->device->node),
				    ib_device_name(all->device), &key);
	append_left(all->members, &all->site->history, &key);
}

static void add_live_member(void *arg, const struct hca_group_view *group,
			    const struct hca_member_view *member)
{
	uint64_t delivered = 0, drops[DROP_MEMBER_REASONS] = { 0 };
	struct groups *all = arg;
	struct slot_view p;

	if (!slots_view(all->site->slots, member->slot, &p))
		return;
	if (member->counters < SHM_MEMBER_COUNTERS) {
		const struct shm_member_counters *c =
			&p.counters->members[member->counters];

		delivered = shm_count(&p.counters->delivered[member->counters]);
		for (int i = 0; i < DROP_MEMBER_REASONS; i++)
			drops[i] =
				atomic_load_explicit(&c->drops[i], memory_order_relaxed);
	}
	append_member(all->members, p.pid, p.program, member->qpn, "attached", delivered,
		      drops);
}

static void add_live_groups(void *arg, struct hca_device *device)
{
	struct groups *all = arg;

	all->device = hca_device_ib(device);
	hca_device_each_group(device, add_live_group, add_live_member, all);
}

static void add_groups(cJSON *root, const struct site *s)
{
	struct groups all = { .site = s, .array = add_array(root, "groups") };

	list_for_each(pos, &s->history.member_list)
		container_of(pos, struct history_member, link)->shown = false;
	site_each_device(s, add_live_groups, &all);
	list_for_each(pos, &s->history.member_list) {
		struct history_member *m = container_of(pos, struct history_member, link);

		if (!m->shown)
			append_left(append_group(all.array, m->node_name, m->device,
						 &m->group),
				    &s->history, &m->group);
	}
}

/* -- the fabric ---------------------------------------------------------------------- */

static void add_fabric(cJSON *root, const struct site *s)
{
	struct fabric_node_view node;
	char shape[256];
	cJSON *o;
	unsigned int switches = 0;

	if (!s->fabric)
		return;
	admin_shape_print(&s->options->shape, shape, sizeof(shape));
	o = cJSON_AddObjectToObject(root, "fabric");
	cJSON_AddStringToObject(o, "shape", shape);
	cJSON_AddBoolToObject(o, "sm", site_fabric_sm(s->fabric) != NULL);
	cJSON_AddBoolToObject(o, "up",
			      site_fabric_sm(s->fabric) && site_fabric_is_up(s->fabric));
	for (unsigned int n = 0; n < fabric_node_count(site_fabric_net(s->fabric)); n++) {
		fabric_node_view(site_fabric_net(s->fabric), n, &node);
		switches += node.is_switch;
	}
	cJSON_AddNumberToObject(o, "switches", switches);
}

/* -- all of it ---------------------------------------------------------------------- */

char *status_json(struct site *s)
{
	cJSON *root = cJSON_CreateObject(), *nodes;
	struct node *node;
	char *text;

	cJSON_AddStringToObject(root, "site", s->paths->name);
	cJSON_AddNumberToObject(root, "pid", getpid());
	cJSON_AddStringToObject(root, "version", VERBCAST_VERSION);
	json_add_count(root, "longest_turn_ms", loop_longest_turn_ns(s->loop) / 1000000);
	nodes = add_array(root, "nodes");
	for (unsigned int n = 0; (node = nodes_nth(s->nodes, n)); n++)
		add_node(nodes, node);
	add_fabric(root, s);
	add_processes(root, s);
	add_ended(root, s);
	add_groups(root, s);
	cJSON_AddItemToObject(root, "faults", fault_rules_json(s));
	text = cJSON_PrintUnformatted(root);
	cJSON_Delete(root);
	return text;
}

int status_file(struct site *s, int *ret_fd, uint64_t *ret_bytes)
{
	char *text = status_json(s);
	int fd;

	if (!text)
		return -ENOMEM;
	fd = memory_file_create("verbcast-status", text, strlen(text), 0);
	if (fd >= 0) {
		*ret_fd = fd;
		*ret_bytes = strlen(text);
	}
	free(text);
	return fd < 0 ? fd : 0;
}
