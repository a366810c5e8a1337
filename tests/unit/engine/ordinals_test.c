// SPDX-License-Identifier: BSD-2-Clause
/*
 * The numbers of a sender's datagrams to an entry: they follow each other, whichever of its
 * address handles it sends by, and whichever come, go, or lead elsewhere meanwhile.
 */
#include <stdlib.h>

#include "engine/engine_priv.h"
#include "harness/harness.h"

#define ENTRIES 3u

static struct tx tx;

static int set_up(void **state)
{
	tx.ordinals = calloc(ENTRIES, sizeof(*tx.ordinals));
	return tx.ordinals ? 0 : -1;
}

static int tear_down(void **state)
{
	free(tx.ordinals);
	return 0;
}

static struct engine_ah handle(void)
{
	return (struct engine_ah){ .entry = SHM_NONE };
}

static void one_handle_counts(void **state)
{
	struct engine_ah ah = handle();

	ordinal_lead(&tx, &ah, 1);
	for (uint32_t i = 1; i <= 5; i++)
		assert_int_equal(ordinal_next(&tx, &ah), i);
	assert_true(ah.owner);
	/* Nothing changes where it leads. */
	ordinal_lead(&tx, &ah, 1);
	assert_int_equal(ordinal_next(&tx, &ah), 6);
	/* By the entry, too: a datagram that was held back. */
	assert_int_equal(ordinal_of_entry(&tx, 1), 7);
	assert_int_equal(ordinal_next(&tx, &ah), 8);
}

static void several_handles_count_together(void **state)
{
	struct engine_ah a = handle(), b = handle(), c = handle();

	ordinal_lead(&tx, &a, 1);
	assert_int_equal(ordinal_next(&tx, &a), 1);
	ordinal_lead(&tx, &b, 1);
	assert_false(a.owner || b.owner);
	assert_int_equal(ordinal_next(&tx, &b), 2);
	assert_int_equal(ordinal_next(&tx, &a), 3);
	ordinal_lead(&tx, &a, SHM_NONE);
	assert_int_equal(ordinal_next(&tx, &b), 4);
	ordinal_lead(&tx, &c, 1);
	assert_int_equal(ordinal_next(&tx, &c), 5);
	assert_int_equal(ordinal_of_entry(&tx, 1), 6);
}

static void who_comes_later_goes_on(void **state)
{
	struct engine_ah a = handle(), b = handle();

	ordinal_lead(&tx, &a, 1);
	assert_int_equal(ordinal_next(&tx, &a), 1);
	ordinal_lead(&tx, &a, SHM_NONE);
	assert_false(a.owner);
	assert_int_equal(ordinal_of_entry(&tx, 1), 2);
	ordinal_lead(&tx, &b, 1);
	assert_true(b.owner);
	assert_int_equal(ordinal_next(&tx, &b), 3);
}

static void entries_do_not_meet(void **state)
{
	struct engine_ah a = handle(), b = handle();

	ordinal_lead(&tx, &a, 1);
	ordinal_lead(&tx, &b, 2);
	assert_int_equal(ordinal_next(&tx, &a), 1);
	assert_int_equal(ordinal_next(&tx, &a), 2);
	assert_int_equal(ordinal_next(&tx, &b), 1);
	/* The group has another entry now. */
	ordinal_lead(&tx, &a, 2);
	assert_int_equal(ordinal_next(&tx, &a), 2);
	assert_int_equal(ordinal_next(&tx, &b), 3);
	assert_int_equal(ordinal_of_entry(&tx, 1), 3);
}

/* As many handles as there may be, in any order: no number twice, none left out. */
static void random_handles_leave_no_gap(void **state)
{
	struct engine_ah ahs[4];
	uint32_t last[ENTRIES] = { 0 }, x = 1;

	for (unsigned int i = 0; i < 4; i++)
		ahs[i] = handle();
	for (unsigned int i = 0; i < 100000; i++) {
		struct engine_ah *ah;
		uint32_t choice;

		x = x * 1664525u + 1013904223u;
		ah = &ahs[x >> 30];
		choice = x >> 8 & 7;
		if (choice < ENTRIES)
			ordinal_lead(&tx, ah, choice);
		else if (choice == ENTRIES)
			ordinal_lead(&tx, ah, SHM_NONE);
		else if (ah->entry != SHM_NONE)
			assert_int_equal(ordinal_next(&tx, ah), ++last[ah->entry]);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_handle_counts),           TEST(several_handles_count_together),
		TEST(who_comes_later_goes_on),     TEST(entries_do_not_meet),
		TEST(random_handles_leave_no_gap),
	};

	return harness_run(tests);
}
