// SPDX-License-Identifier: BSD-2-Clause
/*
 * Rings in memory of the caller's: asked for in full, given back once, and never with a
 * lock held.
 */
#include "world.h"

#define RINGS 16u

static struct world world;
static struct world_process *alice, *bob;
static struct world_qp sender;
static struct engine_verbs_ah ah;

/* An allocator that remembers. */
static struct {
	struct engine_memory memory;
	void *answer; /* instead of memory, if not null: &nothing for null */
	void *ptrs[RINGS];
	enum engine_ring rings[RINGS];
	size_t bytes[RINGS];
	unsigned int given, back;
} giver;

static char nothing;

/* Whoever called holds no lock: the engine can be run from here. */
static void run_engine(void)
{
	engine_turn(bob->engine);
	engine_wake(bob->engine);
}

static void *give(const struct engine_memory *m, enum engine_ring ring, size_t bytes,
		  size_t alignment)
{
	void *ptr;

	assert_ptr_equal(m, &giver.memory);
	run_engine();
	if (giver.answer)
		return giver.answer == &nothing ? NULL : giver.answer;
	ptr = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
	assert_non_null(ptr);
	assert_true(giver.given < RINGS);
	giver.ptrs[giver.given] = ptr;
	giver.rings[giver.given] = ring;
	giver.bytes[giver.given++] = bytes;
	return ptr;
}

static void take_back(const struct engine_memory *m, enum engine_ring ring, void *ptr)
{
	run_engine();
	for (unsigned int i = 0; i < giver.given; i++) {
		if (giver.ptrs[i] != ptr)
			continue;
		assert_int_equal(giver.rings[i], ring);
		giver.ptrs[i] = NULL;
		giver.back++;
		free(ptr);
		return;
	}
	fail_msg("what was never given came back");
}

static int set_up(void **state)
{
	world_open(&world);
	alice = world_start(&world, 1);
	bob = world_start(&world, 2);
	world_qp_create(&sender, alice, (struct world_qp_options){ .depth = 1 });
	world_group_ah(alice, 1, &ah);
	memset(&giver, 0, sizeof(giver));
	giver.memory.alloc = give;
	giver.memory.free = take_back;
	return 0;
}

static int tear_down(void **state)
{
	assert_int_equal(giver.given, giver.back);
	engine_ah_destroy(ah.engine);
	world_qp_destroy(&sender);
	world_close(&world);
	return 0;
}

static bool lies_in(const void *p, unsigned int i)
{
	return (const char *)p >= (const char *)giver.ptrs[i] &&
	       (const char *)p < (const char *)giver.ptrs[i] + giver.bytes[i];
}

static struct engine_cq *make_cq(uint32_t cqe)
{
	struct engine_cq *cq;

	assert_int_equal(engine_cq_create_in(bob->engine, &giver.memory, cqe, bob, &cq),
			 0);
	return cq;
}

static void receive(struct world_qp *q, struct engine_cq *cq, uint32_t n)
{
	struct ibv_wc wc;

	for (uint32_t i = 0; i < n; i++) {
		harness_until(engine_cq_poll(cq, 1, &wc) == 1, 5000, harness_pause());
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.wr_id, i);
	}
}

/* More than one ring's worth, queued by turns of others before it is polled. */
static void a_queue_pair_works_in_given_memory(void **state)
{
	struct engine_cq *cq = make_cq(100);
	struct world_qp q;

	world_qp_create(&q, bob,
			(struct world_qp_options){
				.depth = 100, .cq = cq, .memory = &giver.memory });
	assert_int_equal(giver.given, 2);
	assert_int_equal(giver.rings[0], ENGINE_RING_CQ);
	assert_int_equal(giver.rings[1], ENGINE_RING_QP);
	assert_true(giver.bytes[0] >= 100 * sizeof(struct ibv_wc));
	assert_true(giver.bytes[1] >= 100 * sizeof(struct ibv_sge));
	world_attach(&q, 1);
	assert_int_equal(world_post_recv(&q, 100), 0);
	for (uint32_t i = 0; i < 100; i++)
		world_send_number(&sender, &ah, i, 64);
	while (engine_turn(bob->engine))
		;
	receive(&q, cq, 100);
	assert_int_equal(giver.given, 2);
	assert_int_equal(giver.back, 0);
	world_qp_destroy(&q);
	assert_int_equal(giver.back, 1);
	engine_cq_destroy(cq);
}

