// SPDX-License-Identifier: BSD-2-Clause
/*
 * Shared receive queues of the device: limits, depth, the limit's bounds.
 */
#include "world.h"

static int setup(void **state)
{
	static struct world world;

	world_prepare(&world);
	*state = &world;
	return 0;
}

static int teardown(void **state)
{
	world_end(*state);
	return 0;
}

static struct ib_srq *try_srq(struct ib_pd *pd, u32 max_wr, u32 max_sge,
			      enum ib_srq_type type)
{
	struct ib_srq_init_attr attr = { .attr = { .max_wr = max_wr, .max_sge = max_sge },
					 .srq_type = type };

	return ib_create_srq(pd, &attr);
}

static struct ib_srq *make_srq(struct ib_pd *pd, u32 max_wr)
{
	struct ib_srq *srq = try_srq(pd, max_wr, 1, IB_SRQT_BASIC);

	assert_false(IS_ERR(srq));
	return srq;
}

static void the_device_shows_its_limits(void **state)
{
	struct world *w = *state;
	struct ib_device_attr attr;

	w->config.limits.max_srq = 3;
	w->config.limits.max_srq_wr = 40;
	w->config.limits.max_srq_sge = 5;
	world_boot(w);
	assert_int_equal(ib_query_device(w->ib, &attr), 0);
	assert_int_equal(attr.max_srq, 3);
	assert_int_equal(attr.max_srq_wr, 40);
	assert_int_equal(attr.max_srq_sge, 5);
	assert_true(attr.device_cap_flags & IB_DEVICE_SRQ_RESIZE);
}

static void depth_and_elements_are_granted_up_to_the_limits(void **state)
{
	static const struct {
		u32 wr, sge;
		int want;
	} cases[] = {
		{ 0, 1, -EINVAL },  { 1, 0, 0 },        { 40, 5, 0 },
		{ 41, 5, -EINVAL }, { 40, 6, -EINVAL }, { UINT32_MAX, 1, -EINVAL },
	};
	struct world *w = *state;
	struct world_process p;

	w->config.limits.max_srq_wr = 40;
	w->config.limits.max_srq_sge = 5;
	world_boot(w);
	process_begin(w, 1, &p);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ib_srq *srq =
			try_srq(p.pd, cases[i].wr, cases[i].sge, IB_SRQT_BASIC);

		assert_int_equal(IS_ERR(srq) ? PTR_ERR(srq) : 0, cases[i].want);
		if (!IS_ERR(srq))
			ib_destroy_srq(srq);
	}
	process_end(&p);
}

static void at_the_limit_none_is_made_until_one_goes(void **state)
{
	struct world *w = *state;
	struct world_process p;
	struct hca_use use;
	struct ib_srq *srq;

	w->config.limits.max_srq = 1;
	world_boot(w);
	process_begin(w, 1, &p);
	srq = make_srq(p.pd, 4);
	assert_int_equal(PTR_ERR(try_srq(p.pd, 4, 1, IB_SRQT_BASIC)), -ENOMEM);
	hca_device_use(w->device, &use);
	assert_int_equal(use.srqs, 1);
	ib_destroy_srq(srq);
	ib_destroy_srq(make_srq(p.pd, 4));
	hca_device_use(w->device, &use);
	assert_int_equal(use.srqs, 0);
	process_end(&p);
}

static void only_users_have_basic_ones(void **state)
{
	struct world *w = *state;
	struct world_process p;
	struct ib_pd *kernel;

	world_boot(w);
	process_begin(w, 1, &p);
	kernel = ib_alloc_pd(w->ib, 0);
	assert_int_equal(PTR_ERR(try_srq(kernel, 4, 1, IB_SRQT_BASIC)), -EOPNOTSUPP);
	assert_int_equal(PTR_ERR(try_srq(p.pd, 4, 1, IB_SRQT_XRC)), -EOPNOTSUPP);
	assert_int_equal(PTR_ERR(try_srq(p.pd, 4, 1, IB_SRQT_TM)), -EOPNOTSUPP);
	ib_dealloc_pd(kernel);
	process_end(&p);
}

