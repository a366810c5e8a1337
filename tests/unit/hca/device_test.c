// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the device says of itself, its limits, and its queue pairs' states.
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

/* -- limits ------------------------------------------------------------------------- */

static void every_limit_can_be_set_by_name_up_to_its_maximum(void **state)
{
	struct hca_limits limits;
	unsigned int n = 0;

	hca_limits_init(&limits);
	for (; hca_limit_info(n).name; n++) {
		struct hca_limit_info info = hca_limit_info(n);

		assert_true(info.value <= info.maximum);
		assert_int_equal(hca_limit_set(&limits, info.name, 0), 0);
		assert_int_equal(hca_limit_set(&limits, info.name, info.maximum), 0);
		assert_int_equal(hca_limit_set(&limits, info.name, info.maximum + 1ull),
				 -ERANGE);
		assert_int_equal(hca_limit_set(&limits, info.name, UINT64_MAX), -ERANGE);
	}
	assert_true(n > 10);
	assert_int_equal(limits.max_qp, 65536);
	assert_int_equal(hca_limit_set(&limits, "max_qp", 5), 0);
	assert_int_equal(limits.max_qp, 5);
	assert_int_equal(hca_limit_set(&limits, "max_q", 5), -EINVAL);
	assert_int_equal(hca_limit_set(&limits, "", 5), -EINVAL);
}

static void the_device_shows_its_limits(void **state)
{
	struct world *w = *state;
	struct ib_device_attr attr;

	w->config.limits.max_qp = 11;
	w->config.limits.max_mcast_grp = 12;
	w->config.limits.max_sge = 13;
	world_boot(w);
	assert_int_equal(ib_query_device(w->ib, &attr), 0);
	assert_int_equal(attr.max_qp, 11);
	assert_int_equal(attr.max_mcast_grp, 12);
	assert_int_equal(attr.max_send_sge, 13);
	assert_int_equal(attr.max_recv_sge, 13);
	assert_true(attr.vendor_id != 0);
	assert_true(attr.sys_image_guid != 0);
	assert_int_equal(attr.max_pkeys, 1);
	assert_string_equal(attr.fw_ver, VERBCAST_VERSION);
}

static void at_a_limit_objects_are_refused_until_one_goes(void **state)
{
	struct world *w = *state;
	struct ib_cq_init_attr cq_attr = { .cqe = 1 };
	struct world_process p;
	struct hca_use use;
	struct ib_qp *qp;
	struct ib_mr *mr;

	w->config.limits.max_pd = 1;
	w->config.limits.max_cq = 1;
	w->config.limits.max_mr = 1;
	w->config.limits.max_qp = 1;
	world_boot(w);
	process_begin(w, 1, &p);
	for (int turn = 0; turn < 3; turn++) {
		qp = process_qp(&p);
		mr = ib_reg_user_mr(p.pd, 0x1000, 1, 0, 0);
		assert_int_equal(PTR_ERR(ib_alloc_user_pd(p.context)), -ENOMEM);
		assert_int_equal(PTR_ERR(ib_create_user_cq(p.context, NULL, &cq_attr)),
				 -ENOMEM);
		assert_int_equal(PTR_ERR(ib_reg_user_mr(p.pd, 0x1000, 1, 0, 0)), -ENOMEM);
		assert_int_equal(
			PTR_ERR(process_try_qp(
				&p, (struct ib_qp_init_attr){ .qp_type = IB_QPT_UD })),
			-ENOMEM);
		hca_device_use(w->device, &use);
		assert_int_equal(use.pds + use.cqs + use.mrs + use.qps, 4);
		assert_int_equal(ib_dereg_mr(mr), 0);
		assert_int_equal(ib_destroy_qp(qp), 0);
	}
	process_end(&p);
	hca_device_use(w->device, &use);
	assert_int_equal(use.pds + use.cqs + use.mrs + use.qps, 0);
}

