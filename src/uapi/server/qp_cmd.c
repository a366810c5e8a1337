/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs of a process and the groups they are attached to.
 *
 * As in uverbs, the server keeps a list of (GID, LID) a queue pair (spec/kernel 1.5): an
 * exact pair attached again is granted with nothing done, a detach needs the exact pair,
 * and a queue pair is not destroyed while one is listed.
 */
#include <stdlib.h>
#include <string.h>

#include "uapi/server/verbs_priv.h"

/* All that uverbs takes of create flags; which of them a device has, it says itself. */
#define CREATE_FLAGS_KNOWN (1u << 1 | 1u << 8 | 1u << 9 | 1u << 10 | 1u << 11)

struct verbs_qp {
	struct ib_qp *ib;
	struct hash mcast;      /* struct verbs_mcast by GID */
	struct list mcast_list; /* the same, in order of attach */
};

/* A pair that is attached; owned by its queue pair. */
struct verbs_mcast {
	struct hash_node node;
	struct list link;
	union ib_gid gid;
	uint16_t lid;
};

static struct verbs_qp *qp_find(struct uapi_client *c, uint32_t handle)
{
	return uapi_handle_find(c->handles, UAPI_HANDLE_QP, handle);
}

/* -- groups ------------------------------------------------------------------------- */

static uint32_t mcast_hash(const union ib_gid *gid)
{
	return hash_bytes(0, gid->raw, sizeof(gid->raw));
}

/* The pair, or with `any_lid` any pair of the group. */
static struct verbs_mcast *mcast_find(struct verbs_qp *qp, const union ib_gid *gid,
				      uint16_t lid, bool any_lid)
{
	uint32_t value = mcast_hash(gid);

	hash_for_each_match(node, &qp->mcast, value) {
		struct verbs_mcast *m = container_of(node, struct verbs_mcast, node);

		if ((any_lid || m->lid == lid) && gid_equal(m->gid.raw, gid->raw))
			return m;
	}
	return NULL;
}

/* Take the pair off the list, and leave the group with its last pair: the device counts
 * a group once, whatever LIDs it was attached by (spec/kernel 1.4, 7.1). Off the list
 * first: it stays off whatever the core answers (1.5). */
static int mcast_remove(struct uapi_client *c, struct verbs_qp *qp, struct verbs_mcast *m)
{
	union ib_gid gid = m->gid;
	uint16_t lid = m->lid;

	hash_remove(&qp->mcast, &m->node);
	list_remove(&m->link);
	free(m);
	if (mcast_find(qp, &gid, 0, true)) {
		c->mcast_aliases--;
		return 0;
	}
	return ib_detach_mcast(qp->ib, &gid, lid);
}

/* A further LID of a group that is attached already. The device's limits do not count
 * these, so a limit of our own does. */
static int take_alias(struct uapi_client *c)
{
	if (c->mcast_aliases >= c->limits->max_objects_per_client)
		return -ENOMEM;
	c->mcast_aliases++;
	return 0;
}

/* Attach, and learn what the process's engine must know of it. */
static int attach(struct ib_qp *qp, union ib_gid *gid, uint16_t lid,
		  struct ib_mcast_info *info)
{
	int r;

	r = ib_attach_mcast(qp, gid, lid);
	if (r < 0)
		return r;
	r = ib_describe_mcast(qp, gid, info);
	if (r < 0)
		(void)ib_detach_mcast(qp, gid, lid);
	return r;
}

static int attach_new(struct uapi_client *c, struct verbs_qp *qp, union ib_gid *gid,
		      uint16_t lid, struct ib_mcast_info *info)
{
	bool alias = mcast_find(qp, gid, 0, true);
	struct verbs_mcast *m;
	int r;

	/* Both ops or the command is not there at all (spec/kernel 1.5). */
	if (!qp->ib->device->ops.attach_mcast || !qp->ib->device->ops.detach_mcast)
		return -EOPNOTSUPP;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->gid = *gid;
	m->lid = lid;
	r = attach(qp->ib, gid, lid, info);
	if (r == 0 && alias)
		r = take_alias(c);
	if (r < 0) {
		free(m);
		return r;
	}
	hash_insert(&qp->mcast, &m->node, mcast_hash(gid));
	list_append(&qp->mcast_list, &m->link);
	return 0;
}

int verbs_attach_mcast(struct uapi_client *c, const void *request, void *reply,
		       struct uapi_fds *fds)
{
	const struct uapi_mcast *req = request;
	struct uapi_attach_reply *rep = reply;
	struct verbs_qp *qp = qp_find(c, req->qp);
	struct ib_mcast_info info;
	union ib_gid gid;
	int r;

