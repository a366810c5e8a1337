/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands of shared receive queues. An object is the core's own; its queue pairs
 * name it by handle when they are made (qp_cmd.c).
 */
#include "uapi/server/verbs_priv.h"

static struct ib_srq *srq_find(struct uapi_client *c, uint32_t handle)
{
	return uapi_handle_find(c->handles, UAPI_HANDLE_SRQ, handle);
}

static void read_attr(struct ib_srq_attr *to, const struct uapi_srq_attr *from)
{
	*to = (struct ib_srq_attr){
		.max_wr = from->max_wr,
		.max_sge = from->max_sge,
		.srq_limit = from->srq_limit,
	};
}

static void fill_attr(struct uapi_srq_attr *to, const struct ib_srq_attr *from)
{
	*to = (struct uapi_srq_attr){
		.max_wr = from->max_wr,
		.max_sge = from->max_sge,
		.srq_limit = from->srq_limit,
	};
}

static int check_create(const struct uapi_create_srq *req)
{
	if (req->attr.srq_limit || req->attr.reserved)
		return -EINVAL;
	/* Those that there are in uverbs; which of them a device has, it says itself. */
	return req->srq_type <= IB_SRQT_TM ? 0 : -EINVAL;
}

int verbs_create_srq(struct uapi_client *c, const void *request, void *reply,
		     struct uapi_fds *fds)
{
	const struct uapi_create_srq *req = request;
	struct uapi_create_srq_reply *rep = reply;
	struct ib_pd *pd = uapi_handle_find(c->handles, UAPI_HANDLE_PD, req->pd);
	struct ib_srq_init_attr attr = { .srq_type = (enum ib_srq_type)req->srq_type };
	struct ib_srq *srq;
	int r;

	if (!pd)
		return -ENOENT;
	r = check_create(req);
	if (r < 0)
		return r;
	read_attr(&attr.attr, &req->attr);
	srq = ib_create_srq(pd, &attr);
	if (IS_ERR(srq))
		return (int)PTR_ERR(srq);
	r = uapi_handle_add(c->handles, UAPI_HANDLE_SRQ, srq, &rep->handle);
	if (r < 0)
		ib_destroy_srq(srq);
	else
		fill_attr(&rep->attr, &attr.attr);
	return r;
}

static int fill_queried(struct ib_srq *srq, struct uapi_srq_attr *rep)
{
	struct ib_srq_attr attr;
	int r;

	r = ib_query_srq(srq, &attr);
	if (r == 0)
		fill_attr(rep, &attr);
	return r;
}

int verbs_modify_srq(struct uapi_client *c, const void *request, void *reply,
		     struct uapi_fds *fds)
{
	const struct uapi_modify_srq *req = request;
	struct ib_srq *srq = srq_find(c, req->srq);
	struct ib_srq_attr attr;
	int r;

	if (!srq)
		return -ENOENT;
	if (req->attr.reserved)
		return -EINVAL;
	read_attr(&attr, &req->attr);
	r = ib_modify_srq(srq, &attr, (enum ib_srq_attr_mask)req->mask);
	return r < 0 ? r : fill_queried(srq, reply);
}

int verbs_query_srq(struct uapi_client *c, const void *request, void *reply,
		    struct uapi_fds *fds)
{
	const struct uapi_handle *req = request;
	struct ib_srq *srq = srq_find(c, req->handle);

	if (!srq)
		return -ENOENT;
	return req->reserved ? -EINVAL : fill_queried(srq, reply);
}

int verbs_destroy_srq(struct uapi_client *c, const void *request, void *reply,
		      struct uapi_fds *fds)
{
	const struct uapi_handle *req = request;
	struct ib_srq *srq = srq_find(c, req->handle);
	int r;

	if (!srq)
		return -ENOENT;
	r = ib_destroy_srq_user(srq);
	if (r == 0)
		uapi_handle_remove(c->handles, UAPI_HANDLE_SRQ, req->handle);
	return r;
}
