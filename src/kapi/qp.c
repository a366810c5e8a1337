// SPDX-License-Identifier: BSD-2-Clause
/*
 * Queue pairs: the core's checks, the references they hold, and the groups that one is
 * attached to (spec/kernel 1 and 5.1).
 *
 * Differs: the kernel counts calls of attach, so that a group attached twice and detached
 * once leaves a queue pair that can never be destroyed (spec/kernel 1.4, 7.1). Here the
 * distinct groups are counted.
 */
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "kapi/events.h"
#include "kapi/objects.h"

struct attached {
	struct list_head link; /* in qp->mcast_list, guarded by attached_lock */
	union ib_gid gid;
};

/* Nothing is called under it. */
static DEFINE_MUTEX(attached_lock);

static int check_family(const struct ib_pd *pd, const struct ib_qp_init_attr *attr)
{
	if (!attr->send_cq || !attr->recv_cq || attr->send_cq->device != pd->device ||
	    attr->recv_cq->device != pd->device)
		return -EINVAL;
	if (attr->srq && attr->srq->device != pd->device)
		return -EINVAL;
	return 0;
}

static void take(struct ib_qp *qp)
{
	atomic_inc(&qp->pd->usecnt);
	atomic_inc(&qp->send_cq->usecnt);
	atomic_inc(&qp->recv_cq->usecnt);
	if (qp->srq)
		atomic_inc(&qp->srq->usecnt);
}

struct ib_qp *ib_create_qp_kernel(struct ib_pd *pd, struct ib_qp_init_attr *attr,
				  const char *caller)
{
	struct ib_device *device = pd->device;
	struct ib_qp *qp;
	int r;

	if (!device->ops.create_qp)
		return ERR_PTR(-EOPNOTSUPP);
	r = check_family(pd, attr);
	if (r < 0)
		return ERR_PTR(r);
	qp = object_alloc(device->ops.size_ib_qp, sizeof(*qp));
	if (!qp)
		return ERR_PTR(-ENOMEM);
	qp->device = device;
	qp->pd = pd;
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	qp->srq = attr->srq;
	qp->real_qp = qp;
	qp->qp_type = attr->qp_type;
	qp->qp_context = attr->qp_context;
	qp->event_handler = attr->event_handler;
	qp->registered_event_handler = attr->event_handler;
	qp->port = attr->port_num;
	INIT_LIST_HEAD(&qp->mcast_list);
	r = device->ops.create_qp(qp, attr, NULL);
	if (r < 0) {
		kfree(qp);
		return ERR_PTR(r);
	}
	take(qp);
	return qp;
}

/* The source GIDs of a path, with references, as long as the driver is asked. */
static int fill_sgid(struct ib_device *device, struct rdma_ah_attr *attr)
{
	const struct ib_gid_attr *sgid;

	if (!(attr->ah_flags & IB_AH_GRH) || attr->grh.sgid_attr)
		return 0;
	sgid = rdma_get_gid_attr(device, attr->port_num, attr->grh.sgid_index);
	if (IS_ERR(sgid))
		return PTR_ERR(sgid);
	attr->grh.sgid_attr = sgid;
	return 0;
}

static void put_sgid(struct rdma_ah_attr *attr, const struct ib_gid_attr *before)
{
	if (attr->grh.sgid_attr && attr->grh.sgid_attr != before)
		rdma_put_gid_attr(attr->grh.sgid_attr);
	attr->grh.sgid_attr = before;
}