	if (!qp)
		return -ENOENT;
	if (req->reserved)
		return -EINVAL;
	memcpy(gid.raw, req->gid, sizeof(gid.raw));
	rep->again = mcast_find(qp, &gid, req->lid, false) != NULL;
	if (rep->again)
		r = ib_describe_mcast(qp->ib, &gid, &info);
	else
		r = attach_new(c, qp, &gid, req->lid, &info);
	if (r < 0)
		return r;
	rep->entry = info.entry;
	rep->counters = info.counters;
	rep->generation = info.generation;
	return 0;
}

int verbs_detach_mcast(struct uapi_client *c, const void *request, void *reply,
		       struct uapi_fds *fds)
{
	const struct uapi_mcast *req = request;
	struct verbs_qp *qp = qp_find(c, req->qp);
	struct verbs_mcast *m;
	union ib_gid gid;

	if (!qp)
		return -ENOENT;
	if (req->reserved)
		return -EINVAL;
	memcpy(gid.raw, req->gid, sizeof(gid.raw));
	m = mcast_find(qp, &gid, req->lid, false);
	return m ? mcast_remove(c, qp, m) : -EINVAL;
}

/* -- queue pairs -------------------------------------------------------------------- */

static int check_type(const struct uapi_create_qp *req)
{
	switch (req->qp_type) {
	case IB_QPT_UD:
	case IB_QPT_RAW_PACKET:
		return req->create_flags & ~CREATE_FLAGS_KNOWN ? -EINVAL : 0;
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
	case IB_QPT_DRIVER:
		/* Flags only for the types above (spec/kernel 4.7). */
		return req->create_flags ? -EINVAL : 0;
	default:
		return -EINVAL;
	}
}

static int read_init_attr(struct uapi_client *c, const struct uapi_create_qp *req,
			  struct ib_qp_init_attr *attr)
{
	int r;

	r = check_type(req);
	if (r < 0)
		return r;
	if (req->sq_sig_all > 1)
		return -EINVAL;
	*attr = (struct ib_qp_init_attr){
		.send_cq = uapi_handle_find(c->handles, UAPI_HANDLE_CQ, req->send_cq),
		.recv_cq = uapi_handle_find(c->handles, UAPI_HANDLE_CQ, req->recv_cq),
		.srq = uapi_handle_find(c->handles, UAPI_HANDLE_SRQ, req->srq),
		.cap = {
			.max_send_wr = req->cap.max_send_wr,
			.max_recv_wr = req->cap.max_recv_wr,
			.max_send_sge = req->cap.max_send_sge,
			.max_recv_sge = req->cap.max_recv_sge,
			.max_inline_data = req->cap.max_inline_data,
		},
		.sq_sig_type = req->sq_sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR,
		.qp_type = (enum ib_qp_type)req->qp_type,
		.create_flags = req->create_flags,
	};
	if (!attr->send_cq || !attr->recv_cq || (req->srq && !attr->srq))
		return -ENOENT;
	return 0;
}

static void qp_destroy(struct uapi_client *c, struct verbs_qp *qp)
{
	while (!list_empty(&qp->mcast_list))
		(void)mcast_remove(
			c, qp,
			container_of(qp->mcast_list.next, struct verbs_mcast, link));
	(void)ib_destroy_qp(qp->ib);
	hash_fini(&qp->mcast);
	free(qp);
}

static int qp_create(struct ib_pd *pd, struct ib_qp_init_attr *attr,
		     struct verbs_qp **ret)
{
	struct verbs_qp *qp;
	int r;

	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	list_init(&qp->mcast_list);
	r = hash_init(&qp->mcast);
	if (r < 0)
		goto free_qp;
	qp->ib = ib_create_qp(pd, attr);
	if (IS_ERR(qp->ib)) {
		r = (int)PTR_ERR(qp->ib);
		goto fini_mcast;
	}
	*ret = qp;
	return 0;

fini_mcast:
	hash_fini(&qp->mcast);
free_qp:
	free(qp);
	return r;
}

static void fill_created(struct uapi_create_qp_reply *rep, const struct ib_qp *qp,
			 const struct ib_qp_info *info, const struct ib_qp_cap *cap)
{
	rep->qpn = qp->qp_num;
	rep->counters = info->counters;
	rep->cap.max_send_wr = cap->max_send_wr;
	rep->cap.max_recv_wr = cap->max_recv_wr;
	rep->cap.max_send_sge = cap->max_send_sge;
	rep->cap.max_recv_sge = cap->max_recv_sge;
	rep->cap.max_inline_data = cap->max_inline_data;
}

