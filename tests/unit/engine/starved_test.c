// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 300
/*
 * A receiver that gets no CPU for longer than a grace loses nothing: it shares one with a
 * crowd that spins, so that it runs every tenth of a second or so, as on a machine that is
 * much too small.
 */
#include "processes.h"

#include <dirent.h>
#include <sched.h>

#define GROUP    1u
#define SENDER   1u /* slots */
#define STARVED  2u
#define CROWD    64u
#define MORE     8u                         /* that join the crowd at a time */
#define ROUND    (2 * SHM_LOG_SLOTS + 1000) /* datagrams, and receives for all */
#define HELD_MS  80u   /* beyond the grace in which all time counts (gate.c) */
#define LIMIT_MS 1000u /* of waiting (gate.c) */
#define ORDERS   0u    /* place in results.ready: rounds that the sender is to send */

static struct site site;
static pid_t crowd[CROWD];

static int set_up(void **state)
{
	site_open(&site);
	return 0;
}

static int tear_down(void **state)
{
	for (unsigned int i = 0; i < CROWD; i++)
		if (crowd[i]) {
			kill(crowd[i], SIGKILL);
			waitpid(crowd[i], NULL, 0);
		}
	site_close(&site);
	return 0;
}

/* -- what children do ------------------------------------------------------------------ */

/* All of this process's threads, and those that they start. */
static void share_a_cpu(void)
{
	static cpu_set_t cpus, one;
	struct dirent *d;
	DIR *threads;

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		_exit(6);
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &cpus))
			CPU_SET(i, &one);
	threads = opendir("/proc/self/task");
	while (threads && (d = readdir(threads)))
		if (d->d_name[0] != '.')
			sched_setaffinity(atoi(d->d_name), sizeof(one), &one);
	if (threads)
		closedir(threads);
}

/* A crowd among itself: what else runs on the machine shall not starve. */
static void be_modest(void)
{
	if (nice(10) < 0)
		_exit(8);
}

static void spin(void)
{
	static volatile unsigned int turns;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	be_modest();
	share_a_cpu();
	for (;;)
		turns++;
}

static void starved_main(void)
{
	const struct shm_member_counters *m = &self.process->counters->members[0];

	be_modest();
	share_a_cpu();
	child_attach(GROUP);
	atomic_fetch_add(&self.results->ready[self.slot], 1);
	for (;;) {
		struct ibv_wc wc[16];
		int n = world_try_poll(&self.qp, 16, wc);

		world_post_recv(&self.qp, (uint32_t)n);
		atomic_store(&self.results->lagged[self.slot],
			     atomic_load(&m->drops[DROP_LAGGED]));
		atomic_fetch_add(&self.results->received[self.slot], (uint64_t)n);
	}
}

static void note_longest(uint64_t since_ns)
{
	uint64_t ns = clock_now_ns() - since_ns;

	if (ns > atomic_load(&self.results->lagged[self.slot]))
		atomic_store(&self.results->lagged[self.slot], ns);
}

/* What is lost before the first is heard is nobody's to count. Tells what the longest post
 * took in the place of what it lost, which is nothing. */
static void sender_main(void)
{
	struct engine_verbs_ah ah;

	world_group_ah(self.process, GROUP, &ah);
	if (world_send_number(&self.qp, &ah, 0, 64))
		_exit(7);
	for (uint32_t round = 0;; round++) {
		while (atomic_load(&self.results->ready[ORDERS]) <= round)
			harness_pause();
		for (uint32_t i = 0; i < ROUND; i++) {
			uint64_t before = clock_now_ns();

			if (world_send_number(&self.qp, &ah, i, 64))
				_exit(7);
			note_longest(before);
			atomic_fetch_add(&self.results->sent[self.slot], 1);
		}
	}
}

/* ---------------------------------------------------------------------------------------- */

static void start_crowd(pid_t *pids, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		pids[i] = fork();
		if (!pids[i])
			spin();
		assert_true(pids[i] > 0);
	}
}

static uint64_t heard_of(void)
{
	return atomic_load(&site.results->received[STARVED]) +
	       atomic_load(&site.results->lagged[STARVED]);
}

static bool was_held(unsigned int ms)
{
	return atomic_load(&site.results->lagged[SENDER]) >= ms * 1000000ull;
}

/* The sender knows by the kernel alone that it has to wait: the crowd grows until that
 * takes longer than any grace. */
static void one_that_gets_no_cpu_loses_nothing(void **state)
{
	uint64_t sent = 1;

	site_fork(&site, STARVED, starved_main, ROUND);
	harness_until(atomic_load(&site.results->ready[STARVED]), 20000, harness_pause());
	site_fork(&site, SENDER, sender_main, 1);
	harness_until(heard_of() == sent, 60000, harness_pause());
	for (unsigned int size = 0; size < CROWD && !was_held(HELD_MS); size += MORE) {
		start_crowd(&crowd[size], MORE);
		atomic_fetch_add(&site.results->ready[ORDERS], 1);
		sent += ROUND;
		harness_until(heard_of() == sent, 60000, harness_pause());
	}
	print_message(
		"a post took up to %u ms\n",
		(unsigned int)(atomic_load(&site.results->lagged[SENDER]) / 1000000));
	assert_true(was_held(HELD_MS));
	/* Where the machine has still less to give, a second is all that is waited. */
	if (!was_held(LIMIT_MS))
		assert_int_equal(atomic_load(&site.results->received[STARVED]), sent);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(one_that_gets_no_cpu_loses_nothing),
	};

	return harness_run(tests);
}
