/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs: number, counter block, state and attributes. The engine of the process
 * that owns one is told by its library after the change was granted here.
 *
 * The engine may take a queue pair to SQE or ERR by itself, and nobody tells: RTS stands
 * here for what it is there. The library refuses what that state does not allow.
 */
#include "hca/hca_priv.h"

static int check_caps(const struct hca_limits *limits, const struct ib_qp_cap *cap)
{
	if (cap->max_send_wr > limits->max_qp_wr || cap->max_recv_wr > limits->max_qp_wr)
		return -EINVAL;
	if (cap->max_send_sge > limits->max_sge || cap->max_recv_sge > limits->max_sge)
		return -EINVAL;
	if (cap->max_inline_data > limits->max_inline)
		return -EINVAL;
	return 0;
}

static int check_create(const struct hca_device *dev, const struct ib_qp *qp,
			const struct ib_qp_init_attr *attr)
{
	/* The data path runs in the owner's process; the daemon has none. */
	if (!qp->pd->context)
		return -EOPNOTSUPP;
	if (attr->qp_type != IB_QPT_UD)
		return -EOPNOTSUPP;
	if (attr->create_flags & ~(u32)IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK)
		return -EOPNOTSUPP;
	return check_caps(&dev->limits, &attr->cap);
}

/* A number, a counter block and a place in the table, or none of them. */
static int claim_numbers(struct hca_device *dev, struct hca_qp *qp)
{
	int r;

	r = hca_ids_alloc(&dev->qpns, &qp->ib.qp_num);
	if (r < 0)
		return r;
	r = hca_qp_counters_alloc(dev->site, qp->slot, &qp->counters);
	if (r < 0)
		goto free_number;
	r = shm_qp_link(dev->site->tables, dev->site_device, qp->ib.qp_num, qp->slot);
	if (r < 0)
		goto free_counters;
	return 0;

free_counters:
	hca_qp_counters_free(dev->site, qp->slot, qp->counters);
free_number:
	hca_ids_free(&dev->qpns, qp->ib.qp_num);
	return -ENOMEM;
}

int hca_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *attr)
{
	struct hca_device *dev = to_hca_device(ib->device);
	struct hca_qp *qp = to_hca_qp(ib);
	int r;

	/* Whose receives are shared has no queue of its own; what was asked of one is nothing
	 * then, however much. */
	if (attr->srq)
		attr->cap.max_recv_wr = attr->cap.max_recv_sge = 0;
	r = check_create(dev, ib, attr);
	if (r < 0)
		return r;
	if (dev->use.qps >= dev->limits.max_qp)
		return -ENOMEM;
	qp->slot = ib->pd->context->process;
	r = claim_numbers(dev, qp);
	if (r < 0)
		return r;
	qp->init = *attr;
	list_init(&qp->members);
	dev->use.qps++;
	return 0;
}

/* May the caller's idea of the current state be right? */
static bool cur_state_fits(const struct hca_qp *qp, enum ib_qp_state cur)
{
	enum ib_qp_state state = qp->attr.qp_state;

	return cur == state || (cur == IB_QPS_SQE && state == IB_QPS_RTS);
}

static int check_modify(const struct hca_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	enum ib_qp_state cur = qp->attr.qp_state;
	enum ib_qp_state next;
	u16 pkey;

	if (mask & IB_QP_CUR_STATE) {
		cur = attr->cur_qp_state;
		if (!cur_state_fits(qp, cur))
			return -EINVAL;
	}
	next = mask & IB_QP_STATE ? attr->qp_state : cur;
	if (!ib_modify_qp_is_ok(cur, next, qp->ib.qp_type, mask))
		return -EINVAL;
	if (mask & IB_QP_PKEY_INDEX) {
		u32 port = mask & IB_QP_PORT ? attr->port_num : qp->attr.port_num;

		if (ib_query_pkey(qp->ib.device, port, attr->pkey_index, &pkey) < 0)
			return -EINVAL;
	}
	return 0;
}

static void take_attributes(struct ib_qp_attr *to, const struct ib_qp_attr *from,
			    int mask)
{
	if (mask & IB_QP_PKEY_INDEX)
		to->pkey_index = from->pkey_index;
	if (mask & IB_QP_PORT)
		to->port_num = from->port_num;
	if (mask & IB_QP_QKEY)
		to->qkey = from->qkey;
	if (mask & IB_QP_SQ_PSN)
		to->sq_psn = from->sq_psn;
	if (mask & IB_QP_EN_SQD_ASYNC_NOTIFY)
		to->en_sqd_async_notify = from->en_sqd_async_notify;
	if (mask & IB_QP_STATE)
		to->qp_state = from->qp_state;
}

/* Groups stay attached in every state, RESET included (spec/kernel 1.3, rxe). */
int hca_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int attr_mask)
{
	struct hca_qp *qp = to_hca_qp(ib);
	int r;

	r = check_modify(qp, attr, attr_mask);
	if (r < 0)
		return r;
	take_attributes(&qp->attr, attr, attr_mask);
	if (qp->attr.qp_state == IB_QPS_RESET)
		qp->attr = (struct ib_qp_attr){ .qp_state = IB_QPS_RESET };
	return 0;
}

int hca_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int attr_mask,
		 struct ib_qp_init_attr *init_attr)
{
	const struct hca_qp *qp = to_hca_qp(ib);

	*attr = qp->attr;
	attr->cur_qp_state = attr->qp_state;
	attr->cap = qp->init.cap;
	*init_attr = qp->init;
	return 0;
}

int hca_destroy_qp(struct ib_qp *ib)
{
	struct hca_device *dev = to_hca_device(ib->device);
	struct hca_qp *qp = to_hca_qp(ib);

	if (qp->attached)
		return -EBUSY;
	shm_qp_unlink(dev->site->tables, dev->site_device, ib->qp_num);
	if (dev->ops && dev->ops->qp_left)
		dev->ops->qp_left(dev->arg, &dev->ib, qp->slot, ib->qp_num, qp->counters);
	hca_qp_counters_free(dev->site, qp->slot, qp->counters);
	hca_ids_free(&dev->qpns, ib->qp_num);
	dev->use.qps--;
	return 0;
}

int hca_describe_qp(struct ib_qp *ib, struct ib_qp_info *info)
{
	info->counters = to_hca_qp(ib)->counters;
	return 0;
}
