// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 600 COST 35
/*
 * Nobody dies of another's death, and nobody waits for one that stands still: processes
 * that are killed at random instants, and stopped, among others that talk on.
 */
#include "processes.h"

#define GROUP      1u
#define STEADY     1u /* slot of a sender that lives */
#define RECEIVERS  3u
#define RECEIVER_0 2u  /* slots of receivers that live */
#define VICTIM_0   10u /* slots of those that die, one after another */
#define VICTIMS    8u
#define LAPS       20000u /* datagrams: several times what a log holds */
#define TRIES      40u    /* to compare two rates on a busy machine */

/* Unread by those that a sender waits for: its log never fills, in bytes either. */
#define WINDOW (SHM_LOG_SLOTS / 8)

/* What a victim leaves unread at most: so it comes to its gate, and what two of them leave,
 * and the steady one, finds receives. */
#define LEFT  3500u
#define DEPTH (2 * LEFT + 2 * WINDOW) /* receives of those that live */
#define LIFE  0x10000u                /* numbers of one victim */

static struct site site;
static uint32_t receivers; /* how many live */
static uint32_t forsaken;  /* the slot of the one that nobody waits for */
static uint32_t first;     /* number of the victim to be started */

static int set_up(void **state)
{
	site_open(&site);
	return 0;
}

static int tear_down(void **state)
{
	site_close(&site);
	return 0;
}

/* -- what children do ------------------------------------------------------------------ */

static uint32_t random_from(uint32_t *x)
{
	*x = *x * 1664525u + 1013904223u;
	return *x >> 8;
}

/* A datagram tells its number, and by that its length and contents. */
static uint32_t length_of(uint32_t number)
{
	uint32_t x = number;

	return 4 + random_from(&x) % (number % 4 ? 120 : 4000);
}

/* What became of the steady sender's datagrams at a receiver. */
static uint64_t accounted(uint32_t slot)
{
	return atomic_load(&site.results->received[slot]) +
	       atomic_load(&site.results->lagged[slot]) +
	       atomic_load(&site.results->other_drops[slot]);
}

static bool others_follow(void)
{
	uint64_t sent = atomic_load(&site.results->sent[STEADY]);

	for (uint32_t i = RECEIVER_0; i < RECEIVER_0 + receivers; i++)
		if (i != forsaken && sent >= accounted(i) + WINDOW)
			return false;
	return true;
}

static void send_numbers(struct engine_verbs_ah *ah, uint32_t count)
{
	for (uint32_t i = 0; i < count && !atomic_load(&self.results->stop); i++) {
		while (!others_follow())
			harness_pause();
		if (world_send_number(&self.qp, ah, i, length_of(i)))
			_exit(6);
		atomic_fetch_add(&self.results->sent[self.slot], 1);
	}
}

/* What came from those that had the slot before has lower numbers. */
static bool all_have_seen(uint32_t slot, uint64_t number)
{
	for (uint32_t i = RECEIVER_0; i < RECEIVER_0 + receivers; i++)
		if (atomic_load(&site.results->seen[i][slot]) < number)
			return false;
	return true;
}

/* That a receiver gets no CPU and so runs out of receives is not what is tried here. */
static void victim_main(void)
{
	struct engine_verbs_ah ah;

	child_attach(GROUP);
	atomic_fetch_add(&self.results->ready[self.slot], 1);
	world_group_ah(self.process, GROUP, &ah);
	for (uint32_t i = first; i < first + LIFE; i++) {
		while (i >= first + LEFT && !all_have_seen(self.slot, i - LEFT + 1))
			harness_pause();
		if (world_send_number(&self.qp, &ah, i, length_of(i)))
			_exit(6);
		atomic_store(&self.results->sent[self.slot], i + 1);
	}
	for (;;)
		pause();
}

/* Behind its receivers in the queue for a CPU: that they get none for longer than the
 * grace is not what is tried here. */
static void be_modest(void)
{
	if (nice(15) < 0)
		_exit(7);
}

static void steady_main(void)
{
	struct engine_verbs_ah ah;

	be_modest();
	world_group_ah(self.process, GROUP, &ah);
	atomic_fetch_add(&self.results->ready[self.slot], 1);
	while (!atomic_load(&self.results->stop)) {
		send_numbers(&ah, 1);
		harness_pause();
	}
	for (;;)
		pause();
}

static void tell_drops(void)
{
	const struct shm_member_counters *m = &self.process->counters->members[0];
	uint64_t others = 0;

	for (int i = 0; i < DROP_MEMBER_REASONS; i++)
		if (i != DROP_LAGGED)
			others += atomic_load(&m->drops[i]);
	atomic_store(&self.results->lagged[self.slot],
		     atomic_load(&m->drops[DROP_LAGGED]));
	atomic_store(&self.results->other_drops[self.slot], others);
}

