// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 300 LABELS threads
/*
 * The refusals of ib_attach_mcast and ib_detach_mcast, in the order of spec/kernel 1.1, on
 * devices of the test's own.
 */
#include "fake.h"
#include "site.h"

#define IB  IB_LINK_LAYER_INFINIBAND
#define ETH IB_LINK_LAYER_ETHERNET

static const struct ib_device_ops attach_ops = { .attach_mcast = fake_attach };
static const struct ib_device_ops detach_ops = { .detach_mcast = fake_detach };

static struct fake *begin(enum rdma_link_layer one, enum rdma_link_layer two, bool attach,
			  bool detach)
{
	struct fake *f = fake_create(one, two);

	if (attach)
		ib_set_device_ops(&f->ib, &attach_ops);
	if (detach)
		ib_set_device_ops(&f->ib, &detach_ops);
	assert_int_equal(ib_register_device(&f->ib, "fake%d", NULL), 0);
	return f;
}

static void end(struct fake *f)
{
	ib_unregister_device(&f->ib);
	fake_destroy(f);
}

/* Check 1: the two operations are looked at one by one, before anything else. */
static void an_operation_that_is_missing_is_not_supported(void **state)
{
	union ib_gid unicast = { .raw = { 0xfe, 0x80 } }, group = site_group(1);
	struct fake *f = begin(IB, IB, true, false);
	struct fake_qp q;

	fake_qp_make(&q, &f->ib, IB_QPT_UD);
	assert_int_equal(ib_detach_mcast(q.qp, &unicast, 0), -EOPNOTSUPP);
	assert_int_equal(ib_attach_mcast(q.qp, &group, 0xc000), 0);
	assert_int_equal(ib_attach_mcast(q.qp, &group, 0xc000), 0);
	assert_int_equal(atomic_read(&q.qp->usecnt), 1);
	assert_int_equal(ib_destroy_qp(q.qp), -EBUSY);
	ib_set_device_ops(&f->ib, &detach_ops);
	assert_int_equal(ib_detach_mcast(q.qp, &group, 0xc000), 0);
	fake_qp_free(&q);
	end(f);
	f = begin(IB, IB, false, true);
	fake_qp_make(&q, &f->ib, IB_QPT_UD);
	assert_int_equal(ib_attach_mcast(q.qp, &group, 0xc000), -EOPNOTSUPP);
	fake_qp_free(&q);
	end(f);
}

/* Check 2, spec/kernel 0.2. */
static void only_multicast_addresses_are_taken(void **state)
{
	static const struct {
		union ib_gid gid;
		int r;
	} cases[] = {
		{ { .raw = { 0xff } }, 0 },
		{ { .raw = { [10] = 0xff, [11] = 0xff, [12] = 224, [15] = 1 } }, 0 },
		{ { .raw = { [10] = 0xff, [11] = 0xff, [12] = 239, [15] = 1 } }, 0 },
		{ { .raw = { [10] = 0xff, [11] = 0xff, [12] = 223, 255, 255, 255 } },
		  -EINVAL },
		{ { .raw = { [10] = 0xff, [11] = 0xff, [12] = 240 } }, -EINVAL },
		{ { .raw = { [12] = 224, [15] = 1 } }, -EINVAL },
		{ { .raw = { 0xfe, 0x80 } }, -EINVAL },
	};
	struct fake *f = begin(ETH, ETH, true, true);
	struct fake_qp q;

	fake_qp_make(&q, &f->ib, IB_QPT_UD);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		union ib_gid gid = cases[i].gid;

		assert_int_equal(ib_attach_mcast(q.qp, &gid, 0), cases[i].r);
		assert_int_equal(ib_detach_mcast(q.qp, &gid, 0), cases[i].r);
	}
	assert_int_equal(f->attached, 3);
	assert_int_equal(f->detached, 3);
	fake_qp_free(&q);
	end(f);
}

/* Check 3. */
static void only_datagram_queue_pairs_are_taken(void **state)
{
	static const enum ib_qp_type types[] = { IB_QPT_GSI, IB_QPT_SMI, IB_QPT_RC,
						 IB_QPT_UC, IB_QPT_RAW_PACKET };
	union ib_gid group = site_group(1);
	struct fake *f = begin(ETH, ETH, true, true);

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct fake_qp q;

		fake_qp_make(&q, &f->ib, types[i]);
		assert_int_equal(ib_attach_mcast(q.qp, &group, 0), -EINVAL);
		assert_int_equal(ib_detach_mcast(q.qp, &group, 0), -EINVAL);
		fake_qp_free(&q);
	}
	assert_int_equal(f->attached + f->detached, 0);
	end(f);
}

struct lid_case {
	enum rdma_link_layer one, two;
	enum ib_qp_state state;
	u32 port;
	int query_error;
	u16 lid;
	int r;
};

