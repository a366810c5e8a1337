// SPDX-License-Identifier: BSD-2-Clause
/*
 * The kernel's MAD agents on the core's (rdma/ib_mad.h). Handlers come from the loop.
 *
 * A send buffer belongs to the consumer until it is posted and again from its send handler
 * on; what the core is given to send is the buffer's own memory.
 */
#include <rdma/ib_mad.h>

#include "core_view/core/mad/ib_mad.h"
#include "kapi/calls.h"
#include "kapi/driver_priv.h"

struct agent {
	struct ib_mad_agent agent;
	struct core_ib_mad_agent *core;
};

struct send {
	struct ib_mad_send_buf buf;
	u32 remote_qpn;
	u16 pkey_index;
	bool rmpp;
	uint64_t id; /* in the core, while posted */
	size_t room;
	u8 mad[];
};

/* What a handler is given, and frees. */
struct received {
	struct ib_mad_recv_wc recv;
	struct ib_wc wc;
	struct ib_grh grh;
	u8 mad[];
};

static struct agent *to_agent(struct ib_mad_agent *agent)
{
	return container_of(agent, struct agent, agent);
}

/* -- what comes --------------------------------------------------------------------- */

static void fill_grh(const struct core_ib_mad_addr *from, struct ib_grh *grh)
{
	grh->version_tclass_flow = cpu_to_be32(
		6u << 28 | (u32)from->grh.traffic_class << 20 | from->grh.flow_label);
	grh->hop_limit = from->grh.hop_limit;
	grh->next_hdr = 0x1b;
	memcpy(&grh->sgid, &from->grh.dgid, sizeof(grh->sgid));
}

static struct received *receive(struct agent *a, const struct core_ib_mad_recv *recv)
{
	struct received *r = kzalloc(struct_size(r, mad, recv->length), GFP_KERNEL);

	if (!r)
		return NULL;
	memcpy(r->mad, recv->message, recv->length);
	r->wc = (struct ib_wc){
		.opcode = IB_WC_RECV,
		.byte_len = sizeof(struct ib_grh) + recv->length,
		.src_qp = recv->from.qpn,
		.slid = recv->from.lid,
		.sl = recv->from.sl,
		.dlid_path_bits = recv->from.path_bits,
		.pkey_index = recv->from.pkey_index,
		.port_num = a->agent.port_num,
	};
	if (recv->from.has_grh) {
		r->wc.wc_flags = IB_WC_GRH;
		fill_grh(&recv->from, &r->grh);
	}
	r->recv.wc = &r->wc;
	r->recv.recv_buf.grh = &r->grh;
	r->recv.recv_buf.mad = (struct ib_mad *)r->mad;
	r->recv.mad_len = recv->length;
	r->recv.mad_seg_size = IB_MGMT_MAD_SIZE;
	INIT_LIST_HEAD(&r->recv.rmpp_list);
	list_add(&r->recv.recv_buf.list, &r->recv.rmpp_list);
	return r;
}

static void received(struct core_ib_mad_agent *core, const struct core_ib_mad_recv *recv)
{
	struct agent *a = core_ib_mad_agent_context(core);
	struct send *s = recv->context;
	struct received *r;

	if (!a->agent.recv_handler)
		return;
	r = receive(a, recv);
	if (r)
		a->agent.recv_handler(&a->agent, s ? &s->buf : NULL, &r->recv);
}

static void sent(struct core_ib_mad_agent *core, void *context,
		 enum core_ib_wc_status_mad status, const u8 *message, size_t length)
{
	struct agent *a = core_ib_mad_agent_context(core);
	struct send *s = context;
	struct ib_mad_send_wc wc = {
		.send_buf = &s->buf,
		.status = (enum ib_wc_status)status,
	};

	s->id = 0;
	if (a->agent.send_handler)
		a->agent.send_handler(&a->agent, &wc);
}

static const struct core_ib_mad_agent_ops agent_ops = {
	.send_done = sent,
	.recv = received,
};

/* -- agents ------------------------------------------------------------------------- */

static int register_here(struct agent *a, struct ib_mad_reg_req *req,
			 enum ib_qp_type type)
{
	struct core_ib_mad_reg_req reg;

	if (req) {
		reg.mgmt_class = req->mgmt_class;
		reg.mgmt_class_version = req->mgmt_class_version;
		memcpy(reg.oui, req->oui, sizeof(reg.oui));
		memcpy(reg.method_mask, req->method_mask, sizeof(reg.method_mask));
	}
	a->core = core_ib_register_mad_agent(
		device_core(a->agent.device), a->agent.port_num,
		type == IB_QPT_SMI ? 0 : 1, req ? &reg : NULL, a->agent.rmpp_version,
		&agent_ops, a);
	if (core_IS_ERR(a->core))
		return core_PTR_ERR(a->core);
	a->agent.hi_tid = core_ib_mad_agent_tag(a->core);
	return 0;
}
KAPI_ON_LOOP3(int, register_here, struct agent *, struct ib_mad_reg_req *,
	      enum ib_qp_type)

