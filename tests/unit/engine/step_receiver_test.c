// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 300 LABELS noasan
/*
 * Death at every instruction (spec/dataplane 2), of a receiver. It is stepped through its
 * first contact with a sender, deliveries, sleep and detach. What it writes for others is
 * its doorbell: wherever that differs from the step before, it is copied, and a sender
 * and another receiver live on beside the copy. The sender goes on for several laps, with
 * no more than a grace of waiting; the other one loses nothing; and who has the victim's
 * slot next hears all.
 */
#include "engine/engine_priv.h" /* helper_stop */
#include "processes.h"
#include "steps.h"

#define GROUP       1u
#define SENDER      1u
#define VICTIM      2u
#define OTHER       3u
#define FIRST       5u    /* datagrams that the victim is stepped through */
#define LAPS        3u    /* of the sender, beside the dead */
#define DEPTH       512u  /* receives of who lives */
#define TURN        64u   /* datagrams between two polls of who lives */
#define PATIENCE_MS 5000u /* of the slowest grace, with room for busy machines */

static struct site site;    /* the victim's world */
static struct world copies; /* the survivors' */

static uint32_t bytes_of(uint32_t number)
{
	return number % 2 ? 1000 + number % 3000 : 16 + number % 100;
}

/* -- the victim and its sender -------------------------------------------------------- */

static void sender_main(void)
{
	struct engine_verbs_ah ah;

	world_group_ah(self.process, GROUP, &ah);
	while (!atomic_load(&self.results->ready[VICTIM]))
		harness_pause();
	for (uint32_t i = 0; i < FIRST; i++)
		world_send_number(&self.qp, &ah, i, bytes_of(i));
	atomic_store(&self.results->sent[SENDER], FIRST);
	for (;;)
		pause();
}

static void victim_lives(void)
{
	struct engine *e = self.process->engine;
	uint32_t seen = engine_wait_prepare(e);
	struct ibv_wc wc;

	/* One by one, so that the cursor is stored for each. */
	for (int n = 0; n < (int)FIRST;)
		n += world_poll(&self.qp, 1, &wc);
	engine_cq_arm(self.qp.recv_cq, false);
	engine_wait(e, &seen, 1);
	engine_qp_detach(self.qp.qp, 0);
}

static void victim_main(void)
{
	helper_stop(self.process->engine);
	child_attach(GROUP);
	atomic_store(&self.results->ready[VICTIM], 1);
	while (atomic_load(&self.results->sent[SENDER]) < FIRST)
		harness_pause();
	steps_begin();
	victim_lives();
	steps_end();
}

/* -- survivors beside the copy --------------------------------------------------------- */

static struct world_qp sender, other;
static struct engine_verbs_ah ah;
static uint32_t sent, heard;

/* Everything that `other` has not polled yet is what was sent last, in order. */
static void hear(void)
{
	struct ibv_wc wc[16];
	int n;

	while ((n = world_poll(&other, 16, wc))) {
		for (int i = 0; i < n; i++) {
			const uint8_t *at = world_buffer(&other, wc[i].wr_id) + 40;

			assert_int_equal(wc[i].byte_len, 40 + bytes_of(heard));
			assert_true(world_filled(at, heard, bytes_of(heard)));
			heard++;
		}
		world_post_recv(&other, (uint32_t)n);
	}
}

static void send_on(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(world_send_number(&sender, &ah, sent, bytes_of(sent)),
				 0);
		if (++sent % TURN == 0)
			hear();
	}
	harness_until(heard == sent, PATIENCE_MS, hear());
}

static void survivor_open(struct world_qp *q, uint32_t slot, uint32_t depth)
{
	struct world_process *p = world_start(&copies, slot);

	world_qp_create(q, p, (struct world_qp_options){ .depth = depth });
	helper_stop(p->engine);
	world_post_recv(q, depth);
}

/* As it stands now; but the sender beside the copy has another incarnation. */
static void victim_copy(void)
{
	struct shm_doorbell *to = copies.processes[VICTIM].doorbell;
	const struct shm_doorbell *from = site.children[VICTIM].doorbell;
	const struct shm_cursor *cursor = &from->cursors[SENDER];
	uint32_t incarnation = atomic_load(&cursor->incarnation);

	to->summary = from->summary;
	memcpy(to->words, from->words, sizeof(to->words));
	to->wakes = from->wakes;
	to->sleeping = from->sleeping;
	to->kicks = from->kicks;
	atomic_store(&to->cursors[SENDER].position, atomic_load(&cursor->position));
	atomic_store(&to->cursors[SENDER].incarnation,
		     incarnation == site.children[SENDER].incarnation
			     ? sender.process->incarnation
			     : incarnation);
}

