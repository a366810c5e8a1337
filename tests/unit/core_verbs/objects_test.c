// SPDX-License-Identifier: BSD-2-Clause
/*
 * Devices and objects of the core: nodes, missing operations, use counts, memory access
 * rules, events.
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

static struct ib_cq *make_cq(struct ib_ucontext *context)
{
	struct ib_cq_init_attr attr = { .cqe = 10 };

	return ib_create_user_cq(context, NULL, &attr);
}

static int setup(void **state)
{
	static struct fixture fixture;
	struct fixture *f = &fixture;

	f->node = ib_node_create("here", 7);
	fake_init(&f->fake, "fake0", 2, IB_LINK_LAYER_ETHERNET);
	assert_int_equal(ib_register_device(&f->fake.ib, f->node), 0);
	f->context = ib_alloc_ucontext(&f->fake.ib, 3);
	f->pd = ib_alloc_user_pd(f->context);
	f->cq = make_cq(f->context);
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

static struct ib_qp *make_qp(struct ib_pd *pd, struct ib_cq *send_cq,
			     struct ib_cq *recv_cq)
{
	struct ib_qp_init_attr attr = {
		.send_cq = send_cq,
		.recv_cq = recv_cq,
		.qp_type = IB_QPT_UD,
	};

	return ib_create_qp(pd, &attr);
}

/* -- devices ------------------------------------------------------------------------ */

static void a_node_lists_its_devices_in_order(void **state)
{
	struct fixture *f = *state;
	struct fake_device second, twin;

	fake_init(&second, "fake1", 1, IB_LINK_LAYER_ETHERNET);
	fake_init(&twin, "fake0", 1, IB_LINK_LAYER_ETHERNET);
	assert_int_equal(ib_register_device(&second.ib, f->node), 0);
	assert_int_equal(ib_register_device(&twin.ib, f->node), -EEXIST);
	assert_ptr_equal(ib_node_device(f->node, 0), &f->fake.ib);
	assert_ptr_equal(ib_node_device(f->node, 1), &second.ib);
	assert_null(ib_node_device(f->node, 2));
	assert_null(ib_node_device(f->node, UINT32_MAX));
	assert_int_equal(ib_device_id(&second.ib), 1);
	assert_string_equal(ib_device_name(&second.ib), "fake1");
	assert_string_equal(ib_node_name(f->node), "here");
	assert_int_equal(ib_node_index(f->node), 7);
	assert_int_equal(ib_unregister_device(&second.ib), 0);
	assert_null(ib_node_device(f->node, 1));
}

static void a_device_in_use_is_not_unregistered(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(ib_unregister_device(&f->fake.ib), -EBUSY);
	assert_ptr_equal(ib_node_device(f->node, 0), &f->fake.ib);
}

static void ports_count_from_one(void **state)
{
	struct fixture *f = *state;
	struct ib_port_attr attr;
	u16 pkey;

	assert_int_equal(rdma_start_port(&f->fake.ib), 1);
	assert_int_equal(rdma_end_port(&f->fake.ib), 2);
	assert_int_equal(ib_query_port(&f->fake.ib, 0, &attr), -EINVAL);
	assert_int_equal(ib_query_port(&f->fake.ib, 1, &attr), 0);
	assert_int_equal(ib_query_port(&f->fake.ib, 2, &attr), 0);
	assert_int_equal(ib_query_port(&f->fake.ib, 3, &attr), -EINVAL);
	assert_int_equal(ib_query_pkey(&f->fake.ib, 0, 0, &pkey), -EINVAL);
	assert_int_equal(ib_query_pkey(&f->fake.ib, 1, 0, &pkey), 0);
	assert_int_equal(pkey, 0xffff);
	assert_int_equal(ib_query_pkey(&f->fake.ib, 1, 1, &pkey), -EINVAL);
}

static void gids_are_found_and_empty_places_told(void **state)
{
	struct fixture *f = *state;
	struct ib_device *ib = &f->fake.ib;
	union ib_gid gid = fake_gid(2, 3);
	struct ib_gid_attr attr;

	assert_int_equal(rdma_query_gid(ib, 1, 0, &attr), 0);
	assert_int_equal(rdma_query_gid(ib, 1, 1, &attr), -ENODATA);
	assert_int_equal(rdma_query_gid(ib, 1, -1, &attr), -EINVAL);
	assert_int_equal(rdma_query_gid(ib, 1, FAKE_GIDS, &attr), -EINVAL);
	assert_int_equal(rdma_query_gid(ib, 3, 0, &attr), -EINVAL);
	assert_int_equal(
		rdma_find_gid_by_port(ib, &gid, IB_GID_TYPE_ROCE_UDP_ENCAP, 2, &attr), 0);
	assert_int_equal(attr.index, 3);
	assert_int_equal(rdma_find_gid_by_port(ib, &gid, IB_GID_TYPE_ROCE, 2, &attr),
			 -ENOENT);
	assert_int_equal(
		rdma_find_gid_by_port(ib, &gid, IB_GID_TYPE_ROCE_UDP_ENCAP, 1, &attr),
		-ENOENT);
	assert_int_equal(ib_device_ifindex(ib, 1), 9);
	assert_int_equal(ib_device_ifindex(ib, 9), 0);
}