struct ib_mad_agent *
ib_register_mad_agent(struct ib_device *device, u32 port_num, enum ib_qp_type qp_type,
		      struct ib_mad_reg_req *mad_reg_req, u8 rmpp_version,
		      ib_mad_send_handler send_handler, ib_mad_recv_handler recv_handler,
		      void *context, u32 registration_flags)
{
	struct agent *a;
	int r;

	if (qp_type != IB_QPT_SMI && qp_type != IB_QPT_GSI)
		return ERR_PTR(-EINVAL);
	if (!rdma_is_port_valid(device, port_num))
		return ERR_PTR(-ENODEV);
	if (mad_reg_req && !recv_handler)
		return ERR_PTR(-EINVAL);
	if (!device_core(device))
		return ERR_PTR(-ENODEV);
	a = kzalloc(sizeof(*a), GFP_KERNEL);
	if (!a)
		return ERR_PTR(-ENOMEM);
	a->agent.device = device;
	a->agent.port_num = port_num;
	a->agent.rmpp_version = rmpp_version;
	a->agent.send_handler = send_handler;
	a->agent.recv_handler = recv_handler;
	a->agent.context = context;
	a->agent.flags = registration_flags;
	r = on_loop_register_here(a, mad_reg_req, qp_type);
	if (r < 0) {
		kfree(a);
		return ERR_PTR(r);
	}
	return &a->agent;
}

static int unregister_here(struct agent *a)
{
	core_ib_unregister_mad_agent(a->core);
	return 0;
}
KAPI_ON_LOOP1(int, unregister_here, struct agent *)

void ib_unregister_mad_agent(struct ib_mad_agent *agent)
{
	on_loop_unregister_here(to_agent(agent));
	kfree(to_agent(agent));
}

/* -- sends -------------------------------------------------------------------------- */

struct ib_mad_send_buf *ib_create_send_mad(struct ib_mad_agent *mad_agent, u32 remote_qpn,
					   u16 pkey_index, int rmpp_active, int hdr_len,
					   int data_len, gfp_t gfp_mask, u8 base_version)
{
	size_t room = max((size_t)hdr_len + (size_t)data_len, (size_t)IB_MGMT_MAD_SIZE);
	struct send *s;

	if (hdr_len < 0 || data_len < 0 || (rmpp_active && !mad_agent->rmpp_version))
		return ERR_PTR(-EINVAL);
	if (!rmpp_active && room > IB_MGMT_MAD_SIZE)
		return ERR_PTR(-EINVAL);
	s = kzalloc(struct_size(s, mad, room), gfp_mask);
	if (!s)
		return ERR_PTR(-ENOMEM);
	s->buf.mad = s->mad;
	s->buf.mad_agent = mad_agent;
	s->buf.hdr_len = hdr_len;
	s->buf.data_len = data_len;
	s->buf.seg_size = IB_MGMT_MAD_SIZE - hdr_len;
	s->remote_qpn = remote_qpn;
	s->pkey_index = pkey_index;
	s->rmpp = rmpp_active;
	s->room = rmpp_active ? (size_t)hdr_len + data_len : IB_MGMT_MAD_SIZE;
	return &s->buf;
}

void ib_free_send_mad(struct ib_mad_send_buf *send_buf)
{
	kfree(container_of(send_buf, struct send, buf));
}

static int address(const struct send *s, struct core_ib_mad_addr *to)
{
	struct rdma_ah_attr attr;
	int r;

	if (!s->buf.ah)
		return -EINVAL;
	r = rdma_query_ah(s->buf.ah, &attr);
	if (r < 0)
		return r;
	memset(to, 0, sizeof(*to));
	to->lid = rdma_ah_get_dlid(&attr);
	to->sl = attr.sl;
	to->path_bits = rdma_ah_get_path_bits(&attr);
	to->pkey_index = s->pkey_index;
	to->qpn = s->remote_qpn;
	to->qkey = s->remote_qpn ? IB_QP1_QKEY : 0;
	to->has_grh = attr.ah_flags & IB_AH_GRH;
	if (to->has_grh) {
		struct core_rdma_ah_attr core;

		driver_ah_attr_to_core(&attr, &core);
		to->grh = core.grh;
	}
	return 0;
}

static int post_here(struct send *s)
{
	struct core_ib_mad_send send = {
		.message = s->mad,
		.length = s->room,
		.timeout_ms = s->buf.timeout_ms,
		.retries = s->buf.retries,
		.rmpp = s->rmpp,
		.context = s,
	};
	int r = address(s, &send.to);

	return r < 0 ? r
		     : core_ib_post_send_mad(to_agent(s->buf.mad_agent)->core, &send,
					     &s->id);
}
KAPI_ON_LOOP1(int, post_here, struct send *)

int ib_post_send_mad(struct ib_mad_send_buf *send_buf,
		     struct ib_mad_send_buf **bad_send_buf)
{
	struct ib_mad_send_buf *next;
	int r = 0;

	/* A posted one may be freed by its handler at any time. */
	for (; send_buf && r == 0; send_buf = r ? send_buf : next) {
		next = send_buf->next;
		r = on_loop_post_here(container_of(send_buf, struct send, buf));
	}
	if (r < 0 && bad_send_buf)
		*bad_send_buf = send_buf;
	return r;
}

void ib_free_recv_mad(struct ib_mad_recv_wc *mad_recv_wc)
{
	kfree(container_of(mad_recv_wc, struct received, recv));
}

static int cancel_here(struct send *s)
{
	if (s->id)
		core_ib_cancel_mad(to_agent(s->buf.mad_agent)->core, s->id);
	return 0;
}
KAPI_ON_LOOP1(int, cancel_here, struct send *)

void ib_cancel_mad(struct ib_mad_send_buf *send_buf)
{
	on_loop_cancel_here(container_of(send_buf, struct send, buf));
}
