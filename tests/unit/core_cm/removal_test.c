// SPDX-License-Identifier: BSD-2-Clause
/* Spec/kernel 3.7: what becomes of ids whose device goes. */
#include "world.h"

static struct cma_id *bound_id(struct world *w, const char *addr)
{
	struct cma_id *id = world_id(w, CMA_PS_UDP);

	assert_int_equal(cma_bind_addr(id, at(addr, 0)), 0);
	return id;
}

static struct cma_multicast *join(struct cma_id *id)
{
	struct cma_multicast *mc;

	assert_int_equal(cma_join_multicast(id, at("239.1.2.3", 0), CMA_JOIN_FULLMEMBER,
					    NULL, &mc),
			 0);
	return mc;
}

static void an_id_hears_of_it_after_the_call(void **state)
{
	struct world *w = *state;
	struct cma_id *id = bound_id(w, "127.0.0.1");
	struct cma_route route;
	struct cma_event *event;

	ib_remove_device(&w->devices[0].ib);
	assert_int_equal(w->event_count, 0);
	event = world_only_event(w);
	assert_int_equal(event->event, CMA_EVENT_DEVICE_REMOVAL);
	assert_int_equal(event->status, 0);
	assert_int_equal(cma_id_state(id), CMA_DEVICE_REMOVAL);
	cma_query_route(id, &route);
	assert_null(route.device);
	cma_id_destroy(id);
}

static void ids_on_other_devices_and_on_none_do_not(void **state)
{
	struct world *w = *state;
	struct cma_id *other, *wild = bound_id(w, "0.0.0.0");

	world_add_second_device(w);
	other = bound_id(w, "10.0.0.1");
	ib_remove_device(&w->devices[0].ib);
	world_run(w);
	assert_int_equal(w->event_count, 0);
	join(other);
	assert_int_equal(world_only_event(w)->event, CMA_EVENT_MULTICAST_JOIN);
	cma_id_destroy(other);
	cma_id_destroy(wild);
}

static void what_waits_of_the_id_is_suppressed(void **state)
{
	struct world *w = *state;
	struct cma_id *id = bound_id(w, "127.0.0.1"),
		      *resolving = bound_id(w, "127.0.0.1");
	struct cma_multicast *mc = join(id);

	assert_int_equal(cma_resolve_addr(resolving, NULL, at("239.1.2.3", 0), 1), 0);
	ib_remove_device(&w->devices[0].ib);
	world_run(w);
	assert_int_equal(w->event_count, 2);
	for (int i = 0; i < 2; i++)
		assert_int_equal(w->events[i].event.event, CMA_EVENT_DEVICE_REMOVAL);
	cma_multicast_leave(mc);
	cma_id_destroy(id);
	cma_id_destroy(resolving);
}

static void nothing_can_be_done_with_the_id(void **state)
{
	struct world *w = *state;
	struct cma_id *id = bound_id(w, "127.0.0.1");
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT };
	struct cma_multicast *mc;
	int mask;

	ib_remove_device(&w->devices[0].ib);
	assert_int_equal(cma_bind_addr(id, at("0.0.0.0", 0)), -EINVAL);
	assert_int_equal(cma_resolve_addr(id, NULL, at("239.1.2.3", 0), 1), -EINVAL);
	assert_int_equal(cma_resolve_route(id, 1), -EINVAL);
	assert_int_equal(cma_listen(id, 1), -EINVAL);
	assert_int_equal(cma_join_multicast(id, at("239.1.2.3", 0), 1, NULL, &mc),
			 -EINVAL);
	assert_int_equal(cma_init_qp_attr(id, &attr, &mask), -EINVAL);
	cma_id_destroy(id);
	world_run(w);
	assert_int_equal(w->event_count, 0); /* destroyed before its turn */
}

static void the_device_is_gone_for_those_who_come_later(void **state)
{
	struct world *w = *state;
	struct cma_id *id = world_id(w, CMA_PS_UDP);

	ib_remove_device(&w->devices[0].ib);
	assert_int_equal(cma_bind_addr(id, at("127.0.0.1", 0)), -EADDRNOTAVAIL);
	cma_id_destroy(id);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(an_id_hears_of_it_after_the_call),
		world_test(ids_on_other_devices_and_on_none_do_not),
		world_test(what_waits_of_the_id_is_suppressed),
		world_test(nothing_can_be_done_with_the_id),
		world_test(the_device_is_gone_for_those_who_come_later),
	};

	return harness_run(tests);
}