static void a_completion_queue_takes_max_cqe_and_not_one_more(void **state)
{
	struct world *w = *state;
	struct ib_cq_init_attr attr = { .cqe = 4194303 };
	struct world_process p;
	struct ib_cq *cq;

	world_boot(w);
	process_begin(w, 1, &p);
	cq = ib_create_user_cq(p.context, NULL, &attr);
	assert_false(IS_ERR(cq));
	assert_int_equal(cq->cqe, 4194303);
	assert_int_equal(ib_resize_cq(cq, 4194304), -EINVAL);
	assert_int_equal(cq->cqe, 4194303);
	assert_int_equal(ib_destroy_cq_user(cq), 0);
	attr.cqe++;
	assert_int_equal(PTR_ERR(ib_create_user_cq(p.context, NULL, &attr)), -EINVAL);
	attr = (struct ib_cq_init_attr){ .cqe = 1, .flags = 1 };
	assert_int_equal(PTR_ERR(ib_create_user_cq(p.context, NULL, &attr)), -EOPNOTSUPP);
	process_end(&p);
}

/* -- device and port ---------------------------------------------------------------- */

static void the_port_is_in_the_tables(void **state)
{
	struct world *w = *state;
	const struct shm_port *port = &w->tables->ports[WORLD_PORT];

	world_boot(w);
	assert_int_equal(port->node, 2);
	assert_int_equal(port->device, WORLD_DEVICE);
	assert_int_equal(port->port_num, 1);
	assert_int_equal(port->link_layer, SHM_LINK_ETHERNET);
	assert_int_equal(port->state, IB_PORT_ACTIVE);
	assert_int_equal(port->active_mtu, 5);
	assert_int_equal(port->pkeys[0], 0xffff);
	assert_memory_equal(port->gids[0].gid, world_gids[0].gid.raw, 16);
	assert_int_equal(port->gids[0].type, SHM_GID_ROCE_V2);
	assert_true(port->gids[0].valid && port->gids[1].valid);
	assert_true(port->gids[0].valid != port->gids[1].valid);
	assert_false(port->gids[2].valid);
}

static void the_port_is_described(void **state)
{
	struct world *w = *state;
	struct ib_port_attr port;
	struct ib_gid_attr gid;
	struct ib_device_info info;
	u16 pkey;

	world_boot(w);
	assert_int_equal(ib_query_port(w->ib, 1, &port), 0);
	assert_int_equal(port.state, IB_PORT_ACTIVE);
	assert_int_equal(port.active_mtu, 5);
	assert_int_equal(port.max_mtu, 5);
	assert_true(port.max_msg_sz > 4096);
	assert_int_equal(port.gid_tbl_len, SHM_GIDS_MAX);
	assert_int_equal(rdma_port_get_link_layer(w->ib, 1), IB_LINK_LAYER_ETHERNET);
	assert_int_equal(rdma_query_gid(w->ib, 1, 1, &gid), 0);
	assert_int_equal(gid.gid.raw[15], 1);
	assert_int_equal(rdma_query_gid(w->ib, 1, SHM_GIDS_MAX - 1, &gid), -ENODATA);
	assert_int_equal(rdma_query_gid(w->ib, 1, SHM_GIDS_MAX, &gid), -EINVAL);
	assert_int_equal(ib_query_pkey(w->ib, 1, 0, &pkey), 0);
	assert_int_equal(pkey, 0xffff);
	assert_int_equal(ib_query_pkey(w->ib, 1, 1, &pkey), -EINVAL);
	assert_int_equal(ib_device_ifindex(w->ib, 1), 1);
	assert_int_equal(ib_describe_device(w->ib, &info), 0);
	assert_int_equal(info.site_device, WORLD_DEVICE);
	assert_int_equal(info.first_port, WORLD_PORT);
	assert_string_equal(info.netdev, "lo");
}

static void a_wrong_configuration_makes_no_device(void **state)
{
	struct world *w = *state;
	struct hca_device *device;
	struct hca_device_config config = w->config;

	config.link.gid_count = HCA_GIDS_MAX + 1;
	assert_int_equal(hca_device_create(w->node, &config, &device), -EINVAL);
	config = w->config;
	config.name = "";
	assert_int_equal(hca_device_create(w->node, &config, &device), -EINVAL);
	config = w->config;
	config.guid = 0;
	assert_int_equal(hca_device_create(w->node, &config, &device), -EINVAL);
	config = w->config;
	config.port_index = SHM_PORTS_MAX;
	assert_int_equal(hca_device_create(w->node, &config, &device), -EINVAL);
	config = w->config;
	config.link.netdev = "sixteen-letters-";
	assert_int_equal(hca_device_create(w->node, &config, &device), -EINVAL);
	world_boot(w);
	assert_int_equal(hca_device_create(w->node, &w->config, &device), -EEXIST);
}

