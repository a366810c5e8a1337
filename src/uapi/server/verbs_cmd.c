/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verbs commands, ops 16 to 35: what uverbs is to Linux. Here are devices, contexts,
 * protection domains, memory regions and completion queues; shared receive queues are in
 * srq_cmd.c, queue pairs in qp_cmd.c.
 *
 * Each command checks every field, looks its handles up, and calls the core. A handle
 * that is unknown is -ENOENT; what the core refuses goes back as it is.
 */
#include <stdlib.h>
#include <string.h>

#include "uapi/server/verbs_priv.h"

/* -- devices ------------------------------------------------------------------------ */

static void fill_limits(struct uapi_device *to, const struct ib_device_attr *a)
{
	to->max_qp = a->max_qp;
	to->max_qp_wr = a->max_qp_wr;
	to->max_sge =
		a->max_send_sge < a->max_recv_sge ? a->max_send_sge : a->max_recv_sge;
	to->max_cq = a->max_cq;
	to->max_cqe = a->max_cqe;
	to->max_mr = a->max_mr;
	to->max_pd = a->max_pd;
	to->max_ah = a->max_ah;
	to->max_mcast_grp = a->max_mcast_grp;
	to->max_mcast_qp_attach = a->max_mcast_qp_attach;
	to->max_total_mcast_qp_attach = a->max_total_mcast_qp_attach;
	to->max_srq = a->max_srq;
	to->max_srq_wr = a->max_srq_wr;
	to->max_srq_sge = a->max_srq_sge;
	to->max_inline = a->max_inline_data;
	to->max_pkeys = a->max_pkeys;
}

static void fill_device(struct uapi_device *to, const struct ib_device *device,
			const struct ib_device_attr *a, const struct ib_device_info *info)
{
	memcpy(to->name, device->name, sizeof(to->name));
	to->device = info->site_device;
	to->id = ib_device_id(device);
	to->first_port = info->first_port;
	to->node_type = device->node_type;
	to->transport = 0; /* IBV_TRANSPORT_IB, RoCE too */
	to->node_guid = device->node_guid;
	to->sys_image_guid = a->sys_image_guid;
	to->max_mr_size = a->max_mr_size;
	to->page_size_cap = a->page_size_cap;
	to->vendor_id = a->vendor_id;
	to->vendor_part_id = a->vendor_part_id;
	to->hw_ver = a->hw_ver;
	to->phys_port_cnt = device->phys_port_cnt;
	to->device_cap_flags = a->device_cap_flags;
	to->local_ca_ack_delay = a->local_ca_ack_delay;
	memcpy(to->fw_ver, a->fw_ver, sizeof(to->fw_ver));
	memcpy(to->netdev, info->netdev, sizeof(to->netdev));
	fill_limits(to, a);
}

static int query_device(struct uapi_client *c, const void *request, void *reply,
			struct uapi_fds *fds)
{
	const struct uapi_query_device *req = request;
	struct ib_device *device = ib_node_device(c->node, req->index);
	struct ib_device_attr attr;
	struct ib_device_info info;
	int r;

	if (req->reserved)
		return -EINVAL;
	if (!device)
		return -ENODEV;
	r = ib_query_device(device, &attr);
	if (r == 0)
		r = ib_describe_device(device, &info);
	if (r == 0)
		fill_device(reply, device, &attr, &info);
	return r;
}

/* Events of ports and the device alone come from here: those of objects are the
 * engine's. */
static void pass_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct verbs_context *context =
		container_of(handler, struct verbs_context, events);
	struct uapi_async_event body = {
		.event = event->event,
		.device = ib_device_id(event->device),
	};

	switch (event->event) {
	case IB_EVENT_DEVICE_FATAL:
		break;
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_PORT_ERR:
	case IB_EVENT_LID_CHANGE:
	case IB_EVENT_PKEY_CHANGE:
	case IB_EVENT_SM_CHANGE:
	case IB_EVENT_CLIENT_REREGISTER:
	case IB_EVENT_GID_CHANGE:
		body.port_num = event->element.port_num;
		break;
	default:
		return;
	}
	(void)uapi_client_event(context->client, UAPI_EVENT_ASYNC, &body, sizeof(body));
}

