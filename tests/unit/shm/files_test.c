// SPDX-License-Identifier: BSD-2-Clause
/*
 * The kinds of memory files: created, sealed, checked before they are mapped, not
 * inherited by children; and what rings and kicks do to a doorbell.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/harness.h"
#include "shm/counters.h"
#include "shm/doorbell.h"
#include "shm/drop_reasons.h"
#include "shm/log.h"
#include "shm/memfile.h"

static int plain_file(size_t bytes)
{
	int fd = memfd_create("verbcast-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	return fd;
}

static void a_sealed_file_cannot_change_its_size(void **state)
{
	int fd;

	assert_int_equal(shm_memfile_create("verbcast-test", 8192, &fd), 0);
	assert_int_equal(shm_memfile_verify(fd, 8192, SHM_SEALS_SIZE), -EPROTO);
	assert_int_equal(shm_memfile_seal(fd, SHM_SEALS_SIZE), 0);
	assert_int_equal(shm_memfile_verify(fd, 8192, SHM_SEALS_SIZE), 0);
	assert_int_equal(shm_memfile_verify(fd, 4096, SHM_SEALS_SIZE), -EPROTO);
	assert_int_equal(shm_memfile_verify(fd, 8192, SHM_SEALS_READ_ONLY), -EPROTO);
	assert_int_equal(ftruncate(fd, 4096), -1);
	assert_int_equal(ftruncate(fd, 16384), -1);
	close(fd);
}

static void what_is_no_memory_file_is_refused(void **state)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(shm_memfile_verify(fds[0], 0, SHM_SEALS_SIZE), -EPROTO);
	assert_int_equal(shm_memfile_verify(-1, 0, SHM_SEALS_SIZE), -EPROTO);
	assert_int_equal(shm_log_verify(fds[0]), -EPROTO);
	close(fds[0]);
	close(fds[1]);
}

/* A child must not write into its parent's log with its parent's head. */
static void a_child_does_not_inherit_a_mapping(void **state)
{
	int fd, status;
	void *p;
	pid_t pid;

	assert_int_equal(shm_memfile_create("verbcast-test", 4096, &fd), 0);
	assert_int_equal(shm_memfile_map(fd, 4096, true, &p), 0);
	pid = fork();
	if (!pid)
		_exit(msync(p, 4096, MS_ASYNC) < 0 && errno == ENOMEM ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	shm_memfile_unmap(p, 4096);
	close(fd);
}

static void a_log_is_its_owners_to_write(void **state)
{
	const struct shm_log *seen;
	struct shm_log *log;
	void *p;
	int fd;

	assert_int_equal(shm_log_create(7, 3, &fd, &log), 0);
	assert_int_equal(shm_log_verify(fd), 0);
	assert_int_equal(shm_log_map(fd, 7, 3, &seen), 0);
	memcpy(log->payload, "abc", 3);
	assert_memory_equal(seen->payload, "abc", 3);
	assert_int_equal(atomic_load(&seen->h.head), 1);
	shm_log_unmap(seen);
	/* Another's, or of another life of the slot. */
	assert_int_equal(shm_log_map(fd, 8, 3, &seen), -EPROTO);
	assert_int_equal(shm_log_map(fd, 7, 4, &seen), -EPROTO);
	assert_int_equal(shm_memfile_map(fd, sizeof(*log), true, &p), -EPERM);
	shm_log_unmap(log);
	close(fd);
}

static void a_log_without_its_seals_is_refused(void **state)
{
	const struct shm_log *seen;
	int fd = plain_file(sizeof(struct shm_log));

	assert_int_equal(shm_log_map(fd, 0, 0, &seen), -EPROTO);
	assert_int_equal(shm_memfile_seal(fd, SHM_SEALS_SIZE), 0);
	assert_int_equal(shm_log_map(fd, 0, 0, &seen), -EPROTO);
	close(fd);
}

static void counters_are_mapped_and_checked(void **state)
{
	struct shm_counters *c;
	int fd;

	assert_int_equal(shm_counters_create(9, &fd), 0);
	assert_int_equal(shm_counters_map(fd, 1, &c), 0);
	assert_int_equal(c->slot, 9);
	c->members[SHM_MEMBER_COUNTERS - 1].drops[13] = 1;
	c->magic++;
	shm_counters_unmap(c);
	assert_int_equal(shm_counters_map(fd, 0, &c), -EPROTO);
	close(fd);
}

static void every_drop_has_a_name_and_a_sentence(void **state)
{
	for (int i = 0; i < DROP_REASONS; i++) {
		assert_non_null(drop_reason_name(i));
		assert_true(strlen(drop_reason_text(i)) > 10);
	}
	assert_string_equal(drop_reason_name(DROP_NO_RECV_WQE), "NO_RECV_WQE");
	assert_null(drop_reason_name(DROP_REASONS));
	assert_null(drop_reason_text(DROP_NONE));
}

/* -- doorbells ------------------------------------------------------------------------- */

static struct shm_doorbell *bell;
static int bell_fd;

static int bell_up(void **state)
{
	assert_int_equal(shm_doorbell_create(5, 2, &bell_fd), 0);
	assert_int_equal(shm_doorbell_map(bell_fd, &bell), 0);
	assert_int_equal(bell->slot, 5);
	assert_int_equal(bell->incarnation, 2);
	return 0;
}

static int bell_down(void **state)
{
	shm_doorbell_unmap(bell);
	close(bell_fd);
	return 0;
}

static void a_ring_sets_the_bit_and_wakes_who_sleeps_exactly(void **state)
{
	assert_false(shm_doorbell_ring(bell, 700));
	assert_int_equal(bell->words[700 / 64], 1ull << (700 % 64));
	assert_int_equal(bell->summary, 1ull << (700 / 64));
	assert_int_equal(bell->wakes, 0);
	atomic_store(&bell->sleeping, SHM_SLEEPER_WAITER);
	assert_false(shm_doorbell_ring(bell, 700)); /* the bit was set: rung before */
	assert_true(shm_doorbell_ring(bell, 701));
	assert_int_equal(bell->sleeping, 0);
	assert_int_equal(bell->wakes, 1);
	assert_false(shm_doorbell_ring(bell, 702)); /* one wake a burst */
}

static void a_kick_wakes_whoever_there_is(void **state)
{
	shm_doorbell_kick(bell, 3);
	assert_int_equal(bell->kicks, 1);
	assert_int_equal(bell->wakes, 1);
	assert_int_equal(bell->words[0], 8);
}

static void a_sleep_ends_by_change_and_by_time(void **state)
{
	uint64_t start = clock_now_ns();

	assert_int_equal(shm_doorbell_sleep(bell, SHM_SLEEPER_WAITER, 1, -1), 0);
	assert_int_equal(shm_doorbell_sleep(bell, SHM_SLEEPER_WAITER, 0, 10), -ETIMEDOUT);
	assert_true(clock_now_ns() - start >= 10000000);
}

static _Atomic int asleep;

static void *sleep_as(void *arg)
{
	atomic_fetch_add(&asleep, 1);
	shm_doorbell_sleep(bell, *(uint32_t *)arg, 0, 20000);
	atomic_fetch_sub(&asleep, 1);
	return NULL;
}

/* The sorts are told apart by the futex: a waiter's wake leaves the helper alone. */
static void only_the_sort_meant_wakes(void **state)
{
	uint32_t sorts[2] = { SHM_SLEEPER_WAITER, SHM_SLEEPER_HELPER };
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, sleep_as, &sorts[i]);
	harness_until(atomic_load(&asleep) == 2, 5000, harness_pause());
	for (int i = 0; i < 1000; i++)
		sched_yield();
	shm_doorbell_wake(bell, SHM_SLEEPER_WAITER);
	pthread_join(threads[0], NULL);
	/* A thread that was not asleep yet saw `wakes` change, and is gone too; one that
	 * was is still there, and hears the next. */
	shm_doorbell_wake(bell, SHM_SLEEPER_HELPER);
	pthread_join(threads[1], NULL);
}

