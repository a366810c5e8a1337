// SPDX-License-Identifier: BSD-2-Clause
/*
 * Queue pairs of the site's devices: the core judges each change, then the engine follows.
 */
#include "kapi/driver_priv.h"

/* -- attributes between the two worlds ---------------------------------------------- */

static struct core_ib_qp_cap cap_to_core(const struct ib_qp_cap *c)
{
	return (struct core_ib_qp_cap){
		.max_send_wr = c->max_send_wr,
		.max_recv_wr = c->max_recv_wr,
		.max_send_sge = c->max_send_sge,
		.max_recv_sge = c->max_recv_sge,
		.max_inline_data = c->max_inline_data,
	};
}

static void cap_from_core(const struct core_ib_qp_cap *from, struct ib_qp_cap *to)
{
	to->max_send_wr = from->max_send_wr;
	to->max_recv_wr = from->max_recv_wr;
	to->max_send_sge = from->max_send_sge;
	to->max_recv_sge = from->max_recv_sge;
	to->max_inline_data = from->max_inline_data;
}

static void attr_to_core(const struct ib_qp_attr *a, struct core_ib_qp_attr *to)
{
	*to = (struct core_ib_qp_attr){
		.qp_state = (enum core_ib_qp_state)a->qp_state,
		.cur_qp_state = (enum core_ib_qp_state)a->cur_qp_state,
		.path_mtu = a->path_mtu,
		.path_mig_state = (enum core_ib_mig_state)a->path_mig_state,
		.qkey = a->qkey,
		.rq_psn = a->rq_psn,
		.sq_psn = a->sq_psn,
		.dest_qp_num = a->dest_qp_num,
		.qp_access_flags = a->qp_access_flags,
		.cap = cap_to_core(&a->cap),
		.pkey_index = a->pkey_index,
		.alt_pkey_index = a->alt_pkey_index,
		.en_sqd_async_notify = a->en_sqd_async_notify,
		.max_rd_atomic = a->max_rd_atomic,
		.max_dest_rd_atomic = a->max_dest_rd_atomic,
		.min_rnr_timer = a->min_rnr_timer,
		.port_num = a->port_num,
		.timeout = a->timeout,
		.retry_cnt = a->retry_cnt,
		.rnr_retry = a->rnr_retry,
		.alt_port_num = a->alt_port_num,
		.alt_timeout = a->alt_timeout,
		.rate_limit = a->rate_limit,
	};
	driver_ah_attr_to_core(&a->ah_attr, &to->ah_attr);
	driver_ah_attr_to_core(&a->alt_ah_attr, &to->alt_ah_attr);
}

static void attr_from_core(struct ib_device *device, const struct core_ib_qp_attr *a,
			   struct ib_qp_attr *to)
{
	*to = (struct ib_qp_attr){
		.qp_state = (enum ib_qp_state)a->qp_state,
		.cur_qp_state = (enum ib_qp_state)a->cur_qp_state,
		.path_mtu = (enum ib_mtu)a->path_mtu,
		.path_mig_state = (enum ib_mig_state)a->path_mig_state,
		.qkey = a->qkey,
		.rq_psn = a->rq_psn,
		.sq_psn = a->sq_psn,
		.dest_qp_num = a->dest_qp_num,
		.qp_access_flags = a->qp_access_flags,
		.pkey_index = a->pkey_index,
		.alt_pkey_index = a->alt_pkey_index,
		.en_sqd_async_notify = a->en_sqd_async_notify,
		.sq_draining = a->sq_draining,
		.max_rd_atomic = a->max_rd_atomic,
		.max_dest_rd_atomic = a->max_dest_rd_atomic,
		.min_rnr_timer = a->min_rnr_timer,
		.port_num = a->port_num,
		.timeout = a->timeout,
		.retry_cnt = a->retry_cnt,
		.rnr_retry = a->rnr_retry,
		.alt_port_num = a->alt_port_num,
		.alt_timeout = a->alt_timeout,
		.rate_limit = a->rate_limit,
	};
	cap_from_core(&a->cap, &to->cap);
	driver_ah_attr_from_core(&a->ah_attr,
				 rdma_ah_find_type(device, a->ah_attr.port_num),
				 &to->ah_attr);
	driver_ah_attr_from_core(&a->alt_ah_attr,
				 rdma_ah_find_type(device, a->alt_ah_attr.port_num),
				 &to->alt_ah_attr);
}

