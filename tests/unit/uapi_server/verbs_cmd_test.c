// SPDX-License-Identifier: BSD-2-Clause
/*
 * The verbs commands over a driver that only remembers: every field and handle checked,
 * uverbs' rules of spec/kernel 1.5 and 1.6, and the end of a client.
 */
#include <stdlib.h>
#include <string.h>

#include "unit/core_verbs/fake_device.h"
#include "harness/harness.h"
#include "uapi/server/command_priv.h"

#define EVENTS_MAX 8

struct fixture {
	struct uapi_limits limits;
	struct ib_node *node;
	struct fake_device fake, other; /* the node's devices 0 and 1 */
	struct uapi_client client;
	uint32_t context, pd, cq, qp; /* handles, on device 0 */
	struct uapi_async_event events[EVENTS_MAX];
	unsigned int event_count;
};

static struct fixture *now;

/* Stands in for the dispatcher's. */
int uapi_client_event(struct uapi_client *c, uint16_t op, const void *body, size_t length)
{
	assert_int_equal(op, UAPI_EVENT_ASYNC);
	assert_int_equal(length, sizeof(struct uapi_async_event));
	assert_true(now->event_count < EVENTS_MAX);
	memcpy(&now->events[now->event_count++], body, length);
	return 0;
}

/* The reply starts zeroed, as the dispatcher promises. */
static int call(struct uapi_client *c, uint16_t op, const void *request, void *reply,
		size_t reply_bytes)
{
	struct uapi_fds fds = { 0 };

	if (reply)
		memset(reply, 0, reply_bytes);
	for (const struct uapi_command *cmd = verbs_commands; cmd->op; cmd++) {
		if (cmd->op == op)
			return cmd->fn(c, request, reply, &fds);
	}
	fail_msg("nobody serves %u", op);
	return -1;
}

static int open_device(struct fixture *f, uint32_t index, uint32_t *ret)
{
	struct uapi_open_device req = { .id = index };
	struct uapi_handle_reply rep;
	int r = call(&f->client, UAPI_OPEN_DEVICE, &req, &rep, sizeof(rep));

	*ret = rep.handle;
	return r;
}

/* An operation that takes one handle. */
static int on_handle(struct fixture *f, uint16_t op, uint32_t handle)
{
	struct uapi_handle req = { .handle = handle };

	return call(&f->client, op, &req, NULL, 0);
}

static int alloc_pd(struct fixture *f, uint32_t context, uint32_t *ret)
{
	struct uapi_handle req = { .handle = context };
	struct uapi_handle_reply rep;
	int r = call(&f->client, UAPI_ALLOC_PD, &req, &rep, sizeof(rep));

	*ret = rep.handle;
	return r;
}

static int create_cq(struct fixture *f, uint32_t context, uint32_t *ret)
{
	struct uapi_create_cq req = { .context = context, .cqe = 20 };
	struct uapi_create_cq_reply rep;
	int r = call(&f->client, UAPI_CREATE_CQ, &req, &rep, sizeof(rep));

	*ret = rep.handle;
	return r;
}

static int reg_mr(struct fixture *f, uint32_t pd, uint32_t *ret)
{
	struct uapi_reg_mr req = { .pd = pd, .addr = 0x1000, .length = 64, .access = 1 };
	struct uapi_reg_mr_reply rep;
	int r = call(&f->client, UAPI_REG_MR, &req, &rep, sizeof(rep));

	*ret = rep.handle;
	return r;
}

static struct uapi_create_qp qp_request(const struct fixture *f)
{
	return (struct uapi_create_qp){
		.pd = f->pd,
		.send_cq = f->cq,
		.recv_cq = f->cq,
		.qp_type = IB_QPT_UD,
		.cap = { 1, 2, 3, 4, 5 },
	};
}

static int create_qp(struct fixture *f, const struct uapi_create_qp *req, uint32_t *ret)
{
	struct uapi_create_qp_reply rep;
	int r = call(&f->client, UAPI_CREATE_QP, req, &rep, sizeof(rep));

	*ret = rep.handle;
	return r;
}

