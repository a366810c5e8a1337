// SPDX-License-Identifier: BSD-2-Clause
/*
 * The commands of shared receive queues over a driver that only remembers: every field
 * and handle checked, and who goes before whom.
 */
#include <string.h>

#include "harness/harness.h"
#include "uapi/server/command_priv.h"
#include "unit/core_verbs/fake_device.h"

struct fixture {
	struct uapi_limits limits;
	struct ib_node *node;
	struct fake_device fake;
	struct uapi_client client;
	uint32_t context, pd, cq, srq; /* handles */
};

/* Stands in for the dispatcher's. */
int uapi_client_event(struct uapi_client *c, uint16_t op, const void *body, size_t length)
{
	fail_msg("an event nobody caused");
	return -1;
}

/* The reply starts zeroed, as the dispatcher promises. */
static int call(struct fixture *f, uint16_t op, const void *request, void *reply,
		size_t reply_bytes)
{
	struct uapi_fds fds = { 0 };

	if (reply)
		memset(reply, 0, reply_bytes);
	for (const struct uapi_command *cmd = verbs_commands; cmd->op; cmd++) {
		if (cmd->op == op)
			return cmd->fn(&f->client, request, reply, &fds);
	}
	fail_msg("nobody serves %u", op);
	return -1;
}

static int on_handle(struct fixture *f, uint16_t op, uint32_t handle)
{
	struct uapi_handle req = { .handle = handle };

	return call(f, op, &req, NULL, 0);
}

static void begin_on(struct fixture *f, uint32_t *context, uint32_t *pd, uint32_t *cq)
{
	struct uapi_open_device open = { .id = 0 };
	struct uapi_create_cq create = { .cqe = 20 };
	struct uapi_create_cq_reply cq_rep;
	struct uapi_handle_reply rep;
	struct uapi_handle on;

	assert_int_equal(call(f, UAPI_OPEN_DEVICE, &open, &rep, sizeof(rep)), 0);
	*context = rep.handle;
	on = (struct uapi_handle){ .handle = *context };
	assert_int_equal(call(f, UAPI_ALLOC_PD, &on, &rep, sizeof(rep)), 0);
	*pd = rep.handle;
	create.context = *context;
	assert_int_equal(call(f, UAPI_CREATE_CQ, &create, &cq_rep, sizeof(cq_rep)), 0);
	*cq = cq_rep.handle;
}

static struct uapi_create_srq srq_request(const struct fixture *f)
{
	return (struct uapi_create_srq){ .pd = f->pd,
					 .attr = { .max_wr = 10, .max_sge = 2 } };
}

static int create_srq(struct fixture *f, const struct uapi_create_srq *req, uint32_t *ret)
{
	struct uapi_create_srq_reply rep;
	int r = call(f, UAPI_CREATE_SRQ, req, &rep, sizeof(rep));

	*ret = rep.handle;
	return r;
}

static int create_qp(struct fixture *f, uint32_t srq, uint32_t *ret)
{
	struct uapi_create_qp req = {
		.pd = f->pd,
		.send_cq = f->cq,
		.recv_cq = f->cq,
		.srq = srq,
		.qp_type = IB_QPT_UD,
	};
	struct uapi_create_qp_reply rep;
	int r = call(f, UAPI_CREATE_QP, &req, &rep, sizeof(rep));

	*ret = rep.handle;
	return r;
}

static int setup(void **state)
{
	static struct fixture fixture;
	struct fixture *f = &fixture;
	struct uapi_create_srq req;

	memset(f, 0, sizeof(*f));
	f->limits.max_objects_per_client = 20;
	f->node = ib_node_create("here", 0);
	fake_init(&f->fake, "fake0", 1, IB_LINK_LAYER_ETHERNET);
	assert_int_equal(ib_register_device(&f->fake.ib, f->node), 0);
	f->client.limits = &f->limits;
	f->client.node = f->node;
	assert_int_equal(verbs_client_open(&f->client), 0);
	begin_on(f, &f->context, &f->pd, &f->cq);
	req = srq_request(f);
	assert_int_equal(create_srq(f, &req, &f->srq), 0);
	*state = f;
	return 0;
}

