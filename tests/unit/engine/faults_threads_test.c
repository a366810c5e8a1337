// SPDX-License-Identifier: BSD-2-Clause
// ctest: LABELS threads
/*
 * Rules that come and go while threads send, poll, sleep, and make and destroy queue pairs.
 * Whatever is struck meanwhile: in the end each datagram was delivered or counted, once,
 * for each member; nothing is held; and what is sent then arrives as ever.
 */
#include "base/random.h"
#include "faults_world.h"

#define COUNT  harness_count(20000, 1000000)
#define PLACES 12u

static _Atomic bool stop;

static void *send_many(void *arg)
{
	for (uint32_t i = 0, count = COUNT; i < count; i++)
		assert_int_equal(world_send_number(&sender, &ah, i, i % 200 + 4), 0);
	atomic_store(&stop, true);
	return NULL;
}

static uint32_t take_any(struct world_qp *q)
{
	struct ibv_wc wc[16];
	int n = world_poll(q, 16, wc);

	for (int i = 0; i < n; i++)
		assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
	if (n)
		assert_int_equal(world_post_recv(q, (uint32_t)n), 0);
	return (uint32_t)n;
}

static void *poll_many(void *arg)
{
	while (!atomic_load(&stop))
		if (!take_any(&receiver))
			harness_pause();
	return NULL;
}

static void *sleep_often(void *arg)
{
	while (!atomic_load(&stop)) {
		uint32_t seen = engine_wait_prepare(carol->engine);

		engine_cq_arm(other.recv_cq, false);
		if (!take_any(&other))
			engine_wait(carol->engine, &seen, 100);
	}
	return NULL;
}

/* In the receiver's process; what is held for it goes with it. */
static void *come_and_go(void *arg)
{
	while (!atomic_load(&stop)) {
		struct world_qp q;

		pthread_mutex_lock(&world.lock);
		world_qp_create(&q, bob, (struct world_qp_options){ .depth = 16 });
		world_post_recv(&q, 16);
		join(&q);
		pthread_mutex_unlock(&world.lock);
		for (int i = 0; i < 20; i++) {
			take_any(&q);
			harness_pause();
		}
		pthread_mutex_lock(&world.lock);
		world_qp_destroy(&q);
		pthread_mutex_unlock(&world.lock);
	}
	return NULL;
}

/* None that doubles, so that all can be counted. */
static struct shm_fault some_rule(struct random *r)
{
	static const enum shm_fault_kind kinds[] = { SHM_FAULT_DROP, SHM_FAULT_DELAY,
						     SHM_FAULT_REORDER, SHM_FAULT_CORRUPT,
						     SHM_FAULT_COMPLETION };
	struct shm_fault f = rate(kinds[random_below(r, 5)],
				  random_below(r, 2) ? SHM_FAULT_SEND : SHM_FAULT_RECEIVE,
				  1 + (uint32_t)random_below(r, 200000), random_u64(r));

	f.by = 1 + (uint32_t)random_below(r, 5);
	return f;
}

static void change_rules(struct random *r)
{
	uint32_t place = (uint32_t)random_below(r, PLACES);
	struct shm_fault f = some_rule(r);

	shm_fault_write(world.tables, place, random_below(r, 3) ? &f : NULL);
}

static uint64_t accounted(const struct world_qp *q)
{
	return world_delivered(q) + world_dropped_any(q);
}

static void expect_all_accounted(void)
{
	const struct shm_qp_counters *c = &alice->counters->qps[sender.counters];
	uint64_t on_the_way = atomic_load(&c->sent) - atomic_load(&c->drops[DROP_FAULT]);

	assert_int_equal(atomic_load(&c->sent), 1 + COUNT);
	harness_until((take_any(&receiver), accounted(&receiver) >= on_the_way), 20000,
		      harness_pause());
	harness_until((take_any(&other), accounted(&other) >= on_the_way), 20000,
		      harness_pause());
	assert_int_equal(accounted(&receiver), on_the_way);
	assert_int_equal(accounted(&other), on_the_way);
}

static bool nothing_is_held(void)
{
	return !atomic_load(&alice->engine->faults.pending) &&
	       !atomic_load(&bob->engine->faults.pending) &&
	       !atomic_load(&carol->engine->faults.pending);
}

static void nothing_is_lost_uncounted(void **state)
{
	void *(*const jobs[])(void *) = { send_many, poll_many, sleep_often,
					  come_and_go };
	struct got a = { 0 }, b = { 0 };
	pthread_t threads[4];
	struct random r;

	random_seed(&r, 1);
	atomic_store(&stop, false);
	/* What is lost before the first is heard is nobody's to count. */
	send_numbers(0, 1);
	await(&receiver, &a, 1);
	await(&other, &b, 1);
	a.count = b.count = 0;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, jobs[i], NULL), 0);
	while (!atomic_load(&stop)) {
		change_rules(&r);
		harness_pause();
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t place = 0; place < PLACES; place++)
		shm_fault_write(world.tables, place, NULL);
	harness_until((take_any(&receiver), take_any(&other), nothing_is_held()), 20000,
		      harness_pause());
	expect_all_accounted();
	while (take_any(&receiver) || take_any(&other))
		;
	send_numbers(0, 4);
	await(&receiver, &a, 4);
	await(&other, &b, 4);
	EXPECT(&a, 0, 1, 2, 3);
	EXPECT(&b, 0, 1, 2, 3);
	assert_false(faults_stir(bob->engine));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nothing_is_lost_uncounted),
	};

	return harness_run(tests);
}
