// SPDX-License-Identifier: BSD-2-Clause
/*
 * The two tables through which the inlines of <infiniband/verbs.h> reach us (spec/userland
 * 2.2, 2.3). A classic slot is called without a look at it, so none is NULL: what is not
 * there says EOPNOTSUPP. An extended slot that is NULL says so by itself, except where a
 * header does not look.
 */
#include <errno.h>
#include <string.h>

#include "context.h"
#include "cq.h"
#include "pd.h"
#include "port.h"
#include "qp.h"
#include "srq.h"

static struct ibv_mw *no_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	return null_errno(-EOPNOTSUPP);
}

static int no_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	return EOPNOTSUPP;
}

static int no_dealloc_mw(struct ibv_mw *mw)
{
	return EOPNOTSUPP;
}

/* Slots of before 2006, when they had other types; not called by any header since. */
static void *no_compat(void)
{
	return null_errno(-EOPNOTSUPP);
}

static int no_close_xrcd(struct ibv_xrcd *xrcd)
{
	return EOPNOTSUPP;
}

#define QUERY_DEVICE_EX_LEAST sizeof(struct ibv_device_attr)

static int query_device_ex(struct ibv_context *context,
			   const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t size)
{
	struct ibv_device_attr_ex full = { 0 };
	int r;

	if ((input && input->comp_mask) || size < QUERY_DEVICE_EX_LEAST)
		return EINVAL;
	r = ibv_query_device(context, &full.orig_attr);
	if (r)
		return r;
	full.device_cap_flags_ex = full.orig_attr.device_cap_flags;
	full.phys_port_cnt_ex = full.orig_attr.phys_port_cnt;
	memset(attr, 0, size);
	memcpy(attr, &full, size < sizeof(full) ? size : sizeof(full));
	return 0;
}

/* The macro of the header would go through the slot that is being filled. */
#undef ibv_query_port
static void fill_classic(struct ibv_context_ops *ops)
{
	*ops = (struct ibv_context_ops){
		._compat_query_device = ibv_query_device,
		._compat_query_port = ibv_query_port,
		._compat_alloc_pd = no_compat,
		._compat_dealloc_pd = no_compat,
		._compat_reg_mr = no_compat,
		._compat_rereg_mr = no_compat,
		._compat_dereg_mr = no_compat,
		.alloc_mw = no_alloc_mw,
		.bind_mw = no_bind_mw,
		.dealloc_mw = no_dealloc_mw,
		._compat_create_cq = no_compat,
		.poll_cq = cq_poll,
		.req_notify_cq = cq_arm,
		._compat_cq_event = no_compat,
		._compat_resize_cq = no_compat,
		._compat_destroy_cq = no_compat,
		._compat_create_srq = no_compat,
		._compat_modify_srq = no_compat,
		._compat_query_srq = no_compat,
		._compat_destroy_srq = no_compat,
		.post_srq_recv = srq_post_recv,
		._compat_create_qp = no_compat,
		._compat_query_qp = no_compat,
		._compat_modify_qp = no_compat,
		._compat_destroy_qp = no_compat,
		.post_send = qp_post_send,
		.post_recv = qp_post_recv,
		._compat_create_ah = no_compat,
		._compat_destroy_ah = no_compat,
		._compat_attach_mcast = no_compat,
		._compat_detach_mcast = no_compat,
		._compat_async_event = no_compat,
	};
}

void context_fill_ops(struct verbs_context *v)
{
	fill_classic(&v->context.ops);
	v->query_port = port_query;
	v->alloc_parent_domain = parent_domain_alloc;
	v->dealloc_td = td_dealloc;
	v->alloc_td = td_alloc;
	v->modify_cq = cq_modify;
	v->create_cq_ex = cq_create_ex;
	v->query_device_ex = query_device_ex;
	v->create_qp_ex = qp_create_ex;
	v->create_srq_ex = srq_create_ex;
	v->close_xrcd = no_close_xrcd; /* ibv_close_xrcd does not look */
}
