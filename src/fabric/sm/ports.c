/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PortInfo (spec/sa-sm 3.6): what every port with a LID is told, switches before their
 * tables are written, what both ends of a link agree on, ARMED for all, and when all are,
 * ACTIVE. In the order of the SM's own port, switches, adapters. Only where something
 * differs.
 *
 * ClientReregister goes with the last of these (spec/sa-sm 2.4): to ports that are new,
 * that were reset, or that have not seen this SM as master; by then the SA serves.
 */
#include "fabric/sm/sm_priv.h"

#include <errno.h>

#include "base/log.h"

#define SUBNET_TIMEOUT 18u /* as OpenSM's; spec/sa-sm 3.6 */
#define PHY_ERRORS     8u
#define PORTS_A_STEP   500u

/* -- what a port ought to have --------------------------------------------------------- */

static uint8_t lesser(uint8_t a, uint8_t b)
{
	if (a == 0 || b == 0)
		return a ? a : b;
	return a < b ? a : b;
}

static void want_link(const struct subnet_port *port, struct smp_port_info *want)
{
	const struct smp_port_info *far = port->peer ? &port->peer->info : &port->info;

	want->neighbor_mtu = lesser(port->info.mtu_cap, far->mtu_cap);
	want->operational_vls = lesser(port->info.vl_cap, far->vl_cap);
	want->local_phy_errors = want->overrun_errors = PHY_ERRORS;
}

#define RAW_FILTERS  0x3u
#define CHECKS_PKEYS 0xcu /* in and out */

static void want_checks(const struct sm *sm, const struct subnet_port *port,
			struct smp_port_info *want)
{
	if (!sm_is_switch(port->node) || port->num == 0)
		return;
	want->enforcement = port->info.enforcement & RAW_FILTERS;
	if (sm_is_enforced(sm, port))
		want->enforcement |= CHECKS_PKEYS;
}

static void want_end(const struct sm *sm, const struct subnet_port *port,
		     struct smp_port_info *want)
{
	want->gid_prefix = sm->subnet.prefix;
	want->lid = sm_port_of(port)->lid;
	want->lmc = sm_lmc_of(sm, port);
	want->sm_lid = subnet_port_lid(sm->own);
	want->sm_sl = 0;
	want->subnet_timeout = SUBNET_TIMEOUT;
}

static bool agrees(const struct subnet_port *port, const struct smp_port_info *want)
{
	const struct smp_port_info *have = &port->info;

	return have->gid_prefix == want->gid_prefix && have->sm_lid == want->sm_lid &&
	       have->sm_sl == want->sm_sl &&
	       have->subnet_timeout == want->subnet_timeout &&
	       have->neighbor_mtu == want->neighbor_mtu &&
	       have->operational_vls == want->operational_vls &&
	       have->local_phy_errors == want->local_phy_errors &&
	       have->overrun_errors == want->overrun_errors &&
	       have->enforcement == want->enforcement &&
	       (port != sm_end_of((struct subnet_port *)port) ||
		(sm_port_of(port)->lid_there == want->lid &&
		 sm_port_of(port)->lmc_there == want->lmc));
}

/* -- requests -------------------------------------------------------------------------- */

static struct subnet_port *target(struct sm_smp *smp)
{
	return &smp->to->node->ports[smp->mod & 0xff];
}

static bool take_answer(struct sm *sm, struct sm_smp *smp, int error, const uint8_t *data,
			uint8_t least_state)
{
	struct subnet_port *port = target(smp);
	struct smp_port_info now;

	if (sm_sweep_failed(sm, smp, error))
		return false;
	smp_port_info_get(data, &now);
	sm_port_take_info(sm, port, &now);
	if (now.state >= least_state)
		return true;
	log_debug("sm: node %016llx port %u stays in state %u",
		  (unsigned long long)port->node->info.node_guid, port->num, now.state);
	sm->sweep.failed = true;
	return false;
}

static void armed(struct sm *sm, struct sm_smp *smp, int error, const uint8_t *data)
{
	struct subnet_port *port = target(smp);

	take_answer(sm, smp, error, data,
		    port->num || port == sm->own ? SMP_PORT_ARMED : SMP_PORT_NOP);
}

static void activated(struct sm *sm, struct sm_smp *smp, int error, const uint8_t *data)
{
	struct subnet_port *port = target(smp);

	if (take_answer(sm, smp, error, data, port->num ? SMP_PORT_ACTIVE : SMP_PORT_NOP))
		sm_port_of(port)->arrived = false;
}

/* To write 0 would reset them, with what was counted since they were read. */
static void keep_counters(struct smp_port_info *want)
{
	uint16_t *counters[] = { &want->mkey_violations, &want->pkey_violations,
				 &want->qkey_violations };

	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++)
		if (!*counters[i])
			*counters[i] = 1;
}

