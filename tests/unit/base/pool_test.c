// SPDX-License-Identifier: BSD-2-Clause
/*
 * Objects of a pool: aligned, apart from each other, used again.
 */
#include "base/pool.h"
#include "harness/harness.h"

#include <stdint.h>
#include <string.h>

#define OBJECTS 40000 /* several of the largest chunks */
#define BYTES   150

static unsigned char *objects[OBJECTS];

static void fill(unsigned int i)
{
	memset(objects[i], (int)(i % 251), BYTES);
}

static void expect_whole(unsigned int i)
{
	for (unsigned int k = 0; k < BYTES; k++)
		assert_int_equal(objects[i][k], i % 251);
}

static void objects_are_aligned_and_do_not_meet(void **state)
{
	struct pool p;

	pool_init(&p, BYTES);
	for (unsigned int i = 0; i < OBJECTS; i++) {
		objects[i] = pool_alloc(&p);
		assert_non_null(objects[i]);
		assert_int_equal((uintptr_t)objects[i] % 64, 0);
		fill(i);
	}
	for (unsigned int i = 0; i < OBJECTS; i += 2)
		pool_free(&p, objects[i]);
	for (unsigned int i = 0; i < OBJECTS; i += 2) {
		objects[i] = pool_alloc(&p);
		fill(i);
	}
	for (unsigned int i = 0; i < OBJECTS; i++)
		expect_whole(i);
	for (unsigned int i = 0; i < OBJECTS; i++)
		pool_free(&p, objects[i]);
	pool_fini(&p);
}

static void an_unused_pool_has_no_memory(void **state)
{
	struct pool p;

	pool_init(&p, 1);
	assert_null(p.chunks);
	pool_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_are_aligned_and_do_not_meet),
		cmocka_unit_test(an_unused_pool_has_no_memory),
	};

	return harness_run(tests);
}
