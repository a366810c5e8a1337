/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who is master (spec/sa-sm 2.6). Greater is the SM of greater priority, of equal ones that
 * of the lower GUID.
 *
 * Who discovers a master, or a greater SM than itself, stands by and polls it; when it does
 * not answer, or is no master, several times in a row, all is discovered anew. A master
 * that finds a greater SM standing by, or master of what was another subnet, hands over;
 * to the former when its SA has all that ours has, if it has that wish.
 *
 * A master that died and began anew before others have missed it has forgotten all, and who
 * stands by has it: it waits for that one to take over, which does so for a greater SM that
 * was its master and is no more.
 *
 * Between polls a standby looks into its own port's PortInfo, as any host does, where the
 * master's LID stands: there its SA finds the master's (sm_client_ops.follow).
 */
#include "fabric/sm/sm_priv.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"

#define MISSES_MAX          3u
#define POLLS_GOOD          50u
#define WAITS_MAX           3u /* of MISSES_MAX polls each */
#define YOUNG_NS            (10000 * TIMER_MS)
/* For a greater SM's SA to have what ours has. */
#define HAND_OVER_WITHIN_NS (1000 * TIMER_MS)

/* AttributeModifier of a Set. */
enum sm_info_set {
	SET_HANDOVER = 1,
	SET_ACKNOWLEDGE = 2,
	SET_DISABLE = 3,
	SET_STANDBY = 4,
	SET_DISCOVER = 5,
};

static bool is_greater(const struct sm *sm, const struct smp_sm_info *other)
{
	if (other->priority != sm->config.priority)
		return other->priority > sm->config.priority;
	return other->guid < sm->config.port_guid;
}

void sm_own_info(const struct sm *sm, struct smp_sm_info *ret)
{
	static const uint8_t states[] = {
		[SM_DISCOVERING] = SMP_SM_DISCOVERING,
		[SM_STANDBY] = SMP_SM_STANDBY,
		[SM_MASTER] = SMP_SM_MASTER,
		[SM_STOPPED] = SMP_SM_NOT_ACTIVE,
	};

	*ret = (struct smp_sm_info){
		.guid = sm->config.port_guid,
		.sm_key = sm->config.sm_key,
		.act_count = sm->act_count,
		.priority = sm->config.priority,
		.state = states[sm->state],
	};
}

static void own_info(struct sm *sm, uint8_t *data)
{
	struct smp_sm_info info;

	sm->act_count++;
	sm_own_info(sm, &info);
	smp_sm_info_put(data, &info);
}

/* -- changes of state ------------------------------------------------------------------ */

static void discover(struct sm *sm)
{
	timer_disarm(&sm->poll);
	sm->state = SM_DISCOVERING;
	sm->master = NULL;
	sm_sweep_stop(sm, UINT64_MAX);
	sm_sweep_want(sm, 0);
}

void sm_become_master(struct sm *sm)
{
	const struct sm_client_ops *client = sm->config.client;

	log_info("sm: master");
	timer_disarm(&sm->poll);
	sm->waits = 0;
	if (sm->state != SM_MASTER) {
		sm->inheriting = sm->master_lid && client && client->inherit &&
				 client->inherit(sm->config.client_arg);
		sm->inheriting_ports = sm->inheriting;
		sm->inherited_lid = sm->inheriting ? sm->master_lid : 0;
		sm->master_since_ns = sm->config.timers->now_ns;
		sm->contested = sm->blind = sm->doubting_all = false;
	}
	sm->state = SM_MASTER;
	sm->master = NULL;
	sm->greater_since_ns = 0;
}

static void leave_mastership(struct sm *sm)
{
	const struct sm_client_ops *client = sm->config.client;

	sm->up = false;
	sm->inheriting = sm->inheriting_ports = false;
	sm_sweep_stop(sm, UINT64_MAX);
	sm_smp_drop(sm, SM_KIND_ELECTION);
	if (!sm->serving)
		return;
	sm->serving = false;
	if (client && client->down)
		client->down(sm->config.client_arg);
	sm_mcast_reset(sm);
}

void sm_become_standby(struct sm *sm, struct subnet_port *master)
{
	log_info("sm: standby");
	leave_mastership(sm);
	sm_lids_forget(sm);
	sm->state = SM_STANDBY;
	sm->master = master;
	sm->master_lid = 0;
	sm->poll_misses = 0;
	timer_arm(&sm->poll, sm->config.standby_poll_ns);
}

/* -- handing over ---------------------------------------------------------------------- */

