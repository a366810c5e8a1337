// SPDX-License-Identifier: BSD-2-Clause
/*
 * The intrusive hash table against a plain array, while it grows and with equal hashes.
 */
#include "base/hash.h"
#include "harness/harness.h"

#define THINGS 5000

struct thing {
	struct hash_node node;
	uint32_t key;
	bool in;
};

static struct thing things[THINGS];

/* Eight keys share a hash. */
static uint32_t value_of(uint32_t key)
{
	uint32_t part = key / 8;

	return hash_bytes(0, &part, sizeof(part));
}

static unsigned int found(struct hash *h, uint32_t key)
{
	unsigned int n = 0;

	hash_for_each_match(node, h, value_of(key)) {
		if (container_of(node, struct thing, node)->key == key)
			n++;
	}
	return n;
}

static void what_was_inserted_is_found_once(void **state)
{
	struct hash h;
	uint32_t x = 1;

	assert_int_equal(hash_init(&h), 0);
	for (uint32_t i = 0; i < THINGS; i++)
		things[i] = (struct thing){ .key = i };
	for (unsigned int turn = 0; turn < 4 * THINGS; turn++) {
		struct thing *t;

		x = x * 1664525u + 1013904223u;
		t = &things[(x >> 8) % THINGS];
		if (t->in)
			hash_remove(&h, &t->node);
		else
			hash_insert(&h, &t->node, value_of(t->key));
		t->in = !t->in;
	}
	for (uint32_t i = 0; i < THINGS; i++)
		assert_int_equal(found(&h, i), things[i].in);
	hash_fini(&h);
}

static unsigned int drained;

static void drain_one(struct hash_node *node)
{
	struct thing *t = container_of(node, struct thing, node);

	assert_true(t->in);
	t->in = false;
	drained++;
}

static void draining_takes_each_out_once(void **state)
{
	struct hash h;

	drained = 0;
	assert_int_equal(hash_init(&h), 0);
	for (uint32_t i = 0; i < THINGS; i++) {
		things[i] = (struct thing){ .key = i, .in = true };
		hash_insert(&h, &things[i].node, value_of(i));
	}
	hash_drain(&h, drain_one);
	assert_int_equal(drained, THINGS);
	assert_int_equal(h.count, 0);
	for (uint32_t i = 0; i < THINGS; i++)
		assert_int_equal(found(&h, i), 0);
	hash_drain(&h, drain_one);
	assert_int_equal(drained, THINGS);
	hash_fini(&h);
}

static void hashes_depend_on_every_byte_and_the_start(void **state)
{
	uint8_t bytes[16] = { 0 };
	uint32_t zero = hash_bytes(0, bytes, sizeof(bytes));

	assert_int_not_equal(hash_bytes(1, bytes, sizeof(bytes)), zero);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] = 1;
		assert_int_not_equal(hash_bytes(0, bytes, sizeof(bytes)), zero);
		bytes[i] = 0;
	}
}

static void an_unused_table_can_be_given_back(void **state)
{
	struct hash h = { 0 };

	hash_drain(&h, drain_one);
	hash_fini(&h);
	assert_null(h.buckets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_inserted_is_found_once),
		cmocka_unit_test(draining_takes_each_out_once),
		cmocka_unit_test(hashes_depend_on_every_byte_and_the_start),
		cmocka_unit_test(an_unused_table_can_be_given_back),
	};

	return harness_run(tests);
}
