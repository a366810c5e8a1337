/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Agents, and who owns which class and method: one agent a (port, queue pair, class,
 * version, method), and of a vendor's classes one for each vendor (spec/userland 4.3).
 */
#include <stdlib.h>
#include <string.h>

#include "core/mad/mad_priv.h"

#define CLASSES_END    0x50 /* what lies above is the directed route, or nothing */
#define VERSIONS_END   0x83
#define VENDOR_FIRST   0x30
#define VENDOR_LAST    0x4f
#define VENDOR_OUI     37u /* offset in the MAD */
#define RMPP_VERSION_1 1

bool mad_is_vendor(u8 mgmt_class)
{
	return mgmt_class >= VENDOR_FIRST && mgmt_class <= VENDOR_LAST;
}

static bool is_subnet_management(u8 mgmt_class)
{
	return mgmt_class == MAD_CLASS_SUBN_LID || mgmt_class == MAD_CLASS_SUBN_DIRECTED;
}

static bool oui_is_zero(const u8 oui[3])
{
	return !oui[0] && !oui[1] && !oui[2];
}

/* -- classes ------------------------------------------------------------------------ */

static struct mad_class_owners *find_class(struct mad_port *port, u32 qpn, u8 mgmt_class,
					   u8 version, const u8 oui[3])
{
	list_for_each(l, &port->classes[qpn]) {
		struct mad_class_owners *class =
			container_of(l, struct mad_class_owners, link);

		if (class->mgmt_class != mgmt_class || class->version != version)
			continue;
		if (!mad_is_vendor(mgmt_class) || memcmp(class->oui, oui, 3) == 0)
			return class;
	}
	return NULL;
}

static struct mad_class_owners *make_class(struct mad_port *port, u32 qpn,
					   const struct ib_mad_reg_req *reg)
{
	struct mad_class_owners *class = calloc(1, sizeof(*class));

	if (!class)
		return NULL;
	class->mgmt_class = reg->mgmt_class;
	class->version = reg->mgmt_class_version;
	if (mad_is_vendor(reg->mgmt_class))
		memcpy(class->oui, reg->oui, 3);
	list_append(&port->classes[qpn], &class->link);
	return class;
}

void mad_classes_free(struct mad_port *port)
{
	for (u32 qpn = 0; qpn < 2; qpn++) {
		list_for_each_safe(l, &port->classes[qpn])
			free(container_of(l, struct mad_class_owners, link));
		list_init(&port->classes[qpn]);
	}
}

static bool wants(const struct ib_mad_reg_req *reg, u32 method)
{
	return reg->method_mask[method / 64] >> method % 64 & 1;
}

static int take_methods(struct ib_mad_agent *agent, const struct ib_mad_reg_req *reg)
{
	struct mad_class_owners *class;

	if (!reg->method_mask[0] && !reg->method_mask[1])
		return 0;
	class = find_class(agent->port, agent->qpn, reg->mgmt_class,
			   reg->mgmt_class_version, reg->oui);
	if (!class)
		class = make_class(agent->port, agent->qpn, reg);
	if (!class)
		return -ENOMEM;
	for (u32 m = 0; m < MAD_METHODS; m++)
		if (wants(reg, m) && class->owners[m])
			return -EBUSY;
	for (u32 m = 0; m < MAD_METHODS; m++)
		if (wants(reg, m))
			class->owners[m] = agent;
	return 0;
}

static void give_methods(struct ib_mad_agent *agent)
{
	list_for_each(l, &agent->port->classes[agent->qpn]) {
		struct mad_class_owners *class =
			container_of(l, struct mad_class_owners, link);

		for (u32 m = 0; m < MAD_METHODS; m++)
			if (class->owners[m] == agent)
				class->owners[m] = NULL;
	}
}

struct ib_mad_agent *mad_owner(const struct mad_arrival *arrival)
{
	const struct mad_header *header = &arrival->header;
	const struct mad_class_owners *class;

	class = find_class(arrival->port, arrival->packet->dest_qp, header->mgmt_class,
			   header->class_version, arrival->mad + VENDOR_OUI);
	return class ? class->owners[header->method & (MAD_METHODS - 1)] : NULL;
}

/* -- agents ------------------------------------------------------------------------- */

static struct ib_mad_agent *find_agent(const struct ib_mad *mad, u32 tag)
{
	hash_for_each_match(node, &mad->agents, tag)
		return container_of(node, struct ib_mad_agent, tag_node);
	return NULL;
}

struct ib_mad_agent *mad_asker(const struct mad_arrival *arrival)
{
	struct ib_mad_agent *agent =
		find_agent(arrival->port->device->mad, (u32)(arrival->header.tid >> 32));