struct verbs_context *verbs_context_find(struct uapi_client *c, uint32_t handle)
{
	return uapi_handle_find(c->handles, UAPI_HANDLE_CONTEXT, handle);
}

static void context_destroy(struct verbs_context *context)
{
	ib_unregister_event_handler(&context->events);
	(void)ib_dealloc_ucontext(context->ib);
	free(context);
}

static int context_create(struct uapi_client *c, struct ib_device *device,
			  struct verbs_context **ret)
{
	struct verbs_context *context;

	context = calloc(1, sizeof(*context));
	if (!context)
		return -ENOMEM;
	context->ib = ib_alloc_ucontext(device, c->slot);
	if (IS_ERR(context->ib)) {
		int r = (int)PTR_ERR(context->ib);

		free(context);
		return r;
	}
	context->client = c;
	INIT_IB_EVENT_HANDLER(&context->events, device, pass_event);
	ib_register_event_handler(&context->events);
	*ret = context;
	return 0;
}

static int open_device(struct uapi_client *c, const void *request, void *reply,
		       struct uapi_fds *fds)
{
	const struct uapi_open_device *req = request;
	struct uapi_handle_reply *rep = reply;
	struct ib_device *device = ib_node_find_device(c->node, req->id);
	struct verbs_context *context = NULL;
	int r;

	if (req->reserved)
		return -EINVAL;
	if (!device)
		return -ENODEV;
	r = context_create(c, device, &context);
	if (r < 0)
		return r;
	r = uapi_handle_add(c->handles, UAPI_HANDLE_CONTEXT, context, &rep->handle);
	if (r < 0)
		context_destroy(context);
	return r;
}

/* -- protection domains ------------------------------------------------------------- */

static int alloc_pd(struct uapi_client *c, const void *request, void *reply,
		    struct uapi_fds *fds)
{
	const struct uapi_handle *req = request;
	struct uapi_handle_reply *rep = reply;
	struct verbs_context *context = verbs_context_find(c, req->handle);
	struct ib_pd *pd;
	int r;

	if (req->reserved)
		return -EINVAL;
	if (!context)
		return -ENOENT;
	pd = ib_alloc_user_pd(context->ib);
	if (IS_ERR(pd))
		return (int)PTR_ERR(pd);
	r = uapi_handle_add(c->handles, UAPI_HANDLE_PD, pd, &rep->handle);
	if (r < 0)
		ib_dealloc_pd(pd);
	return r;
}

static int dealloc_pd(struct uapi_client *c, const void *request, void *reply,
		      struct uapi_fds *fds)
{
	const struct uapi_handle *req = request;
	struct ib_pd *pd = uapi_handle_find(c->handles, UAPI_HANDLE_PD, req->handle);
	int r;

	if (!pd)
		return -ENOENT;
	r = ib_dealloc_pd_user(pd);
	if (r == 0)
		uapi_handle_remove(c->handles, UAPI_HANDLE_PD, req->handle);
	return r;
}

/* -- memory regions ----------------------------------------------------------------- */

static void fill_mr(struct uapi_reg_mr_reply *rep, uint32_t handle,
		    const struct ib_mr *mr)
{
	rep->handle = handle;
	rep->lkey = mr->lkey;
	rep->rkey = mr->rkey;
}

static int reg_mr(struct uapi_client *c, const void *request, void *reply,
		  struct uapi_fds *fds)
{
	const struct uapi_reg_mr *req = request;
	struct ib_pd *pd = uapi_handle_find(c->handles, UAPI_HANDLE_PD, req->pd);
	struct ib_mr *mr;
	uint32_t handle;
	int r;

	if (!pd)
		return -ENOENT;
	mr = ib_reg_user_mr(pd, req->addr, req->length, req->iova, (int)req->access);
	if (IS_ERR(mr))
		return (int)PTR_ERR(mr);
	r = uapi_handle_add(c->handles, UAPI_HANDLE_MR, mr, &handle);
	if (r < 0) {
		(void)ib_dereg_mr(mr);
		return r;
	}
	fill_mr(reply, handle, mr);
	return 0;
}