int verbs_create_qp(struct uapi_client *c, const void *request, void *reply,
		    struct uapi_fds *fds)
{
	const struct uapi_create_qp *req = request;
	struct uapi_create_qp_reply *rep = reply;
	struct ib_pd *pd = uapi_handle_find(c->handles, UAPI_HANDLE_PD, req->pd);
	struct ib_qp_init_attr attr;
	struct ib_qp_info info;
	struct verbs_qp *qp = NULL;
	int r;

	if (!pd)
		return -ENOENT;
	r = read_init_attr(c, req, &attr);
	if (r < 0)
		return r;
	r = qp_create(pd, &attr, &qp);
	if (r < 0)
		return r;
	r = ib_describe_qp(qp->ib, &info);
	if (r == 0)
		r = uapi_handle_add(c->handles, UAPI_HANDLE_QP, qp, &rep->handle);
	if (r < 0)
		qp_destroy(c, qp);
	else
		fill_created(rep, qp->ib, &info, &attr.cap);
	return r;
}

int verbs_destroy_qp(struct uapi_client *c, const void *request, void *reply,
		     struct uapi_fds *fds)
{
	const struct uapi_handle *req = request;
	struct verbs_qp *qp = qp_find(c, req->handle);

	if (!qp)
		return -ENOENT;
	/* Spec/kernel 1.6: attached, so nothing changes. */
	if (!list_empty(&qp->mcast_list) || qp->ib->usecnt)
		return -EBUSY;
	uapi_handle_remove(c->handles, UAPI_HANDLE_QP, req->handle);
	qp_destroy(c, qp);
	return 0;
}

void verbs_release_qps(struct uapi_client *c, const struct ib_ucontext *context)
{
	uint32_t handle = 0, next = 0;
	struct verbs_qp *qp = uapi_handle_next(c->handles, UAPI_HANDLE_QP, &next);

	while (qp) {
		struct verbs_qp *this = qp;

		handle = next;
		qp = uapi_handle_next(c->handles, UAPI_HANDLE_QP, &next);
		if (context && this->ib->pd->context != context)
			continue;
		uapi_handle_remove(c->handles, UAPI_HANDLE_QP, handle);
		qp_destroy(c, this);
	}
}

/* -- attributes --------------------------------------------------------------------- */

static void read_ah(struct rdma_ah_attr *to, const struct uapi_ah_attr *from)
{
	memcpy(to->grh.dgid.raw, from->dgid, sizeof(to->grh.dgid.raw));
	to->grh.flow_label = from->flow_label;
	to->grh.sgid_index = from->sgid_index;
	to->grh.hop_limit = from->hop_limit;
	to->grh.traffic_class = from->traffic_class;
	to->port_num = from->port_num;
	to->dlid = from->dlid;
	to->sl = from->sl;
	to->src_path_bits = from->src_path_bits;
	to->static_rate = from->static_rate;
	to->has_grh = from->is_global;
}

static void fill_ah(struct uapi_ah_attr *to, const struct rdma_ah_attr *from)
{
	memcpy(to->dgid, from->grh.dgid.raw, sizeof(to->dgid));
	to->flow_label = from->grh.flow_label;
	to->sgid_index = from->grh.sgid_index;
	to->hop_limit = from->grh.hop_limit;
	to->traffic_class = from->grh.traffic_class;
	to->port_num = (uint8_t)from->port_num;
	to->dlid = from->dlid;
	to->sl = from->sl;
	to->src_path_bits = from->src_path_bits;
	to->static_rate = from->static_rate;
	to->is_global = from->has_grh;
}

static void read_attr(struct ib_qp_attr *to, const struct uapi_qp_attr *from)
{
	*to = (struct ib_qp_attr){
		.qp_state = (enum ib_qp_state)from->qp_state,
		.cur_qp_state = (enum ib_qp_state)from->cur_qp_state,
		.path_mtu = (int)from->path_mtu,
		.path_mig_state = (enum ib_mig_state)from->path_mig_state,
		.qkey = from->qkey,
		.rq_psn = from->rq_psn,
		.sq_psn = from->sq_psn,
		.dest_qp_num = from->dest_qp_num,
		.qp_access_flags = (int)from->qp_access_flags,
		.pkey_index = from->pkey_index,
		.alt_pkey_index = from->alt_pkey_index,
		.en_sqd_async_notify = from->en_sqd_async_notify,
		.max_rd_atomic = from->max_rd_atomic,
		.max_dest_rd_atomic = from->max_dest_rd_atomic,
		.min_rnr_timer = from->min_rnr_timer,
		.port_num = from->port_num,
		.timeout = from->timeout,
		.retry_cnt = from->retry_cnt,
		.rnr_retry = from->rnr_retry,
		.alt_port_num = from->alt_port_num,
		.alt_timeout = from->alt_timeout,
		.rate_limit = from->rate_limit,
	};
	read_ah(&to->ah_attr, &from->ah);
	read_ah(&to->alt_ah_attr, &from->alt_ah);
}

