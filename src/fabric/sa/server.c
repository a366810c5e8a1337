/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The server as the SM's client: coming up, going down, ports that come and go; and what
 * the SM's subnet says of a port.
 */
#include "fabric/sa/sa_server.h"

#include <errno.h>
#include <stdlib.h>

#include "fabric/sa/server_priv.h"

#define DEFAULT_SA_KEY 1

static int tables_create(struct sa_server *s)
{
	struct hash *tables[] = { &s->pending,      &s->groups,         &s->members,
				  &s->member_ports, &s->services,       &s->subscriptions,
				  &s->reports,      &s->assigned,       &s->shares,
				  &s->aliases,      &s->aliases_by_port };

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (hash_init(tables[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

int sa_server_create(const struct sa_server_config *config, struct sa_server **ret)
{
	struct sa_server *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->timers = config->timers;
	s->random = config->random;
	s->sa_key = config->sa_key ? config->sa_key : DEFAULT_SA_KEY;
	s->next_tid = random_u64(s->random);
	list_init(&s->route_list);
	list_init(&s->service_list);
	list_init(&s->subscription_list);
	list_init(&s->assigned_list);
	list_init(&s->walks);
	list_init(&s->guid_changes);
	list_init(&s->alias_list);
	sa_followers_init(s);
	r = tables_create(s);
	if (r == 0)
		r = sa_groups_from_partitions(s, config->partitions,
					      config->partition_count);
	if (r < 0) {
		sa_server_destroy(s);
		return r;
	}
	*ret = s;
	return 0;
}

void sa_server_destroy(struct sa_server *s)
{
	if (!s)
		return;
	sa_followers_forget(s);
	free(s->journal.bytes);
	sa_following_stop(s);
	sa_requests_forget(s);
	sa_guids_forget(s);
	sa_reports_forget(s);
	sa_subscriptions_forget(s);
	sa_services_forget(s);
	sa_aliases_forget(s);
	sa_groups_destroy(s);
	sa_routes_destroy(s);
	hash_fini(&s->pending);
	hash_fini(&s->groups);
	hash_fini(&s->members);
	hash_fini(&s->member_ports);
	hash_fini(&s->services);
	hash_fini(&s->subscriptions);
	hash_fini(&s->reports);
	hash_fini(&s->assigned);
	hash_fini(&s->shares);
	hash_fini(&s->aliases);
	hash_fini(&s->aliases_by_port);
	free(s);
}

void sa_server_set_sm(struct sa_server *s, struct sm *sm)
{
	s->sm = sm;
}

void sa_server_set_fault(struct sa_server *s, const struct sa_fault *fault)
{
	s->fault = *fault;
	s->faults_left = fault->count;
}

void sa_server_counters(const struct sa_server *s, struct sa_counters *ret)
{
	*ret = s->counters;
}

/* -- ports, as the last sweep found them --------------------------------------------- */

/* Switches' own ports have no link that could be seen. */
static const struct subnet_port *port_if_seen(const struct subnet_port *port)
{
	return port && (port->seen || port->num == 0) ? port : NULL;
}

const struct subnet_port *sa_port_by_guid(const struct sa_server *s, uint64_t guid)
{
	return port_if_seen(subnet_port_by_guid(sm_subnet(s->sm), guid));
}

const struct subnet_port *sa_port_by_lid(const struct sa_server *s, uint16_t lid)
{
	return port_if_seen(subnet_port_by_lid(sm_subnet(s->sm), lid));
}

uint16_t sa_first_lid(const struct sa_server *s, uint16_t lid)
{
	const struct subnet_port *port = sa_port_by_lid(s, lid);

	return port ? subnet_port_lid(port) : lid;
}

bool sa_port_has_base(const struct subnet_port *port, uint16_t pkey)
{
	if (!(pkey & 0x7fff))
		return true;
	for (unsigned int i = 0; i < port->pkey_count; i++) {
		if ((port->pkeys[i] & 0x7fff) == (pkey & 0x7fff))
			return true;
	}
	return false;
}

/* -- sending ------------------------------------------------------------------------- */

/* Our own P_Key of the requester's partition: as a full member, if we are one, we reach
 * its limited members. */
static uint16_t own_pkey(const struct subnet_port *port, uint16_t asked)
{
	uint16_t found = asked;

	for (unsigned int i = 0; port && i < port->pkey_count; i++) {
		if ((port->pkeys[i] & 0x7fff) != (asked & 0x7fff))
			continue;
		found = port->pkeys[i];
		if (found & IB_PKEY_FULL_MEMBER)
			break;
	}
	return found;
}

/* An answer comes from the LID that was asked: by no other does its path lead back. */
static uint16_t own_lid(const struct subnet_port *port, uint16_t at)
{
	uint16_t lid = port ? subnet_port_lid(port) : 0;

	return lid && at >> port->info.lmc == lid >> port->info.lmc ? at : lid;
}

#define HOP_LIMIT 64

int sa_send(struct sa_server *s, const struct sa_address *to,
	    const uint8_t mad[MAD_BYTES])
{
	const struct subnet *subnet = sm_subnet(s->sm);
	struct ib_packet packet = {
		.slid = own_lid(subnet->sm_port, to->at),
		.dlid = to->lid,
		.sl = to->sl,
		.pkey = own_pkey(subnet->sm_port, to->pkey),
		.dest_qp = to->qp,
		.src_qp = IB_QP_GSI,
		.qkey = IB_GSI_QKEY,
		.payload = mad,
		.length = MAD_BYTES,
	};

	if (to->has_grh) {
		packet.has_grh = true;
		packet.dgid = to->gid;
		packet.hop_limit = HOP_LIMIT;
		if (subnet->sm_port)
			sa_gid_put(&packet.sgid, subnet->prefix,
				   subnet_port_guid(subnet->sm_port));
	}
	return sm_send_gsi(s->sm, &packet);
}

/* -- what the SM tells --------------------------------------------------------------- */

/* Members whose ports the sweep did not find are not there any more. */
static void forget_lost_members(struct sa_server *s, uint32_t index)
{
	struct sa_group *group;
	unsigned int i = 0;

	/* Forgetting a port moves the group's last member into its place, and may take
	 * the group. */
	while ((group = s->by_mlid[index]) && i < group->count) {
		uint64_t guid = group->ports[i].port_guid;

		if (sa_port_by_guid(s, guid))
			i++;
		else
			sa_port_forget(s, guid);
	}
}

/* The groups that were loaded, and the switches' tables for them (spec/sa-sm 2.5). */
static void restore(struct sa_server *s)
{
	uint32_t i;

	/* By index, since one port that is forgotten may take several groups. */
	for (i = sa_mlid_next(&s->mlids, 0); i < SA_MLIDS_MAX;
	     i = sa_mlid_next(&s->mlids, i + 1))
		forget_lost_members(s, i);
	sa_aliases_forget_lost(s);
	/* Another one may just have joined when the last master died. */
	sa_for_each_group(group, s) {
		if (s->inherits && !group->full_members && !group->well_known)
			sa_group_destroy(s, group);
	}
	sa_routes_restore(s);
	if (s->inherits)
		return; /* subscribers have heard of them */
	sa_for_each_group(group, s) {
		if (group->full_members)
			sa_report_group(s, TRAP_MGID_CREATED, group);
	}
}

static void sm_up(void *arg)
{
	struct sa_server *s = arg;

	if (s->up)
		return;
	/* What we knew as master before has been another's since, and what we were told of
	 * his may be of yesterday: clients join again. */
	if (!s->inherits && (s->was_up || s->following.fed)) {
		sa_groups_forget(s);
		sa_aliases_forget(s);
		sa_subscriptions_forget(s);
		sa_services_forget(s);
	}
	sa_following_stop(s);
	sa_followers_forget(s);
	s->up = true;
	s->was_up = true;
	restore(s);
	s->restored = !s->inherits && s->members.count;
	s->inherits = false;
}

static void sm_down(void *arg)
{
	struct sa_server *s = arg;

	s->up = false;
	sa_followers_forget(s);
	sa_requests_forget(s);
	sa_guids_forget(s);
	sa_reports_forget(s);
	sa_routes_stop(s);
}

static void sm_port_in(void *arg, uint64_t port_guid)
{
	struct sa_server *s = arg;

	s->restored = false;
	sa_alias_yield(s, port_guid);
	sa_report_port(s, TRAP_GID_IN_SERVICE, port_guid);
}

/* spec/sa-sm 2.3: trap 65, then the memberships. */
static void sm_port_out(void *arg, uint64_t port_guid)
{
	struct sa_server *s = arg;

	sa_subscriptions_forget_port(s, port_guid);
	sa_report_port(s, TRAP_GID_OUT_OF_SERVICE, port_guid);
	sa_port_forget(s, port_guid);
	sa_aliases_forget_port(s, port_guid);
}

/* But a database that was loaded is to outlive that its ports are told to register anew by
 * a new master, as they all are. */
static void sm_port_anew(void *arg, uint64_t port_guid)
{
	struct sa_server *s = arg;

	sa_alias_yield(s, port_guid);
	if (s->restored)
		return;
	sa_subscriptions_forget_port(s, port_guid);
	sa_port_forget(s, port_guid);
}

static void sm_receive_gsi(void *arg, const struct ib_packet *packet)
{
	struct sa_server *s = arg;

	/* Spec/sa-sm 1.4: no answer at all while the SM is not master. */
	if (s->up)
		sa_request_receive(s, packet);
	else
		s->counters.dropped_down++;
}

static void sm_trap(void *arg, const uint8_t *notice)
{
	struct sa_server *s = arg;

	if (s->up)
		sa_report_trap(s, notice);
}

/* -- more than one SM ---------------------------------------------------------------- */

static void sm_receive_peer(void *arg, const struct ib_packet *packet)
{
	struct sa_server *s = arg;

	if (packet->length != MAD_BYTES)
		s->counters.bad_length++;
	else if (s->up)
		sa_followers_receive(s, packet);
	else
		sa_following_receive(s, packet);
}

static void sm_follow(void *arg, uint16_t lid, uint16_t master_lid)
{
	struct sa_server *s = arg;

	(void)lid;
	if (!s->up)
		sa_follow(s, master_lid);
}

static bool sm_inherit(void *arg)
{
	struct sa_server *s = arg;

	s->inherits = sa_server_is_in_step(s);
	return s->inherits;
}

static bool sm_is_followed(void *arg, uint64_t port_guid)
{
	struct sa_server *s = arg;

	return sa_is_followed(s, port_guid);
}

const struct sm_client_ops sa_server_sm_ops = {
	.up = sm_up,
	.down = sm_down,
	.port_in = sm_port_in,
	.port_out = sm_port_out,
	.port_anew = sm_port_anew,
	.receive = sm_receive_gsi,
	.trap = sm_trap,
	.receive_peer = sm_receive_peer,
	.follow = sm_follow,
	.inherit = sm_inherit,
	.is_followed = sm_is_followed,
};
