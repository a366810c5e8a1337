// SPDX-License-Identifier: BSD-2-Clause
// links: apps_alloc
/*
 * Each allocation fails once, from the creation of the layers to the last leave: whoever
 * asked is told -ENOMEM, what was begun is undone, and all else goes on.
 */
#include "alloc/alloc.h"
#include "unit/core_sa/world.h"

static unsigned int told; /* -ENOMEM */
static struct ib_sa_query *no_query;

static void note(int status)
{
	assert_true(status == 0 || status == -ENOMEM);
	told += status == -ENOMEM;
}

static int hears(int status, struct ib_sa_multicast *multicast)
{
	if (status != -ENETRESET)
		note(status);
	return 0;
}

static void hears_services(int status, const struct sa_service_rec *recs,
			   unsigned int count, void *context)
{
	note(status);
	assert_int_equal(count, status ? 0 : 1);
}

static void grant_all(void)
{
	struct fake_mad *mad;

	settle();
	while ((mad = fake_hca_take(&world.hca))) {
		struct fake_mad request = *mad;
		struct sa_header sa;

		sa_header_get(request.bytes, &sa);
		sa.attr_offset = SA_SERVICE_BYTES / 8;
		sa_header_put(request.bytes, &sa);
		request.bytes[3] = request.bytes[3] == MAD_METHOD_SET
					   ? MAD_METHOD_GET_RESP
					   : request.bytes[3] | MAD_METHOD_RESPONSE;
		fake_hca_answer(&world.hca, 1, &request.packet, request.bytes);
		settle();
	}
}

static struct ib_sa_multicast *try_join(u8 id, u8 join_state)
{
	struct ib_sa_mcmember_rec rec = wanted(id, join_state);
	struct ib_sa_multicast *multicast = ib_sa_join_multicast(
		&world.client, &world.hca.ib, 1, &rec,
		ib_sa_comp_mask_from_host(MASK_MINIMAL), hears, NULL);

	if (!IS_ERR(multicast))
		return multicast;
	note((int)PTR_ERR(multicast));
	return NULL;
}

static void ask_services(void)
{
	struct sa_service_rec rec = { 0 };
	int r = ib_sa_service_rec_get(&world.client, &world.hca.ib, 1, &rec,
				      ib_sa_comp_mask_from_host(0), 1000, hears_services,
				      NULL, &no_query);

	if (r < 0)
		note(r);
}

static void use(void)
{
	struct ib_sa_multicast *members[3];

	for (u8 i = 0; i < 3; i++) {
		members[i] = try_join(i / 2, i == 1 ? SA_JOIN_NON : SA_JOIN_FULL);
		grant_all();
	}
	ask_services();
	grant_all();
	for (u8 i = 0; i < 3; i++)
		if (members[i])
			ib_sa_free_multicast(members[i]);
	grant_all();
	assert_int_equal(group_count(), 0);
	assert_int_equal(world.client.users, 1);
}

static int begin(void)
{
	struct ib_mad_config mad = { .node = world.node,
				     .timers = &world.timers,
				     .random = &world.random };
	struct ib_sa_config sa = { .node = world.node,
				   .timers = &world.timers,
				   .random = &world.random };
	int r;

	r = ib_mad_create(&mad, &world.mad);
	if (r < 0)
		return r;
	sa.mad = world.mad;
	return ib_sa_create(&sa, &world.sa);
}

static void try_all(void)
{
	int r = begin();

	if (r < 0)
		note(r);
	else if (!world.hca.ib.mad || !world.hca.ib.sa)
		told++; /* the device has no SA, for want of memory */
	else
		use();
	ib_sa_destroy(world.sa);
	ib_mad_destroy(world.mad);
}

static void each_allocation_fails_once(void **state)
{
	int n = 0, failed = 1;

	while (failed) {
		long live;

		memset(&world, 0, sizeof(world));
		timer_queue_init(&world.timers, 1000, NULL, NULL);
		random_seed(&world.random, 1);
		world.node = ib_node_create("here", 0);
		fake_hca_init(&world.hca, "ib0", IB_LINK_LAYER_INFINIBAND);
		world.hca.room = 16; /* that the adapter is not what fails */
		world.hca.sent = calloc(16, sizeof(*world.hca.sent));
		assert_int_equal(ib_register_device(&world.hca.ib, world.node), 0);
		ib_sa_register_client(&world.client);
		told = 0;
		live = alloc_here.live;
		alloc_fail_at(++n);
		try_all();
		failed = alloc_here.failed;
		alloc_fail_at(0);
		assert_int_equal(alloc_here.live, live);
		/* A table that cannot grow works on; a leave that cannot be sent is done
		 * with. Everything else is told to somebody. */
		assert_true(told <= 1);
		if (!failed)
			assert_int_equal(told, 0);
		assert_int_equal(ib_unregister_device(&world.hca.ib), 0);
		fake_hca_fini(&world.hca);
		ib_node_destroy(world.node);
	}
	assert_true(n > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_allocation_fails_once),
	};

	return harness_run(tests);
}
