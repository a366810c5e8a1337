// SPDX-License-Identifier: BSD-2-Clause
/* Spec/kernel 3.10, rdma_resolve_addr; spec/userland 3.2, rdma_resolve_route. */
#include "world.h"

static struct cma_event *resolve(struct world *w, struct cma_id *id, const char *dst)
{
	assert_int_equal(cma_resolve_addr(id, NULL, at(dst, 5), 1000), 0);
	return world_only_event(w);
}

static void assert_resolved_to(struct cma_id *id, struct world_device *device,
			       const char *src)
{
	const struct sockaddr *wanted = at(src, 0);
	struct cma_route route;

	assert_int_equal(cma_id_state(id), CMA_ADDR_RESOLVED);
	cma_query_route(id, &route);
	assert_ptr_equal(route.device, &device->ib);
	assert_true(addr_equal_host((struct sockaddr *)&route.src, wanted));
}

static void nothing_is_delivered_inside_the_call(void **state)
{
	struct world *w = *state;
	struct cma_id *id = world_id(w, CMA_PS_UDP);

	assert_int_equal(cma_resolve_addr(id, NULL, at("239.0.0.1", 5), 1000), 0);
	assert_int_equal(w->event_count, 0);
	assert_int_equal(w->scheduled, 1);
	assert_int_equal(cma_id_state(id), CMA_ADDR_QUERY);
	assert_int_equal(world_only_event(w)->event, CMA_EVENT_ADDR_RESOLVED);
	cma_id_destroy(id);
}

static void a_group_without_route_resolves_on_the_first_device(void **state)
{
	struct world *w = *state;
	struct cma_id *id = world_id(w, CMA_PS_UDP);
	struct cma_route route;

	assert_int_equal(resolve(w, id, "239.0.0.1")->event, CMA_EVENT_ADDR_RESOLVED);
	assert_resolved_to(id, &w->devices[0], "127.0.0.1");
	cma_query_route(id, &route);
	assert_int_equal(addr_port((struct sockaddr *)&route.src), 40000);
	assert_true(gid_is_multicast(route.dgid.raw));
	cma_id_destroy(id);
}

static void a_group_routed_where_no_device_is_falls_back_to_the_first(void **state)
{
	struct world *w = *state;
	struct cma_id *id = world_id(w, CMA_PS_UDP);

	w->route_result = 0;
	w->route.ifindex = 3;
	assert_int_equal(resolve(w, id, "239.0.0.1")->event, CMA_EVENT_ADDR_RESOLVED);
	assert_resolved_to(id, &w->devices[0], "127.0.0.1");
	cma_id_destroy(id);
}

static void a_group_follows_the_route_to_its_device(void **state)
{
	struct world *w = *state;
	struct cma_id *id = world_id(w, CMA_PS_UDP);

	world_add_second_device(w);
	w->route_result = 0;
	w->route.ifindex = 2;
	assert_int_equal(resolve(w, id, "239.0.0.1")->event, CMA_EVENT_ADDR_RESOLVED);
	assert_resolved_to(id, &w->devices[1], "10.0.0.1");
	cma_id_destroy(id);
}

static void the_routes_preferred_source_is_taken(void **state)
{
	struct world *w = *state;
	struct cma_id *id = world_id(w, CMA_PS_UDP);

	world_add_second_device(w);
	world_add_gid(&w->devices[1], "10.0.0.2", IB_GID_TYPE_ROCE_UDP_ENCAP, 2);
	w->route_result = 0;
	w->route.ifindex = 2;
	memcpy(&w->route.source, at("10.0.0.2", 0), sizeof(w->route.source));
	assert_int_equal(resolve(w, id, "239.0.0.1")->event, CMA_EVENT_ADDR_RESOLVED);
	assert_resolved_to(id, &w->devices[1], "10.0.0.2");
	cma_id_destroy(id);
}

static void an_ipv6_group_takes_an_ipv6_source(void **state)
{
	struct world *w = *state;
	struct cma_id *id = world_id(w, CMA_PS_UDP);
	struct cma_route route;

	assert_int_equal(resolve(w, id, "ff0e::1")->event, CMA_EVENT_ADDR_RESOLVED);
	cma_query_route(id, &route);
	assert_true(addr_equal_host((struct sockaddr *)&route.src, at("::1", 0)));
	cma_id_destroy(id);
}

static void a_link_local_source_is_better_than_none(void **state)
{
	struct world *w = *state;
	struct cma_id *id = world_id(w, CMA_PS_UDP);
	struct cma_route route;

	w->devices[0].gid_count = 1; /* fe80::1 */
	assert_int_equal(resolve(w, id, "ff0e::1")->event, CMA_EVENT_ADDR_RESOLVED);
	cma_query_route(id, &route);
	assert_int_equal(route.src.ss_family, AF_INET6);
	assert_int_equal(((struct sockaddr_in6 *)&route.src)->sin6_scope_id, 1);
	cma_id_destroy(id);
}

