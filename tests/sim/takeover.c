// SPDX-License-Identifier: BSD-2-Clause
/*
 * The master SM dies: a standby that has its groups takes over within a second, no group is
 * lost, and nobody is reset. That is demanded where these hold when it dies,
 *
 *	it was the only master, and the subnet was up;
 *	another SM runs, and each that does stands by and is in step;
 *	there is a way of links that are up from each of them to the master;
 *	no datagram is lost on its way, nor was in the last 15 s: a standby that has seen
 *	losses asks longer before it believes that somebody is dead;
 *	a hop takes 10.1 us at most, so that sweeps take no part of a second worth naming;
 *	in these 15 s no link, power, partition, host or SM has changed, which is longer
 *	than a light sweep needs to find what no trap has told;
 *	no SA has been told to fail;
 *	all SMs have one LMC: else ports may get other LIDs,
 *
 * and until the second is over none of that changes. Joins and leaves go on: what was under
 * way then, or has been asked since, is not among what must be there. Nor is what no answer
 * has told of: before it nobody knows which group a join without an MGID has made.
 */
#include "sim.h"

#define WITHIN SECOND
#define PEACE  (15 * SECOND)
#define HOP_NS 10100u

/* A membership that the dead one's SA had, and its host was told of. */
struct kept {
	struct list link;
	const struct sim_host *host;
	union ib_gid mgid;
	uint8_t states;
};

static struct {
	struct timer timer;
	uint64_t died_ns, upsets;
	struct list kept;
} watch;

static void forget(void)
{
	if (!watch.kept.next)
		return;
	timer_disarm(&watch.timer);
	list_for_each_safe(l, &watch.kept)
		free(container_of(l, struct kept, link));
	list_init(&watch.kept);
}

void sim_takeover_forget(void)
{
	forget();
	sim.disturbed_ns = 0;
}

void sim_disturb(void)
{
	forget();
	sim.disturbed_ns = sim.timers.now_ns;
}

/* -- what must be there ----------------------------------------------------------------- */

static void keep(void *arg, const struct sa_group_view *group,
		 const struct sa_member_view *member)
{
	struct sim_host *host = sim_host_by_gid(&member->port_gid);
	struct kept *kept;

	if (!sim_model_is_told(host, &group->rec.mgid))
		return;
	kept = calloc(1, sizeof(*kept));
	assert_non_null(kept);
	kept->host = host;
	kept->mgid = group->rec.mgid;
	kept->states = member->join_state;
	list_append(&watch.kept, &kept->link);
}

static void look_for(void *arg, const struct sa_group_view *group,
		     const struct sa_member_view *member)
{
	struct kept *kept = arg;

	if (gid_equal(group->rec.mgid.raw, kept->mgid.raw) &&
	    sim_host_by_gid(&member->port_gid) == kept->host)
		kept->states &= (uint8_t)~member->join_state;
}

static void judge_kept(struct kept *kept)
{
	if (sim_model_has_moved(&kept->mgid, watch.died_ns))
		return;
	sa_server_each_group(sim_master()->server, NULL, look_for, kept);
	sim_check(!kept->states, "host %u, %s: states %x are lost with the master",
		  kept->host->number, sim_mgid(&kept->mgid), kept->states);
}

static void judge(struct timer *timer)
{
	unsigned int masters = 0;

	for (unsigned int i = 0; i < SIM_MANAGERS_MAX; i++)
		masters += sim.managers[i].serving;
	sim_check(masters == 1, "%u SMs serve a second after the master's death",
		  masters);
	list_for_each(l, &watch.kept)
		judge_kept(container_of(l, struct kept, link));
	sim_check(sim.upsets == watch.upsets,
		  "a takeover upsets ports and members %llu times",
		  (unsigned long long)(sim.upsets - watch.upsets));
	sim.takeovers++;
	forget();
}

/* -- is it demanded? -------------------------------------------------------------------- */

static bool is_ready(const struct sim_manager *m, const struct sim_manager *dying)
{
	return sm_state(m->sm) == SM_STANDBY && sa_server_is_in_step(m->server) &&
	       sim_hang_together(m->port, dying->port);
}

static bool has_heirs(const struct sim_manager *dying)
{
	unsigned int heirs = 0;

	for (unsigned int i = 0; i < SIM_MANAGERS_MAX; i++) {
		const struct sim_manager *m = &sim.managers[i];

		if (m == dying || !m->sm)
			continue;
		if (!is_ready(m, dying))
			return false;
		heirs++;
	}
	return heirs > 0;
}

static bool is_peaceful(void)
{
	return sim.loss == 0 && sim.hop_ns <= HOP_NS &&
	       sim.timers.now_ns >= sim.disturbed_ns + PEACE &&
	       (!sim.profile.faults || sim.quiet) && !sim.profile.lmcs_differ;
}

void sim_takeover_watch(const struct sim_manager *dying)
{
	bool is_due = is_peaceful() && dying->serving && sm_is_up(dying->sm) &&
		      has_heirs(dying);

	sim_disturb();
	if (!is_due)
		return;
	list_init(&watch.kept);
	sa_server_each_group(dying->server, NULL, keep, NULL);
	watch.died_ns = sim.timers.now_ns;
	watch.upsets = sim.upsets;
	timer_init(&watch.timer, &sim.timers, judge);
	timer_arm(&watch.timer, WITHIN);
}
