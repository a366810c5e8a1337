// SPDX-License-Identifier: BSD-2-Clause
/*
 * All is quiet. Then every consumer has what it wants; every host believes what its members
 * have joined; the SA holds what the hosts believe, but for what the ledger excuses; and
 * the switches carry a member's datagram to those who receive, and to nobody else.
 */
#include "sim.h"

/* -- what is believed, and held --------------------------------------------------------- */

struct belief {
	struct list link;
	struct sim_host *host;
	union ib_gid mgid;
	uint8_t host_states; /* what the host has told the SA, as far as it knows */
	uint8_t counted;     /* what its members need */
	uint8_t members;     /* what those of consumer.c say they have */
	uint8_t sa_states;
};

static struct list beliefs = LIST_INIT(beliefs);

static struct belief *belief_of(struct sim_host *host, const union ib_gid *mgid)
{
	struct belief *b;

	list_for_each(l, &beliefs) {
		b = container_of(l, struct belief, link);
		if (b->host == host && gid_equal(b->mgid.raw, mgid->raw))
			return b;
	}
	b = calloc(1, sizeof(*b));
	assert_non_null(b);
	b->host = host;
	b->mgid = *mgid;
	list_append(&beliefs, &b->link);
	return b;
}

static void forget_beliefs(void)
{
	list_for_each_safe(l, &beliefs)
		free(container_of(l, struct belief, link));
	list_init(&beliefs);
}

static void host_group(void *arg, const struct ib_sa_group_view *group)
{
	struct belief *b = belief_of(arg, &group->rec.mgid);

	b->host_states = group->rec.join_state;
	for (unsigned int bit = 0; bit < 4; bit++)
		if (group->members[bit])
			b->counted |= (uint8_t)(1u << bit);
}

static void sa_member(void *arg, const struct sa_group_view *group,
		      const struct sa_member_view *member)
{
	struct sim_host *host = sim_host_by_gid(&member->port_gid);

	sim_check(host, "the SA has a member that is nobody's port");
	belief_of(host, &group->rec.mgid)->sa_states = member->join_state;
}

static void collect(void)
{
	for (unsigned int n = 0; n < sim.host_count; n++)
		ib_sa_each_group(&sim.hosts[n].ib, host_group, &sim.hosts[n]);
	for (unsigned int i = 0; i < SIM_MEMBERS_MAX; i++) {
		struct sim_member *m = &sim.members[i];

		if (m->state == SIM_JOINED && m->wish.join_state)
			belief_of(m->host, &m->mgid)->members |= m->wish.join_state;
	}
	sa_server_each_group(sim_master()->server, NULL, sa_member, NULL);
}

/* A group that has lost its last full member is gone, and those who are none are not told
 * (spec/sa-sm 1.11). */
static uint8_t may_be_missing(const struct belief *b, const struct sim_pair *pair)
{
	bool is_full = b->host_states & SIM_FULL & ~pair->missing;

	if (is_full)
		return pair->missing;
	return sim.profile.faults || sim.was_split ? 0xf : pair->missing | pair->bereaved;
}

/* By its first bytes: spec/sa-sm 1.8. */
static bool is_of_the_sas_choice(const union ib_gid *mgid)
{
	return mgid->raw[2] == 0xa0 && mgid->raw[3] == 0x1b;
}

static uint8_t may_be_ghost(const struct belief *b, const struct sim_pair *pair)
{
	return b->host->has_nameless && is_of_the_sas_choice(&b->mgid) ? 0xf
								       : pair->ghost;
}

static void judge(const struct belief *b)
{
	const struct sim_pair *pair = sim_pair(b->host, &b->mgid);
	uint8_t ghost = b->sa_states & (uint8_t)~b->host_states;
	uint8_t missing = b->host_states & (uint8_t)~b->sa_states;
	unsigned int host = b->host->number;

	sim.ghosts += !!ghost;
	sim_check((b->host_states & ~b->counted) == 0,
		  "host %u, %s: the host has states %x, its members need %x", host,
		  sim_mgid(&b->mgid), b->host_states, b->counted);
	sim_check((b->members & ~b->counted) == 0,
		  "host %u, %s: members have joined as %x, counted are %x", host,
		  sim_mgid(&b->mgid), b->members, b->counted);
	/* Those who are no full members may have lost the group without hearing of it, and
	 * the host learns that when it is told its states anew. */
	sim_check((b->counted & ~b->host_states & SIM_FULL & ~pair->lapsed) == 0,
		  "host %u, %s: members need %x, the host has states %x", host,
		  sim_mgid(&b->mgid), b->counted, b->host_states);
	sim_check((ghost & ~may_be_ghost(b, pair)) == 0,
		  "host %u, %s: the SA has states %x, the host %x (excused %x)", host,
		  sim_mgid(&b->mgid), b->sa_states, b->host_states, pair->ghost);
	sim_check((missing & ~may_be_missing(b, pair)) == 0,
		  "host %u, %s: the host has states %x, the SA %x (excused %x)", host,
		  sim_mgid(&b->mgid), b->host_states, b->sa_states, pair->missing);
}