static void check(const struct ibv_wc *wc)
{
	const uint8_t *payload = world_buffer(&self.qp, wc->wr_id) + 40;
	uint32_t number;

	memcpy(&number, payload, 4);
	if (wc->status != IBV_WC_SUCCESS || wc->byte_len != 40 + length_of(number) ||
	    (wc->src_qp != 0x100 + STEADY &&
	     !world_filled(payload, number, length_of(number))))
		atomic_fetch_add(&self.results->wrong[self.slot], 1);
	if (wc->src_qp == 0x100 + STEADY)
		atomic_fetch_add(&self.results->received[self.slot], 1);
	atomic_store(&self.results->seen[self.slot][wc->src_qp - 0x100], number + 1);
}

static void receiver_main(void)
{
	child_attach(GROUP);
	atomic_fetch_add(&self.results->ready[self.slot], 1);
	for (;;) {
		struct ibv_wc wc[16];
		int n = world_try_poll(&self.qp, 16, wc);

		for (int i = 0; i < n; i++)
			check(&wc[i]);
		if (n)
			world_post_recv(&self.qp, (uint32_t)n);
		else
			harness_pause();
		tell_drops();
	}
}

/* -- senders that are killed ------------------------------------------------------------ */

static void start_receivers(uint32_t n)
{
	receivers = n;
	forsaken = 0;
	for (uint32_t i = 0; i < n; i++)
		site_fork(&site, RECEIVER_0 + i, receiver_main, DEPTH);
	for (uint32_t i = 0; i < n; i++)
		harness_until(atomic_load(&site.results->ready[RECEIVER_0 + i]), 20000,
			      harness_pause());
}

/* What the dead has sent comes, too. */
static void until_seen(uint32_t slot)
{
	harness_until(all_have_seen(slot, atomic_load(&site.results->sent[slot])), 20000,
		      harness_pause());
}

/* Wait for the victim's first datagrams, then a random while, and end it. Meanwhile they
 * still read what the one before has left. */
static void kill_one(unsigned int i, uint32_t *x)
{
	uint32_t slot = VICTIM_0 + i % VICTIMS;
	uint32_t before = atomic_load(&site.results->ready[slot]);
	uint32_t while_ns = random_from(x) % 3000000;
	uint64_t end;

	if (i >= 2)
		until_seen(VICTIM_0 + (i - 2) % VICTIMS);
	harness_until(site_drained(&site, slot), 20000, harness_pause());
	first = i * LIFE;
	site_fork(&site, slot, victim_main, 64);
	harness_until(atomic_load(&site.results->ready[slot]) != before, 20000,
		      harness_pause());
	end = clock_now_ns() + while_ns;
	while (clock_now_ns() < end)
		harness_pause();
	site_end(&site, slot, SIGKILL);
}

/* To the datagram. The sender counts one after it has sent it. */
static void until_accounted(uint32_t slot)
{
	harness_until(accounted(slot) == atomic_load(&site.results->sent[STEADY]), 20000,
		      harness_pause());
}

/* It has all that the steady one has sent. What was lost of others' is counted with its
 * losses, so those do not tell. */
static void expect_unhurt(uint32_t slot)
{
	harness_until(atomic_load(&site.results->received[slot]) ==
			      atomic_load(&site.results->sent[STEADY]),
		      20000, harness_pause());
	assert_int_equal(atomic_load(&site.results->wrong[slot]), 0);
}

static void senders_that_are_killed_hurt_nobody(void **state)
{
	unsigned int kills = harness_count(24, 60000);
	uint32_t x = 1;

	start_receivers(RECEIVERS);
	site_fork(&site, STEADY, steady_main, 1);
	for (unsigned int i = 0; i < kills; i++)
		kill_one(i, &x);
	atomic_store(&site.results->stop, 1);
	for (uint32_t i = 0; i < RECEIVERS; i++)
		expect_unhurt(RECEIVER_0 + i);
}

/* -- receivers that are stopped --------------------------------------------------------- */

static void flood_main(void)
{
	struct engine_verbs_ah ah;

	be_modest();
	world_group_ah(self.process, GROUP, &ah);
	atomic_fetch_add(&self.results->ready[self.slot], 1);
	send_numbers(&ah, 1);
	for (uint32_t i = 0; i < RECEIVERS; i++)
		while (!atomic_load(&self.results->received[RECEIVER_0 + i]))
			harness_pause();
	send_numbers(&ah, UINT32_MAX);
	for (;;)
		pause();
}

static void while_it_grows(_Atomic uint64_t *count, uint64_t by)
{
	uint64_t before = atomic_load(count);

	harness_until(atomic_load(count) >= before + by, 60000, harness_pause());
}

/* The steady sender floods; one of three receivers stands still for several laps. That the
 * others get no CPU for longer than the grace is not what is tried, so it waits for them. */
