// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 300 LABELS noasan
/*
 * Death at every instruction (spec/dataplane 2). A sender is stepped through its post;
 * wherever the shared memory differs from the step before, it is copied, which is what
 * SIGKILL there would leave, and a survivor lives on in the copy: it must get all that
 * was published, whole, in order, and a batch as one; and then hear others as before.
 */
#include "engine/engine_priv.h" /* helper_stop */
#include "processes.h"
#include "steps.h"

#define GROUP      1u
#define SURVIVOR   1u
#define VICTIM     2u
#define OTHER      3u
#define BATCH      3u
#define FILL       900u /* datagrams before: the payload ring is on its second lap */
#define FILL_BYTES 3000u

static struct site site;    /* the victim's world */
static struct world copies; /* the survivors' */
static struct shm_log *log_copy;
static const struct shm_log *log_real;
static struct world_qp other;
static struct engine_verbs_ah other_ah;
static uint32_t batch_bytes[BATCH];

/* -- the victim ----------------------------------------------------------------------- */

static void victim_main(void)
{
	struct ibv_send_wr wr[BATCH], *bad;
	struct ibv_sge sge[BATCH];
	struct engine_verbs_ah ah;

	helper_stop(self.process->engine);
	world_group_ah(self.process, GROUP, &ah);
	for (uint32_t i = 0; i < FILL; i++)
		world_send_number(&self.qp, &ah, i, FILL_BYTES);
	for (uint32_t i = 0; i < BATCH; i++) {
		uint8_t *at = self.qp.memory + i * 4096;

		world_fill(at, FILL + i, batch_bytes[i]);
		sge[i] = (struct ibv_sge){ (uintptr_t)at, batch_bytes[i], self.qp.lkey };
		wr[i] = world_wr(&ah, &sge[i]);
		wr[i].next = i + 1 < BATCH ? &wr[i + 1] : NULL;
	}
	steps_begin();
	if (engine_qp_post_send(self.qp.qp, wr, &bad))
		_exit(1);
	steps_end();
}

/* A receiver that the victim rings, asleep, and never behind. */
static void survivor_prepare(void)
{
	struct child *c = &site.children[SURVIVOR];
	uint8_t mgid[16];
	uint32_t entry;

	pthread_mutex_lock(&site.lock);
	site_prepare(&site, SURVIVOR);
	world_mgid(GROUP, mgid);
	assert_int_equal(shm_group_link(site.tables, 0, mgid, 0, &entry), 0);
	assert_int_equal(entry, 0);
	shm_group_set(site.tables, entry, SURVIVOR);
	atomic_store(&c->doorbell->cursors[VICTIM].position, UINT64_MAX);
	pthread_mutex_unlock(&site.lock);
}

/* Up to its post. */
static pid_t victim_run(void)
{
	struct child *c = &site.children[VICTIM];
	pid_t pid;

	survivor_prepare();
	/* It believes what this says as soon as its incarnation stands there. */
	atomic_store(&site.children[SURVIVOR].doorbell->cursors[VICTIM].incarnation,
		     c->incarnation + 1);
	pid = site_fork(&site, VICTIM, victim_main, 8);
	steps_await(pid);
	assert_int_equal(shm_log_map(c->log_fd, VICTIM, c->incarnation, &log_real), 0);
	atomic_store(&site.children[SURVIVOR].doorbell->words[0], 0);
	atomic_store(&site.children[SURVIVOR].doorbell->sleeping, SHM_SLEEPER_WAITER);
	return pid;
}

/* -- a survivor in the copy ------------------------------------------------------------ */

static void copies_open(void)
{
	struct world_process *v = &copies.processes[VICTIM];

	world_open(&copies);
	world_group(&copies, GROUP);
	world_qp_create(&other, world_start(&copies, OTHER),
			(struct world_qp_options){ .depth = 1 });
	world_group_ah(other.process, GROUP, &other_ah);
	assert_int_equal(shm_log_create(VICTIM, 1, &v->log_fd, &log_copy), 0);
	v->world = &copies;
	v->slot = VICTIM;
}

static void copies_close(void)
{
	engine_ah_destroy(other_ah.engine);
	world_qp_destroy(&other);
	shm_log_unmap(log_copy);
	close(copies.processes[VICTIM].log_fd);
	world_close(&copies);
}

/* A new life of the victim's slot, which is over, with its log as it is now. */
static void victim_copy(void)
{
	struct world_process *v = &copies.processes[VICTIM];

	memcpy(log_copy, log_real, sizeof(*log_copy));
	log_copy->h.incarnation = ++v->incarnation;
	atomic_store(&copies.tables->slots[VICTIM].incarnation, v->incarnation);
	atomic_store(&copies.tables->slots[VICTIM].state, SHM_SLOT_DEAD);
}

