// SPDX-License-Identifier: BSD-2-Clause
/* Spec/kernel 3.1, 3.5 to 3.7, and the cases of 6 that belong to the CM layer. */
#include "world.h"

static struct cma_id *bound_id(struct world *w, const char *addr)
{
	struct cma_id *id = world_id(w, CMA_PS_UDP);

	assert_int_equal(cma_bind_addr(id, at(addr, 0)), 0);
	return id;
}

static int join_addr(struct cma_id *id, const struct sockaddr *addr, void *context,
		     struct cma_multicast **ret)
{
	return cma_join_multicast(id, addr, CMA_JOIN_FULLMEMBER, context, ret);
}

static int join(struct cma_id *id, const char *group)
{
	struct cma_multicast *mc;

	return join_addr(id, at(group, 0), NULL, &mc);
}

static void a_join_reports_where_to_send(void **state)
{
	static const u8 mgid[16] = { [10] = 0xff, 0xff, 239, 1, 2, 3 };
	struct world *w = *state;
	struct cma_id *id = bound_id(w, "127.0.0.1");
	struct cma_multicast *mc;
	struct cma_event *event;

	assert_int_equal(join_addr(id, at("239.1.2.3", 7174), w, &mc), 0);
	assert_int_equal(w->event_count, 0); /* never inside the call */
	event = world_only_event(w);
	assert_int_equal(event->event, CMA_EVENT_MULTICAST_JOIN);
	assert_int_equal(event->status, 0);
	assert_ptr_equal(event->multicast, mc);
	assert_ptr_equal(event->context, w);
	assert_int_equal(event->qp_num, 0xffffff);
	assert_int_equal(event->qkey, 0x01234567);
	assert_true(event->ah.has_grh);
	assert_memory_equal(event->ah.grh.dgid.raw, mgid, 16);
	assert_int_equal(event->ah.grh.sgid_index, 2); /* the v2 entry of 127.0.0.1 */
	assert_int_equal(event->ah.grh.hop_limit, 64);
	assert_int_equal(event->ah.grh.flow_label, 0);
	assert_int_equal(event->ah.grh.traffic_class, 0);
	assert_int_equal(event->ah.dlid, 0);
	assert_int_equal(event->ah.sl, 0);
	assert_int_equal(event->ah.static_rate, 0);
	assert_int_equal(event->ah.port_num, 1);
	cma_id_destroy(id);
}

static void the_type_of_service_is_the_traffic_class(void **state)
{
	struct world *w = *state;
	struct cma_id *id = bound_id(w, "127.0.0.1");
	struct cma_multicast *mc;

	cma_set_service_type(id, 0x28);
	assert_int_equal(join_addr(id, at("239.1.2.3", 0), NULL, &mc), 0);
	assert_int_equal(world_only_event(w)->ah.grh.traffic_class, 0x28);
	cma_id_destroy(id);
}

static void send_only_joins_have_the_same_event(void **state)
{
	struct world *w = *state;
	struct cma_id *id = bound_id(w, "127.0.0.1");
	struct cma_multicast *mc;
	struct cma_event *event;

	assert_int_equal(cma_join_multicast(id, at("239.1.2.3", 0),
					    CMA_JOIN_SENDONLY_FULLMEMBER, NULL, &mc),
			 0);
	event = world_only_event(w);
	assert_int_equal(event->event, CMA_EVENT_MULTICAST_JOIN);
	assert_int_equal(event->ah.grh.hop_limit, 64);
	cma_id_destroy(id);
}

/* The table of 3.5 for v1, with a port that has v1 alone. */
static void v1_groups_have_their_own_gids(void **state)
{
	static const struct {
		const char *addr;
		u8 mgid[16];
	} rows[] = {
		{ "239.1.2.3", { 0xff, 0x0e, [10] = 0xff, 0xff, 239, 1, 2, 3 } },
		{ "ff0e::1", { 0xff, 0x0e, [15] = 1 } },
		{ "127.0.0.1", { 0 } },
	};
	struct world *w = *state;
	struct world_device *d = &w->devices[0];

	d->gid_count = 0;
	world_add_gid(d, "127.0.0.1", IB_GID_TYPE_ROCE, 1);
	for (size_t i = 0; i < 3; i++) {
		struct cma_id *id = bound_id(w, "127.0.0.1");
		struct cma_event *event;

		assert_int_equal(join(id, rows[i].addr), 0);
		event = world_only_event(w);
		assert_int_equal(event->event, CMA_EVENT_MULTICAST_JOIN);
		assert_memory_equal(event->ah.grh.dgid.raw, rows[i].mgid, 16);
		assert_int_equal(event->ah.grh.hop_limit, 1);
		cma_id_destroy(id);
	}
}

