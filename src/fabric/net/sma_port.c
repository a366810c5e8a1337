/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PortInfo and GUIDInfo (spec/sa-sm 3.6, 3.8). A Set is checked as a whole and then
 * applied as a whole; a value that is there already is never wrong.
 */
#include "fabric/net/fabric_priv.h"

#include <string.h>

#define LMC_MAX 7u

/* Values of a Set. */
#define WIDTH_ALL 0xffu
#define SPEED_ALL 0xfu

/* Of a switch any port, of an adapter its ports; 0 is the one that was asked. */
static struct fabric_port *port_of(const struct sma_request *r, uint32_t num)
{
	struct fabric_node *n = r->end->node;

	if (num > n->num_ports)
		return NULL;
	return n->is_switch || num ? &n->ports[num] : r->end;
}

static struct fabric_port *asked_port(const struct sma_request *r)
{
	return port_of(r, r->modifier & 0xff);
}

uint16_t sma_port_info_get(struct sma_request *r)
{
	const struct fabric_port *p = asked_port(r);
	struct smp_port_info info;

	if (!p)
		return MAD_STATUS_BAD_VALUE;
	info = p->info;
	info.local_port = (uint8_t)r->ingress;
	if (!r->mkey_known && info.mkey_protect)
		info.mkey = 0;
	memset(r->data, 0, SMP_DATA_BYTES);
	smp_port_info_put(r->data, &info);
	return 0;
}

/* -- Set: what is asked ------------------------------------------------------------ */

/* Spec/sa-sm 3.6, the state machine: DOWN from anywhere, and upward one step at a time. */
static bool state_fits(const struct fabric_port *p, uint8_t state)
{
	switch (state) {
	case SMP_PORT_NOP:
	case SMP_PORT_DOWN:
		return true;
	case SMP_PORT_ARMED:
		return p->info.state == SMP_PORT_INIT || p->info.state == SMP_PORT_ARMED;
	case SMP_PORT_ACTIVE:
		return p->info.state == SMP_PORT_ARMED ||
		       p->info.state == SMP_PORT_ACTIVE;
	default:
		return false;
	}
}

/* Port 0 has no link: it is always ACTIVE, and nothing that is asked changes that. */
static bool states_fit(const struct fabric_port *p, const struct smp_port_info *set)
{
	if (p->num == 0)
		return set->state <= SMP_PORT_ACTIVE;
	return state_fits(p, set->state) && set->phys_state <= SMP_PHYS_DISABLED &&
	       set->down_default <= SMP_PHYS_POLLING;
}

static bool is_subset(uint8_t set, uint8_t all, uint8_t supported)
{
	return set == all || !(set & ~supported);
}

static bool link_fits(const struct fabric_port *p, const struct smp_port_info *set)
{
	const struct smp_port_info *is = &p->info;

	if (set->neighbor_mtu != is->neighbor_mtu &&
	    (!set->neighbor_mtu || set->neighbor_mtu > is->mtu_cap))
		return false;
	return set->operational_vls <= is->vl_cap &&
	       is_subset(set->width_enabled, WIDTH_ALL, is->width_supported) &&
	       is_subset(set->speed_enabled, SPEED_ALL, is->speed_supported);
}

static bool lid_fits(uint16_t lid, uint16_t is)
{
	return lid == is || (lid && lid <= NET_LID_UNICAST_MAX);
}

static bool end_fits(const struct fabric_port *p, const struct smp_port_info *set)
{
	return lid_fits(set->lid, p->info.lid) && lid_fits(set->sm_lid, p->info.sm_lid) &&
	       set->lmc <= LMC_MAX;
}

/* -- Set: what changes ------------------------------------------------------------- */

/* `of` unless it means "no change" or "all there are". */
static void choose(uint8_t *field, uint8_t of, uint8_t all, uint8_t supported)
{
	if (of)
		*field = of == all ? supported : of;
}

/* 0 resets it. Anything else is what some manager has read, and would undo what was counted
 * since then. */
static void reset_counter(uint16_t *counter, uint16_t to)
{
	if (!to)
		*counter = 0;
}

static void apply_link(struct smp_port_info *is, const struct smp_port_info *set)
{
	choose(&is->width_enabled, set->width_enabled, WIDTH_ALL, is->width_supported);
	choose(&is->speed_enabled, set->speed_enabled, SPEED_ALL, is->speed_supported);
	if (set->down_default)
		is->down_default = set->down_default;
	if (set->operational_vls)
		is->operational_vls = set->operational_vls;
	is->neighbor_mtu = set->neighbor_mtu;
	is->vl_high_limit = set->vl_high_limit;
	is->vl_stall = set->vl_stall;
	is->hoq_life = set->hoq_life;
	is->local_phy_errors = set->local_phy_errors;
	is->overrun_errors = set->overrun_errors;
	reset_counter(&is->mkey_violations, set->mkey_violations);
	reset_counter(&is->pkey_violations, set->pkey_violations);
	reset_counter(&is->qkey_violations, set->qkey_violations);
}

