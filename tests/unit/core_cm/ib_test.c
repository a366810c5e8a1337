/* SPDX-License-Identifier: BSD-2-Clause */
/* rdma_cm on InfiniBand: spec/kernel 3.2 to 3.4, 3.6, 3.10, and the interface behind it. */
#include "ib_world.h"
#include "wire/sa.h"

#define MEMBER (fake_sa.members[fake_sa.joins - 1])

static struct cma_id *bound_id(enum cma_port_space ps, const char *addr)
{
	struct cma_id *id = world_id(ib_world.w, ps);

	assert_int_equal(cma_bind_addr(id, at(addr, 0)), 0);
	return id;
}

static int join(struct cma_id *id, const struct sockaddr *addr,
		struct cma_multicast **ret)
{
	return cma_join_multicast(id, addr, CMA_JOIN_FULLMEMBER, ib_world.w, ret);
}

/* The answer of an SA that has put the member into a group of its MGID. */
static void answer(int status)
{
	MEMBER->rec.mlid = htobe16(0xc005);
	MEMBER->rec.sl = 2;
	MEMBER->callback(status, MEMBER);
}

/* -- the interface ------------------------------------------------------------------ */

static void the_broadcast_group_is_joined_and_joined_again(void **state)
{
	struct ib_sa_multicast *m = fake_sa.members[0];
	struct ib_event event = { .device = &ib_world.vib.ib,
				  .event = IB_EVENT_CLIENT_REREGISTER,
				  .element.port_num = 1 };
	struct ipoib_interface i;
	u8 mgid[16];

	addr_to_gid(at("ff12:401b:ffff::ffff:ffff", 0), mgid);
	assert_int_equal(fake_sa.joins, 1);
	assert_memory_equal(m->rec.mgid.raw, mgid, 16);
	assert_int_equal(be64toh(m->comp_mask.mask),
			 SA_MCM_MGID | SA_MCM_PORT_GID | SA_MCM_PKEY | SA_MCM_JOIN_STATE);
	assert_int_equal(m->rec.join_state, 1);
	assert_int_equal(be16toh(m->rec.pkey), 0xffff);
	assert_int_equal(ipoib_find_by_port(ib_world.ipoib, &ib_world.vib.ib, 1, &i), 0);
	assert_false(i.up);
	ib_world_up();
	assert_int_equal(ipoib_find_by_addr(ib_world.ipoib, at("198.18.0.1", 0), &i), 0);
	assert_true(i.up);
	assert_int_equal(i.mtu, 2044);
	/* Lost: freed and asked for anew, without a pause. */
	m->callback(-ENETRESET, m);
	ib_dispatch_event(&event);
	ib_world_run_timers(0);
	assert_int_equal(fake_sa.frees, 1);
	assert_int_equal(fake_sa.joins, 2);
}

static void a_refused_broadcast_join_is_tried_again_with_growing_pauses(void **state)
{
	u64 pause = 1000 * TIMER_MS;

	for (unsigned int n = 1; n < 7; n++) {
		assert_int_equal(fake_sa.joins, n);
		answer(-EINVAL);
		ib_world_run_timers(pause - 1);
		assert_int_equal(fake_sa.joins, n);
		ib_world_run_timers(1);
		pause = pause < 16000 * TIMER_MS ? 2 * pause : pause;
	}
	ib_world_up();
}

/* -- bind and resolve --------------------------------------------------------------- */

static void an_interface_address_means_the_infiniband_port(void **state)
{
	struct cma_id *id = bound_id(CMA_PS_UDP, "198.18.0.1");
	struct cma_route route;

	cma_query_route(id, &route);
	assert_ptr_equal(route.device, &ib_world.vib.ib);
	assert_memory_equal(route.sgid.raw, ib_world.vib.gids[0].gid.raw, 16);
	assert_int_equal(route.pkey, 0xffff);
	cma_id_destroy(id);
	id = bound_id(CMA_PS_IPOIB, "fdc6:1200::1");
	cma_id_destroy(id);
	id = world_id(ib_world.w, CMA_PS_UDP);
	assert_int_equal(cma_bind_addr(id, at("198.18.0.2", 0)), -EADDRNOTAVAIL);
	assert_int_equal(cma_bind_addr(id, at("fe80::5", 0)), -EINVAL);
	cma_id_destroy(id);
}