static void loopback_is_no_group_but_joins(void **state)
{
	struct world *w = *state;
	struct cma_id *id = bound_id(w, "127.0.0.1");
	struct cma_event *event;

	assert_int_equal(join(id, "127.0.0.1"), 0);
	event = world_only_event(w);
	assert_int_equal(event->event, CMA_EVENT_MULTICAST_JOIN);
	assert_true(gid_is_zero(event->ah.grh.dgid.raw));
	cma_id_destroy(id);
}

static void a_unicast_address_joins_and_only_attach_notices(void **state)
{
	struct world *w = *state;
	struct cma_id *id = bound_id(w, "127.0.0.1");
	struct cma_event *event;

	assert_int_equal(join(id, "10.1.2.3"), 0);
	event = world_only_event(w);
	assert_int_equal(event->event, CMA_EVENT_MULTICAST_JOIN);
	assert_false(gid_is_multicast(event->ah.grh.dgid.raw));
	cma_id_destroy(id);
}

static void states_that_do_not_join(void **state)
{
	struct world *w = *state;
	struct cma_id *idle = world_id(w, CMA_PS_UDP);
	struct cma_id *wild = bound_id(w, "0.0.0.0");
	struct cma_id *id = bound_id(w, "127.0.0.1");

	assert_int_equal(join(idle, "239.1.2.3"), -EINVAL);
	assert_int_equal(join(wild, "239.1.2.3"), -EINVAL);
	assert_int_equal(cma_resolve_addr(id, NULL, at("239.1.2.3", 0), 1), 0);
	assert_int_equal(join(id, "239.1.2.3"), -EINVAL); /* resolving */
	world_only_event(w);
	assert_int_equal(join(id, "239.1.2.3"), 0);
	world_only_event(w);
	assert_int_equal(cma_resolve_route(id, 1), 0);
	assert_int_equal(join(id, "239.1.2.3"), -EINVAL);
	world_only_event(w);
	assert_int_equal(join(id, "239.1.2.3"), -EINVAL); /* route resolved */
	cma_id_destroy(idle);
	cma_id_destroy(wild);
	cma_id_destroy(id);
}

static void a_wildcard_id_joins_once_resolved(void **state)
{
	struct world *w = *state;
	struct cma_id *id = world_id(w, CMA_PS_UDP);

	assert_int_equal(cma_resolve_addr(id, NULL, at("239.1.2.3", 0), 1), 0);
	world_only_event(w);
	assert_int_equal(join(id, "239.1.2.3"), 0);
	assert_int_equal(world_only_event(w)->event, CMA_EVENT_MULTICAST_JOIN);
	cma_id_destroy(id);
}

static void only_datagram_ids_join(void **state)
{
	struct world *w = *state;
	struct cma_id *rc = world_id(w, CMA_PS_TCP), *ib = world_id(w, CMA_PS_IB);

	assert_int_equal(cma_bind_addr(rc, at("127.0.0.1", 0)), 0);
	assert_int_equal(join(rc, "239.1.2.3"), -EINVAL);
	assert_int_equal(cma_bind_addr(ib, at("127.0.0.1", 0)), 0);
	assert_int_equal(join(ib, "239.1.2.3"), 0);
	assert_int_equal(world_only_event(w)->qkey, 0x01234567);
	cma_id_destroy(rc);
	cma_id_destroy(ib);
}

static void addresses_that_do_not_join(void **state)
{
	struct world *w = *state;
	struct sockaddr_storage unknown = { .ss_family = AF_UNIX };
	struct cma_id *id = bound_id(w, "127.0.0.1");
	struct cma_multicast *mc;

	assert_int_equal(join(id, "0.0.0.0"), -EINVAL);
	assert_int_equal(join(id, "::"), -EINVAL);
	assert_int_equal(join_addr(id, (struct sockaddr *)&unknown, NULL, &mc), -EINVAL);
	world_run(w);
	assert_int_equal(w->event_count, 0);
	cma_id_destroy(id);
}

static void ipv6_on_v2_is_refused_as_linux_does(void **state)
{
	struct world *w = *state;
	struct addr_sockaddr_ib ib = { .family = AF_IB,
				       .addr = { 0xff, 0x01, [15] = 9 } };
	struct cma_id *id = bound_id(w, "::1");
	struct cma_multicast *mc;

	assert_int_equal(join(id, "ff0e::1"), -524);
	assert_int_equal(join(id, "::1"), -524); /* loopback is not refused before */
	assert_int_equal(join_addr(id, (struct sockaddr *)&ib, NULL, &mc), -524);
	cma_id_destroy(id);
}