static void begin(struct fixture *f)
{
	struct uapi_create_qp req;

	assert_int_equal(open_device(f, 0, &f->context), 0);
	assert_int_equal(alloc_pd(f, f->context, &f->pd), 0);
	assert_int_equal(create_cq(f, f->context, &f->cq), 0);
	req = qp_request(f);
	assert_int_equal(create_qp(f, &req, &f->qp), 0);
}

static int setup(void **state)
{
	static struct fixture fixture;
	struct fixture *f = &fixture;

	memset(f, 0, sizeof(*f));
	now = f;
	f->limits.max_objects_per_client = 20;
	f->node = ib_node_create("here", 0);
	fake_init(&f->fake, "fake0", 2, IB_LINK_LAYER_ETHERNET);
	fake_init(&f->other, "fake1", 1, IB_LINK_LAYER_ETHERNET);
	assert_int_equal(ib_register_device(&f->fake.ib, f->node), 0);
	assert_int_equal(ib_register_device(&f->other.ib, f->node), 0);
	f->client.limits = &f->limits;
	f->client.node = f->node;
	f->client.slot = 6;
	assert_int_equal(verbs_client_open(&f->client), 0);
	begin(f);
	*state = f;
	return 0;
}

/* Whatever a test left, the end of the client gives it all back. */
static int teardown(void **state)
{
	struct fixture *f = *state;

	f->fake.ib.ops = fake_ops;
	f->fake.refuse = 0;
	verbs_client_close(&f->client);
	verbs_client_close(&f->client);
	assert_int_equal(f->fake.attached, 0);
	assert_int_equal(ib_unregister_device(&f->fake.ib), 0);
	assert_int_equal(ib_unregister_device(&f->other.ib), 0);
	ib_node_destroy(f->node);
	return 0;
}

/* -- devices ------------------------------------------------------------------------ */

static void a_device_is_described(void **state)
{
	struct fixture *f = *state;
	struct uapi_query_device req = { .index = 0 };
	struct uapi_device d;

	assert_int_equal(call(&f->client, UAPI_QUERY_DEVICE, &req, &d, sizeof(d)), 0);
	assert_string_equal(d.name, "fake0");
	assert_int_equal(d.device, 3);
	assert_int_equal(d.first_port, 40);
	assert_int_equal(d.node_type, 1);
	assert_int_equal(d.phys_port_cnt, 2);
	assert_true(d.node_guid == 0x0102030405060708ull);
	assert_int_equal(d.max_qp, 7);
	assert_int_equal(d.max_sge, 3); /* the smaller of both directions */
	assert_string_equal(d.fw_ver, "fake");
	assert_string_equal(d.netdev, "lo");
}

static void devices_that_are_not_there_are_told(void **state)
{
	struct fixture *f = *state;
	struct uapi_query_device req = { .index = 2 };
	struct uapi_device d;
	uint32_t handle;

	assert_int_equal(call(&f->client, UAPI_QUERY_DEVICE, &req, &d, sizeof(d)),
			 -ENODEV);
	req = (struct uapi_query_device){ .index = 0, .reserved = 1 };
	assert_int_equal(call(&f->client, UAPI_QUERY_DEVICE, &req, &d, sizeof(d)),
			 -EINVAL);
	assert_int_equal(open_device(f, UINT32_MAX, &handle), -ENODEV);
}

static void a_context_knows_its_process(void **state)
{
	struct fixture *f = *state;
	const struct ib_pd *pd =
		uapi_handle_find(f->client.handles, UAPI_HANDLE_PD, f->pd);

	assert_int_equal(pd->context->process, 6);
}

static void closing_a_device_takes_its_objects_along_and_no_others(void **state)
{
	struct fixture *f = *state;
	uint32_t context, pd, other_pd, mr;

	assert_int_equal(open_device(f, 0, &context), 0);
	assert_int_equal(alloc_pd(f, context, &other_pd), 0);
	assert_int_equal(reg_mr(f, f->pd, &mr), 0);
	assert_int_equal(on_handle(f, UAPI_CLOSE_DEVICE, f->context), 0);
	assert_int_equal(on_handle(f, UAPI_CLOSE_DEVICE, f->context), -ENOENT);
	assert_int_equal(on_handle(f, UAPI_DESTROY_QP, f->qp), -ENOENT);
	assert_int_equal(on_handle(f, UAPI_DESTROY_CQ, f->cq), -ENOENT);
	assert_int_equal(on_handle(f, UAPI_DEREG_MR, mr), -ENOENT);
	assert_int_equal(on_handle(f, UAPI_DEALLOC_PD, f->pd), -ENOENT);
	assert_int_equal(alloc_pd(f, context, &pd), 0);
	assert_int_equal(on_handle(f, UAPI_DEALLOC_PD, other_pd), 0);
}