/* The sender has sent what the victim was stepped through. */
static void survivors_open(void)
{
	uint32_t entry = world_group(&copies, GROUP);

	sent = heard = 0;
	world_start(&copies, VICTIM);
	shm_group_set(copies.tables, entry, VICTIM);
	survivor_open(&sender, SENDER, 1);
	survivor_open(&other, OTHER, DEPTH);
	world_attach(&other, GROUP);
	world_group_ah(sender.process, GROUP, &ah);
	send_on(FIRST);
}

static void survivors_close(void)
{
	engine_ah_destroy(ah.engine);
	world_detach(&other, GROUP, true);
	world_qp_destroy(&other);
	world_qp_destroy(&sender);
	world_forget(&copies.processes[OTHER]);
	world_forget(&copies.processes[SENDER]);
}

/* Somebody else has the victim's slot now. */
static void expect_the_next_one_hears(void)
{
	struct world_qp next;
	struct ibv_wc wc[TURN];

	world_forget(&copies.processes[VICTIM]);
	survivor_open(&next, VICTIM, TURN);
	world_attach(&next, GROUP);
	send_on(10);
	for (int n = 0; n < 10; n++)
		harness_until(world_poll(&next, 1, wc), PATIENCE_MS, harness_pause());
	assert_int_equal(world_poll(&next, 1, wc), 0);
	world_detach(&next, GROUP, true);
	world_qp_destroy(&next);
	world_forget(&copies.processes[VICTIM]);
}

static void live_on(void)
{
	uint64_t end;

	survivors_open();
	victim_copy();
	end = harness_deadline(PATIENCE_MS);
	send_on(LAPS * SHM_LOG_SLOTS);
	assert_true(clock_now_ns() < end);
	world_bury(&copies, &copies.processes[VICTIM]);
	send_on(SHM_LOG_SLOTS);
	expect_the_next_one_hears();
	survivors_close();
}

/* -- step by step ---------------------------------------------------------------------- */

static bool memory_changed(struct shm_doorbell *before)
{
	const struct shm_doorbell *now = site.children[VICTIM].doorbell;
	const size_t head = offsetof(struct shm_doorbell, pad);
	const size_t cursor = sizeof(struct shm_cursor);
	bool changed = memcmp(before, now, head) != 0 ||
		       memcmp(&before->cursors[SENDER], &now->cursors[SENDER], cursor);

	memcpy(before, now, head);
	memcpy(&before->cursors[SENDER], &now->cursors[SENDER], cursor);
	return changed;
}

/* What it told of itself so far is never more than what came. */
static void expect_sane(const struct shm_counters *counters)
{
	const struct shm_member_counters *m = &counters->members[0];

	assert_true(atomic_load(&counters->delivered[0]) <= FIRST);
	for (int i = 0; i < DROP_MEMBER_REASONS; i++)
		assert_int_equal(atomic_load(&m->drops[i]), 0);
}

static void a_receiver_may_die_at_every_instruction(void **state)
{
	static struct shm_doorbell before;
	struct shm_counters *counters;
	unsigned int steps = 0, states = 0;
	pid_t pid;

	site_fork(&site, SENDER, sender_main, 1);
	pid = site_fork(&site, VICTIM, victim_main, FIRST);
	steps_await(pid);
	assert_int_equal(
		shm_counters_map(site.children[VICTIM].counters_fd, 0, &counters), 0);
	while (steps_next(pid)) {
		steps++;
		expect_sane(counters);
		if (!memory_changed(&before))
			continue;
		states++;
		live_on();
	}
	assert_int_equal(atomic_load(&counters->delivered[0]), FIRST);
	assert_true(states >= 8);
	print_message("%u instructions, %u states of the memory\n", steps, states);
	shm_counters_unmap(counters);
}

static int set_up(void **state)
{
	site_open(&site);
	world_open(&copies);
	return 0;
}

static int tear_down(void **state)
{
	world_close(&copies);
	site_close(&site);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_receiver_may_die_at_every_instruction,
						set_up, tear_down),
	};

	return harness_run(tests);
}