static void a_shared_queue_works_in_given_memory(void **state)
{
	struct ibv_srq_attr attr = { .max_wr = 200 };
	struct ibv_recv_wr wr = { .num_sge = 0 }, *bad;
	struct engine_srq *srq;

	assert_int_equal(engine_srq_create(bob->engine, &giver.memory, WORLD_PD, 100, 1,
					   NULL, &srq),
			 0);
	assert_int_equal(giver.rings[0], ENGINE_RING_SRQ);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(engine_srq_post_recv(srq, &wr, &bad), 0);
	assert_int_equal(engine_srq_post_recv(srq, &wr, &bad), ENOMEM);
	assert_int_equal(engine_srq_modify(srq, IBV_SRQ_MAX_WR, &attr), 0);
	assert_int_equal(giver.given, 2);
	assert_int_equal(giver.back, 1);
	assert_null(giver.ptrs[0]);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(engine_srq_post_recv(srq, &wr, &bad), 0);
	assert_int_equal(engine_srq_post_recv(srq, &wr, &bad), ENOMEM);
	attr.max_wr = 50; /* holds more: what was asked for goes back at once */
	assert_int_equal(engine_srq_modify(srq, IBV_SRQ_MAX_WR, &attr), -EINVAL);
	assert_int_equal(giver.back, giver.given - 1);
	engine_srq_destroy(srq);
}

static void a_resized_completion_queue_keeps_what_it_holds(void **state)
{
	struct engine_cq *cq = make_cq(64);
	struct world_qp q;

	world_qp_create(&q, bob, (struct world_qp_options){ .depth = 100, .cq = cq });
	world_attach(&q, 1);
	assert_int_equal(world_post_recv(&q, 60), 0);
	for (uint32_t i = 0; i < 60; i++)
		world_send_number(&sender, &ah, i, 64);
	while (engine_turn(bob->engine))
		;
	assert_int_equal(engine_cq_resize(cq, 59), -EINVAL);
	assert_int_equal(engine_cq_resize(cq, 1000), 0);
	assert_int_equal(giver.given, 3);
	assert_int_equal(giver.back, 2);
	receive(&q, cq, 60);
	assert_int_equal(engine_cq_resize(cq, 1), 0);
	world_qp_destroy(&q);
	engine_cq_destroy(cq);
}

static void without_memory_nothing_is_made(void **state)
{
	struct engine_cq *cq = make_cq(10), *none = NULL;
	struct engine_srq *srq = NULL;
	struct engine_qp *qp = NULL;
	struct engine_qp_config config = {
		.qpn = 99,
		.type = IBV_QPT_UD,
		.send_cq = cq,
		.recv_cq = cq,
		.memory = &giver.memory,
	};

	giver.answer = &nothing;
	assert_int_equal(engine_cq_create_in(bob->engine, &giver.memory, 10, bob, &none),
			 -ENOMEM);
	assert_int_equal(
		engine_srq_create(bob->engine, &giver.memory, 1, 10, 1, NULL, &srq),
		-ENOMEM);
	assert_int_equal(engine_qp_create(bob->engine, &config, &qp), -ENOMEM);
	assert_int_equal(engine_cq_resize(cq, 100), -ENOMEM);
	giver.answer = NULL;
	engine_cq_destroy(cq);
}

/* Then the engine's own is used, and the caller never hears of it again. */
static void an_allocator_may_decline(void **state)
{
	struct engine_cq *cq;
	struct world_qp q;

	giver.answer = ENGINE_MEMORY_DEFAULT;
	cq = make_cq(10);
	world_qp_create(&q, bob,
			(struct world_qp_options){
				.depth = 10, .cq = cq, .memory = &giver.memory });
	world_attach(&q, 1);
	world_post_recv(&q, 10);
	world_send_number(&sender, &ah, 0, 64);
	receive(&q, cq, 1);
	assert_int_equal(engine_cq_resize(cq, 20), 0);
	world_qp_destroy(&q);
	engine_cq_destroy(cq);
	assert_int_equal(giver.given, 0);
}

static void the_receives_lie_where_they_are_to(void **state)
{
	struct ibv_sge sge = { 0x1122334455667788, 0x99, 0xaabbccdd };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct engine_srq *srq;
	bool found = false;

	assert_int_equal(
		engine_srq_create(bob->engine, &giver.memory, 1, 4, 1, NULL, &srq), 0);
	assert_int_equal((uintptr_t)giver.ptrs[0] % 64, 0);
	assert_int_equal(engine_srq_post_recv(srq, &wr, &bad), 0);
	for (const char *p = giver.ptrs[0]; lies_in(p + sizeof(sge) - 1, 0); p += 4)
		found |= !memcmp(p, &sge, sizeof(sge));
	assert_true(found);
	engine_srq_destroy(srq);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_queue_pair_works_in_given_memory),
		TEST(a_shared_queue_works_in_given_memory),
		TEST(a_resized_completion_queue_keeps_what_it_holds),
		TEST(without_memory_nothing_is_made),
		TEST(an_allocator_may_decline),
		TEST(the_receives_lie_where_they_are_to),
	};

	return harness_run(tests);
}