/* -- create, destroy ---------------------------------------------------------------- */

static int create_here(struct ib_qp *ib, struct ib_qp_init_attr *attr,
		       struct core_ib_qp_info *info)
{
	struct drv_qp *qp = to_qp(ib);
	struct core_ib_qp_init_attr a = {
		.qp_context = qp,
		.send_cq = to_cq(attr->send_cq)->core,
		.recv_cq = to_cq(attr->recv_cq)->core,
		.srq = attr->srq ? to_srq(attr->srq)->core : NULL,
		.cap = cap_to_core(&attr->cap),
		.sq_sig_type = (enum core_ib_sig_type)attr->sq_sig_type,
		.qp_type = (enum core_ib_qp_type)attr->qp_type,
		.create_flags = attr->create_flags,
	};
	int r;

	qp->core = core_ib_create_qp(to_pd(ib->pd)->core, &a);
	if (core_IS_ERR(qp->core))
		return core_PTR_ERR(qp->core);
	r = core_ib_describe_qp(qp->core, info);
	if (r < 0) {
		core_ib_destroy_qp(qp->core);
		return r;
	}
	ib->qp_num = qp->core->qp_num;
	cap_from_core(&a.cap, &attr->cap);
	return 0;
}
KAPI_ON_LOOP3(int, create_here, struct ib_qp *, struct ib_qp_init_attr *,
	      struct core_ib_qp_info *)

static int destroy_here(struct ib_qp *ib)
{
	return core_ib_destroy_qp(to_qp(ib)->core);
}
KAPI_ON_LOOP1(int, destroy_here, struct ib_qp *)

static int open_engine(struct drv_qp *qp, const struct ib_qp_init_attr *attr,
		       const struct core_ib_qp_info *info)
{
	const struct engine_qp_config config = {
		.qpn = qp->ib.qp_num,
		.type = (enum ibv_qp_type)attr->qp_type,
		.device = to_device(qp->ib.device)->site_device,
		.pd = to_pd(qp->ib.pd)->number,
		.send_cq = to_cq(attr->send_cq)->engine,
		.recv_cq = to_cq(attr->recv_cq)->engine,
		.srq = attr->srq ? to_srq(attr->srq)->engine : NULL,
		.cap = {
			.max_send_wr = attr->cap.max_send_wr,
			.max_recv_wr = attr->cap.max_recv_wr,
			.max_send_sge = attr->cap.max_send_sge,
			.max_recv_sge = attr->cap.max_recv_sge,
			.max_inline_data = attr->cap.max_inline_data,
		},
		.sq_sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR,
		.block_self_multicast =
			attr->create_flags & IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK,
		.counters = info->counters,
		.ibv_qp = (struct ibv_qp *)qp,
		.qp_context = qp,
	};

	return engine_qp_create(to_device(qp->ib.device)->engine, &config, &qp->engine);
}

/* The types that the kernel numbers as users' do; others no device here has. */
static bool has_type(enum ib_qp_type type)
{
	return type == IB_QPT_UD || type == IB_QPT_RC || type == IB_QPT_UC;
}

static int create_qp(struct ib_qp *ib, struct ib_qp_init_attr *attr,
		     struct ib_udata *udata)
{
	struct drv_device *d = to_device(ib->device);
	struct drv_qp *qp = to_qp(ib);
	struct core_ib_qp_info info;
	int r;

	if (!has_type(attr->qp_type))
		return -EOPNOTSUPP;
	r = on_loop_create_here(ib, attr, &info);
	if (r < 0)
		return r;
	qp->cap = attr->cap;
	qp->sig_type = attr->sq_sig_type;
	qp->create_flags = attr->create_flags;
	qp->counters = info.counters;
	INIT_LIST_HEAD(&qp->attachments);
	mutex_lock(&d->qps_lock);
	list_add_tail(&qp->link, &d->qps);
	mutex_unlock(&d->qps_lock);
	r = open_engine(qp, attr, &info);
	if (r == 0)
		return 0;
	mutex_lock(&d->qps_lock);
	list_del(&qp->link);
	mutex_unlock(&d->qps_lock);
	on_loop_destroy_here(ib);
	return r;
}