static void a_port_is_bound_to_by_gid(void **state)
{
	struct addr_sockaddr_ib ib = { .family = AF_IB };
	struct cma_id *id = world_id(ib_world.w, CMA_PS_IB);
	struct cma_multicast *mc;
	struct cma_route route;

	memcpy(ib.addr, ib_world.vib.gids[0].gid.raw, 16);
	assert_int_equal(cma_bind_addr(id, (struct sockaddr *)&ib), 0);
	cma_query_route(id, &route);
	assert_ptr_equal(route.device, &ib_world.vib.ib);
	/* Only the P_Key of its broadcast address is known (spec/kernel 3.3). */
	ib_world_up();
	assert_int_equal(join(id, at("239.1.2.3", 0), &mc), -EADDRNOTAVAIL);
	cma_id_destroy(id);
	ib.addr[15] ^= 1;
	id = world_id(ib_world.w, CMA_PS_IB);
	assert_int_equal(cma_bind_addr(id, (struct sockaddr *)&ib), -ENODEV);
	cma_id_destroy(id);
}

static void destinations_resolve_to_gids(void **state)
{
	static const struct {
		const char *dst, *dgid;
	} rows[] = {
		{ "198.18.0.2", "fe80::6" },
		{ "198.18.0.1", "fe80::5" },
		{ "239.1.2.3", "ff12:401b:ffff::f01:203" },
	};
	struct cma_route route;
	u8 gid[16];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cma_id *id = bound_id(CMA_PS_UDP, "198.18.0.1");

		assert_int_equal(cma_resolve_addr(id, NULL, at(rows[i].dst, 1), 1000), 0);
		assert_int_equal(world_only_event(ib_world.w)->event,
				 CMA_EVENT_ADDR_RESOLVED);
		cma_query_route(id, &route);
		addr_to_gid(at(rows[i].dgid, 0), gid);
		assert_memory_equal(route.dgid.raw, gid, 16);
		cma_id_destroy(id);
	}
}

static void a_neighbour_takes_an_unbound_id_to_infiniband(void **state)
{
	struct cma_id *id = world_id(ib_world.w, CMA_PS_UDP);
	struct cma_route route;

	assert_int_equal(cma_resolve_addr(id, NULL, at("198.18.0.2", 7), 1000), 0);
	assert_int_equal(world_only_event(ib_world.w)->event, CMA_EVENT_ADDR_RESOLVED);
	cma_query_route(id, &route);
	assert_ptr_equal(route.device, &ib_world.vib.ib);
	assert_true(addr_equal_host((struct sockaddr *)&route.src, at("198.18.0.1", 0)));
	cma_id_destroy(id);
	id = world_id(ib_world.w, CMA_PS_UDP);
	assert_int_equal(cma_resolve_addr(id, NULL, at("198.18.0.3", 7), 1000), 0);
	assert_int_equal(world_only_event(ib_world.w)->status, -EHOSTUNREACH);
	cma_id_destroy(id);
}

static void a_route_is_asked_of_the_administrator(void **state)
{
	struct cma_id *id = bound_id(CMA_PS_UDP, "198.18.0.1");
	struct sa_path_rec path = { .mtu = 4,
				    .rate = 3,
				    .sl = 5,
				    .packet_life_time = 18,
				    .traffic_class = 7,
				    .flow_label = htobe32(9),
				    .ib = { .slid = htobe16(2), .dlid = htobe16(3) } };
	struct cma_route route;

	assert_int_equal(cma_resolve_addr(id, NULL, at("198.18.0.2", 1), 1000), 0);
	world_only_event(ib_world.w);
	assert_int_equal(cma_resolve_route(id, 1000), 0);
	assert_memory_equal(fake_sa.path_asked.sgid.raw, ib_world.vib.gids[0].gid.raw,
			    16);
	fake_sa.path_callback(-ETIMEDOUT, NULL, fake_sa.path_context);
	assert_int_equal(world_only_event(ib_world.w)->status, -ETIMEDOUT);
	assert_int_equal(cma_resolve_route(id, 1000), 0);
	fake_sa.path_callback(0, &path, fake_sa.path_context);
	assert_int_equal(world_only_event(ib_world.w)->event, CMA_EVENT_ROUTE_RESOLVED);
	cma_query_route(id, &route);
	assert_int_equal(route.mtu, 4);
	assert_int_equal(route.slid, 2);
	assert_int_equal(route.dlid, 3);
	assert_int_equal(route.sl, 5);
	assert_int_equal(route.traffic_class, 7);
	assert_int_equal(route.flow_label, 9);
	assert_int_equal(route.packet_life_time, 18);
	assert_int_equal(route.num_paths, 1);
	cma_id_destroy(id);
}

static void a_cancelled_route_reports_to_nobody(void **state)
{
	struct cma_id *id = bound_id(CMA_PS_UDP, "198.18.0.1");

	assert_int_equal(cma_resolve_addr(id, NULL, at("198.18.0.2", 1), 1000), 0);
	world_only_event(ib_world.w);
	assert_int_equal(cma_resolve_route(id, 1000), 0);
	cma_id_destroy(id);
	assert_int_equal(fake_sa.cancels, 1);
	fake_sa.path_callback(-EINTR, NULL, fake_sa.path_context);
	world_run(ib_world.w);
	assert_int_equal(ib_world.w->event_count, 0);
}