static void events_of_ports_are_passed_on_to_each_context(void **state)
{
	struct fixture *f = *state;
	struct ib_event event = { .device = &f->other.ib, .event = IB_EVENT_GID_CHANGE };
	uint32_t context;

	event.element.port_num = 1;
	ib_dispatch_event(&event);
	assert_int_equal(f->event_count, 0);
	assert_int_equal(open_device(f, 1, &context), 0);
	ib_dispatch_event(&event);
	assert_int_equal(f->event_count, 1);
	assert_int_equal(f->events[0].event, IB_EVENT_GID_CHANGE);
	assert_int_equal(f->events[0].device, 1);
	assert_int_equal(f->events[0].port_num, 1);
	event.event = IB_EVENT_QP_FATAL; /* the engine's to tell */
	ib_dispatch_event(&event);
	assert_int_equal(f->event_count, 1);
	assert_int_equal(on_handle(f, UAPI_CLOSE_DEVICE, context), 0);
	event.event = IB_EVENT_GID_CHANGE;
	ib_dispatch_event(&event);
	assert_int_equal(f->event_count, 1);
}

/* -- handles and dependencies ------------------------------------------------------- */

static void a_handle_of_another_kind_is_unknown(void **state)
{
	static const uint16_t ops[] = { UAPI_CLOSE_DEVICE, UAPI_DEALLOC_PD, UAPI_DEREG_MR,
					UAPI_DESTROY_CQ, UAPI_DESTROY_QP };
	struct fixture *f = *state;
	uint32_t handles[] = { f->context, f->pd, 0, f->cq, f->qp };
	uint32_t mr;

	assert_int_equal(reg_mr(f, f->pd, &mr), 0);
	handles[2] = mr;
	for (int op = 0; op < 5; op++) {
		assert_int_equal(on_handle(f, ops[op], 0), -ENOENT);
		assert_int_equal(on_handle(f, ops[op], UINT32_MAX), -ENOENT);
		for (int h = 0; h < 5; h++) {
			if (op != h)
				assert_int_equal(on_handle(f, ops[op], handles[h]),
						 -ENOENT);
		}
	}
}

static void what_others_stand_on_is_busy(void **state)
{
	struct fixture *f = *state;
	uint32_t mr;

	assert_int_equal(reg_mr(f, f->pd, &mr), 0);
	assert_int_equal(on_handle(f, UAPI_DEALLOC_PD, f->pd), -EBUSY);
	assert_int_equal(on_handle(f, UAPI_DESTROY_CQ, f->cq), -EBUSY);
	assert_int_equal(on_handle(f, UAPI_DESTROY_QP, f->qp), 0);
	assert_int_equal(on_handle(f, UAPI_DESTROY_CQ, f->cq), 0);
	assert_int_equal(on_handle(f, UAPI_DEALLOC_PD, f->pd), -EBUSY);
	assert_int_equal(on_handle(f, UAPI_DEREG_MR, mr), 0);
	assert_int_equal(on_handle(f, UAPI_DEALLOC_PD, f->pd), 0);
}

static void at_the_limit_nothing_more_is_made_and_nothing_lost(void **state)
{
	struct fixture *f = *state;
	struct uapi_create_qp req = qp_request(f);
	unsigned int calls;
	uint32_t handle;

	while (alloc_pd(f, f->context, &handle) == 0)
		;
	calls = f->fake.calls;
	assert_int_equal(alloc_pd(f, f->context, &handle), -ENOMEM);
	assert_int_equal(reg_mr(f, f->pd, &handle), -ENOMEM);
	assert_int_equal(create_cq(f, f->context, &handle), -ENOMEM);
	assert_int_equal(create_qp(f, &req, &handle), -ENOMEM);
	assert_int_equal(open_device(f, 0, &handle), -ENOMEM);
	/* Made, and unmade again: 4 pairs and the context's creation. */
	assert_int_equal(f->fake.calls, calls + 9);
}