static int destroy_qp(struct ib_qp *ib, struct ib_udata *udata)
{
	struct drv_device *d = to_device(ib->device);
	struct drv_qp *qp = to_qp(ib);
	int r;

	r = on_loop_destroy_here(ib);
	if (r < 0)
		return r;
	engine_qp_destroy(qp->engine);
	mutex_lock(&d->qps_lock);
	list_del(&qp->link);
	mutex_unlock(&d->qps_lock);
	return 0;
}

/* -- modify, query ------------------------------------------------------------------ */

/* Only RESET and ERR lead out of where the engine took it (shim/verbs does the same). */
static bool is_stuck(const struct drv_qp *qp, const struct core_ib_qp_attr *attr,
		     int mask)
{
	if (engine_qp_state(qp->engine) != IBV_QPS_ERR)
		return false;
	return !(mask & IB_QP_STATE) ||
	       (attr->qp_state != core_IB_QPS_RESET && attr->qp_state != core_IB_QPS_ERR);
}

static int query_core(struct drv_qp *qp, struct core_ib_qp_attr *attr)
{
	struct core_ib_qp_init_attr init;

	return core_ib_query_qp(qp->core, attr, -1, &init);
}

/* A device that goes takes its queue pairs there, and its core answers nothing more. */
static bool is_there_already(const struct drv_qp *qp, const struct core_ib_qp_attr *attr,
			     int mask)
{
	return to_device(qp->ib.device)->removed && mask == IB_QP_STATE &&
	       attr->qp_state == core_IB_QPS_ERR &&
	       engine_qp_state(qp->engine) == IBV_QPS_ERR;
}

/* On the loop, so that two changes reach core and engine in the same order. */
static int modify_here(struct ib_qp *ib, struct core_ib_qp_attr *attr, int mask)
{
	struct drv_device *d = to_device(ib->device);
	struct drv_qp *qp = to_qp(ib);
	struct core_ib_qp_attr now;
	struct engine_qp_attr to;
	int r;

	if (is_stuck(qp, attr, mask))
		return -EINVAL;
	if (is_there_already(qp, attr, mask))
		return 0;
	r = core_ib_modify_qp(qp->core, attr, mask);
	if (r == 0)
		r = query_core(qp, &now);
	if (r < 0)
		return r;
	to = (struct engine_qp_attr){
		.state = (enum ibv_qp_state)now.qp_state,
		.port_index = now.port_num ? d->first_port + now.port_num - 1 : 0,
		.port_num = now.port_num,
		.pkey_index = now.pkey_index,
		.qkey = now.qkey,
		.sq_psn = now.sq_psn,
	};
	engine_qp_modify(qp->engine, &to);
	if (d->removed)
		engine_fail_device(d->engine, d->site_device);
	return 0;
}
KAPI_ON_LOOP3(int, modify_here, struct ib_qp *, struct core_ib_qp_attr *, int)

static int modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int attr_mask,
		     struct ib_udata *udata)
{
	struct core_ib_qp_attr a;

	attr_to_core(attr, &a);
	return on_loop_modify_here(qp, &a, attr_mask);
}

static int query_here(struct ib_qp *ib, struct core_ib_qp_attr *attr)
{
	int r = query_core(to_qp(ib), attr);

	if (r == 0)
		attr->qp_state =
			(enum core_ib_qp_state)engine_qp_state(to_qp(ib)->engine);
	return r;
}
KAPI_ON_LOOP2(int, query_here, struct ib_qp *, struct core_ib_qp_attr *)

static int query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int attr_mask,
		    struct ib_qp_init_attr *init)
{
	struct drv_qp *qp = to_qp(ib);
	struct core_ib_qp_attr a;
	int r;

	r = on_loop_query_here(ib, &a);
	if (r < 0)
		return r;
	attr_from_core(ib->device, &a, attr);
	attr->cur_qp_state = attr->qp_state;
	attr->cap = qp->cap;
	*init = (struct ib_qp_init_attr){
		.event_handler = ib->event_handler,
		.qp_context = ib->qp_context,
		.send_cq = ib->send_cq,
		.recv_cq = ib->recv_cq,
		.srq = ib->srq,
		.cap = qp->cap,
		.sq_sig_type = qp->sig_type,
		.qp_type = ib->qp_type,
		.create_flags = qp->create_flags,
		.port_num = ib->port,
	};
	return 0;
}

