// SPDX-License-Identifier: BSD-2-Clause
/*
 * Completion queues, receive queues, memory regions, states of queue pairs, and the ends
 * of an engine.
 */
#include <sys/wait.h>

#include "world.h"

static struct world world;
static struct world_process *alice;
static struct world_qp qp;
static struct engine_verbs_ah ah;

static int set_up(void **state)
{
	world_open(&world);
	alice = world_start(&world, 1);
	world_qp_create(&qp, alice, (struct world_qp_options){ .depth = 8 });
	world_group_ah(alice, 1, &ah);
	world_attach(&qp, 1);
	return 0;
}

static int tear_down(void **state)
{
	engine_ah_destroy(ah.engine);
	world_qp_destroy(&qp);
	world_close(&world);
	return 0;
}

static void a_receive_queue_is_exactly_as_deep_as_granted(void **state)
{
	struct ibv_wc wc;

	assert_int_equal(world_post_recv(&qp, 8), 0);
	assert_int_equal(world_post_recv(&qp, 1), ENOMEM);
	world_send(&qp, &ah, 8);
	assert_int_equal(world_poll(&qp, 1, &wc), 1);
	assert_int_equal(world_post_recv(&qp, 1), 0);
	assert_int_equal(world_post_recv(&qp, 1), ENOMEM);
}