static int rereg_mr(struct uapi_client *c, const void *request, void *reply,
		    struct uapi_fds *fds)
{
	const struct uapi_rereg_mr *req = request;
	struct ib_mr *mr = uapi_handle_find(c->handles, UAPI_HANDLE_MR, req->mr);
	struct ib_pd *pd = NULL;
	int r;

	if (!mr)
		return -ENOENT;
	if (req->flags & ~(uint32_t)IB_MR_REREG_SUPPORTED)
		return -EINVAL;
	if (req->flags & IB_MR_REREG_PD) {
		pd = uapi_handle_find(c->handles, UAPI_HANDLE_PD, req->to.pd);
		if (!pd)
			return -ENOENT;
	}
	r = ib_rereg_user_mr(mr, (int)req->flags, req->to.addr, req->to.length,
			     req->to.iova, (int)req->to.access, pd);
	if (r == 0)
		fill_mr(reply, req->mr, mr);
	return r;
}

static int dereg_mr(struct uapi_client *c, const void *request, void *reply,
		    struct uapi_fds *fds)
{
	const struct uapi_handle *req = request;
	struct ib_mr *mr = uapi_handle_find(c->handles, UAPI_HANDLE_MR, req->handle);
	int r;

	if (!mr)
		return -ENOENT;
	r = ib_dereg_mr(mr);
	if (r == 0)
		uapi_handle_remove(c->handles, UAPI_HANDLE_MR, req->handle);
	return r;
}

/* -- completion queues -------------------------------------------------------------- */

static int create_cq(struct uapi_client *c, const void *request, void *reply,
		     struct uapi_fds *fds)
{
	const struct uapi_create_cq *req = request;
	struct uapi_create_cq_reply *rep = reply;
	struct verbs_context *context = verbs_context_find(c, req->context);
	struct ib_cq_init_attr attr = { .cqe = req->cqe, .comp_vector = req->vector };
	struct ib_cq *cq;
	int r;

	if (req->reserved)
		return -EINVAL;
	if (!context)
		return -ENOENT;
	cq = ib_create_user_cq(context->ib, NULL, &attr);
	if (IS_ERR(cq))
		return (int)PTR_ERR(cq);
	r = uapi_handle_add(c->handles, UAPI_HANDLE_CQ, cq, &rep->handle);
	if (r < 0)
		ib_destroy_cq(cq);
	else
		rep->cqe = cq->cqe;
	return r;
}

static int resize_cq(struct uapi_client *c, const void *request, void *reply,
		     struct uapi_fds *fds)
{
	const struct uapi_resize_cq *req = request;
	struct uapi_create_cq_reply *rep = reply;
	struct ib_cq *cq = uapi_handle_find(c->handles, UAPI_HANDLE_CQ, req->cq);
	int r;

	if (!cq)
		return -ENOENT;
	r = ib_resize_cq(cq, req->cqe);
	if (r < 0)
		return r;
	rep->handle = req->cq;
	rep->cqe = cq->cqe;
	return 0;
}

static int destroy_cq(struct uapi_client *c, const void *request, void *reply,
		      struct uapi_fds *fds)
{
	const struct uapi_handle *req = request;
	struct ib_cq *cq = uapi_handle_find(c->handles, UAPI_HANDLE_CQ, req->handle);
	int r;

	if (!cq)
		return -ENOENT;
	r = ib_destroy_cq_user(cq);
	if (r == 0)
		uapi_handle_remove(c->handles, UAPI_HANDLE_CQ, req->handle);
	return r;
}

/* -- the end ------------------------------------------------------------------------ */

static const struct ib_ucontext *context_of(enum uapi_handle_type type,
					    const void *object)
{
	switch (type) {
	case UAPI_HANDLE_CQ:
		return ((const struct ib_cq *)object)->context;
	case UAPI_HANDLE_MR:
		return ((const struct ib_mr *)object)->pd->context;
	case UAPI_HANDLE_SRQ:
		return ((const struct ib_srq *)object)->pd->context;
	case UAPI_HANDLE_PD:
		return ((const struct ib_pd *)object)->context;
	default:
		return NULL;
	}
}