/* -- groups ------------------------------------------------------------------------- */

static union core_ib_gid *gid_of(union ib_gid *gid)
{
	return (union core_ib_gid *)gid;
}

static struct drv_attachment *find_attachment(struct drv_qp *qp, const union ib_gid *gid)
{
	struct drv_attachment *a;

	list_for_each_entry(a, &qp->attachments, link)
		if (!memcmp(&a->gid, gid, sizeof(a->gid)))
			return a;
	return NULL;
}

static int engine_attach(struct drv_qp *qp, struct drv_attachment *a)
{
	struct core_ib_mcast_info info;
	int r = core_ib_describe_mcast(qp->core, gid_of(&a->gid), &info);

	if (r < 0)
		return r;
	a->entry = info.entry;
	if (a->entry == SHM_NONE)
		return engine_qp_attach_group(qp->engine, a->gid.raw, a->lid,
					      info.generation, info.counters);
	return engine_qp_attach(qp->engine, a->entry, info.generation, info.counters);
}

static void engine_detach(struct drv_qp *qp, const struct drv_attachment *a)
{
	if (a->entry == SHM_NONE)
		engine_qp_detach_group(qp->engine, a->gid.raw, a->lid);
	else
		engine_qp_detach(qp->engine, a->entry);
}

static int attach_new(struct drv_qp *qp, union ib_gid *gid, u16 lid)
{
	struct drv_attachment *a = kzalloc(sizeof(*a), GFP_KERNEL);
	int r;

	if (!a)
		return -ENOMEM;
	a->gid = *gid;
	a->lid = lid;
	r = core_ib_attach_mcast(qp->core, gid_of(gid), lid);
	if (r < 0)
		goto free_attachment;
	r = engine_attach(qp, a);
	if (r < 0)
		goto detach_core;
	list_add_tail(&a->link, &qp->attachments);
	return 0;

detach_core:
	core_ib_detach_mcast(qp->core, gid_of(gid), lid);
free_attachment:
	kfree(a);
	return r;
}

/* What is attached already the core judges alone. */
static int attach_here(struct ib_qp *ib, union ib_gid *gid, u16 lid)
{
	struct drv_qp *qp = to_qp(ib);

	return find_attachment(qp, gid) ? core_ib_attach_mcast(qp->core, gid_of(gid), lid)
					: attach_new(qp, gid, lid);
}
KAPI_ON_LOOP3(int, attach_here, struct ib_qp *, union ib_gid *, u16)

/* When this returns nothing more is delivered. */
static int detach_here(struct ib_qp *ib, union ib_gid *gid, u16 lid)
{
	struct drv_qp *qp = to_qp(ib);
	struct drv_attachment *a = find_attachment(qp, gid);
	int r = core_ib_detach_mcast(qp->core, gid_of(gid), lid);

	if (r < 0 || !a)
		return r;
	engine_detach(qp, a);
	list_del(&a->link);
	kfree(a);
	return 0;
}
KAPI_ON_LOOP3(int, detach_here, struct ib_qp *, union ib_gid *, u16)

const struct ib_device_ops driver_qp_ops = {
	.size_ib_qp = sizeof(struct drv_qp),
	.create_qp = create_qp,
	.destroy_qp = destroy_qp,
	.modify_qp = modify_qp,
	.query_qp = query_qp,
	.attach_mcast = on_loop_attach_here,
	.detach_mcast = on_loop_detach_here,
};

/* A pure function of the core's. */
bool ib_modify_qp_is_ok(enum ib_qp_state cur_state, enum ib_qp_state next_state,
			enum ib_qp_type type, enum ib_qp_attr_mask mask)
{
	return core_ib_modify_qp_is_ok(
		(enum core_ib_qp_state)cur_state, (enum core_ib_qp_state)next_state,
		(enum core_ib_qp_type)type, (enum core_ib_qp_attr_mask)mask);
}
