// SPDX-License-Identifier: BSD-2-Clause
/*
 * Consumers of the SA client that keep to its page, and see that it does too: one outcome a
 * join, at most one loss after a success, none after a free, none from inside a call, and
 * no status that the page does not have.
 */
#include "sim.h"

#define FIRST_PAUSE   (500 * TIMER_MS)
#define LONGEST_PAUSE (8 * SECOND)

#define MASK                                                                             \
	(SA_MCM_MGID | SA_MCM_PORT_GID | SA_MCM_JOIN_STATE | SA_MCM_QKEY | SA_MCM_PKEY | \
	 SA_MCM_TCLASS | SA_MCM_FLOW_LABEL | SA_MCM_SL)

struct sim_member *sim_member_free(void)
{
	unsigned int from = sim_below(SIM_MEMBERS_MAX);

	for (unsigned int i = 0; i < SIM_MEMBERS_MAX; i++) {
		struct sim_member *m = &sim.members[(from + i) % SIM_MEMBERS_MAX];

		if (m->state == SIM_FREE && !m->in_callback)
			return m;
	}
	return NULL;
}

static unsigned int number(const struct sim_member *m)
{
	return (unsigned int)(m - sim.members);
}

/* -- what a callback may do ------------------------------------------------------------- */

static void act_from_callback(const struct sim_member *self)
{
	struct sim_member *other = &sim.members[sim_below(SIM_MEMBERS_MAX)];

	if (other == self)
		return;
	if (other->state == SIM_FREE && !other->in_callback)
		sim_member_join(other, self->host, sim_below(SIM_GROUPS + 1));
	else if (other->state != SIM_FREE)
		sim_member_leave(other);
}

/* -- what a callback must be ------------------------------------------------------------ */

static bool is_documented(int status)
{
	static const int statuses[] = { 0,       -ETIMEDOUT, -EIO,   -EINVAL,   -EAGAIN,
					-ENOMEM, -ENODEV,    -EINTR, -ENETRESET };

	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		if (status == statuses[i])
			return true;
	return false;
}

static void check_record(const struct sim_member *m, const struct ib_sa_mcmember_rec *rec)
{
	union ib_gid own;

	sim_check(rec->join_state == m->wish.join_state, "member %u: joined as %x",
		  number(m), rec->join_state);
	if (!rec->join_state)
		return;
	sim_host_gid(m->host, &own);
	sim_check(gid_is_zero(m->wish.mgid.raw) ||
			  gid_equal(rec->mgid.raw, m->wish.mgid.raw),
		  "member %u: joined to %s", number(m), sim_mgid(&rec->mgid));
	sim_check(gid_equal(rec->port_gid.raw, m->wish.port_gid.raw) &&
			  rec->qkey == m->wish.qkey,
		  "member %u: joined to what it did not ask for", number(m));
	sim_check(ib_lid_is_multicast(be16toh(rec->mlid)), "member %u: MLID %x",
		  number(m), be16toh(rec->mlid));
}

static void check_call(const struct sim_member *m, int status,
		       const struct ib_sa_multicast *multicast)
{
	sim_check(!sim.in_call, "member %u is called from inside a call", number(m));
	sim_check(is_documented(status), "member %u: status %d", number(m), status);
	sim_check(m->multicast == multicast, "member %u is called for what it has freed",
		  number(m));
	if (status == -ENETRESET)
		sim_check(m->state == SIM_JOINED, "member %u is reset in state %d",
			  number(m), m->state);
	else
		sim_check(m->state == SIM_JOINING, "member %u is told %d in state %d",
			  number(m), status, m->state);
}

/* -- the outcome ------------------------------------------------------------------------ */

static bool is_worth_another_try(const struct sim_member *m, int status)
{
	/* Only a full member makes a group that is not there; and some are refused for
	 * good. */
	if (status == -EINVAL)
		return (m->wish.join_state & SIM_FULL) && !sim.profile.contradictions &&
		       m->host->has_tables && !sim.profile.is_small &&
		       sim_membership(m->host, be16toh(m->wish.pkey));
	return true;
}

static void plan(struct sim_member *m, int status)
{
	m->wanted = m->wanted && is_worth_another_try(m, status);
	timer_arm(&m->again, status == -ENETRESET ? 0 : m->pause_ns);
	m->pause_ns *= 2;
	if (m->pause_ns > LONGEST_PAUSE)
		m->pause_ns = LONGEST_PAUSE;
}