static void apply_end(struct smp_port_info *is, const struct smp_port_info *set)
{
	is->mkey = set->mkey;
	is->mkey_lease = set->mkey_lease;
	is->mkey_protect = set->mkey_protect;
	is->gid_prefix = set->gid_prefix;
	is->lid = set->lid;
	is->lmc = set->lmc;
	is->sm_lid = set->sm_lid;
	is->sm_sl = set->sm_sl;
	is->init_type = set->init_type;
	is->subnet_timeout = set->subnet_timeout;
	is->mcast_pkey_trap = set->mcast_pkey_trap;
}

/* Enum fabric_port_change. The states tell for themselves. */
static unsigned int compare(const struct smp_port_info *a, const struct smp_port_info *b)
{
	unsigned int changes = 0;

	if (a->state != b->state)
		changes |= FABRIC_PORT_STATE;
	if (a->lid != b->lid || a->lmc != b->lmc)
		changes |= FABRIC_PORT_LID;
	if (a->sm_lid != b->sm_lid || a->sm_sl != b->sm_sl)
		changes |= FABRIC_PORT_SM;
	if (a->gid_prefix != b->gid_prefix)
		changes |= FABRIC_PORT_GIDS;
	if (a->neighbor_mtu != b->neighbor_mtu || a->cap_mask != b->cap_mask ||
	    a->subnet_timeout != b->subnet_timeout || a->init_type != b->init_type ||
	    a->operational_vls != b->operational_vls)
		changes |= FABRIC_PORT_OTHER;
	return changes;
}

/* What is sent may go other ways than before; what becomes of the link is not asked. */
static bool moves_data(const struct fabric_port *p, const struct smp_port_info *set)
{
	const struct smp_port_info *is = &p->info;

	return (set->state >= SMP_PORT_ARMED && set->state != is->state) ||
	       (p->end && (set->lid != is->lid || set->lmc != is->lmc)) ||
	       (!p->end && set->enforcement != is->enforcement);
}

static void apply_fields(struct fabric_port *p, const struct smp_port_info *set)
{
	struct smp_port_info before = p->info;
	unsigned int changes;

	apply_link(&p->info, set);
	if (p->end)
		apply_end(&p->info, set);
	else
		p->info.enforcement = set->enforcement;
	if (p->num && set->state >= SMP_PORT_ARMED)
		net_set_state(p, set->state);
	changes = compare(&before, &p->info);
	if ((changes & (FABRIC_PORT_STATE | FABRIC_PORT_LID)) ||
	    before.enforcement != p->info.enforcement)
		net_routes_changed(p->node->fabric);
	/* An event, and no state (spec/sa-sm 2.4). */
	if (set->client_rereg)
		changes |= FABRIC_PORT_REREGISTER;
	net_port_changed(p, changes);
}

static void apply_link_state(struct fabric_port *p, const struct smp_port_info *set)
{
	if (p->num == 0)
		return;
	if (set->phys_state == SMP_PHYS_DISABLED) {
		p->info.phys_state = SMP_PHYS_DISABLED;
		net_link_update(p);
	} else if (set->phys_state) {
		if (!p->linked)
			p->info.phys_state = set->phys_state;
		net_link_retrain(p);
	} else if (set->state == SMP_PORT_DOWN) {
		net_link_retrain(p);
	}
}

uint16_t sma_port_info_set(struct sma_request *r)
{
	struct fabric_port *p = asked_port(r);
	struct smp_port_info set;

	if (!p || (!p->node->is_switch && p != r->end)) /* an adapter's other port */
		return MAD_STATUS_BAD_VALUE;
	smp_port_info_get(r->data, &set);
	if (!states_fit(p, &set) || !link_fits(p, &set) || (p->end && !end_fits(p, &set)))
		return MAD_STATUS_BAD_VALUE;
	if (moves_data(p, &set))
		net_count_all_sent(p->node->fabric);
	apply_fields(p, &set);
	apply_link_state(p, &set);
	return 0;
}

/* -- GUIDInfo ---------------------------------------------------------------------- */

uint16_t sma_guid_info_get(struct sma_request *r)
{
	if (r->modifier)
		return MAD_STATUS_BAD_VALUE;
	for (unsigned int i = 0; i < NET_GUIDS; i++)
		wire_put64(r->data + 8 * i, r->end->end->guids[i]);
	return 0;
}

/* The first is the hardware's own; of a switch's port 0 there are no others. */
uint16_t sma_guid_info_set(struct sma_request *r)
{
	uint64_t *guids = r->end->end->guids, before[NET_GUIDS];

	if (r->end->node->is_switch)
		return MAD_STATUS_BAD_ATTRIBUTE;
	if (r->modifier)
		return MAD_STATUS_BAD_VALUE;
	memcpy(before, guids, sizeof(before));
	for (unsigned int i = 1; i < NET_GUIDS; i++)
		guids[i] = wire_get64(r->data + 8 * i);
	if (memcmp(before, guids, sizeof(before)) != 0)
		net_port_changed(r->end, FABRIC_PORT_GIDS);
	return 0;
}
