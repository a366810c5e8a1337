// SPDX-License-Identifier: BSD-2-Clause
/*
 * Spec/kernel 1.1, 1.2, 1.4 and 1.6: what the core checks before and counts after a
 * driver attaches, over a driver that only remembers.
 */
#include "fake_device.h"
#include "harness/harness.h"

static const union ib_gid multicast = { .raw = { 0xff, 0x0e, [15] = 1 } };

struct fixture {
	struct ib_node *node;
	struct fake_device fake;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
};

static struct ib_qp *make_qp(struct fixture *f, enum ib_qp_type type)
{
	struct ib_qp_init_attr attr = { .send_cq = f->cq,
					.recv_cq = f->cq,
					.qp_type = type };
	struct ib_qp *qp = ib_create_qp(f->pd, &attr);

	assert_false(IS_ERR(qp));
	return qp;
}

static int setup(void **state)
{
	static struct fixture fixture;
	struct ib_cq_init_attr cq_attr = { .cqe = 1 };
	struct fixture *f = &fixture;

	f->node = ib_node_create("here", 0);
	fake_init(&f->fake, "fake0", 2, IB_LINK_LAYER_ETHERNET);
	assert_int_equal(ib_register_device(&f->fake.ib, f->node), 0);
	f->pd = ib_alloc_pd(&f->fake.ib, 0);
	f->cq = ib_create_cq(&f->fake.ib, NULL, &cq_attr);
	f->qp = make_qp(f, IB_QPT_UD);
	f->fake.calls = 0;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	f->fake.refuse = 0;
	assert_int_equal(ib_destroy_qp(f->qp), 0);
	ib_destroy_cq(f->cq);
	ib_dealloc_pd(f->pd);
	assert_int_equal(ib_unregister_device(&f->fake.ib), 0);
	ib_node_destroy(f->node);
	return 0;
}

static int attach(struct fixture *f, u16 lid)
{
	union ib_gid gid = multicast;

	return ib_attach_mcast(f->qp, &gid, lid);
}

static int detach(struct fixture *f, u16 lid)
{
	union ib_gid gid = multicast;

	return ib_detach_mcast(f->qp, &gid, lid);
}

static void each_missing_op_is_missed_by_its_own_call(void **state)
{
	struct fixture *f = *state;

	f->fake.ib.ops.detach_mcast = NULL;
	assert_int_equal(attach(f, 0), 0);
	assert_int_equal(detach(f, 0), -EOPNOTSUPP);
	f->fake.ib.ops.detach_mcast = fake_detach;
	f->fake.ib.ops.attach_mcast = NULL;
	assert_int_equal(attach(f, 0), -EOPNOTSUPP);
	assert_int_equal(detach(f, 0), 0);
}

static void a_missing_op_is_noticed_before_bad_arguments(void **state)
{
	struct fixture *f = *state;
	union ib_gid unicast = { .raw = { 0xfe, 0x80 } };

	f->fake.ib.ops.attach_mcast = NULL;
	assert_int_equal(ib_attach_mcast(f->qp, &unicast, 0), -EOPNOTSUPP);
}

static void only_multicast_gids_are_taken(void **state)
{
	static const struct {
		union ib_gid gid;
		bool ok;
	} cases[] = {
		{ { .raw = { 0xff } }, true },
		{ { .raw = { [10] = 0xff, 0xff, 224, 0, 0, 1 } }, true },
		{ { .raw = { [10] = 0xff, 0xff, 239, 255, 255, 255 } }, true },
		{ { .raw = { [10] = 0xff, 0xff, 223, 255, 255, 255 } }, false },
		{ { .raw = { [10] = 0xff, 0xff, 240, 0, 0, 0 } }, false },
		{ { .raw = { [12] = 224, 0, 0, 1 } }, false },
		{ { .raw = { 0xfe, 0x80, [15] = 1 } }, false },
		{ { .raw = { 0 } }, false },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		union ib_gid gid = cases[i].gid;
		int want = cases[i].ok ? 0 : -EINVAL;

		f->fake.calls = 0;
		assert_int_equal(ib_attach_mcast(f->qp, &gid, 0), want);
		assert_int_equal(ib_detach_mcast(f->qp, &gid, 0), want);
		assert_int_equal(f->fake.calls, cases[i].ok ? 2 : 0);
	}
}