static void object_destroy(enum uapi_handle_type type, void *object)
{
	switch (type) {
	case UAPI_HANDLE_CQ:
		ib_destroy_cq(object);
		break;
	case UAPI_HANDLE_MR:
		(void)ib_dereg_mr(object);
		break;
	case UAPI_HANDLE_SRQ:
		ib_destroy_srq(object);
		break;
	case UAPI_HANDLE_PD:
		ib_dealloc_pd(object);
		break;
	default:
		break;
	}
}

/* All objects of a type that stand on the context (null: of the client). */
static void release_type(struct uapi_client *c, enum uapi_handle_type type,
			 const struct ib_ucontext *context)
{
	uint32_t handle = 0, next = 0;
	void *object = uapi_handle_next(c->handles, type, &next);

	while (object) {
		void *this = object;

		handle = next;
		object = uapi_handle_next(c->handles, type, &next);
		if (context && context_of(type, this) != context)
			continue;
		uapi_handle_remove(c->handles, type, handle);
		object_destroy(type, this);
	}
}

static void release(struct uapi_client *c, const struct ib_ucontext *context)
{
	verbs_release_qps(c, context);
	release_type(c, UAPI_HANDLE_SRQ, context);
	release_type(c, UAPI_HANDLE_CQ, context);
	release_type(c, UAPI_HANDLE_MR, context);
	release_type(c, UAPI_HANDLE_PD, context);
}

/* As closing the device file in Linux does: what stands on the context goes with it. */
static int close_device(struct uapi_client *c, const void *request, void *reply,
			struct uapi_fds *fds)
{
	const struct uapi_handle *req = request;
	struct verbs_context *context = verbs_context_find(c, req->handle);

	if (!context)
		return -ENOENT;
	release(c, context->ib);
	uapi_handle_remove(c->handles, UAPI_HANDLE_CONTEXT, req->handle);
	context_destroy(context);
	return 0;
}

int verbs_client_open(struct uapi_client *c)
{
	return uapi_handles_create(c->limits->max_objects_per_client, &c->handles);
}

void verbs_client_close(struct uapi_client *c)
{
	struct verbs_context *context;
	uint32_t handle;

	if (!c->handles)
		return;
	release(c, NULL);
	while ((context = uapi_handle_any(c->handles, UAPI_HANDLE_CONTEXT, &handle))) {
		uapi_handle_remove(c->handles, UAPI_HANDLE_CONTEXT, handle);
		context_destroy(context);
	}
	uapi_handles_destroy(c->handles);
	c->handles = NULL;
}

const struct uapi_command verbs_commands[] = {
	{ UAPI_QUERY_DEVICE, query_device },
	{ UAPI_OPEN_DEVICE, open_device },
	{ UAPI_CLOSE_DEVICE, close_device },
	{ UAPI_ALLOC_PD, alloc_pd },
	{ UAPI_DEALLOC_PD, dealloc_pd },
	{ UAPI_REG_MR, reg_mr },
	{ UAPI_REREG_MR, rereg_mr },
	{ UAPI_DEREG_MR, dereg_mr },
	{ UAPI_CREATE_CQ, create_cq },
	{ UAPI_RESIZE_CQ, resize_cq },
	{ UAPI_DESTROY_CQ, destroy_cq },
	{ UAPI_CREATE_QP, verbs_create_qp },
	{ UAPI_MODIFY_QP, verbs_modify_qp },
	{ UAPI_DESTROY_QP, verbs_destroy_qp },
	{ UAPI_ATTACH_MCAST, verbs_attach_mcast },
	{ UAPI_DETACH_MCAST, verbs_detach_mcast },
	{ UAPI_CREATE_SRQ, verbs_create_srq },
	{ UAPI_MODIFY_SRQ, verbs_modify_srq },
	{ UAPI_QUERY_SRQ, verbs_query_srq },
	{ UAPI_DESTROY_SRQ, verbs_destroy_srq },
	{ 0 },
};