static void a_list_of_receives_stops_at_the_bad_one(void **state)
{
	struct ibv_sge sge[5] = { 0 };
	struct ibv_recv_wr wr[3], *bad;

	for (int i = 0; i < 3; i++)
		wr[i] = (struct ibv_recv_wr){ .next = i < 2 ? &wr[i + 1] : NULL,
					      .sg_list = sge,
					      .num_sge = i == 1 ? 5 : 1 };
	assert_int_equal(engine_qp_post_recv(qp.qp, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
}

static void receives_follow_the_state(void **state)
{
	struct ibv_recv_wr *bad;
	struct ibv_wc wc[8];

	world_state(&qp, IBV_QPS_RESET);
	assert_int_equal(world_post_recv(&qp, 1), EINVAL);
	assert_int_equal(engine_qp_post_recv(qp.qp, NULL, &bad), 0); /* an empty list */
	world_state(&qp, IBV_QPS_INIT);
	assert_int_equal(world_post_recv(&qp, 3), 0);
	world_state(&qp, IBV_QPS_ERR);
	assert_int_equal(world_poll(&qp, 8, wc), 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(wc[i].status, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(wc[i].wr_id, i);
	}
	assert_int_equal(world_post_recv(&qp, 1), 0);
	assert_int_equal(world_poll(&qp, 8, wc), 1);
	assert_int_equal(wc[0].status, IBV_WC_WR_FLUSH_ERR);
	/* To RESET all vanishes: what is posted, and what is completed. */
	assert_int_equal(world_post_recv(&qp, 1), 0);
	world_state(&qp, IBV_QPS_RESET);
	assert_int_equal(world_poll(&qp, 8, wc), 0);
	world_state(&qp, IBV_QPS_INIT);
	assert_int_equal(world_post_recv(&qp, 8), 0);
}

static void destroying_a_queue_pair_takes_its_completions_along(void **state)
{
	struct world_qp other;
	struct ibv_wc wc[8];

	world_qp_create(&other, alice,
			(struct world_qp_options){ .depth = 4, .cq = qp.recv_cq });
	world_attach(&other, 1);
	world_post_recv(&qp, 2);
	world_post_recv(&other, 2);
	world_send(&qp, &ah, 8);
	world_send(&qp, &ah, 8);
	while (engine_turn(alice->engine))
		;
	world_qp_destroy(&other);
	assert_int_equal(world_poll(&qp, 8, wc), 2);
	assert_int_equal(wc[0].qp_num, qp.qpn);
	assert_int_equal(wc[1].qp_num, qp.qpn);
}

static void a_full_completion_queue_is_an_event(void **state)
{
	struct engine_cq *cq;
	struct world_qp other;
	struct ibv_wc wc[8];

	assert_int_equal(engine_cq_create(alice->engine, 2, &world, &cq), 0);
	world_qp_create(&other, alice, (struct world_qp_options){ .depth = 8, .cq = cq });
	world_attach(&other, 1);
	world_post_recv(&other, 8);
	for (int i = 0; i < 4; i++)
		world_send(&qp, &ah, 8);
	while (engine_turn(alice->engine))
		;
	assert_int_equal(world_dropped(&other, DROP_CQ_FULL), 2);
	assert_int_equal(alice->async_events, 1);
	assert_int_equal(alice->last_async, IBV_EVENT_CQ_ERR);
	assert_int_equal(engine_cq_resize(cq, 1), -EINVAL);
	assert_int_equal(engine_cq_resize(cq, 4), 0);
	assert_int_equal(engine_cq_poll(cq, 8, wc), 2);
	world_qp_destroy(&other);
	engine_cq_destroy(cq);
}

static void an_armed_queue_tells_once(void **state)
{
	world_post_recv(&qp, 8);
	engine_cq_arm(qp.recv_cq, false);
	world_send(&qp, &ah, 8);
	world_send(&qp, &ah, 8);
	while (engine_turn(alice->engine))
		;
	assert_int_equal(alice->cq_events, 1);
	engine_cq_arm(qp.recv_cq, false);
	/* Those completed before the arming do not count. */
	assert_int_equal(alice->cq_events, 1);
	world_send(&qp, &ah, 8);
	while (engine_turn(alice->engine))
		;
	assert_int_equal(alice->cq_events, 2);
}

static void send_solicited(void)
{
	struct ibv_sge sge = { (uintptr_t)world_send_buffer(&qp), 8, qp.lkey };
	struct ibv_send_wr *bad, wr = world_wr(&ah, &sge);

	wr.send_flags = IBV_SEND_SOLICITED;
	assert_int_equal(engine_qp_post_send(qp.qp, &wr, &bad), 0);
	while (engine_turn(alice->engine))
		;
}

static void solicited_only_waits_for_that_or_an_error(void **state)
{
	world_post_recv(&qp, 8);
	engine_cq_arm(qp.recv_cq, true);
	world_send(&qp, &ah, 8);
	while (engine_turn(alice->engine))
		;
	assert_int_equal(alice->cq_events, 0);
	send_solicited();
	assert_int_equal(alice->cq_events, 1);
	engine_cq_arm(qp.recv_cq, true);
	world_state(&qp, IBV_QPS_ERR);
	assert_int_equal(alice->cq_events, 2);
}

static void a_completion_polled_by_the_engines_own_turn_tells_too(void **state)
{
	struct ibv_wc wc;

	world_post_recv(&qp, 8);
	world_send(&qp, &ah, 8);
	assert_int_equal(world_poll(&qp, 1, &wc), 1);
	engine_cq_arm(qp.recv_cq, false);
	assert_int_equal(alice->cq_events, 0);
	world_send(&qp, &ah, 8);
	assert_int_equal(world_poll(&qp, 1, &wc), 1);
	harness_until(alice->cq_events == 1, 5000, harness_pause());
}

static void memory_regions_are_held_to_domain_range_and_rights(void **state)
{
	struct engine *e = alice->engine;
	static uint8_t memory[256];
	const uint64_t iova = 0x100000;
	const struct {
		uint32_t pd;
		uint64_t addr;
		uint32_t bytes;
		unsigned int access;
		bool good;
	} cases[] = {
		{ WORLD_PD, iova, 256, IBV_ACCESS_LOCAL_WRITE, true },
		{ WORLD_PD, iova + 216, 40, IBV_ACCESS_LOCAL_WRITE, true },
		{ WORLD_PD, iova + 217, 40, IBV_ACCESS_LOCAL_WRITE, false },
		{ WORLD_PD, iova - 1, 256, IBV_ACCESS_LOCAL_WRITE, false },
		{ WORLD_PD, UINT64_MAX - 10, 256, IBV_ACCESS_LOCAL_WRITE, false },
		{ WORLD_PD + 1, iova, 256, IBV_ACCESS_LOCAL_WRITE, false },
		{ WORLD_PD, iova, 256, 0, false },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ibv_sge sge = { cases[i].addr, cases[i].bytes, 99 };
		struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };
		struct ibv_wc wc;

		assert_int_equal(engine_mr_add(e, cases[i].pd, 99, memory, iova, 256,
					       cases[i].access),
				 0);
		assert_int_equal(engine_mr_add(e, WORLD_PD, 99, memory, iova, 256, 0),
				 -EEXIST);
		assert_int_equal(engine_qp_post_recv(qp.qp, &wr, &bad), 0);
		world_send(&qp, &ah, 0);
		assert_int_equal(world_poll(&qp, 1, &wc), 1);
		assert_int_equal(wc.status,
				 cases[i].good ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR);
		engine_mr_remove(e, 99);
		world_state(&qp, IBV_QPS_RESET);
		world_state(&qp, IBV_QPS_RTS);
	}
	assert_int_equal(memory[20], 0x45);
}

static void a_thousand_regions_are_all_found_and_removed(void **state)
{
	struct engine *e = alice->engine;
	static uint8_t memory[64];

	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 1; i <= 1000; i++)
			assert_int_equal(engine_mr_add(e, WORLD_PD, 0x10000 + i * 256,
						       memory, 0, 64,
						       IBV_ACCESS_LOCAL_WRITE),
					 0);
		for (uint32_t i = 1; i <= 1000; i += 2)
			engine_mr_remove(e, 0x10000 + i * 256);
		for (uint32_t i = 2; i <= 1000; i += 2)
			assert_int_equal(engine_mr_add(e, WORLD_PD, 0x10000 + i * 256,
						       memory, 0, 64, 0),
					 -EEXIST);
		for (uint32_t i = 2; i <= 1000; i += 2)
			engine_mr_remove(e, 0x10000 + i * 256);
	}
}