/* Check 4, spec/kernel 1.2 and 6, rows 4 to 7. */
static void the_lid_counts_where_the_port_is_infiniband(void **state)
{
	static const struct lid_case cases[] = {
		{ IB, IB, IB_QPS_INIT, 1, 0, 0xbfff, -EINVAL },
		{ IB, IB, IB_QPS_INIT, 1, 0, 0xc000, 0 },
		{ IB, IB, IB_QPS_INIT, 1, 0, 0xfffe, 0 },
		{ IB, IB, IB_QPS_INIT, 1, 0, 0xffff, -EINVAL },
		{ IB, IB, IB_QPS_INIT, 1, 0, 0, -EINVAL },
		{ IB, IB, IB_QPS_INIT, 1, 0, 0x01c0,
		  -EINVAL }, /* 0xc001 in network order */
		{ ETH, ETH, IB_QPS_INIT, 1, 0, 0, 0 },
		{ ETH, ETH, IB_QPS_INIT, 1, 0, 0xbfff, 0 },
		{ ETH, ETH, IB_QPS_INIT, 1, 0, 0xc000, 0 },
		{ ETH, ETH, IB_QPS_INIT, 1, 0, 0xfffe, 0 },
		{ ETH, ETH, IB_QPS_INIT, 1, 0, 0xffff, 0 },
		{ ETH, ETH, IB_QPS_INIT, 1, 0, 0x01c0, 0 },
		/* Its own port decides... */
		{ IB, ETH, IB_QPS_INIT, 1, 0, 0, -EINVAL },
		{ IB, ETH, IB_QPS_INIT, 2, 0, 0, 0 },
		{ IB, ETH, IB_QPS_RTS, 1, 0, 0, -EINVAL },
		{ IB, ETH, IB_QPS_ERR, 2, 0, 0, 0 },
		/* ...or, before it has one, whether there is another kind. */
		{ IB, ETH, IB_QPS_RESET, 0, 0, 0, 0 },
		{ ETH, IB, IB_QPS_RESET, 0, 0, 0, 0 },
		{ IB, IB, IB_QPS_RESET, 0, 0, 0, -EINVAL },
		{ IB, IB, IB_QPS_RESET, 0, 0, 0xc000, 0 },
		{ IB, ETH, IB_QPS_INIT, 1, -EIO, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct lid_case *c = &cases[i];
		struct fake *f = begin(c->one, c->two, true, true);
		union ib_gid group = site_group(1);
		struct fake_qp q;

		f->state = c->state;
		f->port = c->port;
		f->query_error = c->query_error;
		fake_qp_make(&q, &f->ib, IB_QPT_UD);
		assert_int_equal(ib_attach_mcast(q.qp, &group, c->lid), c->r);
		assert_int_equal(f->attached, c->r == 0);
		assert_int_equal(ib_detach_mcast(q.qp, &group, c->lid), c->r);
		if (c->r == 0)
			assert_int_equal(f->lid, c->lid);
		fake_qp_free(&q);
		end(f);
	}
}

/* Checks 5 and 6. */
static void the_drivers_error_is_returned_as_it_is(void **state)
{
	union ib_gid group = site_group(1);
	struct fake *f = begin(ETH, ETH, true, true);
	struct fake_qp q;

	fake_qp_make(&q, &f->ib, IB_QPT_UD);
	f->attach_error = -ENODEV;
	assert_int_equal(ib_attach_mcast(q.qp, &group, 0), -ENODEV);
	assert_int_equal(atomic_read(&q.qp->usecnt), 0);
	f->attach_error = 0;
	assert_int_equal(ib_attach_mcast(q.qp, &group, 0), 0);
	f->attach_error = -EIO;
	assert_int_equal(ib_detach_mcast(q.qp, &group, 0), -EIO);
	assert_int_equal(atomic_read(&q.qp->usecnt), 1);
	f->attach_error = 0;
	assert_int_equal(ib_detach_mcast(q.qp, &group, 0), 0);
	fake_qp_free(&q);
	end(f);
}

#define THREADS 4

struct racer {
	pthread_t thread;
	struct fake_qp q;
	int r;
};

static void *attach_and_detach(void *arg)
{
	struct racer *racer = arg;

	for (int i = 0; i < 100 && !racer->r; i++) {
		union ib_gid group = site_group(i);

		racer->r = ib_attach_mcast(racer->q.qp, &group, 0);
		if (!racer->r && i % 2)
			racer->r = ib_detach_mcast(racer->q.qp, &group, 0);
	}
	return NULL;
}

/* Spec/kernel 6, row 12: one group each, whoever is first. */
static void threads_attach_to_the_same_new_groups(void **state)
{
	struct ib_device *device = site_device("vroce0");
	struct racer racers[THREADS] = { 0 };

	for (int i = 0; i < THREADS; i++)
		fake_qp_make(&racers[i].q, device, IB_QPT_UD);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&racers[i].thread, NULL, attach_and_detach, &racers[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(racers[i].thread, NULL);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(racers[i].r, 0);
		assert_int_equal(atomic_read(&racers[i].q.qp->usecnt), 50);
		for (int n = 0; n < 100; n += 2) {
			union ib_gid group = site_group(n);

			assert_int_equal(ib_detach_mcast(racers[i].q.qp, &group, 0), 0);
		}
		fake_qp_free(&racers[i].q);
	}
	ib_device_put(device);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, site_setup, site_teardown)
	const struct CMUnitTest tests[] = {
		TEST(an_operation_that_is_missing_is_not_supported),
		TEST(only_multicast_addresses_are_taken),
		TEST(only_datagram_queue_pairs_are_taken),
		TEST(the_lid_counts_where_the_port_is_infiniband),
		TEST(the_drivers_error_is_returned_as_it_is),
		TEST(threads_attach_to_the_same_new_groups),
	};

	return harness_run(tests);
}
