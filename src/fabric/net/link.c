/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Links, and what a port is after power on. A link is physically up while its cable is
 * in, both nodes have power, neither port is disabled and both are enabled for some width
 * and some speed, of which they take the greatest; training takes no time. Both ends fall
 * and rise together (spec/sa-sm 3.6); from INIT on it is the SM who moves them, but that
 * data makes a port ACTIVE which is ARMED.
 */
#include "fabric/net/fabric_priv.h"

#include <string.h>

#define GID_PREFIX_DEFAULT 0xfe80000000000000ull
#define WIDTH_4X           2u
#define WIDTHS             3u /* 1x, 4x */
#define SPEED_QDR          4u
#define SPEEDS             7u /* SDR, DDR, QDR */
#define VLS_8              4u
#define SUBNET_TIMEOUT     18u

#define ADAPTER_CAPS                                                         \
	(SMP_CAP_TRAP | SMP_CAP_SL_MAP | SMP_CAP_CM | SMP_CAP_VENDOR_CLASS | \
	 SMP_CAP_CAP_MASK_NOTICE | SMP_CAP_CLIENT_REREG | SMP_CAP_OTHER_LOCAL_CHANGES)
#define SWITCH_CAPS                                                \
	(SMP_CAP_TRAP | SMP_CAP_SL_MAP | SMP_CAP_CAP_MASK_NOTICE | \
	 SMP_CAP_OTHER_LOCAL_CHANGES | SMP_CAP_MFT_TOP)

/* A switch of those whose port 0 is an end port like an adapter's; it enforces P_Keys. */
#define SWITCH_INBOUND_ENFORCEMENT  0x80u
#define SWITCH_OUTBOUND_ENFORCEMENT 0x40u
#define SWITCH_ENHANCED_PORT_0      0x08u

static void reset_info(struct fabric_port *p)
{
	struct smp_port_info *i = &p->info;

	net_set_state(p, SMP_PORT_DOWN);
	*i = (struct smp_port_info){
		.width_enabled = WIDTHS,
		.width_supported = WIDTHS,
		.width_active = WIDTH_4X,
		.speed_supported = SPEEDS,
		.speed_enabled = SPEEDS,
		.speed_active = SPEED_QDR,
		.state = SMP_PORT_DOWN,
		.phys_state = SMP_PHYS_POLLING,
		.down_default = SMP_PHYS_POLLING,
		.neighbor_mtu = p->node->fabric->mtu_cap,
		.mtu_cap = p->node->fabric->mtu_cap,
		.vl_cap = VLS_8,
		.operational_vls = VLS_8,
		.vl_arb_high_cap = 32,
		.vl_arb_low_cap = 32,
		.subnet_timeout = SUBNET_TIMEOUT,
		.resp_time = SUBNET_TIMEOUT,
	};
	if (!p->end)
		return;
	i->gid_prefix = GID_PREFIX_DEFAULT;
	i->cap_mask = p->node->is_switch ? SWITCH_CAPS : ADAPTER_CAPS;
	if (p->end->sm_by)
		i->cap_mask |= SMP_CAP_SM;
	i->guid_cap = p->node->is_switch ? 1 : NET_GUIDS;
}

static void reset_port(struct fabric_port *p)
{
	const struct fabric_node *n = p->node;

	reset_info(p);
	memset(p->pkeys, 0, n->pkey_room * sizeof(*p->pkeys));
	p->pkeys[0] = IB_PKEY_DEFAULT_FULL;
	p->counters = (struct net_counters){ 0 };
	if (p->vl_arb)
		memset(p->vl_arb, 0, NET_VL_ARB_BLOCKS * sizeof(*p->vl_arb));
	if (!p->end)
		return;
	net_traps_stop(p);
	net_mkey_stop(p);
	memset(p->end->guids, 0, sizeof(p->end->guids));
	p->end->guids[0] = n->guid + p->num;
	/* Between a switch and its own port there is no link to come up. */
	if (n->is_switch && n->powered) {
		net_set_state(p, SMP_PORT_ACTIVE);
		p->info.phys_state = SMP_PHYS_LINK_UP;
	}
}