static void a_used_device_stays(void **state)
{
	struct world *w = *state;
	struct world_process p;

	world_boot(w);
	process_begin(w, 1, &p);
	assert_int_equal(hca_device_destroy(w->device), -EBUSY);
	assert_int_equal(w->tables->ports[WORLD_PORT].state, IB_PORT_ACTIVE);
	process_end(&p);
}

/* -- queue pairs -------------------------------------------------------------------- */

static void only_user_ud_queue_pairs_are_made(void **state)
{
	struct world *w = *state;
	struct world_process p;
	struct ib_pd *kernel_pd;
	struct ib_cq_init_attr cq_attr = { .cqe = 1 };
	struct ib_qp_init_attr attr = { .qp_type = IB_QPT_UD };

	world_boot(w);
	process_begin(w, 1, &p);
	for (int type = IB_QPT_SMI; type < 12; type++) {
		attr.qp_type = type;
		if (type != IB_QPT_UD)
			assert_int_equal(PTR_ERR(process_try_qp(&p, attr)), -EOPNOTSUPP);
	}
	attr = (struct ib_qp_init_attr){ .qp_type = IB_QPT_UD, .create_flags = 1 << 8 };
	assert_int_equal(PTR_ERR(process_try_qp(&p, attr)), -EOPNOTSUPP);
	kernel_pd = ib_alloc_pd(w->ib, 0);
	attr = (struct ib_qp_init_attr){ .qp_type = IB_QPT_UD };
	attr.send_cq = attr.recv_cq = ib_create_cq(w->ib, NULL, &cq_attr);
	assert_int_equal(PTR_ERR(ib_create_qp(kernel_pd, &attr)), -EOPNOTSUPP);
	ib_destroy_cq(attr.send_cq);
	ib_dealloc_pd(kernel_pd);
	process_end(&p);
}

static void try_caps(struct world_process *p, struct ib_qp_cap cap, int want)
{
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_UD,
		.cap = cap,
		.create_flags = IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK,
	};
	struct ib_qp *qp = process_try_qp(p, attr);

	if (want < 0) {
		assert_int_equal(PTR_ERR(qp), want);
		return;
	}
	assert_false(IS_ERR(qp));
	assert_int_equal(ib_destroy_qp(qp), 0);
}

static void caps_are_granted_up_to_the_limits(void **state)
{
	struct world *w = *state;
	const struct hca_limits *l = &w->config.limits;
	struct world_process p;

	world_boot(w);
	process_begin(w, 1, &p);
	try_caps(&p, (struct ib_qp_cap){ 0 }, 0);
	try_caps(&p,
		 (struct ib_qp_cap){ l->max_qp_wr, l->max_qp_wr, l->max_sge, l->max_sge,
				     l->max_inline },
		 0);
	try_caps(&p, (struct ib_qp_cap){ .max_send_wr = l->max_qp_wr + 1 }, -EINVAL);
	try_caps(&p, (struct ib_qp_cap){ .max_recv_wr = l->max_qp_wr + 1 }, -EINVAL);
	try_caps(&p, (struct ib_qp_cap){ .max_send_sge = l->max_sge + 1 }, -EINVAL);
	try_caps(&p, (struct ib_qp_cap){ .max_recv_sge = l->max_sge + 1 }, -EINVAL);
	try_caps(&p, (struct ib_qp_cap){ .max_inline_data = l->max_inline + 1 }, -EINVAL);
	process_end(&p);
}

static int to_state(struct ib_qp *qp, enum ib_qp_state next, int mask)
{
	struct ib_qp_attr attr = {
		.qp_state = next,
		.cur_qp_state = IB_QPS_RTR,
		.port_num = 1,
		.qkey = 0x11111111,
		.sq_psn = 77,
	};

	return ib_modify_qp(qp, &attr, IB_QP_STATE | mask);
}

#define TO_INIT (IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY)

