// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who may hear what, by what the SA has answered and nothing else: a membership begins with
 * the answer to a join and ends with that to a leave (fabric/sa/sa_server.h), and with the
 * last full member's leave for all (spec/sa-sm 1.11). In calm runs, where links and managers
 * stay and nothing is lost, that says exactly what switches deliver at every moment; in
 * others, still, that nothing arrives twice, nor at who never was a member.
 */
#include "sim.h"

static struct sim_open *open_of(struct sim_pair *pair, uint64_t tid)
{
	for (unsigned int i = 0; i < SIM_OPEN_MAX; i++)
		if (pair->open[i].tid == tid)
			return &pair->open[i];
	return NULL;
}

void sim_model_arrived(struct sim_pair *pair, uint64_t tid, bool leaves, uint8_t bits)
{
	struct sim_open *open = open_of(pair, tid);

	if (!open)
		open = open_of(pair, 0);
	sim_check(open, "so many requests are at work at once");
	*open = (struct sim_open){ .tid = tid, .leaves = leaves, .bits = bits };
	pair->arrived_ns = sim.timers.now_ns;
}

static struct sim_pair *pair_if_there(struct sim_host *host, const union ib_gid *mgid)
{
	list_for_each(l, &host->pairs) {
		struct sim_pair *pair = container_of(l, struct sim_pair, link);

		if (gid_equal(pair->mgid.raw, mgid->raw))
			return pair;
	}
	return NULL;
}

static bool has_full_member(const union ib_gid *mgid)
{
	for (unsigned int n = 0; n < sim.host_count; n++) {
		const struct sim_pair *pair = pair_if_there(&sim.hosts[n], mgid);

		if (pair && pair->held & SIM_FULL)
			return true;
	}
	return false;
}

/* What was joined may have ended before its answer leaves. */
static void bereave_open(struct sim_pair *pair)
{
	for (unsigned int i = 0; i < SIM_OPEN_MAX; i++) {
		struct sim_open *open = &pair->open[i];

		if (!open->tid || open->leaves)
			continue;
		open->is_bereaved = true;
		pair->bereaved |= open->bits;
	}
}

static void end_group(const union ib_gid *mgid)
{
	for (unsigned int n = 0; n < sim.host_count; n++) {
		struct sim_pair *pair = pair_if_there(&sim.hosts[n], mgid);

		if (!pair)
			continue;
		pair->bereaved |= pair->held;
		pair->held = 0;
		bereave_open(pair);
	}
}

/*
 * Who may not leave a group may be no member of it: a manager that has died since carried
 * the leave out, and its answer never left. So the group may have ended without him.
 */
static void note_doubt(const union ib_gid *mgid)
{
	for (unsigned int n = 0; n < sim.host_count; n++) {
		const struct sim_pair *pair = pair_if_there(&sim.hosts[n], mgid);

		if (pair && pair->held & SIM_FULL & (uint8_t)~pair->doubtful)
			return;
	}
	for (unsigned int n = 0; n < sim.host_count; n++) {
		struct sim_pair *pair = pair_if_there(&sim.hosts[n], mgid);

		if (pair)
			pair->bereaved |= pair->held;
	}
}

static uint64_t bit_of(uint16_t mlid)
{
	unsigned int index = (unsigned int)mlid - IB_LID_MULTICAST_BASE;

	/* Beyond them nobody keeps the count. */
	return index < 64 ? 1ull << index : UINT64_MAX;
}

/*
 * A group with another MLID is another group: the one before has ended, though the answer
 * to its last full member's leave may still be held back.
 */
static void note_mlid(const union ib_gid *mgid, uint16_t mlid)
{
	for (unsigned int n = 0; n < sim.host_count; n++) {
		struct sim_pair *pair = pair_if_there(&sim.hosts[n], mgid);

		if (pair && pair->mlid != mlid)
			pair->bereaved |= pair->held;
	}
}