static void objects_of_two_contexts_do_not_mix(void **state)
{
	struct fixture *f = *state;
	struct uapi_create_qp req = qp_request(f);
	struct uapi_rereg_mr rereg = { .flags = IB_MR_REREG_PD };
	struct uapi_reg_mr_reply rep;
	uint32_t context, pd, cq, handle;

	for (uint32_t device = 0; device < 2; device++) {
		assert_int_equal(open_device(f, device, &context), 0);
		assert_int_equal(alloc_pd(f, context, &pd), 0);
		assert_int_equal(create_cq(f, context, &cq), 0);
		req = qp_request(f);
		req.pd = pd;
		assert_int_equal(create_qp(f, &req, &handle), -EINVAL);
		req = qp_request(f);
		req.send_cq = cq;
		assert_int_equal(create_qp(f, &req, &handle), -EINVAL);
		req = qp_request(f);
		req.recv_cq = cq;
		assert_int_equal(create_qp(f, &req, &handle), -EINVAL);
		assert_int_equal(reg_mr(f, f->pd, &rereg.mr), 0);
		rereg.to.pd = pd;
		assert_int_equal(
			call(&f->client, UAPI_REREG_MR, &rereg, &rep, sizeof(rep)),
			-EINVAL);
	}
}

static void reserved_fields_are_zero(void **state)
{
	struct fixture *f = *state;
	struct uapi_handle pd = { .handle = f->context, .reserved = 1 };
	struct uapi_create_cq cq = { .context = f->context, .cqe = 1, .reserved = 1 };
	struct uapi_mcast mcast = { .qp = f->qp, .reserved = 1, .gid = { 0xff } };
	struct uapi_create_cq_reply cq_rep;
	struct uapi_attach_reply attach_rep;
	struct uapi_handle_reply rep;

	assert_int_equal(call(&f->client, UAPI_ALLOC_PD, &pd, &rep, sizeof(rep)),
			 -EINVAL);
	assert_int_equal(call(&f->client, UAPI_CREATE_CQ, &cq, &cq_rep, sizeof(cq_rep)),
			 -EINVAL);
	assert_int_equal(call(&f->client, UAPI_ATTACH_MCAST, &mcast, &attach_rep,
			      sizeof(attach_rep)),
			 -EINVAL);
	assert_int_equal(call(&f->client, UAPI_DETACH_MCAST, &mcast, NULL, 0), -EINVAL);
}

/* -- memory and completion queues --------------------------------------------------- */

static void memory_is_registered_by_the_core_s_rules(void **state)
{
	struct fixture *f = *state;
	struct uapi_reg_mr req = { .pd = f->pd, .addr = 0x1000, .length = 64 };
	struct uapi_reg_mr_reply rep;

	assert_int_equal(call(&f->client, UAPI_REG_MR, &req, &rep, sizeof(rep)), 0);
	assert_int_equal(rep.lkey, 0x1234);
	req.access = IB_ACCESS_REMOTE_WRITE;
	assert_int_equal(call(&f->client, UAPI_REG_MR, &req, &rep, sizeof(rep)), -EINVAL);
	req.access = 1u << 31;
	assert_int_equal(call(&f->client, UAPI_REG_MR, &req, &rep, sizeof(rep)), -EINVAL);
	req.access = 0;
	req.length = 0;
	assert_int_equal(call(&f->client, UAPI_REG_MR, &req, &rep, sizeof(rep)), -EINVAL);
	req.length = UINT64_MAX;
	assert_int_equal(call(&f->client, UAPI_REG_MR, &req, &rep, sizeof(rep)), -EINVAL);
	req.pd = f->cq;
	assert_int_equal(call(&f->client, UAPI_REG_MR, &req, &rep, sizeof(rep)), -ENOENT);
}