/* Whatever a test left, the end of the client gives it all back. */
static int teardown(void **state)
{
	struct fixture *f = *state;

	f->fake.refuse = 0;
	verbs_client_close(&f->client);
	assert_int_equal(ib_unregister_device(&f->fake.ib), 0);
	ib_node_destroy(f->node);
	return 0;
}

static void what_is_granted_is_told(void **state)
{
	struct fixture *f = *state;
	struct uapi_create_srq req = srq_request(f);
	struct uapi_create_srq_reply rep;

	assert_int_equal(call(f, UAPI_CREATE_SRQ, &req, &rep, sizeof(rep)), 0);
	assert_int_not_equal(rep.handle, 0);
	assert_int_equal(rep.attr.max_wr, 11); /* the fake one is generous */
	assert_int_equal(rep.attr.max_sge, 2);
}

static void wrong_fields_are_refused(void **state)
{
	struct fixture *f = *state;
	struct uapi_create_srq req = srq_request(f);
	uint32_t handle;

	req.pd = f->cq;
	assert_int_equal(create_srq(f, &req, &handle), -ENOENT);
	req = srq_request(f);
	req.srq_type = 3;
	assert_int_equal(create_srq(f, &req, &handle), -EINVAL);
	req = srq_request(f);
	req.attr.srq_limit = 1;
	assert_int_equal(create_srq(f, &req, &handle), -EINVAL);
	req = srq_request(f);
	req.attr.reserved = 1;
	assert_int_equal(create_srq(f, &req, &handle), -EINVAL);
	f->fake.refuse = -ENOMEM;
	req = srq_request(f);
	assert_int_equal(create_srq(f, &req, &handle), -ENOMEM);
}

static void it_is_changed_and_queried(void **state)
{
	struct fixture *f = *state;
	struct uapi_modify_srq req = { .srq = f->srq,
				       .mask = IB_SRQ_LIMIT | IB_SRQ_MAX_WR,
				       .attr = { .max_wr = 30, .srq_limit = 7 } };
	struct uapi_handle query = { .handle = f->srq };
	struct uapi_srq_attr rep;

	assert_int_equal(call(f, UAPI_MODIFY_SRQ, &req, &rep, sizeof(rep)), 0);
	assert_int_equal(f->fake.srq_mask, IB_SRQ_LIMIT | IB_SRQ_MAX_WR);
	assert_int_equal(rep.max_wr, 30);
	assert_int_equal(rep.srq_limit, 7);
	assert_int_equal(call(f, UAPI_QUERY_SRQ, &query, &rep, sizeof(rep)), 0);
	assert_int_equal(rep.max_wr, 30);
	assert_int_equal(rep.srq_limit, 7);
	req.attr.reserved = 1;
	assert_int_equal(call(f, UAPI_MODIFY_SRQ, &req, &rep, sizeof(rep)), -EINVAL);
	query.reserved = 1;
	assert_int_equal(call(f, UAPI_QUERY_SRQ, &query, &rep, sizeof(rep)), -EINVAL);
}

static void a_handle_of_another_kind_is_unknown(void **state)
{
	struct fixture *f = *state;
	const uint32_t handles[] = { 0, UINT32_MAX, f->context, f->pd, f->cq };
	struct uapi_srq_attr attr;
	uint32_t qp;

	for (int i = 0; i < 5; i++) {
		struct uapi_handle on = { .handle = handles[i] };
		struct uapi_modify_srq req = { .srq = handles[i] };

		assert_int_equal(on_handle(f, UAPI_DESTROY_SRQ, handles[i]), -ENOENT);
		assert_int_equal(call(f, UAPI_QUERY_SRQ, &on, &attr, sizeof(attr)),
				 -ENOENT);
		assert_int_equal(call(f, UAPI_MODIFY_SRQ, &req, &attr, sizeof(attr)),
				 -ENOENT);
		if (handles[i])
			assert_int_equal(create_qp(f, handles[i], &qp), -ENOENT);
	}
	assert_int_equal(on_handle(f, UAPI_DESTROY_CQ, f->srq), -ENOENT);
	assert_int_equal(on_handle(f, UAPI_DEALLOC_PD, f->srq), -ENOENT);
	assert_int_equal(on_handle(f, UAPI_DESTROY_QP, f->srq), -ENOENT);
}

