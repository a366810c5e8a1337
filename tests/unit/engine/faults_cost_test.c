// SPDX-License-Identifier: BSD-2-Clause
// ctest: LABELS noasan
/*
 * Faults cost nothing where none is made: instructions of a post and of a poll, counted one
 * by one, before any rule was set, and when rules were set, struck, and were taken back.
 */
#include <stdio.h>

#include "engine/engine_priv.h" /* helper_stop */
#include "shm/faults.h"
#include "steps.h"
#include "world.h"

#define GROUP 1u
#define BATCH 16u
#define ROUND 8u  /* datagrams between two counts, so that all is as it was */
#define SLACK 24u /* a turn in which a silent log is visited, or the like */

enum act {
	POST_ONE,
	POST_BATCH,
	POLL_ONE,
	POLL_BATCH,
	POLL_NONE,
	ACTS,
};

static const char *const names[ACTS] = { "post 1", "post 16", "poll 1", "poll 16",
					 "poll 0" };

static struct world world;
static struct world_qp sender, receiver;
static struct engine_verbs_ah ah;

static void make_world(void)
{
	world_open(&world);
	world_qp_create(&sender, world_start(&world, 1),
			(struct world_qp_options){ .depth = 1 });
	world_qp_create(&receiver, world_start(&world, 2),
			(struct world_qp_options){ .depth = 256 });
	world_group_ah(sender.process, GROUP, &ah);
	world_attach(&receiver, GROUP);
	helper_stop(sender.process->engine);
	helper_stop(receiver.process->engine);
	world_post_recv(&receiver, 256);
}

static void drain(void)
{
	struct ibv_wc wc[BATCH];

	for (int empty = 0; empty < 3;)
		empty = world_poll(&receiver, BATCH, wc) ? 0 : empty + 1;
}

static void round_of_datagrams(void)
{
	for (uint32_t i = 0; i < ROUND; i++) {
		world_send_number(&sender, &ah, i, 64);
		drain();
	}
}

static void post(uint32_t n)
{
	struct ibv_sge sge = { (uintptr_t)world_send_buffer(&sender), 64, sender.lkey };
	struct ibv_send_wr wr[BATCH], *bad;

	for (uint32_t i = 0; i < n; i++) {
		wr[i] = world_wr(&ah, &sge);
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
	}
	raise(SIGSTOP);
	engine_qp_post_send(sender.qp, wr, &bad);
	raise(SIGSTOP);
}

static void poll_for(int n)
{
	struct ibv_wc wc[BATCH];

	raise(SIGSTOP);
	engine_cq_poll(receiver.recv_cq, n, wc);
	raise(SIGSTOP);
}

/* In the order of enum act. */
static void act_all(void)
{
	round_of_datagrams();
	post(1);
	drain();
	post(BATCH);
	drain();
	world_send(&sender, &ah, 64);
	poll_for(1);
	drain();
	for (uint32_t i = 0; i < BATCH; i++)
		world_send(&sender, &ah, 64);
	poll_for(BATCH);
	drain();
	poll_for(1);
}

static void victim(void)
{
	struct shm_fault f = {
		.id = 1,
		.kind = SHM_FAULT_DROP,
		.node = SHM_NONE,
		.device = SHM_NONE,
		.first = 1,
		.last = 2,
	};

	make_world();
	steps_begin();
	act_all();
	for (uint32_t d = SHM_FAULT_SEND; d <= SHM_FAULT_RECEIVE; d++) {
		f.direction = d;
		shm_fault_write(world.tables, d, &f);
	}
	round_of_datagrams();
	shm_fault_write(world.tables, SHM_FAULT_SEND, NULL);
	shm_fault_write(world.tables, SHM_FAULT_RECEIVE, NULL);
	act_all();
	steps_end();
}

/* Instructions to the next time that the victim stops itself. */
static unsigned long count_to_stop(pid_t pid)
{
	unsigned long n = 0;

	while (steps_next(pid))
		n++;
	return n;
}

static void go_to_stop(pid_t pid)
{
	int status;

	assert_int_equal(ptrace(PTRACE_CONT, pid, NULL, NULL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
}

static void count_all(pid_t pid, unsigned long counts[ACTS])
{
	for (int i = 0; i < ACTS; i++) {
		go_to_stop(pid);
		counts[i] = count_to_stop(pid);
	}
}

static void a_post_and_a_poll_cost_what_they_did(void **state)
{
	unsigned long before[ACTS], after[ACTS];
	pid_t pid = fork();

	if (!pid)
		victim();
	steps_await(pid);
	count_all(pid, before);
	count_all(pid, after);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < ACTS; i++) {
		printf("%-8s %5lu %5lu\n", names[i], before[i], after[i]);
		assert_true(after[i] <= before[i] + SLACK);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_post_and_a_poll_cost_what_they_did),
	};

	return harness_run(tests);
}