#define B(f) cmocka_unit_test_setup_teardown(f, bell_up, bell_down)

#define FILE_BYTES 8192

/* The status with which a child ends that makes a file under these limits. */
static int create_under(rlim_t soft, rlim_t hard)
{
	struct rlimit limit = { soft, hard }, after = { 0, 0 };
	pid_t child = fork();
	int fd = -1, r, status;

	if (!child) {
		setrlimit(RLIMIT_FSIZE, &limit);
		r = shm_memfile_create("limited", FILE_BYTES, &fd);
		getrlimit(RLIMIT_FSIZE, &after);
		_exit(after.rlim_cur != soft || after.rlim_max != hard ? 255 : -r);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void a_limit_on_file_sizes_is_no_matter_of_memory(void **state)
{
	struct rlimit now;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &now), 0);
	assert_int_equal(create_under(FILE_BYTES / 2, now.rlim_max), 0);
	assert_int_equal(create_under(FILE_BYTES, FILE_BYTES), 0);
	assert_int_equal(create_under(FILE_BYTES / 2, FILE_BYTES / 2), ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sealed_file_cannot_change_its_size),
		cmocka_unit_test(what_is_no_memory_file_is_refused),
		cmocka_unit_test(a_child_does_not_inherit_a_mapping),
		cmocka_unit_test(a_log_is_its_owners_to_write),
		cmocka_unit_test(a_log_without_its_seals_is_refused),
		cmocka_unit_test(counters_are_mapped_and_checked),
		cmocka_unit_test(every_drop_has_a_name_and_a_sentence),
		B(a_ring_sets_the_bit_and_wakes_who_sleeps_exactly),
		B(a_kick_wakes_whoever_there_is),
		B(a_sleep_ends_by_change_and_by_time),
		B(only_the_sort_meant_wakes),
		cmocka_unit_test(a_limit_on_file_sizes_is_no_matter_of_memory),
	};

	return harness_run(tests);
}
