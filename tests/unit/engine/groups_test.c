// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 300 LABELS threads
/*
 * Many queue pairs and many groups: a copy for each member, in order, whole; and groups
 * by the hundred that do not mix.
 */
#include "world.h"

#define MEMBERS 8u
#define COUNT   1000u

static struct world world;
static struct world_process *processes[2];
static struct world_qp members[2][MEMBERS];

static int set_up(void **state)
{
	world_open(&world);
	for (uint32_t p = 0; p < 2; p++)
		processes[p] = world_start(&world, 1 + p);
	return 0;
}

static int tear_down(void **state)
{
	world_close(&world);
	return 0;
}

static uint32_t bytes_of(uint32_t number)
{
	return 1 + number * 4095 / (COUNT - 1);
}

static void expect_all(struct world_qp *q, uint32_t src_qpn)
{
	uint32_t source = inet_addr("10.0.0.1");
	struct ibv_wc wc;

	for (uint32_t i = 0; i < COUNT; i++) {
		harness_until(world_poll(q, 1, &wc) == 1, 10000, harness_pause());
		const uint8_t *at = world_buffer(q, wc.wr_id);

		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.wr_id, i);
		assert_int_equal(wc.qp_num, q->qpn);
		assert_int_equal(wc.src_qp, src_qpn);
		assert_int_equal(wc.byte_len, 40 + bytes_of(i));
		assert_memory_equal(at + 32, &source, 4);
		assert_true(world_filled(at + 40, i, bytes_of(i)));
	}
	assert_int_equal(world_poll(q, 1, &wc), 0);
	assert_int_equal(world_delivered(q), COUNT);
	assert_int_equal(world_dropped_any(q), 0);
}

/* The sender is a member too, and so are its neighbours in its own process. */
static void eight_and_eight_members_get_a_copy_each(void **state)
{
	struct engine_verbs_ah ah;

	for (uint32_t p = 0; p < 2; p++)
		for (uint32_t i = 0; i < MEMBERS; i++) {
			struct world_qp *q = &members[p][i];

			world_qp_create(q, processes[p],
					(struct world_qp_options){ .depth = COUNT });
			world_attach(q, 1);
			world_post_recv(q, COUNT);
		}
	world_group_ah(processes[0], 1, &ah);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(world_send_number(&members[0][0], &ah, i, bytes_of(i)),
				 0);
	for (uint32_t p = 0; p < 2; p++)
		for (uint32_t i = 0; i < MEMBERS; i++)
			expect_all(&members[p][i], members[0][0].qpn);
	engine_ah_destroy(ah.engine);
	for (uint32_t p = 0; p < 2; p++)
		for (uint32_t i = 0; i < MEMBERS; i++)
			world_qp_destroy(&members[p][i]);
}

#define GROUPS 500u

/* One queue pair in every third of many groups: it hears those and no other. */
static void groups_do_not_mix(void **state)
{
	static struct engine_verbs_ah ah[GROUPS];
	struct world_qp sender, receiver;
	struct ibv_wc wc;

	world_qp_create(&sender, processes[0], (struct world_qp_options){ .depth = 1 });
	world_qp_create(&receiver, processes[1],
			(struct world_qp_options){ .depth = GROUPS });
	for (uint32_t g = 0; g < GROUPS; g++) {
		world_group(&world, g);
		world_group_ah(processes[0], g, &ah[g]);
		if (g % 3 == 0)
			world_attach(&receiver, g);
	}
	for (uint32_t round = 0; round < 3; round++) {
		receiver.posted = 0;
		world_post_recv(&receiver, GROUPS / 3 + 1);
		for (uint32_t g = 0; g < GROUPS; g++)
			assert_int_equal(world_send_number(&sender, &ah[g], g, 20), 0);
		for (uint32_t g = 0; g < GROUPS; g += 3) {
			harness_until(world_poll(&receiver, 1, &wc) == 1, 5000,
				      harness_pause());
			assert_true(world_filled(world_buffer(&receiver, wc.wr_id) + 40,
						 g, 20));
		}
		assert_int_equal(world_poll(&receiver, 1, &wc), 0);
	}
	for (uint32_t g = 0; g < GROUPS; g++)
		engine_ah_destroy(ah[g].engine);
	world_qp_destroy(&sender);
	world_qp_destroy(&receiver);
}

/* A list to several groups rings the members of all of them. */
static void a_list_may_go_to_several_groups(void **state)
{
	struct world_qp sender, receivers[3];
	struct engine_verbs_ah ah[3];
	struct ibv_send_wr wr[6], *bad;
	struct ibv_sge sge;
	struct ibv_wc wc;

	world_qp_create(&sender, processes[0], (struct world_qp_options){ .depth = 1 });
	for (uint32_t i = 0; i < 3; i++) {
		struct world_process *p = i ? world_start(&world, 4 + i) : processes[1];

		world_qp_create(&receivers[i], p,
				(struct world_qp_options){ .depth = 4 });
		world_attach(&receivers[i], i);
		world_post_recv(&receivers[i], 4);
		world_group_ah(processes[0], i, &ah[i]);
		engine_cq_arm(receivers[i].recv_cq, false);
	}
	sge = (struct ibv_sge){ (uintptr_t)world_send_buffer(&sender), 8, sender.lkey };
	for (uint32_t i = 0; i < 6; i++) {
		wr[i] = world_wr(&ah[i % 3], &sge);
		wr[i].next = i < 5 ? &wr[i + 1] : NULL;
	}
	assert_int_equal(engine_qp_post_send(sender.qp, wr, &bad), 0);
	for (uint32_t i = 0; i < 3; i++) {
		struct world_process *p = receivers[i].process;

		harness_until(atomic_load(&p->cq_events) == 1, 5000, harness_pause());
		harness_until(world_delivered(&receivers[i]) == 2, 5000,
			      engine_turn(p->engine));
		assert_int_equal(world_poll(&receivers[i], 1, &wc), 1);
	}
	for (uint32_t i = 0; i < 3; i++) {
		engine_ah_destroy(ah[i].engine);
		world_qp_destroy(&receivers[i]);
	}
	world_qp_destroy(&sender);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(eight_and_eight_members_get_a_copy_each),
		T(groups_do_not_mix),
		T(a_list_may_go_to_several_groups),
	};

	return harness_run(tests);
}