static void a_bound_id_keeps_its_device_for_a_group(void **state)
{
	struct world *w = *state;
	struct cma_id *id = world_id(w, CMA_PS_UDP);

	world_add_second_device(w);
	assert_int_equal(cma_bind_addr(id, at("10.0.0.1", 0)), 0);
	assert_int_equal(resolve(w, id, "239.0.0.1")->event, CMA_EVENT_ADDR_RESOLVED);
	assert_resolved_to(id, &w->devices[1], "10.0.0.1");
	cma_id_destroy(id);
}

static void a_source_given_is_bound_to(void **state)
{
	struct world *w = *state;
	struct cma_id *id = world_id(w, CMA_PS_UDP), *bad = world_id(w, CMA_PS_UDP);

	world_add_second_device(w);
	assert_int_equal(
		cma_resolve_addr(id, at("10.0.0.1", 99), at("239.0.0.1", 5), 1000),
		-EACCES);
	assert_int_equal(
		cma_resolve_addr(id, at("10.0.0.1", 0), at("239.0.0.1", 5), 1000), 0);
	assert_int_equal(world_only_event(w)->event, CMA_EVENT_ADDR_RESOLVED);
	assert_resolved_to(id, &w->devices[1], "10.0.0.1");
	assert_int_equal(
		cma_resolve_addr(bad, at("203.0.113.1", 0), at("239.0.0.1", 5), 1),
		-EADDRNOTAVAIL);
	assert_int_equal(cma_id_state(bad), CMA_IDLE);
	cma_id_destroy(id);
	cma_id_destroy(bad);
}

static void the_source_is_ignored_once_bound(void **state)
{
	struct world *w = *state;
	struct cma_id *id = world_id(w, CMA_PS_UDP);

	world_add_second_device(w);
	assert_int_equal(cma_bind_addr(id, at("127.0.0.1", 0)), 0);
	assert_int_equal(cma_resolve_addr(id, at("10.0.0.1", 0), at("239.0.0.1", 5), 1),
			 0);
	assert_int_equal(world_only_event(w)->status, 0);
	assert_resolved_to(id, &w->devices[0], "127.0.0.1");
	cma_id_destroy(id);
}

static void unicast_destinations(void **state)
{
	static const struct {
		const char *dst;
		int route_result;
		u32 ifindex;
		int status;
		const char *src;
	} rows[] = {
		{ "127.0.0.1", -ENETUNREACH, 0, 0, "127.0.0.1" },
		{ "127.3.3.3", -ENETUNREACH, 0, 0, "127.0.0.1" },
		{ "0.0.0.0", -ENETUNREACH, 0, 0, "127.0.0.1" },
		{ "::1", -ENETUNREACH, 0, 0, "::1" },
		{ "10.0.0.1", -ENETUNREACH, 0, 0, "10.0.0.1" },
		{ "192.0.2.9", 0, 1, -ENODEV, NULL }, /* the host's, without device */
		{ "203.0.113.1", -ENETUNREACH, 0, -EHOSTUNREACH, NULL },
		{ "203.0.113.1", 0, 3, -ENODEV, NULL },
		{ "203.0.113.1", 0, 2, 0, "10.0.0.1" }, /* over vroce1 */
	};
	struct world *w = *state;

	world_add_second_device(w);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cma_id *id = world_id(w, CMA_PS_UDP);
		struct cma_event *event;
		struct cma_route route;

		w->route_result = rows[i].route_result;
		w->route.ifindex = rows[i].ifindex;
		event = resolve(w, id, rows[i].dst);
		assert_int_equal(event->status, rows[i].status);
		if (rows[i].status) {
			assert_int_equal(event->event, CMA_EVENT_ADDR_ERROR);
			assert_int_equal(cma_id_state(id), CMA_ADDR_BOUND);
		} else {
			assert_int_equal(event->event, CMA_EVENT_ADDR_RESOLVED);
			cma_query_route(id, &route);
			assert_true(addr_equal_host((struct sockaddr *)&route.src,
						    at(rows[i].src, 0)));
		}
		cma_id_destroy(id);
	}
}

static void a_bound_id_takes_any_destination_as_on_its_link(void **state)
{
	struct world *w = *state;
	struct cma_id *id = world_id(w, CMA_PS_UDP);

	w->route_result = -ENETUNREACH;
	assert_int_equal(cma_bind_addr(id, at("127.0.0.1", 0)), 0);
	assert_int_equal(resolve(w, id, "203.0.113.1")->status, 0);
	assert_resolved_to(id, &w->devices[0], "127.0.0.1");
	cma_id_destroy(id);
}

static void an_id_may_try_again_after_an_error(void **state)
{
	struct world *w = *state;
	struct cma_id *id = world_id(w, CMA_PS_UDP);

	assert_int_equal(resolve(w, id, "203.0.113.1")->event, CMA_EVENT_ADDR_ERROR);
	assert_int_equal(resolve(w, id, "239.0.0.1")->event, CMA_EVENT_ADDR_RESOLVED);
	cma_id_destroy(id);
}

