// SPDX-License-Identifier: BSD-2-Clause
/*
 * Keys, queue pair numbers and counter blocks: unique, checked against their limits, and
 * not used again soon (or, for blocks, from below).
 */
#include "hca/hca_priv.h"
#include "world.h"

#include "shm/counters.h"

static int setup(void **state)
{
	static struct world world;

	world_prepare(&world);
	world_boot(&world);
	*state = &world;
	return 0;
}

static int teardown(void **state)
{
	world_end(*state);
	return 0;
}

static void numbers_go_round_before_one_comes_again(void **state)
{
	struct hca_ids ids;
	uint32_t id;

	assert_int_equal(hca_ids_init(&ids, 100, 130, HCA_IDS_ROUND), 0);
	for (uint32_t turn = 0; turn < 400; turn++) {
		assert_int_equal(hca_ids_alloc(&ids, &id), 0);
		assert_int_equal(id, 100 + turn % 130);
		hca_ids_free(&ids, id);
	}
	hca_ids_fini(&ids);
}

static void numbers_in_use_are_passed_over_until_none_is_left(void **state)
{
	struct hca_ids ids;
	uint32_t id;

	assert_int_equal(hca_ids_init(&ids, 0, 130, HCA_IDS_ROUND), 0);
	for (uint32_t n = 0; n < 130; n++) {
		assert_int_equal(hca_ids_alloc(&ids, &id), 0);
		assert_int_equal(id, n);
	}
	assert_int_equal(hca_ids_alloc(&ids, &id), -ENOMEM);
	hca_ids_free(&ids, 77);
	assert_int_equal(hca_ids_alloc(&ids, &id), 0);
	assert_int_equal(id, 77);
	assert_int_equal(hca_ids_alloc(&ids, &id), -ENOMEM);
	hca_ids_fini(&ids);
}

static void places_are_filled_from_below(void **state)
{
	struct hca_ids ids;
	uint32_t id;

	assert_int_equal(hca_ids_init(&ids, 0, 1000, HCA_IDS_LOWEST), 0);
	for (uint32_t n = 0; n < 200; n++)
		assert_int_equal(hca_ids_alloc(&ids, &id), 0);
	hca_ids_free(&ids, 150);
	hca_ids_free(&ids, 3);
	assert_int_equal(hca_ids_alloc(&ids, &id), 0);
	assert_int_equal(id, 3);
	assert_int_equal(hca_ids_alloc(&ids, &id), 0);
	assert_int_equal(id, 150);
	assert_int_equal(hca_ids_alloc(&ids, &id), 0);
	assert_int_equal(id, 200);
	hca_ids_fini(&ids);
}

#define PLACES 5000u

/* The lowest free place, by looking at each. */
static uint32_t lowest_free(const bool *taken)
{
	uint32_t n = 0;

	while (n < PLACES && taken[n])
		n++;
	return n;
}

static void the_lowest_free_place_is_found_among_many(void **state)
{
	static bool taken[PLACES];
	uint32_t id, x = 1;
	struct hca_ids ids;

	assert_int_equal(hca_ids_init(&ids, 0, PLACES, HCA_IDS_LOWEST), 0);
	for (uint32_t n = 0; n < PLACES; n++) {
		assert_int_equal(hca_ids_alloc(&ids, &id), 0);
		taken[id] = true;
	}
	assert_int_equal(lowest_free(taken), PLACES);
	for (uint32_t turn = 0; turn < 20000; turn++) {
		uint32_t n;

		x = x * 1664525u + 1013904223u;
		n = (x >> 8) % PLACES;
		if (taken[n] && x >> 31) {
			hca_ids_free(&ids, n);
			taken[n] = false;
		} else if (lowest_free(taken) == PLACES) {
			assert_int_equal(hca_ids_alloc(&ids, &id), -ENOMEM);
		} else {
			assert_int_equal(hca_ids_alloc(&ids, &id), 0);
			assert_int_equal(id, lowest_free(taken));
			taken[id] = true;
		}
	}
	hca_ids_fini(&ids);
}

