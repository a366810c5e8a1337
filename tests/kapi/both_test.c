// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 300 LABELS noasan
/*
 * One program links the kernel API and the system's librdmacm and libibverbs, and calls
 * functions that both have, with other signatures.
 */
#include <dlfcn.h>
#include <rdma/rdma_cma.h>
#include <verbcast/kapi.h>

#include "both.h"
#include "harness/harness.h"

static void each_half_calls_its_own(void **state)
{
	struct ibv_device **list;
	Dl_info info;

	/* The user's half: librdmacm finds no device without a kernel that has some. */
	assert_int_not_equal(dladdr((void *)rdma_join_multicast, &info), 0);
	assert_non_null(strstr(info.dli_fname, "librdmacm"));
	assert_int_not_equal(dladdr((void *)rdma_bind_addr, &info), 0);
	assert_non_null(strstr(info.dli_fname, "librdmacm"));
	list = ibv_get_device_list(NULL);
	if (list)
		ibv_free_device_list(list);
	assert_int_equal(kapi_site_open(NULL), 0);
	assert_int_equal(both_kernel(), 0);
	assert_int_equal(kapi_site_close(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_half_calls_its_own),
	};

	return harness_run(tests);
}