	if (agent && agent->port == arrival->port &&
	    agent->qpn == arrival->packet->dest_qp)
		return agent;
	return NULL;
}

static u32 free_tag(struct ib_mad *mad)
{
	do {
		mad->last_tag++;
	} while (mad->last_tag == 0 || find_agent(mad, mad->last_tag));
	return mad->last_tag;
}

/* Spec/userland 4.2: what no agent can register for. */
static int check_reg(u32 qpn, const struct ib_mad_reg_req *reg, u8 rmpp_version)
{
	if (reg->mgmt_class == 0 || (reg->mgmt_class >= CLASSES_END &&
				     reg->mgmt_class != MAD_CLASS_SUBN_DIRECTED))
		return -EINVAL;
	if (reg->mgmt_class_version >= VERSIONS_END)
		return -EINVAL;
	if (mad_is_vendor(reg->mgmt_class) && oui_is_zero(reg->oui))
		return -EINVAL;
	if (is_subnet_management(reg->mgmt_class) != (qpn == IB_QP_SMI))
		return -EINVAL;
	if (rmpp_version && rmpp_data_offset(reg->mgmt_class) == 0)
		return -EINVAL;
	return 0;
}

static int check_agent(struct ib_device *device, u32 port_num, u32 qpn,
		       const struct ib_mad_reg_req *reg, u8 rmpp_version)
{
	if (!device->mad)
		return -ENODEV;
	if (!rdma_is_port_valid(device, port_num) || qpn > IB_QP_GSI)
		return -EINVAL;
	if (qpn == IB_QP_SMI && !rdma_cap_ib_smi(device, port_num))
		return -EINVAL;
	if (rmpp_version > RMPP_VERSION_1)
		return -EINVAL;
	return reg ? check_reg(qpn, reg, rmpp_version) : 0;
}

struct ib_mad_agent *ib_register_mad_agent(struct ib_device *device, u32 port_num,
					   u32 qpn, const struct ib_mad_reg_req *reg,
					   u8 rmpp_version,
					   const struct ib_mad_agent_ops *ops,
					   void *context)
{
	int r = check_agent(device, port_num, qpn, reg, rmpp_version);
	struct ib_mad_agent *agent;
	struct mad_device *on;

	if (r < 0)
		return ERR_PTR(r);
	on = ib_get_client_data(device, &device->mad->client);
	agent = calloc(1, sizeof(*agent));
	if (!agent)
		return ERR_PTR(-ENOMEM);
	agent->mad = device->mad;
	agent->port = &on->ports[port_num];
	agent->qpn = qpn;
	agent->rmpp_version = rmpp_version;
	agent->ops = *ops;
	agent->context = context;
	list_init(&agent->sends);
	list_init(&agent->transfers);
	r = reg ? take_methods(agent, reg) : 0;
	if (r < 0) {
		free(agent);
		return ERR_PTR(r);
	}
	agent->tag = free_tag(agent->mad);
	hash_insert(&agent->mad->agents, &agent->tag_node, agent->tag);
	list_append(&on->agents, &agent->link);
	return agent;
}

static void drop_transfers(struct ib_mad_agent *agent)
{
	while (!list_empty(&agent->transfers))
		mad_transfer_free(
			container_of(agent->transfers.next, struct mad_transfer, link));
}

/* Its device is gone: it can be unregistered, and hears of its sends from the timers. */
void mad_agent_orphan(struct ib_mad_agent *agent)
{
	list_remove(&agent->link);
	agent->port = NULL;
	drop_transfers(agent);
	list_for_each(l, &agent->sends) {
		struct mad_send *send = container_of(l, struct mad_send, link);

		if (send->state < MAD_SEND_OVER)
			mad_send_over(send, IB_MAD_SEND_FLUSHED);
	}
}

void ib_unregister_mad_agent(struct ib_mad_agent *agent)
{
	if (agent->closing)
		return;
	agent->closing = true;
	if (agent->port)
		give_methods(agent);
	drop_transfers(agent);
	while (!list_empty(&agent->sends))
		mad_send_end(container_of(agent->sends.next, struct mad_send, link),
			     IB_MAD_SEND_FLUSHED);
	list_remove(&agent->link);
	hash_remove(&agent->mad->agents, &agent->tag_node);
	free(agent);
}

void *ib_mad_agent_context(const struct ib_mad_agent *agent)
{
	return agent->context;
}

u32 ib_mad_agent_tag(const struct ib_mad_agent *agent)
{
	return agent->tag;
}

struct ib_device *ib_mad_agent_device(const struct ib_mad_agent *agent, u32 *ret_port)
{
	if (!agent->port)
		return NULL;
	if (ret_port)
		*ret_port = agent->port->num;
	return agent->port->device->ib;
}
