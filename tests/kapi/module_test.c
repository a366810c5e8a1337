// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 300 LABELS threads
/*
 * A consumer as a shared object: the example, as it is, hears what a queue pair of this
 * program sends; and what cannot be loaded says why.
 */
#include "site.h"

#define EXAMPLE KAPI_EXAMPLES_DIR "/mcast_consumer.so"

static void the_example_listens(void **state)
{
	static const char *const parameters[] = { "group=239.1.2.77", NULL };
	struct ib_device *device = site_device("vroce0");
	union ib_gid group = site_group(77);
	struct rdma_hw_stats *stats;
	char list[128], why[256] = "";
	struct site_qp q;
	struct ib_ah *ah;

	assert_int_equal(kapi_module_load(EXAMPLE, parameters, why, sizeof(why)), 0);
	kapi_module_list(list, sizeof(list));
	assert_string_equal(list, "mcast_consumer\n");
	assert_int_equal(kapi_module_load(EXAMPLE, NULL, why, sizeof(why)), -EEXIST);
	assert_string_equal(why, "mcast_consumer is loaded already");
	assert_int_equal(kapi_site_close(), -EBUSY);
	site_qp_create(&q, device);
	ah = site_group_ah(&q, &group, 0);
	site_send(&q, ah, "hello");
	stats = rdma_get_hw_stats(device, 1);
	stats->lifespan = 0;
	/* rx_datagrams */
	harness_until(stats->value[2] == 1, 5000,
		      (harness_pause(), rdma_update_hw_stats(device, 1, stats)));
	rdma_free_hw_stats_struct(stats);
	rdma_destroy_ah(ah, 0);
	site_qp_destroy(&q);
	ib_device_put(device);
	assert_int_equal(kapi_module_unload("mcast_consumer"), 0);
	assert_int_equal(kapi_module_unload("mcast_consumer"), -ENOENT);
}

static void what_cannot_be_loaded_says_why(void **state)
{
	static const char *const wrong[] = { "colour=blue", NULL };
	char why[256] = "";

	assert_int_equal(kapi_module_load("/nowhere.so", NULL, why, sizeof(why)),
			 -ENOENT);
	assert_non_null(strstr(why, "/nowhere.so"));
	assert_int_equal(kapi_module_load(VERBCAST_TESTS_DIR "/kapi/module_test.c", NULL,
					  why, sizeof(why)),
			 -ENOEXEC);
	/* As endless as a FIFO that nobody writes into. */
	assert_int_equal(kapi_module_load("/dev/zero", NULL, why, sizeof(why)), -ENOEXEC);
	assert_string_equal(why, "/dev/zero: it is no regular file");
	assert_int_equal(kapi_module_load(EXAMPLE, wrong, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "colour=blue"));
	assert_int_equal(
		kapi_module_load(KAPI_EXAMPLES_DIR "/no_init.so", NULL, why, sizeof(why)),
		-EINVAL);
	assert_string_equal(why, "no_init has no module_init");
	assert_int_equal(kapi_module_load(KAPI_EXAMPLES_DIR "/unknown_symbol.so", NULL,
					  why, sizeof(why)),
			 -ENOEXEC);
	assert_non_null(strstr(why, "kapi_nobody_has_this"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, site_setup, site_teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_example_listens),
		TEST(what_cannot_be_loaded_says_why),
	};

	return harness_run(tests);
}