static void a_stopped_receiver_loses_alone_and_knows_how_much(void **state)
{
	const uint32_t stopped = RECEIVER_0 + 1;
	pid_t pid;

	start_receivers(RECEIVERS);
	pid = site.children[stopped].pid;
	forsaken = stopped;
	site_fork(&site, STEADY, flood_main, 1);
	while_it_grows(&site.results->sent[STEADY], 1000);
	kill(pid, SIGSTOP);
	while_it_grows(&site.results->sent[STEADY], LAPS);
	kill(pid, SIGCONT);
	while_it_grows(&site.results->received[stopped], 1000);
	atomic_store(&site.results->stop, 1);
	for (uint32_t i = 0; i < RECEIVERS; i++) {
		uint32_t slot = RECEIVER_0 + i;
		_Atomic uint64_t *lagged = &site.results->lagged[slot];

		until_accounted(slot);
		assert_int_equal(atomic_load(&site.results->wrong[slot]), 0);
		if (slot == stopped)
			assert_true(atomic_load(lagged) > 0);
		else
			assert_int_equal(atomic_load(lagged), 0);
	}
}

/* What the others of four get in a time, datagrams a millisecond of all together. */
static double rate_beside(uint32_t stopped, unsigned int ms)
{
	uint64_t began = clock_now_ns(), end = began + ms * 1000000ull;
	uint64_t sum = 0;

	for (uint32_t slot = RECEIVER_0; slot < RECEIVER_0 + 4; slot++)
		if (slot != stopped)
			sum -= atomic_load(&site.results->received[slot]);
	while (clock_now_ns() < end)
		harness_pause();
	for (uint32_t slot = RECEIVER_0; slot < RECEIVER_0 + 4; slot++)
		if (slot != stopped)
			sum += atomic_load(&site.results->received[slot]);
	return (double)sum * 1e6 / (double)(clock_now_ns() - began);
}

static uint64_t lagged_beside(uint32_t stopped)
{
	uint64_t sum = 0;

	for (uint32_t slot = RECEIVER_0; slot < RECEIVER_0 + 4; slot++)
		if (slot != stopped)
			sum += atomic_load(&site.results->lagged[slot]);
	return sum;
}

/* A grace is the one pause that they notice. What else runs on the machine may slow either
 * of the times that are compared, so it is tried some times; but that the others lose
 * nothing is to hold each time. */
static void beside_a_stopped_receiver_others_keep_their_rate(void **state)
{
	const uint32_t stopped = RECEIVER_0 + 3;
	const unsigned int ms = harness_count(300, 1000);
	double before = 0, beside = 0;
	uint64_t sent;

	start_receivers(4);
	forsaken = stopped;
	site_fork(&site, STEADY, flood_main, 1);
	while_it_grows(&site.results->received[stopped], 1000);
	for (unsigned int tries = 0; tries < TRIES; tries++) {
		before = rate_beside(stopped, ms);
		sent = atomic_load(&site.results->sent[STEADY]);
		kill(site.children[stopped].pid, SIGSTOP);
		beside = rate_beside(stopped, ms);
		/* However slow the machine is, the stopped one is to be lapped. */
		harness_until(atomic_load(&site.results->sent[STEADY]) > sent + LAPS,
			      60000, harness_pause());
		kill(site.children[stopped].pid, SIGCONT);
		while_it_grows(&site.results->received[stopped], 1000);
		if (beside >= 0.9 * before)
			break;
	}
	print_message("%.0f datagrams a ms, %.0f beside the stopped one\n", before,
		      beside);
	assert_true(beside >= 0.9 * before);
	assert_int_equal(lagged_beside(stopped), 0);
	atomic_store(&site.results->stop, 1);
	assert_true(atomic_load(&site.results->lagged[stopped]) > 0);
}

static void receivers_that_are_killed_hurt_nobody(void **state)
{
	unsigned int kills = harness_count(10, 40000);
	uint32_t x = 2;

	start_receivers(RECEIVERS);
	site_fork(&site, STEADY, steady_main, 1);
	for (unsigned int i = 0; i < kills; i++) {
		uint32_t slot = VICTIM_0 + i % VICTIMS, before;

		before = atomic_load(&site.results->ready[slot]);
		harness_until(site_drained(&site, slot), 20000, harness_pause());
		site_fork(&site, slot, receiver_main, 64);
		harness_until(atomic_load(&site.results->ready[slot]) != before, 20000,
			      harness_pause());
		while_it_grows(&site.results->sent[STEADY], 1 + random_from(&x) % 8);
		site_end(&site, slot, SIGKILL);
	}
	atomic_store(&site.results->stop, 1);
	for (uint32_t i = 0; i < RECEIVERS; i++)
		expect_unhurt(RECEIVER_0 + i);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(senders_that_are_killed_hurt_nobody),
		T(receivers_that_are_killed_hurt_nobody),
		T(a_stopped_receiver_loses_alone_and_knows_how_much),
		T(beside_a_stopped_receiver_others_keep_their_rate),
	};

	return harness_run(tests);
}