static void handed_over(struct sm *sm, struct sm_smp *smp, int error, const uint8_t *data)
{
	struct subnet_port *port = smp->to;

	if (error || sm->state != SM_MASTER)
		return;
	sm_become_standby(sm, port);
}

static struct sm_smp *ask_sm(struct sm *sm, struct subnet_port *to, uint8_t method,
			     uint32_t mod, sm_smp_fn done)
{
	struct sm_smp *smp =
		sm_smp_new(sm, SM_KIND_ELECTION, to, method, SMP_SM_INFO, mod, done);

	if (smp && method == MAD_METHOD_SET)
		own_info(sm, smp->data);
	return smp;
}

static void hand_over(struct sm *sm, struct subnet_port *to)
{
	struct sm_smp *smp = ask_sm(sm, to, MAD_METHOD_SET, SET_HANDOVER, handed_over);

	if (!smp)
		return;
	log_info("sm: handing over to the SM at node %016llx",
		 (unsigned long long)to->node->info.node_guid);
	sm_smp_queue(smp);
}

static void look_again(struct sm *sm)
{
	timer_arm(&sm->poll, sm->config.standby_poll_ns);
}

static bool is_followed(const struct sm *sm, uint64_t guid)
{
	const struct sm_client_ops *client = sm->config.client;

	return !client || !client->is_followed ||
	       client->is_followed(sm->config.client_arg, guid);
}

/* It stands by: what is written meanwhile is ours. */
static void hand_over_soon(struct sm *sm, struct subnet_port *to, uint64_t guid)
{
	uint64_t now_ns = sm->config.timers->now_ns;

	if (!sm->greater_since_ns)
		sm->greater_since_ns = now_ns;
	if (is_followed(sm, guid) || now_ns >= sm->greater_since_ns + HAND_OVER_WITHIN_NS)
		hand_over(sm, to);
	else
		look_again(sm);
}

/* -- polls ----------------------------------------------------------------------------- */

static void missed(struct sm *sm)
{
	if (++sm->poll_misses < MISSES_MAX)
		return;
	log_info("sm: the master does not answer");
	sm->dead = sm->waits ? NULL : sm->master;
	discover(sm);
}

static void own_port_told(struct sm *sm, struct sm_smp *smp, int error,
			  const uint8_t *data)
{
	const struct sm_client_ops *client = sm->config.client;
	struct smp_port_info info;

	if (error || sm->state != SM_STANDBY)
		return;
	smp_port_info_get(data, &info);
	/* Until the master has been here it is what an earlier one wrote. */
	if (info.state != SMP_PORT_ACTIVE && sm->own->num)
		return;
	if (!info.lid || !info.sm_lid || info.sm_lid == info.lid)
		return;
	sm->master_lid = info.sm_lid;
	if (client && client->follow)
		client->follow(sm->config.client_arg, info.lid, info.sm_lid);
}

static void ask_own_port(struct sm *sm)
{
	struct sm_smp *smp;

	if (!sm->own)
		return;
	smp = sm_smp_new(sm, SM_KIND_ELECTION, sm->own, MAD_METHOD_GET, SMP_PORT_INFO,
			 sm->own->num, own_port_told);
	if (!smp)
		return;
	smp->once = true;
	sm_smp_queue(smp);
}

/* Datagrams are lost here, or have not been for a while. */
static void note_poll(struct sm *sm)
{
	if (sm->poll_misses) {
		sm->sweep.lossy = true;
		sm->polls_good = 0;
	} else if (++sm->polls_good >= POLLS_GOOD) {
		sm->sweep.lossy = false;
	}
	sm->poll_misses = 0;
}

static void standby_polled(struct sm *sm, struct sm_smp *smp, int error,
			   const uint8_t *data)
{
	struct smp_sm_info info = { 0 };

	if (sm->state != SM_STANDBY)
		return;
	if (!error)
		smp_sm_info_get(data, &info);
	if (info.state == SMP_SM_MASTER) {
		sm->waits = 0;
		note_poll(sm);
		ask_own_port(sm);
	} else if (info.state != SMP_SM_DISCOVERING) {
		missed(sm);
	}
}

/* A greater SM that was discovering, or a lesser master that was to hand over. */
static void master_polled(struct sm *sm, struct sm_smp *smp, int error,
			  const uint8_t *data)
{
	struct smp_sm_info info;

	if (sm->state != SM_MASTER)
		return;
	if (error) {
		/* Lost, or it is: then the next sweep does not find it. */
		if (sm->greater_since_ns)
			look_again(sm);
		return;
	}
	smp_sm_info_get(data, &info);
	if (is_greater(sm, &info) && info.state == SMP_SM_STANDBY)
		hand_over_soon(sm, smp->to, info.guid);
	else if (is_greater(sm, &info) && info.state == SMP_SM_MASTER)
		hand_over(sm, smp->to);
	else if (info.state == SMP_SM_DISCOVERING || info.state == SMP_SM_MASTER)
		look_again(sm);
}