/* -- joins -------------------------------------------------------------------------- */

static void a_join_needs_the_broadcast_group(void **state)
{
	struct cma_id *id = bound_id(CMA_PS_UDP, "198.18.0.1");
	struct cma_multicast *mc;

	assert_int_equal(join(id, at("239.1.2.3", 0), &mc), -EADDRNOTAVAIL);
	ib_world_up();
	fake_sa.join_result = -ENOMEM;
	assert_int_equal(join(id, at("239.1.2.3", 0), &mc), -ENOMEM);
	cma_id_destroy(id);
}

static void groups_follow_from_addresses(void **state)
{
	static const struct {
		const char *addr;
		enum cma_port_space ps;
		const char *mgid;
	} rows[] = {
		/* spec/kernel 3.2, second table */
		{ "224.0.0.1", CMA_PS_UDP, "ff12:4001:ffff::1" },
		{ "224.0.0.1", CMA_PS_IPOIB, "ff12:401b:ffff::1" },
		{ "239.1.2.3", CMA_PS_UDP, "ff12:4001:ffff::f01:203" },
		{ "239.1.2.3", CMA_PS_IB, "ff12:401b:ffff::f01:203" },
		{ "10.1.2.3", CMA_PS_IPOIB, "ff12:401b:ffff::a01:203" },
		{ "0.0.0.0", CMA_PS_UDP, "::" },
		{ "127.0.0.1", CMA_PS_UDP, "::" },
		{ "ff0e::1", CMA_PS_UDP, "ff12:6001:ffff::1" },
		{ "ff0e::1", CMA_PS_IPOIB, "ff12:601b:ffff::1" },
		{ "ff15:1:2:3:4:5:6:7", CMA_PS_UDP, "ff12:6001:ffff:3:4:5:6:7" },
		{ "ff12:a01b::1", CMA_PS_UDP, "ff12:a01b::1" },
		{ "::1", CMA_PS_UDP, "::" },
	};
	struct cma_multicast *mc;
	u8 mgid[16];

	ib_world_up();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cma_id *id = bound_id(rows[i].ps, "198.18.0.1");

		fake_sa.joins = 1;
		assert_int_equal(join(id, at(rows[i].addr, 0), &mc), 0);
		addr_to_gid(at(rows[i].mgid, 0), mgid);
		if (addr_is_multicast(at(rows[i].mgid, 0)) == false)
			memset(mgid, 0, 16);
		assert_memory_equal(MEMBER->rec.mgid.raw, mgid, 16);
		cma_id_destroy(id);
	}
}

static void a_join_asks_by_the_broadcast_record(void **state)
{
	const u64 mask = SA_MCM_MGID | SA_MCM_PORT_GID | SA_MCM_PKEY | SA_MCM_JOIN_STATE |
			 SA_MCM_QKEY | SA_MCM_SL | SA_MCM_FLOW_LABEL | SA_MCM_TCLASS;
	struct cma_id *udp = bound_id(CMA_PS_UDP, "198.18.0.1");
	struct cma_id *ipoib = bound_id(CMA_PS_IPOIB, "198.18.0.1");
	struct cma_multicast *mc;

	ib_world_up();
	assert_int_equal(join(udp, at("239.1.2.3", 0), &mc), 0);
	assert_int_equal(be64toh(MEMBER->comp_mask.mask), mask);
	assert_int_equal(be32toh(MEMBER->rec.qkey), 0x01234567);
	assert_int_equal(MEMBER->rec.sl, 2);
	assert_int_equal(MEMBER->rec.traffic_class, 7);
	assert_int_equal(be32toh(MEMBER->rec.flow_label), 0x123);
	assert_memory_equal(MEMBER->rec.port_gid.raw, ib_world.vib.gids[0].gid.raw, 16);
	assert_int_equal(cma_join_multicast(ipoib, at("239.1.2.3", 0),
					    CMA_JOIN_SENDONLY_FULLMEMBER, NULL, &mc),
			 0);
	assert_int_equal(be64toh(MEMBER->comp_mask.mask),
			 mask | SA_MCM_RATE | SA_MCM_RATE_SELECTOR | SA_MCM_MTU |
				 SA_MCM_MTU_SELECTOR | SA_MCM_HOP_LIMIT);
	assert_int_equal(be32toh(MEMBER->rec.qkey), 0x0b1b);
	assert_int_equal(MEMBER->rec.join_state, 8);
	cma_id_destroy(udp);
	cma_id_destroy(ipoib);
}