/* -- managers and their partitions ------------------------------------------------------ */

static void judge_managers(void)
{
	unsigned int masters = 0;

	for (unsigned int i = 0; i < SIM_MANAGERS_MAX; i++) {
		const struct sim_manager *m = &sim.managers[i];

		if (!m->sm)
			continue;
		masters += m->serving;
		sim_check(sm_state(m->sm) == (m->serving ? SM_MASTER : SM_STANDBY),
			  "SM %u is in state %d", i, sm_state(m->sm));
		sim_check(!m->serving || sm_is_up(m->sm), "SM %u is not done", i);
	}
	sim_check(masters == 1, "%u SMs serve", masters);
}

static void judge_pkeys(const struct sim_host *host)
{
	static const uint16_t bits[] = {
		[SIM_LIMITED] = 0, [SIM_FULL_MEMBER] = IB_PKEY_FULL_MEMBER
	};
	struct fabric_port_info info;
	unsigned int memberships = 0, keys = 0;

	for (unsigned int i = 0; i < SIM_PARTITIONS_MAX; i++)
		memberships += sim.profile.partitions
				       ? sim.membership[i][host->number] > 0
				       : i == 0;
	fabric_port_info(host->port, &info);
	for (unsigned int i = 0; i < info.pkey_count; i++) {
		enum sim_membership m = sim_membership(host, info.pkeys[i]);

		if (!info.pkeys[i])
			continue;
		keys++;
		sim_check(m && (info.pkeys[i] & IB_PKEY_FULL_MEMBER) == bits[m],
			  "host %u has P_Key %04x", host->number, info.pkeys[i]);
	}
	sim_check(keys == memberships, "host %u has %u P_Keys, not %u", host->number,
		  keys, memberships);
}

/* -- consumers -------------------------------------------------------------------------- */

static void judge_interface(const struct sim_host *host)
{
	struct ipoib_interface interface;

	assert_int_equal(ipoib_find_by_port(host->ipoib, &host->ib, 1, &interface), 0);
	sim_check(interface.up || !host->has_tables || sim.profile.is_small,
		  "host %u: its interface is not up", host->number);
}

static void judge_consumers(void)
{
	for (unsigned int i = 0; i < SIM_MEMBERS_MAX; i++) {
		const struct sim_member *m = &sim.members[i];

		sim_check(m->state == SIM_FREE || m->state == SIM_JOINED,
			  "member %u on host %u is still in state %d", i, m->host->number,
			  m->state);
		/* Who asks for no state at all is in without the SA. */
		sim_check(
			m->state == SIM_FREE || !m->wish.join_state ||
				sim_membership(m->host, be16toh(m->multicast->rec.pkey)),
			"member %u on host %u is not in the group's partition", i,
			m->host->number);
	}
	for (unsigned int i = 0; i < SIM_IDS_MAX; i++) {
		const struct sim_id *id = &sim.ids[i];

		sim_check(!id->multicast || id->is_answered || id->is_removed,
			  "id %u waits for its join", i);
	}
	for (unsigned int n = 0; n < sim.host_count; n++) {
		struct sim_host *host = &sim.hosts[n];

		sim_check(host->active, "host %u: its port is not active", n);
		judge_pkeys(host);
		if (host->with_ip)
			judge_interface(host);
	}
}

/* -- what switches deliver -------------------------------------------------------------- */

struct walk {
	const struct sa_group_view *group;
	uint8_t reached[SIM_HOSTS_MAX], expected[SIM_HOSTS_MAX];
	bool is_member[SIM_HOSTS_MAX];
};

static void reach(void *arg, struct fabric_port *port)
{
	struct walk *w = arg;

	for (unsigned int n = 0; n < sim.host_count; n++)
		if (sim.hosts[n].port == port)
			w->reached[n]++;
}

static void expect(void *arg, const struct sa_group_view *group,
		   const struct sa_member_view *member)
{
	struct walk *w = arg;
	unsigned int n = sim_host_by_gid(&member->port_gid)->number;

	if (!gid_equal(group->rec.mgid.raw, w->group->rec.mgid.raw))
		return;
	w->is_member[n] = true;
	w->expected[n] = !!(member->join_state & SIM_RECEIVES);
}

/* From a member's port exactly the others are reached that receive; from any other, at
 * most they. */
