// SPDX-License-Identifier: BSD-2-Clause
/*
 * Shared receive queues of the core: who stands on whom, and whose they are.
 */
#include "fake_device.h"
#include "harness/harness.h"

struct fixture {
	struct ib_node *node;
	struct fake_device fake;
	struct ib_ucontext *context;
	struct ib_pd *pd;
	struct ib_cq *cq;
};

static int setup(void **state)
{
	static struct fixture fixture;
	struct fixture *f = &fixture;
	struct ib_cq_init_attr attr = { .cqe = 10 };

	f->node = ib_node_create("here", 7);
	fake_init(&f->fake, "fake0", 1, IB_LINK_LAYER_ETHERNET);
	assert_int_equal(ib_register_device(&f->fake.ib, f->node), 0);
	f->context = ib_alloc_ucontext(&f->fake.ib, 3);
	f->pd = ib_alloc_user_pd(f->context);
	f->cq = ib_create_user_cq(f->context, NULL, &attr);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	f->fake.ib.ops = fake_ops;
	f->fake.refuse = 0;
	assert_int_equal(ib_destroy_cq_user(f->cq), 0);
	assert_int_equal(ib_dealloc_pd_user(f->pd), 0);
	assert_int_equal(ib_dealloc_ucontext(f->context), 0);
	assert_int_equal(ib_unregister_device(&f->fake.ib), 0);
	ib_node_destroy(f->node);
	return 0;
}

static struct ib_srq *make_srq(struct ib_pd *pd)
{
	struct ib_srq_init_attr attr = { .attr = { .max_wr = 8, .max_sge = 2 } };

	return ib_create_srq(pd, &attr);
}

static struct ib_qp *make_qp(struct fixture *f, struct ib_srq *srq)
{
	struct ib_qp_init_attr attr = {
		.send_cq = f->cq,
		.recv_cq = f->cq,
		.srq = srq,
		.qp_type = IB_QPT_UD,
	};

	return ib_create_qp(f->pd, &attr);
}

static void what_is_granted_comes_back(void **state)
{
	struct fixture *f = *state;
	struct ib_srq_init_attr attr = { .srq_context = f,
					 .attr = { .max_wr = 8, .max_sge = 2 } };
	struct ib_srq *srq = ib_create_srq(f->pd, &attr);

	assert_false(IS_ERR(srq));
	assert_int_equal(attr.attr.max_wr, 9);
	assert_int_equal(attr.attr.max_sge, 2);
	assert_ptr_equal(srq->srq_context, f);
	assert_ptr_equal(srq->pd, f->pd);
	assert_ptr_equal(srq->device, &f->fake.ib);
	assert_int_equal(ib_destroy_srq_user(srq), 0);
}

static void it_is_changed_and_queried(void **state)
{
	struct fixture *f = *state;
	struct ib_srq *srq = make_srq(f->pd);
	struct ib_srq_attr attr = { .srq_limit = 3 };

	assert_int_equal(ib_modify_srq(srq, &attr, IB_SRQ_LIMIT), 0);
	assert_int_equal(f->fake.srq_mask, IB_SRQ_LIMIT);
	memset(&attr, 0xff, sizeof(attr));
	assert_int_equal(ib_query_srq(srq, &attr), 0);
	assert_int_equal(attr.srq_limit, 3);
	assert_int_equal(ib_destroy_srq_user(srq), 0);
}

static void what_the_driver_lacks_is_unsupported(void **state)
{
	struct fixture *f = *state;
	struct ib_srq *srq = make_srq(f->pd);
	struct ib_srq_attr attr = { 0 };

	f->fake.ib.ops.create_srq = NULL;
	f->fake.ib.ops.modify_srq = NULL;
	f->fake.ib.ops.query_srq = NULL;
	f->fake.ib.ops.destroy_srq = NULL;
	assert_int_equal(PTR_ERR(make_srq(f->pd)), -EOPNOTSUPP);
	assert_int_equal(ib_modify_srq(srq, &attr, IB_SRQ_LIMIT), -EOPNOTSUPP);
	assert_int_equal(ib_query_srq(srq, &attr), -EOPNOTSUPP);
	assert_int_equal(ib_destroy_srq_user(srq), -EOPNOTSUPP);
	f->fake.ib.ops = fake_ops;
	assert_int_equal(ib_destroy_srq_user(srq), 0);
}