static int outcome(int status, struct ib_sa_multicast *multicast)
{
	struct sim_member *m = multicast->context;
	bool over = false;

	sim_trace("member %u on host %u: status %d, %s", number(m), m->host->number,
		  status, sim_mgid(&multicast->rec.mgid));
	check_call(m, status, multicast);
	sim.joined += status == 0;
	sim.resets += status == -ENETRESET;
	/* Who has no state has no index of its P_Key either, and is reset by any change of
	 * the table; that of an SM's port changes with mastership (fabric/sm/pkeys.c). */
	sim.upsets += status == -ENETRESET && m->wish.join_state;
	sim.failed += status && status != -ENETRESET;
	m->state = status ? SIM_FAILED : SIM_JOINED;
	if (status == 0) {
		check_record(m, &multicast->rec);
		m->mgid = multicast->rec.mgid;
		m->pause_ns = FIRST_PAUSE;
	} else {
		plan(m, status);
	}
	if (sim.profile.callbacks && !sim.quiet) {
		m->in_callback = true;
		if (sim_chance(15))
			act_from_callback(m);
		m->in_callback = false;
		over = sim_chance(10);
	}
	if (over) {
		sim_trace("member %u lets itself be freed", number(m));
		timer_disarm(&m->again);
		m->state = SIM_FREE;
	}
	return over;
}

/* -- joining and leaving ---------------------------------------------------------------- */

static void call_join(struct sim_member *m)
{
	bool in_call = sim.in_call;

	sim.in_call = true;
	m->multicast =
		ib_sa_join_multicast(&m->host->client, &m->host->ib, 1, &m->wish,
				     ib_sa_comp_mask_from_host(m->mask), outcome, m);
	sim.in_call = in_call;
	if (IS_ERR(m->multicast)) {
		sim_check(PTR_ERR(m->multicast) == -ENODEV && m->host->ib.removed,
			  "member %u: join says %ld", number(m), PTR_ERR(m->multicast));
		m->state = SIM_FREE;
		return;
	}
	m->state = SIM_JOINING;
}

static void call_free(struct sim_member *m)
{
	bool in_call = sim.in_call;

	sim.in_call = true;
	ib_sa_free_multicast(m->multicast);
	sim.in_call = in_call;
	m->multicast = NULL;
	m->state = SIM_FREE;
}

/* What failed is freed, and asked for again if it is still wanted. */
static void again(struct timer *timer)
{
	struct sim_member *m = container_of(timer, struct sim_member, again);

	call_free(m);
	if (!m->wanted || (!sim.quiet && sim_chance(20)))
		return;
	sim_trace("member %u joins again", number(m));
	sim.rejoins++;
	sim_host_gid(m->host, &m->wish.port_gid);
	call_join(m);
}

static u8 some_states(void)
{
	static const u8 states[] = {
		SA_JOIN_FULL,
		SA_JOIN_FULL,
		SA_JOIN_FULL,
		SA_JOIN_FULL,
		SA_JOIN_FULL,
		SA_JOIN_SEND_ONLY_FULL,
		SA_JOIN_FULL | SA_JOIN_SEND_ONLY_FULL,
		SA_JOIN_NON,
		SA_JOIN_SEND_ONLY_NON,
		SA_JOIN_FULL | SA_JOIN_NON,
		0xf,
		0,
	};

	return states[sim_below(sizeof(states))];
}

/* One of the things in which two who name the same group may differ. */
static void contradict(struct sim_member *m)
{
	m->contradicts = true;
	switch (sim_below(5)) {
	case 0:
		m->wish.qkey = htobe32(0x4321);
		break;
	case 1:
		m->wish.sl = 3;
		break;
	case 2:
		m->wish.pkey = htobe16(0x7fff);
		break;
	case 3:
		m->wish.pkey = htobe16(0x8001);
		break;
	default:
		m->mask |= SA_MCM_MTU | SA_MCM_MTU_SELECTOR;
		m->wish.mtu_selector = SA_SELECT_EQ;
		m->wish.mtu = (u8)(1 + sim_below(6));
	}
}

void sim_member_join(struct sim_member *m, struct sim_host *host, unsigned int group)
{
	struct ib_sa_mcmember_rec wish = { .qkey = htobe32(0x1000 + group),
					   .pkey = htobe16(sim_pkey_of_group(group)),
					   .join_state = some_states() };

	if (group)
		wish.mgid = (union ib_gid){ .raw = { 0xff, 0x12, [15] = (u8)group } };
	sim_host_gid(host, &wish.port_gid);
	*m = (struct sim_member){ .host = host,
				  .wish = wish,
				  .mask = MASK,
				  .pause_ns = FIRST_PAUSE,
				  .wanted = true };
	if (sim.profile.contradictions && sim_chance(20))
		contradict(m);
	timer_init(&m->again, &sim.timers, again);
	sim_trace("member %u joins group %u on host %u, states %x%s", number(m), group,
		  host->number, m->wish.join_state, m->contradicts ? ", otherwise" : "");
	call_join(m);
}

void sim_member_leave(struct sim_member *m)
{
	sim_trace("member %u is freed in state %d", number(m), m->state);
	timer_disarm(&m->again);
	call_free(m);
}

void sim_consumers_leave(struct sim_host *host)
{
	for (unsigned int i = 0; i < SIM_IDS_MAX; i++)
		if (sim.ids[i].id && (!host || sim.ids[i].host == host))
			sim_id_destroy(&sim.ids[i]);
	for (unsigned int i = 0; i < SIM_MEMBERS_MAX; i++) {
		struct sim_member *m = &sim.members[i];

		if (m->state != SIM_FREE && (!host || m->host == host))
			sim_member_leave(m);
	}
}
