/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A node's subnet management agent: who answers an SMP, and the attributes that are about
 * the node (spec/sa-sm 3.3). The others are in sma_port.c and sma_tables.c.
 */
#include "fabric/net/fabric_priv.h"

#include <string.h>

/* No vendor's own numbers, so that nobody expects his extensions. */
#define VENDOR_ID 0x02766bu
#define DEVICE_ID 1u
#define REVISION  1u

/* -- attributes of a node ---------------------------------------------------------- */

static uint16_t node_description_get(struct sma_request *r)
{
	const char *name = r->end->node->name;

	memset(r->data, 0, SMP_DATA_BYTES);
	memcpy(r->data, name, strlen(name));
	return 0;
}

static uint16_t node_info_get(struct sma_request *r)
{
	const struct fabric_node *n = r->end->node;
	struct smp_node_info info = {
		.base_version = 1,
		.class_version = 1,
		.node_type = n->is_switch ? SMP_NODE_SWITCH : SMP_NODE_CA,
		.num_ports = n->num_ports,
		.sys_guid = n->guid,
		.node_guid = n->guid,
		.port_guid = r->end->end->guids[0],
		.partition_cap = n->pkey_cap,
		.device_id = DEVICE_ID,
		.revision = REVISION,
		.local_port = (uint8_t)r->ingress,
		.vendor_id = VENDOR_ID,
	};

	memset(r->data, 0, SMP_DATA_BYTES);
	smp_node_info_put(r->data, &info);
	return 0;
}

uint16_t sma_switch_info_get(struct sma_request *r)
{
	memset(r->data, 0, SMP_DATA_BYTES);
	smp_switch_info_put(r->data, &r->end->node->switch_info);
	return 0;
}

static bool is_port_or_none(const struct fabric_node *n, uint8_t port)
{
	return port <= n->num_ports || port == 0xff;
}

static bool routes_differ(const struct smp_switch_info *a,
			  const struct smp_switch_info *b)
{
	return a->lft_top != b->lft_top || a->mft_top != b->mft_top ||
	       a->default_mcast_primary != b->default_mcast_primary ||
	       a->default_mcast_not_primary != b->default_mcast_not_primary;
}

/* What else is in a Set is not looked at (spec/sa-sm 3.7). */
uint16_t sma_switch_info_set(struct sma_request *r)
{
	struct fabric_node *n = r->end->node;
	struct smp_switch_info *mine = &n->switch_info, before = *mine, set;

	smp_switch_info_get(r->data, &set);
	if (set.lft_top >= mine->lft_cap || !is_port_or_none(n, set.default_port) ||
	    !is_port_or_none(n, set.default_mcast_primary) ||
	    !is_port_or_none(n, set.default_mcast_not_primary))
		return MAD_STATUS_BAD_VALUE;
	if (routes_differ(mine, &set))
		net_count_all_sent(n->fabric);
	mine->lft_top = set.lft_top;
	mine->mft_top = set.mft_top;
	mine->default_port = set.default_port;
	mine->default_mcast_primary = set.default_mcast_primary;
	mine->default_mcast_not_primary = set.default_mcast_not_primary;
	mine->life_time = set.life_time;
	if (routes_differ(mine, &before))
		net_routes_changed(n->fabric);
	if (set.state_change)
		mine->state_change = 0;
	return 0;
}

/* -- who answers ------------------------------------------------------------------- */

struct attribute {
	uint16_t id;
	bool of_switches;
	uint16_t (*get)(struct sma_request *r);
	uint16_t (*set)(struct sma_request *r); /* null: there is only Get */
};

static const struct attribute attributes[] = {
	{ SMP_PORT_INFO, false, sma_port_info_get, sma_port_info_set },
	{ SMP_NODE_INFO, false, node_info_get, NULL },
	{ SMP_NODE_DESCRIPTION, false, node_description_get, NULL },
	{ SMP_PKEY_TABLE, false, sma_pkeys_get, sma_pkeys_set },
	{ SMP_GUID_INFO, false, sma_guid_info_get, sma_guid_info_set },
	{ SMP_SL_TO_VL, false, sma_sl_to_vl_get, sma_sl_to_vl_set },
	{ SMP_VL_ARB, false, sma_vl_arb_get, sma_vl_arb_set },
	{ SMP_LINEAR_FT, true, sma_lft_get, sma_lft_set },
	{ SMP_MULTICAST_FT, true, sma_mft_get, sma_mft_set },
	{ SMP_SWITCH_INFO, true, sma_switch_info_get, sma_switch_info_set },
};

static const struct attribute *find_attribute(uint16_t id, bool is_switch)
{
	for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
		if (attributes[i].id == id)
			return is_switch || !attributes[i].of_switches ? &attributes[i]
								       : NULL;
	}
	return NULL;
}

/* A Set answers with what then is. */
static uint16_t perform(struct sma_request *r, const struct mad_header *header)
{
	const struct attribute *a =
		find_attribute(header->attr_id, r->end->node->is_switch);
	bool set = header->method == MAD_METHOD_SET;
	uint16_t status = 0;

	if (header->base_version != 1 || header->class_version != 1)
		return MAD_STATUS_BAD_VERSION;
	if (!set && header->method != MAD_METHOD_GET)
		return MAD_STATUS_BAD_METHOD;
	if (!a || (set && !a->set))
		return MAD_STATUS_BAD_ATTRIBUTE;
	if (set)
		status = a->set(r);
	return status ? status : a->get(r);
}

/* Spec/sa-sm 3.3: SMInfo and traps are an SM's, and answers whoever's that asked. */
static bool is_for_client(const struct mad_header *h)
{
	if (mad_is_response(h) || h->method == MAD_METHOD_TRAP ||
	    (h->status & MAD_STATUS_DIRECTION))
		return true;
	return h->attr_id == SMP_SM_INFO &&
	       (h->method == MAD_METHOD_GET || h->method == MAD_METHOD_SET);
}

enum net_answer net_sma_receive(struct fabric_port *end, unsigned int ingress,
				uint16_t slid, uint8_t *mad)
{
	struct fabric *f = end->node->fabric;
	struct sma_request r = { .end = end, .ingress = ingress, .data = mad + SMP_DATA };
	uint64_t mkey = wire_get64(mad + SMP_MKEY);
	struct mad_header h;

	mad_header_get(mad, &h);
	if (h.method == MAD_METHOD_TRAP_REPRESS && net_trap_repress(end, h.tid))
		return NET_SWALLOWED;
	if (is_for_client(&h))
		return NET_FOR_CLIENT;
	if (!net_mkey_allows(end, slid, mad))
		return NET_SWALLOWED;
	r.modifier = h.attr_mod;
	r.mkey_known = mkey == end->info.mkey;
	h.status = perform(&r, &h);
	h.method = MAD_METHOD_GET_RESP;
	if (h.mgmt_class == MAD_CLASS_SUBN_DIRECTED)
		h.status |= MAD_STATUS_DIRECTION;
	mad_header_put(mad, &h);
	f->counters.smp_answered++;
	return NET_ANSWERED;
}
