/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where an arriving MAD belongs: answers by the tag in their transaction id, everything
 * else by class, version and method (spec/userland 4.3). What nobody wants is counted.
 * Whoever gets or sets something on QP1 that nobody here serves is told so, as by Linux;
 * all else is dropped.
 */
#include <string.h>

#include "core/mad/mad_priv.h"

#define MAD_BASE_VERSION 1

static bool is_subnet_management(u8 mgmt_class)
{
	return mgmt_class == MAD_CLASS_SUBN_LID || mgmt_class == MAD_CLASS_SUBN_DIRECTED;
}

/* The place of the packet's P_Key in our table. A driver without a table has one place. */
static int find_pkey(const struct mad_arrival *arrival, u16 *ret)
{
	int r;

	*ret = 0;
	if (arrival->packet->dest_qp == IB_QP_SMI)
		return 0;
	r = ib_find_pkey(arrival->port->device->ib, arrival->port->num,
			 arrival->packet->pkey, ret);
	return r == -ENOENT ? r : 0;
}

/* Whoever answers to this address answers the sender. */
static int fill_from(struct mad_arrival *arrival)
{
	const struct ib_packet *packet = arrival->packet;
	struct ib_device *ib = arrival->port->device->ib;
	struct ib_mad_addr *from = &arrival->from;
	struct ib_port_attr port = { 0 };
	struct ib_gid_attr sgid;
	enum ib_gid_type type;
	int r;

	ib_query_port(ib, arrival->port->num, &port);
	*from = (struct ib_mad_addr){
		.lid = packet->slid,
		.sl = packet->sl,
		.path_bits = (u8)(packet->dlid & ((1u << port.lmc) - 1)),
		.qpn = packet->src_qp,
		.qkey = packet->dest_qp == IB_QP_GSI ? IB_GSI_QKEY : 0,
	};
	r = find_pkey(arrival, &from->pkey_index);
	if (r < 0 || !packet->has_grh)
		return r;
	from->has_grh = true;
	from->grh = (struct ib_global_route){
		.dgid = packet->sgid,
		.flow_label = packet->flow_label,
		.hop_limit = packet->hop_limit,
		.traffic_class = packet->traffic_class,
	};
	type = rdma_port_get_link_layer(ib, arrival->port->num) == IB_LINK_LAYER_ETHERNET
		       ? IB_GID_TYPE_ROCE_UDP_ENCAP
		       : IB_GID_TYPE_IB;
	if (rdma_find_gid_by_port(ib, &packet->dgid, type, arrival->port->num, &sgid) ==
	    0)
		from->grh.sgid_index = (u8)sgid.index;
	return 0;
}

/* Classes of subnet management arrive on QP0, all others on QP1 with its Q_Key. */
static bool is_in_place(const struct ib_packet *packet, u8 mgmt_class)
{
	if (packet->dest_qp == IB_QP_SMI)
		return is_subnet_management(mgmt_class);
	return packet->dest_qp == IB_QP_GSI && !is_subnet_management(mgmt_class) &&
	       packet->qkey == IB_GSI_QKEY;
}

static bool understand(struct mad_arrival *arrival)
{
	const struct ib_packet *packet = arrival->packet;
	struct mad_header *header = &arrival->header;

	if (packet->length != MAD_BYTES)
		return false;
	mad_header_get(arrival->mad, header);
	if (header->base_version != MAD_BASE_VERSION ||
	    !is_in_place(packet, header->mgmt_class))
		return false;
	arrival->is_response = mad_is_response(header);
	if (rmpp_data_offset(header->mgmt_class)) {
		rmpp_header_get(arrival->mad, &arrival->rmpp);
		arrival->is_rmpp =
			arrival->rmpp.version == 1 && (arrival->rmpp.flags & RMPP_ACTIVE);
	}
	return fill_from(arrival) == 0;
}

static void hand_over(struct ib_mad_agent *agent, const struct mad_arrival *arrival)
{
	struct ib_mad_recv recv = {
		.from = arrival->from,
		.message = arrival->mad,
		.length = MAD_BYTES,
	};
	struct mad_send *send = NULL;

	if (arrival->is_response) {
		send = mad_send_find(agent, arrival);
		/* Who does RMPP himself asks once and gets many. */
		if (!send && !arrival->is_rmpp) {
			agent->mad->counters.unmatched++;
			return;
		}
	}
	if (send)
		mad_send_answer(send, &recv);
	else
		agent->ops.recv(agent, &recv);
}

/*
 * So vendstat, ibccquery and their kind end at once, and not for want of an answer.
 * Differs: of a vendor's classes with segments nothing is refused, as Linux would: libibmad
 * does not look at the status there, and ibping would do well without a partner.
 */
static void refuse(const struct mad_arrival *arrival)
{
	struct mad_header header = arrival->header;
	u8 mad[MAD_BYTES];

	if (arrival->packet->dest_qp != IB_QP_GSI || mad_is_vendor(header.mgmt_class))
		return;
	if (header.method != MAD_METHOD_GET && header.method != MAD_METHOD_SET)
		return;
	memcpy(mad, arrival->mad, MAD_BYTES);
	header.method = MAD_METHOD_GET_RESP;
	header.status = MAD_STATUS_BAD_ATTRIBUTE;
	mad_header_put(mad, &header);
	/* One that cannot be sent is like one that is lost. */
	mad_post_from(arrival->port, IB_QP_GSI, &arrival->from, mad);
}

static void nobody_wants(struct ib_mad *mad, const struct mad_arrival *arrival)
{
	if (arrival->is_response) {
		mad->counters.unmatched++;
		return;
	}
	mad->counters.no_owner++;
	refuse(arrival);
}

static void dispatch(struct ib_mad *mad, const struct mad_arrival *arrival)
{
	struct ib_mad_agent *agent;

	if (arrival->is_rmpp && arrival->rmpp.type != RMPP_DATA &&
	    mad_rmpp_control(mad, arrival))
		return;
	agent = arrival->is_response ? mad_asker(arrival) : mad_owner(arrival);
	if (!agent)
		nobody_wants(mad, arrival);
	else if (!arrival->is_rmpp || !agent->rmpp_version)
		hand_over(agent, arrival);
	else if (arrival->rmpp.type == RMPP_DATA)
		mad_rmpp_data(agent, arrival);
	else
		mad->counters.unmatched++;
}

void mad_receive(struct ib_device *ib, u32 port_num, const struct ib_packet *packet)
{
	struct ib_mad *mad = ib->mad;
	struct mad_device *device = ib_get_client_data(ib, &mad->client);
	struct mad_arrival arrival = { .packet = packet, .mad = packet->payload };

	mad->counters.received++;
	if (rdma_is_port_valid(ib, port_num)) {
		arrival.port = &device->ports[port_num];
		if (understand(&arrival)) {
			dispatch(mad, &arrival);
			return;
		}
	}
	mad->counters.malformed++;
}