static void survivor_open(struct world_qp *q)
{
	struct world_process *p = world_start(&copies, SURVIVOR);
	const struct shm_doorbell *real = site.children[SURVIVOR].doorbell;

	atomic_store(&p->doorbell->words[0], atomic_load(&real->words[0]));
	atomic_store(&p->doorbell->summary, atomic_load(&real->summary));
	world_qp_create(q, p, (struct world_qp_options){ .depth = FILL + BATCH });
	assert_int_equal(engine_qp_attach(q->qp, 0, 1, 0), 0);
	world_post_recv(q, FILL + BATCH);
	shm_group_set(copies.tables, 0, SURVIVOR);
	helper_stop(p->engine);
	shm_doorbell_kick(p->doorbell, VICTIM); /* the funeral */
}

static uint32_t bytes_of(uint32_t number)
{
	return number < FILL ? FILL_BYTES : batch_bytes[number - FILL];
}

/* The numbers that come are one behind the other, whole. Returns the last one. */
static uint32_t expect_the_published(struct world_qp *q)
{
	uint32_t last = UINT32_MAX, number;
	struct ibv_wc wc;

	while (!atomic_load(&q->process->drained))
		engine_turn(q->process->engine);
	while (world_poll(q, 1, &wc)) {
		const uint8_t *payload = world_buffer(q, wc.wr_id) + 40;

		memcpy(&number, payload, 4);
		assert_true(last == UINT32_MAX || number == last + 1);
		assert_true(number < FILL + BATCH);
		assert_int_equal(wc.byte_len, 40 + bytes_of(number));
		assert_true(world_filled(payload, number, bytes_of(number)));
		last = number;
	}
	return last;
}

static void expect_to_hear_others(struct world_qp *q)
{
	struct ibv_wc wc;

	q->posted = 0; /* buffers are free again */
	for (uint32_t i = 0; i < 5; i++) {
		world_send_number(&other, &other_ah, i, 100);
		harness_until(world_poll(q, 1, &wc), 5000, harness_pause());
		assert_true(world_filled(world_buffer(q, wc.wr_id) + 40, i, 100));
	}
}

/* Returns the last number that the survivor got. */
static uint32_t live_on(void)
{
	struct world_qp q;
	uint32_t last;

	victim_copy();
	survivor_open(&q);
	last = expect_the_published(&q);
	expect_to_hear_others(&q);
	world_qp_destroy(&q);
	shm_group_clear(copies.tables, 0, SURVIVOR);
	world_forget(&copies.processes[SURVIVOR]);
	return last;
}

/* -- step by step ---------------------------------------------------------------------- */

static bool memory_changed(struct shm_doorbell *before)
{
	const struct shm_doorbell *now = site.children[SURVIVOR].doorbell;
	size_t head = offsetof(struct shm_doorbell, pad);
	bool changed = memcmp(before, now, head) != 0;

	memcpy(before, now, head);
	/* Another life has another incarnation; all else is compared. */
	log_copy->h.incarnation = log_real->h.incarnation;
	return memcmp(log_copy, log_real, sizeof(*log_copy)) != 0 || changed;
}

static void a_sender_may_die_at_every_instruction(void **state)
{
	static struct shm_doorbell doorbell_before;
	unsigned int steps = 0, states = 0;
	uint32_t last = FILL - 1;
	pid_t pid = victim_run();

	while (steps_next(pid)) {
		uint32_t now;

		steps++;
		if (!memory_changed(&doorbell_before))
			continue;
		states++;
		now = live_on();
		/* What was sent before is there; of the batch nothing or all. */
		assert_true(now == last || (last == FILL - 1 && now == FILL + BATCH - 1));
		last = now;
	}
	assert_int_equal(last, FILL + BATCH - 1);
	assert_true(states > 30);
	print_message("%u instructions, %u states of the memory\n", steps, states);
	shm_log_unmap(log_real);
}

static int set_up(void **state)
{
	site_open(&site);
	copies_open();
	return 0;
}

static int tear_down(void **state)
{
	copies_close();
	site_close(&site);
	return 0;
}

static int set_up_small(void **state)
{
	for (uint32_t i = 0; i < BATCH; i++)
		batch_bytes[i] = 16 + i;
	return set_up(state);
}

static int set_up_large(void **state)
{
	for (uint32_t i = 0; i < BATCH; i++)
		batch_bytes[i] = 500 + 700 * i;
	return set_up(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_sender_may_die_at_every_instruction,
						set_up_small, tear_down),
		cmocka_unit_test_setup_teardown(a_sender_may_die_at_every_instruction,
						set_up_large, tear_down),
	};

	return harness_run(tests);
}