void sim_model_answered(struct sim_pair *pair, const struct mad_header *header,
			const struct sa_mcmember *rec)
{
	struct sim_open *open = open_of(pair, header->tid);
	uint8_t asked = open ? open->bits : 0;
	bool is_over = open && open->is_over, is_bereaved = open && open->is_bereaved;
	bool leaves = open && open->leaves;

	sim.answered_ns = sim.timers.now_ns;
	if (open)
		*open = (struct sim_open){ 0 };
	if (leaves && header->status == SA_REQ_INVALID) {
		pair->doubtful |= asked;
		note_doubt(&pair->mgid);
	}
	if (header->status)
		return;
	/* Also where the port was out meanwhile: of one manager, while another one, that was
	 * cut off from it, goes on and lets it in. */
	if (header->method == MAD_METHOD_GET_RESP) {
		pair->mlids |= bit_of(rec->mlid);
		pair->is_told = true;
	}
	if (is_over)
		return;
	if (header->method == MAD_METHOD_GET_RESP) {
		pair->doubtful &= (uint8_t)~rec->join_state;
		note_mlid(&pair->mgid, rec->mlid);
		pair->held = rec->join_state;
		pair->mlid = rec->mlid;
		if (!is_bereaved)
			pair->bereaved &= (uint8_t)~rec->join_state;
		return;
	}
	/* The last full member loses with these bits all others. */
	pair->bereaved |= pair->held & (uint8_t) ~(asked | rec->join_state);
	pair->held = rec->join_state;
	if (!has_full_member(&pair->mgid))
		end_group(&pair->mgid);
	else
		note_doubt(&pair->mgid);
}

/* Of the bits that the SA holds, those whose leave is at work there. */
static uint8_t leaving(const struct sim_pair *pair)
{
	uint8_t bits = 0;

	for (unsigned int i = 0; i < SIM_OPEN_MAX; i++)
		if (pair->open[i].tid && pair->open[i].leaves)
			bits |= pair->open[i].bits;
	return pair->held & bits;
}

static bool may_have_ended(const union ib_gid *mgid)
{
	for (unsigned int n = 0; n < sim.host_count; n++) {
		const struct sim_pair *pair = pair_if_there(&sim.hosts[n], mgid);

		if (pair && pair->held & SIM_FULL & (uint8_t)~leaving(pair))
			return false;
	}
	return true;
}

void sim_model_silent(void)
{
	for (unsigned int n = 0; n < sim.host_count; n++) {
		list_for_each(l, &sim.hosts[n].pairs) {
			struct sim_pair *pair = container_of(l, struct sim_pair, link);

			if (pair->held && may_have_ended(&pair->mgid))
				pair->bereaved |= pair->held;
		}
	}
}

void sim_model_port_out(struct sim_host *host)
{
	list_for_each(l, &host->pairs) {
		struct sim_pair *pair = container_of(l, struct sim_pair, link);

		pair->held = 0;
		for (unsigned int i = 0; i < SIM_OPEN_MAX; i++)
			pair->open[i].is_over = true;
		if (!has_full_member(&pair->mgid))
			end_group(&pair->mgid);
	}
}

void sim_model_forget(void)
{
	for (unsigned int n = 0; n < sim.host_count; n++) {
		list_for_each(l, &sim.hosts[n].pairs) {
			struct sim_pair *pair = container_of(l, struct sim_pair, link);

			pair->held = 0;
			pair->is_told = false;
			memset(pair->open, 0, sizeof(pair->open));
		}
	}
}

bool sim_model_is_still(uint64_t ns)
{
	for (unsigned int n = 0; n < sim.host_count; n++) {
		list_for_each(l, &sim.hosts[n].pairs) {
			const struct sim_pair *pair =
				container_of(l, struct sim_pair, link);

			for (unsigned int i = 0; i < SIM_OPEN_MAX; i++)
				if (pair->open[i].tid)
					return false;
		}
	}
	return sim.timers.now_ns >= sim.answered_ns + ns;
}

bool sim_model_is_told(struct sim_host *host, const union ib_gid *mgid)
{
	const struct sim_pair *pair = pair_if_there(host, mgid);

	return pair && pair->is_told;
}

