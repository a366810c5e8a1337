// SPDX-License-Identifier: BSD-2-Clause
/*
 * Queue pairs of ids, and the completion queues that come with them where the program
 * brings none (spec/userland 3.2).
 */
#include <string.h>

#include "cm.h"

/* -- completion queues -------------------------------------------------------------- */

static void destroy_queue(struct ibv_cq **cq, struct ibv_comp_channel **channel)
{
	if (*cq)
		ibv_destroy_cq(*cq);
	*cq = NULL;
	if (*channel)
		ibv_destroy_comp_channel(*channel);
	*channel = NULL;
}

static int create_queue(struct rdma_cm_id *id, uint32_t depth, struct ibv_cq **cq,
			struct ibv_comp_channel **channel)
{
	*channel = ibv_create_comp_channel(id->verbs);
	if (!*channel)
		return -errno;
	*cq = ibv_create_cq(id->verbs, (int)depth, id, *channel, 0);
	if (*cq)
		return 0;
	return -errno;
}

static void destroy_queues(struct rdma_cm_id *id, bool send, bool recv)
{
	if (recv)
		destroy_queue(&id->recv_cq, &id->recv_cq_channel);
	if (send)
		destroy_queue(&id->send_cq, &id->send_cq_channel);
}

/* `send` and `recv`: whether the id is to get that one. */
static int create_queues(struct rdma_cm_id *id, const struct ibv_qp_cap *cap, bool send,
			 bool recv)
{
	int r = 0;

	if (send)
		r = create_queue(id, cap->max_send_wr, &id->send_cq,
				 &id->send_cq_channel);
	if (r == 0 && recv)
		r = create_queue(id, cap->max_recv_wr, &id->recv_cq,
				 &id->recv_cq_channel);
	if (r < 0)
		destroy_queues(id, send, recv);
	return r;
}

/* -- states ------------------------------------------------------------------------- */

static int init_attr(struct cm_id *id, struct ibv_qp_attr *attr, int *ret_mask)
{
	struct uapi_cm_init_qp_attr req = {
		.id = id->handle,
		.qp_state = attr->qp_state,
	};
	struct uapi_cm_qp_attr rep;
	int r;

	r = cm_rpc(id->generation, UAPI_CM_INIT_QP_ATTR, &req, sizeof(req), &rep,
		   sizeof(rep));
	if (r < 0)
		return r;
	vc_qp_attr_from_uapi(&rep.attr, attr);
	*ret_mask = (int)rep.mask;
	return 0;
}

VC_EXPORT int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr,
				int *attr_mask)
{
	if (!attr || !attr_mask)
		return cm_result(-EINVAL);
	return cm_result(init_attr(cm_id_of(id), attr, attr_mask));
}

static int modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	return -ibv_modify_qp(qp, attr, mask);
}

static int to_init(struct cm_id *id, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask, r;

	r = init_attr(id, &attr, &mask);
	if (r < 0)
		return r;
	return modify(qp, &attr, mask);
}

/* A datagram queue pair needs no peer to be ready to send. */
static int to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int r;

	r = modify(qp, &attr, IBV_QP_STATE);
	if (r < 0)
		return r;
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = 0;
	return modify(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

static int bring_up(struct cm_id *id, struct ibv_qp *qp)
{
	int r = to_init(id, qp);

	if (r == 0 && qp->qp_type == IBV_QPT_UD)
		r = to_rts(qp);
	return r;
}

/* -- create and destroy ------------------------------------------------------------- */

static int check(const struct rdma_cm_id *id, const struct ibv_qp_init_attr_ex *attr)
{
	if (id->qp || !id->verbs)
		return -EINVAL;
	if (attr->pd->context != id->verbs)
		return -EINVAL;
	if (id->recv_cq && attr->recv_cq && id->recv_cq != attr->recv_cq)
		return -EINVAL;
	if (id->send_cq && attr->send_cq && id->send_cq != attr->send_cq)
		return -EINVAL;
	return 0;
}

static void fill_in(const struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	if (!attr->send_cq)
		attr->send_cq = id->send_cq;
	if (!attr->recv_cq)
		attr->recv_cq = id->recv_cq;
	if (id->srq && !attr->srq)
		attr->srq = id->srq;
}

static int create_qp(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	bool send = !attr->send_cq && !id->send_cq && attr->cap.max_send_wr;
	bool recv = !attr->recv_cq && !id->recv_cq && attr->cap.max_recv_wr;
	struct ibv_qp *qp;
	int r;

	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd) {
		attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
		attr->pd = id->pd;
	}
	if (!attr->pd)
		return -EINVAL; /* no device yet */
	r = check(id, attr);
	if (r < 0)
		return r;
	r = create_queues(id, &attr->cap, send, recv);
	if (r < 0)
		return r;
	fill_in(id, attr);
	qp = ibv_create_qp_ex(id->verbs, attr);
	if (!qp) {
		r = errno ? -errno : -ENOMEM;
		goto destroy_queues;
	}
	r = bring_up(cm_id_of(id), qp);
	if (r < 0)
		goto destroy_qp;
	id->pd = qp->pd;
	id->qp = qp;
	return 0;
destroy_qp:
	ibv_destroy_qp(qp);
destroy_queues:
	destroy_queues(id, send, recv);
	return r;
}

VC_EXPORT int rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	int old, r;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	r = create_qp(id, attr);
	pthread_setcancelstate(old, NULL);
	return cm_result(r);
}

/* The older attributes are the head of the newer ones. */
VC_EXPORT int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd,
			     struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = { 0 };
	int r;

	memcpy(&ex, attr, sizeof(*attr));
	ex.comp_mask = IBV_QP_INIT_ATTR_PD;
	ex.pd = pd;
	r = rdma_create_qp_ex(id, &ex);
	if (r == 0)
		memcpy(attr, &ex, sizeof(*attr));
	return r;
}

VC_EXPORT void rdma_destroy_qp(struct rdma_cm_id *id)
{
	int old;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	cm_joins_detach(cm_id_of(id));
	ibv_destroy_qp(id->qp);
	id->qp = NULL;
	destroy_queues(id, true, true);
	pthread_setcancelstate(old, NULL);
}