static bool send_set(struct sm *sm, struct subnet_port *port, struct smp_port_info *want,
		     sm_smp_fn done)
{
	struct sm_smp *smp = sm_sweep_ask(sm, sm_end_of(port), MAD_METHOD_SET,
					  SMP_PORT_INFO, port->num, done);

	if (!smp)
		return false;
	keep_counters(want);
	want->phys_state = SMP_PHYS_NOP;
	want->down_default = SMP_PHYS_POLLING;
	smp_port_info_put(smp->data, want);
	sm_smp_queue(smp);
	return true;
}

/*
 * A switch has its LID before its tables. One that is reset meanwhile has none when the
 * next sweep comes, and so is noticed; and what it had in its tables when it had none does
 * not count.
 */
static bool address(struct sm *sm, struct subnet_port *port)
{
	struct smp_port_info want = port->info;

	if (port->num)
		return false;
	want_link(port, &want);
	want_end(sm, port, &want);
	want.state = SMP_PORT_NOP;
	if (agrees(port, &want))
		return false;
	if (!sm_node_of(port->node)->sw->inherited)
		sm_switch_forget(sm_node_of(port->node)->sw);
	return send_set(sm, port, &want, armed);
}

static bool arm(struct sm *sm, struct subnet_port *port)
{
	struct smp_port_info want = port->info;
	bool is_end = port == sm_end_of(port);

	/* There were no LIDs for it: without one a port is of no use to anybody. */
	if (is_end && !sm_port_of(port)->lid)
		return false;
	want_link(port, &want);
	want_checks(sm, port, &want);
	if (is_end)
		want_end(sm, port, &want);
	want.state = port->info.state == SMP_PORT_INIT ? SMP_PORT_ARMED : SMP_PORT_NOP;
	if (want.state == SMP_PORT_NOP && agrees(port, &want))
		return false;
	return send_set(sm, port, &want, armed);
}

void sm_tell_anew(struct sm *sm, const struct subnet_port *port)
{
	const struct sm_client_ops *client = sm->config.client;

	if (sm->serving && client && client->port_anew)
		client->port_anew(sm->config.client_arg, subnet_port_guid(port));
}

static bool activate(struct sm *sm, struct subnet_port *port)
{
	struct sm_port *p = sm_port_of(port);
	struct smp_port_info want = port->info;

	want.state = port->info.state == SMP_PORT_ARMED ? SMP_PORT_ACTIVE : SMP_PORT_NOP;
	want.client_rereg = p->arrived && port->info.cap_mask & SMP_CAP_CLIENT_REREG;
	if (want.state == SMP_PORT_NOP && !want.client_rereg) {
		if (port == sm_end_of(port))
			p->arrived = false;
		return false;
	}
	if (want.client_rereg)
		sm_tell_anew(sm, port);
	return send_set(sm, port, &want, activated);
}

/* -- all ports, in order --------------------------------------------------------------- */

/* Null: not this one. */
static struct subnet_port *port_at(struct sm *sm, bool *over)
{
	struct sm_sweep *s = &sm->sweep;
	struct subnet_port *port, *end;

	*over = s->cursor == sm->end_count;
	if (*over)
		return NULL;
	end = sm->ends[s->cursor];
	port = &end->node->ports[sm_is_switch(end->node) ? s->cursor2 : end->num];
	if (!sm_is_switch(end->node) || ++s->cursor2 > end->node->info.num_ports) {
		s->cursor++;
		s->cursor2 = 0;
	}
	return port->seen ? port : NULL;
}

static enum sm_step each_port(struct sm *sm,
			      bool (*fn)(struct sm *sm, struct subnet_port *port))
{
	for (unsigned int i = 0; i < PORTS_A_STEP; i++) {
		bool over;
		struct subnet_port *port = port_at(sm, &over);

		if (over)
			return SM_STEP_DONE;
		if (port && fn(sm, port))
			return SM_STEP_SENT;
	}
	return SM_STEP_WORKED;
}

static enum sm_step address_next(struct sm *sm)
{
	return each_port(sm, address);
}

const struct sm_phase sm_phase_address = { .name = "address", .next = address_next };

static enum sm_step arm_next(struct sm *sm)
{
	return each_port(sm, arm);
}

/* The tables are set, and data flows as soon as ports are ACTIVE. */
static void arm_end(struct sm *sm)
{
	sm_serve(sm);
}

const struct sm_phase sm_phase_arm = { .name = "arm", .next = arm_next, .end = arm_end };

static enum sm_step activate_next(struct sm *sm)
{
	return each_port(sm, activate);
}

const struct sm_phase sm_phase_activate = { .name = "activate", .next = activate_next };

/* -- the client hears of them ---------------------------------------------------------- */

static bool announce(struct sm *sm, struct subnet_port *port)
{
	const struct sm_client_ops *client = sm->config.client;
	struct sm_port *p = sm_port_of(port);

	if (port != sm_end_of(port) || p->told || p->arrived || !p->lid)
		return false;
	p->told = true;
	if (client && client->port_in)
		client->port_in(sm->config.client_arg, subnet_port_guid(port));
	return false;
}

static enum sm_step announce_next(struct sm *sm)
{
	return each_port(sm, announce);
}

const struct sm_phase sm_phase_announce = { .name = "announce", .next = announce_next };