static int set(struct ib_srq *srq, u32 max_wr, u32 limit, int mask)
{
	struct ib_srq_attr attr = { .max_wr = max_wr, .srq_limit = limit };

	return ib_modify_srq(srq, &attr, mask);
}

static void assert_srq(struct ib_srq *srq, u32 max_wr, u32 limit)
{
	struct ib_srq_attr attr;

	assert_int_equal(ib_query_srq(srq, &attr), 0);
	assert_int_equal(attr.max_wr, max_wr);
	assert_int_equal(attr.max_sge, 1);
	assert_int_equal(attr.srq_limit, limit);
}

static void a_change_is_done_whole_or_not_at_all(void **state)
{
	struct world *w = *state;
	struct world_process p;
	struct ib_srq *srq;

	w->config.limits.max_srq_wr = 40;
	world_boot(w);
	process_begin(w, 1, &p);
	srq = make_srq(p.pd, 10);
	assert_int_equal(set(srq, 99, 99, 0), 0);
	assert_srq(srq, 10, 0);
	assert_int_equal(set(srq, 0, 11, IB_SRQ_LIMIT), -EINVAL);
	assert_int_equal(set(srq, 41, 3, IB_SRQ_MAX_WR | IB_SRQ_LIMIT), -EINVAL);
	assert_int_equal(set(srq, 0, 3, IB_SRQ_MAX_WR | IB_SRQ_LIMIT), -EINVAL);
	assert_int_equal(set(srq, 20, 21, IB_SRQ_MAX_WR | IB_SRQ_LIMIT), -EINVAL);
	assert_int_equal(set(srq, 20, 3, 1 << 2), -EINVAL);
	assert_srq(srq, 10, 0);
	assert_int_equal(set(srq, 20, 20, IB_SRQ_MAX_WR | IB_SRQ_LIMIT), 0);
	assert_srq(srq, 20, 20);
	assert_int_equal(set(srq, 0, 0, IB_SRQ_LIMIT), 0);
	assert_srq(srq, 20, 0);
	ib_destroy_srq(srq);
	process_end(&p);
}

/* What is asked of its own receive queue does not count, and none is granted. */
static void a_queue_pair_that_shares_has_no_queue_of_its_own(void **state)
{
	struct world *w = *state;
	struct ib_qp_init_attr attr = { .qp_type = IB_QPT_UD }, init;
	struct ib_qp_attr qp_attr;
	struct world_process p;
	struct ib_qp *qp;

	world_boot(w);
	process_begin(w, 1, &p);
	attr.srq = make_srq(p.pd, 4);
	attr.cap.max_recv_wr = UINT32_MAX;
	attr.cap.max_recv_sge = UINT32_MAX;
	qp = process_try_qp(&p, attr);
	assert_false(IS_ERR(qp));
	assert_int_equal(ib_query_qp(qp, &qp_attr, IB_QP_CAP, &init), 0);
	assert_int_equal(qp_attr.cap.max_recv_wr, 0);
	assert_int_equal(qp_attr.cap.max_recv_sge, 0);
	assert_ptr_equal(init.srq, attr.srq);
	assert_int_equal(ib_destroy_srq_user(attr.srq), -EBUSY);
	assert_int_equal(ib_destroy_qp(qp), 0);
	assert_int_equal(ib_destroy_srq_user(attr.srq), 0);
	attr.srq = NULL;
	assert_int_equal(PTR_ERR(process_try_qp(&p, attr)), -EINVAL);
	process_end(&p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_device_shows_its_limits),
		TEST(depth_and_elements_are_granted_up_to_the_limits),
		TEST(at_the_limit_none_is_made_until_one_goes),
		TEST(only_users_have_basic_ones),
		TEST(a_change_is_done_whole_or_not_at_all),
		TEST(a_queue_pair_that_shares_has_no_queue_of_its_own),
	};

	return harness_run(tests);
}