static void only_ud_queue_pairs_are_taken(void **state)
{
	static const enum ib_qp_type types[] = { IB_QPT_SMI, IB_QPT_GSI, IB_QPT_RC,
						 IB_QPT_UC, IB_QPT_RAW_PACKET };
	struct fixture *f = *state;
	union ib_gid gid = multicast;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct ib_qp *qp = make_qp(f, types[i]);

		assert_int_equal(ib_attach_mcast(qp, &gid, 0), -EINVAL);
		assert_int_equal(ib_detach_mcast(qp, &gid, 0), -EINVAL);
		assert_int_equal(ib_destroy_qp(qp), 0);
	}
}

static void the_driver_gets_the_arguments_and_its_error_comes_back(void **state)
{
	struct fixture *f = *state;

	f->fake.refuse = -EXDEV;
	assert_int_equal(attach(f, 0x1234), -EXDEV);
	assert_memory_equal(&f->fake.last_gid, &multicast, sizeof(multicast));
	assert_int_equal(f->fake.last_lid, 0x1234);
	assert_int_equal(f->qp->usecnt, 0);
}

static void a_failed_detach_leaves_the_count(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(attach(f, 0), 0);
	f->fake.refuse = -EINVAL;
	assert_int_equal(detach(f, 0), -EINVAL);
	assert_int_equal(f->qp->usecnt, 1);
	f->fake.refuse = 0;
	assert_int_equal(detach(f, 0), 0);
	assert_int_equal(f->qp->usecnt, 0);
}

/* -- LID rule, spec/kernel 1.2 ------------------------------------------------------ */

static const struct {
	u16 lid;
	bool ok;
} lids[] = {
	{ 0, false },     { 1, false },     { 0xbfff, false }, { 0xc000, true },
	{ 0xc001, true }, { 0xfffe, true }, { 0xffff, false }, { 0x01c0, false },
};

static void expect_lids(struct fixture *f, bool any)
{
	for (size_t i = 0; i < sizeof(lids) / sizeof(lids[0]); i++) {
		int want = any || lids[i].ok ? 0 : -EINVAL;

		assert_int_equal(attach(f, lids[i].lid), want);
		assert_int_equal(detach(f, lids[i].lid), want);
	}
}

static void be_in_state(struct fixture *f, enum ib_qp_state qp_state, u32 port)
{
	f->fake.qp_attr.qp_state = qp_state;
	f->fake.qp_attr.port_num = port;
}

static void an_ethernet_port_takes_any_lid(void **state)
{
	struct fixture *f = *state;

	expect_lids(f, true);
	be_in_state(f, IB_QPS_RTS, 1);
	expect_lids(f, true);
}

static void an_infiniband_port_takes_multicast_lids_alone(void **state)
{
	struct fixture *f = *state;

	f->fake.link_layers[0] = f->fake.link_layers[1] = IB_LINK_LAYER_INFINIBAND;
	expect_lids(f, false);
	for (int s = IB_QPS_INIT; s < IB_QPS_COUNT; s++) {
		be_in_state(f, s, 1);
		expect_lids(f, false);
	}
}

static void on_a_mixed_device_the_port_decides_once_there_is_one(void **state)
{
	struct fixture *f = *state;

	f->fake.link_layers[0] = IB_LINK_LAYER_INFINIBAND;
	be_in_state(f, IB_QPS_RESET, 1);
	expect_lids(f, true);
	be_in_state(f, IB_QPS_INIT, 1);
	expect_lids(f, false);
	be_in_state(f, IB_QPS_INIT, 2);
	expect_lids(f, true);
}

static void without_a_query_all_ports_are_looked_at(void **state)
{
	struct fixture *f = *state;

	f->fake.ib.ops.query_qp = NULL;
	be_in_state(f, IB_QPS_RTS, 1);
	f->fake.link_layers[0] = IB_LINK_LAYER_INFINIBAND;
	expect_lids(f, true);
	f->fake.link_layers[1] = IB_LINK_LAYER_INFINIBAND;
	expect_lids(f, false);
	f->fake.ib.ops.query_qp = fake_query_qp;
}