static void a_region_is_registered_anew(void **state)
{
	struct fixture *f = *state;
	struct uapi_rereg_mr req = { .flags = IB_MR_REREG_PD };
	struct uapi_reg_mr_reply rep;
	uint32_t pd;

	assert_int_equal(reg_mr(f, f->pd, &req.mr), 0);
	assert_int_equal(alloc_pd(f, f->context, &pd), 0);
	req.to.pd = 12345;
	assert_int_equal(call(&f->client, UAPI_REREG_MR, &req, &rep, sizeof(rep)),
			 -ENOENT);
	req.to.pd = pd;
	assert_int_equal(call(&f->client, UAPI_REREG_MR, &req, &rep, sizeof(rep)), 0);
	assert_int_equal(rep.handle, req.mr);
	assert_int_equal(rep.lkey, 0x1234);
	req.flags = 1u << 3 | IB_MR_REREG_ACCESS;
	assert_int_equal(call(&f->client, UAPI_REREG_MR, &req, &rep, sizeof(rep)),
			 -EINVAL);
	req.flags = 0;
	assert_int_equal(call(&f->client, UAPI_REREG_MR, &req, &rep, sizeof(rep)),
			 -EINVAL);
	assert_int_equal(on_handle(f, UAPI_DEALLOC_PD, pd), -EBUSY);
}

static void completion_queues_are_made_and_resized(void **state)
{
	struct fixture *f = *state;
	struct uapi_create_cq req = { .context = f->context, .cqe = 0 };
	struct uapi_resize_cq resize = { .cq = f->cq, .cqe = 77 };
	struct uapi_create_cq_reply rep;

	assert_int_equal(call(&f->client, UAPI_CREATE_CQ, &req, &rep, sizeof(rep)),
			 -EINVAL);
	req = (struct uapi_create_cq){ .context = f->context, .cqe = 1, .vector = 1 };
	assert_int_equal(call(&f->client, UAPI_CREATE_CQ, &req, &rep, sizeof(rep)),
			 -EINVAL);
	req = (struct uapi_create_cq){ .context = f->pd, .cqe = 1 };
	assert_int_equal(call(&f->client, UAPI_CREATE_CQ, &req, &rep, sizeof(rep)),
			 -ENOENT);
	assert_int_equal(call(&f->client, UAPI_RESIZE_CQ, &resize, &rep, sizeof(rep)), 0);
	assert_int_equal(rep.cqe, 77);
	resize.cqe = 0;
	assert_int_equal(call(&f->client, UAPI_RESIZE_CQ, &resize, &rep, sizeof(rep)),
			 -EINVAL);
	resize = (struct uapi_resize_cq){ .cq = f->qp, .cqe = 1 };
	assert_int_equal(call(&f->client, UAPI_RESIZE_CQ, &resize, &rep, sizeof(rep)),
			 -ENOENT);
}

/* -- queue pairs -------------------------------------------------------------------- */

static void a_queue_pair_is_described(void **state)
{
	struct fixture *f = *state;
	struct uapi_create_qp req = qp_request(f);
	struct uapi_create_qp_reply rep;

	req.sq_sig_all = 1;
	req.create_flags = IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	assert_int_equal(call(&f->client, UAPI_CREATE_QP, &req, &rep, sizeof(rep)), 0);
	assert_int_equal(rep.qpn, 2);
	assert_int_equal(rep.counters, 102);
	assert_memory_equal(&rep.cap, &req.cap, sizeof(rep.cap));
}