static void a_join_reports_where_to_send(void **state)
{
	struct cma_id *id = bound_id(CMA_PS_UDP, "198.18.0.1");
	struct cma_multicast *mc;
	struct cma_event *event;

	ib_world_up();
	assert_int_equal(join(id, at("239.1.2.3", 0), &mc), 0);
	world_run(ib_world.w);
	assert_int_equal(ib_world.w->event_count, 0); /* not before the SA has answered */
	answer(0);
	event = world_only_event(ib_world.w);
	assert_int_equal(event->event, CMA_EVENT_MULTICAST_JOIN);
	assert_ptr_equal(event->multicast, mc);
	assert_ptr_equal(event->context, ib_world.w);
	assert_int_equal(event->qp_num, 0xffffff);
	assert_int_equal(event->qkey, 0x01234567);
	assert_int_equal(event->ah.dlid, 0xc005);
	assert_int_equal(event->ah.sl, 2);
	assert_true(event->ah.has_grh);
	/* Then it is lost. */
	MEMBER->callback(-ENETRESET, MEMBER);
	event = world_only_event(ib_world.w);
	assert_int_equal(event->event, CMA_EVENT_MULTICAST_ERROR);
	assert_int_equal(event->status, -ENETRESET);
	assert_ptr_equal(event->multicast, mc);
	assert_ptr_equal(event->context, ib_world.w);
	cma_id_destroy(id);
	assert_int_equal(fake_sa.frees, 1);
}

static void a_failed_join_reports_its_cause_and_stays_until_left(void **state)
{
	static const int causes[] = { -ETIMEDOUT, -EIO, -EINVAL, -EAGAIN };

	ib_world_up();
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		struct cma_id *id = bound_id(CMA_PS_UDP, "198.18.0.1");
		struct cma_multicast *mc;
		struct cma_event *event;

		assert_int_equal(join(id, at("239.1.2.3", 0), &mc), 0);
		answer(causes[i]);
		event = world_only_event(ib_world.w);
		assert_int_equal(event->event, CMA_EVENT_MULTICAST_ERROR);
		assert_int_equal(event->status, causes[i]);
		assert_int_equal(event->qp_num, 0);
		assert_int_equal(fake_sa.frees, i);
		cma_leave_multicast(id, at("239.1.2.3", 0));
		assert_int_equal(fake_sa.frees, i + 1);
		cma_id_destroy(id);
	}
}

/* Differs from Linux, which says nothing (spec/kernel 7.1). */
static void another_qkey_is_an_error(void **state)
{
	struct cma_id *id = bound_id(CMA_PS_UDP, "198.18.0.1");
	struct cma_multicast *mc;

	ib_world_up();
	assert_int_equal(join(id, at("239.1.2.3", 0), &mc), 0);
	MEMBER->rec.qkey = htobe32(77);
	answer(0);
	assert_int_equal(world_only_event(ib_world.w)->status, -EINVAL);
	cma_id_destroy(id);
}

static void nothing_comes_after_a_leave_or_a_removal(void **state)
{
	struct cma_id *id = bound_id(CMA_PS_UDP, "198.18.0.1");
	struct cma_multicast *mc;

	ib_world_up();
	assert_int_equal(join(id, at("239.1.2.3", 0), &mc), 0);
	answer(0);
	cma_multicast_leave(mc);
	world_run(ib_world.w);
	assert_int_equal(ib_world.w->event_count, 0);
	assert_int_equal(join(id, at("239.1.2.3", 0), &mc), 0);
	ib_remove_device(&ib_world.vib.ib);
	answer(0);
	assert_int_equal(world_only_event(ib_world.w)->event, CMA_EVENT_DEVICE_REMOVAL);
	cma_id_destroy(id);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ib_test(the_broadcast_group_is_joined_and_joined_again),
		ib_test(a_refused_broadcast_join_is_tried_again_with_growing_pauses),
		ib_test(an_interface_address_means_the_infiniband_port),
		ib_test(a_port_is_bound_to_by_gid),
		ib_test(destinations_resolve_to_gids),
		ib_test(a_neighbour_takes_an_unbound_id_to_infiniband),
		ib_test(a_route_is_asked_of_the_administrator),
		ib_test(a_cancelled_route_reports_to_nobody),
		ib_test(a_join_needs_the_broadcast_group),
		ib_test(groups_follow_from_addresses),
		ib_test(a_join_asks_by_the_broadcast_record),
		ib_test(a_join_reports_where_to_send),
		ib_test(a_failed_join_reports_its_cause_and_stays_until_left),
		ib_test(another_qkey_is_an_error),
		ib_test(nothing_comes_after_a_leave_or_a_removal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