static void attaching_twice_is_told(void **state)
{
	uint32_t entry = world_group(&world, 1);

	assert_int_equal(engine_qp_attach(qp.qp, entry, 1, 0), -EEXIST);
	assert_int_equal(engine_qp_attach(qp.qp, SHM_GROUPS_MAX, 1, 0), -EINVAL);
	assert_int_equal(engine_qp_detach(qp.qp, entry), 0);
	assert_int_equal(engine_qp_detach(qp.qp, entry), -ENOENT);
}

static void other_transports_are_refused(void **state)
{
	struct engine_qp_config config = { .type = IBV_QPT_RC };
	struct engine_qp *rc;

	assert_int_equal(engine_qp_create(alice->engine, &config, &rc), -EOPNOTSUPP);
}

static void when_the_daemon_is_gone_all_is_flushed_and_refused(void **state)
{
	struct ibv_wc wc[8];

	world_post_recv(&qp, 2);
	engine_fail(alice->engine);
	assert_int_equal(engine_qp_state(qp.qp), IBV_QPS_ERR);
	assert_int_equal(world_poll(&qp, 8, wc), 2);
	assert_int_equal(wc[0].status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(world_send(&qp, &ah, 8), ENODEV);
	assert_int_equal(world_post_recv(&qp, 1), ENODEV);
}

/* The shared memory is not there, the helper does not run, other threads may have been
 * anywhere: the child only lets go. */
static void a_forked_child_lets_go_of_the_engine(void **state)
{
	struct ibv_wc wc;
	int status;
	pid_t pid;

	world_post_recv(&qp, 1);
	world_send(&qp, &ah, 8); /* there is a log */
	pid = fork();
	if (!pid) {
		engine_abandon(alice->engine);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(world_poll(&qp, 1, &wc), 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_receive_queue_is_exactly_as_deep_as_granted),
		T(a_list_of_receives_stops_at_the_bad_one),
		T(receives_follow_the_state),
		T(destroying_a_queue_pair_takes_its_completions_along),
		T(a_full_completion_queue_is_an_event),
		T(an_armed_queue_tells_once),
		T(solicited_only_waits_for_that_or_an_error),
		T(a_completion_polled_by_the_engines_own_turn_tells_too),
		T(memory_regions_are_held_to_domain_range_and_rights),
		T(a_thousand_regions_are_all_found_and_removed),
		T(attaching_twice_is_told),
		T(other_transports_are_refused),
		T(a_forked_child_lets_go_of_the_engine),
		T(when_the_daemon_is_gone_all_is_flushed_and_refused),
	};

	return harness_run(tests);
}