static void judge_sender(const struct sa_group_view *group, const struct sim_host *from,
			 bool is_member, struct walk *w)
{
	memset(w->reached, 0, sizeof(w->reached));
	fabric_walk_multicast(from->port, group->rec.mlid, 0xffff, reach, w);
	for (unsigned int n = 0; n < sim.host_count; n++) {
		unsigned int most = n == from->number ? 0 : w->expected[n];

		sim_check(
			is_member ? w->reached[n] == most : w->reached[n] <= most,
			"%s, MLID %x: from host %u, host %u is reached %u times, not %u",
			sim_mgid(&group->rec.mgid), group->rec.mlid, from->number, n,
			w->reached[n], most);
		sim.deliveries += w->reached[n];
	}
}

static void judge_delivery(void *arg, const struct sa_group_view *group)
{
	struct walk w = { .group = group };

	sim.beyond += sim_is_beyond_a_table(group->rec.mlid);
	sa_server_each_group(sim_master()->server, NULL, expect, &w);
	for (unsigned int n = 0; n < sim.host_count; n++)
		judge_sender(group, &sim.hosts[n], w.is_member[n], &w);
}

#define MLIDS_LOOKED_AT 64u

static void note_mlid(void *arg, const struct sa_group_view *group)
{
	bool *used = arg;

	if (group->rec.mlid < IB_LID_MULTICAST_BASE + MLIDS_LOOKED_AT)
		used[group->rec.mlid - IB_LID_MULTICAST_BASE] = true;
}

/* MLIDs that no group has lead nowhere. */
static void judge_unused(void)
{
	bool used[MLIDS_LOOKED_AT] = { false };
	struct walk w = { 0 };

	sa_server_each_group(sim_master()->server, note_mlid, NULL, used);
	for (unsigned int i = 0; i < MLIDS_LOOKED_AT; i++)
		for (unsigned int n = 0; n < sim.host_count && !used[i]; n++)
			fabric_walk_multicast(sim.hosts[n].port, (uint16_t)(0xc000 + i),
					      0xffff, reach, &w);
	for (unsigned int n = 0; n < sim.host_count; n++)
		sim_check(!w.reached[n], "host %u is reached where no group is", n);
}

static void judge_lid(const struct sim_host *to, uint16_t lid)
{
	for (unsigned int i = 0; i < sim.host_count; i++)
		sim_check(fabric_walk_unicast(sim.hosts[i].port, lid, 0xffff) == to->port,
			  "host %u does not reach host %u at LID %u", i, to->number, lid);
}

/* Every port from every other, by LIDs that are its own alone, as many as the master's LMC
 * says. */
static void judge_unicast(void)
{
	uint8_t lmc = sim_manager_lmc(sim_master());

	for (unsigned int n = 0; n < sim.host_count; n++) {
		struct fabric_port_info to;

		fabric_port_info(sim.hosts[n].port, &to);
		sim_check(to.info.lmc == lmc && to.info.lid % (1u << lmc) == 0,
			  "host %u has LID %u and LMC %u", n, to.info.lid, to.info.lmc);
		for (unsigned int k = 0; k < 1u << lmc; k++)
			judge_lid(&sim.hosts[n], (uint16_t)(to.info.lid + k));
	}
}

/* -- counters --------------------------------------------------------------------------- */

static void judge_counters(void)
{
	struct fabric_counters f;
	struct sa_counters c;

	sa_server_counters(sim_master()->server, &c);
	sim_check(c.requests == c.answers + c.refused + c.dropped_fault + c.dropped_key +
					c.dropped_unknown + c.dropped_stranger +
					c.dropped_repeated + c.dropped_full +
					c.dropped_lost,
		  "the SA's counters do not add up");
	fabric_counters(sim.fabric, &f);
	sim_check(f.sent >= f.delivered + f.lost + f.no_route + f.port_down + f.bad_hops +
				    f.bad_pkey + f.bad_qkey + f.malformed + f.nobody,
		  "the fabric's counters say more than was sent");
}

void sim_verdict(void)
{
	sim_trace("verdict");
	judge_managers();
	judge_consumers();
	collect();
	list_for_each(l, &beliefs)
		judge(container_of(l, struct belief, link));
	forget_beliefs();
	sa_server_each_group(sim_master()->server, judge_delivery, NULL, NULL);
	judge_unused();
	judge_unicast();
	judge_counters();
}

static void no_member(void *arg, const struct sa_group_view *group,
		      const struct sa_member_view *member)
{
	sim_fail("%s has a member, and nobody is there", sim_mgid(&group->rec.mgid));
}

void sim_verdict_empty(void)
{
	sa_server_each_group(sim_master()->server, NULL, no_member, NULL);
}
