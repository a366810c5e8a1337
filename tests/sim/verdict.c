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
	sa_server_each_group(sim.server, NULL, sa_member, NULL);
}

/* A group that has lost its last full member is gone, and those who are none are not told
 * (spec/sa-sm 1.11). */
static uint8_t may_be_missing(const struct belief *b, const struct sim_pair *pair)
{
	bool is_full = b->host_states & SIM_FULL & ~pair->missing;

	return is_full ? pair->missing : 0xf;
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
	sim_check((ghost & ~pair->ghost) == 0,
		  "host %u, %s: the SA has states %x, the host %x (excused %x)", host,
		  sim_mgid(&b->mgid), b->sa_states, b->host_states, pair->ghost);
	sim_check((missing & ~may_be_missing(b, pair)) == 0,
		  "host %u, %s: the host has states %x, the SA %x (excused %x)", host,
		  sim_mgid(&b->mgid), b->host_states, b->sa_states, pair->missing);
}

/* -- consumers -------------------------------------------------------------------------- */

static void judge_consumers(void)
{
	for (unsigned int i = 0; i < SIM_MEMBERS_MAX; i++) {
		const struct sim_member *m = &sim.members[i];

		sim_check(m->state == SIM_FREE || m->state == SIM_JOINED,
			  "member %u on host %u is still in state %d", i, m->host->number,
			  m->state);
	}
	for (unsigned int i = 0; i < SIM_IDS_MAX; i++) {
		const struct sim_id *id = &sim.ids[i];

		sim_check(!id->multicast || id->is_answered || id->is_removed,
			  "id %u waits for its join", i);
	}
	for (unsigned int n = 0; n < sim.host_count; n++) {
		struct sim_host *host = &sim.hosts[n];
		struct ipoib_interface interface;

		sim_check(host->active, "host %u: its port is not active", n);
		if (!host->with_ip)
			continue;
		assert_int_equal(
			ipoib_find_by_port(host->ipoib, &host->ib, 1, &interface), 0);
		sim_check(interface.up, "host %u: its interface is not up", n);
	}
}

/* -- what switches deliver -------------------------------------------------------------- */

struct walk {
	const struct sa_group_view *group;
	uint8_t reached[SIM_HOSTS_MAX], expected[SIM_HOSTS_MAX];
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

	if (gid_equal(group->rec.mgid.raw, w->group->rec.mgid.raw))
		w->expected[sim_host_by_gid(&member->port_gid)->number] =
			!!(member->join_state & SIM_RECEIVES);
}

static void judge_delivery(void *arg, const struct sa_group_view *group,
			   const struct sa_member_view *member)
{
	const struct sim_host *from = sim_host_by_gid(&member->port_gid);
	struct walk w = { .group = group };

	sa_server_each_group(sim.server, NULL, expect, &w);
	w.expected[from->number] = 0;
	fabric_walk_multicast(from->port, group->rec.mlid, 0xffff, reach, &w);
	for (unsigned int n = 0; n < sim.host_count; n++) {
		sim_check(
			w.reached[n] == w.expected[n],
			"%s, MLID %x: from host %u, host %u is reached %u times, not %u",
			sim_mgid(&group->rec.mgid), group->rec.mlid, from->number, n,
			w.reached[n], w.expected[n]);
		sim.deliveries += w.reached[n];
	}
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

	sa_server_each_group(sim.server, note_mlid, NULL, used);
	for (unsigned int i = 0; i < MLIDS_LOOKED_AT; i++)
		for (unsigned int n = 0; n < sim.host_count && !used[i]; n++)
			fabric_walk_multicast(sim.hosts[n].port, (uint16_t)(0xc000 + i),
					      0xffff, reach, &w);
	for (unsigned int n = 0; n < sim.host_count; n++)
		sim_check(!w.reached[n], "host %u is reached where no group is", n);
}

/* -- counters --------------------------------------------------------------------------- */

static void judge_counters(void)
{
	struct fabric_counters f;
	struct sa_counters c;

	sa_server_counters(sim.server, &c);
	sim_check(c.requests == c.answers + c.refused + c.dropped_fault + c.dropped_key +
					c.dropped_unknown + c.dropped_stranger +
					c.dropped_repeated + c.dropped_full,
		  "the SA's counters do not add up");
	fabric_counters(sim.fabric, &f);
	sim_check(f.sent >= f.delivered + f.lost + f.no_route + f.port_down + f.bad_hops +
				    f.bad_pkey + f.malformed + f.nobody,
		  "the fabric's counters say more than was sent");
}

void sim_verdict(void)
{
	sim_trace("verdict");
	judge_consumers();
	collect();
	list_for_each(l, &beliefs)
		judge(container_of(l, struct belief, link));
	forget_beliefs();
	sa_server_each_group(sim.server, NULL, judge_delivery, NULL);
	judge_unused();
	judge_counters();
}

static void no_member(void *arg, const struct sa_group_view *group,
		      const struct sa_member_view *member)
{
	sim_fail("%s has a member, and nobody is there", sim_mgid(&group->rec.mgid));
}

void sim_verdict_empty(void)
{
	sa_server_each_group(sim.server, NULL, no_member, NULL);
}