static void no_neighbour_of_a_key_is_a_key(void **state)
{
	struct world *w = *state;
	struct world_process p;
	struct ib_mr *mrs[600];

	process_begin(w, 1, &p);
	for (int i = 0; i < 600; i++) {
		mrs[i] = ib_reg_user_mr(p.pd, 0x1000, 1, 0, 0);
		assert_false(IS_ERR(mrs[i]));
		assert_int_not_equal(mrs[i]->lkey, 0);
	}
	for (int i = 0; i < 600; i++) {
		for (int j = 0; j < 600; j++) {
			uint32_t distance = mrs[i]->lkey - mrs[j]->lkey;

			assert_true(i == j || (distance != 0 && distance + 1 > 2));
		}
	}
	for (int i = 0; i < 600; i++)
		assert_int_equal(ib_dereg_mr(mrs[i]), 0);
	process_end(&p);
}

static void a_key_does_not_come_back_soon(void **state)
{
	struct world *w = *state;
	struct world_process p;
	uint32_t first = 0;

	process_begin(w, 1, &p);
	for (int i = 0; i < 100000; i++) {
		struct ib_mr *mr = ib_reg_user_mr(p.pd, 0x1000, 1, 0, 0);

		if (i == 0)
			first = mr->lkey;
		else
			assert_int_not_equal(mr->lkey, first);
		assert_int_equal(ib_dereg_mr(mr), 0);
	}
	process_end(&p);
}

static void keys_of_two_devices_of_a_site_differ(void **state)
{
	struct world *w = *state;
	struct hca_device_config config = w->config;
	struct hca_device *second;
	struct world_process here, there;
	struct world other = *w;
	struct ib_mr *a, *b;

	config.name = "vroce1";
	config.site_device++;
	config.port_index++;
	assert_int_equal(hca_device_create(w->node, &config, &second), 0);
	other.ib = hca_device_ib(second);
	process_begin(w, 1, &here);
	process_begin(&other, 1, &there);
	a = ib_reg_user_mr(here.pd, 0x1000, 1, 0, 0);
	b = ib_reg_user_mr(there.pd, 0x1000, 1, 0, 0);
	assert_int_not_equal(a->lkey >> 8, b->lkey >> 8);
	assert_int_equal(ib_dereg_mr(a), 0);
	assert_int_equal(ib_dereg_mr(b), 0);
	process_end(&here);
	process_end(&there);
	assert_int_equal(hca_device_destroy(second), 0);
}

static void rereg_keeps_the_keys(void **state)
{
	struct world *w = *state;
	struct world_process p;
	struct ib_mr *mr;
	uint32_t lkey;

	process_begin(w, 1, &p);
	mr = ib_reg_user_mr(p.pd, 0x1000, 1, 0, 0);
	lkey = mr->lkey;
	assert_int_equal(ib_rereg_user_mr(mr, IB_MR_REREG_ACCESS, 0, 0, 0, 1, NULL), 0);
	assert_int_equal(mr->lkey, lkey);
	assert_int_equal(ib_rereg_user_mr(mr, IB_MR_REREG_ACCESS, 0, 0, 0,
					  IB_ACCESS_ON_DEMAND, NULL),
			 -EOPNOTSUPP);
	assert_int_equal(PTR_ERR(ib_reg_user_mr(p.pd, 0x1000, 1, 0, IB_ACCESS_ON_DEMAND)),
			 -EOPNOTSUPP);
	assert_int_equal(ib_dereg_mr(mr), 0);
	process_end(&p);
}

static void queue_pair_numbers_start_at_0x11_and_go_up(void **state)
{
	struct world *w = *state;
	struct world_process p;

	process_begin(w, 1, &p);
	for (uint32_t n = 0; n < 1000; n++) {
		struct ib_qp *qp = process_qp(&p);

		assert_int_equal(qp->qp_num, 0x11 + n);
		assert_int_equal(ib_destroy_qp(qp), 0);
	}
	process_end(&p);
}

static void queue_pair_numbers_skip_the_special_ones_when_they_go_round(void **state)
{
	struct world *w = *state;
	struct world_process p;
	struct ib_qp *kept, *last, *next;

	process_begin(w, 1, &p);
	kept = process_qp(&p);
	to_hca_device(w->ib)->qpns.next = 0xfffffe - 0x11;
	last = process_qp(&p);
	next = process_qp(&p);
	assert_int_equal(kept->qp_num, 0x11);
	assert_int_equal(last->qp_num, 0xfffffe);
	assert_int_equal(next->qp_num, 0x12);
	assert_int_equal(ib_destroy_qp(kept), 0);
	assert_int_equal(ib_destroy_qp(last), 0);
	assert_int_equal(ib_destroy_qp(next), 0);
	process_end(&p);
}