void net_node_reset(struct fabric_node *n)
{
	net_tables_clear(n);
	net_for_each_port(p, n) reset_port(p);
	if (!n->is_switch)
		return;
	n->switch_info = (struct smp_switch_info){
		.lft_cap = NET_LFT_CAP,
		.mft_cap = (uint16_t)n->mft_cap,
		.state_change = 1,
		.enforcement_cap = NET_SWITCH_PKEYS,
		.flags = SWITCH_INBOUND_ENFORCEMENT | SWITCH_OUTBOUND_ENFORCEMENT |
			 SWITCH_ENHANCED_PORT_0,
		/* Whoever does not know of this field finds the whole table in use; who
		 * does writes it before he counts on it (spec/sa-sm 7.3). */
		.mft_top = (uint16_t)(IB_LID_MULTICAST_BASE + n->mft_cap - 1),
	};
}

static bool may_link(const struct fabric_port *p)
{
	return p->node->powered && p->info.phys_state != SMP_PHYS_DISABLED;
}

/* The greatest that both are enabled for; 0: none. The bits are in the order of speed. */
static uint8_t greatest(uint8_t a, uint8_t b)
{
	uint8_t both = a & b;

	while (both & (both - 1))
		both &= (uint8_t)(both - 1);
	return both;
}

static uint8_t common_width(const struct fabric_port *p)
{
	return greatest(p->info.width_enabled, p->peer->info.width_enabled);
}

static uint8_t common_speed(const struct fabric_port *p)
{
	return greatest(p->info.speed_enabled, p->peer->info.speed_enabled);
}

static void take_state(struct fabric_port *p, bool up)
{
	p->linked = up;
	if (up) {
		p->info.phys_state = SMP_PHYS_LINK_UP;
		p->info.width_active = common_width(p);
		p->info.speed_active = common_speed(p);
	} else if (p->info.phys_state != SMP_PHYS_DISABLED) {
		p->info.phys_state = p->info.down_default;
	}
	net_set_state(p, up ? SMP_PORT_INIT : SMP_PORT_DOWN);
	if (!up)
		p->counters.link_downed++;
	net_port_changed(p, FABRIC_PORT_STATE);
}

/* The switch tells of its port (spec/sa-sm 3.6). */
static void report_state(struct fabric_port *p)
{
	if (!p->node->is_switch || !p->node->powered)
		return;
	p->node->switch_info.state_change = 1;
	net_trap_raise(&p->node->ports[0].end->link_trap);
}

static void set_link(struct fabric_port *p, bool up)
{
	net_count_all_sent(p->node->fabric);
	take_state(p, up);
	take_state(p->peer, up);
	net_routes_changed(p->node->fabric);
	report_state(p);
	report_state(p->peer);
}

void net_link_update(struct fabric_port *p)
{
	bool up = p->peer && !p->pulled && may_link(p) && may_link(p->peer) &&
		  common_width(p) && common_speed(p);

	if (up != p->linked)
		set_link(p, up);
}

void net_link_retrain(struct fabric_port *p)
{
	if (p->linked)
		set_link(p, false);
	net_link_update(p);
}

/* Spec/sa-sm 3.6. It may send from now on, as after a Set; the SM did not ask for it, and is
 * not told: it wants the port ACTIVE in any case. */
void net_activate(struct fabric_port *p)
{
	net_set_state(p, SMP_PORT_ACTIVE);
	net_port_changed(p, FABRIC_PORT_STATE);
	net_routes_changed(p->node->fabric);
}

bool fabric_awaits_data(const struct fabric_port *port)
{
	return port->node->fabric->armed_ports != 0;
}
