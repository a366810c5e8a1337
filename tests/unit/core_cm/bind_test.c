// SPDX-License-Identifier: BSD-2-Clause
/* Spec/kernel 3.10, rdma_bind_addr, and the port spaces; spec/userland 3.2. */
#include "world.h"

static int bind_new(struct world *w, enum cma_port_space ps, const struct sockaddr *addr,
		    struct cma_id **ret)
{
	*ret = world_id(w, ps);
	return cma_bind_addr(*ret, addr);
}

static u16 port_of(struct cma_id *id)
{
	struct cma_route route;

	cma_query_route(id, &route);
	return addr_port((struct sockaddr *)&route.src);
}

static void a_specific_address_binds_to_its_device(void **state)
{
	struct world *w = *state;
	struct cma_route route;
	struct cma_id *id;

	world_add_second_device(w);
	assert_int_equal(bind_new(w, CMA_PS_UDP, at("10.0.0.1", 0), &id), 0);
	assert_int_equal(cma_id_state(id), CMA_ADDR_BOUND);
	cma_query_route(id, &route);
	assert_ptr_equal(route.device, &w->devices[1].ib);
	assert_int_equal(route.port_num, 1);
	assert_int_equal(route.pkey, 0xffff);
	assert_int_equal(route.num_paths, 0);
	assert_memory_equal(route.sgid.raw, w->devices[1].gids[0].gid.raw, 16);
	cma_id_destroy(id);
}

static void both_loopback_addresses_mean_the_first_device(void **state)
{
	struct world *w = *state;
	static const char *const texts[] = { "127.0.0.1", "::1" };

	for (int i = 0; i < 2; i++) {
		struct cma_route route;
		struct cma_id *id;

		assert_int_equal(bind_new(w, CMA_PS_UDP, at(texts[i], 0), &id), 0);
		cma_query_route(id, &route);
		assert_ptr_equal(route.device, &w->devices[0].ib);
		cma_id_destroy(id);
	}
}

static void a_wildcard_stays_unbound_but_has_a_port(void **state)
{
	struct world *w = *state;
	struct cma_route route;
	struct cma_id *id;

	assert_int_equal(bind_new(w, CMA_PS_UDP, at("0.0.0.0", 0), &id), 0);
	cma_query_route(id, &route);
	assert_null(route.device);
	assert_int_equal(port_of(id), 40000);
	cma_id_destroy(id);
}

static void errors_leave_the_id_idle(void **state)
{
	struct world *w = *state;
	struct sockaddr_storage unknown = { .ss_family = AF_UNIX };
	struct addr_sockaddr_ib ib = { .family = AF_IB,
				       .addr = { 0xfe, 0x80, [15] = 9 } };
	struct cma_id *id = world_id(w, CMA_PS_UDP);

	assert_int_equal(cma_bind_addr(id, (struct sockaddr *)&unknown), -EAFNOSUPPORT);
	assert_int_equal(cma_bind_addr(id, (struct sockaddr *)&ib), -ENODEV);
	assert_int_equal(cma_bind_addr(id, at("203.0.113.1", 0)), -EADDRNOTAVAIL);
	assert_int_equal(cma_bind_addr(id, at("192.0.2.9", 0)), -ENODEV);
	assert_int_equal(cma_bind_addr(id, at("fe80::1", 0)), -EINVAL); /* no scope */
	assert_int_equal(cma_id_state(id), CMA_IDLE);
	assert_int_equal(cma_bind_addr(id, at("127.0.0.1", 0)), 0);
	assert_int_equal(cma_bind_addr(id, at("127.0.0.1", 0)), -EINVAL); /* not idle */
	cma_id_destroy(id);
}

static void a_gid_of_another_type_than_the_ports_default_does_not_count(void **state)
{
	struct world *w = *state;
	struct cma_id *id;

	world_add_gid(&w->devices[0], "10.9.9.9", IB_GID_TYPE_ROCE, 1);
	assert_int_equal(bind_new(w, CMA_PS_UDP, at("10.9.9.9", 0), &id), -EADDRNOTAVAIL);
	cma_id_destroy(id);
}

static void a_link_local_address_is_its_interfaces(void **state)
{
	struct world *w = *state;
	struct sockaddr_in6 in6;
	struct cma_id *id;

	memcpy(&in6, at("fe80::1", 0), sizeof(in6));
	in6.sin6_scope_id = 2;
	assert_int_equal(bind_new(w, CMA_PS_UDP, (struct sockaddr *)&in6, &id),
			 -EADDRNOTAVAIL);
	in6.sin6_scope_id = 1;
	assert_int_equal(cma_bind_addr(id, (struct sockaddr *)&in6), 0);
	cma_id_destroy(id);
}