static void the_table_tells_who_runs_a_queue_pair(void **state)
{
	struct world *w = *state;
	struct world_process a, b;
	struct ib_qp *qa, *qb;
	uint32_t qpn;

	process_begin(w, 1, &a);
	process_begin(w, 2, &b);
	qa = process_qp(&a);
	qb = process_qp(&b);
	qpn = qa->qp_num;
	assert_int_equal(shm_qp_find(w->tables, WORLD_DEVICE, qa->qp_num), 1);
	assert_int_equal(shm_qp_find(w->tables, WORLD_DEVICE, qb->qp_num), 2);
	assert_int_equal(ib_destroy_qp(qa), 0);
	assert_int_equal(shm_qp_find(w->tables, WORLD_DEVICE, qpn), SHM_NONE);
	assert_int_equal(ib_destroy_qp(qb), 0);
	process_end(&a);
	process_end(&b);
}

static void counter_blocks_are_each_process_s_own(void **state)
{
	struct world *w = *state;
	struct world_process a, b;
	struct ib_qp *qps[3];
	struct ib_qp_info info[3];

	process_begin(w, 1, &a);
	process_begin(w, 2, &b);
	qps[0] = process_qp(&a);
	qps[1] = process_qp(&a);
	qps[2] = process_qp(&b);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ib_describe_qp(qps[i], &info[i]), 0);
	assert_int_equal(info[0].counters, 0);
	assert_int_equal(info[1].counters, 1);
	assert_int_equal(info[2].counters, 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ib_destroy_qp(qps[i]), 0);
	assert_null(w->site->processes[1]);
	assert_null(w->site->processes[2]);
	process_end(&a);
	process_end(&b);
}

static void counter_blocks_of_a_process_can_run_out(void **state)
{
	struct world *w = *state;
	uint32_t index;

	for (uint32_t i = 0; i < SHM_QP_COUNTERS; i++)
		assert_int_equal(hca_qp_counters_alloc(w->site, 4, &index), 0);
	assert_int_equal(hca_qp_counters_alloc(w->site, 4, &index), -ENOMEM);
	assert_int_equal(hca_qp_counters_alloc(w->site, 5, &index), 0);
	hca_qp_counters_free(w->site, 5, index);
	for (uint32_t i = 0; i < SHM_QP_COUNTERS; i++)
		hca_qp_counters_free(w->site, 4, i);
	assert_null(w->site->processes[4]);
}

static void guids_are_local_unique_and_not_zero(void **state)
{
	for (uint64_t seed = 0; seed < 100; seed++) {
		for (uint32_t n = 0; n < 4; n++) {
			uint64_t guid = hca_guid(seed, n);
			const uint8_t *bytes = (const uint8_t *)&guid;

			assert_int_equal(bytes[0], 0x02);
			assert_int_equal(bytes[7], n + 1);
			assert_true(guid != hca_guid(seed + 1, n));
		}
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_go_round_before_one_comes_again),
		cmocka_unit_test(numbers_in_use_are_passed_over_until_none_is_left),
		cmocka_unit_test(places_are_filled_from_below),
		cmocka_unit_test(the_lowest_free_place_is_found_among_many),
		TEST(no_neighbour_of_a_key_is_a_key),
		TEST(a_key_does_not_come_back_soon),
		TEST(keys_of_two_devices_of_a_site_differ),
		TEST(rereg_keeps_the_keys),
		TEST(queue_pair_numbers_start_at_0x11_and_go_up),
		TEST(queue_pair_numbers_skip_the_special_ones_when_they_go_round),
		TEST(the_table_tells_who_runs_a_queue_pair),
		TEST(counter_blocks_are_each_process_s_own),
		TEST(counter_blocks_of_a_process_can_run_out),
		cmocka_unit_test(guids_are_local_unique_and_not_zero),
	};

	return harness_run(tests);
}
