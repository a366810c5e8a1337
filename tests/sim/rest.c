// SPDX-License-Identifier: BSD-2-Clause
/*
 * Trouble rests: nothing is lost or late any more, and what is cut or switched off remains
 * so. Then the master, if there is one, has done what can be done, and a model of the fabric
 * as it stands says what: a group's members hear each other where the switches between them
 * have room for its MLID (spec/sa-sm 7.5), in one part of the fabric; those in others are cut
 * off from it, and counted.
 */
#include "sim.h"

#define REST  (30 * SECOND)
#define STILL (1 * SECOND)
#define NODES 64u
#define NONE  UINT32_MAX

/* -- the fabric as it stands ------------------------------------------------------------ */

struct map {
	uint16_t mlid;
	bool seen[NODES];           /* by the master's SM */
	uint32_t part[NODES];       /* of switches with room; else NONE */
	uint32_t at[SIM_HOSTS_MAX]; /* a host's part; NONE: none, or it is not seen */
	bool is_seen[SIM_HOSTS_MAX];
	uint32_t parts;
};

static uint32_t node_of(const struct fabric_port *port)
{
	struct fabric_port_info info;

	fabric_port_info(port, &info);
	for (uint32_t i = 0; i < sim.topology->count; i++)
		if (strcmp(sim.topology->nodes[i].name, info.node) == 0)
			return i;
	sim_fail("a port is of no node");
	return NONE;
}

static uint32_t neighbor(uint32_t node, unsigned int port)
{
	struct fabric_link_view link;

	fabric_link_view(sim.fabric, node, port, &link);
	return link.connected && link.up && link.state == SMP_PORT_ACTIVE ? link.peer
									  : NONE;
}

static void see(struct map *m, uint32_t from)
{
	m->seen[from] = true;
	for (unsigned int p = 1; p <= sim.topology->nodes[from].ports; p++) {
		uint32_t to = neighbor(from, p);

		if (to != NONE && !m->seen[to])
			see(m, to);
	}
}

bool sim_hang_together(const struct fabric_port *a, const struct fabric_port *b)
{
	struct map m = { 0 };

	assert_true(sim.topology->count <= NODES);
	see(&m, node_of(a));
	return m.seen[node_of(b)];
}

static bool has_room(const struct map *m, uint32_t node)
{
	const struct topology_node *t = &sim.topology->nodes[node];

	return t->is_switch && m->seen[node] &&
	       m->mlid - IB_LID_MULTICAST_BASE < t->mft_cap;
}

static void flood(struct map *m, uint32_t from)
{
	m->part[from] = m->parts;
	for (unsigned int p = 1; p <= sim.topology->nodes[from].ports; p++) {
		uint32_t to = neighbor(from, p);

		if (to != NONE && m->part[to] == NONE && has_room(m, to))
			flood(m, to);
	}
}

static void map_init(struct map *m, uint16_t mlid)
{
	*m = (struct map){ .mlid = mlid };
	memset(m->part, 0xff, sizeof(m->part));
	assert_true(sim.topology->count <= NODES);
	see(m, node_of(sim_master()->port));
	for (uint32_t i = 0; i < sim.topology->count; i++) {
		if (m->part[i] != NONE || !has_room(m, i))
			continue;
		flood(m, i);
		m->parts++;
	}
	for (unsigned int n = 0; n < sim.host_count; n++) {
		uint32_t node = node_of(sim.hosts[n].port);

		m->is_seen[n] = m->seen[node] && neighbor(node, 1) != NONE;
		m->at[n] = m->is_seen[n] ? m->part[neighbor(node, 1)] : NONE;
	}
}

bool sim_is_beyond_a_table(uint16_t mlid)
{
	for (uint32_t i = 0; i < sim.topology->count; i++) {
		const struct topology_node *node = &sim.topology->nodes[i];
		struct fabric_node_view view;

		fabric_node_view(sim.fabric, i, &view);
		if (node->is_switch && view.powered && node->mft_cap &&
		    mlid - IB_LID_MULTICAST_BASE >= node->mft_cap)
			return true;
	}
	return false;
}

/* -- a group ---------------------------------------------------------------------------- */

struct look {
	const struct sa_group_view *group;
	struct map map;
	bool is_member[SIM_HOSTS_MAX], receives[SIM_HOSTS_MAX];
	/* By sender: how often each is reached. */
	uint8_t reached[SIM_HOSTS_MAX][SIM_HOSTS_MAX];
	unsigned int from;
};

static void note_member(void *arg, const struct sa_group_view *group,
			const struct sa_member_view *member)
{
	struct look *l = arg;
	const struct sim_host *host = sim_host_by_gid(&member->port_gid);

	if (!host || !gid_equal(group->rec.mgid.raw, l->group->rec.mgid.raw))
		return;
	l->is_member[host->number] = true;
	l->receives[host->number] = member->join_state & SIM_RECEIVES;
}