static void queue_pairs_with_wrong_fields_are_refused(void **state)
{
	struct fixture *f = *state;
	struct uapi_create_qp req;
	uint32_t handle;

	static const struct {
		uint32_t type, flags;
		int want;
	} cases[] = {
		{ IB_QPT_UD, 1u << 0, -EINVAL },
		{ IB_QPT_UD, 1u << 31, -EINVAL },
		{ IB_QPT_UD, 1u << 8, 0 },
		{ IB_QPT_RC, 0, 0 },
		{ IB_QPT_RC, 1u << 1, -EINVAL },
		{ IB_QPT_SMI, 0, -EINVAL },
		{ IB_QPT_GSI, 0, -EINVAL },
		{ 5, 0, -EINVAL },
		{ 7, 0, -EINVAL },
		{ 11, 0, -EINVAL },
		{ UINT32_MAX, 0, -EINVAL },
		{ IB_QPT_RAW_PACKET, 1u << 9, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		req = qp_request(f);
		req.qp_type = cases[i].type;
		req.create_flags = cases[i].flags;
		assert_int_equal(create_qp(f, &req, &handle), cases[i].want);
	}
	req = qp_request(f);
	req.sq_sig_all = 2;
	assert_int_equal(create_qp(f, &req, &handle), -EINVAL);
	req = qp_request(f);
	req.srq = 1;
	assert_int_equal(create_qp(f, &req, &handle), -ENOENT);
	req = qp_request(f);
	req.pd = f->cq;
	assert_int_equal(create_qp(f, &req, &handle), -ENOENT);
	req = qp_request(f);
	req.send_cq = 0;
	assert_int_equal(create_qp(f, &req, &handle), -ENOENT);
	req = qp_request(f);
	req.recv_cq = f->pd;
	assert_int_equal(create_qp(f, &req, &handle), -ENOENT);
}

static int modify(struct fixture *f, uint32_t mask, struct uapi_qp_attr attr,
		  struct uapi_modify_qp_reply *rep)
{
	struct uapi_modify_qp req = { .qp = f->qp, .mask = mask, .attr = attr };

	return call(&f->client, UAPI_MODIFY_QP, &req, rep, sizeof(*rep));
}

static void a_change_answers_with_the_attributes_as_they_stand(void **state)
{
	struct fixture *f = *state;
	struct uapi_modify_qp_reply rep;
	struct uapi_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.cur_qp_state = IB_QPS_RESET,
		.path_mtu = 1,
		.path_mig_state = 2,
		.qkey = 3,
		.rq_psn = 4,
		.sq_psn = 5,
		.dest_qp_num = 6,
		.qp_access_flags = 7,
		.pkey_index = 8,
		.alt_pkey_index = 9,
		.en_sqd_async_notify = 10,
		.max_rd_atomic = 11,
		.max_dest_rd_atomic = 12,
		.min_rnr_timer = 13,
		.port_num = 2,
		.timeout = 14,
		.retry_cnt = 15,
		.rnr_retry = 16,
		.alt_port_num = 17,
		.alt_timeout = 18,
		.rate_limit = 19,
		.ah = { .dgid = { 1, 2, 3 },
			.flow_label = 20,
			.dlid = 21,
			.sgid_index = 22,
			.hop_limit = 23,
			.traffic_class = 24,
			.sl = 25,
			.src_path_bits = 26,
			.static_rate = 27,
			.is_global = 1,
			.port_num = 28 },
		.alt_ah = { .dgid = { 9 }, .dlid = 29 },
	};

	assert_int_equal(modify(f, IB_QP_STATE | IB_QP_PORT, attr, &rep), 0);
	assert_memory_equal(&rep.attr, &attr, sizeof(attr));
	assert_int_equal(rep.port_index, 41);
	attr.port_num = 0;
	assert_int_equal(modify(f, IB_QP_STATE, attr, &rep), 0);
	assert_int_equal(rep.port_index, UINT32_MAX);
}

static void values_out_of_range_are_refused_when_a_bit_names_them(void **state)
{
	static const struct {
		uint32_t mask;
		struct uapi_qp_attr attr;
	} cases[] = {
		{ IB_QP_STATE, { .qp_state = 7 } },
		{ IB_QP_STATE, { .qp_state = UINT32_MAX } },
		{ IB_QP_CUR_STATE, { .cur_qp_state = 7 } },
		{ IB_QP_PATH_MTU, { .path_mtu = 0 } },
		{ IB_QP_PATH_MTU, { .path_mtu = 6 } },
		{ IB_QP_PATH_MIG_STATE, { .path_mig_state = 3 } },
		{ IB_QP_AV, { .ah = { .is_global = 2 } } },
		{ IB_QP_ALT_PATH, { .alt_ah = { .is_global = 2 } } },
		{ IB_QP_PORT, { .port_num = 0 } },
		{ IB_QP_PORT, { .port_num = 3 } },
	};
	struct fixture *f = *state;
	struct uapi_modify_qp req = { .qp = f->pd };
	struct uapi_modify_qp_reply rep;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(modify(f, cases[i].mask, cases[i].attr, &rep), -EINVAL);
		assert_int_equal(modify(f, IB_QP_QKEY, cases[i].attr, &rep), 0);
	}
	for (int bit = 21; bit < 32; bit++)
		assert_int_equal(modify(f, 1u << bit, (struct uapi_qp_attr){ 0 }, &rep),
				 -EOPNOTSUPP);
	assert_int_equal(call(&f->client, UAPI_MODIFY_QP, &req, &rep, sizeof(rep)),
			 -ENOENT);
}