static void poll_port(struct sm *sm, struct subnet_port *port, sm_smp_fn done)
{
	struct sm_smp *smp = ask_sm(sm, port, MAD_METHOD_GET, 0, done);

	if (!smp)
		return;
	smp->once = true;
	sm_smp_queue(smp);
}

void sm_election_look(struct sm *sm)
{
	for (unsigned int i = 0; i < sm->remote_count; i++)
		if (sm->remotes[i].port)
			poll_port(sm, sm->remotes[i].port, master_polled);
}

static void poll_due(struct timer *timer)
{
	struct sm *sm = container_of(timer, struct sm, poll);

	if (sm->state == SM_STANDBY) {
		timer_arm(&sm->poll, sm->config.standby_poll_ns);
		if (sm->master)
			poll_port(sm, sm->master, standby_polled);
		else
			missed(sm);
		return;
	}
	if (sm->state == SM_MASTER)
		sm_election_look(sm);
}

/* -- in a sweep ------------------------------------------------------------------------ */

static void remote_told(struct sm *sm, struct sm_smp *smp, int error, const uint8_t *data)
{
	struct sm_remote *remote;

	if (sm->remote_count == SM_REMOTES_MAX)
		return;
	remote = &sm->remotes[sm->remote_count];
	/* Its IsSM may be all that is left of it; or else it will answer some day. */
	remote->info = (struct smp_sm_info){ .state = SMP_SM_NOT_ACTIVE };
	if (!error)
		smp_sm_info_get(data, &remote->info);
	if (remote->info.guid == sm->config.port_guid)
		return;
	remote->port = smp->to;
	sm->remote_count++;
}

void sm_election_found(struct sm *sm, struct subnet_port *port)
{
	struct sm_smp *smp = sm_smp_new(sm, SM_KIND_SWEEP, port, MAD_METHOD_GET,
					SMP_SM_INFO, 0, remote_told);

	if (!smp)
		return;
	/* Who takes over need not wait again for whom it has found to be dead. */
	smp->hasty = sm->dead == port;
	sm_smp_queue(smp);
}

/* Somebody has set up our own port. */
static bool had_a_master(const struct sm *sm)
{
	return sm->own && sm->own->info.state == SMP_PORT_ACTIVE && sm->own->info.lid;
}

static struct sm_remote *find_heir(struct sm *sm)
{
	for (unsigned int i = 0; i < sm->remote_count; i++) {
		uint8_t state = sm->remotes[i].info.state;

		if (state == SMP_SM_STANDBY || state == SMP_SM_DISCOVERING)
			return &sm->remotes[i];
	}
	return NULL;
}

/* True: there may be an heir, who is to go first. */
static bool wait_for_heir(struct sm *sm)
{
	const struct sm_remote *heir;

	/* Who was fed by a master is an heir itself. */
	if (sm->master_lid || sm->waits == WAITS_MAX || !had_a_master(sm))
		return false;
	heir = find_heir(sm);
	if (!heir)
		return false;
	sm_become_standby(sm, heir->port);
	sm->waits++;
	return true;
}

static void elect_discovering(struct sm *sm)
{
	struct sm_remote *choice = NULL;

	for (unsigned int i = 0; i < sm->remote_count; i++) {
		struct sm_remote *r = &sm->remotes[i];
		bool master = r->info.state == SMP_SM_MASTER;

		if (!master &&
		    (!is_greater(sm, &r->info) || r->info.state == SMP_SM_NOT_ACTIVE ||
		     (r->port == sm->dead && sm->master_lid)))
			continue;
		if (!choice || (master && choice->info.state != SMP_SM_MASTER))
			choice = r;
	}
	if (choice) {
		sm->waits = 0;
		sm_become_standby(sm, choice->port);
		return;
	}
	if (wait_for_heir(sm))
		return;
	sm_become_master(sm);
	/* Where others were waited for, what was found before is old, and what has changed
	 * since another master may have been told. */
	if (sm->config.timers->now_ns - sm->sweep.began_ns > sm->config.smp_timeout_ns)
		sm->sweep.wanted = true;
}

/* Both subnets are the other's from now on: nothing is written into either. If it does not
 * want them, all again. */