static void wrong_calls_are_refused(void **state)
{
	struct world *w = *state;
	struct sockaddr_storage unknown = { .ss_family = AF_UNIX };
	struct cma_id *id = world_id(w, CMA_PS_UDP);

	assert_int_equal(cma_resolve_addr(id, NULL, (struct sockaddr *)&unknown, 1),
			 -EINVAL);
	assert_int_equal(cma_resolve_addr(id, at("127.0.0.1", 0), at("ff0e::1", 5), 1),
			 -EINVAL);
	assert_int_equal(cma_resolve_addr(id, NULL, at("239.0.0.1", 5), 1), 0);
	assert_int_equal(cma_resolve_addr(id, NULL, at("239.0.0.1", 5), 1), -EINVAL);
	assert_int_equal(world_only_event(w)->event, CMA_EVENT_ADDR_RESOLVED);
	assert_int_equal(cma_resolve_addr(id, NULL, at("239.0.0.1", 5), 1), -EINVAL);
	cma_id_destroy(id);
}

static void ipoib_port_space_fails_by_event_on_roce(void **state)
{
	struct world *w = *state;
	struct cma_id *id = world_id(w, CMA_PS_IPOIB);
	struct cma_event *event = resolve(w, id, "239.0.0.1");

	assert_int_equal(event->event, CMA_EVENT_ADDR_ERROR);
	assert_int_equal(event->status, -EINVAL);
	cma_id_destroy(id);
}

static void a_node_without_devices_resolves_nothing(void **state)
{
	struct world *w = *state;
	struct cma_id *id = world_id(w, CMA_PS_UDP);

	assert_int_equal(ib_unregister_device(&w->devices[0].ib), 0);
	assert_int_equal(resolve(w, id, "239.0.0.1")->status, -ENODEV);
	cma_id_destroy(id);
}

static void destroy_cancels_a_resolution(void **state)
{
	struct world *w = *state;
	struct cma_id *id = world_id(w, CMA_PS_UDP);

	assert_int_equal(cma_resolve_addr(id, NULL, at("239.0.0.1", 5), 1), 0);
	cma_id_destroy(id);
	world_run(w);
	assert_int_equal(w->event_count, 0);
}

static void a_route_is_made_up_at_once(void **state)
{
	struct world *w = *state;
	struct cma_id *id = world_id(w, CMA_PS_UDP);
	struct cma_route route;

	assert_int_equal(cma_resolve_route(id, 1000), -EINVAL); /* not resolved */
	assert_int_equal(resolve(w, id, "127.0.0.1")->status, 0);
	assert_int_equal(cma_resolve_route(id, 0), -EINVAL);
	assert_int_equal(cma_resolve_route(id, 1000), 0);
	assert_int_equal(w->event_count, 0);
	assert_int_equal(world_only_event(w)->event, CMA_EVENT_ROUTE_RESOLVED);
	assert_int_equal(cma_id_state(id), CMA_ROUTE_RESOLVED);
	cma_query_route(id, &route);
	assert_int_equal(route.num_paths, 1);
	assert_int_equal(route.pkey, 0xffff);
	assert_int_equal(route.mtu, 5);
	assert_int_equal(route.rate, 16); /* 4 lanes of 25: 100 Gb/s */
	assert_int_equal(route.hop_limit, 64);
	assert_int_equal(cma_resolve_route(id, 1000), -EINVAL); /* resolved already */
	cma_id_destroy(id);
}

static void destroy_in_the_event(struct world *w, struct cma_id *id)
{
	cma_id_destroy(id);
}

static void an_id_may_be_destroyed_by_its_event(void **state)
{
	struct world *w = *state;
	struct cma_id *a = world_id(w, CMA_PS_UDP), *b = world_id(w, CMA_PS_UDP);

	w->on_event = destroy_in_the_event;
	assert_int_equal(cma_resolve_addr(a, NULL, at("239.0.0.1", 5), 1), 0);
	assert_int_equal(cma_resolve_addr(b, NULL, at("239.0.0.1", 5), 1), 0);
	world_run(w);
	assert_int_equal(w->event_count, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(nothing_is_delivered_inside_the_call),
		world_test(a_group_without_route_resolves_on_the_first_device),
		world_test(a_group_routed_where_no_device_is_falls_back_to_the_first),
		world_test(a_group_follows_the_route_to_its_device),
		world_test(the_routes_preferred_source_is_taken),
		world_test(an_ipv6_group_takes_an_ipv6_source),
		world_test(a_link_local_source_is_better_than_none),
		world_test(a_bound_id_keeps_its_device_for_a_group),
		world_test(a_source_given_is_bound_to),
		world_test(the_source_is_ignored_once_bound),
		world_test(unicast_destinations),
		world_test(a_bound_id_takes_any_destination_as_on_its_link),
		world_test(an_id_may_try_again_after_an_error),
		world_test(wrong_calls_are_refused),
		world_test(ipoib_port_space_fails_by_event_on_roce),
		world_test(a_node_without_devices_resolves_nothing),
		world_test(destroy_cancels_a_resolution),
		world_test(a_route_is_made_up_at_once),
		world_test(an_id_may_be_destroyed_by_its_event),
	};

	return harness_run(tests);
}