/* -- operations --------------------------------------------------------------------- */

static void a_device_without_operations_supports_nothing(void **state)
{
	struct fixture *f = *state;
	struct ib_cq_init_attr cq_attr = { .cqe = 1 };
	struct rdma_ah_attr ah_attr = { .port_num = 1 };
	struct ib_qp *qp = make_qp(f->pd, f->cq, f->cq);
	struct ib_mr *mr = ib_reg_user_mr(f->pd, 0x1000, 1, 0, 0);
	struct ib_device_attr device_attr;
	struct ib_qp_init_attr init_attr;
	struct ib_port_attr port_attr;
	struct ib_device_info device_info;
	struct ib_mcast_info mcast_info;
	struct ib_gid_attr gid_attr;
	struct ib_qp_attr qp_attr = { 0 };
	struct ib_qp_info qp_info;
	union ib_gid gid = { .raw = { 0xff } };
	u16 pkey;

	f->fake.ib.ops = (struct ib_device_ops){ 0 };
	assert_int_equal(ib_query_device(&f->fake.ib, &device_attr), -EOPNOTSUPP);
	assert_int_equal(ib_query_port(&f->fake.ib, 1, &port_attr), -EOPNOTSUPP);
	assert_int_equal(rdma_query_gid(&f->fake.ib, 1, 0, &gid_attr), -EOPNOTSUPP);
	assert_int_equal(ib_query_pkey(&f->fake.ib, 1, 0, &pkey), -EOPNOTSUPP);
	assert_int_equal(PTR_ERR(ib_alloc_ucontext(&f->fake.ib, 0)), -EOPNOTSUPP);
	assert_int_equal(PTR_ERR(ib_alloc_pd(&f->fake.ib, 0)), -EOPNOTSUPP);
	assert_int_equal(PTR_ERR(ib_alloc_user_pd(f->context)), -EOPNOTSUPP);
	assert_int_equal(ib_dealloc_pd_user(f->pd), -EBUSY);
	assert_int_equal(PTR_ERR(rdma_create_ah(f->pd, &ah_attr)), -EOPNOTSUPP);
	assert_int_equal(PTR_ERR(ib_reg_user_mr(f->pd, 0x1000, 1, 0, 0)), -EOPNOTSUPP);
	assert_int_equal(ib_rereg_user_mr(mr, IB_MR_REREG_ACCESS, 0, 0, 0, 0, NULL),
			 -EOPNOTSUPP);
	assert_int_equal(ib_dereg_mr(mr), -EOPNOTSUPP);
	assert_int_equal(PTR_ERR(ib_create_cq(&f->fake.ib, NULL, &cq_attr)), -EOPNOTSUPP);
	assert_int_equal(ib_resize_cq(f->cq, 1), -EOPNOTSUPP);
	assert_int_equal(PTR_ERR(make_qp(f->pd, f->cq, f->cq)), -EOPNOTSUPP);
	assert_int_equal(ib_modify_qp(qp, &qp_attr, 0), -EOPNOTSUPP);
	assert_int_equal(ib_query_qp(qp, &qp_attr, 0, &init_attr), -EOPNOTSUPP);
	assert_int_equal(ib_destroy_qp(qp), -EOPNOTSUPP);
	assert_int_equal(ib_attach_mcast(qp, &gid, 0), -EOPNOTSUPP);
	assert_int_equal(ib_detach_mcast(qp, &gid, 0), -EOPNOTSUPP);
	assert_int_equal(ib_describe_device(&f->fake.ib, &device_info), -EOPNOTSUPP);
	assert_int_equal(ib_describe_qp(qp, &qp_info), -EOPNOTSUPP);
	assert_int_equal(ib_describe_mcast(qp, &gid, &mcast_info), -EOPNOTSUPP);

	f->fake.ib.ops = fake_ops;
	assert_int_equal(ib_dereg_mr(mr), 0);
	assert_int_equal(ib_destroy_qp(qp), 0);
	f->fake.ib.ops = (struct ib_device_ops){ 0 };
	assert_int_equal(ib_destroy_cq_user(f->cq), -EOPNOTSUPP);
	assert_int_equal(ib_dealloc_pd_user(f->pd), -EOPNOTSUPP);
}