static void what_the_driver_refuses_leaves_no_trace(void **state)
{
	struct fixture *f = *state;
	struct ib_srq *srq;

	f->fake.refuse = -ENOMEM;
	assert_int_equal(PTR_ERR(make_srq(f->pd)), -ENOMEM);
	f->fake.refuse = 0;
	assert_int_equal(f->pd->usecnt, 0);
	srq = make_srq(f->pd);
	f->fake.refuse = -EIO;
	assert_int_equal(ib_destroy_srq_user(srq), -EIO);
	assert_int_equal(PTR_ERR(make_qp(f, srq)), -EIO);
	f->fake.refuse = 0;
	assert_int_equal(srq->usecnt, 0);
	assert_int_equal(f->pd->usecnt, 1);
	assert_int_equal(ib_destroy_srq_user(srq), 0);
}

static void while_a_queue_pair_takes_from_it_it_is_busy(void **state)
{
	struct fixture *f = *state;
	struct ib_srq *srq = make_srq(f->pd);
	struct ib_qp *first = make_qp(f, srq), *second = make_qp(f, srq);

	assert_ptr_equal(first->srq, srq);
	assert_int_equal(srq->usecnt, 2);
	assert_int_equal(ib_destroy_srq_user(srq), -EBUSY);
	assert_int_equal(ib_destroy_qp(first), 0);
	assert_int_equal(ib_destroy_srq_user(srq), -EBUSY);
	ib_destroy_srq(srq); /* says nothing, and does nothing */
	assert_int_equal(ib_destroy_qp(second), 0);
	assert_int_equal(ib_destroy_srq_user(srq), 0);
}

static void its_protection_domain_is_busy(void **state)
{
	struct fixture *f = *state;
	struct ib_srq *srq = make_srq(f->pd);

	assert_int_equal(ib_dealloc_pd_user(f->pd), -EBUSY);
	ib_destroy_srq(srq);
	assert_int_equal(f->pd->usecnt, 0);
}

/* Another protection domain of the same user will do; another user's will not. */
static void a_queue_pair_takes_from_its_own_user_s_alone(void **state)
{
	struct fixture *f = *state;
	struct ib_ucontext *context = ib_alloc_ucontext(&f->fake.ib, 4);
	struct ib_pd *sibling = ib_alloc_user_pd(f->context);
	struct ib_pd *stranger = ib_alloc_user_pd(context);
	struct ib_srq *theirs = make_srq(stranger), *ours = make_srq(sibling);
	struct ib_qp *qp;

	assert_int_equal(PTR_ERR(make_qp(f, theirs)), -EINVAL);
	assert_int_equal(theirs->usecnt, 0);
	qp = make_qp(f, ours);
	assert_false(IS_ERR(qp));
	assert_int_equal(ib_destroy_qp(qp), 0);
	ib_destroy_srq(theirs);
	ib_destroy_srq(ours);
	ib_dealloc_pd(stranger);
	ib_dealloc_pd(sibling);
	assert_int_equal(ib_dealloc_ucontext(context), 0);
}

static void a_queue_pair_without_one_has_none(void **state)
{
	struct fixture *f = *state;
	struct ib_qp *qp = make_qp(f, NULL);

	assert_null(qp->srq);
	assert_int_equal(ib_destroy_qp(qp), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_granted_comes_back),
		TEST(it_is_changed_and_queried),
		TEST(what_the_driver_lacks_is_unsupported),
		TEST(what_the_driver_refuses_leaves_no_trace),
		TEST(while_a_queue_pair_takes_from_it_it_is_busy),
		TEST(its_protection_domain_is_busy),
		TEST(a_queue_pair_takes_from_its_own_user_s_alone),
		TEST(a_queue_pair_without_one_has_none),
	};

	return harness_run(tests);
}