static void without_a_link_layer_op_the_node_type_decides(void **state)
{
	struct fixture *f = *state;

	f->fake.ib.ops.get_link_layer = NULL;
	expect_lids(f, false);
	f->fake.ib.node_type = 4; /* an iWARP node */
	expect_lids(f, true);
	f->fake.ib.node_type = RDMA_NODE_IB_CA;
}

/* -- use counts, spec/kernel 1.4 and 1.6 -------------------------------------------- */

static void an_attached_queue_pair_is_not_destroyed(void **state)
{
	struct fixture *f = *state;
	struct ib_qp *qp = make_qp(f, IB_QPT_UD);
	union ib_gid gid = multicast;

	assert_int_equal(ib_attach_mcast(qp, &gid, 0), 0);
	assert_int_equal(ib_destroy_qp(qp), -EBUSY);
	assert_int_equal(ib_detach_mcast(qp, &gid, 0), 0);
	assert_int_equal(ib_destroy_qp(qp), 0);
}

static void attached_twice_and_detached_once_it_can_be_destroyed(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(attach(f, 0), 0);
	assert_int_equal(attach(f, 0), 0);
	assert_int_equal(f->qp->usecnt, 1);
	assert_int_equal(detach(f, 0), 0);
	assert_int_equal(f->qp->usecnt, 0);
	/* What rxe says to the second one. */
	f->fake.refuse = -EINVAL;
	assert_int_equal(detach(f, 0), -EINVAL);
	assert_int_equal(f->qp->usecnt, 0);
}

static void a_detach_that_was_never_attached_counts_nothing(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(detach(f, 0), 0); /* the fake driver does not mind */
	assert_int_equal(f->qp->usecnt, 0);
}

static void groups_of_two_queue_pairs_are_told_apart(void **state)
{
	struct fixture *f = *state;
	struct ib_qp *other = make_qp(f, IB_QPT_UD);
	union ib_gid gid = multicast;

	for (unsigned int i = 0; i < 200; i++) {
		gid.raw[14] = (u8)i;
		assert_int_equal(ib_attach_mcast(f->qp, &gid, 0), 0);
		assert_int_equal(ib_attach_mcast(other, &gid, 0), 0);
	}
	assert_int_equal(f->qp->usecnt, 200);
	for (unsigned int i = 0; i < 200; i++) {
		gid.raw[14] = (u8)i;
		assert_int_equal(ib_detach_mcast(other, &gid, 0), 0);
	}
	assert_int_equal(other->usecnt, 0);
	assert_int_equal(f->qp->usecnt, 200);
	assert_int_equal(ib_destroy_qp(other), 0);
	for (unsigned int i = 0; i < 200; i++) {
		gid.raw[14] = (u8)i;
		assert_int_equal(ib_detach_mcast(f->qp, &gid, 0), 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_missing_op_is_missed_by_its_own_call),
		TEST(a_missing_op_is_noticed_before_bad_arguments),
		TEST(only_multicast_gids_are_taken),
		TEST(only_ud_queue_pairs_are_taken),
		TEST(the_driver_gets_the_arguments_and_its_error_comes_back),
		TEST(a_failed_detach_leaves_the_count),
		TEST(an_ethernet_port_takes_any_lid),
		TEST(an_infiniband_port_takes_multicast_lids_alone),
		TEST(on_a_mixed_device_the_port_decides_once_there_is_one),
		TEST(without_a_query_all_ports_are_looked_at),
		TEST(without_a_link_layer_op_the_node_type_decides),
		TEST(an_attached_queue_pair_is_not_destroyed),
		TEST(attached_twice_and_detached_once_it_can_be_destroyed),
		TEST(a_detach_that_was_never_attached_counts_nothing),
		TEST(groups_of_two_queue_pairs_are_told_apart),
	};

	return harness_run(tests);
}