/* -- groups, spec/kernel 1.5 and 1.6 ------------------------------------------------ */

static struct uapi_attach_reply granted;

static int attach(struct fixture *f, uint8_t group, uint16_t lid)
{
	struct uapi_mcast req = { .qp = f->qp,
				  .lid = lid,
				  .gid = { 0xff, [15] = group } };

	return call(&f->client, UAPI_ATTACH_MCAST, &req, &granted, sizeof(granted));
}

static int detach(struct fixture *f, uint8_t group, uint16_t lid)
{
	struct uapi_mcast req = { .qp = f->qp,
				  .lid = lid,
				  .gid = { 0xff, [15] = group } };

	return call(&f->client, UAPI_DETACH_MCAST, &req, NULL, 0);
}

static void the_exact_pair_again_is_granted_with_nothing_done(void **state)
{
	struct fixture *f = *state;
	unsigned int calls;

	assert_int_equal(attach(f, 9, 1), 0);
	assert_int_equal(granted.again, 0);
	assert_int_equal(granted.entry, 9);
	assert_int_equal(granted.counters, 5);
	assert_int_equal(granted.generation, 6);
	calls = f->fake.calls;
	assert_int_equal(attach(f, 9, 1), 0);
	assert_int_equal(granted.again, 1);
	assert_int_equal(granted.entry, 9);
	assert_int_equal(f->fake.calls, calls);
	assert_int_equal(detach(f, 9, 1), 0);
	assert_int_equal(detach(f, 9, 1), -EINVAL);
}

static void a_pair_that_is_not_listed_is_not_detached(void **state)
{
	struct fixture *f = *state;
	unsigned int calls;

	assert_int_equal(attach(f, 1, 1), 0);
	calls = f->fake.calls;
	assert_int_equal(detach(f, 2, 1), -EINVAL);
	assert_int_equal(detach(f, 1, 2), -EINVAL); /* the LID counts, on RoCE too */
	assert_int_equal(f->fake.calls, calls);
	assert_int_equal(f->fake.attached, 1);
}

static void two_lids_of_a_group_are_two_pairs_and_one_attachment(void **state)
{
	struct fixture *f = *state;
	unsigned int before;

	assert_int_equal(attach(f, 1, 1), 0);
	assert_int_equal(attach(f, 1, 2), 0);
	assert_int_equal(granted.again, 0);
	before = f->fake.attached;
	assert_int_equal(detach(f, 1, 1), 0);
	assert_int_equal(f->fake.attached, before);
	assert_int_equal(on_handle(f, UAPI_DESTROY_QP, f->qp), -EBUSY);
	assert_int_equal(detach(f, 1, 2), 0);
	assert_int_equal(f->client.mcast_aliases, 0);
	f->fake.attached = 0; /* the fake one counted the second LID */
	assert_int_equal(on_handle(f, UAPI_DESTROY_QP, f->qp), 0);
}

static void lids_of_a_group_are_limited(void **state)
{
	struct fixture *f = *state;
	uint16_t lid = 0;

	while (lid < 100 && attach(f, 1, lid) == 0)
		lid++;
	assert_int_equal(lid, 21); /* max_objects_per_client beside the first */
	assert_int_equal(attach(f, 1, lid), -ENOMEM);
	assert_int_equal(attach(f, 2, 0), 0);
	assert_int_equal(detach(f, 1, 3), 0);
	assert_int_equal(attach(f, 1, lid), 0);
	verbs_client_close(&f->client);
	assert_int_equal(f->client.mcast_aliases, 0);
	f->fake.attached = 0;
}

static void a_failed_attach_is_not_listed(void **state)
{
	struct fixture *f = *state;

	f->fake.refuse = -ENOMEM;
	assert_int_equal(attach(f, 1, 1), -ENOMEM);
	f->fake.refuse = 0;
	assert_int_equal(detach(f, 1, 1), -EINVAL);
	assert_int_equal(attach(f, 1, 1), 0);
	assert_int_equal(granted.again, 0);
}

static void a_failed_detach_is_off_the_list_all_the_same(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(attach(f, 1, 1), 0);
	f->fake.refuse = -EIO;
	assert_int_equal(detach(f, 1, 1), -EIO);
	f->fake.refuse = 0;
	assert_int_equal(detach(f, 1, 1), -EINVAL);
	assert_int_equal(attach(f, 1, 1), 0);
	f->fake.attached = 1;
	assert_int_equal(detach(f, 1, 1), 0);
}