static void what_others_stand_on_is_busy(void **state)
{
	struct fixture *f = *state;
	uint32_t qp;

	assert_int_equal(create_qp(f, f->srq, &qp), 0);
	assert_int_equal(on_handle(f, UAPI_DESTROY_SRQ, f->srq), -EBUSY);
	assert_int_equal(on_handle(f, UAPI_DESTROY_QP, qp), 0);
	assert_int_equal(on_handle(f, UAPI_DEALLOC_PD, f->pd), -EBUSY);
	assert_int_equal(on_handle(f, UAPI_DESTROY_SRQ, f->srq), 0);
	assert_int_equal(on_handle(f, UAPI_DESTROY_SRQ, f->srq), -ENOENT);
	assert_int_equal(on_handle(f, UAPI_DEALLOC_PD, f->pd), 0);
}

static void a_queue_pair_takes_from_its_own_context_s_alone(void **state)
{
	struct fixture *f = *state, other = *f;
	uint32_t qp;

	begin_on(f, &other.context, &other.pd, &other.cq);
	assert_int_equal(create_qp(f, f->srq, &qp), 0);
	f->pd = other.pd;
	f->cq = other.cq;
	assert_int_equal(create_qp(f, f->srq, &qp), -EINVAL);
}

/* First the queue pairs, then what they take from: neither end finds it busy. */
static void a_closed_device_takes_it_along(void **state)
{
	struct fixture *f = *state;
	uint32_t context, pd, cq, qp;

	begin_on(f, &context, &pd, &cq);
	assert_int_equal(create_qp(f, f->srq, &qp), 0);
	assert_int_equal(on_handle(f, UAPI_CLOSE_DEVICE, f->context), 0);
	assert_int_equal(on_handle(f, UAPI_DESTROY_SRQ, f->srq), -ENOENT);
	assert_int_equal(on_handle(f, UAPI_CLOSE_DEVICE, context), 0);
	assert_int_equal(f->fake.ib.usecnt, 0);
}

static void the_end_of_a_client_takes_it_along(void **state)
{
	struct fixture *f = *state;
	uint32_t qp;

	assert_int_equal(create_qp(f, f->srq, &qp), 0);
	verbs_client_close(&f->client);
	assert_int_equal(f->fake.ib.usecnt, 0);
}

static void at_the_limit_of_objects_none_is_left_behind(void **state)
{
	struct fixture *f = *state;
	struct uapi_create_srq req = srq_request(f);
	unsigned int calls;
	uint32_t handle;

	while (create_srq(f, &req, &handle) == 0)
		;
	calls = f->fake.calls;
	assert_int_equal(create_srq(f, &req, &handle), -ENOMEM);
	assert_int_equal(f->fake.calls, calls + 2); /* made, and unmade again */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_granted_is_told),
		TEST(wrong_fields_are_refused),
		TEST(it_is_changed_and_queried),
		TEST(a_handle_of_another_kind_is_unknown),
		TEST(what_others_stand_on_is_busy),
		TEST(a_queue_pair_takes_from_its_own_context_s_alone),
		TEST(a_closed_device_takes_it_along),
		TEST(the_end_of_a_client_takes_it_along),
		TEST(at_the_limit_of_objects_none_is_left_behind),
	};

	return harness_run(tests);
}