static void a_queue_pair_walks_its_states_and_remembers(void **state)
{
	struct world *w = *state;
	struct world_process p;
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;
	struct ib_qp *qp;

	world_boot(w);
	process_begin(w, 1, &p);
	qp = process_qp(&p);
	assert_int_equal(to_state(qp, IB_QPS_RTR, 0), -EINVAL);
	assert_int_equal(to_state(qp, IB_QPS_INIT, IB_QP_PORT), -EINVAL);
	assert_int_equal(to_state(qp, IB_QPS_INIT, TO_INIT), 0);
	assert_int_equal(to_state(qp, IB_QPS_RTR, 0), 0);
	assert_int_equal(to_state(qp, IB_QPS_RTS, 0), -EINVAL);
	assert_int_equal(to_state(qp, IB_QPS_RTS, IB_QP_SQ_PSN | IB_QP_CUR_STATE), 0);
	assert_int_equal(ib_query_qp(qp, &attr, 0, &init), 0);
	assert_int_equal(attr.qp_state, IB_QPS_RTS);
	assert_int_equal(attr.cur_qp_state, IB_QPS_RTS);
	assert_int_equal(attr.qkey, 0x11111111);
	assert_int_equal(attr.sq_psn, 77);
	assert_int_equal(attr.port_num, 1);
	/* CUR_STATE says RTR, which it is no more. */
	assert_int_equal(to_state(qp, IB_QPS_RTS, IB_QP_CUR_STATE), -EINVAL);
	assert_int_equal(to_state(qp, IB_QPS_ERR, 0), 0);
	assert_int_equal(to_state(qp, IB_QPS_RTS, IB_QP_SQ_PSN), -EINVAL);
	assert_int_equal(to_state(qp, IB_QPS_RESET, 0), 0);
	assert_int_equal(ib_query_qp(qp, &attr, 0, &init), 0);
	assert_int_equal(attr.qp_state, IB_QPS_RESET);
	assert_int_equal(attr.qkey, 0);
	assert_int_equal(ib_destroy_qp(qp), 0);
	process_end(&p);
}

static void a_send_queue_error_that_nobody_told_can_be_left(void **state)
{
	struct world *w = *state;
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTS, .cur_qp_state = IB_QPS_SQE };
	struct world_process p;
	struct ib_qp *qp;

	world_boot(w);
	process_begin(w, 1, &p);
	qp = process_qp(&p);
	assert_int_equal(to_state(qp, IB_QPS_INIT, TO_INIT), 0);
	assert_int_equal(to_state(qp, IB_QPS_RTR, 0), 0);
	assert_int_equal(ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_CUR_STATE), -EINVAL);
	assert_int_equal(to_state(qp, IB_QPS_RTS, IB_QP_SQ_PSN), 0);
	assert_int_equal(ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_CUR_STATE), 0);
	assert_int_equal(ib_destroy_qp(qp), 0);
	process_end(&p);
}

static void a_p_key_index_must_exist(void **state)
{
	struct world *w = *state;
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT,
				   .port_num = 1,
				   .pkey_index = 1 };
	struct world_process p;
	struct ib_qp *qp;

	world_boot(w);
	process_begin(w, 1, &p);
	qp = process_qp(&p);
	assert_int_equal(ib_modify_qp(qp, &attr, IB_QP_STATE | TO_INIT), -EINVAL);
	attr.pkey_index = 0;
	assert_int_equal(ib_modify_qp(qp, &attr, IB_QP_STATE | TO_INIT), 0);
	attr.pkey_index = 1;
	assert_int_equal(ib_modify_qp(qp, &attr, IB_QP_PKEY_INDEX), -EINVAL);
	assert_int_equal(ib_destroy_qp(qp), 0);
	process_end(&p);
}

static void a_context_is_of_a_process_of_the_site(void **state)
{
	struct world *w = *state;

	world_boot(w);
	assert_int_equal(PTR_ERR(ib_alloc_ucontext(w->ib, SHM_SLOTS_MAX)), -EINVAL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_limit_can_be_set_by_name_up_to_its_maximum),
		TEST(the_device_shows_its_limits),
		TEST(at_a_limit_objects_are_refused_until_one_goes),
		TEST(a_completion_queue_takes_max_cqe_and_not_one_more),
		TEST(the_port_is_in_the_tables),
		TEST(the_port_is_described),
		TEST(a_wrong_configuration_makes_no_device),
		TEST(a_used_device_stays),
		TEST(only_user_ud_queue_pairs_are_made),
		TEST(caps_are_granted_up_to_the_limits),
		TEST(a_queue_pair_walks_its_states_and_remembers),
		TEST(a_send_queue_error_that_nobody_told_can_be_left),
		TEST(a_p_key_index_must_exist),
		TEST(a_context_is_of_a_process_of_the_site),
	};

	return harness_run(tests);
}