static void reach(void *arg, struct fabric_port *port)
{
	struct look *l = arg;

	for (unsigned int n = 0; n < sim.host_count; n++)
		l->reached[l->from][n] += sim.hosts[n].port == port;
}

static void walk_from_all(struct look *l)
{
	for (l->from = 0; l->from < sim.host_count; l->from++)
		fabric_walk_multicast(sim.hosts[l->from].port, l->map.mlid, 0xffff, reach,
				      l);
}

/* The tree is in that part: exactly its members are reached by exactly its members, and at
 * most they by others. What the SM does not see may be as it was. */
static bool is_tree_in(const struct look *l, uint32_t part)
{
	const uint32_t *at = l->map.at;

	for (unsigned int from = 0; from < sim.host_count; from++) {
		bool sends = l->is_member[from] && at[from] == part;

		for (unsigned int to = 0; l->map.is_seen[from] && to < sim.host_count;
		     to++) {
			unsigned int due =
				from != to && l->receives[to] && at[to] == part;

			if (sends ? l->reached[from][to] != due
				  : l->reached[from][to] > due)
				return false;
		}
	}
	return true;
}

static unsigned int members_beside(const struct look *l, uint32_t part)
{
	unsigned int count = 0;

	for (unsigned int n = 0; n < sim.host_count; n++)
		count += l->is_member[n] && l->map.is_seen[n] &&
			 (part == NONE || l->map.at[n] != part);
	return count;
}

static bool has_members_in(const struct look *l, uint32_t part)
{
	for (unsigned int n = 0; n < sim.host_count; n++)
		if (l->is_member[n] && l->map.at[n] == part)
			return true;
	return false;
}

/* So many may be cut off: parts of a single member look alike. */
struct range {
	unsigned int least, most;
};

static bool find_tree(const struct look *l, struct range *ret)
{
	bool is_found = false, is_anywhere = false;

	for (uint32_t part = 0; part < l->map.parts; part++) {
		unsigned int beside = members_beside(l, part);

		if (!has_members_in(l, part))
			continue;
		is_anywhere = true;
		if (!is_tree_in(l, part))
			continue;
		if (!is_found || beside < ret->least)
			ret->least = beside;
		if (!is_found || beside > ret->most)
			ret->most = beside;
		is_found = true;
	}
	if (is_anywhere)
		return is_found;
	ret->least = ret->most = members_beside(l, NONE);
	return is_tree_in(l, NONE - 1);
}

static void judge_group(void *arg, const struct sa_group_view *group)
{
	struct range *sum = arg, range = { 0 };
	struct look l = { .group = group };

	map_init(&l.map, group->rec.mlid);
	sa_server_each_group(sim_master()->server, NULL, note_member, &l);
	walk_from_all(&l);
	sim_check(find_tree(&l, &range),
		  "%s, MLID %x: at rest not delivered in any part of %u",
		  sim_mgid(&group->rec.mgid), group->rec.mlid, l.map.parts);
	sum->least += range.least;
	sum->most += range.most;
	sim.rested++;
	sim.beyond += sim_is_beyond_a_table(group->rec.mlid);
}

/* -- all of them ------------------------------------------------------------------------ */

static unsigned int cut_off(void)
{
	struct sm_counters c;

	sm_counters(sim_master()->sm, &c);
	return (unsigned int)c.members_cut_off;
}

/* One master, which has done its work, and no request is under way. */
static bool is_at_rest(void)
{
	unsigned int masters = 0;

	for (unsigned int i = 0; i < SIM_MANAGERS_MAX; i++)
		masters += sim.managers[i].serving;
	return masters == 1 && sm_is_up(sim_master()->sm) && sim_model_is_still(STILL);
}

static void look(void)
{
	struct range range = { 0 };

	sim_run(REST);
	for (unsigned int tries = 30; !is_at_rest(); tries--) {
		if (!tries)
			return;
		sim_run(STILL);
	}
	sa_server_each_group(sim_master()->server, judge_group, NULL, &range);
	sim_trace("at rest, with %u members cut off", cut_off());
	sim_check(cut_off() >= range.least && cut_off() <= range.most,
		  "%u members are cut off, not %u to %u", cut_off(), range.least,
		  range.most);
	sim.cut_off += cut_off();
}

static const char *name_of_switch(unsigned int n)
{
	struct fabric_port_info info;

	fabric_port_info(fabric_switch_port(sim.fabric, n), &info);
	return info.node;
}

/* Where only switches with small tables are left between members. */
static void look_without_some(void)
{
	sim_mend();
	sim_run(3 * SECOND);
	for (unsigned int n = 0; n < 3; n++) {
		const char *name = name_of_switch(sim_below(sim.profile.switches));

		sim_trace("power of %s: off", name);
		fabric_power_set(sim.fabric, name, false);
		look();
		fabric_power_set(sim.fabric, name, true);
		sim_run(3 * SECOND);
	}
}

void sim_rest(void)
{
	sim_trace("trouble rests");
	sim_end_noise();
	look();
	if (sim.profile.is_small && sim.profile.power)
		look_without_some();
}