bool sim_model_has_moved(const union ib_gid *mgid, uint64_t since_ns)
{
	for (unsigned int n = 0; n < sim.host_count; n++) {
		const struct sim_pair *pair = pair_if_there(&sim.hosts[n], mgid);

		if (pair && pair->arrived_ns >= since_ns)
			return true;
		for (unsigned int i = 0; pair && i < SIM_OPEN_MAX; i++)
			if (pair->open[i].tid)
				return true;
	}
	return false;
}

/* -- a datagram, at any moment ---------------------------------------------------------- */

struct shower {
	const struct sim_pair *from;
	unsigned int reached[SIM_HOSTS_MAX];
};

static void reach(void *arg, struct fabric_port *port)
{
	struct shower *s = arg;

	for (unsigned int n = 0; n < sim.host_count; n++)
		s->reached[n] += sim.hosts[n].port == port;
}

static bool joins_to_receive(const struct sim_pair *pair)
{
	for (unsigned int i = 0; i < SIM_OPEN_MAX; i++)
		if (pair->open[i].tid && pair->open[i].bits & SIM_RECEIVES)
			return true;
	return false;
}

/* Some group with that MLID is, or was, or is about to be the host's. */
static bool may_hear(const struct sim_host *host, uint16_t mlid, bool calm)
{
	list_for_each(l, &host->pairs) {
		const struct sim_pair *pair = container_of(l, struct sim_pair, link);

		if (joins_to_receive(pair))
			return true;
		if (calm ? pair->mlid == mlid && pair->held & SIM_RECEIVES
			 : (pair->mlids & bit_of(mlid)) != 0)
			return true;
	}
	return false;
}

/* Somebody is leaving, so that it may be anybody's last moment. */
static bool is_moving(const union ib_gid *mgid)
{
	for (unsigned int n = 0; n < sim.host_count; n++) {
		const struct sim_pair *pair = pair_if_there(&sim.hosts[n], mgid);

		for (unsigned int i = 0; pair && i < SIM_OPEN_MAX; i++)
			if (pair->open[i].tid && pair->open[i].leaves)
				return true;
	}
	return false;
}

static bool is_calm(void)
{
	const struct sim_profile *p = &sim.profile;

	return !p->loss && !p->links && !p->power && !p->restarts && !p->faults &&
	       !p->repartitions && p->managers == 1;
}

static void judge(const struct shower *s, const struct sim_host *from)
{
	const struct sim_pair *sent = s->from;
	bool calm = is_calm(), moving = is_moving(&sent->mgid);

	for (unsigned int n = 0; n < sim.host_count; n++) {
		struct sim_host *host = &sim.hosts[n];
		const struct sim_pair *pair = pair_if_there(host, &sent->mgid);

		sim_check(s->reached[n] < 2, "MLID %x: host %u hears host %u %u times",
			  sent->mlid, n, from->number, s->reached[n]);
		sim_check(!s->reached[n] ||
				  (host != from && may_hear(host, sent->mlid, calm)),
			  "MLID %x: host %u hears host %u, and is no member", sent->mlid,
			  n, from->number);
		if (!calm || moving || host == from || !pair ||
		    pair->mlid != sent->mlid || !(pair->held & SIM_RECEIVES))
			continue;
		sim_check(s->reached[n], "MLID %x: host %u does not hear host %u",
			  sent->mlid, n, from->number);
	}
}

/* A membership of the host, as the SA has it. */
static const struct sim_pair *some_pair(struct sim_host *host)
{
	const struct sim_pair *choice = NULL;
	unsigned int count = 0;

	list_for_each(l, &host->pairs) {
		const struct sim_pair *pair = container_of(l, struct sim_pair, link);

		if (pair->held && sim_below(++count) == 0)
			choice = pair;
	}
	return choice;
}

void sim_shower(void)
{
	struct sim_host *host = &sim.hosts[sim_below(sim.host_count)];
	struct shower s = { .from = some_pair(host) };

	if (!s.from)
		return;
	fabric_walk_multicast(host->port, s.from->mlid, 0xffff, reach, &s);
	judge(&s, host);
	sim.showers++;
}
