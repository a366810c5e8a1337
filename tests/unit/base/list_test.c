// SPDX-License-Identifier: BSD-2-Clause
#include "harness/harness.h"

#include "base/list.h"

struct item {
	int value;
	struct list node;
};

static int values(struct list *head, int out[], int max)
{
	int n = 0;

	list_for_each(pos, head) {
		assert_true(n < max);
		out[n++] = container_of(pos, struct item, node)->value;
	}
	return n;
}

static void order_is_that_of_insertion(void **state)
{
	struct item a = { .value = 1 }, b = { .value = 2 }, c = { .value = 3 };
	struct list head = LIST_INIT(head);
	int out[4];

	assert_true(list_empty(&head));
	list_append(&head, &b.node);
	list_append(&head, &c.node);
	list_prepend(&head, &a.node);
	assert_int_equal(values(&head, out, 4), 3);
	assert_int_equal(out[0], 1);
	assert_int_equal(out[1], 2);
	assert_int_equal(out[2], 3);
}

static void removing_twice_is_harmless(void **state)
{
	struct item a = { .value = 1 }, b = { .value = 2 };
	struct list head = LIST_INIT(head);
	int out[4];

	list_append(&head, &a.node);
	list_append(&head, &b.node);
	list_remove(&a.node);
	list_remove(&a.node);
	assert_int_equal(values(&head, out, 4), 1);
	assert_int_equal(out[0], 2);
}

static void body_of_safe_loop_may_remove(void **state)
{
	struct item items[3] = { { .value = 1 }, { .value = 2 }, { .value = 3 } };
	struct list head = LIST_INIT(head);
	int seen = 0;

	for (int i = 0; i < 3; i++)
		list_append(&head, &items[i].node);
	list_for_each_safe(pos, &head) {
		list_remove(pos);
		seen++;
	}
	assert_int_equal(seen, 3);
	assert_true(list_empty(&head));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_is_that_of_insertion),
		cmocka_unit_test(removing_twice_is_harmless),
		cmocka_unit_test(body_of_safe_loop_may_remove),
	};

	return harness_run(tests);
}
