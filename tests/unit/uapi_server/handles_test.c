// SPDX-License-Identifier: BSD-2-Clause
/*
 * Handles are looked up with type and use; what a client makes up is unknown.
 */
#include <errno.h>

#include "harness/harness.h"
#include "uapi/server/handles_priv.h"

static int objects[300000];

static void a_handle_finds_its_object_by_its_type_alone(void **state)
{
	struct uapi_handles *h;
	uint32_t handle;

	assert_int_equal(uapi_handles_create(10, &h), 0);
	assert_int_equal(uapi_handle_add(h, UAPI_HANDLE_QP, &objects[0], &handle), 0);
	assert_int_not_equal(handle, 0);
	assert_ptr_equal(uapi_handle_find(h, UAPI_HANDLE_QP, handle), &objects[0]);
	for (int type = 0; type < UAPI_HANDLE_TYPES; type++) {
		if (type == UAPI_HANDLE_QP)
			continue;
		assert_null(uapi_handle_find(h, type, handle));
		assert_null(uapi_handle_remove(h, type, handle));
	}
	assert_ptr_equal(uapi_handle_remove(h, UAPI_HANDLE_QP, handle), &objects[0]);
	assert_null(uapi_handle_find(h, UAPI_HANDLE_QP, handle));
	assert_null(uapi_handle_remove(h, UAPI_HANDLE_QP, handle));
	uapi_handles_destroy(h);
}

static void an_old_handle_is_nobody_else_s(void **state)
{
	struct uapi_handles *h;
	uint32_t first, handle;

	assert_int_equal(uapi_handles_create(10, &h), 0);
	assert_int_equal(uapi_handle_add(h, UAPI_HANDLE_PD, &objects[0], &first), 0);
	uapi_handle_remove(h, UAPI_HANDLE_PD, first);
	for (int i = 1; i < 200000; i++) {
		assert_int_equal(uapi_handle_add(h, UAPI_HANDLE_PD, &objects[i], &handle),
				 0);
		assert_int_not_equal(handle, 0);
		assert_null(uapi_handle_find(h, UAPI_HANDLE_PD, first));
		uapi_handle_remove(h, UAPI_HANDLE_PD, handle);
	}
	uapi_handles_destroy(h);
}

static void made_up_handles_are_unknown(void **state)
{
	struct uapi_handles *h;
	uint32_t handle, x = 1;

	assert_int_equal(uapi_handles_create(10, &h), 0);
	assert_null(uapi_handle_find(h, UAPI_HANDLE_PD, 0));
	assert_null(uapi_handle_find(h, UAPI_HANDLE_PD, UINT32_MAX));
	assert_int_equal(uapi_handle_add(h, UAPI_HANDLE_PD, &objects[0], &handle), 0);
	for (int i = 0; i < 1000000; i++) {
		x = x * 1664525u + 1013904223u;
		if (x != handle)
			assert_null(uapi_handle_find(h, UAPI_HANDLE_PD, x));
	}
	for (uint32_t bit = 0; bit < 32; bit++)
		assert_null(uapi_handle_find(h, UAPI_HANDLE_PD, handle ^ 1u << bit));
	uapi_handles_destroy(h);
}

static void a_client_has_no_more_than_its_limit(void **state)
{
	struct uapi_handles *h;
	uint32_t handles[100], handle;

	assert_int_equal(uapi_handles_create(100, &h), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(uapi_handle_add(h,
						 i % 2 ? UAPI_HANDLE_PD : UAPI_HANDLE_MR,
						 &objects[i], &handles[i]),
				 0);
	assert_int_equal(uapi_handle_add(h, UAPI_HANDLE_QP, &objects[0], &handle),
			 -ENOMEM);
	assert_int_equal(uapi_handle_count(h, UAPI_HANDLE_PD), 50);
	uapi_handle_remove(h, UAPI_HANDLE_MR, handles[0]);
	assert_int_equal(uapi_handle_add(h, UAPI_HANDLE_QP, &objects[0], &handle), 0);
	assert_int_equal(uapi_handle_add(h, UAPI_HANDLE_QP, &objects[0], &handle),
			 -ENOMEM);
	uapi_handles_destroy(h);
}

static void a_walk_meets_all_of_a_type_the_youngest_first(void **state)
{
	struct uapi_handles *h;
	uint32_t handle, next = 0;

	assert_int_equal(uapi_handles_create(1000, &h), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(uapi_handle_add(h,
						 i % 2 ? UAPI_HANDLE_PD : UAPI_HANDLE_MR,
						 &objects[i], &handle),
				 0);
	for (int i = 99; i > 0; i -= 2)
		assert_ptr_equal(uapi_handle_next(h, UAPI_HANDLE_PD, &next), &objects[i]);
	assert_null(uapi_handle_next(h, UAPI_HANDLE_PD, &next));
	for (int i = 98; i >= 0; i -= 2) {
		assert_ptr_equal(uapi_handle_any(h, UAPI_HANDLE_MR, &handle),
				 &objects[i]);
		uapi_handle_remove(h, UAPI_HANDLE_MR, handle);
	}
	assert_null(uapi_handle_any(h, UAPI_HANDLE_MR, &handle));
	uapi_handles_destroy(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_handle_finds_its_object_by_its_type_alone),
		cmocka_unit_test(an_old_handle_is_nobody_else_s),
		cmocka_unit_test(made_up_handles_are_unknown),
		cmocka_unit_test(a_client_has_no_more_than_its_limit),
		cmocka_unit_test(a_walk_meets_all_of_a_type_the_youngest_first),
	};

	return harness_run(tests);
}