static void ipoib_port_space_wants_infiniband(void **state)
{
	struct world *w = *state;
	struct cma_id *id;

	assert_int_equal(bind_new(w, CMA_PS_IPOIB, at("127.0.0.1", 0), &id), -EINVAL);
	cma_id_destroy(id);
}

static void an_unknown_port_space_is_refused(void **state)
{
	struct world *w = *state;
	struct cma_id *id;

	assert_int_equal(bind_new(w, 0x0666, at("127.0.0.1", 0), &id), -EPROTONOSUPPORT);
	assert_int_equal(cma_id_state(id), CMA_IDLE);
	cma_id_destroy(id);
}

static void low_ports_are_for_the_privileged(void **state)
{
	struct world *w = *state;
	struct cma_id_config config = {
		.ps = CMA_PS_UDP,
		.qp_type = IB_QPT_UD,
		.privileged = true,
		.event = world_event,
	};
	struct cma_id *id, *root;

	assert_int_equal(bind_new(w, CMA_PS_UDP, at("127.0.0.1", 1023), &id), -EACCES);
	assert_int_equal(cma_bind_addr(id, at("127.0.0.1", 1024)), 0);
	assert_int_equal(cma_id_create(w->cma, &config, &root), 0);
	assert_int_equal(cma_bind_addr(root, at("127.0.0.1", 1023)), 0);
	cma_id_destroy(id);
	cma_id_destroy(root);
}

static void a_port_is_free_again_after_its_id(void **state)
{
	struct world *w = *state;
	struct cma_id *a, *b;

	assert_int_equal(bind_new(w, CMA_PS_UDP, at("127.0.0.1", 7174), &a), 0);
	assert_int_equal(bind_new(w, CMA_PS_UDP, at("127.0.0.1", 7174), &b), -EADDRINUSE);
	cma_id_destroy(a);
	assert_int_equal(cma_bind_addr(b, at("127.0.0.1", 7174)), 0);
	cma_id_destroy(b);
}

static void port_spaces_do_not_see_each_other(void **state)
{
	struct world *w = *state;
	struct cma_id *a, *b, *c;

	assert_int_equal(bind_new(w, CMA_PS_UDP, at("127.0.0.1", 7174), &a), 0);
	assert_int_equal(bind_new(w, CMA_PS_TCP, at("127.0.0.1", 7174), &b), 0);
	assert_int_equal(bind_new(w, CMA_PS_IB, at("127.0.0.1", 7174), &c), 0);
	cma_id_destroy(a);
	cma_id_destroy(b);
	cma_id_destroy(c);
}

static void wildcards_conflict_with_everything_on_their_port(void **state)
{
	struct world *w = *state;
	struct cma_id *a, *b, *c;

	world_add_second_device(w);
	assert_int_equal(bind_new(w, CMA_PS_UDP, at("127.0.0.1", 7174), &a), 0);
	assert_int_equal(bind_new(w, CMA_PS_UDP, at("0.0.0.0", 7174), &b),
			 -EADDRNOTAVAIL);
	assert_int_equal(bind_new(w, CMA_PS_UDP, at("10.0.0.1", 7174), &c), 0);
	cma_id_destroy(a);
	cma_id_destroy(b);
	cma_id_destroy(c);
}

static void reuse_takes_two(void **state)
{
	struct world *w = *state;
	struct cma_id *a = world_id(w, CMA_PS_UDP), *b = world_id(w, CMA_PS_UDP);

	assert_int_equal(cma_set_reuseaddr(a, true), 0);
	assert_int_equal(cma_bind_addr(a, at("127.0.0.1", 7174)), 0);
	assert_int_equal(cma_bind_addr(b, at("127.0.0.1", 7174)), -EADDRINUSE);
	assert_int_equal(cma_set_reuseaddr(b, true), 0);
	assert_int_equal(cma_bind_addr(b, at("127.0.0.1", 7174)), 0);
	assert_int_equal(cma_set_reuseaddr(b, false), -EINVAL); /* bound */
	cma_id_destroy(a);
	cma_id_destroy(b);
}

static void afonly_ids_of_two_families_share_a_port(void **state)
{
	struct world *w = *state;
	struct cma_id *a = world_id(w, CMA_PS_UDP), *b = world_id(w, CMA_PS_UDP);

	assert_int_equal(cma_set_afonly(a, true), 0);
	assert_int_equal(cma_bind_addr(a, at("0.0.0.0", 7174)), 0);
	assert_int_equal(cma_bind_addr(b, at("::", 7174)), -EADDRNOTAVAIL);
	assert_int_equal(cma_set_afonly(b, true), 0);
	assert_int_equal(cma_bind_addr(b, at("::", 7174)), 0);
	assert_int_equal(cma_set_afonly(b, false), -EINVAL); /* bound */
	cma_id_destroy(a);
	cma_id_destroy(b);
}