static void a_driver_that_refuses_leaves_nothing_counted(void **state)
{
	struct fixture *f = *state;
	struct ib_cq_init_attr cq_attr = { .cqe = 1 };
	u32 before = f->fake.ib.usecnt;

	f->fake.refuse = -ENOMEM;
	assert_int_equal(PTR_ERR(ib_alloc_ucontext(&f->fake.ib, 0)), -ENOMEM);
	assert_int_equal(PTR_ERR(ib_alloc_pd(&f->fake.ib, 0)), -ENOMEM);
	assert_int_equal(PTR_ERR(ib_create_cq(&f->fake.ib, NULL, &cq_attr)), -ENOMEM);
	assert_int_equal(PTR_ERR(ib_reg_user_mr(f->pd, 0x1000, 1, 0, 0)), -ENOMEM);
	assert_int_equal(PTR_ERR(make_qp(f->pd, f->cq, f->cq)), -ENOMEM);
	assert_int_equal(f->fake.ib.usecnt, before);
	assert_int_equal(f->pd->usecnt, 0);
	assert_int_equal(f->cq->usecnt, 0);
}

static void what_others_stand_on_is_busy(void **state)
{
	struct fixture *f = *state;
	struct ib_cq *recv_cq = make_cq(f->context);
	struct ib_qp *qp = make_qp(f->pd, f->cq, recv_cq);
	struct ib_mr *mr = ib_reg_user_mr(f->pd, 0x1000, 1, 0, 0);

	assert_int_equal(ib_dealloc_ucontext(f->context), -EBUSY);
	assert_int_equal(ib_dealloc_pd_user(f->pd), -EBUSY);
	assert_int_equal(ib_destroy_cq_user(f->cq), -EBUSY);
	assert_int_equal(ib_destroy_cq_user(recv_cq), -EBUSY);
	assert_int_equal(ib_destroy_qp(qp), 0);
	assert_int_equal(ib_destroy_cq_user(recv_cq), 0);
	assert_int_equal(ib_dealloc_pd_user(f->pd), -EBUSY);
	assert_int_equal(ib_dereg_mr(mr), 0);
}

static void a_queue_pair_stands_on_one_family(void **state)
{
	struct fixture *f = *state;
	struct ib_ucontext *other = ib_alloc_ucontext(&f->fake.ib, 4);
	struct ib_cq *foreign = make_cq(other);

	assert_int_equal(PTR_ERR(make_qp(f->pd, foreign, f->cq)), -EINVAL);
	assert_int_equal(PTR_ERR(make_qp(f->pd, f->cq, foreign)), -EINVAL);
	assert_int_equal(PTR_ERR(make_qp(f->pd, NULL, f->cq)), -EINVAL);
	assert_int_equal(PTR_ERR(make_qp(f->pd, f->cq, NULL)), -EINVAL);
	assert_int_equal(ib_destroy_cq_user(foreign), 0);
	assert_int_equal(ib_dealloc_ucontext(other), 0);
}

static void completion_queues_have_a_size_and_a_vector(void **state)
{
	struct fixture *f = *state;
	struct ib_cq_init_attr none = { .cqe = 0 },
			       vector = { .cqe = 1, .comp_vector = 1 };

	assert_int_equal(PTR_ERR(ib_create_user_cq(f->context, NULL, &none)), -EINVAL);
	assert_int_equal(PTR_ERR(ib_create_user_cq(f->context, NULL, &vector)), -EINVAL);
	assert_int_equal(ib_resize_cq(f->cq, 0), -EINVAL);
	assert_int_equal(ib_resize_cq(f->cq, 33), 0);
	assert_int_equal(f->cq->cqe, 33);
}

static void a_modified_queue_pair_has_24_bit_psns_and_a_real_port(void **state)
{
	struct fixture *f = *state;
	struct ib_qp *qp = make_qp(f->pd, f->cq, f->cq);
	struct ib_qp_attr attr = { .sq_psn = 0xffffffff, .rq_psn = 0x1000001 };

	assert_int_equal(ib_modify_qp(qp, &attr, IB_QP_SQ_PSN), 0);
	assert_int_equal(f->fake.qp_attr.sq_psn, 0xffffff);
	assert_int_equal(f->fake.qp_attr.rq_psn, 1);
	for (u32 port = 0; port < 4; port++) {
		attr.port_num = port;
		assert_int_equal(ib_modify_qp(qp, &attr, IB_QP_PORT),
				 port == 1 || port == 2 ? 0 : -EINVAL);
	}
	attr.port_num = 99; /* no bit names it */
	assert_int_equal(ib_modify_qp(qp, &attr, IB_QP_QKEY), 0);
	assert_int_equal(ib_destroy_qp(qp), 0);
}

