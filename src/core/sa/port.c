/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A port's agent, and where its SA is: the SM's LID and SL of the port's attributes
 * (spec/kernel 2.11). Looked up when something happens to the port, and again by requests
 * for as long as it is not known.
 */
#include "core/sa/sa_priv.h"

int ib_sa_port_init(struct sa_port *port, struct sa_device *device, u32 num)
{
	struct ib_mad_agent *agent;
	int r;

	port->device = device;
	port->num = num;
	list_init(&port->groups);
	if (!rdma_cap_ib_sa(device->ib, num))
		return 0;
	r = hash_init(&port->by_mgid);
	if (r < 0)
		return r;
	/* Tables of records come in segments; nothing comes unasked. */
	agent = ib_register_mad_agent(device->ib, num, IB_QP_GSI, NULL, 1,
				      &ib_sa_agent_ops, port);
	if (IS_ERR(agent)) {
		hash_fini(&port->by_mgid);
		return (int)PTR_ERR(agent);
	}
	port->agent = agent;
	ib_sa_port_refresh(port);
	return 0;
}

void ib_sa_port_silence(struct sa_port *port)
{
	struct ib_mad_agent *agent = port->agent;

	/* Whoever is told in there asks nobody any more. */
	port->agent = NULL;
	if (agent)
		ib_unregister_mad_agent(agent);
}

void ib_sa_port_fini(struct sa_port *port)
{
	ib_sa_port_silence(port);
	hash_fini(&port->by_mgid);
}

void ib_sa_port_refresh(struct sa_port *port)
{
	struct ib_device *ib = port->device->ib;
	struct ib_port_attr attr;

	port->sm_known = false;
	if (!ib || ib_query_port(ib, port->num, &attr) < 0)
		return;
	if (attr.sm_lid == 0 || attr.sm_lid >= IB_LID_MULTICAST_BASE)
		return;
	port->sm_known = true;
	port->sm = (struct ib_mad_addr){
		.lid = attr.sm_lid,
		.sl = attr.sm_sl,
		.qpn = IB_QP_GSI,
		.qkey = IB_GSI_QKEY,
	};
	/* A port without it has the first place for everything. */
	if (ib_find_pkey(ib, port->num, IB_PKEY_DEFAULT_FULL, &port->sm.pkey_index) < 0)
		port->sm.pkey_index = 0;
}