static int check_modify(struct ib_qp *qp, struct ib_qp_attr *attr, int mask)
{
	if ((mask & IB_QP_PORT) && !rdma_is_port_valid(qp->device, attr->port_num))
		return -EINVAL;
	/* Spec/kernel 5.1: an alternate path needs InfiniBand on both. */
	if ((mask & IB_QP_ALT_PATH) &&
	    !(rdma_protocol_ib(qp->device, attr->ah_attr.port_num) &&
	      rdma_protocol_ib(qp->device, attr->alt_ah_attr.port_num)))
		return -EINVAL;
	/* Numbers of packets have 24 bits. */
	if ((mask & IB_QP_SQ_PSN) && WARN_ON_ONCE(attr->sq_psn & ~0xffffffu))
		attr->sq_psn &= 0xffffff;
	if ((mask & IB_QP_RQ_PSN) && WARN_ON_ONCE(attr->rq_psn & ~0xffffffu))
		attr->rq_psn &= 0xffffff;
	return 0;
}

int ib_modify_qp_with_udata(struct ib_qp *ib_qp, struct ib_qp_attr *attr, int attr_mask,
			    struct ib_udata *udata)
{
	const struct ib_gid_attr *sgid = attr->ah_attr.grh.sgid_attr;
	const struct ib_gid_attr *alt = attr->alt_ah_attr.grh.sgid_attr;
	struct ib_qp *qp = ib_qp->real_qp;
	int r;

	if (!qp->device->ops.modify_qp)
		return -EOPNOTSUPP;
	r = check_modify(qp, attr, attr_mask);
	if (r < 0)
		return r;
	if (attr_mask & IB_QP_AV)
		r = fill_sgid(qp->device, &attr->ah_attr);
	if (r == 0 && (attr_mask & IB_QP_ALT_PATH))
		r = fill_sgid(qp->device, &attr->alt_ah_attr);
	if (r == 0)
		r = qp->device->ops.modify_qp(qp, attr, attr_mask, udata);
	if (r == 0 && (attr_mask & IB_QP_PORT))
		qp->port = attr->port_num;
	if (attr_mask & IB_QP_AV)
		put_sgid(&attr->ah_attr, sgid);
	if (attr_mask & IB_QP_ALT_PATH)
		put_sgid(&attr->alt_ah_attr, alt);
	return r;
}

int ib_modify_qp(struct ib_qp *qp, struct ib_qp_attr *qp_attr, int qp_attr_mask)
{
	return ib_modify_qp_with_udata(qp, qp_attr, qp_attr_mask, NULL);
}

int ib_query_qp(struct ib_qp *qp, struct ib_qp_attr *qp_attr, int qp_attr_mask,
		struct ib_qp_init_attr *qp_init_attr)
{
	qp_attr->ah_attr.grh.sgid_attr = NULL;
	qp_attr->alt_ah_attr.grh.sgid_attr = NULL;
	if (!qp->device->ops.query_qp)
		return -EOPNOTSUPP;
	return qp->device->ops.query_qp(qp->real_qp, qp_attr, qp_attr_mask, qp_init_attr);
}

int ib_destroy_qp_user(struct ib_qp *qp, struct ib_udata *udata)
{
	struct ib_qp was = *qp;
	int r;

	/* Attached to a group (spec/kernel 1.6). */
	if (atomic_read(&qp->usecnt))
		return -EBUSY;
	if (!qp->device->ops.destroy_qp)
		return -EOPNOTSUPP;
	r = qp->device->ops.destroy_qp(qp, udata);
	if (r)
		return r;
	atomic_dec(&was.pd->usecnt);
	atomic_dec(&was.send_cq->usecnt);
	atomic_dec(&was.recv_cq->usecnt);
	if (was.srq)
		atomic_dec(&was.srq->usecnt);
	if (was.event_handler)
		events_flush();
	kfree(qp);
	return 0;
}

struct ib_qp *ib_open_qp(struct ib_xrcd *xrcd, struct ib_qp_open_attr *qp_open_attr)
{
	if (qp_open_attr->qp_type != IB_QPT_XRC_TGT)
		return ERR_PTR(-EINVAL);
	return ERR_PTR(-EOPNOTSUPP);
}

int ib_close_qp(struct ib_qp *qp)
{
	return -EINVAL;
}