/* -- memory ------------------------------------------------------------------------- */

static void remote_writers_need_local_write(void **state)
{
	int rw = IB_ACCESS_REMOTE_WRITE, ra = IB_ACCESS_REMOTE_ATOMIC;

	assert_int_equal(ib_check_mr_access(0), 0);
	assert_int_equal(ib_check_mr_access(IB_ACCESS_REMOTE_READ), 0);
	assert_int_equal(ib_check_mr_access(rw), -EINVAL);
	assert_int_equal(ib_check_mr_access(ra), -EINVAL);
	assert_int_equal(ib_check_mr_access(rw | ra | IB_ACCESS_LOCAL_WRITE), 0);
}

static void unknown_access_bits_are_refused_and_hints_taken(void **state)
{
	for (int bit = 0; bit < 31; bit++) {
		int want = bit < 8 || (bit >= 20 && bit <= 29) ? 0 : -EINVAL;

		assert_int_equal(ib_check_mr_access(1 << bit | IB_ACCESS_LOCAL_WRITE),
				 want);
	}
	assert_int_equal(ib_check_mr_access(INT32_MIN), -EINVAL);
}

static void regions_have_a_length_and_do_not_wrap(void **state)
{
	struct fixture *f = *state;
	struct ib_mr *mr;

	assert_int_equal(PTR_ERR(ib_reg_user_mr(f->pd, 0x1000, 0, 0x1000, 0)), -EINVAL);
	assert_int_equal(PTR_ERR(ib_reg_user_mr(f->pd, UINT64_MAX, 2, 0, 0)), -EINVAL);
	assert_int_equal(PTR_ERR(ib_reg_user_mr(f->pd, 0, 2, UINT64_MAX, 0)), -EINVAL);
	assert_int_equal(PTR_ERR(ib_reg_user_mr(f->pd, 1, UINT64_MAX, 0, 0)), -EINVAL);
	mr = ib_reg_user_mr(f->pd, UINT64_MAX - 1, 1, 0, 0);
	assert_false(IS_ERR(mr));
	assert_int_equal(ib_dereg_mr(mr), 0);
}

static void rereg_changes_what_its_flags_name(void **state)
{
	struct fixture *f = *state;
	struct ib_pd *pd = ib_alloc_user_pd(f->context);
	struct ib_mr *mr = ib_reg_user_mr(f->pd, 0x1000, 16, 0, 0);
	int trans = IB_MR_REREG_TRANS, access = IB_MR_REREG_ACCESS,
	    to_pd = IB_MR_REREG_PD;

	assert_int_equal(ib_rereg_user_mr(mr, 0, 1, 1, 1, 0, pd), -EINVAL);
	assert_int_equal(ib_rereg_user_mr(mr, 8, 1, 1, 1, 0, pd), -EINVAL);
	assert_int_equal(ib_rereg_user_mr(mr, trans, 1, 0, 1, 0, pd), -EINVAL);
	assert_int_equal(ib_rereg_user_mr(mr, access, 1, 1, 1, 2, pd), -EINVAL);
	assert_int_equal(ib_rereg_user_mr(mr, to_pd, 1, 1, 1, 0, NULL), -EINVAL);
	assert_int_equal(mr->start, 0x1000);

	assert_int_equal(ib_rereg_user_mr(mr, trans, 0x2000, 8, 4, 1, pd), 0);
	assert_int_equal(mr->start, 0x2000);
	assert_int_equal(mr->length, 8);
	assert_int_equal(mr->iova, 4);
	assert_int_equal(mr->access, 0);
	assert_ptr_equal(mr->pd, f->pd);
	assert_int_equal(ib_rereg_user_mr(mr, access, 0, 0, 0, 1, NULL), 0);
	assert_int_equal(mr->access, 1);
	assert_int_equal(mr->length, 8);
	assert_int_equal(ib_rereg_user_mr(mr, to_pd, 0, 0, 0, 0, pd), 0);
	assert_ptr_equal(mr->pd, pd);
	assert_int_equal(f->pd->usecnt, 0);
	assert_int_equal(ib_dealloc_pd_user(pd), -EBUSY);
	assert_int_equal(ib_dereg_mr(mr), 0);
	assert_int_equal(ib_dealloc_pd_user(pd), 0);
}