static void fill_attr(struct uapi_qp_attr *to, const struct ib_qp_attr *from)
{
	*to = (struct uapi_qp_attr){
		.qp_state = from->qp_state,
		.cur_qp_state = from->cur_qp_state,
		.path_mtu = (uint32_t)from->path_mtu,
		.path_mig_state = from->path_mig_state,
		.qkey = from->qkey,
		.rq_psn = from->rq_psn,
		.sq_psn = from->sq_psn,
		.dest_qp_num = from->dest_qp_num,
		.qp_access_flags = (uint32_t)from->qp_access_flags,
		.pkey_index = from->pkey_index,
		.alt_pkey_index = from->alt_pkey_index,
		.en_sqd_async_notify = from->en_sqd_async_notify,
		.sq_draining = from->sq_draining,
		.max_rd_atomic = from->max_rd_atomic,
		.max_dest_rd_atomic = from->max_dest_rd_atomic,
		.min_rnr_timer = from->min_rnr_timer,
		.port_num = (uint8_t)from->port_num,
		.timeout = from->timeout,
		.retry_cnt = from->retry_cnt,
		.rnr_retry = from->rnr_retry,
		.alt_port_num = (uint8_t)from->alt_port_num,
		.alt_timeout = from->alt_timeout,
		.rate_limit = from->rate_limit,
	};
	fill_ah(&to->ah, &from->ah_attr);
	fill_ah(&to->alt_ah, &from->alt_ah_attr);
}

/* What uverbs checks before the driver sees it; fields that no bit names are ignored. */
static int check_attr(const struct uapi_modify_qp *req)
{
	const struct uapi_qp_attr *a = &req->attr;

	if (req->mask & ~(uint32_t)IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	if ((req->mask & IB_QP_STATE) && a->qp_state >= IB_QPS_COUNT)
		return -EINVAL;
	if ((req->mask & IB_QP_CUR_STATE) && a->cur_qp_state >= IB_QPS_COUNT)
		return -EINVAL;
	if ((req->mask & IB_QP_PATH_MTU) && (a->path_mtu < 1 || a->path_mtu > 5))
		return -EINVAL;
	if ((req->mask & IB_QP_PATH_MIG_STATE) && a->path_mig_state > IB_MIG_ARMED)
		return -EINVAL;
	if ((req->mask & IB_QP_AV) && a->ah.is_global > 1)
		return -EINVAL;
	if ((req->mask & IB_QP_ALT_PATH) && a->alt_ah.is_global > 1)
		return -EINVAL;
	return 0;
}

/* The place of the queue pair's port in the site's table; it has one from INIT on. */
static uint32_t port_index(struct ib_qp *qp, const struct ib_qp_attr *attr)
{
	struct ib_device_info info;

	if (attr->port_num == 0 || ib_describe_device(qp->device, &info) < 0)
		return UINT32_MAX;
	return info.first_port + attr->port_num - rdma_start_port(qp->device);
}

int verbs_modify_qp(struct uapi_client *c, const void *request, void *reply,
		    struct uapi_fds *fds)
{
	const struct uapi_modify_qp *req = request;
	struct uapi_modify_qp_reply *rep = reply;
	struct verbs_qp *qp = qp_find(c, req->qp);
	struct ib_qp_init_attr init_attr;
	struct ib_qp_attr attr;
	int r;

	if (!qp)
		return -ENOENT;
	r = check_attr(req);
	if (r < 0)
		return r;
	read_attr(&attr, &req->attr);
	r = ib_modify_qp(qp->ib, &attr, (int)req->mask);
	if (r < 0)
		return r;
	r = ib_query_qp(qp->ib, &attr, IB_QP_ATTR_STANDARD_BITS, &init_attr);
	if (r < 0)
		return r;
	fill_attr(&rep->attr, &attr);
	rep->port_index = port_index(qp->ib, &attr);
	return 0;
}