static void both_operations_or_none(void **state)
{
	struct fixture *f = *state;

	f->fake.ib.ops.detach_mcast = NULL;
	assert_int_equal(attach(f, 1, 1), -EOPNOTSUPP);
	f->fake.ib.ops.detach_mcast = fake_detach;
	f->fake.ib.ops.attach_mcast = NULL;
	assert_int_equal(attach(f, 1, 1), -EOPNOTSUPP);
}

static void the_core_s_refusals_come_back(void **state)
{
	struct fixture *f = *state;
	struct uapi_mcast req = { .qp = f->qp, .gid = { 0xfe, 0x80 } };
	struct uapi_attach_reply rep;

	assert_int_equal(call(&f->client, UAPI_ATTACH_MCAST, &req, &rep, sizeof(rep)),
			 -EINVAL);
	req.qp = f->pd;
	req.gid[0] = 0xff;
	assert_int_equal(call(&f->client, UAPI_ATTACH_MCAST, &req, &rep, sizeof(rep)),
			 -ENOENT);
	assert_int_equal(call(&f->client, UAPI_DETACH_MCAST, &req, NULL, 0), -ENOENT);
}

static void an_attached_queue_pair_is_busy_and_stays_attached(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(attach(f, 1, 1), 0);
	assert_int_equal(on_handle(f, UAPI_DESTROY_QP, f->qp), -EBUSY);
	assert_int_equal(f->fake.attached, 1);
	assert_int_equal(detach(f, 1, 1), 0);
	assert_int_equal(on_handle(f, UAPI_DESTROY_QP, f->qp), 0);
}

static void the_end_of_a_client_detaches_by_force(void **state)
{
	struct fixture *f = *state;
	uint32_t handle;

	for (uint8_t group = 0; group < 10; group++)
		assert_int_equal(attach(f, group, 0), 0);
	assert_int_equal(reg_mr(f, f->pd, &handle), 0);
	assert_int_equal(f->fake.attached, 10);
	verbs_client_close(&f->client);
	assert_int_equal(f->fake.attached, 0);
	assert_int_equal(f->fake.ib.usecnt, 0);
}

static void a_closed_device_detaches_by_force(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(attach(f, 1, 0), 0);
	assert_int_equal(on_handle(f, UAPI_CLOSE_DEVICE, f->context), 0);
	assert_int_equal(f->fake.attached, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_device_is_described),
		TEST(devices_that_are_not_there_are_told),
		TEST(a_context_knows_its_process),
		TEST(closing_a_device_takes_its_objects_along_and_no_others),
		TEST(events_of_ports_are_passed_on_to_each_context),
		TEST(a_handle_of_another_kind_is_unknown),
		TEST(what_others_stand_on_is_busy),
		TEST(at_the_limit_nothing_more_is_made_and_nothing_lost),
		TEST(objects_of_two_contexts_do_not_mix),
		TEST(reserved_fields_are_zero),
		TEST(memory_is_registered_by_the_core_s_rules),
		TEST(a_region_is_registered_anew),
		TEST(completion_queues_are_made_and_resized),
		TEST(a_queue_pair_is_described),
		TEST(queue_pairs_with_wrong_fields_are_refused),
		TEST(a_change_answers_with_the_attributes_as_they_stand),
		TEST(values_out_of_range_are_refused_when_a_bit_names_them),
		TEST(the_exact_pair_again_is_granted_with_nothing_done),
		TEST(a_pair_that_is_not_listed_is_not_detached),
		TEST(two_lids_of_a_group_are_two_pairs_and_one_attachment),
		TEST(lids_of_a_group_are_limited),
		TEST(a_failed_attach_is_not_listed),
		TEST(a_failed_detach_is_off_the_list_all_the_same),
		TEST(both_operations_or_none),
		TEST(the_core_s_refusals_come_back),
		TEST(an_attached_queue_pair_is_busy_and_stays_attached),
		TEST(the_end_of_a_client_detaches_by_force),
		TEST(a_closed_device_detaches_by_force),
	};

	return harness_run(tests);
}