static void rereg_that_the_driver_refuses_changes_nothing(void **state)
{
	struct fixture *f = *state;
	struct ib_mr *mr = ib_reg_user_mr(f->pd, 0x1000, 16, 0, 0);

	f->fake.refuse = -EOPNOTSUPP;
	assert_int_equal(ib_rereg_user_mr(mr, IB_MR_REREG_TRANS, 5, 5, 5, 0, NULL),
			 -EOPNOTSUPP);
	assert_int_equal(mr->start, 0x1000);
	assert_int_equal(mr->length, 16);
	f->fake.refuse = 0;
	assert_int_equal(ib_dereg_mr(mr), 0);
}

/* -- address handles ---------------------------------------------------------------- */

static void address_handles_on_ethernet_need_a_route(void **state)
{
	struct fixture *f = *state;
	struct rdma_ah_attr attr = { .port_num = 1, .has_grh = true };
	struct ib_ah *ah;

	attr.grh.sgid_index = 1; /* empty */
	assert_int_equal(PTR_ERR(rdma_create_ah(f->pd, &attr)), -EINVAL);
	attr.grh.sgid_index = 0;
	attr.port_num = 3;
	assert_int_equal(PTR_ERR(rdma_create_ah(f->pd, &attr)), -EINVAL);
	attr.port_num = 1;
	ah = rdma_create_ah(f->pd, &attr);
	assert_false(IS_ERR(ah));
	assert_int_equal(ib_dealloc_pd_user(f->pd), -EBUSY);
	assert_int_equal(rdma_destroy_ah(ah), 0);
	attr.has_grh = false;
	assert_int_equal(PTR_ERR(rdma_create_ah(f->pd, &attr)), -EINVAL);
	f->fake.link_layers[0] = IB_LINK_LAYER_INFINIBAND;
	ah = rdma_create_ah(f->pd, &attr);
	assert_int_equal(rdma_destroy_ah(ah), 0);
}

/* -- events ------------------------------------------------------------------------- */

struct listener {
	struct ib_event_handler handler;
	unsigned int heard;
	bool leave;
	u32 port_num;
};

static void listen_to(struct ib_event_handler *handler, struct ib_event *event)
{
	struct listener *l = container_of(handler, struct listener, handler);

	l->heard++;
	l->port_num = event->element.port_num;
	if (l->leave)
		ib_unregister_event_handler(handler);
}

static void events_reach_all_who_listen_even_if_one_leaves(void **state)
{
	struct fixture *f = *state;
	struct listener first = { .leave = true }, second = { 0 };
	struct ib_event event = {
		.device = &f->fake.ib,
		.element.port_num = 2,
		.event = IB_EVENT_PORT_ERR,
	};

	INIT_IB_EVENT_HANDLER(&first.handler, &f->fake.ib, listen_to);
	INIT_IB_EVENT_HANDLER(&second.handler, &f->fake.ib, listen_to);
	ib_register_event_handler(&first.handler);
	ib_register_event_handler(&second.handler);
	ib_dispatch_event(&event);
	ib_dispatch_event(&event);
	assert_int_equal(first.heard, 1);
	assert_int_equal(second.heard, 2);
	assert_int_equal(second.port_num, 2);
	ib_unregister_event_handler(&second.handler);
	ib_dispatch_event(&event);
	assert_int_equal(second.heard, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_node_lists_its_devices_in_order),
		TEST(a_device_in_use_is_not_unregistered),
		TEST(ports_count_from_one),
		TEST(gids_are_found_and_empty_places_told),
		TEST(a_device_without_operations_supports_nothing),
		TEST(a_driver_that_refuses_leaves_nothing_counted),
		TEST(what_others_stand_on_is_busy),
		TEST(a_queue_pair_stands_on_one_family),
		TEST(completion_queues_have_a_size_and_a_vector),
		TEST(a_modified_queue_pair_has_24_bit_psns_and_a_real_port),
		TEST(remote_writers_need_local_write),
		TEST(unknown_access_bits_are_refused_and_hints_taken),
		TEST(regions_have_a_length_and_do_not_wrap),
		TEST(rereg_changes_what_its_flags_name),
		TEST(rereg_that_the_driver_refuses_changes_nothing),
		TEST(address_handles_on_ethernet_need_a_route),
		TEST(events_reach_all_who_listen_even_if_one_leaves),
	};

	return harness_run(tests);
}