/* -- work requests ------------------------------------------------------------------ */

int ib_post_send(struct ib_qp *qp, const struct ib_send_wr *send_wr,
		 const struct ib_send_wr **bad_send_wr)
{
	const struct ib_send_wr *dummy;

	if (!qp->device->ops.post_send)
		return -EOPNOTSUPP;
	return qp->device->ops.post_send(qp, send_wr, bad_send_wr ? bad_send_wr : &dummy);
}

int ib_post_recv(struct ib_qp *qp, const struct ib_recv_wr *recv_wr,
		 const struct ib_recv_wr **bad_recv_wr)
{
	const struct ib_recv_wr *dummy;

	if (!qp->device->ops.post_recv)
		return -EOPNOTSUPP;
	return qp->device->ops.post_recv(qp, recv_wr, bad_recv_wr ? bad_recv_wr : &dummy);
}

/* -- groups (spec/kernel 1) --------------------------------------------------------- */

static bool takes_any_lid(struct ib_device *device, u32 port_num)
{
	return rdma_port_get_link_layer(device, port_num) != IB_LINK_LAYER_INFINIBAND;
}

/* Spec/kernel 1.2: its own port decides, and before it has one, whether all ports are
 * InfiniBand. */
static bool lid_is_acceptable(struct ib_qp *qp, u16 lid)
{
	struct ib_qp_init_attr init_attr = { .qp_type = qp->qp_type };
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	bool any = false;
	u32 port;

	if (ib_query_qp(qp, &attr, IB_QP_STATE | IB_QP_PORT, &init_attr) == 0 &&
	    attr.qp_state >= IB_QPS_INIT)
		any = takes_any_lid(qp->device, attr.port_num);
	else
		rdma_for_each_port(qp->device, port)
			any |= takes_any_lid(qp->device, port);
	return any || (lid >= be16_to_cpu(IB_MULTICAST_LID_BASE) &&
		       lid != be16_to_cpu(IB_LID_PERMISSIVE));
}

/* Spec/kernel 1.1, checks 2 to 4. */
static int check_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	if (!rdma_is_multicast_addr((struct in6_addr *)gid->raw) ||
	    qp->qp_type != IB_QPT_UD || !lid_is_acceptable(qp, lid))
		return -EINVAL;
	return 0;
}

static struct attached *find_locked(struct ib_qp *qp, const union ib_gid *gid)
{
	struct attached *a;

	list_for_each_entry(a, &qp->mcast_list, link)
		if (!memcmp(&a->gid, gid, sizeof(*gid)))
			return a;
	return NULL;
}

int ib_attach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	struct attached *a;
	int r;

	if (!qp->device->ops.attach_mcast)
		return -EOPNOTSUPP;
	r = check_mcast(qp, gid, lid);
	if (r < 0)
		return r;
	a = kzalloc(sizeof(*a), GFP_KERNEL);
	if (!a)
		return -ENOMEM;
	a->gid = *gid;
	r = qp->device->ops.attach_mcast(qp, gid, lid);
	mutex_lock(&attached_lock);
	if (r == 0 && !find_locked(qp, gid)) {
		list_add_tail(&a->link, &qp->mcast_list);
		atomic_inc(&qp->usecnt);
		a = NULL;
	}
	mutex_unlock(&attached_lock);
	kfree(a);
	return r;
}

int ib_detach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	struct attached *a = NULL;
	int r;

	if (!qp->device->ops.detach_mcast)
		return -EOPNOTSUPP;
	r = check_mcast(qp, gid, lid);
	if (r < 0)
		return r;
	r = qp->device->ops.detach_mcast(qp, gid, lid);
	mutex_lock(&attached_lock);
	if (r == 0)
		a = find_locked(qp, gid);
	if (a) {
		list_del(&a->link);
		atomic_dec(&qp->usecnt);
	}
	mutex_unlock(&attached_lock);
	kfree(a);
	return r;
}