static void ephemeral_ports_end_and_come_back(void **state)
{
	struct world *w = *state;
	struct cma_id *ids[5];

	for (int i = 0; i < 4; i++) {
		assert_int_equal(bind_new(w, CMA_PS_UDP, at("127.0.0.1", 0), &ids[i]), 0);
		assert_int_equal(port_of(ids[i]), 40000 + i);
	}
	assert_int_equal(bind_new(w, CMA_PS_UDP, at("127.0.0.1", 0), &ids[4]),
			 -EADDRNOTAVAIL);
	cma_id_destroy(ids[2]);
	assert_int_equal(cma_bind_addr(ids[4], at("127.0.0.1", 0)), 0);
	assert_int_equal(port_of(ids[4]), 40002);
	cma_id_destroy(ids[0]);
	cma_id_destroy(ids[1]);
	cma_id_destroy(ids[3]);
	cma_id_destroy(ids[4]);
}

static void listen_binds_an_idle_id_and_is_then_refused(void **state)
{
	struct world *w = *state;
	struct cma_id *id = world_id(w, CMA_PS_TCP);

	assert_int_equal(cma_listen(id, 1), -EOPNOTSUPP);
	assert_int_equal(cma_id_state(id), CMA_ADDR_BOUND);
	assert_int_equal(cma_resolve_addr(id, NULL, at("127.0.0.1", 1), 100), 0);
	assert_int_equal(cma_listen(id, 1), -EINVAL);
	cma_id_destroy(id);
}

static void ack_timeout_is_for_connected_ids(void **state)
{
	struct world *w = *state;
	struct cma_id *ud = world_id(w, CMA_PS_UDP), *rc = world_id(w, CMA_PS_TCP);

	assert_int_equal(cma_set_ack_timeout(ud, 14), -EINVAL);
	assert_int_equal(cma_set_ack_timeout(rc, 14), 0);
	cma_id_destroy(ud);
	cma_id_destroy(rc);
}

static void queue_pair_attributes_carry_the_q_key_of_the_port_space(void **state)
{
	static const struct {
		enum cma_port_space ps;
		int mask;
		u32 qkey;
	} rows[] = {
		{ CMA_PS_UDP, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY,
		  0x01234567 },
		{ CMA_PS_IB, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY,
		  0x01234567 },
		{ CMA_PS_TCP,
		  IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS, 0 },
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT };
		struct cma_id *id = world_id(w, rows[i].ps);
		int mask = 0;

		assert_int_equal(cma_init_qp_attr(id, &attr, &mask),
				 -EINVAL); /* unbound */
		assert_int_equal(cma_bind_addr(id, at("127.0.0.1", 0)), 0);
		assert_int_equal(cma_init_qp_attr(id, &attr, &mask), 0);
		assert_int_equal(mask, rows[i].mask);
		assert_int_equal(attr.qkey, rows[i].qkey);
		assert_int_equal(attr.pkey_index, 0);
		assert_int_equal(attr.port_num, 1);
		cma_id_destroy(id);
	}
}

static void a_port_without_the_default_p_key_has_no_queue_pairs(void **state)
{
	struct world *w = *state;
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT };
	struct cma_id *id;
	int mask;

	w->devices[0].pkey = 0x8001;
	assert_int_equal(bind_new(w, CMA_PS_UDP, at("127.0.0.1", 0), &id), 0);
	assert_int_equal(cma_init_qp_attr(id, &attr, &mask), -ENOENT);
	cma_id_destroy(id);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(a_specific_address_binds_to_its_device),
		world_test(both_loopback_addresses_mean_the_first_device),
		world_test(a_wildcard_stays_unbound_but_has_a_port),
		world_test(errors_leave_the_id_idle),
		world_test(a_gid_of_another_type_than_the_ports_default_does_not_count),
		world_test(a_link_local_address_is_its_interfaces),
		world_test(ipoib_port_space_wants_infiniband),
		world_test(an_unknown_port_space_is_refused),
		world_test(low_ports_are_for_the_privileged),
		world_test(a_port_is_free_again_after_its_id),
		world_test(port_spaces_do_not_see_each_other),
		world_test(wildcards_conflict_with_everything_on_their_port),
		world_test(reuse_takes_two),
		world_test(afonly_ids_of_two_families_share_a_port),
		world_test(ephemeral_ports_end_and_come_back),
		world_test(listen_binds_an_idle_id_and_is_then_refused),
		world_test(ack_timeout_is_for_connected_ids),
		world_test(queue_pair_attributes_carry_the_q_key_of_the_port_space),
		world_test(a_port_without_the_default_p_key_has_no_queue_pairs),
	};

	return harness_run(tests);
}