static void ipv6_on_v2_is_accepted_on_demand(void **state)
{
	struct world *w = *state;
	struct addr_sockaddr_ib ib = { .family = AF_IB,
				       .addr = { 0xff, 0x01, [15] = 9 } };
	struct cma_multicast *mc;
	struct cma_event *event;
	struct cma_id *id;

	world_open_cma(w, true);
	id = bound_id(w, "::1");
	assert_int_equal(join(id, "ff0e::1"), 0);
	event = world_only_event(w);
	assert_memory_equal(
		event->ah.grh.dgid.raw,
		((const struct sockaddr_in6 *)at("ff0e::1", 0))->sin6_addr.s6_addr, 16);
	assert_int_equal(join_addr(id, (struct sockaddr *)&ib, NULL, &mc), 0);
	assert_memory_equal(world_only_event(w)->ah.grh.dgid.raw, ib.addr, 16);
	cma_id_destroy(id);
}

static void checks_come_in_the_order_of_linux(void **state)
{
	struct world *w = *state;
	struct cma_id *id = bound_id(w, "::1");

	w->mtu[1] = 351;
	assert_int_equal(join(id, "::"), -EINVAL);   /* zero before IPv6 */
	assert_int_equal(join(id, "ff0e::1"), -524); /* IPv6 before the MTU */
	w->mtu[1] = 0;
	assert_int_equal(join(id, "ff0e::1"), -ENODEV); /* interface before IPv6 */
	assert_int_equal(join(id, "::"), -EINVAL);      /* zero before interface */
	cma_id_destroy(id);
}

static void the_interfaces_mtu_must_hold_a_datagram(void **state)
{
	struct world *w = *state;
	struct cma_id *id = bound_id(w, "127.0.0.1");

	w->mtu[1] = 351;
	assert_int_equal(join(id, "239.1.2.3"), -EINVAL);
	w->mtu[1] = 352;
	assert_int_equal(join(id, "239.1.2.3"), 0);
	assert_int_equal(world_only_event(w)->event, CMA_EVENT_MULTICAST_JOIN);
	cma_id_destroy(id);
}

static void a_subnet_nobody_serves_is_no_device(void **state)
{
	struct world *w = *state;
	struct cma_id *id = bound_id(w, "127.0.0.1");

	w->devices[0].link_layer = IB_LINK_LAYER_INFINIBAND;
	assert_int_equal(join(id, "239.1.2.3"), -ENODEV);
	cma_id_destroy(id);
}

/* 3.6: ERROR with status 0 if the address handle cannot be made. */
static void a_vanished_source_is_an_error_with_status_0(void **state)
{
	struct world *w = *state;
	struct cma_id *id = bound_id(w, "127.0.0.1");
	struct cma_multicast *mc;
	struct cma_event *event;

	memset(&w->devices[0].gids[2].gid, 0x33, 16);
	assert_int_equal(join_addr(id, at("239.1.2.3", 0), w, &mc), 0);
	event = world_only_event(w);
	assert_int_equal(event->event, CMA_EVENT_MULTICAST_ERROR);
	assert_int_equal(event->status, 0);
	assert_ptr_equal(event->context, w);
	assert_int_equal(event->qp_num, 0);
	assert_int_equal(event->qkey, 0);
	cma_id_destroy(id);
}

static void events_come_in_the_order_of_the_joins(void **state)
{
	struct world *w = *state;
	struct cma_id *ids[3];
	struct cma_multicast *mc[12];

	for (int i = 0; i < 3; i++)
		ids[i] = bound_id(w, "127.0.0.1");
	for (int i = 0; i < 12; i++)
		assert_int_equal(
			join_addr(ids[(i * 7) % 3], at("239.1.2.3", 0), NULL, &mc[i]), 0);
	world_run(w);
	assert_int_equal(w->event_count, 12);
	for (int i = 0; i < 12; i++)
		assert_ptr_equal(w->events[i].event.multicast, mc[i]);
	for (int i = 0; i < 3; i++)
		cma_id_destroy(ids[i]);
}

static void leave_cancels_an_event_that_waits(void **state)
{
	struct world *w = *state;
	struct cma_id *id = bound_id(w, "127.0.0.1");
	struct cma_multicast *a, *b;

	assert_int_equal(join_addr(id, at("239.1.2.3", 0), NULL, &a), 0);
	assert_int_equal(join_addr(id, at("239.1.2.4", 0), NULL, &b), 0);
	cma_multicast_leave(a);
	assert_ptr_equal(world_only_event(w)->multicast, b);
	cma_id_destroy(id);
}

