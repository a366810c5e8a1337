// SPDX-License-Identifier: BSD-2-Clause
/* What becomes of ids whose source address is taken from its interface. */
#include "world.h"

static struct cma_id *bound_id(struct world *w, const char *addr)
{
	struct cma_id *id = world_id(w, CMA_PS_UDP);

	assert_int_equal(cma_bind_addr(id, at(addr, 0)), 0);
	return id;
}

static void gids_changed(struct world_device *d)
{
	struct ib_event event = {
		.device = &d->ib,
		.element.port_num = 1,
		.event = IB_EVENT_GID_CHANGE,
	};

	ib_dispatch_event(&event);
}

/* The second device has 10.0.0.1 alone. */
static struct world_device *second(struct world *w)
{
	world_add_second_device(w);
	return &w->devices[1];
}

static void take_away(struct world_device *d)
{
	d->gid_count = 0;
	gids_changed(d);
}

static void give_back(struct world_device *d)
{
	world_add_gid(d, "10.0.0.1", IB_GID_TYPE_ROCE_UDP_ENCAP, 2);
	gids_changed(d);
}

static void an_id_hears_once_that_its_address_is_gone(void **state)
{
	struct world *w = *state;
	struct world_device *d = second(w);
	struct cma_id *id = bound_id(w, "10.0.0.1");
	struct cma_event *event;

	take_away(d);
	assert_int_equal(w->event_count, 0);
	event = world_only_event(w);
	assert_int_equal(event->event, CMA_EVENT_ADDR_CHANGE);
	assert_int_equal(event->status, 0);
	assert_int_equal(cma_id_state(id), CMA_ADDR_BOUND);
	gids_changed(d);
	world_run(w);
	assert_int_equal(w->event_count, 0);
	cma_id_destroy(id);
}

static void an_address_that_is_back_in_time_has_not_been_away(void **state)
{
	struct world *w = *state;
	struct world_device *d = second(w);
	struct cma_id *id = bound_id(w, "10.0.0.1");

	take_away(d);
	give_back(d);
	world_run(w);
	assert_int_equal(w->event_count, 0);
	take_away(d);
	assert_int_equal(world_only_event(w)->event, CMA_EVENT_ADDR_CHANGE);
	cma_id_destroy(id);
}

static void ids_with_another_address_or_none_do_not_hear(void **state)
{
	struct world *w = *state;
	struct world_device *d = second(w);
	struct cma_id *other = bound_id(w, "127.0.0.1"), *wild = bound_id(w, "0.0.0.0");
	struct cma_id *same;

	world_add_gid(d, "10.0.0.2", IB_GID_TYPE_ROCE_UDP_ENCAP, 2);
	same = bound_id(w, "10.0.0.2");
	d->gids[0] = d->gids[1]; /* 10.0.0.1 goes; the other one moves */
	d->gids[0].index = 0;
	d->gid_count = 1;
	gids_changed(d);
	world_run(w);
	assert_int_equal(w->event_count, 0);
	cma_id_destroy(same);
	cma_id_destroy(other);
	cma_id_destroy(wild);
}

static void a_join_without_a_source_is_an_error_until_it_is_back(void **state)
{
	struct world *w = *state;
	struct world_device *d = second(w);
	struct cma_id *id = bound_id(w, "10.0.0.1");
	struct cma_multicast *mc;

	take_away(d);
	world_only_event(w);
	assert_int_equal(cma_join_multicast(id, at("239.1.2.3", 0), CMA_JOIN_FULLMEMBER,
					    NULL, &mc),
			 0);
	assert_int_equal(world_only_event(w)->event, CMA_EVENT_MULTICAST_ERROR);
	cma_multicast_leave(mc);
	give_back(d);
	assert_int_equal(cma_join_multicast(id, at("239.1.2.3", 0), CMA_JOIN_FULLMEMBER,
					    NULL, &mc),
			 0);
	assert_int_equal(world_only_event(w)->event, CMA_EVENT_MULTICAST_JOIN);
	cma_id_destroy(id);
}

static void an_id_that_goes_hears_nothing(void **state)
{
	struct world *w = *state;
	struct world_device *d = second(w);
	struct cma_id *id = bound_id(w, "10.0.0.1"), *kept = bound_id(w, "10.0.0.1");

	take_away(d);
	cma_id_destroy(id);
	ib_remove_device(&d->ib);
	assert_int_equal(world_only_event(w)->event, CMA_EVENT_DEVICE_REMOVAL);
	cma_id_destroy(kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(an_id_hears_once_that_its_address_is_gone),
		world_test(an_address_that_is_back_in_time_has_not_been_away),
		world_test(ids_with_another_address_or_none_do_not_hear),
		world_test(a_join_without_a_source_is_an_error_until_it_is_back),
		world_test(an_id_that_goes_hears_nothing),
	};

	return harness_run(tests);
}
