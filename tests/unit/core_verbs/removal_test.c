// SPDX-License-Identifier: BSD-2-Clause
/*
 * Devices that come and go: their place and number in the node, the clients that are
 * told, and what becomes of their users.
 */
#include "fake_device.h"
#include "harness/harness.h"

struct watcher {
	struct ib_client client;
	unsigned int added, removed, events;
	struct ib_device *last;
	enum ib_event_type last_event;
	bool found; /* the device was to be found when the client was told */
};

struct fixture {
	struct ib_node *node;
	struct fake_device fake;
	struct watcher watcher;
	struct ib_event_handler handler;
	unsigned int fatal, unused;
};

static struct fixture fixture;

static void added(struct ib_client *client, struct ib_device *device)
{
	struct watcher *w = container_of(client, struct watcher, client);

	w->added++;
	w->last = device;
	w->found = ib_node_find_device(fixture.node, device->id) == device;
}

static void removed(struct ib_client *client, struct ib_device *device)
{
	struct watcher *w = container_of(client, struct watcher, client);

	w->removed++;
	w->last = device;
	w->found = ib_node_find_device(fixture.node, device->id);
}

static void heard(struct ib_client *client, const struct ib_event *event)
{
	struct watcher *w = container_of(client, struct watcher, client);

	w->events++;
	w->last_event = event->event;
}

static void user_heard(struct ib_event_handler *handler, struct ib_event *event)
{
	fixture.fatal += event->event == IB_EVENT_DEVICE_FATAL;
}

static void unused(struct ib_device *device)
{
	fixture.unused++;
}