static void two_joins_of_one_address_take_two_leaves(void **state)
{
	struct world *w = *state;
	struct cma_id *id = bound_id(w, "127.0.0.1");
	struct cma_multicast *a, *b;

	assert_int_equal(join_addr(id, at("239.1.2.3", 0), NULL, &a), 0);
	assert_int_equal(join_addr(id, at("239.1.2.3", 0), NULL, &b), 0);
	cma_leave_multicast(id, at("239.1.2.3", 0)); /* the newest */
	assert_ptr_equal(world_only_event(w)->multicast, a);
	cma_leave_multicast(id, at("239.1.2.3", 0));
	cma_leave_multicast(id, at("239.1.2.3", 0)); /* silent */
	cma_id_destroy(id);
}

static void leave_wants_the_address_byte_by_byte(void **state)
{
	struct world *w = *state;
	struct sockaddr_storage unknown = { .ss_family = AF_UNIX };
	struct cma_id *id = bound_id(w, "127.0.0.1");
	struct cma_multicast *mc;

	assert_int_equal(join_addr(id, at("239.1.2.3", 5), NULL, &mc), 0);
	cma_leave_multicast(id, at("239.1.2.3", 6));
	cma_leave_multicast(id,
			    (struct sockaddr *)&unknown); /* no match, not the newest */
	assert_ptr_equal(world_only_event(w)->multicast, mc);
	cma_id_destroy(id);
}

static void destroy_leaves_everything_silently(void **state)
{
	struct world *w = *state;
	struct cma_id *id = bound_id(w, "127.0.0.1");

	for (int i = 0; i < 5; i++)
		assert_int_equal(join(id, "239.1.2.3"), 0);
	cma_id_destroy(id);
	world_run(w);
	assert_int_equal(w->event_count, 0);
}

static void leave_in_the_event(struct world *w, struct cma_id *id)
{
	cma_multicast_leave(w->events[w->event_count - 1].event.multicast);
}

static void a_membership_may_leave_in_its_event(void **state)
{
	struct world *w = *state;
	struct cma_id *id = bound_id(w, "127.0.0.1");

	w->on_event = leave_in_the_event;
	assert_int_equal(join(id, "239.1.2.3"), 0);
	assert_int_equal(join(id, "239.1.2.3"), 0);
	world_run(w);
	assert_int_equal(w->event_count, 2);
	cma_id_destroy(id);
}

static void join_in_the_event(struct world *w, struct cma_id *id)
{
	if (w->event_count < 3)
		assert_int_equal(join(id, "239.1.2.3"), 0);
}

static void a_join_in_an_event_is_delivered_at_the_next_run(void **state)
{
	struct world *w = *state;
	struct cma_id *id = bound_id(w, "127.0.0.1");

	w->on_event = join_in_the_event;
	assert_int_equal(join(id, "239.1.2.3"), 0);
	cma_run(w->cma);
	assert_int_equal(w->event_count, 1);
	world_run(w);
	assert_int_equal(w->event_count, 3);
	cma_id_destroy(id);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(a_join_reports_where_to_send),
		world_test(the_type_of_service_is_the_traffic_class),
		world_test(send_only_joins_have_the_same_event),
		world_test(v1_groups_have_their_own_gids),
		world_test(loopback_is_no_group_but_joins),
		world_test(a_unicast_address_joins_and_only_attach_notices),
		world_test(states_that_do_not_join),
		world_test(a_wildcard_id_joins_once_resolved),
		world_test(only_datagram_ids_join),
		world_test(addresses_that_do_not_join),
		world_test(ipv6_on_v2_is_refused_as_linux_does),
		world_test(ipv6_on_v2_is_accepted_on_demand),
		world_test(checks_come_in_the_order_of_linux),
		world_test(the_interfaces_mtu_must_hold_a_datagram),
		world_test(a_subnet_nobody_serves_is_no_device),
		world_test(a_vanished_source_is_an_error_with_status_0),
		world_test(events_come_in_the_order_of_the_joins),
		world_test(leave_cancels_an_event_that_waits),
		world_test(two_joins_of_one_address_take_two_leaves),
		world_test(leave_wants_the_address_byte_by_byte),
		world_test(destroy_leaves_everything_silently),
		world_test(a_membership_may_leave_in_its_event),
		world_test(a_join_in_an_event_is_delivered_at_the_next_run),
	};

	return harness_run(tests);
}