static void yield(struct sm *sm, struct subnet_port *to)
{
	hand_over(sm, to);
	sm->sweep.wanted = true;
	sm_sweep_stop(sm, HAND_OVER_WITHIN_NS);
}

/* Two masters have set up the same ports, one over the other, and now there is one. Who
 * joined with whom cannot be told. */
static void doubt_all(struct sm *sm)
{
	log_info("sm: all of the subnet is set up anew after another master");
	sm->contested = sm->blind = false;
	sm->doubting = sm->doubting_all = true;
	sm->sweep.wanted = true;
	sm_sweep_stop(sm, 0);
}

static void elect_master(struct sm *sm)
{
	bool others = false;

	for (unsigned int i = 0; i < sm->remote_count; i++) {
		struct sm_remote *r = &sm->remotes[i];
		uint8_t state = r->info.state;

		if (is_greater(sm, &r->info) && state == SMP_SM_STANDBY) {
			hand_over_soon(sm, r->port, r->info.guid);
			return;
		}
		if (is_greater(sm, &r->info) && state == SMP_SM_MASTER) {
			yield(sm, r->port);
			return;
		}
		others |= state == SMP_SM_DISCOVERING || state == SMP_SM_MASTER;
	}
	sm->greater_since_ns = 0;
	if (others)
		look_again(sm);
	else if (sm->contested && !sm->doubting_all)
		doubt_all(sm);
	else /* this sweep has all set up anew */
		sm->contested = sm->doubting_all = false;
}

static enum sm_step next(struct sm *sm)
{
	return SM_STEP_DONE;
}

static void end(struct sm *sm)
{
	if (sm->state == SM_MASTER)
		elect_master(sm);
	else
		elect_discovering(sm);
	sm->dead = NULL;
}

const struct sm_phase sm_phase_elect = { .name = "elect", .next = next, .end = end };

/* -- requests of other SMs ------------------------------------------------------------- */

static void acknowledged(struct sm *sm, struct sm_smp *smp, int error,
			 const uint8_t *data)
{
}

static void take_over(struct sm *sm)
{
	uint64_t now_ns = sm->config.timers->now_ns;
	struct subnet_port *old = sm->master;
	struct sm_smp *smp;

	if (sm->state == SM_STOPPED)
		return;
	/* Though we may be master already: the other was one as well. If both have begun
	 * lately they began with the same ports; and without a link we have not seen which
	 * of ours it took. */
	if (sm->state == SM_MASTER &&
	    (sm->blind || now_ns < sm->master_since_ns + YOUNG_NS))
		sm->contested = true;
	sm_become_master(sm);
	sm->doubting = true;
	smp = old ? ask_sm(sm, old, MAD_METHOD_SET, SET_ACKNOWLEDGE, acknowledged) : NULL;
	if (smp) {
		smp->once = true;
		sm_smp_queue(smp);
	}
	sm_sweep_want(sm, 0);
}

/* False: no such order, or not in this state. */
static bool obey(struct sm *sm, uint32_t order)
{
	switch (order) {
	case SET_HANDOVER:
		take_over(sm);
		return true;
	case SET_ACKNOWLEDGE:
		return true;
	case SET_DISABLE:
		if (sm->state != SM_STANDBY)
			return false;
		timer_disarm(&sm->poll);
		sm->state = SM_STOPPED;
		return true;
	case SET_STANDBY:
		if (sm->state != SM_STOPPED)
			return false;
		sm_become_standby(sm, NULL);
		return true;
	case SET_DISCOVER:
		if (sm->state == SM_STANDBY)
			discover(sm);
		return true;
	default:
		return false;
	}
}

void sm_election_request(struct sm *sm, const struct ib_packet *packet)
{
	uint8_t mad[MAD_BYTES];
	struct mad_header h;

	memcpy(mad, packet->payload, sizeof(mad));
	mad_header_get(mad, &h);
	if (h.method == MAD_METHOD_SET && !obey(sm, h.attr_mod))
		h.status = MAD_STATUS_BAD_VALUE;
	h.method = MAD_METHOD_GET_RESP;
	mad_header_put(mad, &h);
	memset(mad + SMP_DATA, 0, SMP_DATA_BYTES);
	own_info(sm, mad + SMP_DATA);
	sm_reply(sm, packet, mad);
}

void sm_election_init(struct sm *sm)
{
	timer_init(&sm->poll, sm->config.timers, poll_due);
}

void sm_election_fini(struct sm *sm)
{
	timer_disarm(&sm->poll);
}