static int setup(void **state)
{
	struct fixture *f = &fixture;

	memset(f, 0, sizeof(*f));
	f->node = ib_node_create("here", 0);
	f->watcher.client =
		(struct ib_client){ .add = added, .remove = removed, .event = heard };
	ib_register_client(&f->watcher.client, f->node);
	fake_init(&f->fake, "fake0", 1, IB_LINK_LAYER_ETHERNET);
	f->fake.ib.ops.unused = unused;
	assert_int_equal(ib_register_device(&f->fake.ib, f->node), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	if (f->fake.ib.node)
		assert_int_equal(ib_unregister_device(&f->fake.ib), 0);
	ib_unregister_client(&f->watcher.client);
	ib_node_destroy(f->node);
	return 0;
}

static void the_list_goes_by_place_and_numbers_are_not_used_again(void **state)
{
	struct fixture *f = *state;
	struct fake_device third, second;
	u32 id;

	fake_init(&third, "fake2", 1, IB_LINK_LAYER_ETHERNET);
	fake_init(&second, "fake1", 1, IB_LINK_LAYER_ETHERNET);
	third.ib.place = 2;
	second.ib.place = 1;
	assert_int_equal(ib_register_device(&third.ib, f->node), 0);
	assert_int_equal(ib_register_device(&second.ib, f->node), 0);
	assert_ptr_equal(ib_node_device(f->node, 0), &f->fake.ib);
	assert_ptr_equal(ib_node_device(f->node, 1), &second.ib);
	assert_ptr_equal(ib_node_device(f->node, 2), &third.ib);
	id = second.ib.id;
	assert_ptr_equal(ib_node_find_device(f->node, id), &second.ib);
	assert_int_equal(ib_unregister_device(&second.ib), 0);
	assert_null(ib_node_find_device(f->node, id));
	assert_int_equal(ib_register_device(&second.ib, f->node), 0);
	assert_true(second.ib.id > id);
	assert_null(ib_node_find_device(f->node, id));
	assert_ptr_equal(ib_node_device(f->node, 1), &second.ib);
	assert_int_equal(ib_unregister_device(&second.ib), 0);
	assert_int_equal(ib_unregister_device(&third.ib), 0);
}

static void clients_are_told(void **state)
{
	struct fixture *f = *state;
	struct watcher *w = &f->watcher;
	struct ib_event event = { .device = &f->fake.ib, .event = IB_EVENT_GID_CHANGE };

	assert_int_equal(w->added, 1);
	assert_true(w->found);
	assert_ptr_equal(w->last, &f->fake.ib);
	ib_dispatch_event(&event);
	assert_int_equal(w->events, 1);
	assert_int_equal(w->last_event, IB_EVENT_GID_CHANGE);
	ib_remove_device(&f->fake.ib);
	assert_int_equal(w->removed, 1);
	assert_false(w->found);
	assert_int_equal(w->last_event, IB_EVENT_DEVICE_FATAL);
	/* Once. */
	ib_remove_device(&f->fake.ib);
	assert_int_equal(ib_unregister_device(&f->fake.ib), 0);
	assert_int_equal(w->removed, 1);
	assert_int_equal(w->events, 2);
}

static void a_client_without_functions_is_fine(void **state)
{
	struct fixture *f = *state;
	struct ib_client mute = { 0 };

	ib_register_client(&mute, f->node);
	ib_remove_device(&f->fake.ib);
	assert_int_equal(ib_unregister_device(&f->fake.ib), 0);
	assert_int_equal(ib_register_device(&f->fake.ib, f->node), 0);
	ib_unregister_client(&mute);
}

struct standing {
	struct ib_client client;
	struct ib_device *device;
	const struct standing *on; /* must still be there when this one is told */
	void *found;               /* its data, when it was told */
};

static void let_go(struct ib_client *client, struct ib_device *device)
{
	struct standing *s = container_of(client, struct standing, client);

	if (s->on)
		assert_non_null(s->on->device);
	s->found = ib_get_client_data(device, client);
	s->device = NULL;
}

static void who_came_last_lets_go_first(void **state)
{
	struct fixture *f = *state;
	struct standing below = { .client.remove = let_go, .device = &f->fake.ib };
	struct standing above = below;

	above.on = &below;
	ib_register_client(&below.client, f->node);
	ib_register_client(&above.client, f->node);
	ib_remove_device(&f->fake.ib);
	assert_null(above.device);
	assert_null(below.device);
	ib_unregister_client(&above.client);
	ib_unregister_client(&below.client);
}

static void data_is_a_client_s_and_a_device_s(void **state)
{
	struct fixture *f = *state;
	struct ib_device *ib = &f->fake.ib;
	struct standing one = { .client.remove = let_go }, two = one;
	struct fake_device other;
	int a, b;

	fake_init(&other, "fake1", 1, IB_LINK_LAYER_ETHERNET);
	assert_int_equal(ib_register_device(&other.ib, f->node), 0);
	ib_register_client(&one.client, f->node);
	ib_register_client(&two.client, f->node);
	assert_null(ib_get_client_data(ib, &one.client));
	assert_int_equal(ib_set_client_data(ib, &one.client, &a), 0);
	assert_int_equal(ib_set_client_data(ib, &two.client, &b), 0);
	assert_ptr_equal(ib_get_client_data(ib, &one.client), &a);
	assert_ptr_equal(ib_get_client_data(ib, &two.client), &b);
	assert_null(ib_get_client_data(&other.ib, &one.client));
	assert_int_equal(ib_set_client_data(ib, &one.client, &b), 0);
	assert_ptr_equal(ib_get_client_data(ib, &one.client), &b);
	assert_int_equal(ib_set_client_data(ib, &one.client, NULL), 0);
	assert_null(ib_get_client_data(ib, &one.client));
	assert_int_equal(ib_set_client_data(ib, &one.client, NULL), 0);

	/* There while the client is told that the device goes, and gone with either. */
	ib_remove_device(ib);
	assert_ptr_equal(two.found, &b);
	assert_null(ib_get_client_data(ib, &two.client));
	assert_int_equal(ib_set_client_data(ib, &two.client, &b), -EIO);
	assert_int_equal(ib_set_client_data(&other.ib, &two.client, &b), 0);
	ib_unregister_client(&two.client);
	assert_null(ib_get_client_data(&other.ib, &two.client));
	ib_unregister_client(&one.client);
	assert_int_equal(ib_unregister_device(&other.ib), 0);
}

/* All that a user has. */
struct user {
	struct ib_ucontext *context;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_mr *mr;
	struct ib_srq *srq;
	struct ib_qp *qp;
};

static struct ib_cq_init_attr cq_attr = { .cqe = 10 };

static struct ib_qp *make_qp(struct user *u)
{
	struct ib_qp_init_attr attr = { .send_cq = u->cq,
					.recv_cq = u->cq,
					.qp_type = IB_QPT_UD };

	return ib_create_qp(u->pd, &attr);
}

static struct ib_srq *make_srq(struct user *u)
{
	struct ib_srq_init_attr attr = { .attr = { .max_wr = 1, .max_sge = 1 } };

	return ib_create_srq(u->pd, &attr);
}

static void user_begin(struct fixture *f, struct user *u)
{
	u->context = ib_alloc_ucontext(&f->fake.ib, 1);
	u->pd = ib_alloc_user_pd(u->context);
	u->cq = ib_create_user_cq(u->context, NULL, &cq_attr);
	u->mr = ib_reg_user_mr(u->pd, 0x1000, 1, 0, 0);
	u->srq = make_srq(u);
	u->qp = make_qp(u);
	assert_false(IS_ERR(u->qp) || IS_ERR(u->srq) || IS_ERR(u->mr));
	INIT_IB_EVENT_HANDLER(&f->handler, &f->fake.ib, user_heard);
	ib_register_event_handler(&f->handler);
}

static void user_end(struct fixture *f, struct user *u)
{
	assert_int_equal(ib_destroy_qp(u->qp), 0);
	assert_int_equal(ib_destroy_srq_user(u->srq), 0);
	assert_int_equal(ib_dereg_mr(u->mr), 0);
	assert_int_equal(ib_destroy_cq_user(u->cq), 0);
	assert_int_equal(ib_dealloc_pd_user(u->pd), 0);
	ib_unregister_event_handler(&f->handler);
	assert_int_equal(ib_dealloc_ucontext(u->context), 0);
}

static void users_of_a_removed_device_can_only_destroy(void **state)
{
	struct fixture *f = *state;
	union ib_gid group = { .raw = { 0xff, 0x0e, [15] = 1 } };
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT };
	struct ib_srq_attr srq_attr = { .max_wr = 2 };
	struct user u;

	user_begin(f, &u);
	assert_int_equal(ib_attach_mcast(u.qp, &group, 0), 0);
	ib_remove_device(&f->fake.ib);
	assert_int_equal(f->fatal, 1);
	assert_int_equal(PTR_ERR(ib_alloc_ucontext(&f->fake.ib, 1)), -EIO);
	assert_int_equal(PTR_ERR(ib_alloc_user_pd(u.context)), -EIO);
	assert_int_equal(PTR_ERR(ib_create_user_cq(u.context, NULL, &cq_attr)), -EIO);
	assert_int_equal(PTR_ERR(ib_reg_user_mr(u.pd, 0x1000, 1, 0, 0)), -EIO);
	assert_int_equal(PTR_ERR(make_srq(&u)), -EIO);
	assert_int_equal(PTR_ERR(make_qp(&u)), -EIO);
	assert_int_equal(ib_resize_cq(u.cq, 20), -EIO);
	assert_int_equal(ib_rereg_user_mr(u.mr, IB_MR_REREG_ACCESS, 0, 0, 0, 1, NULL),
			 -EIO);
	assert_int_equal(ib_modify_srq(u.srq, &srq_attr, IB_SRQ_MAX_WR), -EIO);
	assert_int_equal(ib_modify_qp(u.qp, &attr, IB_QP_STATE), -EIO);
	group.raw[15] = 2;
	assert_int_equal(ib_attach_mcast(u.qp, &group, 0), -EIO);
	group.raw[15] = 1;
	assert_int_equal(ib_detach_mcast(u.qp, &group, 0), 0);
	assert_int_equal(ib_unregister_device(&f->fake.ib), -EBUSY);
	assert_int_equal(f->unused, 0);
	user_end(f, &u);
	assert_int_equal(f->unused, 1);
	assert_int_equal(ib_unregister_device(&f->fake.ib), 0);
}

static void a_device_that_is_not_removed_does_not_say_unused(void **state)
{
	struct fixture *f = *state;
	struct user u;

	user_begin(f, &u);
	user_end(f, &u);
	assert_int_equal(f->unused, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_list_goes_by_place_and_numbers_are_not_used_again),
		TEST(clients_are_told),
		TEST(a_client_without_functions_is_fine),
		TEST(who_came_last_lets_go_first),
		TEST(data_is_a_client_s_and_a_device_s),
		TEST(users_of_a_removed_device_can_only_destroy),
		TEST(a_device_that_is_not_removed_does_not_say_unused),
	};

	return harness_run(tests);
}
